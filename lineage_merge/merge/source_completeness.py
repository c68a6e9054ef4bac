"""Which sources a merge read completely: the scope of what may be retired. Imports no Spark."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_merge.merge.report import Report
from lineage_merge.model.elements import JobKey
from lineage_merge.sources import registry

if TYPE_CHECKING:
    from lineage_merge.config import Config


@dataclass(frozen=True, slots=True)
class SourceCompleteness:
    """What a merge read, and how completely.

    `runs`: whether the sources that report runs were read completely; `job_types` are the types of jobs
    that they report. `projects`: the types of jobs that are reported per project, such as dbt's, each with
    whether the projects were read completely. `retire_after`: the number of successful runs of a job
    without a write to a target after which the target is retired; 0: never. `unread_columns`: the jobs
    whose column lineage the merge cannot know, and of which it is not retired. `stated_projects`: those
    that the configuration names (``dbt shop``).
    """

    runs: bool = False
    projects: Mapping[str, bool] = field(default_factory=dict)
    retire_after: int = 3
    job_types: tuple[str, ...] = ()
    unread_columns: frozenset[JobKey] = frozenset()
    stated_projects: frozenset[str] = frozenset()

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "SourceCompleteness":
        """Parse the output of `as_json`; missing keys mean that nothing was read."""
        return cls(
            bool(stored.get("runs", False)),
            {kind: bool(complete) for kind, complete in stored.get("projects", {}).items()},
            int(stored.get("retire_after", 3)),
            tuple(stored.get("job_types", ())),
            frozenset(JobKey(*key) for key in stored.get("unread_columns", ())),
            frozenset(stored.get("stated_projects", ())),
        )

    def as_json(self) -> dict[str, Any]:
        """Return the JSON object of `report.json`."""
        return {
            **asdict(self),
            "unread_columns": sorted(map(list, self.unread_columns)),
            "stated_projects": sorted(self.stated_projects),
        }


NOTHING = SourceCompleteness()


def assess(config: "Config", report: Report) -> SourceCompleteness:
    """Return what may be retired: nothing of a source with rejected documents, which may contain it."""
    projects = {kind: False for source in registry.SOURCES if source.by_project for kind in source.job_types}
    runs = True
    after: list[int] = []
    types: set[str] = set()
    stated: set[str] = set()
    for source, settings in registry.list_configured(config):
        complete = not _count_rejected(report, source.key)
        if source.by_project:
            projects.update(dict.fromkeys(source.job_types, complete))
            stated.update(
                f"{kind} {name}"
                for kind in source.job_types
                for name in source.list_stated_projects(settings)
            )
        if source.reports_runs:
            runs = runs and complete
            after.append(source.retire_after(settings))
            types.update(source.job_types)
    return SourceCompleteness(
        runs=bool(after) and runs,
        projects=projects,
        # A target that one source never retires is not retired by the others either.
        retire_after=max(after) if after and all(after) else 0,
        job_types=tuple(sorted(types)),
        stated_projects=frozenset(stated),
    )


def why_not_retired(config: "Config", report: Report) -> tuple[str, ...]:
    """Return a line for each source of which nothing is retired: its name and the reason."""
    reasons = []
    for source, settings in registry.list_configured(config):
        rejected = _count_rejected(report, source.key)
        if rejected and (source.by_project or source.reports_runs):
            reasons.append(
                f"{source.name}: {rejected} {'document' if rejected == 1 else 'documents'} rejected"
            )
        if source.reports_runs and not source.retire_after(settings):
            reasons.append(f"{source.name}: retire_after is 0")
    return tuple(reasons)


def _count_rejected(report: Report, key: str) -> int:
    return report.by_source.get(key, {}).get("rejected", 0)
