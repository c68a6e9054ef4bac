"""Job names of a dbt project. Pure.

A unique id names the package of a model, not the project that runs it: two projects may install the same
package, and one project may be built for several targets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.model.elements import JobKey, Reference

JOB_TYPE = "dbt"


def job_name(project: str, unique_id: str, target: str = "") -> str:
    """Return ``model.tickit.stg_sales``; for an installed package ``tickit/model.dbt_utils.days``.

    With a target always ``tickit@prod/model.tickit.stg_sales``.
    """
    kind, _, rest = unique_id.partition(".")
    package = rest.partition(".")[0] if kind else ""
    if not target and project in ("", package):
        return unique_id
    return f"{project}@{target}/{unique_id}" if target else f"{project}/{unique_id}"


def project_of(name: str) -> str:
    """Return the project in a job's name, "" without one."""
    before, slash, unique_id = name.rpartition("/")
    if slash:
        return before.partition("@")[0]
    parts = unique_id.split(".")
    return parts[1] if len(parts) > 1 else ""


def unique_id_of(name: str) -> str:
    """Return dbt's unique id in a job's name."""
    return name.rpartition("/")[2]


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
