"""The writes of a log: which executions write, and which others have the rows of a write. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.event_log.commands import (
    find_created_table,
    find_write,
    is_query,
    query_rows,
)
from lineage_merge.sources.spline.event_log.executions import Execution, Log, Progress, read_events
from lineage_merge.sources.spline.event_log.formatted_plan import (
    FormattedPlan,
    PhysicalNode,
    parse_formatted_plan,
)
from lineage_merge.sources.spline.event_log.logical_plan import parse_extended_plan
from lineage_merge.sources.spline.event_log.messages import (
    LoggedPlan,
    LoggedWrite,
    WrittenRows,
    make_messages,
)
from lineage_merge.sources.spline.event_log.operations import PlanOperations
from lineage_merge.sources.spline.event_log.scans import prepare_scans, read_folders, reads_delta_log
from lineage_merge.sources.spline.event_log.simple_plan import complete_plan, parse_simple_plan
from lineage_merge.sources.spline.event_log.source_targets import read_sink
from lineage_merge.sources.spline.event_log.targets import Created, Unread, Write

_WRITING = re.compile(
    r"\b(?:InsertInto|SaveInto|Create\w*AsSelect|AppendData|Overwrite|ReplaceData|WriteDelta)"
)
_ID = re.compile(r"#(\d+)")
_KNOWN = re.compile(r"^(?:3\.[1-5]|4\.[01])\.")
# The inner executions of these versions do not name their outer one.
_IS_WITHOUT_ROOT = re.compile(r"^(?:2\.|3\.[0-3]\.)")


def read_writes(location: str, lines: Iterable[tuple[str, bytes]]) -> Iterator[LoggedWrite | Problem]:
    """Yield the writes of a log that have ended, and what could not be read."""
    log = Log()
    reader = _Reader(location, log)
    for event in read_events(lines, log):
        if isinstance(event, Problem):
            yield event
            continue
        try:
            if isinstance(event, Progress):
                yield from reader.end_batch(event)
            else:
                yield from reader.read(event)
        except Exception as error:  # noqa: BLE001 - a plan that is read wrongly costs one write
            where = f"{location}, execution {event.id}" if isinstance(event, Execution) else location
            yield Problem("skipped", where, "", f"its plan cannot be read ({type(error).__name__})")
    yield from reader.end()


@dataclass(slots=True)
class _Outer:
    """An execution that has not ended: what it creates, its write, its rows if an inner one has them.

    `ids` are those of the columns in its plan, `batch` its plan if it is a batch of a stream.
    """

    plan: FormattedPlan
    created: Created | None
    write: Write | None
    ids: frozenset[int]
    batch: LoggedPlan | None
    rows: WrittenRows | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether an inner execution has its rows."""
        return self.write is not None and self.write.rows is None and self.rows is None


class _Held(NamedTuple):
    """A write in a batch of a stream, before its folders are known; none: the sink is not known either."""

    execution: Execution
    write: Write | None
    rows: WrittenRows
    created: Created | None


@dataclass(slots=True)
class _Reader:
    """Reads the executions of a log as they end, the inner ones before their outer one.

    `_held`: the writes of the last batch of each stream; `_streamed`: the newest write of each stream and
    target, with the counts of all of its batches; `_reported`: what was reported of streams.
    """

    _location: str
    _log: Log
    _outer: dict[int, _Outer] = field(default_factory=dict)
    _held: dict[str, list[_Held]] = field(default_factory=dict)
    _streamed: dict[tuple[str, str], _Held] = field(default_factory=dict)
    _reported: set[tuple[str, str]] = field(default_factory=set)

    def read(self, execution: Execution) -> Iterator[LoggedWrite | Problem]:
        """Yield the write of an execution, or why it is not read."""
        known = self._outer.pop(execution.id, None)
        where = self._place(execution)
        plan = known.plan if known else _parse(execution)
        if plan is None:
            if _WRITING.search(execution.plan):
                what = "its plan has a form that is not read (spark.sql.ui.explainMode)"
                yield Problem("skipped", where, "", what)
            return
        outer = self._outer_of(execution)
        created = outer.created if outer else None
        write = find_write(plan.root, self._log.application.properties, created, self._log.databases)
        # An execution inside of a write with its rows is a part of it.
        whole = outer.write if outer and outer.write and outer.write.rows else None
        if isinstance(write, Unread):
            if whole is None:
                yield from self._report(execution, write)
        elif write is not None and write.rows is not None:
            if whole is None or whole.uri != write.uri:
                batch = outer.batch if outer else None
                rows = WrittenRows(LoggedPlan(plan, execution), write.rows, batch)
                yield from self._add(execution, write, rows, created)
        elif write is not None and known is not None and known.rows is not None:
            yield from self._add(execution, write, known.rows, None)
        elif write is not None and not execution.error:
            yield Problem("skipped", where, write.name, "the plan of its rows is not in the log")
        elif write is None and plan.is_cut and _WRITING.search(execution.plan):
            what = "Spark cut the text of its plan (spark.sql.maxPlanStringLength)"
            yield Problem("skipped", where, "", what)
        elif write is None and is_query(plan.root):
            self._offer(execution, plan)

    def end_batch(self, progress: Progress) -> Iterator[LoggedWrite | Problem]:
        """Keep the writes of a batch, whose folders and sink are known now; yield those that failed."""
        properties = self._log.application.properties
        folders = read_folders(progress.sources)
        for execution, found, rows, created in self._held.pop(progress.stream, ()):
            write = found or read_sink(progress.sink, rows.root, properties)
            if isinstance(write, Unread):
                yield from self._report(execution, write)
            elif write is not None:
                rows.folders = folders
                if execution.error:
                    yield make_messages(self._log.application, execution, write, rows, created)
                    continue
                before = self._streamed.get((progress.stream, write.uri))
                if before is not None:
                    execution.counts = dict(Counter(execution.counts) + Counter(before.execution.counts))
                self._streamed[progress.stream, write.uri] = _Held(execution, write, rows, created)

    def end(self) -> Iterator[LoggedWrite | Problem]:
        """Yield the writes of streams, which have many like batches, as one; report an unknown version."""
        for stream in [*self._held]:
            yield from self.end_batch(Progress(stream))
        for execution, write, rows, created in self._streamed.values():
            if write is not None:
                yield make_messages(self._log.application, execution, write, rows, created)
        version = self._log.application.version
        if version and not _KNOWN.match(version):
            what = f"Spark {version} is not known: its log is read as that of 4.1"
            yield Problem("notice", self._location, "Spark Version", what)

    def _place(self, execution: Execution) -> str:
        return f"{self._location}, execution {execution.id}"

    def _report(self, execution: Execution, unread: Unread) -> Iterator[Problem]:
        """Yield a problem; one that each batch of a stream has, once."""
        key = (execution.stream, unread.message)
        if execution.stream and key in self._reported:
            return
        self._reported.add(key)
        yield Problem(unread.kind, self._place(execution), unread.field, redact(unread.message))

    def _add(
        self, execution: Execution, write: Write, rows: WrittenRows, created: Created | None
    ) -> Iterator[LoggedWrite]:
        if execution.stream:
            self._held.setdefault(execution.stream, []).append(_Held(execution, write, rows, created))
        else:
            yield make_messages(self._log.application, execution, write, rows, created)

    def _outer_of(self, execution: Execution) -> _Outer | None:
        """Return the innermost open execution around one that says something of its rows or its target."""
        is_inner = execution.root != execution.id
        around = (
            other.id
            for other in self._log.executions.values()
            if other.id != execution.id
            and (
                other.root == execution.root
                if is_inner
                else execution.stream and other.stream == execution.stream
            )
        )
        outers = (self._read_outer(identifier) for identifier in sorted(around, reverse=True))
        return next(
            (outer for outer in outers if outer and (outer.created or outer.write or outer.batch)), None
        )

    def _read_outer(self, identifier: int) -> _Outer | None:
        if identifier in self._outer:
            return self._outer[identifier]
        execution = self._log.executions.get(identifier)
        plan = _parse(execution) if execution is not None else None
        if execution is None or plan is None:
            return None
        found = find_write(plan.root, self._log.application.properties)
        write = found if isinstance(found, Write) else None
        is_waiting = write is not None and write.rows is None
        ids = frozenset(map(int, _ID.findall(execution.plan))) if is_waiting else frozenset()
        is_batch = bool(execution.stream) and is_query(plan.root)
        batch = LoggedPlan(plan, execution) if is_batch else None
        outer = self._outer[identifier] = _Outer(plan, find_created_table(plan.root), write, ids, batch)
        return outer

    def _offer(self, execution: Execution, plan: FormattedPlan) -> None:
        """Keep the plan of a query if it has the rows that an outer execution or a stream writes."""
        query = query_rows(plan.root)
        rows = WrittenRows(LoggedPlan(plan, execution), query)
        if execution.stream and execution.root == execution.id:
            held = self._held.setdefault(execution.stream, [])
            # Of several queries the last one is the batch.
            if not any(each.write for each in held) and not reads_delta_log(plan):
                held[:] = [_Held(execution, None, rows, None)]
            return
        if _IS_WITHOUT_ROOT.match(self._log.application.version):
            candidates = [self._read_outer(other) for other in self._log.executions if other != execution.id]
        else:
            candidates = [self._outer_of(execution)]
        waiting = [outer for outer in candidates if outer and outer.is_waiting]
        if not waiting or reads_delta_log(plan):
            return
        operations = PlanOperations(plan, lambda _: None)
        output = frozenset(identifier for identifier, _ in operations.read(query).columns)
        fitting = [
            (outer, root)
            for outer in waiting
            if output & outer.ids and (root := _find_written_rows(outer.write, plan, query, output))
        ]
        if len(fitting) == 1:
            outer, rows.root = fitting[0]
            outer.rows = rows


def _find_written_rows(
    write: Write | None, plan: FormattedPlan, query: PhysicalNode, output: frozenset[int]
) -> PhysicalNode | None:
    """Return what is written of the rows of a query, whose ids are given."""
    return write.merge.join(plan, query, output) if write and write.merge else query


def _parse(execution: Execution) -> FormattedPlan | None:
    text = execution.plan
    plan = parse_formatted_plan(text) or parse_extended_plan(text) or parse_simple_plan(text)
    if execution.info is not None:
        plan = complete_plan(plan, execution.info)
    if plan is not None:
        prepare_scans(plan)
    return plan
