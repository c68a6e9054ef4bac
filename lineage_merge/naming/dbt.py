"""Names of the jobs of dbt projects.

A unique id names the package of a model, not the project that runs it: two projects may install the same
package, and one project may be built for several targets.
"""

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
