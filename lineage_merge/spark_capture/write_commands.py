"""Commands that write: the query whose rows they write, and their target. None is run."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from py4j.protocol import Py4JError

from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.naming import redact
from lineage_merge.spark_capture.plan_tree import Json, PlanNode, SparkRelation, bottom_up, is_plain_column
from lineage_merge.spark_capture.row_operations import COMMANDS as ROW_COMMANDS
from lineage_merge.spark_capture.row_operations import row_operation
from lineage_merge.spark_capture.session import JvmSession, format_of, items, jdbc, relation_of
from lineage_merge.spark_capture.session import version_2 as table_of_version_2
from lineage_merge.spark_capture.targets import WriteTarget, table_target, view_target, whole_path

# Options of Hudi by which its own commands save rows.
_PREPARED_ROWS = ("spark.sql.writes.prepped", "spark.sql.merge.into.prepped")


@dataclass(frozen=True, slots=True)
class Written:
    """What a command writes where: the rows of a query, with the attributes `columns`."""

    query: PlanNode
    columns: Sequence[Json]
    target: WriteTarget


def read_write(session: JvmSession, plan: Any) -> Written | None:
    """Return what a command or a micro-batch of a stream writes; None for other plans.

    Raises `CaptureError` for a supported command whose target is unknown, and for a stream as a whole.
    """
    name = str(plan.getClass().getSimpleName())
    if name == "CommandResult":  # the DataFrame of an executed command
        return read_write(session, plan.commandLogicalPlan())
    if name in ROW_COMMANDS or (name == "AppendData" and _is_merge(plan)):
        return _rows(session, plan)
    if name in _MICRO_BATCHES:
        batch = _MICRO_BATCHES[name](session, plan)
        return batch and Written(session.tree(batch[0]), session.attributes(batch[0].output()), batch[1])
    if name == "SaveIntoDataSourceCommand" and _is_part_of_row_operation(plan):
        return None
    known = _COMMANDS.get(name)
    write = known(session, plan) if known else None
    if write is None:
        return None
    rows = describe_write(session, *write)
    if known is _version_2:
        _remove_plain_casts(rows.query)
    return rows


def describe_write(session: JvmSession, query: Any, target: WriteTarget) -> Written:
    """Return the write of a query's rows. Raises `CaptureError` for a stream."""
    if query.isStreaming():
        raise CaptureError("capture does not support streams")
    return Written(session.tree(query), session.attributes(query.output()), target)


def _is_part_of_row_operation(save: Any) -> bool:
    """Return whether Hudi saves the rows of an UPDATE or DELETE, which is a command of its own."""
    return any(
        str(pair._1()).endswith(_PREPARED_ROWS) and str(pair._2()) == "true"
        for pair in items(save.options().toSeq())
    )


def _remove_plain_casts(query: PlanNode) -> None:
    """Remove the casts of columns to their own types that Spark puts above a query to name its columns."""
    if query.name == "Project":
        listed = [
            [tree[0], *tree[2:]] if is_plain_column(tree[1:]) else tree
            for tree in query.fields.get("projectList") or ()
        ]
        query.fields = {**query.fields, "projectList": listed}


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
    target = replace(_find_target_by_relation(relation, append=False), row_operation=operation.mode)
    return Written(operation.tree, operation.columns, target)


Write = tuple[Any, WriteTarget]


def _files(session: JvmSession, plan: Any) -> Write:
    append = str(plan.mode().name()) == "Append"
    table = plan.catalogTable()
    if table.isDefined():
        return plan.query(), table_target(session, table.get(), append)
    return plan.query(), WriteTarget(str(plan.outputPath().toString()), append=append)


def _read_into(table_of: str) -> Callable[[JvmSession, Any], Write]:
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
    table, relation = plan.logicalRelation().catalogTable(), plan.logicalRelation().relation()
    if table.isDefined():
        target = table_target(session, table.get(), append=not plan.overwrite())
        # Hudi matches the columns by position, behind its own.
        own = tuple(str(attribute.name()) for attribute in items(plan.logicalRelation().output()))
        columns = tuple(name for name in own if not name.startswith("_hoodie_"))
        is_whole = len(columns) == plan.query().output().size()
        return plan.query(), replace(target, columns=columns) if is_whole else target
    if str(relation.getClass().getSimpleName()) != "JDBCRelation":
        raise CaptureError(f"INSERT into {relation.getClass().getSimpleName()}: unknown target")
    source = jdbc(relation.jdbcOptions())
    return plan.query(), WriteTarget(source.uris[0], append=not plan.overwrite(), data_format="jdbc")


def _version_2(session: JvmSession, plan: Any) -> Write | None:
    if _stores_nothing(plan.table().table()):
        return None
    append = str(plan.getClass().getSimpleName()) == "AppendData"
    return plan.query(), _find_target_by_relation(table_of_version_2(plan.table()), append)


def _version_2_as_select(session: JvmSession, plan: Any) -> Write:
    catalog, identifier = plan.name().catalog(), plan.name().identifier()
    parts = ".".join(map(str, [*identifier.namespace(), identifier.name()]))
    name = str(catalog.name())
    provider, location = plan.tableSpec().provider(), plan.tableSpec().location()
    data_format = str(provider.get()).lower() if provider.isDefined() else ""
    uri = str(location.get()) if location.isDefined() else _location(catalog, identifier)
    params = {"table": {"identifier": f"{name}.{parts}"}} if uri else {}
    return plan.query(), WriteTarget(uri, Reference(name, parts), data_format=data_format, params=params)


def _location(catalog: Any, identifier: Any) -> str:
    """Return the location of a table, "" if the table does not exist, or has none."""
    try:
        location = catalog.loadTable(identifier).properties().get("location")
    except Py4JError:
        return ""
    return str(location or "")


def _read_save(session: JvmSession, plan: Any) -> Write:
    """Return what a DataFrame's `save` writes to a data source of version 1, such as Delta or JDBC."""
    append = str(plan.mode().name()) == "Append"
    return plan.query(), _find_target_by_options(session, plan.dataSource(), plan.options(), append)


def _find_target_by_options(session: JvmSession, source: Any, options: Any, append: bool) -> WriteTarget:
    """Return the target that the options of a data source name."""
    given = {str(pair._1()).lower(): str(pair._2()) for pair in items(options.toSeq())}
    data_format = format_of(source)
    if path := given.get("path"):
        return WriteTarget(whole_path(session, path), append=append, data_format=data_format)
    if topic := given.get("topic"):
        return WriteTarget(f"kafka:{topic}", append=append, data_format=data_format)
    if (url := given.get("url")) and (table := given.get("dbtable")):
        return WriteTarget(f"{redact(url)}:{table}", append=append, data_format=data_format)
    raise CaptureError(f"a write to {data_format} has no option that names its target")


def _micro_batch(session: JvmSession, plan: Any) -> Write | None:
    """Return what a micro-batch writes to a sink of version 1; None if the sink stores nothing."""
    append = str(plan.outputMode().toString()) == "Append"
    if plan.catalogTable().isDefined():
        return plan.query(), table_target(session, plan.catalogTable().get(), append)
    return _read_stored(session, plan, plan.sink(), append)


def _micro_batch_2(session: JvmSession, plan: Any) -> Write | None:
    append = str(plan.outputMode().toString()) == "Append"
    if plan.relation().isDefined():
        return plan.query(), _find_target_by_relation(table_of_version_2(plan.relation().get()), append)
    return _read_stored(session, plan, plan.table(), append)


def _read_stored(session: JvmSession, plan: Any, sink: Any, append: bool) -> Write | None:
    if _stores_nothing(sink):
        return None
    return plan.query(), _find_target_by_options(session, sink, plan.writeOptions(), append)


def _stores_nothing(sink: Any) -> bool:
    return str(sink.getClass().getSimpleName()) in _SINKS_WITHOUT_STORAGE


def _find_target_by_relation(table: SparkRelation, append: bool) -> WriteTarget:
    uri = "".join(table.uris[:1])
    if not uri and table.table is None:
        raise CaptureError(f"a write to {table.data_format}: unknown target")
    return WriteTarget(uri, table.table, False, append, table.data_format, table.params)


_COMMANDS: Mapping[str, Callable[[JvmSession, Any], Write | None]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "InsertIntoHiveTable": _read_into("table"),
    "CreateDataSourceTableAsSelectCommand": _read_into("table"),
    "CreateHiveTableAsSelectCommand": _read_into("tableDesc"),
    "OptimizedCreateHiveTableAsSelectCommand": _read_into("tableDesc"),
    "CreateViewCommand": _view,
    "InsertIntoDataSourceDirCommand": _folder,
    "InsertIntoHiveDirCommand": _folder,
    "InsertIntoDataSourceCommand": _relation,
    "AppendData": _version_2,
    "OverwriteByExpression": _version_2,
    "OverwritePartitionsDynamic": _version_2,
    "SaveIntoDataSourceCommand": _read_save,
    "CreateHoodieTableAsSelectCommand": _read_into("table"),
    "InsertIntoHoodieTableCommand": _relation,
    "CreateTableAsSelect": _version_2_as_select,
    "ReplaceTableAsSelect": _version_2_as_select,
}
# Sinks that call functions, or show rows.
_SINKS_WITHOUT_STORAGE = frozenset(
    {"ConsoleTable$", "ForeachBatchSink", "ForeachWriterTable", "MemorySink", "NoopTable$"}
)
_MICRO_BATCHES: Mapping[str, Callable[[JvmSession, Any], Write | None]] = {
    "WriteToMicroBatchDataSourceV1": _micro_batch,
    "WriteToMicroBatchDataSource": _micro_batch_2,
}
