"""What sessions yield as rows: units, runs and reads with their numbers, summed in each task. Pure."""

from collections.abc import Hashable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.model.elements import Count
from lineage_merge.sources.query_log.statements.facts import facts_of
from lineage_merge.sources.query_log.statements.job_runs import Runs, merge_runs
from lineage_merge.sources.query_log.statements.owners import DBT
from lineage_merge.sources.query_log.statements.reads import CountedReads, ReadKey, Reads, merge_reads
from lineage_merge.sources.query_log.statements.renames import AnyRename, Renames
from lineage_merge.sources.query_log.statements.session_steps import SessionSettings, may_rename, renames_in
from lineage_merge.sources.query_log.statements.sessions import NEVER, Times, merge_times, read_session
from lineage_merge.sources.query_log.statements.statement import Prepared
from lineage_merge.sources.query_log.statements.units import Unit

# Distinct rows that a task holds at once.
_HELD = 20_000


class CountedUnit(NamedTuple):
    """A unit, how often it ran, and when last."""

    unit: Unit
    number: int
    last: int = 0


class NamedRuns(NamedTuple):
    """The runs of a job by its key in sessions."""

    job: tuple[str, str]
    runs: Runs


# A `Count` is that of the statements.
SessionRow = CountedUnit | NamedRuns | CountedReads | Count
_STATEMENTS = "logged statements"


def renames_of_sessions(statements: Rows[Prepared], settings: SessionSettings) -> list[AnyRename]:
    """Return the committed renames of all sessions; without any, sessions are not grouped."""
    if statements.filter(_changes_names).is_empty():
        return []
    return (
        statements.filter(may_rename)
        .group(lambda prepared: prepared.statement.session, partial(_renames_in, settings))
        .collect()
    )


def _changes_names(prepared: Prepared) -> bool:
    owner = prepared.template.owner
    is_of_dbt = owner is not None and owner.job_type == DBT
    return facts_of(prepared.template.text).changes_names and not is_of_dbt


def _renames_in(
    settings: SessionSettings, _session: Hashable, statements: list[Prepared]
) -> Iterator[AnyRename]:
    return renames_in(statements, settings)


def session_rows(
    statements: Rows[Prepared], settings: SessionSettings, renames: Shared[Renames]
) -> Rows[SessionRow]:
    """Return the units, runs and reads of all sessions; equal ones of a task are one row."""
    return statements.group(
        lambda prepared: prepared.statement.session, partial(_rows_of_session, settings, renames)
    ).map_partitions(sum_sessions)


def _rows_of_session(
    settings: SessionSettings, renames: Shared[Renames], _session: Hashable, statements: list[Prepared]
) -> Iterator[Any]:
    result = read_session(statements, settings, renames.value)
    yield from _count(result.units, result.runs, result.reads, result.number)


def sum_sessions(rows: Iterable[SessionRow]) -> Iterator[SessionRow]:
    """Yield the units, runs and reads of many sessions, equal ones once, and the number of statements."""
    units: dict[Unit, Times] = {}
    runs: dict[tuple[str, str], Runs] = {}
    reads: dict[ReadKey, Reads] = {}
    number = 0
    for row in rows:
        if isinstance(row, CountedReads):
            known = reads.get(row.key)
            reads[row.key] = row.reads if known is None else merge_reads(known, row.reads)
        elif isinstance(row, CountedUnit):
            units[row.unit] = merge_times(units.get(row.unit, NEVER), (row.number, row.last))
        elif isinstance(row, Count):
            number += row.number
        else:
            runs[row.job] = merge_runs(runs[row.job], row.runs) if row.job in runs else row.runs
        if len(units) + len(runs) + len(reads) >= _HELD:
            yield from _count(units, runs, reads, number)
            units, runs, reads, number = {}, {}, {}, 0
    yield from _count(units, runs, reads, number)


def _count(
    units: Mapping[Unit, Times],
    runs: Mapping[tuple[str, str], Runs],
    reads: Mapping[ReadKey, Reads],
    number: int,
) -> Iterator[SessionRow]:
    yield Count(_STATEMENTS, number)
    yield from (CountedUnit(unit, *times) for unit, times in units.items())
    yield from map(NamedRuns, runs, runs.values())
    yield from map(CountedReads, reads, reads.values())


def sum_units(one: CountedUnit, other: CountedUnit) -> CountedUnit:
    """Return a unit with both numbers."""
    return CountedUnit(one.unit, one.number + other.number, max(one.last, other.last))
