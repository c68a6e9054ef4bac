"""What only Airflow's own events have: the task in the run facet `airflow`, its assets and its checks. Pure.

The provider's facets are described in `airflow/providers/openlineage/plugins/facets.py`. Lists in them are
JSON, or since its version 2.7 the text of a Python list.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Literal, NamedTuple
from urllib.parse import unquote, urlsplit

from lineage_merge import naming
from lineage_merge.model.elements import Scalar
from lineage_merge.sources.json_values import as_list, as_mapping
from lineage_merge.sources.openlineage.documents import Document, sets_of, text
from lineage_merge.sources.openlineage.runs import DatasetKey, Run

Status = Literal["passed", "failed", "error"]

# Airflow's, of a task and a DAG without an owner.
_DEFAULT_OWNERS = ("airflow",)
# Schemes of assets (AIP-60) that are a path below an authority, and those of tables.
_PATHS = frozenset({"s3", "gs", "gcs", "hdfs", "abfs", "abfss", "wasbs", "file"})
_TABLES = frozenset(
    {"postgres", "redshift", "mysql", "mssql", "snowflake", "trino", "awsathena", "clickhouse"}
)
_MAX_ASSETS = 100_000
_DATA_API = "RedshiftDataOperator"
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d+)?) seconds")
_COLUMN_CHECKS = "SQLColumnCheckOperator"
_TABLE_CHECKS = "SQLTableCheckOperator"
_CHECKS = {
    "SQLCheckOperator": "check",
    "SQLValueCheckOperator": "value_check",
    "SQLIntervalCheckOperator": "interval_check",
    "SQLThresholdCheckOperator": "threshold_check",
}
_CHANGES_TABLE = re.compile(r"(?:insert|create|merge|update|delete|copy|unload|with)\b", re.IGNORECASE)
_CHECK_NAME = re.compile(r"SELECT '([^']+)' AS check_name\b")
_FAILED_CHECK = re.compile(r"^,? ?\tCheck: ([^,\n]+),$", re.MULTILINE)
# Snowflake's names are upper-case.
_NO_SCHEMA = re.compile(r"(^|\.)(?:None|NONE)\.([^.]+)$")
_TEST_FAILED = re.compile(r"\bTest failed\b|\btests have failed\b")


class Warehouse(NamedTuple):
    """The warehouse of a task's statements: namespace, and database ("" if it is unknown)."""

    namespace: str
    database: str


class Check(NamedTuple):
    """The outcome of a data quality check; `column` is "" if it is one of the table."""

    kind: str
    column: str
    name: str
    status: Status


def task_of(run: Run) -> Mapping[str, Any]:
    """Return the task in a run's facet `airflow`, an empty one without it."""
    return as_mapping(as_mapping(run.facets.get("airflow")).get("task"))


def task_instance_of(run: Run) -> Mapping[str, Any]:
    """Return the task instance in a run's facet `airflow`, an empty one without it."""
    return as_mapping(as_mapping(run.facets.get("airflow")).get("taskInstance"))


def dag_run_of(run: Run) -> str:
    """Return the name of the DAG run of a task or DAG, "" if it is unknown."""
    for facet in ("airflow", "airflowDagRun"):
        if name := text(as_mapping(as_mapping(run.facets.get(facet)).get("dagRun")).get("run_id")):
            return name
    return ""


def is_retried(run: Run) -> bool:
    """Return whether a failed attempt of a task is not its last one."""
    attempt = task_instance_of(run).get("try_number")
    retries = task_of(run).get("retries")
    return run.failed and isinstance(attempt, int) and isinstance(retries, int) and attempt <= retries


def task_properties(run: Run) -> dict[str, Scalar]:
    """Return what the task of a run says about the job: its SLA (of Airflow 2)."""
    match = _SECONDS.fullmatch(text(task_of(run).get("sla")))
    return {"sla_ms": round(float(match[1]) * 1000)} if match else {}


def sets_of_task(run: Run) -> dict[str, tuple[str, ...]]:
    """Return owners and tags of a task, without Airflow's default owner.

    Older providers have the DAG's tags only in the facet `airflow`.
    """
    tags = _as_list(as_mapping(as_mapping(run.facets.get("airflow")).get("dag")).get("tags"))
    of_dag = tuple(sorted({name for tag in tags if (name := text(tag))}))
    sets = {**({"tags": of_dag} if of_dag else {}), **sets_of(run.job_facets)}
    return {name: values for name, values in sets.items() if values != _DEFAULT_OWNERS}


def with_known_names(run: Run) -> Run:
    """Return the run of a task with an empty schema in names of tables whose schema is unknown.

    The provider writes Python's None into them: ``dev.None.sales``, ``DEV.NONE.SALES``.
    """
    if not any(_NO_SCHEMA.search(name) for _, name in (*run.inputs, *run.outputs)):
        return run
    return replace(run, inputs=_list_known_names(run.inputs), outputs=_list_known_names(run.outputs))


def _list_known_names(datasets: Mapping[DatasetKey, Document]) -> dict[DatasetKey, Document]:
    known: dict[DatasetKey, Document] = {}
    for (namespace, name), dataset in datasets.items():
        if "://" in namespace and not naming.path_uri(namespace, name):
            name = _NO_SCHEMA.sub(r"\1\1\2", name)
        known[namespace, name] = {**dataset, "name": name}
    return dict(sorted(known.items()))


def has_assets(run: Run) -> bool:
    """Return whether a task without lineage of its own has assets that are datasets."""
    return not run.inputs and not run.outputs and bool(_assets(run, "outlets"))


def with_assets(run: Run) -> Run:
    """Return the run; of a task without lineage of its own with its inlets and outlets as datasets."""
    if not has_assets(run):
        return run
    return replace(run, inputs=_assets(run, "inlets"), outputs=_assets(run, "outlets"))


def move_to_dag_run(run: Run, dag_run: str) -> Run:
    """Return a query of a task as a part of the task's DAG run, which its own event does not name."""
    return replace(run, facets={**run.facets, "airflow": {"dagRun": {"run_id": dag_run}}})


def sql_of(run: Run) -> str:
    """Return the SQL of a run, "" without it."""
    return str(as_mapping(run.job_facets.get("sql")).get("query") or "").strip()


def sql_without_datasets(run: Run) -> str:
    """Return the SQL of a run without a dataset, "" for any other run.

    Some hooks, such as that of Redshift's Data API, do not tell the provider which warehouse it is.
    """
    return "" if run.inputs or run.outputs else sql_of(run)


def changes_table(query: str) -> bool:
    """Return whether SQL begins with a statement that changes a table."""
    return _CHANGES_TABLE.match(query) is not None


def warehouse_of_task(run: Run) -> Warehouse | None:
    """Return the warehouse of a task whose queries have no datasets; None if nothing names it.

    It is that of the tables among its assets. A task with Redshift's Data API has the database, not the
    cluster: without assets, that is what a rule of the merge says.
    """
    task = task_of(run)
    is_data_api = text(task.get("operator_class")) == _DATA_API
    assets = {
        asset
        for asset in (*_assets(run, "inlets"), *_assets(run, "outlets"))
        if asset[0].partition(":")[0] in (("redshift",) if is_data_api else _TABLES)
    }
    namespaces = {namespace for namespace, _ in assets}
    databases = {name.split(".")[0] for _, name in assets if name.count(".") == 2}
    database = text(task.get("database")) or (databases.pop() if len(databases) == 1 else "")
    if len(namespaces) == 1:
        return Warehouse(namespaces.pop(), database)
    return Warehouse(naming.REDSHIFT_DATA_API, database) if is_data_api else None


def warehouse_of_query(run: Run) -> Warehouse | None:
    """Return the warehouse that a query's facet `externalQuery` names; None without one."""
    source = text(as_mapping(run.facets.get("externalQuery")).get("source"))
    return Warehouse(source, "") if source.partition("://")[0] in _TABLES else None


def checks(run: Run) -> Iterator[Check]:
    """Yield the outcome of each check of an operator of common-sql, of events without facets of it."""
    task = task_of(run)
    operator = text(task.get("operator_class"))
    if operator == _COLUMN_CHECKS:
        yield from _column_checks(as_mapping(task.get("column_mapping")))
    elif operator == _TABLE_CHECKS:
        yield from _table_checks(run)
    elif operator in _CHECKS:
        yield Check(_CHECKS[operator], "", str(run.job["name"]), _status(run))


def _column_checks(columns: Mapping[str, Any]) -> Iterator[Check]:
    for column, results in columns.items():
        for kind, values in as_mapping(results).items():
            success = as_mapping(values).get("success")
            # Without an outcome, the query failed before any check.
            status: Status = "error" if success is None else "passed" if success else "failed"
            yield Check(str(kind), str(column), "", status)


def _table_checks(run: Run) -> Iterator[Check]:
    query = sql_of(run)
    message = _message(run)
    status = _status(run)
    failed = frozenset(_FAILED_CHECK.findall(message))
    for name in dict.fromkeys(_CHECK_NAME.findall(query)):
        passed: Status = "passed" if failed and name not in failed else status
        yield Check("table_check", "", name, passed)


def _status(run: Run) -> Status:
    if not run.failed:
        return "passed"
    return "failed" if _TEST_FAILED.search(_message(run)) else "error"


def _message(run: Run) -> str:
    return str(as_mapping(run.facets.get("errorMessage")).get("message") or "")


def _assets(run: Run, which: str) -> dict[DatasetKey, Document]:
    """Return the datasets of a task's inlets or outlets; an asset that is only a name is none."""
    assets: dict[DatasetKey, Document] = {}
    for asset in _as_list(task_of(run).get(which)):
        key = dataset_of_asset(str(as_mapping(asset).get("uri") or ""))
        if key is not None:
            assets[key] = {"namespace": key[0], "name": key[1]}
    return dict(sorted(assets.items()))


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, str):
        return as_list(value)
    if len(value) > _MAX_ASSETS or not value.startswith("["):
        return []
    try:
        return as_list(ast.literal_eval(value))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return []


def dataset_of_asset(uri: str) -> DatasetKey | None:
    """Return namespace and name of the dataset that an asset's URI is, as the providers' converters do.

    None for a URI whose scheme names no data, such as ``report``.
    """
    try:
        parts = urlsplit(uri)
        path = unquote(parts.path).strip("/")
        authority = parts.netloc
    except ValueError:
        return None
    scheme = parts.scheme.lower()
    if not path:
        return None
    if scheme in _PATHS:
        if scheme == "file":
            return "file", f"/{path}"
        return f"{'gs' if scheme == 'gcs' else scheme}://{authority}", path
    if scheme == "bigquery" and authority:
        return "bigquery", ".".join((authority, *path.split("/")))
    if scheme in _TABLES and authority:
        return f"{scheme}://{authority}", ".".join(path.split("/"))
    return None
