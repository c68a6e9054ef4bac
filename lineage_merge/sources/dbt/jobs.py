"""Jobs of a dbt project. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_merge.model.elements import JobKey
from lineage_merge.naming.jobs import DBT, job_name


@dataclass(frozen=True, slots=True)
class Jobs:
    """The job names of one manifest.

    `target` is the configured one. Without one, `relations` has what each job builds, by unique id, if
    another manifest of the merge has the same project and builds other relations.
    """

    project: str
    target: str = ""
    relations: Mapping[str, str] = field(default_factory=dict)

    def key(self, unique_id: str) -> JobKey:
        """Return the job of a node."""
        target = self.target or self.relations.get(unique_id, "")
        return JobKey(DBT, job_name(self.project, unique_id, target))
