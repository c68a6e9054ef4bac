"""Merges in a history after their loads: what is stored of each, and that it is what the graph has."""

import time
from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.config import Config, Gremlin, History
from lineage_merge.graph_format.elements import ALL_VERTEX_LABELS, EDGE_LABELS
from lineage_merge.history import changed_entry, merge_index
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.merge_index import read_report, redact_settings, write_details
from lineage_merge.history.merge_record import MergeKind, MergeRecord
from lineage_merge.history.moments import parse_moment
from lineage_merge.history.recording import Recorder, continues, kind_of, new_name, record_removal
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin import running_load
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.remove_dag import remove
from lineage_merge.load.merge_run import LastLoad
from lineage_merge.load.result import Effect, LoadChanges, Pipeline
from lineage_merge.load.server.update import update
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import HistoryError
from lineage_merge.questions.backends.gremlin import open_gremlin
from lineage_merge.questions.past import as_of
from tests.made_merges import Made

DAILY = DagScope("dev", "daily")
LABELS = [*(each for each in ALL_VERTEX_LABELS if not each.startswith("merge_")), *EDGE_LABELS, "checks"]
CONFIG = Config("daily", "dev", history=History(run_id="manual__1", logical_date="2026-01-31"))


class Loads:
    """Loads into a server, each with its merge in a history."""

    def __init__(self, url: str, location: str) -> None:
        self.endpoint = Endpoint(url)
        self.location = location

    def load(self, made: Made, report: Report | None = None) -> MergeRecord:
        scope = DagScope("dev", made.dag)
        recorder = Recorder.read_last_load(self.location, scope, self.endpoint)
        engine = LocalEngine()
        changed: list[LoadChanges] = []
        merge = made.merge(engine)
        loaded = update(merge, self.endpoint, *scope, allow_retire=True, on_changed=changed.append)
        return recorder.record(engine, None, CONFIG, loaded, report, changed=next(iter(changed), None))

    def unrecorded(self, made: Made) -> None:
        update(made.merge(LocalEngine()), self.endpoint, "dev", made.dag, allow_retire=True)

    def graph(self) -> set[str]:
        with open_gremlin(self.endpoint) as graph:
            return texts(graph.everything("dev", labels=LABELS))

    def history(self, record: MergeRecord) -> set[str]:
        found = as_of(self.location, parse_moment(record.id), "dev")
        return texts(found.graph.everything("dev", labels=LABELS))


def texts(elements: Iterable[object]) -> set[str]:
    return {
        repr((type(each).__name__, each.id, each.label, sorted(each.properties.items())))  # type: ignore[attr-defined]
        for each in elements
    }


@pytest.fixture(autouse=True)
def _small_graphs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Write an entry from the one before, however much changed."""
    monkeypatch.setattr(changed_entry, "_MOST", 10)


@pytest.fixture
def loads(gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path) -> Loads:
    return Loads(gremlin_url, str(tmp_path / "history"))


def first() -> Made:
    made = Made().job("spark", "load", {"b": ["a"]}, at=1).column("b", "c", data_type="int")
    return made.feeds_column(("spark", "load"), ("a", "c"), ("b", "c"), expression="a.c + 1")


@pytest.mark.jvm
def test_each_picture_is_the_graph_that_was_loaded(loads: Loads) -> None:
    merges = [
        first(),
        Made("weekly").job("dbt", "m", {"mart": ["b"]}, at=1, project="p").node("b", "view", description="d"),
        first(),
        first().job("spark", "load", {"b": ["a"]}, at=2, duration_ms=5),
        first().job("spark", "load", {"b": ["a", "x"]}, at=3).ran("load", 9),
        # The job did not run: its lineage stays, though the merge does not have it.
        Made().job("spark", "other", {"z": ["a"]}, at=4),
        Made("weekly").job("dbt", "n", {"mart2": ["b"]}, at=2, project="p"),
    ]
    recorded: list[tuple[MergeRecord, set[str]]] = []
    for made in merges:
        record = loads.load(made)
        recorded.append((record, loads.graph()))
        time.sleep(0.002)
    for record, graph in recorded:
        assert loads.history(record) == graph
    kinds = [record.kind for record, _ in recorded]
    assert kinds == ["full", "full", "unchanged", "runs", "full", "full", "full"]
    last = recorded[-1][0]
    assert (last.added, last.retired > 0) == (4, True)  # job, dataset and two edges
    assert (last.run_id, last.logical_date) == ("manual__1", "2026-01-31")


@pytest.mark.jvm
def test_datasets_that_another_dag_moves_are_moved_in_the_picture(loads: Loads) -> None:
    loads.load(Made().job("spark", "load", {"hive|t": ["a"]}, at=1).column("hive|t", "c"))
    made = Made("weekly").job("dbt", "m", {"mart": ["s3://lake|t"]}, at=1, project="p")
    before = loads.graph()
    record = loads.load(made.alias("hive|t", "s3://lake|t"))
    assert loads.graph() & before < before
    assert loads.history(record) == loads.graph()


@pytest.mark.jvm
def test_a_load_after_one_that_was_not_recorded_stores_everything(loads: Loads) -> None:
    loads.load(first())
    loads.unrecorded(first().job("spark", "load", {"b": ["a", "x"]}, at=3))
    record = loads.load(first().job("spark", "load", {"b": ["a", "x"]}, at=3))
    assert record.kind == "full"
    assert loads.history(record) == loads.graph()


@pytest.mark.jvm
def test_a_load_after_a_killed_one_stores_everything(loads: Loads) -> None:
    loads.load(first())
    running_load.begin(loads.endpoint, *DAILY, {})  # its token stays
    record = loads.load(first())
    assert record.kind == "full"
    assert loads.load(first()).kind == "unchanged"


@pytest.mark.jvm
def test_an_unwritable_history_is_an_error_after_the_load(loads: Loads, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    before = Recorder.read_last_load(str(blocked), DAILY, loads.endpoint)
    engine = LocalEngine()
    loaded = update(first().merge(engine), loads.endpoint, *DAILY)
    with pytest.raises(HistoryError, match="the graph is loaded, but its history is not written") as raised:
        before.record(engine, None, CONFIG, loaded, None)
    assert raised.value.exit_code == 11
    assert loads.graph()


@pytest.mark.jvm
def test_a_removal_is_a_merge_without_lineage(loads: Loads) -> None:
    loads.load(first().job("spark", "other", {"z": ["a"]}))
    remove(loads.endpoint, Pipeline("dev", "daily", "other"))
    job = record_removal(loads.location, DAILY, 2, LocalEngine(), loads.endpoint, job="other")
    assert job
    assert (job.kind, loads.history(job)) == ("full", loads.graph())
    remove(loads.endpoint, Pipeline("dev", "daily"))
    whole = record_removal(loads.location, DAILY, 9, LocalEngine(), loads.endpoint)
    assert whole
    assert (whole.kind, loads.history(whole)) == ("removed", set())
    assert loads.load(first()).kind == "full"
    assert record_removal(loads.location, DagScope("dev", "x"), 1, LocalEngine(), loads.endpoint) is None


@pytest.mark.jvm
def test_the_report_is_that_of_the_merge_it_repeats(loads: Loads) -> None:
    report = Report({"plans": 3}, {}, {}, (), ())
    record = loads.load(first(), report)
    unchanged = loads.load(first(), Report({"plans": 4}, {}, {}, (), ()))
    for each in (record, unchanged):
        found = read_report(loads.location, DAILY, each)
        assert found
        assert found.read == {"plans": 3}


NAME = MergeName(5, "a" * 12)
KNOWN = MergeRecord(NAME, "full", NAME, merged_at=100)


@pytest.mark.parametrize(
    ("effect", "newest", "before", "unfinished", "expected"),
    [
        ("none", KNOWN, LastLoad(100), False, "unchanged"),
        ("runs", KNOWN, LastLoad(100), False, "runs"),
        ("lineage", KNOWN, LastLoad(100), False, "full"),
        ("none", None, LastLoad(100), False, "full"),
        ("none", KNOWN, LastLoad(101), False, "full"),
        ("none", KNOWN, LastLoad(100, is_unfinished=True), False, "full"),
        ("runs", KNOWN, LastLoad(100), True, "full"),
        ("none", MergeRecord(NAME, "removed", None, merged_at=100), LastLoad(100), False, "full"),
    ],
)
def test_what_is_stored_of_a_load(
    effect: Effect, newest: MergeRecord | None, before: LastLoad, unfinished: bool, expected: MergeKind
) -> None:
    assert kind_of(effect, continues(newest, before, unfinished)) == expected


def test_a_new_merge_sorts_after_the_newest_one() -> None:
    assert new_name(9, KNOWN).time == 9
    assert new_name(4, KNOWN).time == 6
    assert new_name(4, None).time == 4
    assert len({new_name(4, None).id for _ in range(9)}) == 9


def test_the_configuration_has_no_secrets() -> None:
    gremlin = Gremlin(endpoint="wss://user:s3cret@neptune:8182/gremlin")
    exporters = {"datahub": {"url": "http://gms:8080?token=s3cret", "token": "s3cret", "token_env": "TOKEN"}}
    found = redact_settings(Config("daily", "dev", gremlin=gremlin, exporters=exporters))
    assert "s3cret" not in str(found)
    assert found["gremlin"]["endpoint"] == "wss://neptune:8182/gremlin"
    assert found["dag_name"] == "daily"


@pytest.mark.jvm
def test_merges_are_listed(loads: Loads) -> None:
    names = [loads.load(each).name for each in (first(), first())]
    assert merge_index.merge_names(loads.location, [DAILY]) == [names]


@pytest.mark.jvm
@pytest.mark.parametrize("seed", range(8))
def test_the_picture_of_each_merge_is_the_graph_of_then_in_random_histories(loads: Loads, seed: int) -> None:
    random = Random(seed)
    recorded: list[tuple[MergeRecord, set[str]]] = []
    last: dict[str, Made] = {}
    unrecorded: set[str] = set()
    for number in range(1, random.randint(3, 6)):
        dag = random.choice(["daily", "weekly"])
        targets = random.sample("abcd", random.randint(1, 2))
        flows = {target: random.sample("abcd", random.randint(0, 2)) for target in targets}
        kind = random.choice(["changed", "again", "unrecorded", "killed", "moved"])
        made = Made(dag).job("spark", f"{dag}_job", flows, at=number)
        if kind == "moved" and "a" in flows:
            made.node("new").alias("a", "new")
        if kind == "again":
            made = last.get(dag, made)
        last[dag] = made
        time.sleep(0.002)  # times of merges differ
        if kind == "unrecorded":
            loads.unrecorded(made)
            unrecorded.add(dag)
            continue
        if kind == "killed":
            running_load.begin(loads.endpoint, "dev", dag, {})  # its token stays
        record = loads.load(made)
        unrecorded.discard(dag)
        if not unrecorded:  # the history does not have the lineage of such a load
            recorded.append((record, loads.graph()))
    for record, graph in recorded:
        assert loads.history(record) == graph


@pytest.mark.jvm
def test_a_distributed_load_is_recorded(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path, each_engine: Engine
) -> None:
    endpoint, location = Endpoint(gremlin_url), str(tmp_path)
    loads = Loads(gremlin_url, location)
    for number, made in enumerate((first(), first().job("spark", "load", {"b": ["a"]}, at=2))):
        recorder = Recorder.read_last_load(location, DAILY, endpoint)
        loaded = update(made.merge(each_engine), endpoint, *DAILY, allow_retire=True)
        record = recorder.record(each_engine, None, CONFIG, loaded, None)
        assert record.kind == ("full", "runs")[number]
        assert loads.history(record) == loads.graph()


def test_the_stored_report_has_no_passwords(tmp_path: Path) -> None:
    message = "connect to jdbc:postgresql://h/db?password=s3cret"
    problem = Problem("rejected", "s3://u:s3cret@lake/x.json", "", message)
    write_details(str(tmp_path / "d.json"), Report({}, {}, {}, (), (problem,)), CONFIG)
    text = (tmp_path / "d.json").read_text()
    assert "s3cret" not in text
    assert "lake/x.json" in text
