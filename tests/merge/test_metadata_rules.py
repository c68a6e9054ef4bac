"""Tags, owners and descriptions that the configuration gives by glob."""

from typing import Any

import pytest

from lineage_merge.config import MetadataRule
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import Alias, Authority, Column, Dataset, Element, Reference
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION

SETTINGS: dict[str, Any] = {
    "dag_name": "d",
    "environment": "dev",
    "dbt": [{"manifest": "m.json", "namespace": "redshift://wh:5439"}],
}
TABLE = Reference("redshift://wh:5439", "dev.crm.customers")
FILES = Reference("s3://lake-pii", "customers")
OTHER = Reference("s3://lake", "orders")
ELEMENTS: list[Element] = [
    Dataset(TABLE, Authority.BUILDER, "table", {"description": "of the CRM"}, {"tags": ("core",)}),
    Column(TABLE, "Email", Authority.BUILDER),
    Column(TABLE, "id", Authority.BUILDER),
    Dataset(FILES, Authority.BUILDER, "file"),
    Column(FILES, "email", Authority.BUILDER),
    # The table that is stored in these files.
    Dataset(OTHER, Authority.CATALOG, "table", {"qualified_name": "shop.orders", "name": "orders"}),
    Column(OTHER, "note", Authority.CATALOG),
    Alias(Reference("hive://h:9083", "shop.orders"), OTHER, "catalog-table"),
]


def found(metadata: dict[str, Any] | None) -> set[tuple[str, str, str]]:
    """(dataset or column, property, value) of tags, owners and descriptions."""
    settings = SETTINGS if metadata is None else {**SETTINGS, "metadata": metadata}
    config = CONFIGURATION.parse(settings)
    made = join.merge_locally(from_config(config).records(ELEMENTS), "dev", "d", config.metadata)
    return {
        (row["id"].split("|", 2)[2], name, value)
        for row in made.nodes
        for name in ("tags", "owners", "description")
        for value in ([row[name]] if isinstance(row.get(name), str) else row.get(name, ()))
    }


OF_SOURCES = {
    ("dev.crm.customers", "tags", "core"),
    ("dev.crm.customers", "description", "of the CRM"),
}


@pytest.mark.parametrize(
    ("rules", "expected"),
    [
        ({}, set()),
        (
            {"s3://*-pii/*": {"tags": ["pii"], "owner": "privacy@example.com"}},
            {("customers", "tags", "pii"), ("customers", "owners", "privacy@example.com")},
        ),
        (
            {"*.customers#email": {"tags": "pii"}},
            {("dev.crm.customers|email", "tags", "pii")},
        ),
        (
            {"*customers#*mail": {"tags": "pii", "owner": ["a", "b"]}, "*#ID": {"tags": "key"}},
            {
                ("dev.crm.customers|email", "tags", "pii"),
                ("dev.crm.customers|email", "owners", "a"),
                ("dev.crm.customers|email", "owners", "b"),
                ("customers|email", "tags", "pii"),
                ("customers|email", "owners", "a"),
                ("customers|email", "owners", "b"),
                ("dev.crm.customers|id", "tags", "key"),
            },
        ),
        # A table stored in files is found by its qualified name, and so are its columns.
        (
            {"shop.*": {"owner": "shop@example.com"}, "shop.orders#note": {"tags": "free-text"}},
            {("orders", "owners", "shop@example.com"), ("orders|note", "tags", "free-text")},
        ),
        ({"redshift://wh:5439|dev.crm.*": {"tags": "crm"}}, {("dev.crm.customers", "tags", "crm")}),
        # Descriptions of sources stay.
        ({"*": {"description": "?"}}, {("customers", "description", "?"), ("orders", "description", "?")}),
        ({"nothing*": {"tags": "x"}}, set()),
    ],
)
def test_globs_give_tags_owners_and_descriptions(
    rules: dict[str, Any], expected: set[tuple[str, str, str]]
) -> None:
    assert found(rules) == OF_SOURCES | expected


@pytest.mark.parametrize(("rules", "known"), [(None, False), ((), True), ((MetadataRule("a", "b"),), True)])
def test_rules_make_tags_and_owners_complete(rules: tuple[MetadataRule, ...] | None, known: bool) -> None:
    names = from_config(CONFIGURATION.parse(SETTINGS))
    rows = join.merge_locally(names.records(ELEMENTS), "dev", "d", rules).nodes
    assert {"owners" in row for row in rows} == {known}


@pytest.mark.parametrize("key", ["#email", "s3://b/*#"])
def test_a_rule_needs_a_dataset_and_a_column(key: str) -> None:
    with pytest.raises(ConfigError, match="expected a glob on datasets, or dataset#column"):
        CONFIGURATION.parse({**SETTINGS, "metadata": {key: {"tags": ["x"]}}})


@pytest.mark.parametrize("rule", [{}, {"tag": ["x"]}, {"tags": []}, {"owner": ""}])
def test_a_rule_without_effect_is_an_error(rule: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        CONFIGURATION.parse({**SETTINGS, "metadata": {"*": rule}})
