"""From ArangoDB and S3 to the graph: real documents in, hand-written truths out."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests import expected
from tests.arango_fixtures import ArangoServer
from tests.expected import WAREHOUSE, Edge
from tests.graph_reading import edges_of, labels_of, whole
from tests.s3_fixtures import S3

pytestmark = pytest.mark.jvm

DAG = "tickit_daily"


@pytest.fixture
def arango_settings(
    arango: ArangoServer, data: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], dict[str, Any]]:
    """Puts an application's documents into ArangoDB and returns the settings to read them."""
    monkeypatch.setenv("TEST_ARANGO_PASSWORD", arango.password)

    def settings(application: str) -> dict[str, Any]:
        return {
            "hosts": arango.url,
            "database": arango.database(application, data / "spline" / application),
            "username": arango.username,
            "password_env": "TEST_ARANGO_PASSWORD",
        }

    return settings


@pytest.mark.parametrize(
    ("application", "truth"),
    [
        ("tickit_sales_ingest", expected.tickit_sales_ingest),
        ("tickit_sales_load", expected.tickit_sales_load_alone),
        ("seed_queries", expected.seed_queries),
        ("tpch", expected.tpch),
    ],
)
def test_an_application_in_arangodb_becomes_what_its_job_did(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    arango_settings: Callable[[str], dict[str, Any]],
    application: str,
    truth: Callable[[str], set[Edge]],
) -> None:
    settings = {
        "dag_name": DAG,
        "environment": "dev",
        "spline": {"arango": arango_settings(application)},
        "gremlin": {"endpoint": gremlin_url},
    }

    outcome = pipeline.run(spark, CONFIGURATION.parse(settings))

    assert edges_of(gremlin) == expected.ids(truth(DAG), "dev")
    assert not outcome.report.select_kind("rejected")


def test_a_dbt_project_in_s3_becomes_its_models(
    spark: SparkSession, gremlin: GraphTraversalSource, gremlin_url: str, s3: S3, data: Path
) -> None:
    manifest = s3.put("artifacts", "tickit/manifest.json", data / "dbt/redshift_v12/manifest.json")
    settings = {
        "dag_name": DAG,
        "environment": "dev",
        "dbt": [{"manifest": manifest, "namespace": WAREHOUSE}],
        "gremlin": {"endpoint": gremlin_url},
    }

    pipeline.run(spark, CONFIGURATION.parse(settings))

    assert edges_of(gremlin) == expected.ids(expected.dbt(DAG), "dev")
    labels = labels_of(gremlin)
    tables = {
        identifier.rpartition("|dev.")[2]: label
        for identifier, label in labels.items()
        if WAREHOUSE in identifier and label != "column"
    }
    assert tables == {
        "public.sales": "table",
        "public.event": "table",
        "public.date": "table",
        "public.users": "table",
        "tickit_staging.stg_sales": "view",
        "tickit_staging.stg_event": "view",
        "tickit_staging.stg_date": "view",
        "tickit_staging.stg_users": "view",
        "tickit_marts.fct_sales": "table",
        "tickit_marts.top_events_by_sales": "table",
        "tickit_marts.dim_people": "table",
        "snapshots.users_snapshot": "snapshot",
        "tickit_ref.category_map": "seed",
    }


def test_spark_and_dbt_meet_in_redshift(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    arango_settings: Callable[[str], dict[str, Any]],
    s3: S3,
    data: Path,
) -> None:
    manifest = s3.put("artifacts", "tickit/manifest.json", data / "dbt/redshift_v12/manifest.json")
    common = {
        "dag_name": DAG,
        "environment": "dev",
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}},
        "gremlin": {"endpoint": gremlin_url},
    }
    # Each application was captured as a database of its own.
    ingest = {**common, "spline": {"arango": arango_settings("tickit_sales_ingest")}}
    rest = {
        **common,
        "spline": {"arango": arango_settings("tickit_sales_load")},
        "dbt": [{"manifest": manifest, "namespace": WAREHOUSE}],
    }

    pipeline.run(spark, CONFIGURATION.parse(ingest))
    outcome = pipeline.run(spark, CONFIGURATION.parse(rest))

    truth = expected.tickit_sales_ingest(DAG) | expected.tickit_sales_load(DAG) | expected.dbt(DAG)
    assert edges_of(gremlin) == expected.ids(truth, "dev")
    sales = gremlin.V(f"dev|{WAREHOUSE}|dev.public.sales").value_map(True).next()
    assert sales["aliases"] == [
        (
            "s3://aws-glue-assets-111122223333-us-east-1|temporary/redshift/public.sales"
            " (redshift-temporary-directory)"
        )
    ]
    assert "format" not in sales, "the temporary file's format is not the table's"
    assert {joined.rule: joined.datasets for joined in outcome.report.joined} == {
        "redshift-temporary-directory": 1,
        "same-name": 2,
    }
    without_producer = {problem.document for problem in outcome.report.select_kind("no-producer")}
    assert without_producer == {f"dev|{WAREHOUSE}|dev.public.date", f"dev|{WAREHOUSE}|dev.public.users"}


def test_exported_folders_give_the_graph_of_the_database(
    spark: SparkSession,
    gremlin: GraphTraversalSource,
    gremlin_url: str,
    arango_settings: Callable[[str], dict[str, Any]],
    data: Path,
) -> None:
    common = {"dag_name": DAG, "environment": "dev", "gremlin": {"endpoint": gremlin_url}}
    pipeline.run(
        spark, CONFIGURATION.parse({**common, "spline": {"arango": arango_settings("seed_queries")}})
    )
    from_database = whole(gremlin)
    gremlin.V().drop().to_list()

    export = str(data / "spline" / "seed_queries")
    pipeline.run(spark, CONFIGURATION.parse({**common, "spline": {"export": export}}))

    assert whole(gremlin) == from_database
