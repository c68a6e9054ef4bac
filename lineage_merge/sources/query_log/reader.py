"""Reader of query logs: sessions are cut into units, each of which is interpreted once."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.infra.storage import read_text
from lineage_merge.model.elements import (
    Count,
    Element,
    Job,
    JobKey,
    ObservedLog,
    Problem,
    Scalar,
    SuccessfulRuns,
)
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.query_log import redshift
from lineage_merge.sources.query_log.catalog import catalog_of
from lineage_merge.sources.query_log.copying import json_paths
from lineage_merge.sources.query_log.facts import facts_of
from lineage_merge.sources.query_log.interpretation import Warehouse, elements, interpret, job_name
from lineage_merge.sources.query_log.log_rows import (
    CATALOG,
    EXTENT,
    KINDS,
    PROBLEM,
    STATEMENT,
    Extent,
    LogRows,
    Prepare,
    batches,
    of_kind,
    started_of,
)
from lineage_merge.sources.query_log.owners import DBT
from lineage_merge.sources.query_log.reads import CountedReads, ReadKey, Reads, merge_reads
from lineage_merge.sources.query_log.sessions import (
    Prepared,
    Run,
    Runs,
    SessionResult,
    SessionSettings,
    Unit,
    merge_runs,
    read_session,
)
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statement_file import read_line
from lineage_merge.sources.query_log.usage import (
    DatasetUsage,
    elements_of,
    merge_usage,
    reads_of,
    usage_of,
)
from lineage_merge.sources.query_log.users import Users, users_of
from lineage_merge.sources.source import Resolver

# Statements that could not be read and are reported, the most frequent first.
_REPORTED = 10
_SHOWN = 120
_MS = 1000
# Distinct rows of sessions that a task holds at once.
_HELD = 20_000


class CountedUnit(NamedTuple):
    """A unit, and how often it ran."""

    unit: Unit
    number: int


class NamedRuns(NamedTuple):
    """The runs of a job by its key in sessions."""

    job: tuple[str, str]
    runs: Runs


class JobName(NamedTuple):
    """The name in the graph of a job with lineage."""

    job: tuple[str, str]
    name: str


class UnreadStatement(NamedTuple):
    """A statement that cannot be interpreted, and how often it ran."""

    fingerprint: str
    text: str
    why: str
    number: int


def read_query_log(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured logs as records. Raises `ConfigError` without a salt, `SourceError`."""
    logs: tuple[QueryLog, ...] = config.sources["query_log"]
    users = [users_of(log, f"query_log[{index}]") for index, log in enumerate(logs)]
    found = [_read(engine, log, own, resolver) for log, own in zip(logs, users, strict=True)]
    usage = (
        engine.union([each.usage for each in found])
        .combine(_itself, merge_usage, merge_usage)
        .flat_map(lambda pair: elements_of(pair[1]))
    )
    periods = engine.rows(_observed([each.period for each in found if each.period is not None]), 1)
    parts: list[Rows[Record]] = [each.records for each in found]
    parts += [elements.map_partitions(resolver.records) for elements in (usage, periods)]
    return engine.union(parts)


def _observed(periods: Iterable[ObservedLog]) -> Iterator[ObservedLog]:
    """Yield the periods by namespace: several logs of one have its statements together."""
    by_namespace: dict[str, list[ObservedLog]] = {}
    for period in periods:
        by_namespace.setdefault(period.namespace, []).append(period)
    for namespace, own in by_namespace.items():
        begin, end = min(each.observed_from for each in own), max(each.observed_until for each in own)
        yield ObservedLog(namespace, begin, end)


def open_log(engine: Engine, log: QueryLog, users: Users) -> LogRows:
    """Return the rows of a log. Raises `SourceError`."""
    if log.format == "statements":
        return _statement_files(engine, log, users)
    if log.path:
        return redshift.read_files(engine, log, users)
    if log.format == "athena":
        from lineage_merge.sources.query_log import athena

        return athena.read(engine, log, users)
    from lineage_merge.sources.query_log import data_api

    return data_api.read(engine, log, users)


def _statement_files(engine: Engine, log: QueryLog, users: Users) -> LogRows:
    parts = line_files.find([log.path])
    read = (
        line_files.parallel(engine, parts)
        .flat_map(_lines)
        .map_partitions(Prepare(log.dialect, users))
        .map_partitions(partial(batches, KINDS, started_of))
        .cache()
    )
    return LogRows(*(of_kind(read, kind) for kind in (STATEMENT, EXTENT, CATALOG, PROBLEM)))


def _lines(part: Any) -> Iterator[Any]:
    for found in line_files.until_damage(line_files.numbered(part)):
        if isinstance(found, Problem):
            yield found
        else:
            location, line = found
            yield from read_line(line, location)


class _LogContent(NamedTuple):
    """What a log yields: records, the usage of datasets by key, and the period of its statements."""

    records: Rows[Record]
    usage: Rows[tuple[str, DatasetUsage]]
    period: ObservedLog | None


def _read(engine: Engine, log: QueryLog, users: Users, resolver: Resolver) -> _LogContent:
    rows = open_log(engine, log, users)
    number, begin, newest = _extent(rows.extents.collect())
    since = newest - log.lookback // timedelta(microseconds=1)
    catalog = catalog_of(rows.catalog.collect())
    user_schemas = users.schemas({schema for _, schema, _ in (*catalog.columns, *catalog.locations)})
    settings = SessionSettings(log.search_path, user_schemas, counts_reads=log.usage)
    sessions: Rows[Any] = (
        rows.statements.filter(lambda each: each.statement.started >= since)
        .group(lambda each: each.statement.session, partial(_session, settings))
        .map_partitions(_summed)
        .cache()
    )
    units = (
        sessions.filter(lambda row: isinstance(row, CountedUnit))
        .map(lambda row: (row.unit.key, row))
        .combine(_itself, _sum_units, _sum_units)
        .map(lambda pair: pair[1])
        .cache()
    )
    warehouse = Warehouse(log.dialect, log.namespace, log.job_type, resolver.resolve_id, _read_paths, catalog)
    known = catalog.shapes(log.namespace, resolver.resolve_id)
    shared = engine.share((warehouse, known))
    created = dict(units.filter(_creates).flat_map(partial(_created, shared)).collect())
    shared = engine.share((warehouse, {**created, **known}))
    read: Rows[Any] = units.flat_map(partial(_interpreted, shared)).cache()
    runs: Rows[Any] = (
        sessions.filter(lambda row: isinstance(row, NamedRuns))
        .map(lambda row: (row.job, row.runs))
        .combine(_itself, merge_runs, merge_runs)
        .map(lambda pair: NamedRuns(*pair))
    )
    names = read.filter(lambda row: isinstance(row, JobName))
    jobs = runs.union(names).group(lambda row: row.job, partial(_job, log))
    usage: Rows[Any] = (
        sessions.filter(lambda row: isinstance(row, CountedReads))
        .map(lambda row: (row.key, row.reads))
        .combine(_itself, merge_reads, merge_reads)
        .flat_map(partial(_usage, shared))
        .cache()
    )
    unread = (
        read.union(usage)
        .filter(lambda row: isinstance(row, UnreadStatement))
        .map(lambda row: (row.fingerprint, row))
    )
    problems = _unread_problems(unread.combine(_itself, _add_unread, _add_unread).collect(), log)
    notices: list[Element] = [Count("logged statements", number), *problems]
    if not number:
        notices.append(Problem("notice", str(log), "", "no statements found"))
    records = engine.union(
        [
            read.filter(_is_element).map_partitions(resolver.records),
            jobs.map_partitions(resolver.records),
            rows.problems.map_partitions(resolver.records),
            engine.rows(resolver.records(notices), 1),
        ]
    )
    counted = usage.filter(lambda row: not isinstance(row, UnreadStatement))
    if not number or not log.usage:
        return _LogContent(records, counted, None)
    period = ObservedLog(log.namespace, max(begin, since) // _MS, newest // _MS)
    return _LogContent(records, counted, period)


def _itself(value: Any) -> Any:
    return value


def _extent(found: list[Extent]) -> Extent:
    first, last = (each.first for each in found), (each.last for each in found)
    return Extent(sum(each.number for each in found), min(first, default=0), max(last, default=0))


def _session(settings: SessionSettings, _session: Hashable, statements: list[Prepared]) -> Iterator[Any]:
    found: SessionResult = read_session(statements, settings)
    for unit, number in found.units.items():
        yield CountedUnit(unit, number)
    for job, runs in found.runs.items():
        yield NamedRuns(job, runs)
    for key, reads in found.reads.items():
        yield CountedReads(key, reads)


def _summed(rows: Iterable[CountedUnit | NamedRuns | CountedReads]) -> Iterator[Any]:
    """Yield the units, runs and reads of many sessions, equal ones once."""
    units: dict[Unit, int] = {}
    runs: dict[tuple[str, str], Runs] = {}
    reads: dict[ReadKey, Reads] = {}
    for row in rows:
        if isinstance(row, CountedReads):
            known = reads.get(row.key)
            reads[row.key] = row.reads if known is None else merge_reads(known, row.reads)
        elif isinstance(row, CountedUnit):
            units[row.unit] = units.get(row.unit, 0) + row.number
        else:
            runs[row.job] = merge_runs(runs[row.job], row.runs) if row.job in runs else row.runs
        if len(units) + len(runs) + len(reads) >= _HELD:
            yield from _counted(units, runs, reads)
            units, runs, reads = {}, {}, {}
    yield from _counted(units, runs, reads)


def _counted(
    units: Mapping[Unit, int], runs: Mapping[tuple[str, str], Runs], reads: Mapping[ReadKey, Reads]
) -> Iterator[Any]:
    yield from map(CountedUnit, units, units.values())
    yield from map(NamedRuns, runs, runs.values())
    yield from map(CountedReads, reads, reads.values())


def _sum_units(one: CountedUnit, other: CountedUnit) -> CountedUnit:
    return CountedUnit(one.unit, one.number + other.number)


def _creates(counted: CountedUnit) -> bool:
    unit = counted.unit
    return bool(facts_of(unit.statements[unit.target]).creates)


def _created(shared: Shared[Any], counted: CountedUnit) -> Iterator[tuple[str, Any]]:
    warehouse, shapes = shared.value
    for key, shape in interpret(counted.unit, warehouse, shapes).created.items():
        if key not in shapes:
            yield key, shape


def _interpreted(shared: Shared[Any], counted: CountedUnit) -> Iterator[Any]:
    warehouse, shapes = shared.value
    unit = counted.unit
    found = interpret(unit, warehouse, shapes)
    if found.unread:
        text = unit.statements[unit.target]
        yield UnreadStatement(unit.fingerprint, text, found.unread, counted.number)
    if found.writes:
        yield JobName(("", unit.job or f"#{unit.fingerprint}"), job_name(unit, found))
    yield from elements(unit, found, warehouse, shapes)


def _usage(shared: Shared[Any], read: tuple[ReadKey, Reads]) -> Iterator[Any]:
    warehouse, shapes = shared.value
    counted = CountedReads(*read)
    found = reads_of(counted, warehouse, shapes)
    reads = counted.reads
    if found.unread and not facts_of(reads.text).moves:  # others are units
        yield UnreadStatement(counted.key.fingerprint, reads.text, found.unread, reads.number)
    yield from usage_of(counted, found, shapes)


def _is_element(row: Any) -> bool:
    return not isinstance(row, JobName | UnreadStatement)


def _read_paths(location: str) -> list[str] | None:
    try:
        return json_paths(read_text(location))
    except SourceError:
        return None


def _job(log: QueryLog, job: tuple[str, str], rows: list[NamedRuns | JobName]) -> Iterator[Element]:
    kind, name = job
    runs = next((row.runs for row in rows if isinstance(row, NamedRuns)), None)
    names = {row.name for row in rows if isinstance(row, JobName)}
    if kind == DBT:
        names = {name}
    for each in sorted(names):
        key = JobKey(kind or log.job_type, each)
        if runs is None:
            yield Job(key, properties={"framework": log.dialect})
            continue
        yield Job(key, runs.newest.ended, _properties(runs.newest, "" if kind else log.dialect))
        if not kind:
            yield SuccessfulRuns(key, runs.successful)


def _properties(run: Run, framework: str) -> dict[str, Scalar]:
    found: dict[str, Scalar | None] = {
        "framework": framework or None,
        "last_run_id": run.id,
        "last_run_at": run.ended,
        "duration_ms": run.duration_ms,
        "rows_written": run.rows,
        "status": "failed" if run.failed else "succeeded",
    }
    return {name: value for name, value in found.items() if value is not None}


def _add_unread(one: UnreadStatement, other: UnreadStatement) -> UnreadStatement:
    return min(one, other)._replace(number=one.number + other.number)


def _unread_problems(found: list[tuple[str, UnreadStatement]], log: QueryLog) -> Iterator[Problem]:
    ordered = sorted((each for _, each in found), key=lambda each: (-each.number, each.fingerprint))
    for each in ordered[:_REPORTED]:
        text = each.text if len(each.text) <= _SHOWN else f"{each.text[:_SHOWN]}..."
        what = f"{each.why}; ran {each.number:,} times: {text}"
        yield Problem("skipped", str(log), f"statement {each.fingerprint}", what)
    rest = ordered[_REPORTED:]
    if rest:
        runs = sum(each.number for each in rest)
        yield Problem(
            "skipped",
            str(log),
            "",
            f"{len(rest):,} other statements cannot be read, which ran {runs:,} times",
        )
