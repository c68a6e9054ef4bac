"""Reviews of pull requests of a compiled dbt project with 40 models."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.review.assessment import review_dbt
from lineage_merge.review.consequences import PolicySettings
from lineage_merge.review.dbt_changes import compare
from lineage_merge.review.dbt_versions import version_of
from lineage_merge.review.findings import Assessed, ReviewResult, Severity
from lineage_merge.review.review_formats import review_as_json, review_sarif
from tests.review.dbt_pull_requests.project import FILES, PULL_REQUESTS
from tests.review.dbt_pull_requests.versions import SETTINGS, document, file_of, pull_request, scope

POLICY = {"name": "no-pii-in-reports", "tag": "pii", "must_not_reach": ["*.rpt_*"]}

Row = tuple[str, str, str, str, str]

EXPECTED: dict[str, set[Row]] = {
    "drop": {("breaking", "column dropped", "int_shipments#carrier", "carrier", "")},
    "rename": {("breaking", "column renamed", "int_order_items#revenue", "revenue", "net_revenue")},
    "retype": {("changed", "type changed", "int_shipments#shipped_on", "date", "timestamp")},
    "filter": {("changed", "filter changed", "fct_orders", "status <> 'cancelled'", "status = 'paid'")},
    "join_type": {
        (
            "changed",
            "join changed",
            "int_order_payments",
            "left join stg_payments on order_id = order_id",
            "inner join stg_payments on order_id = order_id",
        )
    },
    "materialization": {("changed", "materialization changed", "dim_products", "table", "view")},
    "pii_path": {
        ("info", "column added", "mart_top_customers#email", "", "email"),
        ("info", "column added", "rpt_customers#email", "", "email"),
    },
    "moved_model": {
        ("changed", "model moved", "fct_orders", "shop.main.fct_orders", "shop.main_sales.fct_orders")
    },
    "ephemeral": {
        ("changed", "filter changed", "int_customer_orders", "status = 'paid'", "status = 'settled'"),
        ("changed", "filter changed", "int_daily_orders", "status = 'paid'", "status = 'settled'"),
    },
    "macro": {
        ("changed", "expression changed", f"{model}#{column}", f"round({value}, 2)", f"round({value}, 4)")
        for model, column, value in (
            ("stg_order_items", "price", "price / 100"),
            ("stg_orders", "amount", "amount / 100"),
            ("stg_payments", "amount", "amount / 100"),
            ("stg_products", "cost", "cost / 100"),
            ("stg_refunds", "amount", "amount / 100"),
            ("int_customer_orders", "amount", "sum(amount)"),
            ("int_daily_orders", "amount", "sum(amount)"),
            ("mart_payment_methods", "amount", "sum(amount)"),
            ("mart_refund_rate", "rate", "sum(refunded) / sum(amount)"),
            ("mart_revenue_by_country", "revenue", "sum(amount)"),
        )
    },
    "reformat": set(),
    "source_rename": {
        ("changed", "source renamed", "shop.raw.shipments", "shop.raw.shipments", "shop.raw.deliveries")
    },
    "removed_test": {
        ("changed", "test removed", "fct_orders#order_id", f"{kind}_fct_orders_order_id", "")
        for kind in ("unique", "not_null")
    },
}


def row(found: Assessed) -> Row:
    finding = found.finding
    title = finding.title.removeprefix("shop.main.")
    return finding.severity.value, finding.kind, title, finding.before, finding.after


def review(name: str, graph: InMemory | None = None, policies: tuple[Any, ...] = ()) -> ReviewResult:
    config = CONFIGURATION.parse({**SETTINGS, "policies": list(policies)})
    settings = PolicySettings(config.policies)
    return review_dbt(file_of(document("base")), file_of(document(name)), scope(), graph, settings)


def affected(result: ReviewResult) -> set[str]:
    return {each.vertex.title.removeprefix("shop.main.") for a in result.findings for each in a.affected}


def broken(result: ReviewResult) -> set[str]:
    return {
        each.vertex.title.removeprefix("shop.main.")
        for a in result.findings
        for each in a.broken
        if each.kind in ("dataset", "exposure")
    }


def test_the_project_has_40_models() -> None:
    models = {name for name in FILES if name.startswith("models/") and name.endswith(".sql")}
    assert len(models) == 40
    assert PULL_REQUESTS.keys() == EXPECTED.keys()


@pytest.mark.parametrize("name", EXPECTED)
def test_the_findings_of_a_pull_request(name: str) -> None:
    assert {row(each) for each in review(name).findings} == EXPECTED[name]


def test_a_reformatted_model_differs_in_its_text_only() -> None:
    before, after = pull_request("reformat")
    changed = {
        unique_id
        for unique_id, node in before.manifest.nodes.items()
        if node.code.sql != after.manifest.nodes[unique_id].code.sql
    }
    assert changed == {"model.shop.int_order_payments"}
    assert compare(before, after) == ([], [])


def test_a_dropped_column_breaks_its_readers_up_to_the_exposure() -> None:
    expected = {"dim_carriers", "fct_orders", "mart_carriers", "rpt_shipping", "shipping_report"}
    assert broken(review("drop")) == expected


def test_a_renamed_column_breaks_what_names_it_and_not_what_copies_all_columns() -> None:
    result = review("rename")
    assert broken(result) == {"mart_margin", "mart_revenue_by_category"}
    assert affected(result) == {
        "fct_order_items",
        "mart_margin",
        "mart_revenue_by_category",
        "rpt_categories",
    }
    assert [each.finding.is_guess for each in result.findings] == [True]
    assert "a guess" in result.findings[0].finding.message


def test_a_drop_that_its_readers_are_adapted_to_breaks_nothing() -> None:
    head = document("drop")
    select = "select order_id, cast(shipped_at as date) as shipped_on"
    for model in ("dim_carriers", "fct_orders", "mart_carriers", "rpt_shipping"):
        node = head["nodes"][f"model.shop.{model}"]
        code_of = node["compiled_code"]
        if model == "fct_orders":
            node["compiled_code"] = code_of.replace("s.carrier, ", "")
        else:
            del head["nodes"][f"model.shop.{model}"]
    del head["exposures"]["exposure.shop.shipping_report"]
    result = review_dbt(file_of(document("base")), file_of(head), scope())
    assert select in head["nodes"]["model.shop.int_shipments"]["compiled_code"]
    assert broken(result) == set()
    assert not result.select_at_least(Severity.BREAKING)


def test_a_new_path_of_personal_data_violates_a_policy() -> None:
    result = review("pii_path", policies=(POLICY,))
    found = [each.finding for each in result.findings if each.finding.severity is Severity.POLICY]
    assert [(each.title, each.unique_id) for each in found] == [
        ("shop.main.rpt_customers#email", "no-pii-in-reports")
    ]
    assert result.select_at_least(Severity.POLICY)
    assert not result.select_at_least(Severity.BREAKING)


def test_a_violation_that_exists_already_is_not_a_finding() -> None:
    policy = {**POLICY, "must_not_reach": ["*.dim_customers"]}
    kinds = {each.finding.kind for each in review("pii_path", policies=(policy,)).findings}
    assert kinds == {"column added"}


def test_a_moved_model_that_has_not_run_yet_violates_no_policy_on_updates() -> None:
    policy = {"name": "models-are-fresh", "datasets": "*", "must_be_updated_within": "1d"}
    kinds = {each.finding.kind for each in review("moved_model", policies=(policy,)).findings}
    assert kinds == {"model moved"}


# ---- a merged graph


def merged(*, with_spark: bool = True) -> InMemory:
    """The graph of a merge: the project, and a Spark job of another DAG that reads one of its tables."""
    base = file_of(document("base"))
    own = version_of(base, scope(), base.manifest.nodes.keys()).graph
    labels = ("assertion", "checks", "references", "operation")
    vertices = [each for each in own.everything() if isinstance(each, Vertex)]
    edges = [each for each in own.everything() if isinstance(each, Edge)]
    more = list(own.everything(labels=labels))
    vertices += [each for each in more if isinstance(each, Vertex)]
    edges += [each for each in more if isinstance(each, Edge)]
    if with_spark:
        job = {"environment": "dev", "dag_name": "exports", "job_type": "spark", "job_name": "export_orders"}
        table, file = "dev|duckdb://shop|shop.main.fct_orders", "dev|s3://partners|orders"
        owned = {"environment": "dev", "dag_name": ("exports",)}
        vertices += [
            Vertex(file, "file", {**owned, "name": "orders", "owners": ("partners@example.com",)}),
            Vertex(f"{file}|carrier", "column", {**owned, "name": "carrier"}),
            Vertex("dev|exports|spark|export_orders", "job", {**owned, "name": "export_orders"}),
        ]
        edges += [
            Edge("e1", "feeds", table, file, job),
            Edge("e2", "has_column", file, f"{file}|carrier", {"environment": "dev", "dag_name": "exports"}),
            Edge(
                "e3",
                "feeds_column",
                f"{table}|carrier",
                f"{file}|carrier",
                {**job, "transformation": "IDENTITY"},
            ),
            Edge("e4", "writes", "dev|exports|spark|export_orders", file, job),
        ]
    return InMemory(vertices, edges)


def test_a_spark_job_of_another_dag_breaks_too() -> None:
    result = review("drop", merged())
    assert "s3://partners/orders" in broken(result)
    [found] = result.findings
    assert found.dags == ["daily", "exports"]
    assert found.owners == ["bob@example.com", "partners@example.com", "sales@example.com"]
    assert not result.notes


def test_a_package_that_another_project_installs_too_is_not_replaced() -> None:
    """The other project's job has the same unique id, and reads the dropped column still."""
    graph = merged(with_spark=False)
    job = {
        "environment": "dev",
        "dag_name": "other",
        "job_type": "dbt",
        "job_name": "other/model.shop.fct_orders",
        "transformation": "IDENTITY",
    }
    source, target = "dev|duckdb://shop|shop.main.int_shipments", "dev|duckdb://other|db.main.fct_orders"
    owned = {"environment": "dev", "dag_name": ("other",)}
    vertices = [each for each in graph.everything() if isinstance(each, Vertex)]
    edges = [each for each in graph.everything() if isinstance(each, Edge)]
    vertices += [
        Vertex(target, "table", {**owned, "qualified_name": "db.main.fct_orders"}),
        Vertex(f"{target}|carrier", "column", {**owned, "name": "carrier"}),
    ]
    edges += [
        Edge("o1", "feeds", source, target, job),
        Edge("o2", "has_column", target, f"{target}|carrier", {"environment": "dev", "dag_name": "other"}),
        Edge("o3", "feeds_column", f"{source}|carrier", f"{target}|carrier", job),
    ]
    base, head = document("base"), document("drop")
    node = head["nodes"]["model.shop.fct_orders"]
    node["compiled_code"] = node["compiled_code"].replace("s.carrier, ", "")
    result = review_dbt(file_of(base), file_of(head), scope(), InMemory(vertices, edges))
    [found] = [each for each in result.findings if each.finding.title.endswith("int_shipments#carrier")]
    titles = {each.vertex.title for each in found.broken if each.kind == "dataset"}
    assert titles == {"db.main.fct_orders", "shop.main.dim_carriers"}


def test_a_moved_model_breaks_readers_outside_the_project_only() -> None:
    assert broken(review("moved_model", merged(with_spark=False))) == set()
    result = review("moved_model", merged())
    assert broken(result) == {"s3://partners/orders"}
    assert {each.finding.severity for each in result.findings} == {Severity.BREAKING}


@pytest.mark.parametrize("name", EXPECTED)
def test_the_graph_of_the_merge_gives_the_same_findings_as_the_manifest(name: str) -> None:
    assert {row(each) for each in review(name, merged(with_spark=False)).findings} == EXPECTED[name]


# ---- other changes, as edited manifests


def edited(change: Callable[[dict[str, Any]], None]) -> ReviewResult:
    head = document("base")
    change(head)
    return review_dbt(file_of(document("base")), file_of(head), scope())


def test_a_removed_model_breaks_its_readers() -> None:
    result = edited(lambda head: head["nodes"].pop("model.shop.dim_carriers"))
    assert {row(each)[:3] for each in result.findings} == {("changed", "model removed", "dim_carriers")}
    result = edited(lambda head: head["nodes"].pop("model.shop.mart_carriers"))
    assert {row(each)[:3] for each in result.findings} == {("breaking", "model removed", "mart_carriers")}


def test_a_model_that_becomes_ephemeral_is_dropped() -> None:
    def change(head: dict[str, Any]) -> None:
        node = head["nodes"]["model.shop.fct_orders"]
        node["config"]["materialized"] = "ephemeral"
        node["relation_name"] = None

    [found] = [each for each in edited(change).findings if each.finding.kind == "materialization changed"]
    assert (found.finding.before, found.finding.after) == ("table", "ephemeral")
    assert "no longer built" in found.finding.message


def test_a_manifest_that_is_not_compiled_is_not_taken_for_dropped_columns() -> None:
    def change(head: dict[str, Any]) -> None:
        for node in head["nodes"].values():
            node.pop("compiled_code", None)

    result = edited(change)
    assert {each.finding.kind for each in result.findings} == set()
    assert any("has no compiled SQL" in note for note in result.notes)


def test_another_constant_is_a_changed_query() -> None:
    def change(head: dict[str, Any]) -> None:
        node = head["nodes"]["model.shop.dim_products"]
        node["compiled_code"] = node["compiled_code"].replace("select ", "select 1 as version, ", 1)

    def other(head: dict[str, Any]) -> None:
        change(head)
        node = head["nodes"]["model.shop.dim_products"]
        node["compiled_code"] = node["compiled_code"].replace("1 as", "2 as")

    base, head = document("base"), document("base")
    change(base)
    other(head)
    result = review_dbt(file_of(base), file_of(head), scope())
    assert {row(each)[:3] for each in result.findings} == {("changed", "query changed", "dim_products")}


# ---- other formats


def test_json_and_sarif_have_every_finding() -> None:
    result = review("macro", merged())
    shown = json.loads(json.dumps(review_as_json(result)))
    assert shown["counts"] == {"breaking": 0, "policy": 0, "changed": 10, "info": 0}
    run = review_sarif(result)["runs"][0]
    located = {each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in run["results"]}
    assert located == {each["file_path"] for each in shown["findings"]}
    assert len({each["partialFingerprints"]["lineageMerge/v1"] for each in run["results"]}) == 10
