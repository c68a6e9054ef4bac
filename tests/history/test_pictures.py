"""Lineage as of a moment: entries of several DAGs put together."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.graph_format.elements import Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.history.moments import Moment, parse_moment
from lineage_merge.model.errors import ConfigError, IntermediateError, NotFound
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.past import AsOf, as_of
from tests.history.made_history import MadeHistory, at
from tests.made_merges import Made, dataset
from tests.properties.drawn import examples


@pytest.fixture
def history(tmp_path: Any) -> MadeHistory:
    return MadeHistory(str(tmp_path))


def asked(history: MadeHistory, moment: str) -> AsOf:
    return as_of(history.location, parse_moment(moment), "dev")


def datasets(graph: LineageGraph) -> dict[str, tuple[str, ...]]:
    """The names of datasets, with their DAGs."""
    return {each.name: each.dags for each in graph.search("", ["table", "view", "file"])}


def feeds(graph: LineageGraph) -> set[tuple[str, str]]:
    return {(start.rpartition("|")[2], end.rpartition("|")[2]) for start, end in graph.pairs(["feeds"])}


def test_the_picture_is_that_of_the_newest_merge_of_each_dag(history: MadeHistory) -> None:
    history.full("2026-01-01T04:00", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-01T05:00", Made("weekly").job("dbt", "m", {"c": ["b"]}))
    history.full("2026-01-02T04:00", Made().job("spark", "load", {"b": ["a", "x"]}))
    history.unchanged("2026-01-03T05:00", "weekly")

    first = asked(history, "2026-01-01T04:30")
    assert (datasets(first.graph), feeds(first.graph)) == ({"a": ("daily",), "b": ("daily",)}, {("a", "b")})
    assert [str(each) for each in first.merges] == [
        "daily in dev: merge 000000000001 of 2026-01-01 04:00:00 UTC"
    ]
    day = asked(history, "2026-01-01")
    assert datasets(day.graph) == {"a": ("daily",), "b": ("daily", "weekly"), "c": ("weekly",)}
    assert feeds(day.graph) == {("a", "b"), ("b", "c")}
    last = asked(history, "2026-01-03")
    assert feeds(last.graph) == {("a", "b"), ("x", "b"), ("b", "c")}
    assert [each.record.id for each in last.merges] == ["000000000003", "000000000004"]
    of_merge = asked(history, "000000000002")
    assert feeds(of_merge.graph) == feeds(day.graph)


def test_a_removed_dag_leaves_the_picture(history: MadeHistory) -> None:
    history.full("2026-01-01", Made().job("spark", "load", {"b": ["a"]}))
    history.full("2026-01-01", Made("weekly").node("a"))
    history.removed("2026-01-02T00:00", "daily")

    assert datasets(asked(history, "2026-01-01T12:00").graph) == {"a": ("daily", "weekly"), "b": ("daily",)}
    after = asked(history, "2026-01-02")
    assert datasets(after.graph) == {"a": ("weekly",)}
    assert [each.scope.dag_name for each in after.merges] == ["weekly"]


def test_values_of_shared_vertices_are_those_of_the_newest_entry(history: MadeHistory) -> None:
    history.full("2026-01-01", Made().node("a", "table", description="first", tags=["pii"]))
    history.full("2026-01-02T00:00", Made("weekly").node("a", "view", description="second"))
    history.unchanged("2026-01-03T00:00", "daily")  # its entry is still the older one

    (a,) = asked(history, "2026-01-03").graph.find_named("a", ["table", "view"])
    assert (a.label, a.properties["description"], a.dags) == ("view", "second", ("daily", "weekly"))
    assert "tags" not in a.properties


def test_properties_of_runs_replace_those_of_the_entry(history: MadeHistory) -> None:
    made = Made().job("spark", "load", {"b": ["a"]}, at=1)
    history.full("2026-01-01", made)
    job = next(row for row in made.nodes.values() if row["label"] == "job")
    history.runs("2026-01-02T00:00", "daily", [{**job, "last_run_at": 2, "status": "failed"}])
    history.unchanged("2026-01-03T00:00", "daily")

    def ran(moment: str) -> tuple[Any, Any]:
        (found,) = asked(history, moment).graph.find_named("load", ["job"])
        return found.properties["last_run_at"], found.properties.get("status")

    assert [ran(each) for each in ("2026-01-01", "2026-01-02", "2026-01-03")] == [
        (1, None),
        (2, "failed"),
        (2, "failed"),
    ]
    assert feeds(asked(history, "2026-01-03").graph) == {("a", "b")}


def test_datasets_that_another_dag_moved_are_renamed_in_older_entries(history: MadeHistory) -> None:
    made = Made().job("spark", "load", {"s3://lake|t": ["a"]}).column("s3://lake|t", "c")
    made.feeds_column(("spark", "load"), ("a", "c"), ("s3://lake|t", "c"))
    history.full("2026-01-01", made)
    moves = {dataset("s3://lake|t"): dataset("hive|t")}
    history.full("2026-01-02T00:00", Made("weekly").job("dbt", "m", {"mart": ["hive|t"]}), moves)

    assert set(datasets(asked(history, "2026-01-01").graph)) == {"a", "t"}
    after = asked(history, "2026-01-02").graph
    reached = after.reach([dataset("a")], ["feeds"], "down")
    assert reached == {dataset("hive|t"), dataset("mart")}
    columns = after.reach([f"{dataset('a')}|c"], ["feeds_column"], "down")
    assert columns == {f"{dataset('hive|t')}|c"}
    assert not after.vertices([dataset("s3://lake|t")])


def test_a_moment_before_the_first_merge(history: MadeHistory) -> None:
    history.full("2026-01-02T03:04:05", Made().node("a"))
    with pytest.raises(
        NotFound, match="until 2026-01-01 23:59:59 UTC; the history begins at 2026-01-02 03:04:05"
    ):
        asked(history, "2026-01-01")
    with pytest.raises(NotFound, match="no history of prod; it has:") as raised:
        as_of(history.location, parse_moment("2026-01-03"), "prod")
    assert raised.value.candidates == ("dev",)
    with pytest.raises(NotFound, match="unknown merge: 0123456789ab"):
        asked(history, "0123456789ab")


NOW = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", at("2026-03-10T12:00")),
        ("3d", at("2026-03-07T12:00")),
        ("1.5d", at("2026-03-09T00:00")),
        ("90m", at("2026-03-10T10:30")),
        ("2w", at("2026-02-24T12:00")),
        ("2026-03-01", at("2026-03-02") - 1),
        ("2026-03-01T14:00", at("2026-03-01T14:00")),
        ("2026-03-01 14:00", at("2026-03-01T14:00")),
        ("2026-03-01T14:00+02:00", at("2026-03-01T12:00")),
        ("2026-03-01T14:00:00Z", at("2026-03-01T14:00")),
    ],
)
def test_moments(text: str, expected: int) -> None:
    assert parse_moment(text, NOW) == Moment(text, expected)


def test_the_beginning_of_an_id_is_a_merge() -> None:
    assert parse_moment("3f9a1c2b") == Moment("3f9a1c2b", merge="3f9a1c2b")


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01", "3x", "3f9a", "999999y", "0001-01-01x"])
def test_other_texts_are_errors(text: str) -> None:
    with pytest.raises(ConfigError, match="--as-of"):
        parse_moment(text, NOW)


def test_an_age_that_is_too_long_is_named_as_such() -> None:
    with pytest.raises(ConfigError, match="--from: expected at most 36500 days, found 200000d"):
        parse_moment("200000d", NOW, "--from")


NAMES = st.sampled_from("abcde")
MERGES = st.lists(
    st.tuples(
        st.sampled_from(["daily", "weekly", "hourly"]),
        st.dictionaries(NAMES, st.lists(NAMES, unique=True, max_size=3), max_size=3),
    ),
    min_size=1,
    max_size=6,
)


@examples(20)
@given(MERGES)
def test_the_picture_as_of_a_merge_is_what_the_dags_had_then(
    tmp_path_factory: pytest.TempPathFactory, merges: list[tuple[str, dict[str, list[str]]]]
) -> None:
    history = MadeHistory(str(tmp_path_factory.mktemp("drawn")))
    loaded: dict[str, Made] = {}
    expected: list[set[str]] = []
    for number, (dag, flows) in enumerate(merges):
        made = Made(dag).job("spark", f"{dag}_job", flows, at=number)
        loaded.pop(dag, None)  # the newest merge is last, and its values take precedence
        loaded[dag] = made.node("shared", description=f"merge {number}")
        history.full(f"2026-01-{number + 1:02}", loaded[dag])
        expected.append(graph_of(loaded.values()))
    for number, graph in enumerate(expected):
        found = asked(history, f"2026-01-{number + 1:02}T00:00").graph
        assert {repr(each) for each in sorted_properties(found.everything())} == graph


def graph_of(merges: Iterable[Made]) -> set[str]:
    """The vertices and edges of the DAGs together; of several values the last."""
    nodes: dict[str, dict[str, Any]] = {}
    dags: dict[str, list[str]] = {}
    edges: list[Vertex | Edge] = []
    for made in merges:
        for key, row in made.nodes.items():
            nodes[key] = row
            dags.setdefault(key, []).append(made.dag)
        edges += map(edge_of_row, made.edges.values())
    vertices = (vertex_of_row({**row, "dag_name": sorted(dags[key])}) for key, row in nodes.items())
    return {repr(each) for each in sorted_properties([*vertices, *edges])}


def sorted_properties(elements: Iterable[Vertex | Edge]) -> Iterator[Vertex | Edge]:
    for each in elements:
        yield replace(each, properties=dict(sorted(each.properties.items())))


def test_an_entry_without_all_of_its_files_is_an_error(history: MadeHistory) -> None:
    history.full("2026-01-01", Made().job("spark", "load", {"b": ["a"]}))
    (file,) = Path(history.location, "edges").rglob("*.parquet")
    file.unlink()
    with pytest.raises(IntermediateError, match=r"edges/.*: 0 of 2 rows; .*Fix: repeat"):
        asked(history, "2026-01-01")
    (nodes,) = Path(history.location, "nodes").rglob("*.parquet")
    nodes.write_bytes(b"PAR1")
    with pytest.raises(IntermediateError, match="invalid or incomplete Parquet file"):
        asked(history, "2026-01-01")
