"""The job and job run that an OpenLineage run belongs to. Pure.

Spark sends a run per SQL action below the run of its application. The application is the job, named as in
Spline, so that a job reported by both is one job.
"""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from lineage_merge.model.elements import JobKey
from lineage_merge.naming.jobs import application, job_name
from lineage_merge.sources.json_values import as_mapping
from lineage_merge.sources.openlineage.airflow_tasks import dag_run_of
from lineage_merge.sources.openlineage.runs import Run

_INTEGRATION = re.compile(r"integration/([a-z0-9_-]+)", re.IGNORECASE)
# Suffixes that openlineage-dbt appends to a model's name, depending on the command.
_DBT_COMMAND = re.compile(r"(?:\.build\.(?:run|snapshot)|\.snapshot)$")
UNKNOWN = "openlineage"
_QUERY = "QUERY"
# The producer of the events of our exporter, without its version.
_EXPORTER = "urn:lineage-merge:"


class JobRun(NamedTuple):
    """The job of an OpenLineage run, and the job run it belongs to.

    `application` is the job's own name; `shown_run_id` is the id users know (Spark's application id or Glue's
    job run, dbt's invocation, Airflow's DAG run).
    """

    key: JobKey
    application: str
    run_id: str
    shown_run_id: str
    framework: str = ""
    project: str = ""


def job_of(run: Run) -> JobRun:
    """Return the job of a run."""
    job_type = _job_type(run)
    name = run.job["name"]
    framework = _framework(run)
    if run.producer.startswith(_EXPORTER):
        return _recognize_export(run, job_type, framework)
    match job_type:
        case "spark":
            return _spark(run, framework)
        case "dbt":
            dbt_run = _facet(run, "dbt_run")
            shown = dbt_run.get("invocation_id") or run.run_id
            project = dbt_run.get("project_name") or ""
            unique_id = _unique_id(run)
            key = JobKey("dbt", job_name(project, unique_id) if unique_id else name)
            return JobRun(key, name, run.run_id, shown, framework, project)
        case "airflow":
            return _airflow(run, framework)
    return JobRun(JobKey(job_type, name), name, run.run_id, run.run_id, framework)


def is_part(run: Run) -> bool:
    """Return whether the run is no job's run, or a step of it.

    A step is one SQL action of a Spark application, or one query of an Airflow task. A DAG is no job.
    """
    if is_airflow(run):
        return _kind(run) in (_QUERY, "DAG")
    return is_spark(run) and _kind(run) != "APPLICATION"


def is_airflow(run: Run) -> bool:
    """Return whether the run is one of Airflow's."""
    return _job_type(run) == "airflow"


def is_query(run: Run) -> bool:
    """Return whether the run is a query that a task of Airflow sent by a hook."""
    return is_airflow(run) and _kind(run) == _QUERY


def parent_run(run: Run) -> str:
    """Return the id of the run that started this one, "" if it is unknown."""
    return str((_facet(run, "parent").get("run") or {}).get("runId") or "")


def is_spark(run: Run) -> bool:
    """Return whether the run is one of Spark's."""
    return _job_type(run) == "spark"


def own_name(run: Run) -> str:
    """Return the name of a step of a Spark application without the application's: ``append_data.db_t``.

    "" for the application's own run.
    """
    parent = (_facet(run, "parent").get("job") or {}).get("name") or ""
    name = str(run.job["name"])
    if parent and name.startswith(f"{parent}."):
        return name.removeprefix(f"{parent}.")
    return name.partition(".")[2]


def _recognize_export(run: Run, job_type: str, framework: str) -> JobRun:
    """Return the job that `export openlineage` named ``dag.type.name``, also of the event of one output."""
    exported = str((_facet(run, "parent").get("job") or {}).get("name") or run.job["name"])
    name = exported.partition(f".{job_type}.")[2] or exported
    run_id = parent_run(run) or run.run_id
    return JobRun(JobKey(job_type, name), name, run_id, run_id, framework)


def _airflow(run: Run, framework: str) -> JobRun:
    """Return the task's part of a DAG run, which has all its mapped instances, attempts and queries.

    The DAG run's OpenLineage id changes when tasks of it are cleared.
    """
    name, parent = run.job["name"], _facet(run, "parent")
    shown, dag_run_id = dag_run_of(run), parent_run(run)
    if is_query(run):
        name = (parent.get("job") or {}).get("name") or name
        root = as_mapping(as_mapping(parent.get("root")).get("run")).get("runId")
        dag_run_id = str(root or dag_run_id)
    # Other tasks of the DAG run may write the same dataset.
    dag_run = f"{run.job['namespace']} {shown}" if shown else dag_run_id
    run_id = f"{dag_run} {name}" if dag_run else run.run_id
    return JobRun(
        JobKey("airflow", name), name, run_id, shown or ("" if is_query(run) else run.run_id), framework
    )


def _spark(run: Run, framework: str) -> JobRun:
    details, parent = _facet(run, "spark_applicationDetails"), _facet(run, "parent")
    properties = _facet(run, "spark_properties").get("properties") or {}
    own, parents = run.job["name"], (parent.get("job") or {}).get("name") or ""
    # The parent of an application is its trigger, such as an Airflow task.
    is_step = is_part(run) and bool(parents) and own.startswith(f"{parents}.")
    own_name = parents if is_step else own if not is_part(run) else own.partition(".")[0]
    name = str(details.get("appName") or properties.get("spark.app.name") or own_name)
    known = application(name)
    run_id = str(details.get("applicationId") or (parent_run(run) if is_step else "") or run.run_id)
    return JobRun(JobKey("spark", known.job), name, run_id, known.run_id or run_id, framework)


def _unique_id(run: Run) -> str:
    """Return dbt's id of the model (``model.tickit.stg_sales``), which identifies the job in the manifest.

    Newer events have it. Older ones name the job ``database.schema.tickit.stg_sales``, with database and
    schema of the model's table. "" otherwise: dbt's invocation.
    """
    unique_id = (run.job_facets.get("dbt_node") or {}).get("unique_id")
    if unique_id:
        return str(unique_id)
    name, kind = run.job["name"], _kind(run).lower()
    if kind in ("model", "snapshot"):
        for _, table in run.outputs:
            prefix = table.rpartition(".")[0] + "."
            if len(prefix) > 1 and name.startswith(prefix):
                return f"{kind}.{_DBT_COMMAND.sub('', name.removeprefix(prefix))}"
    return ""


def _job_type(run: Run) -> str:
    integration = (run.job_facets.get("jobType") or {}).get("integration")
    if integration:
        return str(integration).strip().lower()
    match = _INTEGRATION.search(run.producer)
    if match:
        return match[1].lower()
    return "airflow" if "airflow" in run.producer.lower() else UNKNOWN


def _kind(run: Run) -> str:
    return str((run.job_facets.get("jobType") or {}).get("jobType") or "").upper()


def _framework(run: Run) -> str:
    engine = _facet(run, "processing_engine")
    return f"{engine.get('name') or ''} {engine.get('version') or ''}".strip()


def _facet(run: Run, name: str) -> Mapping[str, Any]:
    return as_mapping(run.facets.get(name))
