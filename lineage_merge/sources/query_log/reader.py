"""Reader of query logs: sessions are cut into units, each of which is interpreted once."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.column_lineage.scripts.copying import json_paths
from lineage_merge.column_lineage.scripts.shapes import Shapes
from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.infra.storage import read_text
from lineage_merge.model.elements import Count, Element, ObservedLog, Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.query_log.lineage.dbt_jobs import DbtJobs, dbt_jobs_of
from lineage_merge.sources.query_log.lineage.interpretation import (
    Warehouse,
    elements,
    find_created_location,
    interpret,
    job_name,
)
from lineage_merge.sources.query_log.lineage.job_elements import JobName, job_elements
from lineage_merge.sources.query_log.lineage.manifests import read_manifest
from lineage_merge.sources.query_log.lineage.usage import (
    DatasetUsage,
    elements_of,
    merge_usage,
    reads_of,
    usage_of,
)
from lineage_merge.sources.query_log.lineage.view_units import find_outdated_views, view_units
from lineage_merge.sources.query_log.logs import redshift
from lineage_merge.sources.query_log.logs.log_rows import (
    CATALOG,
    EXTENT,
    KINDS,
    PROBLEM,
    STATEMENT,
    LogRows,
    Prepare,
    batches,
    find_start,
    latest_time,
    select_kinds,
)
from lineage_merge.sources.query_log.logs.statement_file import read_line
from lineage_merge.sources.query_log.logs.users import Users, users_of
from lineage_merge.sources.query_log.settings import QueryLog, group_by_warehouse
from lineage_merge.sources.query_log.statements.catalog import Catalog, ExternalTable, catalog_of
from lineage_merge.sources.query_log.statements.facts import creates_view, facts_of
from lineage_merge.sources.query_log.statements.job_runs import merge_runs
from lineage_merge.sources.query_log.statements.reads import CountedReads, ReadKey, Reads, merge_reads
from lineage_merge.sources.query_log.statements.renames import renames_of
from lineage_merge.sources.query_log.statements.session_rows import (
    CountedUnit,
    NamedRuns,
    renames_of_sessions,
    session_rows,
    sum_units,
)
from lineage_merge.sources.query_log.statements.session_steps import SessionSettings
from lineage_merge.sources.query_log.statements.unread_statements import (
    UnreadStatement,
    add_unread,
    unread_problems,
)
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs.events import largest, smallest
from lineage_merge.sources.runs.future_times import future_problem
from lineage_merge.sources.source import ModelJob

_MS = 1000


def read_query_log(engine: Engine, config: Config, resolver: Resolver, jobs: Rows[ModelJob]) -> Rows[Record]:
    """Read all configured logs as records; `jobs` are those of dbt's statements.

    Raises `ConfigError` without a salt, `SourceError`.
    """
    logs: tuple[QueryLog, ...] = config.sources["query_log"]
    warehouses = [
        ([logs[index] for index in indexes], users_of(logs[indexes[0]], f"query_log[{indexes[0]}]"))
        for indexes in group_by_warehouse(logs)
    ]
    dbt = dbt_jobs_of(jobs.collect())
    contents = [_read(engine, own, users, resolver, dbt) for own, users in warehouses]
    usage = (
        engine.union([content.usage for content in contents])
        .reduce_by_key(merge_usage)
        .flat_map(lambda pair: elements_of(pair[1]))
    )
    periods = engine.rows(
        _group_observed([content.period for content in contents if content.period is not None]), 1
    )
    parts: list[Rows[Record]] = [content.records for content in contents]
    parts += [rows.map_partitions(resolver.records) for rows in (usage, periods)]
    return engine.union(parts)


def _group_observed(periods: Iterable[ObservedLog]) -> Iterator[ObservedLog]:
    """Yield the periods by namespace: several logs of one have its statements together."""
    by_namespace: dict[str, list[ObservedLog]] = {}
    for period in periods:
        by_namespace.setdefault(period.namespace, []).append(period)
    for namespace, own in by_namespace.items():
        begin = min(observed.observed_from for observed in own)
        end = max(observed.observed_until for observed in own)
        yield ObservedLog(namespace, begin, end)


def open_logs(engine: Engine, logs: Sequence[QueryLog], users: Users) -> LogRows:
    """Return the rows of the logs of a warehouse. Raises `SourceError`."""
    first = logs[0]
    if first.format == "statements":
        return _statement_files(engine, first, users)
    if first.format == "athena":
        from lineage_merge.sources.query_log.logs import athena

        return athena.read(engine, first, users)
    return redshift.assemble([_view_rows(engine, log) for log in logs], first.dialect, users)


def _view_rows(engine: Engine, log: QueryLog) -> redshift.ViewRows:
    if log.path:
        return redshift.read_files(engine, log)
    from lineage_merge.sources.query_log.logs import data_api

    return data_api.read(engine, log)


def _statement_files(engine: Engine, log: QueryLog, users: Users) -> LogRows:
    parts = line_files.find([log.path])
    read = (
        line_files.parallel(engine, parts)
        .flat_map(_lines)
        .map_partitions(Prepare(log.dialect, users))
        .map_partitions(partial(batches, KINDS, find_start, latest_time()))
        .cache()
    )
    return LogRows(
        select_kinds(read, STATEMENT),
        select_kinds(read, EXTENT),
        select_kinds(read, CATALOG),
        select_kinds(read, PROBLEM),
    )


def _lines(part: Any) -> Iterator[Any]:
    for numbered_line in line_files.stop_at_damage(line_files.number_lines(part)):
        if isinstance(numbered_line, Problem):
            yield numbered_line
        else:
            location, line = numbered_line
            yield from read_line(line, location)


class _LogContent(NamedTuple):
    """What the logs of a warehouse yield: records, usage by the keys of datasets, and the observed period."""

    records: Rows[Record]
    usage: Rows[tuple[str, DatasetUsage]]
    period: ObservedLog | None


def _read(
    engine: Engine, logs: Sequence[QueryLog], users: Users, resolver: Resolver, dbt: DbtJobs
) -> _LogContent:
    log, name = logs[0], ", ".join(map(str, logs))
    rows = open_logs(engine, logs, users)
    extents = rows.extents.collect()
    newest = largest(extent.last for extent in extents) or 0
    since = newest - log.lookback // timedelta(microseconds=1)
    catalog = catalog_of(rows.catalog.collect())
    sessions = _sessions(engine, log, rows, since, catalog, users)
    warehouse = Warehouse(
        log.dialect, log.namespace, log.job_type, resolver.resolve_id, _read_paths, catalog, read_manifest
    )
    units, warehouse = _units(engine, log, rows, sessions, warehouse, dbt)
    shared = _add_shapes(engine, units, warehouse)
    read: Rows[Any] = units.flat_map(partial(_interpret, shared)).cache()
    runs: Rows[Any] = _merge(sessions, NamedRuns, lambda row: (row.job, row.runs), merge_runs).map(
        lambda pair: NamedRuns(*pair)
    )
    names = read.filter(lambda row: isinstance(row, JobName))
    jobs = runs.union(names).group(lambda row: row.job, partial(job_elements, log, engine.share(dbt)))
    usage: Rows[Any] = (
        _merge(sessions, CountedReads, lambda row: (row.key, row.reads), merge_reads)
        .flat_map(partial(_usage, shared))
        .cache()
    )
    unread = _merge(read.union(usage), UnreadStatement, lambda row: (row.fingerprint, row), add_unread).map(
        lambda pair: pair[1]
    )
    notices: list[Element] = [*unread_problems(unread.collect(), name)]
    if not extents:
        notices.append(Problem("notice", name, "", "no statements found"))
    ahead = [extent.ahead for extent in extents if extent.ahead[0]]
    if ahead:
        first = min(earliest for _, earliest in ahead) // _MS
        number = sum(number for number, _ in ahead)
        notices.append(future_problem(number, "statement", name, "started", first))
    records = engine.union(
        [
            sessions.filter(lambda row: isinstance(row, Count)).map_partitions(resolver.records),
            read.filter(_is_element).map_partitions(resolver.records),
            jobs.map_partitions(resolver.records),
            rows.problems.map_partitions(resolver.records),
            engine.rows(resolver.records(notices), 1),
        ]
    )
    counted = usage.filter(lambda row: not isinstance(row, UnreadStatement))
    begin = smallest(extent.first for extent in extents)
    if begin is None or not log.usage:
        return _LogContent(records, counted, None)
    observed_from = min(max(begin, since, rows.observed_from), newest)
    period = ObservedLog(log.namespace, observed_from // _MS, newest // _MS)
    return _LogContent(records, counted, period)


def _sessions(
    engine: Engine, log: QueryLog, rows: LogRows, since: int, catalog: Catalog, users: Users
) -> Rows[Any]:
    """Return the rows of all sessions, of the statements that started at `since` (microseconds) or later."""
    user_schemas = users.schemas({schema for _, schema, _ in (*catalog.columns, *catalog.locations)})
    settings = SessionSettings(
        log.search_path,
        user_schemas,
        counts_reads=log.usage,
        reads_since=rows.observed_from,
        latest=latest_time(),
    )
    recent = rows.statements.filter(lambda prepared: prepared.statement.started >= since)
    renames = engine.share(renames_of(renames_of_sessions(recent, settings), catalog))
    sessions: Rows[Any] = session_rows(recent, settings, renames).cache()
    return sessions


def _units(
    engine: Engine, log: QueryLog, rows: LogRows, sessions: Rows[Any], warehouse: Warehouse, dbt: DbtJobs
) -> tuple[Rows[CountedUnit], Warehouse]:
    """Return the units of sessions and of views, and the warehouse with the external tables they create."""
    units: Rows[CountedUnit] = (
        _merge(sessions, CountedUnit, lambda row: (row.unit.key, row), sum_units)
        .map(lambda pair: pair[1])
        .cache()
    )
    located = units.filter(_creates).flat_map(partial(_list_located, engine.share(warehouse))).collect()
    if located:
        warehouse = replace(warehouse, catalog=warehouse.catalog.with_locations(located))
    outdated = find_outdated_views(engine, units, warehouse)
    if outdated:
        units = units.filter(lambda counted: counted.unit.key not in outdated).cache()
    if rows.views is not None:
        views = view_units(engine, log, rows.views, rows.statements, units, warehouse, dbt)
        units = units.union(views).cache()
    return units, warehouse


def _add_shapes(
    engine: Engine, units: Rows[CountedUnit], warehouse: Warehouse
) -> Shared[tuple[Warehouse, Shapes]]:
    """Return the warehouse, and the columns of its tables: the catalog's, else of what creates them."""
    known = warehouse.catalog.shapes(warehouse.namespace, warehouse.resolve_id)
    shared = engine.share((warehouse, known))
    created = dict(units.filter(_creates).flat_map(partial(_list_created, shared)).collect())
    return engine.share((warehouse, {**created, **known}))


def _merge(
    rows: Rows[Any], kind: type, pair_of: Callable[[Any], tuple[Any, Any]], merge: Callable[[Any, Any], Any]
) -> Rows[Any]:
    """Return the rows of a type as pairs of key and value; the values of equal keys are merged."""
    return rows.filter(lambda row: isinstance(row, kind)).map(pair_of).reduce_by_key(merge)


def _creates(counted: CountedUnit) -> bool:
    unit = counted.unit
    text = unit.statements[unit.target]
    return bool(facts_of(text).creates) or creates_view(text)


def _list_located(shared: Shared[Warehouse], counted: CountedUnit) -> Iterator[ExternalTable]:
    if "://" in counted.unit.statements[counted.unit.target]:
        yield from find_created_location(counted.unit, shared.value)


def _list_created(shared: Shared[Any], counted: CountedUnit) -> Iterator[tuple[str, Any]]:
    warehouse, shapes = shared.value
    for key, shape in interpret(counted.unit, warehouse, shapes).created.items():
        if key not in shapes:
            yield key, shape


def _interpret(shared: Shared[Any], counted: CountedUnit) -> Iterator[Any]:
    warehouse, shapes = shared.value
    unit = counted.unit
    interpreted = interpret(unit, warehouse, shapes)
    if interpreted.unread:
        text = unit.statements[unit.target]
        yield UnreadStatement(unit.fingerprint, text, interpreted.unread, counted.number)
    if interpreted.writes:
        yield JobName(("", unit.job or f"#{unit.fingerprint}"), job_name(unit, interpreted))
    yield from elements(unit, interpreted, warehouse, shapes)


def _usage(shared: Shared[Any], read: tuple[ReadKey, Reads]) -> Iterator[Any]:
    warehouse, shapes = shared.value
    counted = CountedReads(*read)
    dataset_reads = reads_of(counted, warehouse, shapes)
    reads = counted.reads
    if dataset_reads.unread and not facts_of(reads.text).moves:  # others are units
        yield UnreadStatement(counted.key.fingerprint, reads.text, dataset_reads.unread, reads.number)
    yield from usage_of(counted, dataset_reads, shapes)


def _is_element(row: Any) -> bool:
    return not isinstance(row, JobName | UnreadStatement)


def _read_paths(location: str) -> list[str] | None:
    try:
        return json_paths(read_text(location))
    except SourceError:
        return None
