"""OpenLineage's events: what they say, that they are valid, and what this package reads of them again."""

import json
import uuid
from collections import defaultdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage import EXPORTER
from lineage_merge.graph_format.elements import Edge
from lineage_merge.model.errors import ExportDenied, ExportError, ExportUnreachable
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import in_process
from tests.exporters.openlineage_schemas import problems
from tests.http_server import Answer, Request, receiving
from tests.lineage_made import NAMESPACE, MadeLineage

Event = dict[str, Any]
Name = tuple[str, str]
NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"


def exported(graph: LineageGraph, folder: Path, **settings: Any) -> list[Event]:
    file = folder / "events.jsonl"
    EXPORTER.send(Export(graph, {"out": str(file), **settings}, at=NOW))
    return [json.loads(line) for line in file.read_text().splitlines()]


def table(name: str) -> Name:
    return WAREHOUSE, f"dev.{name}"


def named(datasets: list[dict[str, Any]]) -> frozenset[Name]:
    return frozenset((each["namespace"], each["name"]) for each in datasets)


@pytest.fixture(scope="module")
def events(tickit: LineageGraph, tmp_path_factory: pytest.TempPathFactory) -> list[Event]:
    return exported(tickit, tmp_path_factory.mktemp("openlineage"))


STG = {name: table(f"tickit_staging.stg_{name}") for name in ("sales", "event", "date", "users")}
FACTS, MART = table("tickit_marts.fct_sales"), table("tickit_marts.top_events_by_sales")
SEED = table("tickit_ref.category_map")
DASHBOARD = ("dbt://tickit", "sales_dashboard")
INGEST, LOAD = "tickit_daily.spark.tickit_sales_ingest", "tickit_daily.spark.tickit_sales_load"
# By hand: (job, inputs, outputs). A Spark job that writes several targets is an event for each.
MOVES: set[tuple[str, frozenset[Name], frozenset[Name]]] = {
    (job, frozenset(inputs), frozenset({output}))
    for job, inputs, output in (
        (
            f"{INGEST}.s3://tickit-staging/sales",
            {("s3://tickit-raw", "sales")},
            ("s3://tickit-staging", "sales"),
        ),
        (
            f"{INGEST}.s3://tickit-staging/event",
            {("s3://tickit-raw", "event")},
            ("s3://tickit-staging", "event"),
        ),
        (
            f"{INGEST}.s3://tickit-lake/sales_dl",
            {("s3://tickit-staging", "sales"), ("s3://tickit-staging", "event")},
            ("s3://tickit-lake", "sales_dl"),
        ),
        (f"{LOAD}.dev.public.sales", {("s3://tickit-lake", "sales_dl")}, table("public.sales")),
        (f"{LOAD}.dev.public.event", {("s3://tickit-staging", "event")}, table("public.event")),
        *(
            (f"tickit_daily.dbt.model.tickit.stg_{name}", {table(f"public.{name}")}, STG[name])
            for name in STG
        ),
        ("tickit_daily.dbt.model.tickit.fct_sales", {STG["sales"], STG["event"], STG["date"]}, FACTS),
        (
            "tickit_daily.dbt.model.tickit.top_events_by_sales",
            {STG["sales"], STG["event"], STG["date"], SEED},
            MART,
        ),
        ("tickit_daily.dbt.model.tickit.people", {STG["users"], FACTS}, table("tickit_marts.dim_people")),
        (
            "tickit_daily.dbt.snapshot.tickit.users_snapshot",
            {STG["users"]},
            table("snapshots.users_snapshot"),
        ),
        ("tickit_daily.dbt.seed.tickit.category_map", set(), SEED),
        ("tickit_daily.dbt.exposure.tickit.sales_dashboard", {FACTS, MART}, DASHBOARD),
    )
}


@pytest.mark.jvm
def test_events_have_the_inputs_and_outputs_of_jobs(events: list[Event]) -> None:
    assert {(each["job"]["name"], named(each["inputs"]), named(each["outputs"])) for each in events} == MOVES
    assert len(events) == len(MOVES)
    assert {each["job"]["namespace"] for each in events} == {"dev"}


@pytest.mark.jvm
def test_every_event_and_facet_is_valid(events: list[Event]) -> None:
    assert [(each["job"]["name"], wrong) for each in events for wrong in problems(each)] == []


@pytest.mark.jvm
def test_an_invalid_event_is_detected(events: list[Event]) -> None:
    (of_run,) = (each for each in events if each["job"]["name"] == f"{LOAD}.dev.public.sales")
    broken = json.loads(json.dumps(of_run))
    column = next(iter(broken["outputs"][0]["facets"]["columnLineage"]["fields"].values()))
    del column["inputFields"][0]["field"]
    broken["eventTime"] = "yesterday"
    broken["run"]["facets"]["processing_engine"]["speed"] = 1
    assert len(problems(broken)) == 3


@pytest.mark.jvm
def test_column_lineage_of_an_output(events: list[Event]) -> None:
    (mart,) = [output for each in events for output in each["outputs"] if output["name"] == MART[1]]
    facet = mart["facets"]["columnLineage"]
    fields = {
        (
            name,
            source["name"].rpartition(".")[2],
            source["field"],
            how["type"],
            how["subtype"],
            how.get("description"),
        )
        for name, exported in facet["fields"].items()
        for source in exported["inputFields"]
        for how in source["transformations"]
    }
    rank = "row_number() OVER (ORDER BY sum(pricepaid) DESC)"
    assert fields == {
        ("eventid", "stg_sales", "eventid", "DIRECT", "IDENTITY", None),
        ("eventname", "stg_event", "eventname", "DIRECT", "IDENTITY", None),
        ("category_group", "category_map", "category_group", "DIRECT", "IDENTITY", None),
        ("total_sales", "stg_sales", "pricepaid", "DIRECT", "AGGREGATION", "sum(pricepaid)"),
        ("total_qty", "stg_sales", "qtysold", "DIRECT", "AGGREGATION", "sum(qtysold)"),
        ("rnk", "stg_sales", "pricepaid", "INDIRECT", "WINDOW", rank),
    }
    rows = {
        (source["name"].rpartition(".")[2], source["field"], how["type"], how["subtype"])
        for source in facet["dataset"]
        for how in source["transformations"]
    }
    assert rows == {
        ("category_map", "eventname", "INDIRECT", "JOIN"),
        ("stg_date", "date_id", "INDIRECT", "JOIN"),
        ("stg_event", "eventid", "INDIRECT", "JOIN"),
        ("stg_event", "eventname", "INDIRECT", "JOIN"),
        ("stg_event", "eventname", "INDIRECT", "GROUP_BY"),
        ("stg_sales", "dateid", "INDIRECT", "JOIN"),
        ("stg_sales", "eventid", "INDIRECT", "JOIN"),
        ("stg_sales", "eventid", "INDIRECT", "GROUP_BY"),
        ("stg_sales", "pricepaid", "INDIRECT", "FILTER"),
    }


@pytest.mark.jvm
def test_facets_describe_datasets(events: list[Event]) -> None:
    by_name = {each["name"]: each["facets"] for event in events for each in event["outputs"]}
    event_table, mart = by_name["dev.public.event"], by_name[MART[1]]
    assert [
        (each["name"], each["type"], each["ordinal_position"]) for each in event_table["schema"]["fields"]
    ] == [
        ("eventid", "int", 1),
        ("venueid", "int", 2),
        ("catid", "int", 3),
        ("dateid", "int", 4),
        ("eventname", "string", 5),
        ("starttime", "timestamp", 6),
    ]
    assert mart["documentation"]["description"] == "Top 10 events by sales"
    assert [each["key"] for each in mart["tags"]["tags"]] == ["mart"]
    kinds = {name: each["datasetType"] for name, each in by_name.items()}
    exported = {name: (each["datasetType"], each.get("subType")) for name, each in kinds.items()}
    assert exported["sales_dl"] == ("FILE", None)
    assert exported[STG["sales"][1]] == ("VIEW", None)
    assert exported[SEED[1]] == ("TABLE", "SEED")


def test_symlinks_are_tables_behind_a_path_not_temporary_paths(tmp_path: Path) -> None:
    made = MadeLineage()
    made.dataset(
        "s3://lake|sales", "daily", label="table", aliases=["arn:aws:glue:r:1|table/db/sales (catalog-table)"]
    )
    made.flow("s3://lake|sales > b")
    made.nodes[f"dev|{NAMESPACE}|b"]["aliases"] = ["s3://temp|redshift/b (redshift-temporary-directory)"]
    (event,) = exported(read_folder(made.folder(tmp_path / "made")), tmp_path)
    assert "symlinks" not in event["outputs"][0]["facets"]
    assert event["inputs"][0]["facets"]["symlinks"]["identifiers"] == [
        {"namespace": "arn:aws:glue:r:1", "name": "table/db/sales", "type": "TABLE"}
    ]


@pytest.mark.jvm
def test_runs_are_the_newest_with_stable_ids(
    events: list[Event], tickit: LineageGraph, tmp_path: Path
) -> None:
    again = exported(tickit, tmp_path)
    assert again == events
    runs = {each["job"]["name"]: each for each in events if "run" in each}
    # Without run_results.json nothing says when a model ran.
    without_run = {name for name, _, _ in MOVES if name.startswith("tickit_daily.dbt.")}
    assert {each["job"]["name"] for each in events} - set(runs) == without_run
    ids = {each["run"]["runId"] for each in runs.values()}
    assert len(ids) == len(runs)
    assert all(uuid.UUID(each) for each in ids)
    assert {each["eventType"] for each in runs.values()} == {"COMPLETE"}
    parts = [each for name, each in runs.items() if name.startswith(INGEST)]
    assert {each["eventTime"] for each in parts} == {"2026-11-21T09:21:41.088+00:00"}
    parents = {json.dumps(each["run"]["facets"]["parent"], sort_keys=True) for each in parts}
    assert len(parents) == 1
    parent = json.loads(parents.pop())
    assert (parent["job"]["namespace"], parent["job"]["name"]) == ("dev", INGEST)
    assert parent["run"]["runId"] not in ids
    engine = parts[0]["run"]["facets"]["processing_engine"]
    assert (engine["name"], engine["version"]) == ("spark", "3.5.9")


def test_outputs_with_the_same_inputs_are_one_event(tmp_path: Path) -> None:
    made = MadeLineage().flow("a > b").flow("a > c")
    (event,) = exported(read_folder(made.folder(tmp_path / "made")), tmp_path, namespace="etl")
    assert (event["job"]["namespace"], event["job"]["name"]) == ("etl", "daily.spark.load")
    assert {each["name"] for each in event["outputs"]} == {"b", "c"}


@pytest.mark.parametrize(
    "facts",
    [
        {},
        {"last_run_at": 1795252901088, "status": "failed"},
        {"last_run_at": 1795252901088000000, "status": "succeeded"},  # no date
    ],
)
def test_without_a_successful_newest_run_a_job_event_is_sent(tmp_path: Path, facts: dict[str, Any]) -> None:
    made = MadeLineage().flow("a > b")
    made.nodes["dev|daily|spark|load"].update(facts)
    (event,) = exported(read_folder(made.folder(tmp_path / "made")), tmp_path)
    assert event["schemaURL"].endswith("#/$defs/JobEvent")
    assert "run" not in event
    assert problems(event) == []


@pytest.mark.jvm
def test_reading_the_events_again_yields_the_same_lineage(
    events: list[Event], tickit: LineageGraph, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(each) + "\n" for each in events))
    settings = {
        "dag_name": "again",
        "environment": "dev",
        "openlineage": {"events": [str(tmp_path)]},
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
    }
    built = pipeline.build(spark, CONFIGURATION.parse(settings))
    assert built.report.select_kind("rejected") == []
    found = defaultdict(set)
    for row in built.edges.collect():
        how = row.get("transformation"), row.get("expression")
        found[row["label"]].add((row["from"], row["to"], *how))
    expected = defaultdict(set)
    for edge in tickit.everything(labels=[*_DATASETS, "column", "feeds", "feeds_column", "influences"]):
        if isinstance(edge, Edge) and edge.label != "has_column":
            properties = edge.properties
            how = (properties.get("transformation"), properties.get("expression"))
            expected[edge.label].add((edge.from_id, edge.to_id, *how))
    for label in ("feeds", "feeds_column", "influences"):
        assert found[label] == expected[label], label


_DATASETS = ("file", "table", "view", "seed", "snapshot", "exposure")


def marquez(request: Request) -> Answer:
    if request.headers.get("authorization") != "Bearer a-key":
        return 401, {"message": "no"}
    return (201, None) if request.path == "/api/v1/lineage" else (404, {"message": "no such resource"})


@pytest.fixture
def made(tmp_path: Path) -> LineageGraph:
    lineage = MadeLineage().flow("a > b > c").columns("a.x > b.y", transformation="IDENTITY")
    return read_folder(lineage.folder(tmp_path / "made"))


@pytest.mark.jvm
def test_events_are_sent_gzipped_with_the_key(
    tickit: LineageGraph, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "a-key")
    with receiving(marquez) as server:
        export = Export(tickit, {"url": server.url, "token_env": "MY_KEY"}, at=NOW)
        assert EXPORTER.send(export).counts == {"events": len(events)}
    assert [each.body for each in server.requests] == events
    assert {(each.method, each.headers["content-encoding"]) for each in server.requests} == {("POST", "gzip")}
    assert [wrong for each in server.requests for wrong in problems(each.body)] == []


def test_requests_are_retried_while_the_server_is_busy(made: LineageGraph) -> None:
    busy = [503, 502]
    with receiving(lambda _: (busy.pop(), None) if busy else (201, None)) as server:
        EXPORTER.send(Export(made, {"url": server.url}, at=NOW))
    bodies = [each.body for each in server.requests]
    assert bodies[0] == bodies[1] == bodies[2]
    assert len(bodies) == len({json.dumps(each) for each in bodies}) + 2


def test_errors_are_one_line_without_the_key(made: LineageGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENLINEAGE_API_KEY", "a-secret-key")
    with receiving(marquez) as server:
        with pytest.raises(ExportDenied) as denied:
            EXPORTER.send(Export(made, {"url": server.url}))
        assert denied.value.message == f"OpenLineage at {server.url} rejects the token (status 401)"
        monkeypatch.setenv("OPENLINEAGE_API_KEY", "a-key")
        with pytest.raises(ExportError, match=r"status 404: .*no such resource"):
            EXPORTER.send(Export(made, {"url": server.url, "endpoint": "elsewhere"}))
        url = server.url
    with pytest.raises(ExportUnreachable, match=f"OpenLineage at {url}: no connection"):
        EXPORTER.send(Export(made, {"url": url}))


def test_without_a_destination_events_are_printed(tmp_path: Path) -> None:
    folder = MadeLineage().flow("a > b").folder(tmp_path / "made")
    outcome = in_process("export", "--to", "openlineage", "--folder", folder)
    assert outcome.code == 0
    (event,) = [json.loads(line) for line in outcome.out.splitlines()]
    assert [each["name"] for each in event["outputs"]] == ["b"]
