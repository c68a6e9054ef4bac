"""Owners, tags, tests, freshness and the semantic layer of a captured dbt project in the graph."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.graph_format.json_schemas import edge_schema, node_schema
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.json_schema import Checker
from lineage_merge.infra.redaction import redact
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.join import Graph, merge_locally
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.declared_tests import tests_of as declared_tests
from lineage_merge.sources.dbt.metadata import MAX_META_LENGTH, meta_text, owners, plain_column
from lineage_merge.sources.dbt.reader import read_dbt
from tests.dbt_shop import DATA, PROJECT, TABLES, TESTS, graph, read
from tests.record_reading import problems_of


@pytest.fixture(scope="module")
def shop() -> Graph:
    return graph()


def nodes(found: Graph, *labels: str) -> dict[str, Row]:
    return {row["id"]: row for row in found.nodes if row["label"] in labels}


def short(identifier: str) -> str:
    for prefix in (TABLES, PROJECT, TESTS):
        identifier = identifier.removeprefix(prefix)
    return identifier


def edges(found: Graph, *labels: str) -> set[tuple[str, str, str]]:
    return {
        (short(row["from"]), row["label"], short(row["to"])) for row in found.edges if row["label"] in labels
    }


DATASETS = (
    "table",
    "view",
    "seed",
    "snapshot",
    "exposure",
    "semantic_model",
    "metric",
    "saved_query",
)


def test_owners_come_from_exposures_groups_and_meta(shop: Graph) -> None:
    owned = {
        (short(key), owner) for key, row in nodes(shop, *DATASETS).items() for owner in row.get("owners", ())
    }
    assert owned == {
        ("main.days", "finance@example.com"),
        ("main.orders", "finance@example.com"),
        ("main.customers_v1", "finance@example.com"),
        ("main.customers_v1", "marts@example.com"),
        ("main.customers_v1", "@data"),
        ("main.customers_v2", "finance@example.com"),
        ("main.customers_v2", "marts@example.com"),
        ("main.customers_v2", "@data"),
        ("main.stg_customers", "CRM team"),  # the group has no address
        ("main_raw.raw_customers", "crm-import@example.com"),  # the seed
        ("main_raw.raw_customers", "crm@example.com"),  # the source
        ("main_raw.raw_orders", "crm@example.com"),
        ("main_raw.unloaded", "crm@example.com"),
        ("main_history.customers_history", "history@example.com"),
        ("revenue_dashboard", "ada@example.com"),
        ("churn_notebook", "data-science"),
        ("semantic_model.orders", "semantics@example.com"),
        ("metric.revenue", "finance@example.com"),
        ("metric.revenue", "finance-metrics@example.com"),
    }


def test_columns_have_tags_owners_and_constraints(shop: Graph) -> None:
    found = {
        (short(key), name, value)
        for key, row in nodes(shop, "column").items()
        for name in ("tags", "owners", "constraints")
        for value in row.get(name, ())
        if "dbt://" not in key
    }
    assert found == {
        ("main_raw.raw_customers|email", "tags", "pii"),
        ("main_raw.raw_customers|email", "owners", "privacy@example.com"),
        ("main.stg_customers|email", "tags", "pii"),
        ("main.customers_v1|email", "tags", "pii"),
        ("main.customers_v2|country", "tags", "location"),
        ("main.customers_v1|customer_id", "constraints", "not_null"),
        ("main.customers_v1|customer_id", "constraints", "check (customer_id > 0)"),
        ("main.customers_v2|customer_id", "constraints", "not_null"),
        ("main.customers_v2|customer_id", "constraints", "check (customer_id > 0)"),
    }


_FACTS = (
    "access",
    "group",
    "contract",
    "version",
    "latest_version",
    "deprecation_date",
    "materialization",
    "exposure_type",
    "url",
    "maturity",
    "metric_type",
    "meta",
)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "main.customers_v1",
            {
                ("access", "protected"),
                ("group", "finance"),
                ("contract", "enforced"),
                ("version", "1"),
                ("latest_version", "2"),
                ("deprecation_date", "2027-01-31T00:00:00+00:00"),
                ("materialization", "table"),
                ("meta", '{"api_token": "*****", "sla": {"hours": 4, "tier": "gold"}}'),
            },
        ),
        (
            "main.orders",
            {("access", "protected"), ("group", "finance"), ("materialization", "incremental")},
        ),
        ("main_raw.raw_orders", set()),
        (
            "revenue_dashboard",
            {
                ("exposure_type", "dashboard"),
                ("url", "https://bi.example.com/dashboards/7"),
                ("maturity", "high"),
                ("meta", '{"audience": "board"}'),
            },
        ),
        ("metric.revenue", {("group", "finance"), ("metric_type", "simple")}),
        ("metric.revenue_per_order", {("metric_type", "ratio")}),
    ],
)
def test_what_the_manifest_says_of_a_dataset(shop: Graph, name: str, expected: set[tuple[str, str]]) -> None:
    row = next(row for key, row in nodes(shop, *DATASETS).items() if short(key) == name)
    assert {(fact, row[fact]) for fact in _FACTS if fact in row} == expected


def test_every_test_checks_its_dataset_or_column(shop: Graph) -> None:
    ids = {row["name"]: short(row["id"]) for row in nodes(shop, "assertion").values()}
    found = {
        (row["name"], row["assertion_type"], row.get("severity"), row.get("status"), row.get("failures"))
        for row in nodes(shop, "assertion").values()
    }
    related = "relationships_stg_orders_customer_id__customer_id__ref_stg_customers_"
    accepted = "accepted_values_stg_orders_status__paid__returned"
    assert found == {
        ("no_orders_of_unknown_customers", "custom_sql", "error", "failed", 1),
        ("unique_orders_order_id", "unique", "error", "passed", 0),
        ("amounts_per_country_orders_", "amounts_per_country", "error", "passed", 0),
        ("unique_stg_customers_customer_id", "unique", "error", "passed", 0),
        ("not_null_stg_customers_customer_id", "not_null", "error", "passed", 0),
        ("every_customer_has_an_email", "not_null", "warn", "warned", 1),
        ("unique_paid_orders_order_id", "unique", "error", "passed", 0),
        (accepted, "accepted_values", "error", "failed", 1),
        ("positive_stg_orders_amount", "positive", "error", "failed", 1),
        (related, "relationships", "error", "failed", 1),
        ("source_not_null_crm_customers_customer_id", "not_null", "error", "passed", 0),
        ("only_paid_orders", "unit_test", "error", "error", None),
        ("freshness.crm.customers", "freshness", "error", "failed", None),
        ("freshness.crm.orders", "freshness", "warn", "passed", None),
        ("freshness.crm.unloaded", "freshness", "error", None, None),  # dbt lists no result for it
    }
    assert edges(shop, "checks", "references") == {
        (ids["no_orders_of_unknown_customers"], "checks", "main.stg_orders"),
        (ids["no_orders_of_unknown_customers"], "checks", "main.stg_customers"),
        (ids["unique_orders_order_id"], "checks", "main.orders|order_id"),
        (ids["amounts_per_country_orders_"], "checks", "main.orders"),
        (ids["unique_stg_customers_customer_id"], "checks", "main.stg_customers|customer_id"),
        (ids["not_null_stg_customers_customer_id"], "checks", "main.stg_customers|customer_id"),
        (ids["every_customer_has_an_email"], "checks", "main.stg_customers|email"),
        (ids[accepted], "checks", "main.stg_orders|status"),
        (ids["positive_stg_orders_amount"], "checks", "main.stg_orders|amount"),
        (ids[related], "checks", "main.stg_orders|customer_id"),
        (ids[related], "references", "main.stg_customers|customer_id"),
        (ids["source_not_null_crm_customers_customer_id"], "checks", "main_raw.raw_customers|customer_id"),
        ("unit_test.shop.orders.only_paid_orders", "checks", "main.orders"),
        ("source.shop.crm.customers|freshness", "checks", "main_raw.raw_customers"),
        ("source.shop.crm.orders|freshness", "checks", "main_raw.raw_orders"),
        ("source.shop.crm.unloaded|freshness", "checks", "main_raw.unloaded"),
        # The model is ephemeral: the test reads, and so checks, what is behind it.
        (ids["unique_paid_orders_order_id"], "checks", "main.stg_orders"),
    }


def test_a_test_of_an_ephemeral_model_without_sources_is_counted_as_left_out(tmp_path: Path) -> None:
    def without_sources(manifest: dict[str, Any]) -> None:
        manifest["nodes"]["model.shop.paid_orders"]["depends_on"]["nodes"] = []
        manifest |= {"parent_map": {}, "child_map": {}}

    changed(tmp_path, without_sources)
    (notice,) = [
        message
        for kind, _, _, message in problems_of(
            read(tmp_path, run_results=None, sources=None, catalog=None).collect()
        )
        if kind == "notice" and "left out" in message
    ]
    assert notice == "1 test checks no dataset of the graph (ephemeral models without sources): left out"


def test_filters_of_metrics_influence_them(shop: Graph) -> None:
    country = "semantic_model.orders|country"
    found = {
        (short(row["from"]), short(row["to"]), row["transformation"])
        for row in shop.edges
        if row["label"] == "influences" and "metric." in row["to"]
    }
    assert found == {(country, "metric.revenue", "FILTER")}


@pytest.mark.parametrize(
    ("template", "columns"),
    [
        ("{{ TimeDimension('order__ordered_at', 'day') }} > '2026-01-01'", {"ordered_at"}),
        (
            "{{Dimension( \"customer__order__is_large\" )}} and {{ Entity('customer') }} = 7",
            {"is_large", "customer"},
        ),
        ("{{ Dimension('customer__country') }} = 'DE'", set()),  # customers have no semantic model
        ("{{ Dimension('order__unknown') }} = 1", set()),
        ("{{ Dimension('order__revenue') }} = 1", set()),  # a measure
        ("country = 'DE'", set()),
    ],
)
def test_filters_name_dimensions_by_the_entity_of_their_model(
    template: str, columns: set[str], tmp_path: Path
) -> None:
    def of_query(manifest: dict[str, Any]) -> None:
        manifest["metrics"]["metric.shop.revenue"]["filter"] = None
        measure = manifest["metrics"]["metric.shop.orders"]["type_params"]["measure"]
        measure["filter"] = {"where_filters": [{"where_sql_template": template}]}

    changed(tmp_path, of_query)
    found = {
        (short(row["from"]), short(row["to"]))
        for row in graph(tmp_path, run_results=None, sources=None, catalog=None).edges
        if row["label"] == "influences" and "metric." in row["to"]
    }
    assert found == {(f"semantic_model.orders|{each}", "metric.orders") for each in columns}


def test_freshness_has_criteria_and_the_newest_row(shop: Graph) -> None:
    row = nodes(shop, "assertion")[f"{TESTS}source.shop.crm.customers|freshness"]
    assert {name: row.get(name) for name in _OF_FRESHNESS} == {
        "column_name": "loaded_at",
        "warn_after_ms": 12 * 3_600_000,
        "error_after_ms": 24 * 3_600_000,
        "max_loaded_at": 1_795_154_400_000,  # 2026-11-20T06:00:00Z
        "last_run_at": 1_795_394_947_408,
        "last_run_id": "168caa0d-6282-45cb-ae88-31d689fe3e38",
    }


_OF_FRESHNESS = (
    "column_name",
    "warn_after_ms",
    "error_after_ms",
    "max_loaded_at",
    "last_run_at",
    "last_run_id",
)


def test_the_newest_of_several_run_results_counts() -> None:
    only_build = nodes(graph(run_results=str(DATA / "run_results_build.json")), "assertion")
    skipped = {row["name"] for row in only_build.values() if "status" not in row}
    assert skipped == {
        "amounts_per_country_orders_",
        "unique_orders_order_id",
        "unique_paid_orders_order_id",
        "only_paid_orders",
        "freshness.crm.unloaded",
    }
    in_both = f"{TESTS}test.shop.no_orders_of_unknown_customers"
    assert only_build[in_both]["last_run_id"] == "8ae15200-4d02-47f9-ae7a-889b7ab9c26d"
    assert nodes(graph(), "assertion")[in_both]["last_run_id"] == "222c421a-0736-4b39-b12f-988e547c6c6c"


def test_without_results_tests_are_known_and_their_status_is_not(shop: Graph) -> None:
    declared = graph(run_results=None, sources=None)
    assert set(nodes(declared, "assertion")) == set(nodes(shop, "assertion"))
    assert not [row for row in nodes(declared, "assertion").values() if "status" in row]
    assert edges(declared, "checks", "references") == edges(shop, "checks", "references")


def test_the_notice_of_a_missing_artifact_names_a_similar_file(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "target/catalog.json").write_text((DATA / "catalog.json").read_text())
    missing = tmp_path / "catalog.json"
    problems = {
        message
        for _, document, _, message in problems_of(read(catalog=str(missing)).collect())
        if document == str(missing)
    }
    assert problems == {
        f"is missing: the columns in the warehouse are unknown; give {tmp_path}/target/catalog.json"
    }


@pytest.mark.parametrize("key", ["catalog", "run_results", "sources"])
def test_a_missing_artifact_is_a_notice(key: str, tmp_path: Path) -> None:
    missing = str(tmp_path / "missing.json")
    options: dict[str, Any] = {key: missing}
    problems = {
        (kind, message)
        for kind, document, _, message in problems_of(read(**options).collect())
        if document == missing
    }
    assert problems == {
        (
            "notice",
            {
                "catalog": "is missing: the columns in the warehouse are unknown",
                "run_results": "is missing: the time of the last runs is unknown",
                "sources": "is missing: the freshness of sources is unknown",
            }[key],
        )
    }


def test_exposures_are_fed_by_metrics_and_metrics_by_semantic_models(shop: Graph) -> None:
    assert {each for each in edges(shop, "feeds") if each[2].startswith(_OF_DBT)} == {
        ("main.orders", "feeds", "semantic_model.orders"),
        ("semantic_model.orders", "feeds", "metric.revenue"),
        ("semantic_model.orders", "feeds", "metric.orders"),
        ("semantic_model.orders", "feeds", "metric.revenue_to_date"),
        ("metric.revenue", "feeds", "metric.revenue_per_order"),
        ("metric.orders", "feeds", "metric.revenue_per_order"),
        ("metric.revenue", "feeds", "metric.double_revenue"),
        ("metric.revenue", "feeds", "saved_query.monthly_revenue"),
        ("metric.revenue_per_order", "feeds", "saved_query.monthly_revenue"),
        ("metric.revenue_per_order", "feeds", "revenue_dashboard"),
        ("main.customers_v2", "feeds", "revenue_dashboard"),
        ("main.orders", "feeds", "churn_notebook"),
    }


_OF_DBT = ("semantic_model.", "metric.", "saved_query.", "revenue_dashboard", "churn_notebook")


def test_columns_lead_from_the_model_through_measures_to_metrics_and_saved_queries(shop: Graph) -> None:
    found = {
        (short(row["from"]), short(row["to"]), row["transformation"], row.get("expression", ""))
        for row in shop.edges
        if row["label"] == "feeds_column" and "dbt://" in row["to"]
    }
    model, metric, query = "semantic_model.orders|", "metric.", "saved_query.monthly_revenue|"
    assert found == {
        ("main.orders|order_id", f"{model}order", "IDENTITY", ""),
        ("main.orders|customer_id", f"{model}customer", "IDENTITY", ""),
        ("main.orders|ordered_at", f"{model}ordered_at", "IDENTITY", ""),
        ("main.orders|country", f"{model}country", "IDENTITY", ""),
        ("main.orders|amount", f"{model}is_large", "TRANSFORMATION", "amount > 100"),
        ("main.orders|amount", f"{model}revenue", "AGGREGATION", "sum(amount)"),
        ("main.orders|order_id", f"{model}order_count", "AGGREGATION", "count(order_id)"),
        ("main.orders|amount", f"{model}discounted", "AGGREGATION", "sum(amount * 0.9)"),
        (f"{model}revenue", f"{metric}revenue|revenue", "IDENTITY", ""),
        (f"{model}order_count", f"{metric}orders|orders", "IDENTITY", ""),
        (f"{model}revenue", f"{metric}revenue_to_date|revenue_to_date", "AGGREGATION", ""),
        (
            f"{metric}revenue|revenue",
            f"{metric}revenue_per_order|revenue_per_order",
            "TRANSFORMATION",
            "revenue / orders",
        ),
        (
            f"{metric}orders|orders",
            f"{metric}revenue_per_order|revenue_per_order",
            "TRANSFORMATION",
            "revenue / orders",
        ),
        (f"{metric}revenue|revenue", f"{metric}double_revenue|double_revenue", "TRANSFORMATION", "rev * 2"),
        (f"{metric}revenue|revenue", f"{query}revenue", "IDENTITY", ""),
        (f"{metric}revenue_per_order|revenue_per_order", f"{query}revenue_per_order", "IDENTITY", ""),
    }


def test_no_message_argument_or_secret_of_the_project_is_in_the_graph(shop: Graph) -> None:
    text = json.dumps([shop.nodes, shop.edges])
    assert "configured to fail" not in text  # dbt's messages
    assert "hidden-value-of-a-token" not in text  # meta.api_token
    assert '"lost"' not in text  # a row of the unit test


def changed(tmp_path: Path, change: Callable[[dict[str, Any]], None]) -> Path:
    """Return a folder with the artifacts, in which the manifest is changed."""
    for file in DATA.glob("*.json"):
        (tmp_path / file.name).write_text(file.read_text("utf-8"), "utf-8")
    manifest = json.loads((DATA / "manifest.json").read_text("utf-8"))
    change(manifest)
    (tmp_path / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    return tmp_path


def test_tests_of_manifests_without_attached_node_find_their_model(tmp_path: Path) -> None:
    """Before v8 a test has no `attached_node`; a relationship depends on two models."""

    def as_before_v8(manifest: dict[str, Any]) -> None:
        for entry in manifest["nodes"].values():
            entry.pop("attached_node", None)

    found = graph(changed(tmp_path, as_before_v8))
    assert edges(found, "checks", "references") == edges(graph(), "checks", "references")


def test_malformed_metadata_rejects_nothing_and_loses_no_lineage(tmp_path: Path, shop: Graph) -> None:
    def damage(manifest: dict[str, Any]) -> None:
        manifest["groups"] = [1]
        for section in ("nodes", "exposures", "sources", "metrics", "semantic_models"):
            for entry in manifest[section].values():
                entry |= {"meta": 7, "owner": [[None]], "group": {"a": 1}, "version": [], "constraints": 1.5}
                entry |= {"test_metadata": "unique", "freshness": 3, "type": {}, "url": 1.5}
                entry["tags"] = "one"

    found = read(changed(tmp_path, damage)).collect()
    assert problems_of(found) == set()
    assert edges(graph(tmp_path), "feeds", "writes") == edges(shop, "feeds", "writes")


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("email", "email"),
        ('"Email"', "Email"),
        ("`e mail`", "e mail"),
        ("[Email]", "Email"),
        ("lower(email)", ""),
        ("a || b", ""),
        ('"a"."b"', ""),
        ("", ""),
    ],
)
def test_an_expression_is_no_column(name: str, column: str) -> None:
    assert plain_column(name) == column


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"name": "Ada", "email": "ada@example.com"}, ("ada@example.com",)),
        ({"name": "Ada", "email": None}, ("Ada",)),
        ({"email": ["a@example.com", "b@example.com"]}, ("a@example.com", "b@example.com")),
        (["@data", {"name": "Ada"}], ("@data", "Ada")),
        (" ada ", ("ada",)),
        (None, ()),
        (True, ()),
    ],
)
def test_owners_are_addresses_or_names(value: Any, expected: tuple[str, ...]) -> None:
    assert owners(value) == expected


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=600),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["a", "password", "note", "x y", "owner", 'q"']) | st.text(), _JSON))
@settings(max_examples=150)
def test_meta_is_bounded_json_that_redaction_leaves_alone(meta: dict[str, Any]) -> None:
    text = meta_text([meta])
    assert len(text) <= MAX_META_LENGTH + 200
    assert redact(text) == text
    assert text == "" or isinstance(json.loads(text), dict)


def test_meta_has_no_secrets_and_no_owners() -> None:
    meta = {
        "owner": "ada@example.com",
        "db": {"password": 12345678, "hosts": ["h1"], "url": "postgres://u:geheim1@h/db"},
        "long": "x" * 3000,
    }
    found = json.loads(meta_text([meta]))
    assert found == {
        "db": {"hosts": ["h1"], "password": "*****", "url": "postgres://h/db"},
        "long": "x" * 500,
    }


def test_only_enabled_tests_are_declared() -> None:
    entry = {"resource_type": "test", "name": "t", "config": {"enabled": False}, "depends_on": {"nodes": []}}
    assert declared_tests({"nodes": {"test.a.t": entry}}) == ()


SECRET = "geheim4711"
_TEXTS = (
    "description",
    "owner",
    "owners",
    "email",
    "url",
    "maturity",
    "meta",
    "tags",
    "group",
    "access",
    "version",
    "latest_version",
    "deprecation_date",
    "constraints",
    "column_name",
    "original_file_path",
    "loaded_at_field",
    "severity",
    "expr",
    "namespace",
)


def with_secrets(value: Any, inside: bool = False) -> Any:
    """Add a password to each text of an entry that may end in the graph."""
    if isinstance(value, dict):
        return {key: with_secrets(each, inside or key in _TEXTS) for key, each in value.items()}
    if isinstance(value, list):
        return [with_secrets(each, inside) for each in value]
    return f"{value} postgres://u:{SECRET}@h/db" if inside and isinstance(value, str) else value


def test_no_password_of_any_text_is_in_the_graph(tmp_path: Path) -> None:
    def leak(manifest: dict[str, Any]) -> None:
        for section in ("nodes", "sources", "exposures", "metrics", "semantic_models", "unit_tests"):
            manifest[section] = with_secrets(manifest[section])
        manifest["groups"] = with_secrets(manifest["groups"])

    found = graph(changed(tmp_path, leak))
    text = json.dumps([found.nodes, found.edges])
    assert "postgres://" in text
    assert SECRET not in text
    assert not [each for each in read(tmp_path).collect() if SECRET in repr(each)]


def test_tests_of_two_targets_of_a_project_are_apart() -> None:
    """Without `target`, jobs and tests are named by what they build and check."""
    entries = [
        {"manifest": str(DATA / "manifest.json"), "namespace": namespace}
        for namespace in ("duckdb://dev", "duckdb://prod")
    ]
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "dbt": entries})
    found = merge_locally(read_dbt(LocalEngine(), config, from_config(config)).collect(), "dev", "daily")
    checked = {
        (row["from"].count("duckdb://dev"), row["to"].split("|")[1])
        for row in found.edges
        if row["label"] == "checks"
    }
    assert checked == {(1, "duckdb://dev"), (0, "duckdb://prod")}
    declared = [row for row in graph().nodes if row["label"] == "assertion"]
    assert len([row for row in found.nodes if row["label"] == "assertion"]) == 2 * len(declared)


def test_every_row_of_the_project_fits_the_published_schemas(shop: Graph) -> None:
    checkers = Checker(node_schema()), Checker(edge_schema())
    for checker, rows in zip(checkers, (shop.nodes, shop.edges), strict=True):
        assert [(row["id"], checker.error(row)) for row in rows if checker.error(row)] == []
