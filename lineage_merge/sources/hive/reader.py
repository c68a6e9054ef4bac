"""Hive lineage logs, read and translated into records.

Queries are selected per job and table by what is left in the table: content from before the last INSERT
OVERWRITE of the whole table is dropped; of statements that fill partitions or append, the newest execution of
each is selected. Statements are the same if they connect the same columns.
"""

import json
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.infra.storage import Slice, read_lines
from lineage_merge.model.elements import Alias, Count, JobKey, Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.model.times import latest_credible
from lineage_merge.sources import line_files, unmatched_patterns
from lineage_merge.sources.hive.log import Found, documents
from lineage_merge.sources.hive.query import Query, read_checked, read_query, uses_ids
from lineage_merge.sources.hive.settings import LINEAGE, Hive
from lineage_merge.sources.hive.statement import Table
from lineage_merge.sources.hive.translator import (
    JOB_TYPE,
    WAREHOUSE_RULE,
    Tables,
    framework,
    job_name,
    tables,
    translate,
)
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs import run_selection
from lineage_merge.sources.runs.events import EventRow, largest, nulls_first
from lineage_merge.sources.runs.future_times import future_problems
from lineage_merge.sources.runs.jobs import job_records
from lineage_merge.sources.runs.run_selection import SelectedWrite
from lineage_merge.sources.unmatched_patterns import Patterns

# Separates the query's key from the target in a row's `plan`.
SEPARATOR = "\n"


class Write(NamedTuple):
    """A write event; `is_view`: it created a view."""

    event: EventRow
    is_view: bool = False


def write_rows(query: Query, context: "Context") -> Iterator[Write]:
    """Yield one row per table that a query wrote; one row without a plan for a read-only query.

    `append` False: the write replaced the whole table.
    """
    if not query.targets:
        yield Write(EventRow(database="", key=query.key))
        return
    job = job_name(query, context.job_name_from)
    applies = not context.jobs or any(fnmatchcase(job, glob) for glob in context.jobs)
    for target in query.targets:
        ref = context.tables.reference(target)
        write = query.statement.write_of(target)
        replaces = write.mode == "overwrite" and not write.partitioned
        event = EventRow(
            database="",
            wanted=applies,
            key=query.key,
            plan=f"{query.key}{SEPARATOR}{target.database}{SEPARATOR}{target.name}",
            application=job,
            job=job,
            job_type=JOB_TYPE,
            target=str(target),
            dataset=context.resolver.resolve_id(ref) if ref else f"?{target}",
            at=query.at,
            duration_ms=query.duration_ms or 0,
            run_id=query.key,
            shown_run_id=query.run_id or query.key,
            failed=False,
            append=not replaces,
            framework=framework(query),
            statement=query.shape(),
        )
        yield Write(event, write.is_view)


def target_of(plan: str) -> Table:
    """Return the target named in a row's `plan`."""
    _, database, name = plan.split(SEPARATOR, 2)
    return Table(database, name)


_END_OF_FILE = 1 << 62


class Logged(NamedTuple):
    """A query's document from a log, or a `problem`, as JSON.

    Hive's own documents (`form` 0) take precedence over those of other hooks (`form` 1).
    """

    key: str | None = None
    form: int | None = None
    text: str | None = None
    logged_at: str | None = None
    location: str | None = None
    problem: str | None = None


class _QueryCounts(NamedTuple):
    """The number of queries, of writing queries without a time, and the newest time."""

    queries: int
    undated: int
    newest: int | None


@dataclass(frozen=True, slots=True)
class Context:
    """Settings needed to translate log lines."""

    jobs: tuple[str, ...]
    job_name_from: str
    tables: Tables
    resolver: Resolver


def read_hive(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all lineage of the selected jobs from the logs, as records."""
    hive = config.of(Hive)
    if hive is None:
        return engine.empty()
    context = Context(hive.jobs, hive.job_name_from, tables(hive), resolver)
    parts = line_files.find(hive.log)
    notices: tuple[Problem, ...] = ()
    if hive.kafka:
        from lineage_merge.sources.kafka_landing.kafka import with_landed

        parts, notices = with_landed(engine, hive.kafka, parts, line_files.find)
    logged = line_files.parallel(engine, parts).flat_map(_read_part).cache()
    by_key = logged.filter(lambda entry: entry.key is not None).map(lambda entry: (entry.key, entry))
    queries = by_key.combine(lambda entry: entry, _first, _first).map(lambda pair: pair[1]).cache()
    writes = queries.flat_map(lambda query: write_rows(_query(query), context)).cache()
    latest = latest_credible()
    number = _total_counts(writes.map_partitions(partial(_query_counts, latest)).collect())
    if not number.queries and parts and logged.is_empty():
        nothing = line_files.nothing_found("Hive", "log", "lineage", parts, LINEAGE)
        notices = (*notices, nothing)
    patterns = Patterns("Hive", "jobs", "job", hive.jobs)
    if hive.jobs and number.queries:
        names: Rows[unmatched_patterns.Names] = writes.flat_map(
            lambda write: [(write.event.job,)] if write.event.job else []
        )
        notices = (*notices, *unmatched_patterns.problems(patterns, names))
    dated = writes.map(partial(_add_time, newest=number.newest or 0))
    events = run_selection.select_lookback(dated, hive.runs, hive.lookback, latest).cache()
    ahead = future_problems(dated, latest, "Hive", "timestamp")
    selected = run_selection.select_writes(_not_overwritten(events, hive), hive.runs)
    translated = _translate_selected(queries, selected, context)
    if hive.warehouse:
        translated = _drop_paths_of_views(engine, translated, writes)
    # Each query is one run, however many tables it fills.
    by_run = events.group(lambda write: (write.job, write.run_id), _one_write)

    return engine.union(
        [
            translated,
            job_records(by_run, selected, context.resolver),
            logged.map_partitions(lambda rows: context.resolver.records(_problems(rows))),
            ahead.map_partitions(resolver.records),
            engine.rows(resolver.records([*_count_line(number), *notices]), 1),
        ]
    )


def _read_part(part: Slice) -> Iterator[Logged]:
    """Read the valid documents of a slice, each with its query's key, and the problems."""
    for logged in line_files.stop_at_damage(documents(line_files.number_lines(part), _following_lines(part))):
        query = read_query(logged) if isinstance(logged, Found) else logged
        if isinstance(query, Problem) or isinstance(logged, Problem):
            yield Logged(problem=json.dumps(query))
            continue
        form = 0 if uses_ids(logged.document) else 1
        text = json.dumps(logged.document, sort_keys=True)
        yield Logged(query.key, form, text, logged.logged_at, logged.location)


def _following_lines(part: Slice) -> Iterator[bytes]:
    """Yield the lines of a file after a slice; the file is opened only when the first one is needed."""
    if not part.location.endswith(".gz"):
        for _, line in read_lines(Slice(part.location, part.end, _END_OF_FILE)):
            yield line


def _first(one: Logged, other: Logged) -> Logged:
    return min(one, other, key=lambda logged: nulls_first(*logged[1:5]))


def _query(logged: Logged) -> Query:
    query = read_checked(Found(logged.location or "", loads(logged.text or ""), logged.logged_at or ""))
    if isinstance(query, Problem):  # validated before, so this cannot happen
        raise SourceError(f"{query.document}: {query.field}: {query.message}")
    return query


def _problems(rows: Iterable[Logged]) -> Iterator[Problem]:
    for row in rows:
        if row.problem is not None:
            yield Problem(*json.loads(row.problem))


def _query_counts(latest: int, writes: Iterable[Write]) -> Iterator[_QueryCounts]:
    """Count the queries of a partition, which holds all writes of each of its queries.

    The newest time is at most `latest`.
    """
    events = [write.event for write in writes]
    yield _QueryCounts(
        len({event.key for event in events}),
        len({event.key for event in events if event.plan is not None and event.at is None}),
        largest(event.at for event in events if event.at is not None and event.at <= latest),
    )


def _total_counts(numbers: Iterable[_QueryCounts]) -> _QueryCounts:
    counts = list(numbers)
    return _QueryCounts(
        sum(number.queries for number in counts),
        sum(number.undated for number in counts),
        largest(number.newest for number in counts),
    )


def _add_time(write: Write, newest: int) -> EventRow:
    """Return a write with a time: undated writes get the newest time."""
    return write.event if write.event.at is not None else write.event._replace(at=newest)


def _not_overwritten(events: Rows[EventRow], hive: Hive) -> Rows[EventRow]:
    """Drop the writes that a later overwrite of their table replaced, if only the latest are selected."""
    if hive.runs.which != "latest":
        return events
    return events.group(lambda write: (write.job, write.dataset), _drop_replaced)


def _drop_replaced(_table: Hashable, writes: list[EventRow]) -> Iterator[EventRow]:
    replaced = largest(write.at for write in writes if write.append is False)
    return (write for write in writes if replaced is None or (write.at is not None and write.at >= replaced))


def _translate_selected(
    queries: Rows[Logged], selected: Rows[SelectedWrite], context: Context
) -> Rows[Record]:
    """Translate the selected writes of queries into records."""
    rows: Rows[tuple[str | None, Any]] = queries.map(lambda logged: (logged.key, logged))

    def translate_query(_key: Hashable, rows: list[tuple[str | None, Any]]) -> Iterator[Record]:
        plans = {row for _, row in rows if isinstance(row, str)}
        for _, row in rows:
            if plans and isinstance(row, Logged):
                query = _query(row)
                job = JobKey(JOB_TYPE, job_name(query, context.job_name_from))
                wanted = {target_of(plan) for plan in plans}
                yield from context.resolver.records(translate(query, wanted, job, context.tables))

    plans = selected.map(lambda write: (write.event.key, write.event.plan))
    return rows.union(plans).group(lambda row: row[0], translate_query)


def _one_write(_run: Hashable, writes: list[EventRow]) -> Iterator[EventRow]:
    yield min(writes, key=lambda write: write.plan or "")


def _drop_paths_of_views(engine: Engine, translated: Rows[Record], writes: Rows[Write]) -> Rows[Record]:
    """Remove assumed warehouse paths of views: queries that read a view do not know that it is one."""
    views = writes.filter(lambda write: write.is_view).map(lambda write: write.event.dataset).collect()
    if not views:
        return translated
    paths = engine.share(frozenset(views))

    def is_wanted(record: Record) -> bool:
        return not (isinstance(record, Alias) and record.rule == WAREHOUSE_RULE and record.ref in paths.value)

    return translated.filter(is_wanted)


def _count_line(number: _QueryCounts) -> Iterator[Count | Problem]:
    yield Count("Hive queries", number.queries)
    if number.undated:
        what = f"{number.undated} queries have no time: each gets the newest time of the others"
        yield Problem("notice", "Hive", "timestamp", what)
