"""The writes of a log as messages of a Spline agent: a plan and an event for each. Pure."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import NamedTuple
from uuid import UUID

from lineage_merge.infra.redaction import redact, redact_sql
from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.columns.plan_text import items
from lineage_merge.sources.spline.documents import ROW_LEVEL, Document
from lineage_merge.sources.spline.event_log.executions import Application, Execution, Log, read_executions
from lineage_merge.sources.spline.event_log.formatted_plan import (
    FormattedPlan,
    PhysicalNode,
    parse_formatted_plan,
)
from lineage_merge.sources.spline.event_log.logical_plan import parse_extended_plan
from lineage_merge.sources.spline.event_log.operations import PlanOperations
from lineage_merge.sources.spline.event_log.row_changes import select_subqueries
from lineage_merge.sources.spline.event_log.scans import prepare_scans, read_source, reads_delta_log
from lineage_merge.sources.spline.event_log.targets import (
    Created,
    Unread,
    Write,
    find_created_table,
    find_write,
    is_query,
    query_rows,
)

AGENT = "spark-event-log"
_WRITING = re.compile(
    r"\b(?:InsertInto|SaveInto|Create\w*AsSelect|AppendData|Overwrite|ReplaceData|WriteDelta)"
)
_ID = re.compile(r"#(\d+)")
# The inner executions of these versions do not name their outer one.
_IS_WITHOUT_ROOT = re.compile(r"^(?:2\.|3\.[0-3]\.)")
_GLUE = {"spark.glue.JOB_NAME": "glueJobName", "spark.glue.JOB_RUN_ID": "glueJobRunId"}


class LoggedWrite(NamedTuple):
    """A write: its plan and its event."""

    plan: Document
    event: Document


def read_writes(location: str, lines: Iterable[tuple[str, bytes]]) -> Iterator[LoggedWrite | Problem]:
    """Yield the writes of a log that have ended, and what could not be read."""
    log = Log()
    reader = _Reader(location, log)
    for execution in read_executions(lines, log):
        if isinstance(execution, Problem):
            yield execution
            continue
        try:
            yield from reader.read(execution)
        except Exception as error:  # noqa: BLE001 - a plan that is read wrongly costs one write
            where = f"{location}, execution {execution.id}"
            yield Problem("skipped", where, "", f"its plan cannot be read ({type(error).__name__})")


class _Rows(NamedTuple):
    """The rows of a write: the plan that has them, the operation in it, and the locations of its scans."""

    plan: FormattedPlan
    root: PhysicalNode
    locations: Mapping[str, str]


@dataclass(slots=True)
class _Outer:
    """An execution that has not ended: what it creates, or its write if an inner one has the rows.

    `ids` are those of the columns in its plan.
    """

    created: Created | None
    write: Write | None
    ids: frozenset[int]
    rows: _Rows | None = None


class _Reader:
    """Reads the executions of a log as they end, the inner ones before their outer one."""

    def __init__(self, location: str, log: Log) -> None:
        self._location = location
        self._log = log
        self._outer: dict[int, _Outer] = {}
        self._streams: set[str] = set()

    def read(self, execution: Execution) -> Iterator[LoggedWrite | Problem]:
        """Yield the write of an execution, or why it is not read."""
        known = self._outer.pop(execution.id, None)
        where = f"{self._location}, execution {execution.id}"
        plan = _parse(execution)
        if plan is None:
            if _WRITING.search(execution.plan):
                what = "its plan has a form that is not read (spark.sql.ui.explainMode)"
                yield Problem("skipped", where, "", what)
            return
        prepare_scans(plan)
        properties = self._log.application.properties
        outer = self._outer_of(execution)
        write = find_write(plan.root, properties, outer.created if outer else None)
        if isinstance(write, Unread):
            yield from self._report(where, write)
        elif write is not None and write.rows is not None:
            rows = _Rows(plan, write.rows, execution.locations)
            yield self._message(execution, write, rows, outer.created if outer else None)
        elif write is not None and known is not None and known.rows is not None:
            yield self._message(execution, write, known.rows, None)
        elif write is not None and not execution.error:
            yield Problem("skipped", where, write.name, "the plan of its rows is not in the log")
        elif write is None and plan.is_cut and _WRITING.search(execution.plan):
            yield Problem(
                "skipped", where, "", "Spark cut the text of its plan (spark.sql.maxPlanStringLength)"
            )
        elif write is None and is_query(plan.root):
            self._offer(execution, plan)

    def _report(self, where: str, unread: Unread) -> Iterator[Problem]:
        """Yield a problem; one that each batch of a stream has, once."""
        if unread.field == "WriteToDataSourceV2":
            if unread.message in self._streams:
                return
            self._streams.add(unread.message)
        yield Problem(unread.kind, where, unread.field, redact(unread.message))

    def _outer_of(self, execution: Execution) -> _Outer | None:
        return None if execution.root == execution.id else self._read_outer(execution.root)

    def _read_outer(self, identifier: int) -> _Outer | None:
        if identifier in self._outer:
            return self._outer[identifier]
        execution = self._log.executions.get(identifier)
        plan = _parse(execution) if execution is not None else None
        if execution is None or plan is None:
            return None
        found = find_write(plan.root, self._log.application.properties)
        waits = found if isinstance(found, Write) and found.rows is None else None
        ids = frozenset(int(known) for known in _ID.findall(execution.plan)) if waits else frozenset()
        outer = self._outer[identifier] = _Outer(find_created_table(plan.root), waits, ids)
        return outer

    def _offer(self, execution: Execution, plan: FormattedPlan) -> None:
        """Keep the plan of a query if it has the rows that an outer execution writes."""
        if _IS_WITHOUT_ROOT.match(self._log.application.version):
            candidates = [self._read_outer(other) for other in self._log.executions if other != execution.id]
        else:
            candidates = [self._outer_of(execution)]
        waiting = [outer for outer in candidates if outer and outer.write and outer.rows is None]
        if not waiting or reads_delta_log(plan):
            return
        query = query_rows(plan.root)
        operations = PlanOperations(plan, lambda _: None)
        output = frozenset(identifier for identifier, _ in operations.read(query).columns)
        fitting = [
            (outer, root)
            for outer in waiting
            if output & outer.ids and (root := _find_written_rows(outer.write, plan, query, output))
        ]
        if len(fitting) == 1:
            outer, root = fitting[0]
            outer.rows = _Rows(plan, root, execution.locations)

    def _message(
        self, execution: Execution, write: Write, rows: _Rows, created: Created | None
    ) -> LoggedWrite:
        application = self._log.application
        if write.name in ROW_LEVEL:
            rows = rows._replace(plan=select_subqueries(rows.plan, rows.root))
        problems: list[Unread] = []

        def read(node: PhysicalNode) -> Document | None:
            source = read_source(node, rows.locations, application.properties)
            if isinstance(source, Unread):
                problems.append(source)
                return None
            return source

        operations = PlanOperations(rows.plan, read)
        output = operations.read(rows.root)
        if rows.plan.is_cut:
            operations.problems.append(("no-columns", "", "Spark cut the text of the plan"))
        operations.problems.extend(dict.fromkeys((kind, field, text) for kind, field, text in problems))
        written, _ = items(rows.root.list_of("Input") if rows.root.name == "WriteFiles" else "")
        names = [item.name for item in written] or write.columns
        params: Document = (
            {"table": {"output": [f"{name}#{at}" for at, name in enumerate(names)]}} if names else {}
        )
        table = write.table or (created.table if created else None)
        if table:
            params["table"] = {**params.get("table", {}), **table}
        target: Document = {
            "id": "write",
            "name": write.name,
            "childIds": [output.operation],
            "outputSource": write.uri,
            "append": write.append,
            "params": params,
            "extra": {"destinationType": write.data_format} if write.data_format else {},
        }
        plan = _plan(application, target, operations)
        return LoggedWrite(plan, _event(plan["id"], application, execution))


def _find_written_rows(
    write: Write | None, plan: FormattedPlan, query: PhysicalNode, output: frozenset[int]
) -> PhysicalNode | None:
    """Return what is written of the rows of a query, whose ids are given."""
    return write.merge.join(plan, query, output) if write and write.merge else query


def _parse(execution: Execution) -> FormattedPlan | None:
    return parse_formatted_plan(execution.plan) or parse_extended_plan(execution.plan)


def _plan(application: Application, write: Document, operations: PlanOperations) -> Document:
    for function in operations.parts.functions:
        if "params" in function:
            function["params"]["text"] = redact_sql(function["params"]["text"])
    document: Document = {
        "agentInfo": {"name": AGENT, "version": ""},
        "name": application.name,
        "systemInfo": {"name": "spark", "version": application.version},
        "operations": {"write": write, "reads": operations.reads, "other": [*operations.others.values()]},
        "attributes": list(operations.parts.attributes.values()),
        "expressions": {"functions": operations.parts.functions, "constants": []},
        "extraInfo": {
            "appName": application.name,
            "problems": [list(problem) for problem in operations.problems],
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
