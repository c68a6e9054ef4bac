"""Reader of query logs: sessions are cut into units, each of which is interpreted once."""

from collections.abc import Hashable, Iterable, Iterator
from datetime import timedelta
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows, Shared
from lineage_merge.infra.storage import read_text
from lineage_merge.model.elements import Count, Element, Job, JobKey, Problem, Scalar, SuccessfulRuns
from lineage_merge.model.errors import SourceError
from lineage_merge.model.records import Record
from lineage_merge.sources import line_files
from lineage_merge.sources.dbt.reader import model_jobs
from lineage_merge.sources.query_log import redshift, view_definitions
from lineage_merge.sources.query_log.catalog import CatalogColumn, ExternalTable, catalog_of
from lineage_merge.sources.query_log.copying import json_paths
from lineage_merge.sources.query_log.dbt_jobs import DbtJobs, dbt_jobs_of
from lineage_merge.sources.query_log.facts import creates_view, facts_of
from lineage_merge.sources.query_log.interpretation import (
    Warehouse,
    created_view,
    elements,
    interpret,
    job_name,
)
from lineage_merge.sources.query_log.log_rows import LogRows, Prepare
from lineage_merge.sources.query_log.manifests import read_manifest
from lineage_merge.sources.query_log.owners import DBT
from lineage_merge.sources.query_log.renames import Rename, Renames, renames_of
from lineage_merge.sources.query_log.sessions import (
    Prepared,
    Run,
    Runs,
    SessionResult,
    Unit,
    may_rename,
    merge_runs,
    read_session,
    renames_in,
)
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statement import LoggedStatement
from lineage_merge.sources.query_log.statement_file import read_line
from lineage_merge.sources.source import Resolver

# Statements that could not be read and are reported, the most frequent first.
_REPORTED = 10
_SHOWN = 120
_MS = 1000


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
    """Read all configured logs as records."""
    logs: tuple[QueryLog, ...] = config.sources["query_log"]
    dbt = dbt_jobs_of(model_jobs(engine, config.sources.get("dbt", ())).collect())
    return engine.union([_read(engine, log, resolver, dbt) for log in logs])


def open_log(engine: Engine, log: QueryLog) -> LogRows:
    """Return the rows of a log. Raises `SourceError`."""
    if log.format == "statements":
        return _statement_files(engine, log)
    if log.path:
        return redshift.read_files(engine, log)
    if log.format == "athena":
        from lineage_merge.sources.query_log import athena

        return athena.read(engine, log)
    from lineage_merge.sources.query_log import data_api

    return data_api.read(engine, log)


def _statement_files(engine: Engine, log: QueryLog) -> LogRows:
    parts = line_files.find([log.path])
    rows: Rows[Any] = line_files.parallel(engine, parts).flat_map(_lines).cache()
    statements = rows.filter(lambda row: isinstance(row, LoggedStatement))
    return LogRows(
        statements.map_partitions(Prepare(log.dialect)),
        rows.filter(lambda row: isinstance(row, CatalogColumn | ExternalTable)),
        rows.filter(lambda row: isinstance(row, Problem)),
    )


def _lines(part: Any) -> Iterator[Any]:
    for found in line_files.until_damage(line_files.numbered(part)):
        if isinstance(found, Problem):
            yield found
        else:
            location, line = found
            yield from read_line(line, location)


def _read(engine: Engine, log: QueryLog, resolver: Resolver, dbt: DbtJobs) -> Rows[Record]:
    rows = open_log(engine, log)
    statements = rows.statements.cache()
    number, since = _number_and_start(statements, log.lookback)
    catalog = catalog_of(rows.catalog.collect())
    recent = statements.filter(lambda each: each.statement.started >= since)
    renames = engine.share(renames_of(_renames(recent, log.search_path), catalog))
    sessions: Rows[Any] = recent.group(
        lambda each: each.statement.session, partial(_session, log.search_path, renames)
    ).cache()
    units = (
        sessions.filter(lambda row: isinstance(row, CountedUnit))
        .map(lambda row: (row.unit.key, row))
        .combine(_itself, _sum, _sum)
        .map(lambda pair: pair[1])
        .cache()
    )
    warehouse = Warehouse(
        log.dialect, log.namespace, log.job_type, resolver.resolve_id, _read_paths, catalog, read_manifest
    )
    if rows.views is not None:
        units = units.union(_view_units(engine, rows, statements, units, warehouse, log, dbt)).cache()
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
    jobs = runs.union(names).group(lambda row: row.job, partial(_job, log, engine.share(dbt)))
    unread = read.filter(lambda row: isinstance(row, UnreadStatement)).map(lambda row: (row.fingerprint, row))
    problems = _unread_problems(unread.combine(_itself, _add_unread, _add_unread).collect(), log)
    notices: list[Element] = [Count("logged statements", number), *problems]
    if not number:
        notices.append(Problem("notice", str(log), "", "no statements found"))
    return engine.union(
        [
            read.filter(_is_element).map_partitions(resolver.records),
            jobs.map_partitions(resolver.records),
            rows.problems.map_partitions(resolver.records),
            engine.rows(resolver.records(notices), 1),
        ]
    )


def _view_units(
    engine: Engine,
    rows: LogRows,
    statements: Rows[Prepared],
    units: Rows[CountedUnit],
    warehouse: Warehouse,
    log: QueryLog,
    dbt: DbtJobs,
) -> Rows[CountedUnit]:
    """Return the units of views that neither the history nor dbt creates."""
    shared = engine.share(warehouse)
    created = set(units.filter(_creates_view).flat_map(partial(_created_views, shared)).collect())
    of_dbt = statements.flat_map(partial(view_definitions.view_of_dbt, namespace=log.namespace))
    created.update(map(warehouse.resolve_id, set(of_dbt.collect())))
    created.update(warehouse.resolve_id(job.dataset) for jobs in dbt.by_node.values() for job in jobs)
    views: Rows[Any] = rows.views if rows.views is not None else engine.rows([], 1)
    newest = views.map(lambda view: (view.statement.session, view)).combine(
        _itself, view_definitions.newer, view_definitions.newer
    )
    return newest.flat_map(partial(_view_unit, log.search_path)).filter(
        lambda counted: created.isdisjoint(created_view(counted.unit, shared.value))
    )


def _creates_view(counted: CountedUnit) -> bool:
    return creates_view(counted.unit.statements[counted.unit.target])


def _created_views(shared: Shared[Warehouse], counted: CountedUnit) -> Iterator[str]:
    return created_view(counted.unit, shared.value)


def _view_unit(search_path: tuple[str, ...], named: tuple[str, Prepared]) -> Iterator[CountedUnit]:
    unit = view_definitions.unit_of(named[1], search_path)
    if unit is not None:
        yield CountedUnit(unit, 0)


def _itself(value: Any) -> Any:
    return value


def _number_and_start(statements: Rows[Prepared], lookback: timedelta) -> tuple[int, int]:
    """Return the number of statements, and the time from which they count (microseconds)."""
    found = statements.map_partitions(_extent).collect()
    newest = max((newest for _, newest in found), default=0)
    return sum(number for number, _ in found), newest - lookback // timedelta(microseconds=1)


def _extent(statements: Iterable[Prepared]) -> Iterator[tuple[int, int]]:
    number, newest = 0, 0
    for each in statements:
        number += 1
        newest = max(newest, each.statement.started)
    yield number, newest


def _renames(statements: Rows[Prepared], search_path: tuple[str, ...]) -> list[Rename]:
    renames = statements.filter(lambda each: facts_of(each.template.text).renames is not None)
    if not renames.map(lambda each: each.statement.session).collect():
        return []
    return (
        statements.filter(may_rename)
        .group(lambda each: each.statement.session, partial(_renames_in, search_path))
        .collect()
    )


def _renames_in(
    search_path: tuple[str, ...], _session: Hashable, statements: list[Prepared]
) -> Iterator[Rename]:
    return renames_in(statements, search_path)


def _session(
    search_path: tuple[str, ...], renames: Shared[Renames], _session: Hashable, statements: list[Prepared]
) -> Iterator[Any]:
    found: SessionResult = read_session(statements, search_path, renames.value)
    for unit, number in found.units.items():
        yield CountedUnit(unit, number)
    for job, runs in found.runs.items():
        yield NamedRuns(job, runs)


def _sum(one: CountedUnit, other: CountedUnit) -> CountedUnit:
    return CountedUnit(one.unit, one.number + other.number)


def _creates(counted: CountedUnit) -> bool:
    unit = counted.unit
    text = unit.statements[unit.target]
    return bool(facts_of(text).creates) or creates_view(text)


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


def _is_element(row: Any) -> bool:
    return not isinstance(row, JobName | UnreadStatement)


def _read_paths(location: str) -> list[str] | None:
    try:
        return json_paths(read_text(location))
    except SourceError:
        return None


def _job(
    log: QueryLog, dbt: Shared[DbtJobs], job: tuple[str, str], rows: list[NamedRuns | JobName]
) -> Iterator[Element]:
    kind, name = job
    runs = next((row.runs for row in rows if isinstance(row, NamedRuns)), None)
    names = {row.name for row in rows if isinstance(row, JobName)}
    if kind == DBT:
        target, _, node = name.rpartition("/")
        names = set(dbt.value.names(node, target, log.namespace))
        if len(names) > 1:
            why = f"runs of a node of several projects are not attributed: {', '.join(sorted(names))}"
            yield Problem("notice", str(log), node, why)
            return
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
        how_often = f"ran {each.number:,} times" if each.number else "definition of a view"
        what = f"{each.why}; {how_often}: {text}"
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
