"""Loads into an embedded graph: as into a server, atomically, and one after the other."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyarrow import parquet

from lineage_merge.graph_format.arrow import rows_of_table
from lineage_merge.infra.arrow_tables import decode_columns
from lineage_merge.infra.embedded.graph_store import GraphFolder, snapshot_folder
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load import graph_access
from lineage_merge.load.graph_access import Graph
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.result import LoadResult, Pipeline
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.errors import EmbeddedError, GraphRejected, IntermediateError, RetireRefused
from lineage_merge.questions.backends.folder import read_graph
from tests.graph_reading import whole
from tests.load import changing_pipeline
from tests.load.engines import on_both_engines
from tests.made_merges import ALL, Made, dataset
from tests.snapshots import whole_folder, write_graph

# What differs between two loads, or between a server and a folder.
_OF_RUNS = ("last_merged_at", "requests", "elements_read", "state", "load_token", "touched")
Content = tuple[dict[str, Any], dict[str, Any]]


def load(graph: Graph, made: Made, coverage: SourceCompleteness = ALL, **options: Any) -> LoadResult:
    return graph_access.update(made.merge(LocalEngine(), coverage), graph, "dev", made.dag, **options)


def comparable(content: Content) -> Content:
    vertices = {
        key: (label, {name: value for name, value in values.items() if name not in _OF_RUNS})
        for key, (label, values) in content[0].items()
    }
    return vertices, content[1]


def counts(result: LoadResult) -> LoadResult:
    return replace(
        result, seconds=0, requests=0, all_requests=0, elements_read=0, mode="gremlin", compared="full"
    )


def shared(dag: str, *, tags: tuple[str, ...] = ("x", "y"), at: int = 1, **values: Any) -> Made:
    """A table that several DAGs read, with columns, a view, and a job."""
    made = Made(dag).node("a", tags=list(tags), **values).column("a", "c", data_type="int")
    made.job("spark", f"load_{dag}", {"b": ["a"], f"own_{dag}": ["a", "b"]}, at, operations="Filter")
    return made.feeds_column(("spark", f"load_{dag}"), ("a", "c"), ("b", "c"), transformation="IDENTITY")


def of_changes() -> list[Made]:
    """Merges one after the other: new, unchanged, changed and removed elements, of three DAGs."""
    relabelled = shared("daily", at=2).node("a", "view").node("b", description="of b")
    fewer = Made("daily").job("spark", "load_daily", {"b": ["a"]}, 3)
    return [
        shared("weekly", tags=("z",), description="of weekly"),
        shared("daily"),
        shared("daily"),
        shared("daily", tags=("y", "new"), at=2, description='text \\0 "quoted"\n𝄞'),
        relabelled,
        shared("weekly", tags=(), at=5),
        fewer.ran("load_daily", 9),
        changing_pipeline.before(),
        changing_pipeline.after(),
        changing_pipeline.before(),
        *of_a_move(),
    ]


def of_a_move() -> list[Made]:
    """A dataset of two names, each of a DAG; the last merge joins them, and has no tags any more."""
    other = Made("weekly").node("old").job("spark", "w", {"of_w": ["old"]})
    own = [Made("daily").node("new", tags=tags).job("spark", "d", {"of_d": ["new"]}) for tags in (["x"], [])]
    return [other, own[0], own[1].alias("old", "new")]


@pytest.mark.jvm
def test_a_folder_and_a_server_end_with_the_same_graph(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    server, folder = Endpoint(gremlin_url), GraphFolder(tmp_path / "graph")

    def compare(act: Callable[[Graph], Any], what: object) -> None:
        results = [act(graph) for graph in (server, folder)]
        if isinstance(results[0], LoadResult):
            results = [counts(result) for result in results]
        assert results[1] == results[0], what
        assert comparable(whole_folder(folder.path, merge_runs=True)) == comparable(
            whole(gremlin, merge_runs=True)
        ), what
        engine, scope = LocalEngine(), ("dev", "daily")
        for read in (graph_access.read_picture, graph_access.read_runs):
            found = [read(engine, graph, *scope) for graph in (server, folder)]
            both = [map(rows_of, each) if isinstance(each, tuple) else [rows_of(each)] for each in found]
            assert list(both[0]) == list(both[1]), what

    for number, made in enumerate(of_changes()):
        for dry_run in (True, False):
            compare(lambda graph: load(graph, made, allow_retire=True, dry_run=dry_run), (number, dry_run))  # noqa: B023
    for pipeline in (Pipeline("dev", "daily", "load_daily"), Pipeline("dev", "d"), Pipeline("dev", "weekly")):
        compare(lambda graph: graph_access.remove(graph, pipeline), pipeline)  # noqa: B023


def rows_of(rows: Any) -> dict[str, Any]:
    """Rows, or those of a table, by id; a table has the tags of all DAGs."""
    hidden = ("first_seen", "dag_name")
    many = rows_of_table(rows) if isinstance(rows, pa.Table) else rows.collect()
    return {row["id"]: {key: value for key, value in row.items() if key not in hidden} for row in many}


def test_a_load_into_a_folder_imports_no_client() -> None:
    """It takes a third of a second."""
    program = """
import sys
import lineage_merge.orchestration.pipeline
print([name for name in ("gremlin_python", "aiohttp", "boto3") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert done.stdout == "[]\n"


@on_both_engines
def test_engines_load_the_same_graph(engine: Engine, tmp_path: Path) -> None:
    graph, local = GraphFolder(tmp_path / "graph"), GraphFolder(tmp_path / "local")
    for made in of_changes()[:5]:
        graph_access.update(made.merge(engine), graph, "dev", made.dag, allow_retire=True)
        load(local, made, allow_retire=True)
        assert whole_folder(graph.path) == whole_folder(local.path)


def test_the_times_of_new_elements_stay(tmp_path: Path) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    first = seen(graph)
    load(graph, shared("daily", at=2).node("later"))
    after = seen(graph)
    assert first.items() <= after.items()
    assert after[dataset("later")] >= max(first.values())


def seen(graph: GraphFolder) -> dict[str, int]:
    rows = [row for table in graph.read() for row in table.to_pylist()]
    return {row["id"]: row["first_seen"] for row in rows if row["label"] != "merge_run"}


def refused(tmp_path: Path, error: type[Exception], match: str, made: Made, **options: Any) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    before = snapshot_folder(graph.path), whole_folder(graph.path, merge_runs=True)
    with pytest.raises(error, match=match):
        load(graph, made, **options)
    assert (snapshot_folder(graph.path), whole_folder(graph.path, merge_runs=True)) == before


def test_an_edge_with_a_missing_end_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    made = shared("weekly").node("new")
    del made.nodes[dataset("own_weekly")]
    refused(tmp_path, GraphRejected, r"edge \w+ \(.*: the graph has no vertex .*own_weekly", made)


def test_a_row_without_a_key_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    made = shared("daily").node("new")
    made.nodes[dataset("new")]["environment"] = ""
    refused(tmp_path, IntermediateError, "environment is missing", made)


def test_a_merge_that_retires_too_much_writes_nothing(tmp_path: Path) -> None:
    made = Made("daily").job("spark", "load_daily", {"new": ["a"]}, 2).ran("load_daily", 9)
    made.feeds_column(("spark", "load_daily"), ("a", "c"), ("new", "c"))
    refused(tmp_path, RetireRefused, "every edge of spark load_daily", made)


def test_a_crash_in_a_load_leaves_the_graph_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    before = whole_folder(graph.path)

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    for step in ("symlink_to", "replace"):
        with monkeypatch.context() as patch:
            patch.setattr(Path, step, killed)
            patch.setattr(shutil, "rmtree", lambda *_, **__: None)  # as if the process were killed
            with pytest.raises(KeyboardInterrupt):
                load(graph, shared("daily").node("later"))
        assert whole_folder(graph.path) == before
    load(graph, shared("daily").node("later"))
    assert dataset("later") in whole_folder(graph.path)[0]
    names = sorted(each.name.partition("-")[0] for each in graph.path.iterdir())
    assert names == ["current", "snapshot", "snapshot"]  # and that of the load before


def test_an_interrupt_after_the_graph_was_replaced_keeps_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    before = whole_folder(graph.path)

    def interrupted(folder: Path) -> None:
        if folder == graph.path:
            raise KeyboardInterrupt

    monkeypatch.setattr("lineage_merge.infra.embedded.graph_store.sync_folder", interrupted)
    with pytest.raises(KeyboardInterrupt):
        load(graph, shared("weekly"))
    after = whole_folder(graph.path)
    assert before[0].keys() < after[0].keys()


def test_the_order_of_a_graph_depends_on_its_elements_only(tmp_path: Path) -> None:
    made = shared("daily").edges.values()
    nodes = shared("daily").nodes.values()
    for name, edges in (("one", [*made]), ("other", [*made][::-1])):
        write_graph(tmp_path / name, nodes, edges)
    one, other = ([*read_graph(tmp_path / name).everything()] for name in ("one", "other"))
    assert one == other


def test_values_stay_on_a_vertex_to_which_one_of_another_dag_is_moved(tmp_path: Path) -> None:
    graph = GraphFolder(tmp_path / "graph")
    for made in of_a_move():
        load(graph, made)
    label_and_values = whole_folder(graph.path)[0][dataset("new")]
    assert label_and_values[1]["dag_name"] == ["daily", "weekly"]
    assert label_and_values[1]["tags"] == ["x"]


def test_sets_that_differ_in_where_a_null_character_stands_differ(tmp_path: Path) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, Made().node("a", tags=["x\0y", "z"]))
    load(graph, Made().node("a", tags=["x", "y\0z"]))
    assert whole_folder(graph.path)[0][dataset("a")][1]["tags"] == ["x", "y\0z"]


@pytest.mark.parametrize("damage", ["cut", "missing", "dangling", "doubled"])
def test_a_broken_graph_gives_one_line_and_stays_as_it_is(tmp_path: Path, damage: str) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    folder = snapshot_folder(graph.path)
    assert folder
    vertices = folder / "vertices.arrow"
    table = pa.ipc.open_file(vertices.read_bytes()).read_all()
    if damage == "cut":
        vertices.write_bytes(vertices.read_bytes()[:-20])
    elif damage == "missing":
        vertices.unlink()
    else:
        rows = [*range(len(table) - 1)] if damage == "dangling" else [0, *range(len(table))]
        with pa.ipc.new_file(vertices, table.schema) as writer:
            writer.write_table(table.take(rows))
    before = {file: file.read_bytes() for file in graph.path.rglob("*.arrow")}
    with pytest.raises(EmbeddedError, match="cannot be read") as raised:
        load(graph, shared("daily"))
    problems = {"missing": "is missing", "dangling": "there is no vertex", "doubled": "an id is there twice"}
    assert str(graph.path) in raised.value.message
    assert problems.get(damage, "") in raised.value.message
    assert "\n" not in raised.value.message
    assert {file: file.read_bytes() for file in graph.path.rglob("*.arrow")} == before


def test_a_graph_of_an_earlier_version_is_read_and_replaced(tmp_path: Path) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    before = whole_folder(graph.path)
    folder = snapshot_folder(graph.path)
    assert folder
    for kind, table in zip(("nodes", "edges"), graph.read(), strict=True):
        (folder / kind).mkdir()
        parquet.write_table(decode_columns(table), folder / kind / "part-00000.parquet")
    for file in folder.glob("*.arrow"):
        file.unlink()
    assert whole_folder(graph.path) == before
    assert [*read_graph(graph.path).reach([dataset("a")], ["feeds"], "down")]
    assert load(graph, shared("daily")).unchanged
    assert whole_folder(graph.path) == before
    assert sorted(file.name for file in (graph.path / "current").iterdir()) == [
        "adjacency.arrow",
        "edges.arrow",
        "names.arrow",
        "vertices.arrow",
    ]


def _files(graph: GraphFolder) -> dict[str, int]:
    return {file.name: file.stat().st_ino for file in (graph.path / "current").iterdir()}


@pytest.mark.parametrize("has_links", [True, False])
def test_a_load_that_changes_no_edge_uses_the_files_of_edges(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_links: bool
) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, shared("daily"))
    before, edges = _files(graph), whole_folder(graph.path)[1]
    if not has_links:
        monkeypatch.setattr(Path, "hardlink_to", lambda *_: (_ for _ in ()).throw(OSError("no links")))
    load(graph, shared("daily", at=2, description="later"))
    after, (vertices, edges_after) = _files(graph), whole_folder(graph.path)
    is_shared = {name: after[name] == before[name] for name in before}
    assert is_shared == {
        "vertices.arrow": False,
        "names.arrow": False,
        "edges.arrow": has_links,
        "adjacency.arrow": has_links,
    }
    assert edges_after == edges
    assert vertices[dataset("a")][1]["description"] == ["later"]
    load(graph, shared("daily", at=3).node("new").job("spark", "more", {"new": ["a"]}, 3))
    assert _files(graph)["edges.arrow"] not in before.values()
    assert whole_folder(graph.path)[1].items() > edges.items()


def _load_many(path: Path, dag: str, times: int) -> None:
    for number in range(times):
        load(GraphFolder(path), shared(dag, at=number).node(f"{dag}_{number}"))


def test_concurrent_loads_of_two_processes_lose_nothing(tmp_path: Path) -> None:
    path, times = tmp_path / "graph", 5
    spawning = multiprocessing.get_context("spawn")
    loading = [spawning.Process(target=_load_many, args=(path, dag, times)) for dag in ("daily", "weekly")]
    for process in loading:
        process.start()
    for process in loading:
        process.join(120)
    assert [process.exitcode for process in loading] == [0, 0]
    alone = GraphFolder(tmp_path / "alone")
    for dag in ("daily", "weekly"):
        _load_many(alone.path, dag, times)
    assert whole_folder(path) == whole_folder(alone.path)


def _hold(path: Path, held: Any) -> None:
    with GraphFolder(path).lock():
        held.set()
        signal.pause()


def test_a_load_waits_for_another_process_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also under another path of the graph, and until the other process is killed."""
    (tmp_path / "linked").symlink_to(tmp_path, target_is_directory=True)
    spawning = multiprocessing.get_context("spawn")
    held = spawning.Event()
    holder = spawning.Process(target=_hold, args=(tmp_path / "graph", held))
    holder.start()
    try:
        assert held.wait(60)
        graph = GraphFolder(tmp_path / "linked" / "graph")
        said: list[str] = []
        with (
            pytest.raises(EmbeddedError, match=r"still loaded by another process after 0\.001 minutes"),
            graph.lock(said.append, seconds=0.06),
        ):
            pytest.fail("it has the lock")
        assert said == [f"another process loads the graph {tmp_path / 'graph'}: waiting for it"]

        def end(seconds: float) -> None:
            monkeypatch.undo()
            os.kill(holder.pid or 0, signal.SIGKILL)

        monkeypatch.setattr(time, "sleep", end)
        load(graph, shared("daily"), on_progress=said.append)
        assert len(said) == 2
    finally:
        holder.kill()
        holder.join()
    assert dataset("a") in whole_folder(tmp_path / "graph")[0]


def test_an_unpaired_surrogate_is_stored_as_a_question_mark(tmp_path: Path) -> None:
    graph = GraphFolder(tmp_path / "graph")
    load(graph, Made("daily").node("a", description="\ud800 text", tags=["\udfff", "x"]))
    (values,) = [values for _, values in whole_folder(graph.path)[0].values()]
    assert values["description"] == ["? text"]
    assert values["tags"] == ["?", "x"]
    assert load(graph, Made("daily").node("a", description="\ud800 text", tags=["\udfff", "x"])).nodes == 0
    stored = read_graph(graph.path)
    assert not stored.find_named("\udcff", ["table"])
    assert not stored.search("\udcff", ["table"])
