"""A write of a log as messages of a Spline agent: a plan and an event. Pure."""

import json
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.sources.spline.columns.plan_text import items
from lineage_merge.sources.spline.documents import ROW_LEVEL, Document
from lineage_merge.sources.spline.event_log.executions import Application, Execution
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode
from lineage_merge.sources.spline.event_log.operations import PlanOperations
from lineage_merge.sources.spline.event_log.row_changes import select_subqueries
from lineage_merge.sources.spline.event_log.scans import read_rdd, read_source, replace_files
from lineage_merge.sources.spline.event_log.targets import Created, Unread, Write

AGENT = "spark-event-log"
_GLUE = {"spark.glue.JOB_NAME": "glueJobName", "spark.glue.JOB_RUN_ID": "glueJobRunId"}


class LoggedWrite(NamedTuple):
    """A write: its plan and its event."""

    plan: Document
    event: Document


class LoggedPlan(NamedTuple):
    """The plan of an execution."""

    plan: FormattedPlan
    execution: Execution


@dataclass(slots=True)
class WrittenRows:
    """The rows of a write: the plan that has them, and the operation in it.

    `batch` is the plan of the batch of a stream that they are made of, `folders` those that the stream reads.
    """

    source: LoggedPlan
    root: PhysicalNode
    batch: LoggedPlan | None = None
    folders: tuple[str, ...] = field(default=())


def make_messages(
    application: Application, execution: Execution, write: Write, rows: WrittenRows, created: Created | None
) -> LoggedWrite:
    """Return the messages of a write; `created` is the table that an outer execution creates."""
    plan = rows.source.plan
    if write.name in ROW_LEVEL:
        plan = select_subqueries(plan, rows.root)
    problems: list[Unread] = []
    locations = {**(rows.batch.execution.locations if rows.batch else {}), **rows.source.execution.locations}

    def read(node: PhysicalNode) -> Document | None:
        source = read_source(node, locations, application.properties)
        if isinstance(source, Unread):
            source = read_rdd(node, rows.source.execution.rdds, application.properties) or source
        if isinstance(source, Unread):
            problems.append(source)
            return None
        return replace_files(source, rows.folders) if source and rows.folders else source

    operations = PlanOperations(plan, read, rows.batch.plan if rows.batch else None)
    output = operations.read(rows.root)
    if plan.is_cut:
        operations.problems.append(("no-columns", "", "Spark cut the text of the plan"))
    operations.problems.extend((kind, where, text) for kind, where, text in problems)
    target = _target(write, rows.root, output.operation, created)
    document = _plan(application, target, operations)
    return LoggedWrite(document, _event(document["id"], application, execution))


def _target(write: Write, root: PhysicalNode, below: str, created: Created | None) -> Document:
    written, _ = items(root.list_of("Input") if root.name == "WriteFiles" else "")
    names = [item.name for item in written] or write.columns
    output = [f"{name}#{at}" for at, name in enumerate(names)]
    params: Document = {"table": {"output": output}} if names else {}
    table = write.table or (created.table if created else None)
    if table:
        params["table"] = {**params.get("table", {}), **table}
    return {
        "id": "write",
        "name": write.name,
        "childIds": [below],
        "outputSource": write.uri,
        "append": write.append,
        "params": params,
        "extra": {"destinationType": write.data_format} if write.data_format else {},
    }


def _plan(application: Application, write: Document, operations: PlanOperations) -> Document:
    parts = operations.parts
    for function in parts.functions.values():
        if "text" in function.get("params", {}):
            function["params"]["text"] = redact_sql(function["params"]["text"])
    document: Document = {
        "agentInfo": {"name": AGENT, "version": ""},
        "name": application.name,
        "systemInfo": {"name": "spark", "version": application.version},
        "operations": {"write": write, "reads": operations.reads, "other": [*operations.others.values()]},
        "attributes": list(parts.attributes.values()),
        "expressions": {
            "functions": [*parts.functions.values()],
            "constants": [{"id": key, "value": value} for key, value in parts.constants.items()],
        },
        "extraInfo": {
            "appName": application.name,
            "dataTypes": [*parts.data_types.values()],
            "problems": [list(problem) for problem in dict.fromkeys(operations.problems)],
        },
    }
    content = json.dumps(document, sort_keys=True).encode()
    return {"id": str(UUID(bytes=sha256(content).digest()[:16])), **document}


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
    # Spark 3.3 and older do not say whether an execution failed: a failed write of files has no counts.
    is_known = execution.is_outcome_known or execution.counts or not execution.metrics
    error = execution.error or ("" if is_known else "no rows were counted")
    if error:
        event["error"] = redact(error)
    return event
