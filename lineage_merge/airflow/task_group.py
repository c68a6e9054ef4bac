"""The task group: wait, build, load, report."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from tempfile import gettempdir
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.airflow.compat import Asset, TaskGroup
from lineage_merge.airflow.local import LocalStep
from lineage_merge.airflow.report import ReportMerge
from lineage_merge.airflow.wait import WaitForSpline, WhenMissing

if TYPE_CHECKING:
    from lineage_merge.steps import Step

Engine = Literal["local", "glue", "emr_serverless"]
ENGINES = ("local", "glue", "emr_serverless")

# Templates, because a Variable that is read when a file is parsed costs a query each time.
ENVIRONMENT = "{{ var.value.get('lineage_merge_environment', '') }}"
CONFIG = "{{ var.value.get('lineage_merge_config', '') }}"
# One folder for each run: Hadoop takes no colon in a path, and a plus is a space to some.
_RUN = "{{ dag.dag_id }}/{{ run_id | replace(':', '') | replace('+', '_') }}/{{ ti.map_index }}"


def lineage_asset(dag_id: str) -> Any:
    """The lineage of a DAG in the graph, as an asset (Airflow 2: a dataset) that others may wait for."""
    return Asset(f"lineage-merge://graph/{dag_id}")


def lineage_merge_task_group(
    group_id: str = "lineage_merge",
    *,
    dag_name: str = "{{ dag.dag_id }}",
    environment: str = ENVIRONMENT,
    config: str = CONFIG,
    spline_applications: Sequence[str] | str | None = None,
    spline_labels: Mapping[str, Any] | None = None,
    dbt_manifests: Sequence[Mapping[str, str]] | None = None,
    settings: Mapping[str, Any] | None = None,
    engine: Engine = "local",
    folder: str = "",
    artifacts: str = "",
    engine_options: Mapping[str, Any] | None = None,
    arangodb_conn_id: str | None = None,
    gremlin_conn_id: str | None = None,
    aws_conn_id: str | None = "aws_default",
    wait: bool = True,
    wait_timeout: timedelta | float = timedelta(minutes=30),
    poke_interval: timedelta | float = timedelta(minutes=1),
    when_missing: WhenMissing = "fail",
    retries: int = 2,
    retry_delay: timedelta = timedelta(minutes=2),
    outlets: Sequence[Any] | None = None,
    **group_options: Any,
) -> Any:
    """Merge the lineage of a pipeline: ``[glue_task, dbt_task] >> lineage_merge_task_group("lineage")``.

    All texts are templates, in lists and mappings too. What is not given comes from the file
    `config`, and where to go from the connections `arangodb_default` and `gremlin_default`, when a
    task runs. `spline_applications` are names or globs; without them, and without labels, those are
    merged that the `GlueJobOperator`s anywhere upstream run. `settings` are further keys of the
    configuration, such as ``{"merge.fold": ["s3://*/tmp/*"]}``.

    `engine` is where Spark runs. ``"local"``: on the worker. ``"glue"``: as runs of a Glue job, with
    what `lineage-merge publish` put below `artifacts`. ``"emr_serverless"`` likewise. The operator
    takes `engine_options` (``GlueJobOperator``'s; ``EmrServerlessStartJobOperator``'s, of which
    `application_id` and `execution_role_arn` are needed). `folder` is where node and edge files lie
    between the steps: within reach of all workers.

    The task `report` returns counts and the first problems, and updates the assets `outlets`
    (`lineage_asset` of the DAG, if not given). Every step can be repeated. Raises `ValueError`.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine: expected one of {', '.join(ENGINES)}, found {engine!r}")
    if engine != "local" and not (folder or artifacts):
        raise ValueError(f"engine {engine}: give folder, or artifacts: where in S3 node and edge files go")
    if engine == "emr_serverless" and not artifacts:
        raise ValueError("engine emr_serverless: give artifacts: what lineage-merge publish --s3 was told")
    if engine == "local" and engine_options:
        raise ValueError("engine local: has no operator that would take engine_options")
    root = f"{artifacts.rstrip('/')}/runs" if artifacts else f"{gettempdir()}/lineage_merge"
    with TaskGroup(group_id, **group_options) as group:
        merge = {
            "folder": folder or f"{root}/{_RUN}/{group_id}",
            "artifacts": artifacts,
            "config": config,
            "dag_name": dag_name,
            "environment": environment,
            "applications": _listed(spline_applications),
            "labels": dict(spline_labels) if spline_labels else None,
            "dbt": [dict(each) for each in dbt_manifests] if dbt_manifests else None,
            "settings": dict(settings or {}),
            "arangodb": arangodb_conn_id,
            "gremlin": gremlin_conn_id,
            "aws": aws_conn_id,
        }
        common: dict[str, Any] = {"merge": merge, "retries": retries, "retry_delay": retry_delay}
        make = _step_of(engine, aws_conn_id, dict(engine_options or {}))
        build = make("build", common)
        if wait:
            waiting = WaitForSpline(
                task_id="wait",
                timeout=wait_timeout,
                poke_interval=poke_interval,
                when_missing=when_missing,
                **common,
            )
            waiting >> build
        report = ReportMerge(
            task_id="report",
            outlets=list(outlets) if outlets is not None else [lineage_asset(group.dag.dag_id)],
            **common,
        )
        build >> make("load", common) >> report
    return group


def _listed(names: Any) -> Any:
    """Names as Airflow renders them; what is known only in a run (an XCom) stays what it is."""
    return list(names) if isinstance(names, (tuple, list, set, frozenset)) else names


def _step_of(
    engine: Engine, aws_conn_id: str | None, options: dict[str, Any]
) -> "Callable[[Step, dict[str, Any]], Any]":
    if engine == "local":
        return lambda step, common: LocalStep(task_id=step, step=step, **common)
    operator: Any
    if engine == "glue":
        from lineage_merge.airflow.glue import GlueStep as operator  # noqa: N813 (one name for both)
    else:
        from lineage_merge.airflow.emr_serverless import EmrServerlessStep as operator  # noqa: N813
    return lambda step, common: operator(
        task_id=step, step=step, **{"aws_conn_id": aws_conn_id, **common, **options}
    )
