"""Statements that write: the plan of their rows, and their target. Statements are never run."""

from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import CaptureError
from lineage_merge.spark_capture.relations import items, jdbc
from lineage_merge.spark_capture.relations import version_2 as table_of_version_2
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.targets import Target, table_target, view_target

Written = tuple[Any, Target]


def written(session: JvmSession, plan: Any) -> Written | None:
    """Return the plan whose rows a command writes, and its target; None for a query.

    Raises `CaptureError` for a command that writes no rows, or that is not supported.
    """
    name = str(plan.getClass().getSimpleName())
    if name == "CommandResult":  # the DataFrame of an executed command
        return written(session, plan.commandLogicalPlan())
    known = _COMMANDS.get(name)
    if known:
        return known(session, plan)
    if session.is_command(plan):
        raise CaptureError(f"{name} is neither a query nor a supported statement")
    return None


def _files(session: JvmSession, plan: Any) -> Written:
    append = str(plan.mode().name()) == "Append"
    table = plan.catalogTable()
    if table.isDefined():
        return plan.query(), table_target(session, table.get(), append)
    return plan.query(), Target(str(plan.outputPath().toString()), append=append)


def _hive_table(session: JvmSession, plan: Any) -> Written:
    return plan.query(), table_target(session, plan.table(), not plan.overwrite())


def _table_as_select(session: JvmSession, plan: Any) -> Written:
    return plan.query(), table_target(session, plan.table(), str(plan.mode().name()) == "Append")


def _hive_table_as_select(session: JvmSession, plan: Any) -> Written:
    return plan.query(), table_target(session, plan.tableDesc(), str(plan.mode().name()) == "Append")


def _view(session: JvmSession, plan: Any) -> Written:
    columns = tuple(str(each._1()) for each in items(plan.userSpecifiedColumns()))
    is_temporary = "Persisted" not in str(plan.viewType().toString())
    return plan.plan(), view_target(session, plan.name(), columns, is_temporary)


def _folder(session: JvmSession, plan: Any) -> Written:
    location = plan.storage().locationUri()
    if not location.isDefined():
        raise CaptureError("INSERT OVERWRITE DIRECTORY without a path")
    return plan.query(), Target(str(location.get().toString()), append=not plan.overwrite())


def _relation(session: JvmSession, plan: Any) -> Written:
    relation = plan.logicalRelation().relation()
    if str(relation.getClass().getSimpleName()) != "JDBCRelation":
        raise CaptureError(f"INSERT into {relation.getClass().getSimpleName()}: unknown target")
    found = jdbc(relation.jdbcOptions())
    return plan.query(), Target(found.uris[0], append=not plan.overwrite(), data_format="jdbc")


def _version_2(session: JvmSession, plan: Any) -> Written:
    append = str(plan.getClass().getSimpleName()) == "AppendData"
    found = table_of_version_2(plan.table())
    return plan.query(), Target(
        "".join(found.uris[:1]), found.table, False, append, found.data_format, found.params
    )


def _version_2_as_select(session: JvmSession, plan: Any) -> Written:
    catalog, identifier = plan.name().catalog(), plan.name().identifier()
    parts = ".".join(map(str, [*identifier.namespace(), identifier.name()]))
    location = plan.tableSpec().location()
    uri = str(location.get()) if location.isDefined() else ""
    return plan.query(), Target(uri, Reference(str(catalog.name()), parts))


_COMMANDS: Mapping[str, Callable[[JvmSession, Any], Written]] = {
    "InsertIntoHadoopFsRelationCommand": _files,
    "InsertIntoHiveTable": _hive_table,
    "CreateDataSourceTableAsSelectCommand": _table_as_select,
    "CreateHiveTableAsSelectCommand": _hive_table_as_select,
    "OptimizedCreateHiveTableAsSelectCommand": _hive_table_as_select,
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
