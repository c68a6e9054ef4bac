"""Clauses of a query: what a review compares."""

import pytest
from sqlglot.dialects.dialect import Dialect

from lineage_merge.review.clauses import JOIN, ComparableQuery, query_of


def test_joined_ctes_are_those_relations_and_read_once() -> None:
    # Each CTE reads the two before it: the number of paths through 60 of them has 13 digits.
    ctes = ["c0 as (select id, x from raw.a)", "c1 as (select id, x from raw.b)"]
    ctes += [
        f"c{at} as (select p.id, p.x + q.x as x from c{at - 1} p join c{at - 2} q on p.id = q.id)"
        for at in range(2, 60)
    ]
    sql = f"with {', '.join(ctes)} select * from c59"
    found = query_of(sql, Dialect.get_or_raise("redshift"), {})
    assert {(each.text, number) for each, number in found.clauses.items() if each.kind == JOIN} == {
        ("inner join raw.a on id = id", 1),
        ("inner join raw.b on id = id", 1),
        ("inner join raw.a+raw.b on id = id", 56),
    }


def query(sql: str, dialect: str = "postgres") -> ComparableQuery:
    return query_of(sql, Dialect.get_or_raise(dialect), {})


def compared(found: ComparableQuery) -> tuple[object, ...]:
    """What two versions are compared by: without names of CTEs and aliases."""
    clauses = {(each.kind, each.text, each.sources): number for each, number in found.clauses.items()}
    return found.text, found.rest, found.sources, clauses


def joins(sql: str, dialect: str = "postgres") -> set[str]:
    return {each.text for each in query(sql, dialect).clauses if each.kind == JOIN}


RECURSIVE = """
with recursive {name} as (
  select id, parent from hr.staff where parent is null
  union all
  select s.id, s.parent from hr.staff s join {name} p on p.id = s.parent
)
select d.id, u.name from hr.desks d join {name} t on t.id = d.id join hr.users u on u.id = t.id
"""


@pytest.mark.parametrize(
    ("dialect", "sql"),
    [
        ("postgres", RECURSIVE),
        ("tsql", RECURSIVE.replace("recursive", "")),
        ("snowflake", RECURSIVE.replace("recursive", "")),
    ],
)
def test_a_recursive_cte_is_the_relations_that_it_reads(dialect: str, sql: str) -> None:
    one, other = (query(sql.format(name=name), dialect) for name in ("tree", "chain"))
    assert one.sources == {"hr.staff", "hr.staff#2", "hr.desks", "hr.users"}
    assert {each.text for each in one.clauses if each.kind == JOIN} == {
        "inner join hr.staff on id = parent",
        "inner join hr.staff on id = id",
        "inner join hr.users on id = id",
    }
    assert compared(one) == compared(other)


def test_a_cte_with_the_name_of_the_table_that_it_reads_is_that_table() -> None:
    sql = "with {0} as (select * from orders where ok) select * from a join {0} on {0}.id = a.id"
    one, other = query(sql.format("orders")), query(sql.format("o"))
    assert one.sources == other.sources == {"a", "orders"}
    assert one.rest == "from a\nfrom orders"
    assert compared(one) == compared(other)


def test_a_cte_of_a_subquery_is_not_that_of_the_statement() -> None:
    found = query(
        "with x as (select id from a) select * from x join"
        " (with x as (select id from b) select id from x) s on s.id = x.id"
    )
    assert found.sources == {"a", "b"}


@pytest.mark.parametrize(
    ("dialect", "function", "name"),
    [
        ("postgres", "generate_series(1, a.n) {0}", "generate_series(1, n)"),
        ("postgres", "tools.parts(a.n) {0}", "tools.parts(n)"),
        ("snowflake", "table(parts(a.n)) {0}", "parts(n)"),
        ("spark", "range(10) {0}", "range(10)"),
    ],
)
def test_a_table_function_is_its_call_without_aliases(dialect: str, function: str, name: str) -> None:
    sql = f"select f.x, a.x from a join {function} on a.id = f.id"
    one, other = (
        query(sql.replace("f.", f"{alias}.").format(alias), dialect) for alias in ("f", "g")
    )  # fmt: skip
    assert one.sources == {"a", name}
    assert joins(sql.format("f"), dialect) == {f"inner join {name} on id = id"}
    assert compared(one) == compared(other)


def test_another_call_of_a_table_function_is_another_relation() -> None:
    one, other = (query(f"select f.id from a join parts({each}) f on f.id = a.id") for each in (1, 2))
    assert one.sources == {"a", "parts(1)"}
    assert other.sources == {"a", "parts(2)"}
