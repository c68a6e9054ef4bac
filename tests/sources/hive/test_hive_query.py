"""Parsing of documents: names, ids, times and errors."""

from typing import Any

import pytest

from lineage_merge.model.elements import Problem, dot_path
from lineage_merge.sources.hive.log import Found
from lineage_merge.sources.hive.query import read_query
from lineage_merge.sources.hive.statement import Table
from tests.sources.hive.hive_lines import MadeEdge, copy, document, query, with_names

INSERT = "insert into dw.a select c from ods.b"


def ends(made: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    return [
        (
            [f"{f.table}#{dot_path(f.column)}" for f in edge.sources],
            [f"{f.table}#{f.column}" for f in edge.targets],
        )
        for edge in query(made).edges
    ]


@pytest.mark.parametrize(
    ("vertex", "kind", "field"),
    [
        ("ods.b.c", "COLUMN", "ods.b#c"),
        ("ODS.B.C", "COLUMN", "ods.b#C"),
        ("ods.b.c.f.g", "COLUMN", "ods.b#c.f.g"),
        ("ods.b.`c.d`", "COLUMN", "ods.b#c.d"),
        ("`ods`.`b`.`c`", "COLUMN", "ods.b#c"),
        ("数仓.订单.金额", "COLUMN", "数仓.订单#金额"),
        ("b.c", "COLUMN", "default.b#c"),
        ("ods.b", "TABLE", "ods.b#"),
        ("ods@b", "TABLE", "ods.b#"),
        ("b", "TABLE", "default.b#"),
    ],
)
@pytest.mark.parametrize("by_name", [False, True])
def test_a_source_is_named_in_many_forms(vertex: str, kind: str, field: str, by_name: bool) -> None:
    made = document(INSERT, [("PROJECTION", "", [vertex], ["dw.a.c"])])
    for each in made["vertices"]:
        if each["vertexId"] == vertex:
            each["vertexType"] = kind

    assert ends(with_names(made) if by_name else made) == [([field], ["dw.a#c"])]


def test_names_without_vertices_are_split_into_columns() -> None:
    made = with_names(document(INSERT, [("PROJECTION", "count(1)", ["ods.b", "ods.d.e"], ["dw.a.n"])]))
    del made["vertices"]

    assert ends(made) == [(["ods.b#", "ods.d#e"], ["dw.a#n"])]


@pytest.mark.parametrize(
    "nothing",
    ["_dummy_database._dummy_table", "_dummy_database@_dummy_table", "default.values__tmp__table__1"],
)
def test_hives_placeholder_tables_are_no_tables(nothing: str) -> None:
    made = document("insert into dw.a values (1)", [("PROJECTION", "1", [nothing], ["dw.a.c"])])

    assert ends(made) == [([], ["dw.a#c"])]


def test_a_query_that_only_reads_writes_nothing() -> None:
    edges: list[MadeEdge] = [("PROJECTION", "", ["ods.b.c"], ["c"]), ("PROJECTION", "", ["ods.b.d"], ["b.d"])]
    made = document("select c, b.d from ods.b", edges)
    for each in made["vertices"]:
        each["vertexType"] = "COLUMN"

    assert query(made).targets == ()
    assert query(with_names(made)).targets == ()


def test_a_directory_is_found_in_the_text_alone() -> None:
    made = document(
        "insert overwrite directory 's3a://out/x' select c from ods.b",
        [("PROJECTION", "", ["ods.b.c"], ["c"])],
    )

    assert ends(made) == [(["ods.b#c"], ["s3a://out/x#c"])]


def test_an_old_insert_names_its_table_only_in_the_text_and_not_its_columns() -> None:
    """As Hive 1.2 writes it: the targets are the columns of the SELECT."""
    edges: list[MadeEdge] = [
        ("PROJECTION", "", ["default.src.cint"], ["cint"]),
        ("PREDICATE", "(src.ds = 1)", ["default.src.ds"], ["cint"]),
    ]
    made = document("insert into table dest partition (ds='x') select cint from src", edges)

    assert query(made).columns_lost == {Table("default", "dest")}
    assert ends(made) == [
        (["default.src#cint"], ["default.dest#"]),
        (["default.src#ds"], ["default.dest#"]),
    ]


def test_a_view_without_its_name_in_the_vertices_keeps_its_columns() -> None:
    made = document("create view dw.v as select c from ods.b", [("PROJECTION", "", ["ods.b.c"], ["c"])])

    assert ends(made) == [(["ods.b#c"], ["dw.v#c"])]
    assert not query(made).columns_lost


def test_the_time_is_when_the_query_ended() -> None:
    seconds = document(INSERT, copy("dw.a", "ods.b"), timestamp=1_700_000_000, duration=1500)

    assert query(seconds).at == 1_700_000_001_500
    assert query(seconds | {"timestamp": 1_700_000_000_123}).at == 1_700_000_001_623
    assert query(seconds | {"timestamp": None}).at is None
    logged = read_query(Found("x", seconds | {"timestamp": None}, "2026-11-21T10:24:30"))
    assert not isinstance(logged, Problem)
    assert logged.at == 1_795_256_670_000


def test_both_forms_are_one_execution_and_another_time_is_another() -> None:
    made = document(INSERT, copy("dw.a", "ods.b"))

    assert query(with_names(made)).key == query(made).key
    assert query(made | {"timestamp": made["timestamp"] + 1}).key != query(made).key
    assert query(made | {"hash": "0" * 32}).key != query(made).key


def test_a_statement_keeps_its_shape_whatever_its_dates_and_changes_it_with_its_columns() -> None:
    one = document("insert into dw.a select c from ods.b where dt='1'", copy("dw.a", "ods.b"))
    other = document("insert into dw.a select c from ods.b where dt='2'", copy("dw.a", "ods.b"))
    third = document("insert into dw.a select c from ods.b where dt='2'", copy("dw.a", "ods.b", "cd"))

    assert query(one).shape() == query(other).shape() != query(third).shape()
    assert query(with_names(one)).shape() == query(one).shape()


@pytest.mark.parametrize(
    ("wrong", "field", "message"),
    [
        ({"edges": None}, "edges", "must be a list, not null"),
        ({"timestamp": "now"}, "timestamp", "must be a number or null, not a string"),
        (
            {"edges": [{"sources": [], "targets": [7], "edgeType": "PROJECTION"}]},
            "edges[0].targets[0]",
            "no vertex 7",
        ),
        ({"edges": [{"sources": [], "targets": []}]}, "edges[0].edgeType", "is missing"),
        (
            {"edges": [{"sources": [1.5], "targets": [], "edgeType": "PREDICATE"}]},
            "edges[0].sources[0]",
            "must be an integer or a string, not a number",
        ),
        ({"vertices": [{"id": 0}]}, "vertices[0].vertexId", "is missing"),
        (
            {"edges": [{"sources": [], "targets": [], "edgeType": "OTHER"}]},
            "edges[0].edgeType",
            "must be PROJECTION or PREDICATE, not 'OTHER'",
        ),
    ],
)
def test_a_document_that_does_not_fit_is_rejected_with_the_field(
    wrong: dict[str, Any], field: str, message: str
) -> None:
    made = document(INSERT, copy("dw.a", "ods.b")) | wrong

    assert read_query(Found("log, line 3", made)) == Problem("rejected", "log, line 3", field, message)


def test_a_query_that_does_not_fit_is_not_repeated() -> None:
    made = document(INSERT, copy("dw.a", "ods.b")) | {"queryText": ["select 'hunter2'"]}

    problem = read_query(Found("log, line 3", made))

    assert isinstance(problem, Problem)
    assert "hunter2" not in problem.message
