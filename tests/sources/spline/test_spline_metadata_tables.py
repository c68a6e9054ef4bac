"""Iceberg's metadata tables and changelog, and pseudo-columns, in the form of Spline's agent 2.2.0."""

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
    dot_path,
)
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.documents import Plan
from lineage_merge.sources.spline.translator import translate

LOCATION = "file:/data/lake/db/sales"
SNAPSHOTS = ("committed_at", "snapshot_id", "parent_id", "operation", "manifest_list", "summary")
FILES = ("content", "file_path", "file_format", "spec_id", "record_count", "file_size_in_bytes")
FILE_FIELDS = ("file_path", "file_name", "file_size", "file_block_start", "file_modification_time")

_PLAN = "8f1ca2ab-60d8-5a86-91ff-7cdb01c5e0c0"

Document = dict[str, Any]


def read(
    columns: Iterable[str],
    identifier: Any = "lake.db.sales",
    data_format: str = "iceberg",
    uri: str = LOCATION,
) -> Document:
    """A read operation whose attributes are named like its columns."""
    params = {"table": {"identifier": identifier}} if identifier else {}
    return {
        "inputSources": [uri],
        "name": "DataSourceV2Relation",
        "output": list(columns),
        "params": params,
        "extra": {"sourceType": data_format},
    }


def elements(
    *reads: Document,
    filtered_by: str = "",
    subquery: str = "",
    types: Mapping[str, Document] | None = None,
) -> list[Element]:
    """What a plan gives that writes all attributes of its reads as they are."""
    reads = tuple({**each, "id": f"read-{number}"} for number, each in enumerate(reads))
    output = [name for each in reads for name in each["output"]]
    children = [each["id"] for each in reads]
    others: list[Document] = [
        {"id": "join", "name": "Join", "childIds": children, "output": output, "params": {}}
    ]
    functions: list[Document] = []
    if filtered_by or subquery:
        condition = {"__attrId": filtered_by} if filtered_by else {"__exprId": "subquery"}
        others.append(
            {"id": "filter", "name": "Filter", "childIds": ["join"], "params": {"condition": condition}}
        )
    if subquery:
        extra = {"simpleClassName": "ScalarSubquery", "_typeHint": "expr.Generic"}
        functions.append(
            {"id": "subquery", "name": "scalarsubquery", "params": {"plan": subquery}, "extra": extra}
        )
    made = {
        "id": _PLAN,
        "name": "job",
        "operations": {
            "write": {
                "id": "write",
                "name": "InsertIntoHadoopFsRelationCommand",
                "outputSource": "file:/data/out/copy",
                "append": False,
                "childIds": [others[-1]["id"]],
            },
            "reads": list(reads),
            "other": others,
        },
        "attributes": [{"id": name, "name": name, "dataType": name} for name in output],
        "expressions": {"functions": functions, "constants": []},
        "extraInfo": {
            "dataTypes": [{"id": name, **each} for name, each in (types or {}).items()],
        },
    }
    parts = {collection: tuple(found) for collection, found in documents(made).items()}
    return list(translate(Plan(_PLAN, parts["executionPlan"][0], parts)))


def of(kind: type, found: Iterable[Element]) -> list[Any]:
    return [each for each in found if isinstance(each, kind)]


def feeds(found: Iterable[Element]) -> set[tuple[str, object]]:
    """(source, what is read of it) of each data flow."""
    return {(each.source.name, each.properties.get("reads")) for each in of(Feeds, found)}


def used(found: Iterable[Element]) -> set[str]:
    """Every column of a source, by an edge or by itself."""
    edges = {dot_path(each.source_column) for each in found if isinstance(each, FeedsColumn | Influences)}
    return edges | {each.name for each in found if isinstance(each, Column) and "out" not in each.ref.name}


@pytest.mark.parametrize(
    ("identifier", "columns"),
    [
        ("lake.db.sales.snapshots", SNAPSHOTS),
        ("lake.db.sales.files", FILES),
        ("spark_catalog.db.sales.all_data_files", FILES),
        ("lake.eu.db.sales.SNAPSHOTS", SNAPSHOTS),
        # A table of a catalog without namespaces.
        ("lake.sales.snapshots", SNAPSHOTS),
        ("/data/lake/db/sales#snapshots", SNAPSHOTS),
        ("/data/lake/db/sales#files", FILES),
        # The columns of the read are unknown.
        ("lake.db.sales.refs", ()),
    ],
)
def test_a_metadata_table_is_data_flow_without_columns(identifier: str, columns: Sequence[str]) -> None:
    found = elements(read(columns, identifier), filtered_by=next(iter(columns), ""))

    assert feeds(found) == {(LOCATION, "metadata")}
    assert used(found) == set()
    assert "unavailable" not in {
        each.properties.get("column_lineage") for each in found if isinstance(each, Feeds)
    }


@pytest.mark.parametrize(
    ("identifier", "uri", "columns"),
    [
        ("lake.db.files", "file:/data/lake/db/files", ("id", "file_path")),
        ("lake.db.deep.files", "file:/data/lake/db/deep/files", ("id", "file_path")),
        ("lake.db.deep.files", "s3://elsewhere/1", ("id", "file_path")),
        # A stored copy of a metadata table.
        ("lake.db.snapshots", "file:/data/lake/db/snapshots", SNAPSHOTS),
    ],
)
def test_a_table_that_is_called_like_a_metadata_table_is_a_table(
    identifier: str, uri: str, columns: Sequence[str]
) -> None:
    found = elements(read(columns, identifier, uri=uri))

    assert feeds(found) == {(uri, None)}
    assert used(found) == set(columns)


@pytest.mark.parametrize("part", ["snapshots", "branch_audit", "tag_v1", "snapshot_id_7", "at_timestamp_7"])
def test_what_is_below_a_table_has_the_name_of_the_table(part: str) -> None:
    found = elements(read(SNAPSHOTS, f"lake.db.sales.{part}"))

    aliases = {(each.ref.namespace, each.ref.name, each.of.name) for each in of(Alias, found)}
    assert aliases == {("lake", "db.sales", LOCATION)}
    names = {each.properties.get("qualified_name") for each in of(Dataset, found)}
    assert names == {None, "db.sales"}


def test_rows_of_a_table_count_beside_its_metadata() -> None:
    found = elements(read(("id", "amount")), read(SNAPSHOTS, "lake.db.sales.snapshots"))

    assert feeds(found) == {(LOCATION, None)}
    assert used(found) == {"id", "amount"}


def test_a_changelog_has_the_columns_of_its_table() -> None:
    added = ("_change_type", "_change_ordinal", "_commit_snapshot_id")
    found = elements(read(("id", *added), "lake.db.sales.changes"), filtered_by="_change_type")

    assert feeds(found) == {(LOCATION, None)}
    assert used(found) == {"id"}


def test_pseudo_columns_of_iceberg_are_no_columns() -> None:
    pseudo = ("_spec_id", "_partition", "_file", "_pos", "_deleted", "_row_id")
    found = elements(read(("id", *pseudo)), filtered_by="_pos")

    assert feeds(found) == {(LOCATION, None)}
    assert used(found) == {"id"}
    written = {each.name for each in found if isinstance(each, Column) and "out" in each.ref.name}
    assert written == {"id", *pseudo}


@pytest.mark.parametrize("data_format", ["json", "delta", "parquet", "hudi"])
def test_other_formats_store_columns_with_such_names(data_format: str) -> None:
    columns = ("id", "_file", "_pos", "_change_type", "_hoodie_commit_time", "_metadata")

    assert used(elements(read(columns, "", data_format))) == set(columns)


@pytest.mark.parametrize(
    ("fields", "nullable", "is_stored"),
    [
        (FILE_FIELDS, False, False),
        (FILE_FIELDS, True, True),
        # Spark 3.3 has four fields, and declares the structure as nullable.
        (("file_path", "file_name", "file_size", "file_modification_time"), True, False),
        (("file_path", "loaded_by"), False, True),
    ],
)
def test_the_metadata_of_a_rows_file_is_no_column_but_a_stored_copy_is(
    fields: Sequence[str], nullable: bool, is_stored: bool
) -> None:
    structure = {
        "_typeHint": "dt.Struct",
        "nullable": nullable,
        "fields": [{"name": each, "dataTypeId": "text"} for each in fields],
    }
    found = elements(read(("id", "_metadata"), "", "parquet"), types={"_metadata": structure})

    assert used(found) == ({"id", "_metadata"} if is_stored else {"id"})


def relation(table: str, *columns: str) -> str:
    """A relation of DataSource V2 in a plan's text."""
    return f"RelationV2[{', '.join(columns)}] {table} {table}"


_SNAPSHOTS = [f"{name}#{number}" for number, name in enumerate(SNAPSHOTS)]
_PSEUDO = ["_spec_id#2", "_partition#3", "_file#4", "_pos#5L", "_deleted#6"]
_WIDE = [f"c{number}#{number}" for number in range(24)]
_FILES = "Relation spark_catalog.db.t[id#1,_metadata#2] parquet"


@pytest.mark.parametrize(
    ("value", "leaf", "source", "columns"),
    [
        ("snapshot_id#1", relation("lake.db.t.snapshots", *_SNAPSHOTS), ("db.t", "metadata"), ()),
        ("id#1", relation("lake.a.b.files", "id#1"), ("a.b.files", None), ("id",)),
        ("(_pos#5L + id#1)", relation("lake.db.t", "id#1", *_PSEUDO), ("db.t", None), ("id",)),
        # Not Iceberg, which would have more pseudo-columns.
        ("_pos#5L", relation("jdbc.db.t", "id#1", "_pos#5L"), ("db.t", None), ("id", "_pos")),
        (
            "_pos#30L",
            relation("lake.db.t", *_WIDE, "... 8 more fields"),
            ("db.t", None),
            [each.partition("#")[0] for each in _WIDE],
        ),
        ("_metadata#2.file_size", _FILES, ("db.t", None), ("id",)),
        ("_metadata#2.loaded_by", _FILES, ("db.t", None), ("id", "_metadata", "_metadata.loaded_by")),
    ],
)
def test_the_text_of_a_subquery_has_the_same_rules(
    value: str, leaf: str, source: tuple[str, str | None], columns: Iterable[str]
) -> None:
    text = f"Aggregate [max({value}) AS m#99L]\n+- {leaf}\n"
    found = elements(read(("own",), "", "parquet", "file:/data/raw"), subquery=text)

    assert feeds(found) == {("file:/data/raw", None), source}
    assert used(found) == {"own", *columns}
