"""Which executions count, worked out slowly: one list after the other, as DESIGN says it."""

from dataclasses import dataclass

from tests.properties.pipeline import DAY, LOOKBACK_DAYS, End, Pipeline, Place
from tests.properties.pipeline_documents import (
    end_key,
    glue_run,
    job_name,
    plan_key,
    run_id,
    target_uri,
)


@dataclass(frozen=True)
class Done:
    """An execution as Spline reports it."""

    end: End
    key: str
    job: str
    run: str
    shown_run: str
    plan: str
    target: Place
    raw_target: str


@dataclass(frozen=True)
class JobFacts:
    """What the newest run of a job did, failed or not."""

    last_run_at: int
    last_run_id: str
    duration: int
    rows: int | None
    failed: bool


def recent(pipeline: Pipeline, prefix: str) -> list[Done]:
    """What was committed, of the last days before the newest execution."""
    known = [
        Done(
            end=end,
            key=end_key(pipeline, place),
            job=job_name(end.plan, prefix),
            run=run_id(end, prefix),
            shown_run=glue_run(end.plan) if end.plan.on_glue else run_id(end, prefix),
            plan=plan_key(end.plan),
            target=end.plan.target.place,
            raw_target=target_uri(end.plan, prefix),
        )
        for place, end in enumerate(pipeline.ends)
        if not end.pending
    ]
    newest = max((each.end.at for each in known), default=0)
    return [each for each in known if each.end.at >= newest - LOOKBACK_DAYS * DAY]


def good(found: list[Done]) -> list[Done]:
    """Those that ended without an error."""
    return [each for each in found if not each.end.failed]


def counted(found: list[Done]) -> list[Done]:
    """For each job and dataset, of the newest run that wrote it: all since the last overwrite began."""
    chosen = []
    for each in good(found):
        same = [other for other in good(found) if (other.job, other.target) == (each.job, each.target)]
        newest = max(same, key=lambda other: (other.end.at, other.run)).run
        if each.run == newest and not _replaced(each, [other for other in same if other.run == newest]):
            chosen.append(each)
    return chosen


def _replaced(write: Done, of_run: list[Done]) -> bool:
    """Whether a later write of the run put other data in the place of what this one wrote."""
    overwrites = [
        (other.end.at, other.end.minutes)
        for other in of_run
        if not other.end.plan.append and other.raw_target == write.raw_target
    ]
    if not overwrites:
        return False
    ended, lasted = max(overwrites)
    return write.end.at < ended - lasted


def sequence(write: Done, found: list[Done]) -> int:
    """The place of a write among the good ones of its run, from 1."""
    of_run = sorted((each.end.at, each.key) for each in good(found) if each.run == write.run)
    return of_run.index((write.end.at, write.key)) + 1


def jobs(found: list[Done]) -> dict[str, JobFacts]:
    """The facts of each job that a counted write keeps alive."""
    facts: dict[str, list[JobFacts]] = {}
    for run in {each.run for each in found}:
        of_run = [each for each in found if each.run == run]
        facts.setdefault(of_run[0].job, []).append(
            JobFacts(
                last_run_at=max(each.end.at for each in of_run),
                last_run_id=max(each.shown_run for each in of_run),
                duration=sum(each.end.minutes for each in of_run),
                # Of a write that failed Spline knows no rows.
                rows=sum(each.end.rows for each in good(of_run)) if good(of_run) else None,
                failed=any(each.end.failed for each in of_run),
            )
        )
    alive = {each.job for each in counted(found)}
    return {job: max(of_job, key=_order) for job, of_job in facts.items() if job in alive}


def _order(facts: JobFacts) -> tuple[int, str, int, int]:
    """Of two runs that ended at one moment and have one name, the one that did more."""
    return facts.last_run_at, facts.last_run_id, facts.duration, -1 if facts.rows is None else facts.rows


def made_before(write: Done, place: Place, found: list[Done]) -> bool:
    """Whether the run of a write had written a dataset before it."""
    return any(
        each.run == write.run and each.target == place and each.end.at < write.end.at for each in good(found)
    )
