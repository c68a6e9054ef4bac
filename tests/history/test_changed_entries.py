"""Entries written from the one before and what a load changed: those that are read from the graph."""

import json
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from io import BytesIO
from operator import itemgetter
from pathlib import Path
from random import Random
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyarrow import parquet
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.history import changed_entry, entry_files, layout, recording
from lineage_merge.history.fingerprints import read_sums
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.recording import Recorder, write_entry
from lineage_merge.infra import storage
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.graph_access import Graph, read_picture, remove, update
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.result import LoadChanges, Pipeline
from lineage_merge.load.server import update as server_update
from lineage_merge.load.server.write_changes import write_changes
from tests.made_merges import Made
from tests.s3_fixtures import S3

WEEKLY = DagScope("dev", "weekly")


@pytest.fixture(autouse=True)
def _small_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of a few rows, and entries of changes however many these are."""
    monkeypatch.setattr(changed_entry, "_MOST", 10)
    for module in (entry_files, changed_entry):
        monkeypatch.setattr(module, "FILE_ROWS", 5)


@pytest.fixture
def used(monkeypatch: pytest.MonkeyPatch) -> list[MergeName]:
    """The entries that were written from the one before."""
    names: list[MergeName] = []
    original = changed_entry.write_changed_entry

    def write(*arguments: Any) -> tuple[int, int] | None:
        counts = original(*arguments)
        names.extend([arguments[2]] if counts else [])
        return counts

    monkeypatch.setattr(recording, "write_changed_entry", write)
    return names


class Graphs:
    """A graph, its history, and another one whose entries are read from the graph."""

    def __init__(self, graph: Graph, folder: Path, engine: Engine) -> None:
        self.graph = graph
        self.location, self.expected = str(folder / "history"), str(folder / "expected")
        self.engine = engine
        self.loads_between: dict[str, Made] = {}

    def between(self, moment: str) -> None:
        """Load what another process loads at a moment of a load, which has no merge in the history."""
        if made := self.loads_between.pop(moment, None):
            self.unrecorded(made)
            time.sleep(0.002)

    def unrecorded(self, made: Made) -> None:
        """Load a merge that is not added to the history."""
        update(made.merge(self.engine), self.graph, "dev", made.dag, allow_retire=True)

    def load(self, made: Made) -> MergeRecord:
        """Load a merge, and check what its entry has."""
        time.sleep(0.002)  # times of merges differ
        scope = DagScope("dev", made.dag)
        recorder = Recorder.read_last_load(self.location, scope, self.graph)
        self.between("begin")
        changed: list[LoadChanges] = []
        merge = made.merge(self.engine)
        loaded = update(merge, self.graph, *scope, allow_retire=True, on_changed=changed.append)
        self.between("end")
        changes = next(iter(changed), None)
        config = Config(made.dag, "dev")
        record = recorder.record(self.engine, None, config, loaded, None, changed=changes)
        if record.kind == "full":
            self._check(scope, record)
        return record

    def _check(self, scope: DagScope, record: MergeRecord) -> None:
        write_entry(self.expected, scope, record.name, read_picture(self.engine, self.graph, *scope))
        for kind in ("nodes", "edges", "edges_from"):
            entry, expected = (
                list(rows_of(location, kind, scope, record.name))
                for location in (self.location, self.expected)
            )
            assert Counter(entry) == Counter(expected), kind
        assert (record.vertices, record.edges) == tuple(
            len(list(rows_of(self.expected, kind, scope, record.name))) for kind in ("nodes", "edges")
        )
        sums = [read_sums(location, [(scope, record.name)]) for location in (self.location, self.expected)]
        assert sums[0] == sums[1]


def rows_of(location: str, kind: layout.Kind, scope: DagScope, name: MergeName) -> Iterator[str]:
    """Yield the rows of an entry; fail if those of a file are not sorted."""
    key = {"nodes": itemgetter("id"), "edges": itemgetter("to", "id"), "edges_from": itemgetter("from")}[kind]
    for file in storage.list_files(layout.entry_folder(location, kind, scope, name)):
        content = BytesIO(storage.read_bytes(file.location))
        rows = parquet.read_table(content, partitioning=None).to_pylist()
        assert rows == sorted(rows, key=key), file
        for row in rows:
            known = {
                key: sorted(value) if isinstance(value, list) else value
                for key, value in row.items()
                if value is not None
            }
            yield json.dumps(known, sort_keys=True)


@pytest.fixture(params=["server", "folder"])
def graphs(request: pytest.FixtureRequest, tmp_path: Path) -> Graphs:
    graph: Graph = GraphFolder(tmp_path / "graph")
    if request.param == "server":
        g: GraphTraversalSource = request.getfixturevalue("gremlin")
        assert g.V().count().next() == 0
        graph = Endpoint(request.getfixturevalue("gremlin_url"))
    return Graphs(graph, tmp_path, LocalEngine(threads=2))


def drawn(random: Random, dag: str, number: int) -> Made:
    """Return a merge of about twenty elements, most of them as in other merges of the DAG."""
    jobs = random.sample("pq", random.randint(1, 2))
    made = Made(dag)
    for job in jobs:
        flows = {target: random.sample("abc", random.randint(1, 2)) for target in random.sample("cde", 2)}
        made.job("spark", f"{dag}_{job}", flows, at=random.choice([1, number]))
        for target, sources in flows.items():
            made.column(target, "n", data_type=random.choice(["int", "int", "text"]))
            made.feeds_column(
                ("spark", f"{dag}_{job}"),
                (sources[0], "n"),
                (target, "n"),
                expression=random.choice(["n", "n + 1"]),
            )
        made.ran(f"{dag}_{job}", random.choice([1, 9]))
    if random.random() < 0.3:
        made.node("c", description=random.choice(["one", "two"]), tags=random.sample(["x", "y"], 1))
    return made


@pytest.mark.jvm
@pytest.mark.parametrize("seed", range(4))
def test_entries_of_random_loads_are_those_of_the_graph(
    graphs: Graphs, used: list[MergeName], seed: int
) -> None:
    random = Random(seed)
    for number in range(1, 11):
        graphs.load(drawn(random, random.choice(["daily", "daily", "daily", "weekly"]), number))
    assert used


def base(**changed: Any) -> Made:
    made = Made("weekly").job("dbt", "m", {"mart": ["a", "b"]}, at=1, project="p")
    for name in "abcdefgh":
        made.column(name, "n", data_type="int")
    return made.column("a", "n", **({"data_type": "int"} | changed))


def files_of(graphs: Graphs, kind: layout.Kind, record: MergeRecord) -> dict[str, int]:
    folder = Path(layout.entry_folder(graphs.location, kind, WEEKLY, record.name))
    return {file.name: file.stat().st_ino for file in folder.iterdir()}


def test_files_without_a_changed_row_are_those_of_the_entry_before(
    tmp_path: Path, used: list[MergeName]
) -> None:
    graphs = Graphs(GraphFolder(tmp_path / "graph"), tmp_path, LocalEngine())
    first = graphs.load(base())
    second = graphs.load(base(data_type="text"))
    assert used == [second.name]
    assert files_of(graphs, "edges", first) == files_of(graphs, "edges", second)
    assert files_of(graphs, "edges_from", first) == files_of(graphs, "edges_from", second)
    before, after = files_of(graphs, "nodes", first), files_of(graphs, "nodes", second)
    assert before.keys() == after.keys()
    assert before != after


def test_in_s3_files_without_a_changed_row_are_copied(s3: S3, tmp_path: Path, used: list[MergeName]) -> None:
    s3.put("lake", "other", "")
    graphs = Graphs(GraphFolder(tmp_path / "graph"), tmp_path, LocalEngine())
    graphs.location = "s3://lake/history"
    first, second = graphs.load(base()), graphs.load(base(data_type="text"))
    assert used == [second.name]

    def stored(kind: layout.Kind, record: MergeRecord) -> list[tuple[str, str]]:
        folder = layout.entry_folder("history", kind, WEEKLY, record.name)
        listed = s3.client.list_objects_v2(Bucket="lake", Prefix=f"{folder}/")["Contents"]
        return [(each["Key"].removeprefix(folder), each["ETag"]) for each in listed]

    assert stored("edges", first) == stored("edges", second)
    assert stored("nodes", first) != stored("nodes", second)


def test_an_entry_that_another_dag_made_old_is_not_used(tmp_path: Path, used: list[MergeName]) -> None:
    graphs = Graphs(GraphFolder(tmp_path / "graph"), tmp_path, LocalEngine())
    graphs.load(base())
    graphs.load(Made("daily").job("spark", "load", {"a": []}, at=1).node("a", description="raw"))
    graphs.load(base(data_type="text"))
    assert not used
    last = graphs.load(base(data_type="date"))
    assert used == [last.name]


def test_an_entry_before_without_its_files_is_not_used(tmp_path: Path, used: list[MergeName]) -> None:
    graphs = Graphs(GraphFolder(tmp_path / "graph"), tmp_path, LocalEngine())
    first = graphs.load(base())
    folder = Path(layout.entry_folder(graphs.location, "edges_from", WEEKLY, first.name))
    next(folder.iterdir()).unlink()
    graphs.load(base(data_type="text"))
    assert not used


def raw(text: str) -> Made:
    """A merge of another DAG that builds a dataset of `base`."""
    return Made("daily").job("spark", "load", {"a": []}, at=1).node("a", description=text)


@pytest.mark.jvm
def test_what_a_dag_left_that_was_removed_is_in_the_entry(graphs: Graphs) -> None:
    graphs.load(base())
    graphs.load(raw("raw"))
    remove(graphs.graph, Pipeline("dev", "daily"))
    graphs.load(base(data_type="text"))


@pytest.mark.jvm
def test_a_job_whose_removal_was_not_recorded_is_not_in_the_entry(graphs: Graphs) -> None:
    graphs.load(base().job("spark", "other", {"z": ["a"]}, at=1))
    remove(graphs.graph, Pipeline("dev", "weekly", "other"))
    graphs.load(base(data_type="text"))


@pytest.mark.jvm
def test_what_another_dag_changed_is_in_the_entry_whatever_the_clock_says(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.load(base())
    real = time.time_ns
    with monkeypatch.context() as earlier:
        earlier.setattr(time, "time_ns", lambda: real() - 3_600_000_000_000)
        graphs.load(raw("raw"))
    graphs.load(base(data_type="text"))


@pytest.mark.jvm
@pytest.mark.parametrize("moment", ["begin", "write", "end"])
def test_what_another_process_loads_of_the_dag_is_in_the_entry(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    graphs.load(base())
    graphs.load(base())
    graphs.loads_between = {moment: base().node("b", description="other")}
    original = write_changes

    def write(*arguments: Any, **named: Any) -> int:
        graphs.between("write")
        return original(*arguments, **named)

    monkeypatch.setattr(server_update, "write_changes", write)
    graphs.load(base(data_type="text"))


@pytest.mark.jvm
def test_what_a_killed_load_of_another_dag_changed_is_in_the_entry(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.load(raw("first"))
    graphs.load(base())
    graphs.load(base())
    with monkeypatch.context() as killed, suppress(KeyboardInterrupt):
        killed.setattr(server_update, "record_state", interrupt)
        graphs.unrecorded(raw("second"))
    graphs.load(base(data_type="text"))


def interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.jvm
def test_what_a_load_changes_of_a_vertex_that_another_dag_starts_to_use_is_in_the_next_entry(
    graphs: Graphs, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs.load(raw("first"))
    original = write_changes

    def write(*arguments: Any, **named: Any) -> int:
        monkeypatch.undo()
        graphs.load(base())
        return original(*arguments, **named)

    monkeypatch.setattr(server_update, "write_changes", write)
    graphs.unrecorded(raw("second"))
    graphs.load(base(data_type="text"))


@pytest.mark.jvm
@pytest.mark.nightly
def test_what_a_load_changed_is_in_the_entry_if_workers_end_while_it_writes(
    gremlin_url: str,
    gremlin: GraphTraversalSource,
    spark: SparkSession,
    tmp_path: Path,
    used: list[MergeName],
) -> None:
    graphs = Graphs(Endpoint(gremlin_url), tmp_path, SparkEngine(spark))
    graphs.load(base())

    def write(*arguments: Any, **named: Any) -> int:
        requests = write_changes(*arguments, **named)
        lose_workers(spark)
        return requests

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server_update, "write_changes", write)
        last = graphs.load(base(data_type="text"))
    assert used == [last.name]
    graphs.engine.unpersist_all()


def lose_workers(spark: SparkSession) -> None:
    """Delete what workers have cached and shuffled, which is computed again."""
    context = spark.sparkContext
    cached = context._jsc.getPersistentRDDs()
    for number in list(cached):
        rdd = cached[number].rdd()
        level = rdd.getStorageLevel()
        rdd.unpersist(True)
        rdd.persist(level)
    tracker = context._jvm.org.apache.spark.SparkEnv.get().mapOutputTracker()  # type: ignore[union-attr]
    for number in filter(tracker.containsShuffle, range(10_000)):
        tracker.unregisterAllMapAndMergeOutput(number)
