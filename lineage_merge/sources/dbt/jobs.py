"""Jobs of a dbt project. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.model.elements import JobKey, Reference
from lineage_merge.naming.dbt import JOB_TYPE, job_name


class ModelJob(NamedTuple):
    """The job of a node that dbt builds; `target`: the configured one of its manifest."""

    node: str
    target: str
    name: str
    dataset: Reference


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
        return JobKey(JOB_TYPE, job_name(self.project, unique_id, target))
