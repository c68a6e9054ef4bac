"""The six statements of the captured log, with edges and columns derived from their SQL."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from lineage_merge.model.elements import (
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    JobKey,
    Reference,
    Writes,
)
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import Query, read_query
from lineage_merge.sources.hive.translator import Tables, job_name, translate

# source, target, write mode; source column, target column, transformation; column, target, influence
Flows = set[tuple[str, str, str]]

# $f2 is what Hive calls a column of the subquery.
RANK = "row_number() over (partition by city order by $f2 desc)"
CASE = "CASE WHEN ((orders.amount > 10.0)) THEN (orders.amount) ELSE (0) END"

EXPECTED: dict[str, tuple[Flows, Flows, Flows]] = {
    # insert overwrite ... join, where, group by, with count(*) of both tables
    "dcdcffab": (
        {("ods.users", "dw.user_orders", "overwrite"), ("ods.orders", "dw.user_orders", "overwrite")},
        {
            ("ods.users.id", "dw.user_orders.user_id", "IDENTITY"),
            ("ods.users.name", "dw.user_orders.name", "TRANSFORMATION upper(u.name)"),
            ("ods.orders.amount", "dw.user_orders.total", "AGGREGATION sum(ods.orders.amount)"),
        },
        {
            ("ods.orders.dt", "dw.user_orders", "FILTER"),
            ("ods.orders.user_id", "dw.user_orders", "FILTER"),  # is not null, which Hive adds
            ("ods.orders.user_id", "dw.user_orders", "JOIN"),
            ("ods.users.id", "dw.user_orders", "FILTER"),
            ("ods.users.id", "dw.user_orders", "JOIN"),
            ("ods.users.city", "dw.user_orders", "FILTER"),
        },
    ),
    # create table as, row_number() over a subquery: Hive names all columns of its input
    "d9e76db9": (
        {("ods.users", "dw.city_rank", "overwrite"), ("ods.orders", "dw.city_rank", "overwrite")},
        {
            ("ods.users.city", "dw.city_rank.city", "IDENTITY"),
            ("ods.orders.user_id", "dw.city_rank.user_id", "IDENTITY"),
            ("ods.orders.amount", "dw.city_rank.total", "AGGREGATION sum(ods.orders.amount)"),
            ("ods.users.city", "dw.city_rank.rk", f"WINDOW {RANK}"),
            ("ods.orders.user_id", "dw.city_rank.rk", f"WINDOW {RANK}"),
            ("ods.orders.amount", "dw.city_rank.rk", f"WINDOW {RANK}"),
        },
        {
            ("ods.orders.user_id", "dw.city_rank", "FILTER"),
            ("ods.orders.user_id", "dw.city_rank", "JOIN"),
            ("ods.users.id", "dw.city_rank", "FILTER"),
            ("ods.users.id", "dw.city_rank", "JOIN"),
        },
    ),
    # dynamic partitions
    "416a49de": (
        {("ods.orders", "dw.daily", "overwrite")},
        {
            ("ods.orders.user_id", "dw.daily.user_id", "IDENTITY"),
            ("ods.orders.amount", "dw.daily.amount", "IDENTITY"),
            ("ods.orders.dt", "dw.daily.dt", "IDENTITY"),
        },
        set(),
    ),
    # a partition, CASE
    "9cb638df": (
        {("ods.orders", "dw.daily", "overwrite")},
        {
            ("ods.orders.user_id", "dw.daily.user_id", "IDENTITY"),
            (
                "ods.orders.amount",
                "dw.daily.amount",
                f"TRANSFORMATION,CONDITIONAL {CASE}",
            ),
        },
        {("ods.orders.dt", "dw.daily", "FILTER")},
    ),
    # one statement with two targets; the filter is that of one of them; constants
    "1f79029f": (
        {("ods.orders", "dw.user_orders", "overwrite"), ("ods.orders", "dw.daily", "append")},
        {
            ("ods.orders.user_id", "dw.user_orders.user_id", "IDENTITY"),
            ("ods.orders.amount", "dw.user_orders.total", "IDENTITY"),
            ("ods.orders.id", "dw.daily.user_id", "IDENTITY"),
            ("ods.orders.amount", "dw.daily.amount", "IDENTITY"),
        },
        {("ods.orders.amount", "dw.user_orders", "FILTER")},
    ),
    # a view
    "fabcd04d": (
        {("dw.user_orders", "dw.v_big", "overwrite")},
        {
            (f"dw.user_orders.{column}", f"dw.v_big.{column}", "IDENTITY")
            for column in ("user_id", "name", "total", "n")
        },
        {("dw.user_orders.total", "dw.v_big", "FILTER")},
    ),
}

TARGET_COLUMNS = {
    "dw.user_orders": {"user_id", "name", "total", "n"},
    "dw.city_rank": {"city", "user_id", "total", "rk"},
    "dw.daily": {"user_id", "amount", "dt"},
    "dw.v_big": {"user_id", "name", "total", "n"},
}


@pytest.fixture(params=["hive-lineage.log", "hive-lineage-names.log"])
def queries(request: pytest.FixtureRequest, data: Path) -> dict[str, Query]:
    """The queries of a log by the first digits of Hive's hash."""
    lines = (data / "hive" / request.param).read_bytes().splitlines(keepends=True)
    found: dict[str, Query] = {}
    for each in documents([(f"line {number}", line) for number, line in enumerate(lines, 1)]):
        assert isinstance(each, Found)
        query = read_query(each)
        assert isinstance(query, Query)
        found[each.document["hash"][:8]] = query
    return found


def elements(query: Query) -> list[Element]:
    names = Tables("hive://metastore:9083")
    return list(translate(query, query.targets, JobKey("hive", job_name(query, "target")), names))


def short(ref: Reference) -> str:
    assert ref.namespace == "hive://metastore:9083"
    return ref.name


def flows(found: Iterable[Element]) -> Flows:
    return {
        (short(each.source), short(each.target), str(each.properties["write_mode"]))
        for each in found
        if isinstance(each, Feeds)
    }


def column_flows(found: Iterable[Element]) -> Flows:
    return {
        (
            f"{short(each.source)}.{each.source_column}",
            f"{short(each.target)}.{each.target_column}",
            f"{','.join(each.transformations)} {each.expression}".strip(),
        )
        for each in found
        if isinstance(each, FeedsColumn)
    }


def row_flows(found: Iterable[Element]) -> Flows:
    return {
        (f"{short(each.source)}.{each.source_column}", short(each.target), kind)
        for each in found
        if isinstance(each, Influences)
        for kind in each.transformations
    }


@pytest.mark.parametrize("statement", EXPECTED)
def test_a_statement_has_the_edges_of_its_sql(queries: dict[str, Query], statement: str) -> None:
    found = elements(queries[statement])

    assert (flows(found), column_flows(found), row_flows(found)) == EXPECTED[statement]


def test_every_target_has_its_columns_and_label(queries: dict[str, Query]) -> None:
    found = [each for query in queries.values() for each in elements(query)]
    columns: dict[str, set[str]] = {}
    for each in found:
        if isinstance(each, Column) and short(each.ref).startswith("dw."):
            columns.setdefault(short(each.ref), set()).add(each.name)

    assert columns == TARGET_COLUMNS
    written = {short(each.target) for each in found if isinstance(each, Writes)}
    assert written == set(TARGET_COLUMNS)
    views = {short(each.ref) for each in found if isinstance(each, Dataset) and each.label == "view"}
    assert views == {"dw.v_big"}


def test_each_statement_fills_its_tables_under_their_names(queries: dict[str, Query]) -> None:
    assert {statement: job_name(query, "target") for statement, query in queries.items()} == {
        "dcdcffab": "dw.user_orders",
        "d9e76db9": "dw.city_rank",
        "416a49de": "dw.daily",
        "9cb638df": "dw.daily",
        "1f79029f": "dw.daily+dw.user_orders",
        "fabcd04d": "dw.v_big",
    }
