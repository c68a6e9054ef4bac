"""Rules that map temporary locations to tables."""

from typing import Any

import pytest
import yaml

from lineage_merge.merge import dataset_resolver
from lineage_merge.merge.identity_rules import REDSHIFT_TEMPORARY
from lineage_merge.merge.record_builder import Identity
from lineage_merge.model.elements import DatasetName, Reference
from lineage_merge.orchestration.configuration import CONFIGURATION

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
UUID = "0f7d3c1e-7f9b-4f0e-9c39-5f2f1a4be611"


def made(**merge: object) -> dataset_resolver.DatasetResolver:
    settings = {
        "dag_name": "d",
        "environment": "dev",
        "dbt": [{"manifest": "manifest.json", "namespace": WAREHOUSE}],
        "merge": {"default_schemas": {WAREHOUSE: "dev.public"}, **merge},
    }
    return dataset_resolver.from_config(CONFIGURATION.parse(settings))


def identity(uri: str, application: str = "load", **merge: object) -> Identity:
    return made(**merge).resolve(Reference("", uri, application))


@pytest.mark.parametrize(
    ("uri", "table"),
    [
        (f"s3://aws-glue-assets-1-us-east-1/temporary/redshift/public.sales/{UUID}", "dev.public.sales"),
        (f"s3a://bucket/redshift/public.sales/{UUID}/", "dev.public.sales"),
        (f"s3://bucket/tmp/redshift/sales/{UUID}", "dev.public.sales"),
        (f"s3://bucket/redshift/stage.Sales/{UUID}", "dev.stage.sales"),
        (f"s3://bucket/redshift/other.stage.sales/{UUID}", "other.stage.sales"),
        ("s3://bucket/redshift/sales/0f7d3c1e7f9b4f0e9c395f2f1a4be611", "dev.public.sales"),
        (f"s3://bucket/redshift/sales/{UUID}/part-00000-{UUID}.csv", "dev.public.sales"),
        (f"s3://my-redshift-temp/loads/sales/{UUID}", "dev.public.sales"),
    ],
)
def test_a_temporary_directory_of_redshift_is_its_table(uri: str, table: str) -> None:
    found = identity(uri)
    assert found.name == DatasetName(WAREHOUSE, table)
    assert found.rule == REDSHIFT_TEMPORARY
    assert not found.stored_as_files
    assert UUID not in found.alias, "a generated id would create a new alias per run"


@pytest.mark.parametrize(
    "uri",
    [
        "s3://bucket/redshift/public.sales/2026-11-21",
        "s3://bucket/redshift/public.sales/20261121",
        "s3://bucket/redshift/public.sales/latest",
        f"s3://bucket/exports/public.sales/{UUID}",
        f"s3://bucket/redshift/{UUID}",
        f"s3://bucket/redshift-temp/{UUID}",
        f"s3://bucket/redshift/tempdir/{UUID}",
        f"file:/redshift/public.sales/{UUID}",
    ],
)
def test_other_paths_keep_their_own_name(uri: str) -> None:
    found = identity(uri)
    assert found.name is not None
    assert not found.name.namespace.startswith("redshift")
    assert found.rule == ""


def test_a_connectors_directory_is_reported_until_a_rule_names_its_application() -> None:
    uri = f"s3://bucket/redshift/tempdir/{UUID}"
    assert "add a rule" in identity(uri, "load_customers").problem
    rule = {
        "name": "connector",
        "application": "load_*",
        "dataset": f"{WAREHOUSE}|dev.public.customers",
    }

    found = identity(uri, "load_customers", rules=[rule])

    assert (found.name, found.rule) == (DatasetName(WAREHOUSE, "dev.public.customers"), "connector")
    assert identity(uri, "other_job", rules=[rule]).rule == ""
    assert identity("s3://lake/customers", "load_customers", rules=[rule]).rule == "", (
        "only generated paths of the job"
    )


def test_the_configurations_rules_come_before_the_built_in_one() -> None:
    rule = {
        "name": "archive",
        "match": r"/redshift/(?P<schema>[^./]+)\.(?P<table>[^/]+)/",
        "dataset": f"{WAREHOUSE}|archive.{{schema}}.{{table}}",
    }
    found = identity(f"s3://b/redshift/public.sales/{UUID}", rules=[rule])
    assert (found.name, found.rule) == (DatasetName(WAREHOUSE, "archive.public.sales"), "archive")


def test_without_one_warehouse_the_table_is_not_guessed() -> None:
    uri = f"s3://b/redshift/public.sales/{UUID}"
    two = {WAREHOUSE: "dev.public", "redshift://other.eu-west-1:5439": "dev.public"}

    found = identity(uri, default_schemas=two)

    assert found.name == DatasetName("s3://b", "redshift/public.sales")
    assert "several Redshift namespaces" in found.problem


@pytest.mark.parametrize("default", ["dev.public", None])
def test_without_one_warehouse_the_message_names_the_manifests_and_a_rule_that_joins(
    default: str | None,
) -> None:
    uri = f"s3://b/redshift/public.sales/{UUID}"
    other = "redshift://other.eu-west-1:5439"
    settings: dict[str, Any] = {
        "dag_name": "d",
        "environment": "dev",
        "dbt": [
            {"manifest": "a.json", "namespace": WAREHOUSE},
            {"manifest": "b.json", "namespace": other},
            {"manifest": "c.json", "namespace": other},
        ],
        "merge": {"default_schemas": dict.fromkeys((WAREHOUSE, other), default) if default else {}},
    }

    problem = dataset_resolver.from_config(CONFIGURATION.parse(settings)).resolve(Reference("", uri)).problem

    namespaces = f"{other} (dbt: b.json, c.json), {WAREHOUSE} (dbt: a.json)"
    assert f"several Redshift namespaces: {namespaces}. Fix: add to merge.rules: " in problem
    settings["merge"]["rules"] = [yaml.safe_load(problem.partition("merge.rules: ")[2])]
    joined = dataset_resolver.from_config(CONFIGURATION.parse(settings)).resolve(Reference("", uri)).name
    assert joined == DatasetName(other, "dev.public.sales" if default else "database.public.sales")


def test_without_a_default_database_the_table_is_not_guessed() -> None:
    found = identity(f"s3://b/redshift/public.sales/{UUID}", default_schemas={})
    assert found.name == DatasetName("s3://b", "redshift/public.sales")
    assert "merge.default_schemas" in found.problem


@pytest.mark.parametrize(
    "host",
    [
        "jdbc:redshift://tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev",
        "jdbc:redshift:iam://tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev",
        "jdbc:postgresql://tickit-wh.abc123xyz789.us-east-1.redshift.amazonaws.com:5439/dev",
        "jdbc:redshift:iam://tickit-wh:us-east-1/dev",
    ],
)
def test_the_spellings_of_a_redshift_host_are_one_namespace(host: str) -> None:
    assert identity(f"{host}:public.event").name == DatasetName(WAREHOUSE, "dev.public.event")


def test_a_query_over_jdbc_names_no_table_and_says_so() -> None:
    found = identity("jdbc:redshift://c.x.us-east-1.redshift.amazonaws.com:5439/dev:(select 1) t")
    assert found.name is None
    assert "query" in found.problem


def test_a_table_of_the_data_api_is_in_the_only_warehouse_of_all_sources() -> None:
    log = {"format": "redshift", "path": "history", "namespace": "redshift://other-wh.us-east-1"}
    settings: dict[str, Any] = {"dag_name": "d", "environment": "dev", "query_log": [log]}
    ref = Reference("", "redshift-data-api:dev..sales", "dag.load")
    found = dataset_resolver.from_config(CONFIGURATION.parse(settings)).resolve(ref)
    assert found.name == DatasetName("redshift://other-wh.us-east-1:5439", "dev.public.sales")
    settings["dbt"] = [{"manifest": "manifest.json", "namespace": WAREHOUSE}]
    resolver = dataset_resolver.from_config(CONFIGURATION.parse(settings))
    assert not resolver.resolves(ref)
    assert "unknown Redshift" in resolver.resolve(ref).problem
