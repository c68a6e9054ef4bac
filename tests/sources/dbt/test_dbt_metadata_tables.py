"""Metadata tables and changes of tables in the SQL of dbt models."""

import json

import pytest

from lineage_merge.model.elements import Element, Feeds, FeedsColumn, Influences
from lineage_merge.sources.dbt.column_elements import column_elements
from lineage_merge.sources.dbt.columns import column_lineage
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.translator import dataset_references, translate
from tests.dbt_column_project import Project

HOST = "spark://wh"


def elements(sql: str, *parents: str, adapter: str = "spark") -> list[Element]:
    """What a model gives that reads a source `db.raw.t` with the column `a`."""
    project = Project(adapter).source("t", "a").model("m", sql, *parents)
    document = {"metadata": project.metadata, "nodes": project.nodes, "sources": project.sources}
    manifest, rejected = read_manifest("manifest.json", json.dumps(document), with_columns=True)
    assert rejected == []
    references = dataset_references(manifest, HOST)
    lineage = column_lineage(manifest, project.catalog)
    metadata_only = {unique_id: found.metadata_only for unique_id, found in lineage.items()}
    return [
        *translate(manifest, HOST, "manifest.json", metadata_only=metadata_only),
        *column_elements(manifest, references, lineage, HOST, "manifest.json"),
    ]


def feeds(found: list[Element]) -> set[tuple[str, object, object]]:
    """(source, what is read, undeclared)."""
    return {
        (each.source.name, each.properties.get("reads"), each.properties.get("undeclared"))
        for each in found
        if isinstance(each, Feeds)
    }


def used(found: list[Element]) -> set[tuple[str, str]]:
    edges = [each for each in found if isinstance(each, FeedsColumn | Influences)]
    return {(each.source.name, each.source_column) for each in edges}


@pytest.mark.parametrize(
    ("sql", "adapter"),
    [
        ("select snapshot_id from db.raw.t.snapshots where operation = 'append'", "spark"),
        ("select file_path from raw.t.files", "spark"),
        ('select file_path from db.raw."t$files"', "trino"),
    ],
)
def test_a_model_of_a_metadata_table_reads_no_rows_of_its_source(sql: str, adapter: str) -> None:
    found = elements(sql, "source.raw.t", adapter=adapter)

    assert feeds(found) == {("db.raw.t", "metadata", None)}
    assert used(found) == set()


def test_rows_of_a_source_count_beside_its_metadata() -> None:
    found = elements("select a, operation from db.raw.t, db.raw.t.snapshots", "source.raw.t")

    assert feeds(found) == {("db.raw.t", None, None)}
    assert used(found) == {("db.raw.t", "a")}


def test_changes_of_a_source_have_its_columns() -> None:
    found = elements("select a, _change_type from table_changes('db.raw.t', 0)", "source.raw.t")

    assert feeds(found) == {("db.raw.t", None, None)}
    assert used(found) == {("db.raw.t", "a")}


def test_a_metadata_table_of_a_table_that_the_manifest_does_not_have_is_undeclared() -> None:
    found = elements("select snapshot_id from db.other.o.snapshots")

    assert feeds(found) == {("db.other.o", "metadata", "true")}
    assert used(found) == set()
