"""Walks as of a moment that read entries by id: answers are those of whole columns, and little is read."""

from collections.abc import Iterable, Iterator
from itertools import product
from operator import itemgetter
from pathlib import Path
from shutil import rmtree
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.graph_format.columns import columns_of_rows, values_at
from lineage_merge.graph_format.elements import ALL_VERTEX_LABELS
from lineage_merge.graph_format.schema import edge_ddl
from lineage_merge.history import entry_files
from lineage_merge.history.entry_files import read_columns, write_rows, write_table
from lineage_merge.history.moments import parse_moment
from lineage_merge.history.pictures import merges_until
from lineage_merge.history.row_groups import GroupColumns
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.model.elements import JobKey
from lineage_merge.model.errors import IntermediateError
from lineage_merge.questions.backends import sorted_entries
from lineage_merge.questions.backends.sorted_entries import SortedEntriesGraph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.past import as_of, graph_of
from tests.history.made_history import MadeHistory
from tests.history.scripted_month import scripted_month
from tests.made_merges import Made, dataset
from tests.properties.drawn import examples

LABELS = ("feeds", "feeds_column", "has_column", "influences")
DATASETS = [dataset(name) for name in "abc"]
IDS = [f"{owner}{rest}" for owner, rest in product(DATASETS, ("", "|c", "|s", "|s|f"))]


@pytest.fixture(autouse=True, scope="module")
def _tiny_row_groups() -> Iterator[None]:
    """Several row groups per file, however few its rows, and walks that never give up."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(entry_files, "GROUP_ROWS", 2)
        patched.setattr(entry_files, "FILE_ROWS", 5)
        patched.setattr(sorted_entries, "SEARCHES", 1000)
        yield


def label_of(identifier: str) -> str:
    return "table" if identifier in DATASETS else "column"


@st.composite
def made_merges(draw: st.DrawFn) -> Made:
    """A merge of one DAG whose edges may lack an end, and whose names are few."""
    made = Made(draw(st.sampled_from(["daily", "weekly"])))
    for identifier in draw(st.lists(st.sampled_from(IDS), unique=True, min_size=4)):
        own = {"environment": "dev", "dag_name": made.dag, "name": draw(st.sampled_from(["n", "m"]))}
        is_field = identifier.endswith("|s|f")
        names = {"qualified_name": "s.f"} if is_field else {"location": draw(st.sampled_from(["n", None]))}
        made.nodes[identifier] = {"id": identifier, "label": label_of(identifier), **own, **names}
    ends = st.sampled_from(IDS)
    for label, start, end in draw(st.lists(st.tuples(st.sampled_from(LABELS), ends, ends), max_size=25)):
        made.edge(JobKey("spark", "load"), start, label, end, transformation="IDENTITY")
    return made


def answers(graph: LineageGraph, ids: list[str]) -> Iterator[tuple[str, Any]]:
    """Answers to all questions that entries answer by id."""

    def shown(elements: Iterable[Any]) -> list[str]:
        ends = ("from_id", "to_id")
        return sorted(
            repr(
                (
                    each.id,
                    each.label,
                    [getattr(each, end, "") for end in ends],
                    sorted(each.properties.items()),
                )
            )
            for each in elements
        )

    yield "environments", graph.environments()
    yield "vertices", shown(graph.vertices([*ids, *ids, "none"]))
    for text, environment, dag in product(["n", "m", "s.f", ids[0], "none"], ["dev", None], ["daily", None]):
        named = graph.find_named(text, ("table", "job"), environment, dag)
        columns = graph.find_named(text, ("column",), environment, dag)
        yield f"named {text} {environment} {dag}", (shown(named), shown(columns))
    assert not graph.find_named("n", ALL_VERTEX_LABELS, "prod")
    for label, dag in product(LABELS, (None, "daily", "none")):
        yield f"from {label} {dag}", shown(graph.edges_from(ids, [label, "writes"], dag))
        yield f"to {label} {dag}", shown(graph.edges_to(ids, [label, label], dag))
    for start, dag in product(ids, (None, "weekly")):
        for labels in (["feeds"], ["feeds_column", "has_column"], ["has_column"], ["influences", "feeds"]):
            yield f"below {start} {labels} {dag}", shown(graph.edges_below([start], labels, dag, ["writes"]))
            for direction, depth in product(("up", "down"), (0, 1, 2, None)):
                reached = graph.reach([start], labels, direction, depth, dag)  # type: ignore[arg-type]
                yield f"reach {start} {labels} {direction} {depth} {dag}", reached


def assert_as_of_columns(history: MadeHistory, moment: str, ids: list[str]) -> None:
    merges = merges_until(history.location, parse_moment(moment), "dev")
    found = as_of(history.location, parse_moment(moment), "dev").graph
    assert isinstance(found, SortedEntriesGraph)
    expected = dict(answers(graph_of(history.location, merges), ids))
    assert dict(answers(found, ids)) == expected


@examples(25)
@given(st.lists(made_merges(), min_size=1, max_size=3), st.booleans())
def test_answers_are_those_of_whole_columns(
    tmp_path_factory: pytest.TempPathFactory, merges: list[Made], with_run: bool
) -> None:
    history = MadeHistory(str(tmp_path_factory.mktemp("drawn")))
    for day, made in enumerate(merges, 1):
        history.full(f"2026-01-{day:02}", made)
    if with_run:
        last = merges[-1]
        rows = [{**row, "name": "n", "status": "failed"} for row in [*last.nodes.values()][:2]]
        history.runs("2026-01-09", last.dag, [*rows, {**rows[0], "id": f"dev|{last.dag}|spark|load"}])
    assert_as_of_columns(history, "2026-01-10", IDS)


@pytest.mark.parametrize("day", [1, 8, 15])
def test_answers_in_a_month_of_two_dags(tmp_path: Path, day: int) -> None:
    history = scripted_month(str(tmp_path))
    graph = as_of(history.location, parse_moment(f"2026-01-{day:02}"), "dev").graph
    assert_as_of_columns(history, f"2026-01-{day:02}", sorted(graph.ids(ALL_VERTEX_LABELS)))


def test_ids_that_a_later_merge_replaced_are_read_by_columns(tmp_path: Path) -> None:
    history = scripted_month(str(tmp_path))
    moved = as_of(history.location, parse_moment("2026-01-16T05:00"), "dev").graph
    assert not isinstance(moved, SortedEntriesGraph)


def test_entries_without_edges_by_start_are_read_by_columns(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    history.full("2026-01-01", chain(5))
    rmtree(tmp_path / "edges_from")
    graph = as_of(history.location, parse_moment("2026-01-02"), "dev").graph
    assert not isinstance(graph, SortedEntriesGraph)
    assert graph.reach([dataset("t2")], ["feeds"], "down") == {dataset("t3"), dataset("t4")}


def test_edges_by_start_that_are_not_complete_are_an_error(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    history.full("2026-01-01", chain(9))
    graph = as_of(history.location, parse_moment("2026-01-02"), "dev").graph
    files = sorted(tmp_path.joinpath("edges_from").rglob("*.parquet"))
    assert len(files) > 1
    files[0].unlink()
    with pytest.raises(IntermediateError, match=r"edges_from/.*: 11 of 16 rows; .*Fix: repeat"):
        graph.reach([dataset("t2")], ["feeds"], "down")


@pytest.mark.parametrize("partitions", [0, 1, 3])
def test_files_by_start_have_the_ends_of_each_edge(tmp_path: Path, partitions: int) -> None:
    edges = chain(20).edges
    folder, by_start = str(tmp_path / "edges"), str(tmp_path / "edges_from")
    if partitions:
        rows = LocalEngine().rows(edges.values(), partitions)
        write_rows(rows, "edges", folder, by_start=by_start)
    else:
        table = columns_of_rows(sorted(edges.values(), key=itemgetter("to")), edge_ddl())
        columns = {name: table.column(name) for name in table.names}
        write_table(pa.table(columns), "edges", folder, by_start=by_start)
    found = read_columns(by_start)
    keys = ("from", "to", "label")
    written = list(zip(*(values_at(found, key, range(found.num_rows)) for key in keys), strict=True))
    assert sorted(written) == sorted(tuple(edge[key] for key in keys) for edge in edges.values())
    for _, file in found.files:
        starts = file.read(columns=["from"]).column(0).to_pylist()
        assert starts == sorted(starts)


def chain(length: int) -> Made:
    made = Made()
    for number in range(1, length):
        made.job("spark", f"job{number}", {f"t{number}": [f"t{number - 1}"]})
    return made


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns of row groups that were decoded."""
    names: list[str] = []
    decode = GroupColumns.decode

    def counted(group: GroupColumns, wanted: Iterable[str]) -> None:
        columns = [name for name in wanted if name not in group._columns]
        names.extend(columns)
        decode(group, columns)

    monkeypatch.setattr(GroupColumns, "decode", counted)
    return names


def test_a_walk_decodes_what_its_answer_needs(tmp_path: Path, decoded: list[str]) -> None:
    numbers = []
    for length in (20, 200):
        history = MadeHistory(str(tmp_path / str(length)))
        history.full("2026-01-01", chain(length))
        graph = as_of(history.location, parse_moment("2026-01-02"), "dev").graph
        decoded.clear()
        assert len(graph.reach([dataset("t11")], ["feeds"], "down", 2)) == 2
        assert len(graph.reach([dataset("t11")], ["feeds"], "up", 2)) == 2
        assert len(graph.edges_from([dataset("t11")], ["feeds"])) == 1
        assert len(graph.vertices([dataset("t11")])) == 1
        numbers.append(len(decoded))
    assert numbers[0] < 50
    assert numbers[1] <= numbers[0] + 10  # other neighbors in the order of names


def test_a_walk_through_all_of_a_graph_ends_in_its_columns(
    tmp_path: Path, decoded: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sorted_entries, "SEARCHES", 0.1)
    history = MadeHistory(str(tmp_path))
    history.full("2026-01-01", chain(50))
    graph = as_of(history.location, parse_moment("2026-01-02"), "dev").graph
    assert len(graph.reach([dataset("t0")], ["feeds"], "down")) == 49
    before = len(decoded)
    assert len(graph.reach([dataset("t49")], ["feeds"], "up")) == 49
    assert len(graph.edges_to([dataset("t49")], ["feeds"])) == 1
    assert len(graph.edges_from([dataset("t1")], ["feeds"])) == 1
    assert len(graph.vertices([dataset("t1")])) == 1
    assert len(decoded) == before
