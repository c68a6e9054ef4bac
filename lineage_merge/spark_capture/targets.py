"""Targets of a write: a path, a catalog table, or not yet defined; and statements that write. None is run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.spark_capture.plan_tree import Json, PlanNode, bottom_up
from lineage_merge.spark_capture.row_operations import COMMANDS as ROW_COMMANDS
from lineage_merge.spark_capture.row_operations import RowOperationMode, row_operation
from lineage_merge.spark_capture.session import JvmSession, items, jdbc, relation_of
from lineage_merge.spark_capture.session import version_2 as table_of_version_2

# Placeholders for a DataFrame without a target, and for temporary views.
DATAFRAME = "dataframe"
SESSION_CATALOG = "spark_catalog"


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


def named_target(session: JvmSession, text: str, append: bool) -> WriteTarget:
    """Return the target that a user names: a path, an address, or a table."""
    if "/" in text or ":" in text:
        return WriteTarget(_whole_path(session, text), append=append)
    parts = [str(part) for part in _parts(session, text)]
    catalog = session.java.sessionState().catalog()
    if len(parts) > 2 and parts[0] != SESSION_CATALOG:
        return WriteTarget(table=Reference(parts[0], ".".join(parts[1:])), append=append)
    database = parts[-2] if len(parts) > 1 else str(catalog.getCurrentDatabase())
    identifier = session.table_identifier(parts[-1], database)
    if catalog.tableExists(identifier):
        return table_target(session, catalog.getTableMetadata(identifier), append)
    uri = str(catalog.defaultTablePath(identifier).toString())
    return WriteTarget(uri, append=append, params=_identified(database, parts[-1]))


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
        str(path.toString()), append=append, data_format=data_format, params=_identified(of, name)
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


def _identified(database: str, table: str) -> dict[str, Any]:
    return {"table": {"identifier": {"database": database, "table": table}}}


def _parts(session: JvmSession, text: str) -> list[Any]:
    found = session.java.sessionState().sqlParser().parseMultipartIdentifier(text)
    return [found.apply(index) for index in range(found.size())]


def _whole_path(session: JvmSession, text: str) -> str:
    """Qualify a path without a scheme with Spark's default file system."""
    if ":" in text.partition("/")[0]:
        return text
    hadoop = session.jvm.org.apache.hadoop.fs
    path = hadoop.Path(text)
    return str(
        hadoop.FileSystem.get(session.java.sessionState().newHadoopConf()).makeQualified(path).toString()
    )


@dataclass(frozen=True, slots=True)
class Written:
    """What a command writes where: the rows of a query, with the attributes `columns`."""

    query: PlanNode
    columns: Sequence[Json]
    target: WriteTarget


def written(session: JvmSession, plan: Any) -> Written | None:
    """Return what a command writes; None for other plans.

    Raises `CaptureError` for a supported command whose target is unknown, and for a stream.
    """
    name = str(plan.getClass().getSimpleName())
    if name == "CommandResult":  # the DataFrame of an executed command
        return written(session, plan.commandLogicalPlan())
    if name in ROW_COMMANDS or (name == "AppendData" and _is_merge(plan)):
        return _rows(session, plan)
    known = _COMMANDS.get(name)
    return written_rows(session, *known(session, plan)) if known else None


def written_rows(session: JvmSession, query: Any, target: WriteTarget) -> Written:
    """Return the write of a query's rows. Raises `CaptureError` for a stream."""
    if query.isStreaming():
        raise CaptureError("capture does not support streams")
    return Written(session.tree(query), session.attributes(query.output()), target)


def _is_merge(append: Any) -> bool:
    """Return whether an append is a MERGE that only inserts: it excludes the rows of the same relation.

    A query that reads its target has other attributes.
    """
    query = append.query()
    join = query.children().apply(0) if query.children().size() == 1 else query
    if str(join.getClass().getSimpleName()) != "Join" or "LeftAnti" not in str(join.joinType().toString()):
        return False
    return bool(append.table().outputSet().subsetOf(join.right().outputSet()))


def _rows(session: JvmSession, plan: Any) -> Written | None:
    """Return what a row-level operation writes, as the query of what it assigns."""
    command = session.tree(plan)
    for node in bottom_up(command):
        session.complete(node)
    operation = row_operation(command)
    if operation is None:
        return None
    relation = relation_of(operation.relation)
    if relation is None or relation.problem:
        raise CaptureError(f"{command.name}: unknown target")
    uri = "".join(relation.uris[:1])
    target = WriteTarget(
        uri,
        relation.table,
        data_format=relation.data_format,
        params=relation.params,
        row_operation=operation.mode,
    )
    return Written(operation.tree, operation.columns, target)


Write = tuple[Any, WriteTarget]


def _files(session: JvmSession, plan: Any) -> Write:
    append = str(plan.mode().name()) == "Append"
    table = plan.catalogTable()
    if table.isDefined():
        return plan.query(), table_target(session, table.get(), append)
    return plan.query(), WriteTarget(str(plan.outputPath().toString()), append=append)


def _into(table_of: str) -> Callable[[JvmSession, Any], Write]:
    """Return the reader of commands that write to the session's catalog: `table_of` is their table."""

    def write(session: JvmSession, plan: Any) -> Write:
        is_insert = str(plan.getClass().getSimpleName()) == "InsertIntoHiveTable"
        append = not plan.overwrite() if is_insert else str(plan.mode().name()) == "Append"
        return plan.query(), table_target(session, getattr(plan, table_of)(), append)

    return write


def _view(session: JvmSession, plan: Any) -> Write:
    columns = tuple(str(item._1()) for item in items(plan.userSpecifiedColumns()))
    is_temporary = "Persisted" not in str(plan.viewType().toString())
    return plan.plan(), view_target(session, plan.name(), columns, is_temporary)


def _folder(session: JvmSession, plan: Any) -> Write:
    location = plan.storage().locationUri()
    if not location.isDefined():
        raise CaptureError("INSERT OVERWRITE DIRECTORY without a path")
    return plan.query(), WriteTarget(str(location.get().toString()), append=not plan.overwrite())


def _relation(session: JvmSession, plan: Any) -> Write:
    relation = plan.logicalRelation().relation()
    if str(relation.getClass().getSimpleName()) != "JDBCRelation":
        raise CaptureError(f"INSERT into {relation.getClass().getSimpleName()}: unknown target")
    found = jdbc(relation.jdbcOptions())
    return plan.query(), WriteTarget(found.uris[0], append=not plan.overwrite(), data_format="jdbc")


def _version_2(session: JvmSession, plan: Any) -> Write:
    append = str(plan.getClass().getSimpleName()) == "AppendData"
    table = table_of_version_2(plan.table())
    return plan.query(), WriteTarget(
        "".join(table.uris[:1]), table.table, False, append, table.data_format, table.params
    )


def _version_2_as_select(session: JvmSession, plan: Any) -> Write:
    catalog, identifier = plan.name().catalog(), plan.name().identifier()
    parts = ".".join(map(str, [*identifier.namespace(), identifier.name()]))
    location = plan.tableSpec().location()
    uri = str(location.get()) if location.isDefined() else ""
    return plan.query(), WriteTarget(uri, Reference(str(catalog.name()), parts))


_COMMANDS: Mapping[str, Callable[[JvmSession, Any], Write]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "InsertIntoHiveTable": _into("table"),
    "CreateDataSourceTableAsSelectCommand": _into("table"),
    "CreateHiveTableAsSelectCommand": _into("tableDesc"),
    "OptimizedCreateHiveTableAsSelectCommand": _into("tableDesc"),
    "CreateViewCommand": _view,
    "InsertIntoDataSourceDirCommand": _folder,
    "InsertIntoHiveDirCommand": _folder,
    "InsertIntoDataSourceCommand": _relation,
    "AppendData": _version_2,
    "OverwriteByExpression": _version_2,
    "OverwritePartitionsDynamic": _version_2,
    "CreateTableAsSelect": _version_2_as_select,
    "ReplaceTableAsSelect": _version_2_as_select,
}
