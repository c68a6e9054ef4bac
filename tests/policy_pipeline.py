"""A pipeline that violates twelve policies, and the same pipeline corrected; both made by hand."""

from typing import Any

from lineage_merge.config import Policy
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.layers import Layer
from tests.lineage_made import MadeLineage, at, col

LAYERS = {"raw": "s3://lake/*", "staging": "wh.staging.*", "mart": "wh.marts.*"}

POLICIES: list[dict[str, Any]] = [
    {
        "name": "no-pii-in-marts",
        "tag": "pii",
        "must_not_reach": "*.marts.*",
        "except": "*.marts.secure_*",
        "description": "all analysts read marts",
    },
    {"name": "no-pii-in-exports", "tag": ["pii", "secret"], "must_not_reach": "s3://export/*#e*"},
    {"name": "no-secrets-in-staging", "tag": "secret", "must_not_reach": ["*.staging.*"]},
    {"name": "marts-read-no-raw", "layer": "mart", "must_not_read": "raw"},
    {"name": "staging-reads-no-mart", "layer": "staging", "must_not_read": ["mart"]},
    {"name": "raw-reads-nothing", "layer": "raw", "must_not_read": ["staging", "mart"]},
    {"name": "marts-are-owned", "datasets": "*.marts.*", "must_have": ["owner", "description"]},
    {
        "name": "staging-is-tested",
        "datasets": ["*.staging.*"],
        "must_have": "test",
        "severity": "warning",
    },
    {"name": "raw-is-fresh", "datasets": "s3://lake/*", "must_have": ["freshness", "tag:raw"]},
    {
        "name": "revenue-is-fed-by-sales",
        "datasets": "*.marts.revenue",
        "must_be_fed_by": ["s3a://lake/sales/"],
    },
    {"name": "marts-are-fed-by-the-lake", "datasets": "*.marts.*", "must_be_fed_by": "s3://lake/*"},
    {"name": "forecast-has-a-contract", "datasets": "wh.marts.forecast", "must_have": "contract"},
]


def settings(policies: list[dict[str, Any]] | None = None, **others: Any) -> dict[str, Any]:
    """A configuration with these policies."""
    held = POLICIES if policies is None else policies
    return {"dag_name": "daily", "environment": "dev", "query": {"layers": LAYERS}, "policies": held} | others


def parsed(policies: list[dict[str, Any]] | None = None) -> tuple[Policy, ...]:
    """The policies of the configuration."""
    return CONFIGURATION.parse(settings(policies), needs_source=False).policies


def layers() -> list[Layer]:
    """The layers of the configuration."""
    return [Layer(name, (glob,)) for name, glob in LAYERS.items()]


def violating() -> MadeLineage:
    """The pipeline with at least one violation of each policy.

    ::

        s3 lake/customers -> wh.staging.customers -> wh.marts.customers, wh.marts.secure_customers
        s3 lake/customers -> wh.tmp.view -> wh.marts.churn               (no layer in between)
        wh.marts.churn -> wh.staging.back; wh.staging.back -> s3 lake/cycle
        s3 lake/legacy -> wh.staging.sales -> wh.marts.revenue -> s3 export/daily
        wh.tmp.local -> wh.marts.orphan
    """
    made = _lake("customers", "legacy", "sales", "cycle")
    made.flow("s3://lake|customers > wh.staging.customers > wh.marts.customers")
    made.flow("wh.staging.customers > wh.marts.secure_customers", job="secure")
    made.flow("s3://lake|customers > wh.tmp.view > wh.marts.churn", job="churn")
    made.flow("wh.marts.churn > wh.staging.back > s3://lake|cycle", job="back")
    made.flow("s3://lake|legacy > wh.staging.sales > wh.marts.revenue > s3://export|daily", job="sales")
    made.flow("wh.tmp.local > wh.marts.orphan", job="local")
    made.columns("s3://lake|customers.email > wh.staging.customers.email", transformation="IDENTITY")
    made.columns("s3://lake|customers.id > wh.tmp.view.id", job="churn")
    made.columns("wh.tmp.view.id > wh.marts.churn.id", job="churn")
    made.columns("wh.staging.sales.total > wh.marts.revenue.total", job="sales")
    made.columns(
        "wh.staging.customers.email > wh.marts.customers.mail",
        transformation="TRANSFORMATION",
        expression="lower(email)",
    )
    made.columns("wh.staging.customers.email > wh.marts.secure_customers.email", job="secure")
    made.columns("wh.staging.sales.email > s3://export|daily.email", job="sales")
    made.columns("wh.staging.sales.token > s3://export|daily.total", job="sales")
    _tag(made, "s3://lake|customers", "email", "pii")
    _tag(made, "wh.staging.sales", "email", "pii")
    _tag(made, "wh.staging.sales", "token", "secret")
    for mart in ("customers", "revenue", "secure_customers", "orphan"):
        _describe(made, f"wh.marts.{mart}", owners=["ann@example.com"], description="a mart")
    _describe(made, "wh.marts.churn", owners=["bob@example.com"])
    for staging in ("sales", "back"):
        _check(made, f"test_{staging}", at(f"wh.staging.{staging}"), "not_null")
    for raw in ("customers", "legacy", "sales"):
        _check(made, f"fresh_{raw}", at(f"s3://lake|{raw}"), "freshness")
    _check(made, "fresh_staging", at("wh.staging.customers"), "freshness")
    return made


def corrected() -> MadeLineage:
    """The pipeline without violations: the e-mail address is hashed, revenue reads sales, ..."""
    made = _lake("customers", "sales")
    made.flow(
        "s3://lake|customers > wh.staging.customers > wh.marts.customers > wh.tmp.view > wh.marts.churn"
    )
    made.flow("wh.staging.customers > wh.marts.secure_customers", job="secure")
    made.flow("s3://lake|sales > wh.staging.sales > wh.marts.revenue > s3://export|daily", job="sales")
    made.flow("wh.staging.sales > wh.marts.forecast", job="forecast")
    made.columns("s3://lake|customers.email > wh.staging.customers.email", transformation="IDENTITY")
    made.columns("wh.staging.customers.email > wh.marts.secure_customers.email", job="secure")
    made.columns("wh.staging.customers.id > wh.marts.customers.id")
    made.columns("wh.staging.sales.total > s3://export|daily.total", job="sales")
    _tag(made, "s3://lake|customers", "email", "pii")
    made.flow("wh.tmp.keys > wh.tmp.view", job="tokens")
    made.columns("wh.tmp.keys.token > wh.tmp.view.token", job="tokens")
    _tag(made, "wh.tmp.keys", "token", "secret")
    for mart in ("customers", "churn", "revenue", "secure_customers", "forecast"):
        _describe(made, f"wh.marts.{mart}", owners=["ann@example.com"], description="a mart")
    _describe(made, "wh.marts.forecast", contract="enforced")
    for staging in ("sales", "customers"):
        # A test of a column counts for its dataset.
        _check(made, f"test_{staging}", col(f"wh.staging.{staging}", "id"), "not_null")
    made.columns("s3://lake|sales.id > wh.staging.sales.id")
    for raw in ("customers", "sales"):
        _check(made, f"fresh_{raw}", at(f"s3://lake|{raw}"), "freshness")
    return made


def _lake(*names: str) -> MadeLineage:
    made = MadeLineage()
    for name in names:
        made.dataset(f"s3://lake|{name}", "daily", label="file", tags=[] if name == "cycle" else ["raw"])
    made.dataset("s3://export|daily", "daily", label="file")
    return made


def _describe(made: MadeLineage, name: str, **values: Any) -> None:
    made.dataset(name, "daily", **values)


def _tag(made: MadeLineage, dataset: str, column: str, tag: str) -> None:
    made.nodes[col(dataset, column)]["tags"] = [tag]


def _check(made: MadeLineage, name: str, target: str, kind: str) -> None:
    identifier = f"dev|daily|assertion|dbt|{name}"
    of_job = {"environment": "dev", "job_type": "dbt", "job_name": "dbt"}
    made.nodes[identifier] = {
        "id": identifier,
        "label": "assertion",
        "dag_name": ["daily"],
        "name": name,
        "assertion_type": kind,
        **of_job,
    }
    made.edges[f"checks-{name}"] = {
        "id": f"checks-{name}",
        "label": "checks",
        "from": identifier,
        "to": target,
        "dag_name": "daily",
        **of_job,
    }
