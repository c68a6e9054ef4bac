"""Owners, tags and the semantic layer of a captured dbt project in exports to catalogs, without servers."""

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from datahub.metadata.schema_classes import GenericAspectClass
from openlineage.client.event_v2 import DatasetEvent
from openlineage.client.serde import Serde

from lineage_merge.exporters import neptune_csv
from lineage_merge.exporters.datahub.proposals import proposals
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage.events import events
from lineage_merge.exporters.pictures import DOT, GRAPHML, MERMAID
from lineage_merge.graph_format.elements import Edge, Vertex, edge_of_row, vertex_of_row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.join import merge_locally
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.dbt_shop import TESTS, graph
from tests.exporters.datahub_reading import Aspects, exported, of_kind
from tests.exporters.openlineage_schemas import problems
from tests.exporters.test_exporter_files import read_graphml
from tests.neptune_reading import records


@pytest.fixture(scope="module")
def export() -> Export:
    found = graph()
    held = InMemory(map(vertex_of_row, found.nodes), map(edge_of_row, found.edges))
    return Export(held, {}, "dev", "daily", at=datetime(2026, 11, 24, tzinfo=UTC))


def test_datahub_gets_owners_tags_and_the_urls_of_dashboards(export: Export) -> None:
    patches: dict[tuple[str, str], set[str]] = {}
    urls = {}
    for each in proposals(export):
        urn, aspect = each.entityUrn or "", each.aspectName or ""
        if aspect == "dashboardInfo":
            urls[urn] = getattr(each.aspect, "dashboardUrl", None)
        if aspect in ("ownership", "globalTags", "editableSchemaMetadata", "schemaMetadata") and isinstance(
            each.aspect, GenericAspectClass
        ):
            changes = json.loads(each.aspect.value)
            listed: list[dict[str, Any]] = changes if isinstance(changes, list) else changes["patch"]
            patches.setdefault((urn, aspect), set()).update(change["path"] for change in listed)
    customers = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.main.customers_v2,DEV)"
    assert {path.split("/")[2] for path in patches[customers, "ownership"]} == {
        "urn:li:corpuser:finance@example.com",
        "urn:li:corpuser:marts@example.com",
        "urn:li:corpuser:@data",
    }
    staged = "urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.main.stg_customers,DEV)"
    tagged = {(urn, path) for (urn, _), paths in patches.items() for path in paths if "urn:li:tag:" in path}
    assert any(urn == staged and path.endswith("urn:li:tag:pii") and "email" in path for urn, path in tagged)
    assert any(urn == staged and path.endswith("urn:li:tag:staging") for urn, path in tagged)
    assert set(urls.values()) == {"https://bi.example.com/dashboards/7", None}


def test_openlineage_gets_owners_tags_and_the_kinds_of_the_semantic_layer(export: Export) -> None:
    found = [event for event in events(export) if not isinstance(event, DatasetEvent)]
    written = [json.loads(Serde.to_json(each)) for each in found]
    assert [wrong for each in written for wrong in problems(each)] == []
    kinds = {
        (event["job"]["name"], event["job"]["facets"]["jobType"]["jobType"])
        for event in written
        if event["job"].get("facets")
    }
    assert ("daily.dbt.metric.shop.revenue", "METRIC") in kinds
    assert ("daily.dbt.semantic_model.shop.orders", "SEMANTIC_MODEL") in kinds
    assert ("daily.dbt.exposure.shop.churn_notebook", "EXPOSURE") in kinds
    outputs = {output.name: output.facets or {} for each in found for output in each.outputs or ()}
    staged: Any = outputs["shop.main.stg_customers"]
    assert {owner.name for owner in staged["ownership"].owners} == {"CRM team"}
    assert {(tag.key, tag.field) for tag in staged["tags"].tags} == {("staging", None), ("pii", "email")}


CUSTOMERS, ORDERS = (
    f"urn:li:dataset:(urn:li:dataPlatform:duckdb,shop.main.stg_{name},DEV)"
    for name in ("customers", "orders")
)


@pytest.fixture(scope="module")
def in_datahub(export: Export, tmp_path_factory: pytest.TempPathFactory) -> Aspects:
    return exported(export.graph, tmp_path_factory.mktemp("datahub"), "daily")


def of_dataset(aspects: Aspects, dataset: str, kind: str) -> dict[str, dict[str, Any]]:
    """The assertions of a type on a dataset by URN, each with its aspects."""
    return {
        urn: held
        for urn, held in aspects.items()
        if "assertionInfo" in held
        and (found := held["assertionInfo"].datasetAssertion or held["assertionInfo"].customAssertion)
        and kind == (getattr(found, "nativeType", None) or found.type)
        and dataset == (getattr(found, "dataset", None) or found.entity)
    }


def test_datahub_gets_an_assertion_for_each_check_of_a_dataset(in_datahub: Aspects) -> None:
    definitions = list(of_kind(in_datahub, "assertionInfo").values())
    kinds = Counter(
        each.datasetAssertion.nativeType if each.datasetAssertion else each.customAssertion.type
        for each in definitions
    )
    assert kinds == {
        "accepted_values": 1,
        "amounts_per_country": 1,
        "custom_sql": 2,  # one test that reads two models
        "freshness": 3,
        "not_null": 3,
        "positive": 1,
        "relationships": 1,
        "unique": 3,
        "unit_test": 1,
    }
    assert Counter(each.type for each in definitions) == {"DATASET": 13, "CUSTOM": 3}


def test_an_assertion_has_its_column_operator_and_newest_result(in_datahub: Aspects) -> None:
    ((urn, unique),) = of_dataset(in_datahub, CUSTOMERS, "unique").items()
    about = unique["assertionInfo"].datasetAssertion
    assert (about.scope, about.operator, about.aggregation) == (
        "DATASET_COLUMN",
        "EQUAL_TO",
        "UNIQUE_PROPOTION",
    )
    assert about.parameters.value.value == "1.0"
    assert about.fields == [f"urn:li:schemaField:({CUSTOMERS},customer_id)"]
    event = unique["assertionRunEvent"]
    assert (event.assertionUrn, event.asserteeUrn, event.status) == (urn, CUSTOMERS, "COMPLETE")
    assert event.result.type == "SUCCESS"
    assert unique["dataPlatformInstance"].platform == "urn:li:dataPlatform:dbt"


def test_results_of_assertions_by_status(in_datahub: Aspects) -> None:
    def results(dataset: str, kind: str) -> set[tuple[str, str, int | None]]:
        return {
            (each.type, each.nativeResults["status"], each.unexpectedCount)
            for held in of_dataset(in_datahub, dataset, kind).values()
            if (event := held.get("assertionRunEvent")) and (each := event.result)
        }

    main = CUSTOMERS.replace("main.stg_customers", "{}")
    assert results(CUSTOMERS, "not_null") == {("SUCCESS", "passed", 0), ("SUCCESS", "warned", 1)}
    assert results(ORDERS, "positive") == {("FAILURE", "failed", 1)}
    assert results(main.format("main.orders"), "unit_test") == {("ERROR", "error", None)}
    assert results(main.format("main_raw.raw_customers"), "freshness") == {("FAILURE", "failed", None)}
    # dbt could not check this source: there is an assertion without a result.
    assert results(main.format("main_raw.unloaded"), "freshness") == set()
    assert len(of_dataset(in_datahub, main.format("main_raw.unloaded"), "freshness")) == 1


def test_tags_and_owners_of_a_test_are_those_of_its_assertion(in_datahub: Aspects) -> None:
    (tagged,) = (held for held in in_datahub.values() if "assertionInfo" in held and "globalTags" in held)
    assert {each.tag for each in tagged["globalTags"].tags} == {"urn:li:tag:pii", "urn:li:tag:contact"}
    assert tagged["assertionInfo"].customProperties["owners"] == "crm@example.com"
    assert tagged["assertionInfo"].customProperties["severity"] == "warn"


def test_datahub_gets_runs_newest_writes_and_deprecations(in_datahub: Aspects) -> None:
    runs = {
        held["dataProcessInstanceRelationships"].parentTemplate.rpartition(",")[2]: held[
            "dataProcessInstanceRunEvent"
        ]
        for held in in_datahub.values()
        if "dataProcessInstanceRunEvent" in held
    }
    models = ("customers.v1", "customers.v2", "days", "orders", "stg_customers", "stg_orders")
    built = {f"dbt.model.shop.{name})" for name in models} | {"dbt.snapshot.shop.customers_history)"}
    assert set(runs) == built
    assert {(each.status, each.result.type) for each in runs.values()} == {("COMPLETE", "SUCCESS")}
    written = of_kind(in_datahub, "operation")
    # Views hold no rows, and nothing says when a seed was loaded.
    assert {urn.split(",")[1] for urn in written} == {
        "shop.main.customers_v1",
        "shop.main.customers_v2",
        "shop.main.days",
        "shop.main.orders",
        "shop.main_history.customers_history",
    }
    orders = written[CUSTOMERS.replace("stg_customers", "orders")]
    assert orders.lastUpdatedTimestamp == runs["dbt.model.shop.orders)"].timestampMillis
    ((urn, deprecation),) = of_kind(in_datahub, "deprecation").items()
    assert "shop.main.customers_v1," in urn
    assert (deprecation.deprecated, deprecation.decommissionTime) == (True, 1801353600000)


def test_lineage_only_has_no_assertions_and_no_operations(export: Export, tmp_path: Path) -> None:
    found = exported(export.graph, tmp_path, lineage_only=True)
    assert not {"assertionInfo", "operation", "deprecation"} & {
        name for held in found.values() for name in held
    }


def test_owners_are_groups_by_glob_and_have_the_configured_type(export: Export, tmp_path: Path) -> None:
    found = exported(export.graph, tmp_path, groups=["* team", "@*"], owner_type="BUSINESS_OWNER")
    added = {
        (change["value"]["owner"], change["value"]["type"])
        for patch in of_kind(found, "ownership").values()
        for change in (patch if isinstance(patch, list) else patch["patch"])
    }
    assert {
        ("urn:li:corpGroup:CRM team", "BUSINESS_OWNER"),
        ("urn:li:corpGroup:@data", "BUSINESS_OWNER"),
    } < added
    assert ("urn:li:corpuser:finance@example.com", "BUSINESS_OWNER") in added
    assert {kind for _, kind in added} == {"BUSINESS_OWNER"}


@pytest.fixture(scope="module")
def check_events(export: Export) -> dict[str, dict[str, Any]]:
    """The events of checks by the name of their job, as JSON."""
    written = [json.loads(Serde.to_json(each)) for each in events(export)]
    return {each["job"]["name"]: each for each in written if each["job"]["name"].endswith(".test")}


def test_openlineage_gets_an_event_per_checked_dataset(check_events: dict[str, dict[str, Any]]) -> None:
    assert [wrong for each in check_events.values() for wrong in problems(each)] == []
    tested = ("main.stg_customers", "main.stg_orders", "main.orders", "main_raw.raw_customers")
    assert set(check_events) == {f"daily.dbt.shop.{name}.test" for name in (*tested, "main_raw.raw_orders")}
    assert {each["eventType"] for each in check_events.values()} == {"COMPLETE"}
    assert {(name, dataset["name"]) for name, each in check_events.items() for dataset in each["inputs"]} == {
        (name, name.removeprefix("daily.dbt.").removesuffix(".test")) for name in check_events
    }
    assert [each["outputs"] for each in check_events.values() if each["outputs"]] == []


def test_assertions_have_column_severity_and_result(check_events: dict[str, dict[str, Any]]) -> None:
    (dataset,) = check_events["daily.dbt.shop.main.stg_customers.test"]["inputs"]
    found = {
        (each["assertion"], each.get("column"), each["success"], each.get("severity"))
        for each in dataset["inputFacets"]["dataQualityAssertions"]["assertions"]
    }
    assert found == {
        ("not_null", "customer_id", True, "error"),
        ("unique", "customer_id", True, "error"),
        ("not_null", "email", False, "warn"),
        ("custom_sql", None, False, "error"),
    }
    assert {each["name"] for each in dataset["facets"]["ownership"]["owners"]} == {"CRM team"}


def test_reading_the_events_again_yields_the_same_assertions(
    export: Export, check_events: dict[str, dict[str, Any]], tmp_path: Path
) -> None:
    (tmp_path / "events.jsonl").write_text(
        "".join(json.dumps(each) + "\n" for each in check_events.values()), encoding="utf-8"
    )
    settings = {"dag_name": "again", "environment": "dev", "openlineage": {"events": [str(tmp_path)]}}
    config = CONFIGURATION.parse(settings)
    read = read_openlineage(LocalEngine(), config, from_config(config)).collect()
    again = merge_locally(read, "dev", "again")

    def results(nodes: Iterable[Any], edges: Iterable[Any]) -> set[tuple[str, str, str]]:
        held = {each.id: each for each in nodes}
        return {
            (each.to_id, held[each.from_id].name, held[each.from_id].properties["status"])
            for each in edges
            if each.label == "checks" and "status" in held[each.from_id].properties
        }

    stored = [*export.graph.everything(labels=["assertion", "checks"])]
    vertices = [each for each in stored if isinstance(each, Vertex)]
    expected = {
        # What did not run to its end is a failure in OpenLineage.
        (target, name, "failed" if status == "error" else status)
        for target, name, status in results(vertices, [each for each in stored if isinstance(each, Edge)])
    }
    assert results(map(vertex_of_row, again.nodes), map(edge_of_row, again.edges)) == expected
    assert len(expected) == 15


def test_openlineage_gets_the_urls_of_exposures(export: Export) -> None:
    written = [json.loads(Serde.to_json(each)) for each in events(export)]
    sources = {
        dataset["name"]: dataset["facets"]["dataSource"]["uri"]
        for each in written
        for dataset in each["outputs"]
        if "dataSource" in dataset["facets"]
    }
    assert sources == {"revenue_dashboard": "https://bi.example.com/dashboards/7"}


def test_pictures_have_no_assertions(export: Export, tmp_path: Path) -> None:
    for exporter in (MERMAID, DOT):
        file = tmp_path / exporter.name
        exporter.send(Export(export.graph, {"out": str(file), "columns": True, "jobs": True}))
        text = file.read_text(encoding="utf-8")
        assert "revenue_dashboard" in text
        assert "stg_customers" in text
        assert [name for name in ("not_null", "freshness", "only_paid_orders") if name in text] == []


def test_graphml_has_assertions_with_their_edges(export: Export, tmp_path: Path) -> None:
    file = tmp_path / "lineage.graphml"
    GRAPHML.send(Export(export.graph, {"out": str(file)}))
    vertices, edges = read_graphml(file)
    found = graph()
    assert set(vertices) == {row["id"] for row in found.nodes}
    assert edges == {(row["from"], row["label"], row["to"]) for row in found.edges}
    email = vertices[f"{TESTS}test.shop.every_customer_has_an_email.a174fd3058"]
    assert (email["label"], email["status"], email["tags"]) == ("assertion", "warned", "contact, pii")


def test_neptunes_files_have_assertions_with_their_edges(export: Export, tmp_path: Path) -> None:
    neptune_csv.EXPORTER.send(Export(export.graph, {"out": str(tmp_path)}))
    read = [
        each
        for kind in ("vertices", "edges")
        for file in sorted((tmp_path / kind).iterdir())
        for each in records(file.read_bytes())
    ]
    found = graph()
    edges = {(row["id"], row["label"], (row["from"], row["to"])) for row in found.edges}
    assert {(each.id, each.label, each.ends) for each in read if each.ends} == edges
    assert {each.label for each in read if each.ends} > {"checks", "references"}
    values: dict[str, dict[str, Any]] = {}
    for each in read:
        if not each.ends:
            held = values.setdefault(each.id, {"label": each.label})
            held |= each.single
            for name, several in each.sets.items():
                held.setdefault(name, set()).update(several)
    assert values == {
        row["id"]: {
            name: set(value) if isinstance(value, list) else {value} if name == "dag_name" else value
            for name, value in row.items()
            if value not in (None, []) and name != "id"
        }
        for row in found.nodes
    }
