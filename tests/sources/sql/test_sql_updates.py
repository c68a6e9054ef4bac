"""UPDATE and DELETE of a table that a join names: datasets and columns, by hand."""

import pytest

from tests.sources.sql.sql_reading import lineage_of


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        (
            "tsql",
            "update s set s.amount = x.amount + 1 from sales s join staging x on s.id = x.id where x.ok",
        ),
        (
            "tsql",
            "update s set amount = x.amount + 1 from sales as s, staging x where s.id = x.id and x.ok = 1",
        ),
        (
            "tsql",
            "update sales set amount = x.amount + 1 from sales join staging x on sales.id = x.id where x.ok",
        ),
        (
            "tsql",
            "update sales set amount = x.amount + 1 from sales s join staging x on s.id = x.id where x.ok",
        ),
        (
            "tsql",
            "update s set s.amount = x.amount + 1 from staging x join sales s on s.id = x.id where x.ok",
        ),
        ("mysql", "update sales s join staging x on s.id = x.id set s.amount = x.amount + 1 where x.ok"),
        ("mysql", "update staging x join sales s on s.id = x.id set s.amount = x.amount + 1 where x.ok"),
        (
            "mysql",
            "update sales, staging x set sales.amount = x.amount + 1 where sales.id = x.id and x.ok = 1",
        ),
    ],
)
def test_an_update_of_a_joined_table(dialect: str, statement: str) -> None:
    found = lineage_of(statement, dialect)

    join = "FILTER" if "join" not in statement else "JOIN"
    assert found.writes == {("etl/f.sql", "sales")}
    assert found.feeds == {("staging", "sales")}
    assert found.columns == {"staging#amount > sales#amount TRANSFORMATION"}
    assert found.influences == {f"staging#id > sales {join}", "staging#ok > sales FILTER"}
    assert found.problems == set()


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        ("tsql", "delete s from sales s join staging x on s.id = x.id where x.ok"),
        ("tsql", "delete from s from sales s join staging x on s.id = x.id where x.ok"),
        ("tsql", "delete sales from sales join staging x on sales.id = x.id where x.ok"),
        ("tsql", "delete s from staging x join sales s on s.id = x.id where x.ok"),
        ("mysql", "delete s from staging x join sales s on s.id = x.id where x.ok"),
        ("mysql", "delete from s using sales s join staging x on s.id = x.id where x.ok"),
    ],
)
def test_a_delete_of_a_joined_table(dialect: str, statement: str) -> None:
    found = lineage_of(statement, dialect)

    assert found.writes == {("etl/f.sql", "sales")}
    assert found.feeds == {("staging", "sales")}
    assert found.columns == set()
    assert found.influences == {"staging#id > sales JOIN", "staging#ok > sales FILTER"}
    assert found.problems == set()


def test_an_update_of_several_joined_tables() -> None:
    found = lineage_of(
        "update a join b on a.id = b.id join c on c.id = b.id set a.x = c.y, b.z = c.w;"
        " delete a, b from a join c on a.i = c.i join b",
        "mysql",
    )

    assert found.writes == {("etl/f.sql", "a"), ("etl/f.sql", "b")}
    assert found.columns == {"c#y > a#x IDENTITY", "c#w > b#z IDENTITY"}
    assert ("c", "a") in found.feeds
    assert ("c", "b") in found.feeds


def test_rows_of_a_cte_are_those_of_its_table() -> None:
    found = lineage_of(
        "with d as (select *, row_number() over (partition by k order by t) as n from sales)"
        " delete from d where n > 1;"
        " with u as (select s.amount, x.amount as fresh from sales s join staging x on s.id = x.id)"
        " update u set amount = fresh",
        "tsql",
        schema="create table sales (id int, k int, t int, amount int);"
        " create table staging (id int, amount int)",
    )

    assert found.writes == {("etl/f.sql", "sales")}
    assert found.feeds == {("staging", "sales")}
    assert found.columns == {"staging#amount > sales#amount IDENTITY"}
    assert found.influences == {"staging#id > sales JOIN"}


def test_another_instance_of_the_table_is_no_target() -> None:
    found = lineage_of(
        "update t set b = o.b from t o join s on s.id = o.id where t.parent = o.id", "redshift"
    )

    assert found.writes == {("etl/f.sql", "t")}
    assert found.feeds == {("s", "t")}
    assert found.influences == {"s#id > t JOIN"}


def test_assignments_of_t_sql_and_of_tuples() -> None:
    found = lineage_of("update t set a += s.x, b = 1 from s where s.id = t.id", "tsql")
    assert found.columns == {"s#x > t#a TRANSFORMATION"}

    several = lineage_of("update t set (a, b) = (select x, upper(y) from s where s.id = t.id)", "oracle")
    assert several.columns == {"s#x > t#a IDENTITY", "s#y > t#b TRANSFORMATION"}
