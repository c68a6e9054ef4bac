"""The writes of a log as messages of a Spline agent: a plan and an event for each. Pure."""

import json
import re
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.columns.plan_text import items
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log import targets
from lineage_merge.sources.spline.event_log.executions import Application, Execution, Log, read_executions
from lineage_merge.sources.spline.event_log.formatted_plan import parse_formatted_plan
from lineage_merge.sources.spline.event_log.logical_plan import parse_extended_plan
from lineage_merge.sources.spline.event_log.operations import PlanOperations

AGENT = "spark-event-log"
_WRITING = re.compile(
    r"\b(?:InsertInto|SaveInto|Create\w*AsSelect|AppendData|Overwrite|ReplaceData|WriteDelta)"
)
_GLUE = {"spark.glue.JOB_NAME": "glueJobName", "spark.glue.JOB_RUN_ID": "glueJobRunId"}


class LoggedWrite(NamedTuple):
    """A write: its plan and its event."""

    plan: Document
    event: Document


def read_writes(location: str, lines: Iterable[tuple[str, bytes]]) -> Iterator[LoggedWrite | Problem]:
    """Yield the writes of a log that have ended, and what could not be read."""
    log = Log()
    for execution in read_executions(lines, log):
        if isinstance(execution, Problem):
            yield execution
        else:
            yield from _read_execution(location, log, execution)


def _read_execution(location: str, log: Log, execution: Execution) -> Iterator[LoggedWrite | Problem]:
    where = f"{location}, execution {execution.id}"
    plan = parse_formatted_plan(execution.plan) or parse_extended_plan(execution.plan)
    if plan is None:
        if _WRITING.search(execution.plan):
            yield Problem(
                "skipped", where, "", "its plan has a form that is not read (spark.sql.ui.explainMode)"
            )
        return
    write = targets.find_write(plan.root)
    if write is None:
        command = targets.find_unread_command(plan.root)
        if command:
            yield Problem("skipped", where, "", f"a command that is not supported: {command}")
        return
    operations = PlanOperations(plan, lambda node: targets.read_source(node, execution.locations))
    rows = operations.read(write.rows)
    if plan.is_cut:
        operations.problems.append(("no-columns", "", "Spark cut the text of the plan"))
    written, _ = items(write.rows.list_of("Input") if write.rows.name == "WriteFiles" else "")
    names = [item.name for item in written] or write.columns
    params: Document = (
        {"table": {"output": [f"{name}#{at}" for at, name in enumerate(names)]}} if names else {}
    )
    table = write.table or _find_created_table(log, execution)
    if table:
        params["table"] = {**params.get("table", {}), **table}
    document: Document = {
        "agentInfo": {"name": AGENT, "version": ""},
        "name": log.application.name,
        "systemInfo": {"name": "spark", "version": log.application.version},
        "operations": {
            "write": {
                "id": "write",
                "name": "InsertIntoHadoopFsRelationCommand",
                "childIds": [rows.operation],
                "outputSource": write.uri,
                "append": write.append,
                "params": params,
                "extra": {"destinationType": write.data_format} if write.data_format else {},
            },
            "reads": operations.reads,
            "other": operations.others,
        },
        "attributes": list(operations.parts.attributes.values()),
        "expressions": {"functions": operations.parts.functions, "constants": []},
        "extraInfo": {
            "appName": log.application.name,
            "problems": [list(problem) for problem in operations.problems],
        },
    }
    for function in operations.parts.functions:
        if "params" in function:
            function["params"]["text"] = redact_sql(function["params"]["text"])
    content = json.dumps(document, sort_keys=True).encode()
    document = {"id": str(UUID(bytes=sha256(content).digest()[:16])), **document}
    yield LoggedWrite(document, _event(document["id"], log.application, execution))


def _find_created_table(log: Log, execution: Execution) -> Document | None:
    """Return the table that the outer execution creates of the rows of an inner one."""
    outer = log.executions.get(execution.root)
    if outer is None or outer is execution:
        return None
    plan = parse_formatted_plan(outer.plan) or parse_extended_plan(outer.plan)
    return targets.find_created_table(plan.root) if plan is not None else None


def _event(plan: str, application: Application, execution: Execution) -> Document:
    ended = execution.ended or 0
    extra: Document = {"appId": application.app_id, "user": application.user}
    extra |= {
        name: application.properties[key] for key, name in _GLUE.items() if application.properties.get(key)
    }
    event: Document = {
        "planId": plan,
        "timestamp": ended,
        "durationNs": max(ended - execution.started, 0) * 1_000_000,
        "extra": {**extra, "writeMetrics": execution.counts},
    }
    # Spark 3.3 and older do not say whether an execution failed: a failed write has no counts.
    error = execution.error or (
        "" if execution.is_outcome_known or execution.counts else "no rows were counted"
    )
    if error:
        event["error"] = redact(error)
    return event
