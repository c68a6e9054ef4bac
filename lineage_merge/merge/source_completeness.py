"""What a merge looked at, and so may find gone. Imports no Spark."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_merge.merge.report import Report
from lineage_merge.sources import registry

if TYPE_CHECKING:
    from lineage_merge.config import Config


@dataclass(frozen=True, slots=True)
class SourceCompleteness:
    """What a merge looked at.

    `runs`: whether it read the sources that tell runs, and all of them; `job_types` are those of which they
    tell for certain. `projects`: the types of jobs that are told project by project, such as dbt's, each
    with whether those that were read are whole. `retire_after`: good runs of a job that did not write a
    target; 0 means never.
    """

    runs: bool = False
    projects: Mapping[str, bool] = field(default_factory=dict)
    retire_after: int = 3
    job_types: tuple[str, ...] = ()

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> "SourceCompleteness":
        """What `as_json` made; what is not told was not looked at."""
        return cls(
            bool(told.get("runs", False)),
            {kind: bool(whole) for kind, whole in told.get("projects", {}).items()},
            int(told.get("retire_after", 3)),
            tuple(told.get("job_types", ())),
        )

    def as_json(self) -> dict[str, Any]:
        """As `report.json` holds it."""
        return asdict(self)


NOTHING = SourceCompleteness()


def assess(config: "Config", report: Report) -> SourceCompleteness:
    """Return what may be retired: of a source with rejected documents nothing, for they may hold it."""
    projects = {kind: False for source in registry.SOURCES if source.by_project for kind in source.job_types}
    runs = True
    after: list[int] = []
    types: set[str] = set()
    for source, settings in registry.configured(config):
        complete = not _rejected(report, source.key)
        if source.by_project:
            projects.update(dict.fromkeys(source.job_types, complete))
        if source.retire_after:
            runs = runs and complete
            after.append(source.retire_after(settings))
            types.update(source.job_types)
    return SourceCompleteness(
        runs=bool(after) and runs,
        projects=projects,
        # A target that one source never retires is not retired by the others either.
        retire_after=max(after) if after and all(after) else 0,
        job_types=tuple(sorted(types)),
    )


def why_not_retired(config: "Config", report: Report) -> tuple[str, ...]:
    """Return a line for each source of which nothing is retired: its name and the reason."""
    found = []
    for source, settings in registry.configured(config):
        rejected = _rejected(report, source.key)
        if rejected and (source.by_project or source.retire_after):
            found.append(f"{source.name}: {rejected} {'document' if rejected == 1 else 'documents'} rejected")
        if source.retire_after and not source.retire_after(settings):
            found.append(f"{source.name}: retire_after is 0")
    return tuple(found)


def _rejected(report: Report, key: str) -> int:
    return report.by_source.get(key, {}).get("rejected", 0)
