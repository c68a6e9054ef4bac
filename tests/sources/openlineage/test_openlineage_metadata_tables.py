"""Iceberg's metadata tables and changelog, and pseudo-columns, in the form of openlineage-spark 1.53."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest

from lineage_merge.model.elements import (
    Alias,
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Reference,
)
from lineage_merge.sources.openlineage import translator as translating
from lineage_merge.sources.openlineage.runs import combine_events
from tests.sources.openlineage.made_events import SPARK, Event, dataset, event, job_type, of_spark

SALES = "file|/data/lake/db/sales"
OUT = "file|/data/out"
SNAPSHOTS = ("committed_at", "snapshot_id", "parent_id", "operation", "manifest_list", "summary")
FILES = ("content", "file_path", "file_format", "spec_id", "record_count", "file_size_in_bytes")
PSEUDO = ("_spec_id", "_partition", "_file", "_pos", "_deleted")
CHANGE = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
FEED = ("_change_type", "_commit_version", "_commit_timestamp")

Field = Mapping[str, Any]


def table(
    columns: Iterable[str | Field], name: str = "", layer: str = "iceberg", address: str = SALES
) -> Event:
    """A dataset that is read, with its columns, and its name if it is read by name."""
    fields = [{"name": each} if isinstance(each, str) else each for each in columns]
    facets: dict[str, Any] = {"schema": {"fields": fields}}
    if layer:
        facets["storage"] = {"storageLayer": layer, "fileFormat": "parquet"}
        facets["catalog"] = {"framework": layer, "type": "hadoop", "name": "lake", "source": "spark"}
    if name:
        facets["symlinks"] = {
            "identifiers": [{"namespace": "file:/data/lake", "name": name, "type": "TABLE"}]
        }
    return dataset(address, facets)


def elements(
    source: Event, columns: Iterable[str], output: str | Event = OUT, query: str = ""
) -> list[Element]:
    """What a run gives that copies columns and filters by all of them."""
    used = [{"namespace": source["namespace"], "name": source["name"], "field": each} for each in columns]
    identity = [{"type": "DIRECT", "subtype": "IDENTITY"}]
    filtered = [{"type": "INDIRECT", "subtype": "FILTER"}]
    lineage = {
        "fields": {each["field"]: {"inputFields": [{**each, "transformations": identity}]} for each in used},
        "dataset": [{**each, "transformations": filtered} for each in used],
    }
    written = dataset(output) if isinstance(output, str) else output
    written = {**written, "facets": {**written.get("facets", {}), "columnLineage": lineage}}
    run = combine_events(
        [
            event(
                "COMPLETE",
                "06:01",
                inputs=[source],
                outputs=[written],
                run_facets=of_spark("job"),
                job_facets={**job_type("SPARK", "SQL_JOB"), "sql": {"query": query}},
                producer=SPARK,
            )
        ]
    )
    return list(translating.translate(run, translating.targets(run)[0]))


def of(kind: type, found: Iterable[Element]) -> list[Any]:
    return [each for each in found if isinstance(each, kind)]


def feeds(found: Iterable[Element]) -> set[tuple[str, object]]:
    return {(each.source.name, each.properties.get("reads")) for each in of(Feeds, found)}


def used(found: Iterable[Element]) -> set[str]:
    """Every column of a source: of edges that select it and filter by it, and by itself."""
    selected = {each.source_column for each in of(FeedsColumn, found)}
    assert selected == {each.source_column for each in of(Influences, found)}
    return selected | {each.name for each in of(Column, found) if each.ref.name != "file:/data/out"}


@pytest.mark.parametrize(
    ("name", "columns"),
    [
        ("db.sales.snapshots", SNAPSHOTS),
        ("db.sales.files", FILES),
        ("table/db/sales/files", FILES),
        # A read by path, which has no other name.
        ("", FILES),
    ],
)
def test_a_metadata_table_is_data_flow_without_columns(name: str, columns: Sequence[str]) -> None:
    found = elements(table(columns, name), columns)

    assert feeds(found) == {("file:/data/lake/db/sales", "metadata")}
    assert used(found) == set()
    names = {each.properties.get("qualified_name") for each in of(Dataset, found)} - {None}
    assert names == ({"db.sales"} if name else set())


@pytest.mark.parametrize(
    ("name", "address", "columns"),
    [
        ("db.files", "file|/data/lake/db/files", ("id", "file_path")),
        ("db.deep.files", "file|/data/lake/db/deep/files", ("id", "file_path")),
        # Stored copies of metadata tables and of a changelog.
        ("db.snapshots", "file|/data/lake/db/snapshots", SNAPSHOTS),
        ("db.audit", "file|/data/lake/db/audit", SNAPSHOTS),
        # By path.
        ("", "file|/data/lake/db/loads", ("record_count", "file_count")),
    ],
)
def test_a_table_that_is_called_or_looks_like_a_metadata_table_is_a_table(
    name: str, address: str, columns: Sequence[str]
) -> None:
    found = elements(table(columns, name, address=address), columns)

    assert feeds(found) == {(address.replace("|", ":"), None)}
    assert used(found) == set(columns)


def test_a_branch_has_the_name_of_its_table() -> None:
    found = elements(table(("id",), "db.sales.branch_audit"), ("id",))

    assert used(found) == {"id"}
    assert {each.ref for each in of(Alias, found)} == {
        Reference("file:/data/lake", "db.sales"),
        Reference("lake", "db.sales"),
    }


def test_a_changelog_is_its_table_by_name_because_its_location_is_made_up() -> None:
    source = table(("id", *CHANGE), "db.sales.changes", address=f"{SALES}/changes")
    found = elements(source, ("id", *CHANGE))

    assert {(each.source, each.properties.get("reads")) for each in of(Feeds, found)} == {
        (Reference("file:/data/lake", "db.sales"), None)
    }
    assert {(each.source.name, each.source_column) for each in of(FeedsColumn, found)} == {("db.sales", "id")}
    assert used(found) == {"id"}


def test_pseudo_columns_of_iceberg_are_no_columns() -> None:
    assert used(elements(table(("id", *PSEUDO), "db.sales"), ("id", *PSEUDO))) == {"id"}


def test_pseudo_columns_of_a_table_that_is_rewritten_are_no_columns() -> None:
    source = table(("id", "_file", "_pos"), "db.sales")
    found = elements(source, ("id", "_file"), output=source)

    assert {(each.source_column, each.target_column) for each in of(FeedsColumn, found)} == {("id", "id")}
    assert {each.source_column for each in of(Influences, found)} == {"id"}
    assert {each.name for each in of(Column, found)} == {"id"}


@pytest.mark.parametrize("layer", ["", "delta", "hudi"])
def test_other_formats_store_columns_with_such_names(layer: str) -> None:
    columns = ("id", *PSEUDO, *FEED, "_hoodie_commit_time", "_metadata")

    assert used(elements(table(columns, "db.sales", layer), columns)) == set(columns)


def test_a_change_data_feed_is_known_from_the_statement() -> None:
    source = table(("id", *FEED), "default.sales", "")
    query = "SELECT id, _change_type FROM table_changes('sales', 0)"

    assert used(elements(source, ("id", *FEED), query=query)) == {"id"}
    assert used(elements(source, ("id", *FEED), query="SELECT * FROM sales")) == {"id", *FEED}


@pytest.mark.parametrize(
    ("declared", "is_stored"),
    [
        ((), False),
        ([{"name": "_metadata", "fields": [{"name": "file_path"}, {"name": "loaded_by"}]}], True),
        (
            [
                {
                    "name": "_metadata",
                    "fields": [
                        {"name": each}
                        for each in ("file_path", "file_name", "file_size", "file_modification_time")
                    ],
                }
            ],
            False,
        ),
    ],
)
def test_the_metadata_of_a_rows_file_is_no_column(declared: Sequence[Field], is_stored: bool) -> None:
    found = elements(table(["id", *declared], layer=""), ("id", "_metadata"))

    assert used(found) == ({"id", "_metadata"} if is_stored else {"id"})
