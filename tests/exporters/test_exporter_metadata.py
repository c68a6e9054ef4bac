"""Owners, tags and the semantic layer of a captured dbt project in exports to catalogs, without servers."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from openlineage.client.serde import Serde

from lineage_merge.exporters.datahub.proposals import proposals
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage.events import events
from lineage_merge.query.backends.files import edge_of_row, vertex_of_row
from lineage_merge.query.backends.in_memory import InMemory
from tests.dbt_shop import graph
from tests.exporters.openlineage_schemas import problems


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
        if aspect in ("ownership", "globalTags", "editableSchemaMetadata", "schemaMetadata") and hasattr(
            each.aspect, "value"
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
    found = list(events(export))
    written = [json.loads(Serde.to_json(each)) for each in found]
    assert [wrong for each in written for wrong in problems(each)] == []
    kinds = {(each.job.name, each.job.facets["jobType"].jobType) for each in found if each.job.facets}
    assert ("daily.dbt.metric.shop.revenue", "METRIC") in kinds
    assert ("daily.dbt.semantic_model.shop.orders", "SEMANTIC_MODEL") in kinds
    assert ("daily.dbt.exposure.shop.churn_notebook", "EXPOSURE") in kinds
    outputs = {output.name: output.facets or {} for each in found for output in each.outputs or ()}
    staged: Any = outputs["shop.main.stg_customers"]
    assert {owner.name for owner in staged["ownership"].owners} == {"CRM team"}
    assert {(tag.key, tag.field) for tag in staged["tags"].tags} == {("staging", None), ("pii", "email")}
