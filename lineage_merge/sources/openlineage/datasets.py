"""Translation of one dataset of an event, and the table behind it. Pure.

openlineage-spark gives a metadata table of Iceberg the location of its table, and pseudo-columns as columns.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge import naming
from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.data_types import array_of, map_of, sql_name, struct_of
from lineage_merge.column_lineage.table_parts import TablePart, has_metadata_columns, part_of_name
from lineage_merge.graph_format.schema import TABLE_FORMATS
from lineage_merge.model.elements import (
    FIELD,
    Alias,
    Authority,
    Column,
    Dataset,
    DatasetLabel,
    Element,
    FeedsColumn,
    Influences,
    Reference,
    Scalar,
)
from lineage_merge.model.errors import NamingError
from lineage_merge.naming.address import trim
from lineage_merge.naming.jobs import CATALOG_RULE, SESSION_CATALOG
from lineage_merge.sources.openlineage.documents import Document, sets_of, tags_of_columns

ICEBERG = "iceberg"
_CHANGES = "/changes"


@dataclass(frozen=True, slots=True)
class StoredTable:
    """A dataset of an event as the table at `ref`, of which the event reads a `part`.

    `names` are its identifiers without the name of the part.
    """

    ref: Reference
    part: TablePart | None = None
    pseudo: frozenset[str] = frozenset()
    names: tuple[Mapping[str, Any], ...] = ()

    def stores(self, column: str) -> bool:
        """Return whether a column of the event is one of the table."""
        names = column.lower().split(FIELD)
        return self.part != "metadata" and self.pseudo.isdisjoint((names[0], ".".join(names)))


def schema_fields(dataset: Document) -> Sequence[Mapping[str, Any]]:
    """Return the fields of a dataset's schema, none if the event has no schema of it."""
    return ((dataset.get("facets") or {}).get("schema") or {}).get("fields") or ()


def find_stored_table(
    dataset: Document, ref: Reference, query: str = "", *, of_spark: bool = False
) -> StoredTable:
    """Return the table behind a dataset of an event; `query` is the SQL of the event."""
    facets: Mapping[str, Any] = dataset.get("facets") or {}
    fields = schema_fields(dataset)
    columns = [str(field["name"]) for field in fields]
    identifiers = tuple((facets.get("symlinks") or {}).get("identifiers") or ())
    pseudo = _find_file_metadata(fields) if of_spark else frozenset()
    if str((facets.get("storage") or {}).get("storageLayer") or "").lower() != ICEBERG:
        if "table_changes" in query.lower() and set(columns).issuperset(pseudo_columns.DELTA_CHANGE):
            pseudo = pseudo.union(pseudo_columns.DELTA_CHANGE)
        return StoredTable(ref, None, pseudo, identifiers)
    pseudo |= pseudo_columns.ICEBERG
    if ref.namespace and (own := part_of_name(ref.name.split("."), columns)):
        # S3 Tables name a table with its catalog, and have no path.
        added = pseudo_columns.ICEBERG_CHANGE if own == "changes" else frozenset()
        table = Reference(ref.namespace, _cut_level(ref.name))
        return StoredTable(table, own, pseudo.union(added), identifiers)
    parts = {identifier["name"]: _part(identifier["name"], columns, ref.name) for identifier in identifiers}
    part = next((part for part in parts.values() if part), None)
    # A read by path has no other name.
    if not identifiers and has_metadata_columns(columns):
        part = "metadata"
    names = tuple(
        {**identifier, "name": _cut_level(identifier["name"])} if parts[identifier["name"]] else identifier
        for identifier in identifiers
    )
    if part == "changes":
        # Its location is made up from its name: only the name leads to the table.
        named = next(iter(names))
        return StoredTable(
            Reference(named["namespace"], named["name"]), part, pseudo.union(pseudo_columns.ICEBERG_CHANGE)
        )
    return StoredTable(ref, part, pseudo, names)


def yield_stored_edges(
    elements: Iterator[Element], tables: Mapping[Reference, StoredTable]
) -> Iterator[Element]:
    """Yield the edges between columns that the tables store."""
    for element in elements:
        if not isinstance(element, FeedsColumn | Influences):
            yield element
            continue
        source, target = tables.get(element.source), tables.get(element.target)
        if source and not source.stores(element.source_column):
            continue
        if target and isinstance(element, FeedsColumn) and not target.stores(element.target_column):
            continue
        yield element._replace(source=source.ref) if source else element


def _part(name: str, columns: list[str], location: str) -> TablePart | None:
    """Return what a table's name without its catalog refers to."""
    levels = name.removeprefix("table/").replace("/", ".").split(".")
    if len(levels) > 2:  # the changelog's location is its name as a path
        location = location.removesuffix(_CHANGES)
    return part_of_name(["", *levels], columns, location)


def _cut_level(name: str) -> str:
    return name[: max(name.rfind("."), name.rfind("/"))]


def _find_file_metadata(fields: Any) -> frozenset[str]:
    """Return the name of Spark's structure of a row's file, which an event may use without declaring it."""
    declared = {str(field["name"]) for field in fields}
    if fields and pseudo_columns.FILE_METADATA not in declared:
        return frozenset({pseudo_columns.FILE_METADATA})
    # A stored copy looks the same.
    return frozenset(
        str(field["name"])
        for field in fields[-1:]
        if pseudo_columns.is_file_metadata(
            field["name"], (str(of["name"]) for of in field.get("fields") or ())
        )
    )


# Name of the rule on vertices and in reports: an event has two names of one dataset.
SYMLINK_RULE = "openlineage-symlink"

_LABELS: Mapping[str, DatasetLabel] = {
    "FILE": "file",
    "TABLE": "table",
    "VIEW": "view",
    "TOPIC": "topic",
    "STREAM": "topic",
}


def reference(namespace: str, name: str, application: str = "") -> Reference:
    """Return the reference of a dataset for the merge.

    A path is given as its whole URI, because rules match the raw text, such as the one for Redshift's
    temporary directories. So is a name that a producer has put under a JDBC URL.
    """
    if not namespace.strip():
        return Reference("", name, application)
    if namespace.lower().startswith("jdbc:"):
        return Reference("", f"{namespace}:{name}", application)
    if namespace == naming.REDSHIFT_DATA_API:
        return Reference("", namespace + name, application)
    uri = naming.path_uri(namespace, name)
    return Reference("", uri, application) if uri else Reference(namespace, name)


def dataset_elements(
    dataset: Mapping[str, Any], table: StoredTable, authority: Authority, *, of_spark: bool = False
) -> Iterator[Element]:
    """Yield the dataset, its columns and its other names."""
    facets: Mapping[str, Any] = dataset.get("facets") or {}
    ref = table.ref
    yield Dataset(ref, authority, _label(facets), _properties(facets), sets_of(facets))
    for column in _columns(facets, ref, authority, of_spark=of_spark):
        if table.stores(column.name):
            yield column
    for name, tags in tags_of_columns(facets).items():
        yield Column(ref, name, authority, sets={"tags": tags})
    yield from _other_names(table.names, facets, ref)


def _label(facets: Mapping[str, Any]) -> DatasetLabel | None:
    dataset_type = str((facets.get("datasetType") or {}).get("datasetType") or "").strip().upper()
    return _LABELS.get(dataset_type)


def _properties(facets: Mapping[str, Any]) -> dict[str, Scalar]:
    description = str((facets.get("documentation") or {}).get("description") or "").strip()
    storage = facets.get("storage") or {}
    layer = str(storage.get("storageLayer") or "").lower()
    data_format = layer if layer in TABLE_FORMATS else str(storage.get("fileFormat") or "").lower()
    known: dict[str, Scalar] = {"description": description, "format": data_format}
    return {name: value for name, value in known.items() if value}


def _columns(
    facets: Mapping[str, Any], ref: Reference, authority: Authority, *, of_spark: bool
) -> Iterator[Column[Reference]]:
    for index, field in enumerate((facets.get("schema") or {}).get("fields") or ()):
        given = field.get("ordinal_position")
        position = int(given) - 1 if given and given >= 1 else index
        description = str(field.get("description") or "").strip()
        texts = {"data_type": type_text(field, of_spark=of_spark), "description": description}
        known = {name: text for name, text in texts.items() if text}
        yield Column(ref, field["name"], authority, {"position": position, **known})


def _other_names(
    identifiers: Iterable[Mapping[str, Any]], facets: Mapping[str, Any], ref: Reference
) -> Iterator[Element]:
    """Yield aliases: a catalog table is its path; with two table names, consumers may use either."""
    catalog: Mapping[str, Any] = facets.get("catalog") or {}
    for identifier in identifiers:
        other = _symlink_reference(identifier, ref.application)
        if other == ref:
            continue
        if _is_path(ref) != _is_path(other):
            path, table = (ref, other) if _is_path(ref) else (other, ref)
            name = _table_name(table)
            yield from _table_of_path(path, name)
            yield Alias(table, path, CATALOG_RULE)
            known_as = spark_catalog(catalog) or _session_catalog(table, path)
            if known_as and "." in name:
                yield Alias(Reference(known_as, name), path, CATALOG_RULE)
        elif not (_is_stored_in_files(ref) and _is_stored_in_files(other)):
            yield Alias(other, ref, SYMLINK_RULE)


def _symlink_reference(identifier: Mapping[str, Any], application: str) -> Reference:
    """Return the reference of another name.

    A table named below its warehouse (``s3://lake``, ``bigdata.sales``) is no path, other than what Airflow's
    operator of Athena calls a table: its location (``s3://lake``, ``/bigdata/sales``).
    """
    namespace, name = identifier["namespace"], identifier["name"]
    is_table = str(identifier.get("type") or "").upper() == "TABLE" and bool(namespace.strip())
    is_table = is_table and not name.startswith("/")
    return Reference(namespace, name) if is_table else reference(namespace, name, application)


def _table_of_path(path: Reference, table: str) -> Iterator[Element]:
    names: dict[str, Scalar] = {"qualified_name": table, "name": table.rpartition(".")[2]}
    yield Dataset(path, Authority.BUILDER, "table", names)


def spark_catalog(catalog: Mapping[str, Any]) -> str:
    """Return Spark's name of the catalog, "" if the event has none.

    openlineage-spark calls Spark's session catalog ``default`` of the framework ``hive``.
    """
    if str(catalog.get("source") or "").lower() != "spark":
        return ""
    name = str(catalog.get("name") or "")
    is_session = str(catalog.get("framework") or "").lower() == "hive" and name in ("", "default")
    return SESSION_CATALOG if is_session else name


def _session_catalog(table: Reference, path: Reference) -> str:
    """Return Spark's session catalog if the path is the default one of a table.

    Not every event has the catalog facet. Other catalogs of a warehouse have no folder ``bigdata.db``.
    """
    database, _, name = table.name.partition(".")
    folder = name if database == "default" else f"{database}.db/{name}"
    return SESSION_CATALOG if path.name == f"{trim(table.namespace)}/{folder}" else ""


def _table_name(table: Reference) -> str:
    """Return ``bigdata.sales``, also Glue's ``table/bigdata/sales``, S3 Tables' without catalog."""
    if table.namespace.lower().split(":")[2:3] == ["s3tables"]:
        return naming.name_dataset(table.namespace, table.name).name.name
    glue = table.name.removeprefix("table/")
    return table.name if glue == table.name else glue.replace("/", ".")


def _is_path(ref: Reference) -> bool:
    return not ref.namespace and not ref.name.lower().startswith("jdbc:")


def _is_stored_in_files(ref: Reference) -> bool:
    try:
        return bool(ref.namespace) and naming.name_dataset(ref.namespace, ref.name).stored_as_files
    except NamingError:
        return False


_MAX_DEPTH = 50


def type_text(field: Mapping[str, Any], *, of_spark: bool, depth: int = 0) -> str:
    """Return the type of a field of the facet, "" without one."""
    kind = str(field.get("type") or "").strip()
    inner: Sequence[Mapping[str, Any]] = field.get("fields") or ()
    if of_spark:
        kind = sql_name(kind)  # openlineage-spark uses the names of Spark's classes
    if not inner or depth > _MAX_DEPTH:
        return kind
    texts = [
        (inner_field["name"], type_text(inner_field, of_spark=of_spark, depth=depth + 1))
        for inner_field in inner
    ]
    match kind.lower():
        case "array" if len(texts) == 1:
            return array_of(texts[0][1])
        case "map" if len(texts) == 2:
            return map_of(texts[0][1], texts[1][1])
        case "struct":
            return struct_of(texts)
    return kind
