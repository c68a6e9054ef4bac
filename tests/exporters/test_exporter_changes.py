"""Exports of what changed between two moments: of a scripted month, and of removals."""

import json
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from datahub.ingestion.source.file import read_metadata_file
from datahub.metadata.schema_classes import MetadataChangeEventClass, StatusClass

from lineage_merge.exporters.changed_elements import find_changed_elements
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.registry import EXPORTERS
from lineage_merge.history.moments import parse_moment
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.past import as_of
from tests.command_line import in_process
from tests.exporters.openlineage_schemas import problems
from tests.history.made_history import MadeHistory
from tests.history.scripted_month import scripted_month
from tests.lineage_made import MadeLineage, at
from tests.questions.test_ownership import in_memory

Event = dict[str, Any]
Name = tuple[str, str]
# Aspects of runs, which are not compared.
OF_RUNS = ("operation", "dataProcessInstance", "dataProcessInstanceRunEvent")


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> MadeHistory:
    return scripted_month(str(tmp_path_factory.mktemp("month") / "history"))


@pytest.fixture(scope="module")
def days(history: MadeHistory) -> list[LineageGraph]:
    """The lineage at the end of each day of January."""
    return [as_of(history.location, parse_moment(f"2026-01-{day:02}"), "dev").graph for day in range(1, 32)]


def events(
    graph: LineageGraph, folder: Path, before: LineageGraph | None = None, **scope: Any
) -> list[Event]:
    file = folder / "events.jsonl"
    EXPORTERS["openlineage"].send(Export(graph, {"out": str(file)}, before=before, **scope))
    return [json.loads(line) for line in file.read_text().splitlines()]


def changes(history: MadeHistory, folder: Path, start: str, end: str, *options: str) -> list[Event]:
    file = folder / "changes.jsonl"
    words = ("export", "--to", "openlineage", "--from", start, "--as-of", end, "--out", file, "--json")
    outcome = in_process(*words, "--history", history.location, "--environment", "dev", *options)
    assert outcome.code == 0, outcome
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert json.loads(outcome.out)["counts"] == {"events": len(found)}
    return found


def named(datasets: list[dict[str, Any]]) -> frozenset[Name]:
    return frozenset((each["namespace"], each["name"]) for each in datasets)


def moves(found: list[Event]) -> dict[str, tuple[frozenset[Name], frozenset[Name]]]:
    """Inputs and outputs by job."""
    return {
        each["job"]["name"]: (named(each["inputs"]), named(each["outputs"]))
        for each in found
        if "job" in each
    }


def dropped(found: list[Event]) -> set[Name]:
    return {
        (each["dataset"]["namespace"], each["dataset"]["name"])
        for each in found
        if "lifecycleStateChange" in each.get("dataset", {}).get("facets", {})
    }


def test_changed_jobs_and_dropped_datasets_of_a_week(history: MadeHistory, tmp_path: Path) -> None:
    found = changes(history, tmp_path, "2026-01-17", "2026-01-24T12:00")
    # audit was added on the 18th and removed on the 24th: between, nothing of it is left.
    assert moves(found) == {}
    assert dropped(found) == set()
    assert [(each["dataset"]["name"], "ownership" in each["dataset"]["facets"]) for each in found] == [
        ("mart", True)
    ]
    added = changes(history, tmp_path, "2026-01-17", "2026-01-19")
    orders, log = ("wh", "orders"), ("wh", "audit_log")
    assert moves(added) == {"daily.spark.audit": (frozenset({orders}), frozenset({log}))}
    removed = changes(history, tmp_path, "2026-01-19", "2026-01-24T12:00")
    assert moves(removed) == {"daily.spark.audit": (frozenset(), frozenset())}
    assert dropped(removed) == {log}
    assert {each["eventTime"] for each in removed if each["eventTime"] > "2000"} == {
        "2026-01-24T04:00:00.000+00:00"
    }


def test_events_are_valid(days: list[LineageGraph], tmp_path: Path) -> None:
    for before, after in ((0, 15), (15, 20), (0, 30)):
        for each in events(days[after], tmp_path, days[before]):
            assert problems(each) == []


def test_a_changed_column_is_an_event_of_its_dataset(history: MadeHistory, tmp_path: Path) -> None:
    found = changes(history, tmp_path, "2026-01-08", "2026-01-09")
    (orders,) = [each["dataset"] for each in found if "dataset" in each]
    assert [(each["name"], each["type"]) for each in orders["facets"]["schema"]["fields"]] == [
        ("amount", "bigint"),
        ("id", "int"),
        ("note", "string"),
    ]
    assert moves(found) == {}


def test_nothing_changed_without_merges_that_change_lineage(history: MadeHistory, tmp_path: Path) -> None:
    assert changes(history, tmp_path, "2026-01-28", "2026-01-31") == []
    assert changes(history, tmp_path, "2026-01-02", "2026-01-04") == []


def test_changes_of_each_day_add_up_to_the_lineage_of_the_end(
    days: list[LineageGraph], tmp_path: Path
) -> None:
    known = moves(events(days[0], tmp_path))
    for before, after in pairwise(days):
        known |= moves(events(after, tmp_path, before))
        expected = moves(events(after, tmp_path))
        assert {name: each for name, each in known.items() if each[1]} == expected


Aspects = dict[tuple[str, str], Any]


def proposals(
    graph: LineageGraph, folder: Path, before: LineageGraph | None = None, **scope: Any
) -> list[Any]:
    file = folder / "datahub.json"
    EXPORTERS["datahub"].send(Export(graph, {"out": str(file)}, before=before, **scope))
    found = list(read_metadata_file(file))
    assert all(each.validate() for each in found)
    return found


def apply(known: Aspects, found: list[Any]) -> Aspects:
    """Store proposals as DataHub does: aspects as a whole, patches as what they add and remove."""
    for each in found:
        key = (str(each.entityUrn), str(each.aspectName))
        if str(each.aspectName).startswith(OF_RUNS) or "dataProcessInstance" in key[0]:
            continue
        if str(getattr(each, "changeType", "")) == "PATCH":
            held = known.setdefault(key, set())
            for change in json.loads(each.aspect.value)["patch"]:
                (what,) = [part for part in change["path"].split("/") if part.startswith("urn:")]
                if change["op"] == "add":
                    held.add(what)
                else:
                    held.discard(what)
            continue
        value = each.aspect.to_obj()
        for name in ("last_run_at", "dag_name"):  # of runs; of vertices that another DAG has, too
            value.get("customProperties", {}).pop(name, None)
        known[key] = value
    return known


def test_proposals_of_each_day_add_up_to_the_lineage_of_the_end(
    days: list[LineageGraph], tmp_path: Path
) -> None:
    known = apply({}, proposals(days[0], tmp_path))
    for before, after in pairwise(days):
        apply(known, proposals(after, tmp_path, before))
        expected = apply({}, proposals(after, tmp_path))
        removed = {urn for (urn, name), value in known.items() if name == "status" and value["removed"]}
        left = {key: value for key, value in known.items() if key[0] not in removed and value != set()}
        assert left == {key: value for key, value in expected.items() if value != set()}


def test_removed_entities_have_the_status_removed(history: MadeHistory, tmp_path: Path) -> None:
    file = tmp_path / "datahub.json"
    words = (
        "export",
        "--to",
        "datahub",
        "--from",
        "2026-01-19",
        "--as-of",
        "2026-01-24T12:00",
        "--out",
        file,
    )
    outcome = in_process(*words, "--history", history.location, "--environment", "dev")
    assert outcome.code == 0, outcome
    removed = {
        str(each.entityUrn).rpartition("(")[2] if "dataset" in str(each.entityUrn) else str(each.entityUrn)
        for each in read_metadata_file(file)
        if not isinstance(each, MetadataChangeEventClass)
        and isinstance(each.aspect, StatusClass)
        and each.aspect.removed
    }
    assert removed == {
        "urn:li:dataPlatform:wh,audit_log,DEV)",
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,daily,dev),spark.audit)",
    }


def statuses(found: list[Any]) -> dict[str, bool]:
    return {str(each.entityUrn): each.aspect.removed for each in found if each.aspectName == "status"}


def test_a_dag_without_jobs_is_removed_and_shared_datasets_stay(tmp_path: Path) -> None:
    before = in_memory(MadeLineage().flow("a > b").flow("b > c", dag="weekly", job="second"))
    after = in_memory(MadeLineage().flow("a > b"))
    found = statuses(proposals(after, tmp_path, before, dag="weekly"))
    flow = "urn:li:dataFlow:(airflow,weekly,dev)"
    assert found[flow] is True
    assert found[f"urn:li:dataJob:({flow},spark.second)"] is True
    assert [urn for urn, removed in found.items() if "dataset" in urn and removed] == [
        "urn:li:dataset:(urn:li:dataPlatform:redshift,c,DEV)"
    ]
    assert dropped(events(after, tmp_path, before, dag="weekly")) == {("redshift://wh:5439", "c")}


def test_a_name_that_another_dataset_has_is_not_removed(tmp_path: Path) -> None:
    upper, lower = "snowflake://acme|SHOP.MAIN.ORDERS", "snowflake://acme|shop.main.orders"
    before, after = (in_memory(MadeLineage().flow(f"a > {name}")) for name in (upper, lower))
    assert find_changed_elements(before, after).removed_datasets == {at(upper)}
    assert not any(statuses(proposals(after, tmp_path, before)).values())
    other = in_memory(MadeLineage().flow(f"a > {lower}").flow(f"a > {upper}", environment="prod"))
    assert dropped(events(other, tmp_path, before, environment="dev")) == set()


def test_a_dataset_without_inputs_any_more_has_no_upstreams(tmp_path: Path) -> None:
    before = in_memory(MadeLineage().flow("a > b").flow("b > c", job="other"))
    made = MadeLineage().flow("b > c", job="other")
    made.dataset("a", "daily")
    (lineage,) = [
        each for each in proposals(in_memory(made), tmp_path, before) if each.aspectName == "upstreamLineage"
    ]
    assert str(lineage.entityUrn).endswith("redshift,b,DEV)")
    assert lineage.aspect.upstreams == []


def test_withdrawn_owners_and_tags_are_removed_in_datahub(tmp_path: Path) -> None:
    graphs = []
    for tags, owners in ((["pii", "core"], ["ana"]), (["core"], [])):
        made = MadeLineage().flow("a > b")
        made.nodes[at("b")] |= {"tags": tags, "owners": owners}
        graphs.append(in_memory(made))
    ops: dict[str, set[str]] = defaultdict(set)
    for each in proposals(graphs[1], tmp_path, graphs[0]):
        if str(getattr(each, "changeType", "")) == "PATCH":
            for change in json.loads(each.aspect.value)["patch"]:
                ops[change["op"]] |= {part for part in change["path"].split("/") if part.startswith("urn:")}
    assert ops == {"add": {"urn:li:tag:core"}, "remove": {"urn:li:tag:pii", "urn:li:corpuser:ana"}}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--to graphml --from 1d", 2, "--to graphml has no --from"),
        ("--to openlineage --from 1d --folder x", 2, "--folder has no history: omit it with --from"),
        ("--to openlineage --from soon", 2, "--from: not a time: soon"),
        ("--to openlineage --from 2026-01-20 --as-of 2026-01-05", 2, "--from: 2026-01-20 is later than"),
        ("--to openlineage --from 2025-12-31", 9, "no merge until 2025-12-31 23:59:59 UTC"),
    ],
)
def test_mistakes(history: MadeHistory, arguments: str, code: int, message: str) -> None:
    words = arguments.split()
    if "--folder" not in words:
        words += ["--history", history.location, "--environment", "dev"]
    outcome = in_process("export", *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_a_removed_exposure(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b").flow("b > dbt://shop|report!", job="exposure.shop.report")
    before = in_memory(made)
    after = in_memory(MadeLineage().flow("a > b"))
    assert find_changed_elements(before, after).removed_jobs >= {at("dbt://shop|report!")}
    found = events(after, tmp_path, before)
    assert dropped(found) == {("dbt://shop", "report!")}
    dashboard = "urn:li:dashboard:(dbt,exposure.shop.report)"
    assert statuses(proposals(after, tmp_path, before))[dashboard] is True
    # Dashboards belong to no environment.
    other = MadeLineage().flow("a > b")
    other.flow("b > dbt://shop|report!", job="exposure.shop.report", environment="prod")
    assert dashboard not in statuses(proposals(in_memory(other), tmp_path, before, environment="dev"))
