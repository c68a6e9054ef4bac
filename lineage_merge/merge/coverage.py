"""What a merge looked at, and so may find gone. Imports no Spark."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from lineage_merge.merge.outcome import MOST_PROBLEMS, Report
from lineage_merge.sources import registry

if TYPE_CHECKING:
    from lineage_merge.config import Config


@dataclass(frozen=True, slots=True)
class Coverage:
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
    def from_json(cls, told: Mapping[str, Any]) -> "Coverage":
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


NOTHING = Coverage()


def covered(config: "Config", told: Report) -> Coverage:
    """What may be retired: of a source with broken documents nothing, for they may tell of it."""
    listed = len(told.problems) < MOST_PROBLEMS
    broken = {problem.document for problem in told.of_kind("rejected")}
    of_runs = set(broken)
    projects = {kind: False for source in registry.SOURCES if source.whole for kind in source.job_types}
    after: list[int] = []
    types: set[str] = set()
    for source, settings in registry.configured(config):
        if source.whole:
            of_source = {document for document in broken if _stands_in(document, source.whole(settings))}
            projects.update(dict.fromkeys(source.job_types, listed and not of_source))
            of_runs -= of_source
        if source.retire_after:
            after.append(source.retire_after(settings))
            types.update(source.job_types)
    return Coverage(
        runs=bool(after) and listed and not of_runs,
        projects=projects,
        # One that is never to retire is kept by the others too.
        retire_after=max(after) if after and all(after) else 0,
        job_types=tuple(sorted(types)),
    )


def _stands_in(document: str, places: Iterable[str]) -> bool:
    """Whether a document, as problems call it, is one of these files, part of one, or below one."""
    return any(document == place or document.startswith((f"{place}: ", f"{place}/")) for place in places)
