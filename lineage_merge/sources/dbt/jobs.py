"""What the jobs of a dbt project are called. Pure.

A unique id names the package that a model comes from, not the project that runs it: two projects may
install one package, and one project may be built for several targets.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from lineage_merge.model.elements import JobKey

JOB_TYPE = "dbt"


def job_name(project: str, unique_id: str, target: str = "") -> str:
    """``model.tickit.stg_sales``; of an installed package ``tickit/model.dbt_utils.days``.

    With a target always ``tickit@prod/model.tickit.stg_sales``.
    """
    kind, _, rest = unique_id.partition(".")
    package = rest.partition(".")[0] if kind else ""
    if not target and project in ("", package):
        return unique_id
    return f"{project}@{target}/{unique_id}" if target else f"{project}/{unique_id}"


def project_of(name: str) -> str:
    """The project in a job's name, "" where it has none."""
    before, slash, unique_id = name.rpartition("/")
    if slash:
        return before.partition("@")[0]
    parts = unique_id.split(".")
    return parts[1] if len(parts) > 1 else ""


def unique_id_of(name: str) -> str:
    """dbt's unique id in a job's name."""
    return name.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Jobs:
    """The names of the jobs of one manifest.

    `target` is that of the configuration. Without one, `relations` has what each job builds by unique
    id, where another manifest of the merge is of the same project and builds other relations.
    """

    project: str
    target: str = ""
    relations: Mapping[str, str] = field(default_factory=dict)

    def key(self, unique_id: str) -> JobKey:
        """The job that a node is."""
        target = self.target or self.relations.get(unique_id, "")
        return JobKey(JOB_TYPE, job_name(self.project, unique_id, target))
