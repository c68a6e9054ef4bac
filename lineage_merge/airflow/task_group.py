"""The task group: wait, archive, build, load, report."""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal

from lineage_merge.airflow.archive_history import ArchiveHistory
from lineage_merge.airflow.compat import Asset, TaskGroup
from lineage_merge.airflow.local import CheckPolicies, LocalStep
from lineage_merge.airflow.report import ReportMerge
from lineage_merge.airflow.report_check import (
    NEAR_MISS,
    POLICIES,
    REJECTED,
    RETIRE_REFUSED,
    VIOLATION,
    Policy,
)
from lineage_merge.airflow.wait import WaitForRuns, WhenMissing

if TYPE_CHECKING:
    from lineage_merge.orchestration.stages import Step

Engine = Literal["local", "glue", "emr_serverless"]
ENGINES = ("local", "glue", "emr_serverless")

# Templates: reading a Variable while a file is parsed costs a query each time.
ENVIRONMENT = "{{ var.value.get('lineage_merge_environment', '') }}"
CONFIG = "{{ var.value.get('lineage_merge_config', '') }}"
# One folder per run: Hadoop rejects colons in paths, and some clients decode a plus as a space.
_RUN = "{{ dag.dag_id }}/{{ run_id | replace(':', '') | replace('+', '_') }}/{{ ti.map_index }}"


def lineage_asset(dag_id: str) -> Any:
    """Return the asset (Airflow 2: dataset) of a DAG's lineage in the graph."""
    return Asset(f"lineage-merge://graph/{dag_id}")


def lineage_merge_task_group(
    group_id: str = "lineage_merge",
    *,
    dag_name: str = "{{ dag.dag_id }}",
    environment: str = ENVIRONMENT,
    config: str = CONFIG,
    spline_applications: Sequence[str] | str | None = None,
    spline_labels: Mapping[str, Any] | str | None = None,
    dbt_manifests: Sequence[Mapping[str, str]] | str | None = None,
    settings: Mapping[str, Any] | str | None = None,
    engine: Engine = "local",
    folder: str = "",
    artifacts: str = "",
    engine_options: Mapping[str, Any] | None = None,
    arangodb_conn_id: str | None = None,
    gremlin_conn_id: str | None = None,
    superset_conn_id: str | None = None,
    aws_conn_id: str | None = "aws_default",
    wait: bool = True,
    wait_deferrable: bool = False,
    wait_timeout: timedelta | float = timedelta(minutes=30),
    poke_interval: timedelta | float = timedelta(minutes=1),
    when_missing: WhenMissing = "fail",
    on_rejected: Policy = "fail",
    on_retire_refused: Policy = "fail",
    on_near_miss: Policy = "warn",
    check_policies: bool | Policy = False,
    archive_history: bool = False,
    page_url: str = "",
    trigger_rule: str = "all_success",
    retries: int = 2,
    retry_delay: timedelta = timedelta(minutes=2),
    outlets: Sequence[Any] | None = None,
    **group_options: Any,
) -> Any:
    """Merge the lineage of a pipeline: ``[glue_task, dbt_task] >> lineage_merge_task_group("lineage")``.

    Arguments that are only needed at run time may be templates or XComs, also in lists and mappings; a
    template of a list or mapping is parsed as YAML. Other settings come from the file `config`, and
    addresses from the connections `arangodb_default` and `gremlin_default`, at run time. `superset_conn_id`:
    a connection to Superset, which replaces the section `superset`.
    `spline_applications`: names or globs; without them and without labels, those of all upstream
    `GlueJobOperator`s. `settings`: further configuration keys, such as ``{"merge.collapse_datasets": ["s3://*/tmp/*"]}``.

    `engine`: where Spark runs. ``"local"``: on the worker. ``"glue"``: as runs of a Glue job, with the
    package that `lineage-merge publish` uploaded to `artifacts`. ``"emr_serverless"`` likewise.
    `engine_options`: arguments of ``GlueJobOperator`` or ``EmrServerlessStartJobOperator`` (which requires
    `application_id` and `execution_role_arn`); for Glue also `vpc_connections` and `glue_version`. `folder`
    must be accessible to all workers; each try of a build has a subfolder for node and edge files.

    The task `report` returns counts and the first problems, and updates the assets `outlets` (default:
    `lineage_asset` of the DAG). With rejected documents it fails after the graph was loaded, or warns:
    `on_rejected`. `on_retire_refused`: a load that would retire more than the limit writes nothing and
    fails, or the report warns. `on_near_miss`: datasets that are probably one and are not joined.
    `check_policies`: add a task that checks `policies` of the configuration on the datasets of the DAG after
    the load, where Spark runs (``"local"``: on the worker, without Spark). With violations it fails (True or
    ``"fail"``), or warns. `archive_history`: add a task before the build that stores Redshift's system views,
    for the query logs with an `archive`. `page_url`: address of the linked page. `trigger_rule`: of the
    group's first tasks. All steps are repeatable. Raises `ValueError`.
    """
    if engine not in ENGINES:
        raise ValueError(f"engine: must be one of {', '.join(ENGINES)}, not {engine!r}")
    if engine != "local" and not (folder or artifacts):
        raise ValueError(f"engine {engine}: folder or artifacts is required, in S3")
    if engine == "emr_serverless" and not artifacts:
        raise ValueError(
            "engine emr_serverless: artifacts is required: the prefix of lineage-merge publish --s3"
        )
    if engine == "local" and engine_options:
        raise ValueError("engine local: engine_options are not supported")
    policies = {REJECTED: on_rejected, RETIRE_REFUSED: on_retire_refused, NEAR_MISS: on_near_miss}
    for kind, policy in policies.items():
        # The report checks templates and XComs.
        if isinstance(policy, str) and "{" not in policy and policy not in POLICIES:
            raise ValueError(f"on_{kind.replace('-', '_')}: must be {' or '.join(POLICIES)}, not {policy!r}")
    if check_policies:
        policies[VIOLATION] = _violation_policy(check_policies)
    with TaskGroup(group_id, **group_options) as group:
        merge = {
            "folder": folder,
            "artifacts": artifacts,
            "run": f"{_RUN}/{group_id}",
            "config": config,
            "dag_name": dag_name,
            "environment": environment,
            "arguments": {
                "spline.applications": _copy_list(spline_applications),
                "spline.labels": _copy_list(spline_labels),
                "dbt": _copy_list(dbt_manifests),
            },
            "settings": _copy_list(settings),
            "policies": policies,
            "page": page_url,
            "connections": {
                "arangodb_default": arangodb_conn_id,
                "gremlin_default": gremlin_conn_id,
                "superset_default": superset_conn_id,
            },
            "aws": aws_conn_id,
        }
        common: dict[str, Any] = {"merge": merge, "retries": retries, "retry_delay": retry_delay}
        first: dict[str, Any] = {**common, "trigger_rule": trigger_rule}
        make = _step_of(engine, aws_conn_id, dict(engine_options or {}))
        build = make("build", common if wait or archive_history else first)
        if wait:
            waiting = WaitForRuns(
                task_id="wait",
                deferrable=wait_deferrable,
                timeout=wait_timeout,
                poke_interval=poke_interval,
                when_missing=when_missing,
                doc_md=DOCS["wait"],
                **first,
            )
            waiting >> build
        if archive_history:
            archiving = ArchiveHistory(task_id="archive_history", doc_md=DOCS["archive_history"], **first)
            archiving >> build
        report = ReportMerge(
            task_id="report",
            outlets=list(outlets) if outlets is not None else [lineage_asset(group.dag.dag_id)],
            doc_md=DOCS["report"],
            **common,
        )
        load = make("load", common)
        build >> load >> report
        if check_policies:
            load >> make("check", common)
    return group


# Documentation of each task.
DOCS = {
    "wait": """\
Waits until Spline's database has a successful write of every upstream Spark run, which the agent reports
late. Fails after the timeout with the missing runs; `when_missing="merge"` continues without them.
""",
    "archive_history": """\
Has Redshift store its system views in S3, which keep seven days, for the query logs of the configuration with
an `archive`: from the end of the last complete interval to now. Safe to clear at any time.
""",
    "build": """\
Reads and merges the sources, and writes node and edge files to a folder of this try. A failure shows the
reason of the job. Safe to clear: an active run of an earlier try is resumed if its arguments are equal, and
stopped otherwise.
""",
    "load": """\
Writes the differences between the files of the build and the graph, and retires lineage that no longer
exists. A load that would retire more than the limit writes nothing. Safe to clear at any time.
""",
    "check": """\
Checks the policies of the configuration on the datasets of this DAG in the graph, and logs violations with
their path. Fails if a policy with the severity error is violated (`check_policies`). Safe to clear at any
time.
""",
    "report": """\
Logs the report of the merge, returns the counts, and updates the asset of the lineage. Fails if documents
were rejected (`on_rejected`), after the graph was loaded.
""",
}


def _violation_policy(check_policies: bool | Policy) -> Policy:
    """Return the policy of violations; True: the default. Raises `ValueError`."""
    policy: Policy = "fail" if check_policies is True else check_policies or "fail"
    if "{" not in policy and policy not in POLICIES:
        raise ValueError(f"check_policies: must be True, False, {' or '.join(POLICIES)}, not {policy!r}")
    return policy


def _copy_list(given: Any) -> Any:
    """Return a copy that Airflow can render; templates and XComs stay unchanged."""
    if isinstance(given, Mapping):
        return {name: _copy_list(value) for name, value in given.items()}
    return [_copy_list(part) for part in given] if isinstance(given, (tuple, list, set, frozenset)) else given


def _local_step(step: "Step", common: dict[str, Any]) -> Any:
    if step == "check":
        return CheckPolicies(task_id=step, doc_md=DOCS[step], **common)
    return LocalStep(task_id=step, step=step, doc_md=DOCS[step], **common)


def _step_of(
    engine: Engine, aws_conn_id: str | None, options: dict[str, Any]
) -> "Callable[[Step, dict[str, Any]], Any]":
    if engine == "local":
        return _local_step
    operator: Any
    if engine == "glue":
        from lineage_merge.airflow.glue import GlueStep as operator  # noqa: N813 (one name for both)
    else:
        from lineage_merge.airflow.emr_serverless import EmrServerlessStep as operator  # noqa: N813
    return lambda step, common: operator(
        task_id=step,
        step=step,
        **{"aws_conn_id": aws_conn_id, "doc_md": DOCS[step], **common, **options},
    )
