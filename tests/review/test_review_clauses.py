"""Clauses of a query: what a review compares."""

from sqlglot.dialects.dialect import Dialect

from lineage_merge.query.review.clauses import JOIN, query_of


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
