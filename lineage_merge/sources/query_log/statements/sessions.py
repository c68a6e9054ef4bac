"""Sessions cut into units, with the runs of their jobs and what they read. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lineage_merge.sources.query_log.statements.facts import facts_of
from lineage_merge.sources.query_log.statements.job_runs import Runs, runs_of
from lineage_merge.sources.query_log.statements.reads import ReadKey, Reads, count_reads
from lineage_merge.sources.query_log.statements.renames import Moment, Renames
from lineage_merge.sources.query_log.statements.session_steps import SessionSettings, Step, steps_of
from lineage_merge.sources.query_log.statements.statement import Prepared
from lineage_merge.sources.query_log.statements.units import OF_DBT, Unit, units_of

_NO_RENAMES = Renames()
_MS = 1000


# How often something ran, and when last (microseconds since 1970).
Times = tuple[int, int]
NEVER: Times = (0, 0)


def merge_times(one: Times, other: Times) -> Times:
    """Return the runs of both."""
    return one[0] + other[0], max(one[1], other[1])


class SessionResult(NamedTuple):
    """What a session contains: units with their number, runs of jobs, and the number of statements.

    Jobs are ``(type, name)``; the type "" is the log's own, the name of a unit without a named job is ``#``
    and its fingerprint. Those of dbt are ``target/node``, or the node if the target is unknown.
    """

    units: Mapping[Unit, Times]
    runs: Mapping[tuple[str, str], Runs]
    reads: Mapping[ReadKey, Reads]
    number: int = 0


def read_session(
    statements: Iterable[Prepared], settings: SessionSettings, renames: Renames = _NO_RENAMES
) -> SessionResult:
    """Return the units, runs and reads of one session."""
    steps = list(steps_of(statements, settings))
    reads: list[tuple[ReadKey, Reads]] = []
    units = [(at, _rename(unit, steps[at].at, renames)) for at, unit in units_of(steps, reads, renames)]
    runs = runs_of(steps, {at: unit.fingerprint for at, unit in units})
    since = settings.reads_since // _MS
    # 0: its time is unknown.
    recent = (
        (read for read in reads if not read[1].last or read[1].last >= since) if settings.counts_reads else ()
    )
    return SessionResult(_count(units, steps), runs, count_reads(recent), len(steps))


def _rename(unit: Unit, at: Moment, renames: Renames) -> Unit:
    if not renames:
        return unit
    words = frozenset[str]().union(*(facts_of(text).words for text in unit.statements))
    return unit._replace(
        renamed=renames.find_after(at, words), renamed_columns=renames.columns_after(at, words)
    )


def _count(units: Iterable[tuple[int, Unit]], steps: Sequence[Step]) -> dict[Unit, Times]:
    counts: dict[Unit, Times] = {}
    for at, unit in units:
        if unit.job != OF_DBT:
            counts[unit] = merge_times(counts.get(unit, NEVER), (1, steps[at].statement.started))
    return counts
