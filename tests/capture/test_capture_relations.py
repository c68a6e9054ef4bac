"""Sources of relations of Iceberg and Delta, from what Iceberg 1.7 and Delta 3.3 answer; without Spark."""

from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.spark_capture.plan_tree import PlanNode, SparkRelation
from lineage_merge.spark_capture.session import relation_of

_CHANGE = ["_change_type", "_change_ordinal", "_commit_snapshot_id"]
_FEED = ["_change_type", "_commit_version", "_commit_timestamp"]


def java(class_name: str = "", **values: Any) -> Any:
    """An object of the JVM whose methods return these values."""
    methods = {name: lambda value=value: value for name, value in values.items()}
    return SimpleNamespace(getClass=lambda: SimpleNamespace(getSimpleName=lambda: class_name), **methods)


def option(value: Any) -> Any:
    return java(isDefined=value is not None, get=value)


def schema(*columns: str) -> Any:
    return java(json='{"fields": [%s]}' % ", ".join(f'{{"name": "{each}"}}' for each in columns))  # noqa: UP031


def node(name: str, source: Any, output: list[str]) -> PlanNode:
    return PlanNode(name, {"output": [[{"name": each}] for each in output]}, [], lambda: source)


def version_2(
    name: str, class_name: str, levels: list[str], columns: list[str], **known: str
) -> SparkRelation | None:
    """The relation of a table that is read with the columns of its schema, and `_file`."""
    stored = [java(name=column) for column in columns]
    table = java(class_name, name=name, properties=known, columns=stored)
    identifier = java(namespace=levels[:-1], name=levels[-1])
    source = java(table=table, catalog=option(java(name="lake")), identifier=option(identifier))
    return relation_of(node("DataSourceV2Relation", source, [*columns, "_file"]))


def params(identifier: str) -> dict[str, Any]:
    return {"table": {"identifier": identifier}, "pseudoColumns": ["_file"]}


@pytest.mark.parametrize(
    ("name", "levels", "identifier"),
    [
        ("lake.db.t.files", ["db", "t", "files"], "lake.db.t.files"),
        ("/lake/db/t#files", ["/lake/db", "t#files"], "/lake/db/t#files"),
    ],
)
def test_a_metadata_table_has_the_location_of_its_table(
    name: str, levels: list[str], identifier: str
) -> None:
    found = version_2(name, "SparkTable", levels, ["file_path"], location="/lake/db/t", provider="iceberg")

    assert found == SparkRelation(("/lake/db/t",), None, "iceberg", params(identifier))


def test_a_changelog_is_its_table_by_name_or_by_path() -> None:
    columns = ["id", *_CHANGE]

    by_name = version_2("lake.db.t.changes", "SparkChangelogTable", ["db", "t", "changes"], columns)
    by_path = version_2("/lake/db/t.changes", "SparkChangelogTable", ["/lake/db", "t#changes"], columns)

    assert by_name == SparkRelation((), Reference("lake", "db.t"), "iceberg", params("lake.db.t.changes"))
    assert by_path == SparkRelation(("/lake/db/t",), None, "iceberg", params("/lake/db/t.changes"))


def test_a_change_data_feed_has_columns_that_its_table_does_not_store() -> None:
    log = java(dataPath=java(toString="file:/lake/d"))
    feed = java(
        "DeltaCDFRelation",
        schema=schema("id", *_FEED),
        snapshotWithSchemaMode=java(snapshot=java(deltaLog=log)),
    )

    found = relation_of(node("LogicalRelation", java(relation=feed), ["id", *_FEED]))

    assert found == SparkRelation(("file:/lake/d",), None, "delta", {"pseudoColumns": sorted(_FEED)})
