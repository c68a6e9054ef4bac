"""Sessions cut into units, with the runs of their jobs and what they read. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from lineage_merge.sources.query_log.facts import facts_of
from lineage_merge.sources.query_log.job_runs import Runs, runs_of
from lineage_merge.sources.query_log.reads import ReadKey, Reads, counted
from lineage_merge.sources.query_log.renames import Renames
from lineage_merge.sources.query_log.session_steps import SessionSettings, steps_of
from lineage_merge.sources.query_log.statement import Prepared
from lineage_merge.sources.query_log.units import OF_DBT, Unit, units_of

_NO_RENAMES = Renames()


class SessionResult(NamedTuple):
    """What a session contains: units with their number, runs of jobs, and the number of statements.

    Jobs are ``(type, name)``; the type "" is the log's own, the name of a unit without a named job is ``#``
    and its fingerprint. Those of dbt are ``target/node``, or the node if the target is unknown.
    """

    units: Mapping[Unit, int]
    runs: Mapping[tuple[str, str], Runs]
    reads: Mapping[ReadKey, Reads]
    number: int = 0


def read_session(
    statements: Iterable[Prepared], settings: SessionSettings, renames: Renames = _NO_RENAMES
) -> SessionResult:
    """Return the units, runs and reads of one session."""
    steps = list(steps_of(statements, settings))
    reads: list[tuple[ReadKey, Reads]] = []
    units = [
        (at, _renamed(unit, steps[at].statement.started, renames))
        for at, unit in units_of(steps, reads, renames)
    ]
    runs = runs_of(steps, {at: unit.fingerprint for at, unit in units})
    return SessionResult(_counted(units), runs, counted(reads) if settings.counts_reads else {}, len(steps))


def _renamed(unit: Unit, at: int, renames: Renames) -> Unit:
    if not renames.tables:
        return unit
    words = frozenset[str]().union(*(facts_of(text).words for text in unit.statements))
    return unit._replace(renamed=renames.after(at, words))


def _counted(units: Iterable[tuple[int, Unit]]) -> dict[Unit, int]:
    counts: dict[Unit, int] = {}
    for _, unit in units:
        if unit.job != OF_DBT:
            counts[unit] = counts.get(unit, 0) + 1
    return counts
