"""Names of the jobs of Spark and dbt, and of the catalog of a Spark session."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

# Types of jobs.
DBT = "dbt"
SPARK = "spark"
# Of edges that a person declares.
DECLARED = "declared"
SESSION_CATALOG = "spark_catalog"
# The rule by which a table of a catalog is the path that it is stored at.
CATALOG_RULE = "catalog-table"
# Glue's agent names an application after the job and its run, unless the script sets a name.
_GLUE = re.compile(r"^nativespark-(?P<job>.+)-(?P<run>jr_[0-9a-f]{8,}(?:_attempt_\d+)?)$")


class Application(NamedTuple):
    """A Spark application's job name, and Glue's run id if the name contains one."""

    job: str
    run_id: str = ""


def application(name: str) -> Application:
    """Split ``nativespark-sales-jr_0123abcd`` into the job ``sales`` and the run ``jr_0123abcd``."""
    match = _GLUE.match(name)
    return Application(match["job"], match["run"]) if match else Application(name)


def declaration_in(properties: Mapping[str, Any]) -> str:
    """Return who declares an edge, until when and why, by its properties; "" if a tool reports it."""
    if properties.get("job_type") != DECLARED:
        return ""
    return f"declared {properties.get('declared', '')}".rstrip()


def job_name(project: str, unique_id: str, target: str = "") -> str:
    """Return ``model.tickit.stg_sales``; for an installed package ``tickit/model.dbt_utils.days``.

    With a target always ``tickit@prod/model.tickit.stg_sales``. A unique id of dbt names the package
    of a model, not the project that runs it: two projects may install the same package, and one project may
    be built for several targets.
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
