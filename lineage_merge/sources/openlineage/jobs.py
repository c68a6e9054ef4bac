"""Which job and which run of it an OpenLineage run is. Pure.

Spark sends a run for each SQL action under the run of its application: the application is the job, named
as Spline names it, so that one that both tell of is one.
"""

import re
from typing import Any, NamedTuple

from lineage_merge.model.elements import JobKey
from lineage_merge.sources.dbt.jobs import job_name
from lineage_merge.sources.openlineage.runs import Run
from lineage_merge.sources.spline.naming import application

_INTEGRATION = re.compile(r"integration/([a-z0-9_-]+)", re.IGNORECASE)
# What openlineage-dbt puts behind a model's name, by the command that ran it.
_DBT_COMMAND = re.compile(r"(?:\.build\.(?:run|snapshot)|\.snapshot)$")
UNKNOWN = "openlineage"


class OfRun(NamedTuple):
    """The job of an OpenLineage run, and the run of that job which it belongs to.

    `application` is what the job calls itself, `shown_run_id` what a person knows the run by (Spark's
    application id or Glue's job run, dbt's invocation, Airflow's DAG run).
    """

    key: JobKey
    application: str
    run_id: str
    shown_run_id: str
    framework: str = ""
    project: str = ""


def job_of(run: Run) -> OfRun:
    """The job of a run."""
    job_type = _job_type(run)
    name = run.job["name"]
    framework = _framework(run)
    match job_type:
        case "spark":
            return _spark(run, framework)
        case "dbt":
            told = _facet(run, "dbt_run")
            shown = told.get("invocation_id") or run.run_id
            project = told.get("project_name") or ""
            unique_id = _unique_id(run)
            key = JobKey("dbt", job_name(project, unique_id) if unique_id else name)
            return OfRun(key, name, run.run_id, shown, framework, project)
        case "airflow":
            dag_run = _facet(run, "airflow").get("dagRun") or {}
            shown = dag_run.get("run_id") or run.run_id
            return OfRun(JobKey("airflow", name), name, run.run_id, shown, framework)
    return OfRun(JobKey(job_type, name), name, run.run_id, run.run_id, framework)


def is_part(run: Run) -> bool:
    """Whether the run is a step of a job's run: one SQL action of a Spark application."""
    return _job_type(run) == "spark" and _kind(run) != "APPLICATION"


def _spark(run: Run, framework: str) -> OfRun:
    details, parent = _facet(run, "spark_applicationDetails"), _facet(run, "parent")
    properties = _facet(run, "spark_properties").get("properties") or {}
    own, parents = run.job["name"], (parent.get("job") or {}).get("name") or ""
    # The parent of an application is what started it, such as Airflow's task.
    is_step = is_part(run) and bool(parents) and own.startswith(f"{parents}.")
    called = parents if is_step else own if not is_part(run) else own.partition(".")[0]
    name = str(details.get("appName") or properties.get("spark.app.name") or called)
    known = application(name)
    parent_run = (parent.get("run") or {}).get("runId") or ""
    run_id = str(details.get("applicationId") or (parent_run if is_step else "") or run.run_id)
    return OfRun(JobKey("spark", known.job), name, run_id, known.run_id or run_id, framework)


def _unique_id(run: Run) -> str:
    """dbt's own id of the model (``model.tickit.stg_sales``), by which the manifest knows the job.

    Newer events tell it. Older ones name the job ``database.schema.tickit.stg_sales``, where database
    and schema are those of the table that it builds. "" where neither is so: dbt's invocation.
    """
    told = (run.job_facets.get("dbt_node") or {}).get("unique_id")
    if told:
        return str(told)
    name, kind = run.job["name"], _kind(run).lower()
    if kind in ("model", "snapshot"):
        for _, table in run.outputs:
            prefix = table.rpartition(".")[0] + "."
            if len(prefix) > 1 and name.startswith(prefix):
                return f"{kind}.{_DBT_COMMAND.sub('', name.removeprefix(prefix))}"
    return ""


def _job_type(run: Run) -> str:
    told = (run.job_facets.get("jobType") or {}).get("integration")
    if told:
        return str(told).strip().lower()
    found = _INTEGRATION.search(run.producer)
    if found:
        return found[1].lower()
    return "airflow" if "airflow" in run.producer.lower() else UNKNOWN


def _kind(run: Run) -> str:
    return str((run.job_facets.get("jobType") or {}).get("jobType") or "").upper()


def _framework(run: Run) -> str:
    engine = _facet(run, "processing_engine")
    return f"{engine.get('name') or ''} {engine.get('version') or ''}".strip()


def _facet(run: Run, name: str) -> dict[str, Any]:
    found: dict[str, Any] = run.facets.get(name) or {}
    return found
