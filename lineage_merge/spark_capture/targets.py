"""Targets of a write: a path, a catalog table, or not yet defined."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.model.elements import Reference
from lineage_merge.naming.jobs import SESSION_CATALOG
from lineage_merge.spark_capture.row_operations import RowOperationMode
from lineage_merge.spark_capture.session import JvmSession

# Placeholders for a DataFrame without a target, and for temporary views.
DATAFRAME = "dataframe"


@dataclass(frozen=True, slots=True)
class WriteTarget:
    """A dataset to write: its address, or without one the `table`; `params` are a write's.

    `columns` are the target's names if they differ from the query's; a `row_operation` changes single rows.
    """

    uri: str = ""
    table: Reference | None = None
    is_view: bool = False
    append: bool = False
    data_format: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    columns: tuple[str, ...] = ()
    row_operation: RowOperationMode | None = None


def find_target(session: JvmSession, text: str, append: bool) -> WriteTarget:
    """Return the target that a user names: a path, an address, or a table."""
    if "/" in text or ":" in text:
        return WriteTarget(whole_path(session, text), append=append)
    parts = [str(part) for part in _parts(session, text)]
    catalog = session.java.sessionState().catalog()
    if len(parts) > 2 and parts[0] != SESSION_CATALOG:
        return WriteTarget(table=Reference(parts[0], ".".join(parts[1:])), append=append)
    database = parts[-2] if len(parts) > 1 else str(catalog.getCurrentDatabase())
    identifier = session.table_identifier(parts[-1], database)
    if catalog.tableExists(identifier):
        return table_target(session, catalog.getTableMetadata(identifier), append)
    uri = str(catalog.defaultTablePath(identifier).toString())
    return WriteTarget(uri, append=append, params=_identify(database, parts[-1]))


def table_target(session: JvmSession, table: Any, append: bool) -> WriteTarget:
    """Return a `CatalogTable` of the session's catalog as target, existing or about to be created."""
    catalog = session.java.sessionState().catalog()
    identifier = table.identifier()
    database = identifier.database()
    of = str(database.get()) if database.isDefined() else str(catalog.getCurrentDatabase())
    name = str(identifier.table())
    location = table.storage().locationUri()
    path = location.get() if location.isDefined() else catalog.defaultTablePath(identifier)
    provider = table.provider()
    data_format = str(provider.get()).lower() if provider.isDefined() else ""
    return WriteTarget(
        str(path.toString()), append=append, data_format=data_format, params=_identify(of, name)
    )


def view_target(
    session: JvmSession, identifier: Any, columns: tuple[str, ...], is_temporary: bool
) -> WriteTarget:
    """Return a view that is about to be created. It has no path: its name identifies it."""
    name = str(identifier.table())
    if is_temporary:
        return WriteTarget(table=Reference(DATAFRAME, name), is_view=True, columns=columns)
    database = identifier.database()
    of = str(
        database.get() if database.isDefined() else session.java.sessionState().catalog().getCurrentDatabase()
    )
    return WriteTarget(table=Reference(SESSION_CATALOG, f"{of}.{name}"), is_view=True, columns=columns)


def _identify(database: str, table: str) -> dict[str, Any]:
    return {"table": {"identifier": {"database": database, "table": table}}}


def _parts(session: JvmSession, text: str) -> list[Any]:
    parts = session.java.sessionState().sqlParser().parseMultipartIdentifier(text)
    return [parts.apply(index) for index in range(parts.size())]


def whole_path(session: JvmSession, text: str) -> str:
    """Qualify a path without a scheme with Spark's default file system."""
    if ":" in text.partition("/")[0]:
        return text
    hadoop = session.jvm.org.apache.hadoop.fs
    path = hadoop.Path(text)
    return str(
        hadoop.FileSystem.get(session.java.sessionState().newHadoopConf()).makeQualified(path).toString()
    )
