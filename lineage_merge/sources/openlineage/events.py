"""The ends of writes, as added-up runs tell them. Pure."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase

from lineage_merge.sources.openlineage import translator
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.jobs import OfRun, is_part, job_of
from lineage_merge.sources.openlineage.runs import Run
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.runs.events import EventRow

# Between a run's id, which has no space in it, and the number of its target.
_BETWEEN = " "


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which jobs count, and what is known of their targets: `dataset_of(namespace, name, job)` is an id."""

    settings: OpenLineage
    dataset_of: Callable[[str, str, str], str]

    def applies(self, run: Run, told: OfRun) -> bool:
        """By the job's name here, by its own, by that of the OpenLineage job, and by its namespace."""
        names = (told.key.name, told.application, run.job["name"])
        return _matches(self.settings.jobs, *names) and _matches(
            self.settings.namespaces, run.job["namespace"]
        )


def event_rows(run: Run, wanted: Wanted) -> Iterator[EventRow]:
    """One row for each target of a run that has ended; one without a target where it wrote nothing.

    That one says how the run ended: a good run of the job that wrote nothing, or a bad one. What a
    Spark application does without writing, such as a count, is no run of its own.
    """
    if run.at is None:
        return
    told = job_of(run)
    if not wanted.applies(run, told):
        return
    targets = translator.targets(run)
    common = EventRow(
        database="",
        wanted=True,
        application=told.application,
        job=told.key.name,
        job_type=told.key.job_type,
        at=run.at,
        run_id=told.run_id,
        shown_run_id=told.shown_run_id,
        failed=run.failed,
        framework=told.framework,
    )
    for number, key in enumerate(targets):
        ref = reference(*key, told.key.name)
        yield common._replace(
            key=plan_of(run.run_id, number),
            plan=plan_of(run.run_id, number),
            target=ref.name,
            dataset=wanted.dataset_of(*key, told.key.name),
            # The time is the run's, not of each target.
            duration_ms=None if number else run.duration_ms,
            append=translator.write_mode(run, key) == "append",
            rows=translator.rows_written(run, key),
        )
    if not targets and not is_part(run):
        yield common._replace(key=run.run_id, plan=run.run_id)


def plan_of(run_id: str, number: int) -> str:
    """The name of what a run did to one of its targets."""
    return f"{run_id}{_BETWEEN}{number}"


def run_of(plan: str) -> str:
    """The id of the run that a plan is of."""
    return plan.partition(_BETWEEN)[0]


def number_of(plan: str) -> int:
    """The number of the target that a plan is about."""
    return int(plan.rpartition(_BETWEEN)[2])


def _matches(globs: tuple[str, ...], *names: str) -> bool:
    return not globs or any(fnmatchcase(name, glob) for name in names for glob in globs)
