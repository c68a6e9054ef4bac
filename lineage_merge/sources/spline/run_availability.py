"""Checks whether Spline has recorded the runs that a merge is about to read.

The agent reports writes after they ended, over a queue or a busy server: a task that starts right after a
Glue job may run first. One check is one database query; waiting tasks repeat it. Needs no Spark.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from lineage_merge.naming.jobs import application
from lineage_merge.sources.spline.arango import database
from lineage_merge.sources.spline.database_state import COMMITTED
from lineage_merge.sources.spline.settings import Arango


@dataclass(frozen=True, slots=True)
class ExpectedRuns:
    """Expected runs of an application (or its job on Glue; globs allowed).

    `run_ids` are Glue's run ids, if known: these runs are expected, within the lookback. Otherwise any run
    that reported since `since` (ms since 1970).
    """

    application: str
    run_ids: tuple[str, ...] = ()
    since: int = 0


@dataclass(frozen=True, slots=True)
class MissingRun:
    """An application, or one run of it, without a reported successful write.

    `failed`: it reported writes, which all failed.
    """

    application: str
    run_id: str = ""
    failed: bool = False

    def __str__(self) -> str:
        """Return ``sales_load (jr_0a1b)``, for messages."""
        name = f"{self.application} ({self.run_id})" if self.run_id else self.application
        return f"{name}: only writes that failed" if self.failed else name


class Report(NamedTuple):
    """Whether an application reported a successful or a failed write in `progress`."""

    application: str
    failed: bool


# Spline indexes the time in every version; the application's name not in databases created by 0.7.
_WHAT = (
    f" FILTER {COMMITTED}"
    " COLLECT application = p.execPlanDetails.applicationName, failed = p.error != null"
    " RETURN {application, failed}"
)
_SINCE = f"FOR p IN progress FILTER p.timestamp >= @since{_WHAT}"
_NAMED = (
    f"FOR p IN progress FILTER p.timestamp >= @since AND p.execPlanDetails.applicationName IN @names{_WHAT}"
)
# Maximum number of Glue's automatic retries; each is an attempt of the same run.
_MAX_ATTEMPTS = 10


def missing_text(absent: Sequence[MissingRun]) -> str:
    """Return the missing runs as a line, "" if there are none."""
    return f"Spline has no successful write of {'; '.join(map(str, absent))}" if absent else ""


def missing_runs(settings: Arango, expected: Sequence[ExpectedRuns], lookback: timedelta) -> list[MissingRun]:
    """Return the expected runs that Spline has not recorded yet, in the given order.

    A run with a known id may have ended up to `lookback` before its `since`, as the merge reads no older one.
    Raises `SourceError` if the database cannot be queried, `ConfigError` without a password.
    """
    if not expected:
        return []
    with database(settings, retries=False) as db:
        if "progress" not in db.collections:
            return [problem for one in expected for problem in _list_unreported(one, ())]
        committed = db.snapshot().variables
        names = sorted({name for one in expected for name in _names_on_glue(one)})
        of_runs: list[Report] = []
        if names:
            oldest = min(one.since for one in expected if one.run_ids) - lookback // timedelta(milliseconds=1)
            rows = db.query(_NAMED, names=names, since=max(oldest, 0), **committed)
            of_runs = [*_reports(rows)]
        later = {
            since: [*_reports(db.query(_SINCE, since=since, **committed))]
            for since in {one.since for one in expected}
        }
    return [problem for one in expected for problem in _list_unreported(one, [*of_runs, *later[one.since]])]


def _names_on_glue(one: ExpectedRuns) -> Iterator[str]:
    """Return the agent's application names of these runs, unless the script sets a name."""
    for run_id in one.run_ids:
        name = f"nativespark-{one.application}-{run_id}"
        yield name
        yield from (f"{name}_attempt_{number}" for number in range(_MAX_ATTEMPTS + 1))


def _reports(rows: Iterable[Any]) -> Iterator[Report]:
    for row in rows:
        if isinstance(row["application"], str):
            yield Report(row["application"], bool(row["failed"]))


def _list_unreported(one: ExpectedRuns, reports: Sequence[Report]) -> Iterator[MissingRun]:
    for run_id in one.run_ids or ("",):
        about = [report.failed for report in reports if _is_of(one, run_id, report.application)]
        if not about or all(about):
            yield MissingRun(one.application, run_id, failed=bool(about))


def _is_of(one: ExpectedRuns, run_id: str, name: str) -> bool:
    job, reported_run = application(name)
    if reported_run and run_id:
        return job == one.application and reported_run.partition("_attempt_")[0] == run_id
    return fnmatchcase(job, one.application) or fnmatchcase(name, one.application)
