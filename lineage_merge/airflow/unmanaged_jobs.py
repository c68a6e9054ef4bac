"""Merge of unmanaged applications: those that no DAG merges, each under its DAG's name."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from glob import escape
from typing import TYPE_CHECKING, Any

from lineage_merge.airflow.compat import TaskGroup, task_group
from lineage_merge.airflow.local import MergeOperator
from lineage_merge.airflow.settings import fail_if_permanent, resolve_settings
from lineage_merge.airflow.task_group import (
    CONFIG,
    ENVIRONMENT,
    lineage_merge_task_group,
)

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.sources.airflow_support import ObservedJob

# Common labels with the DAG name.
LABELS = ("airflow.dag_id", "airflow.dag", "dag_id", "dag_name")
# Set by each merge itself, or not available.
_NOT_HERE = frozenset({"dag_name", "spline_applications", "spline_labels", "dbt_manifests", "wait"})


class FindUnmanagedJobs(MergeOperator):
    """Finds pending merges in the servers of sources and the graph.

    Returns the arguments `dag_name` and `spline_applications` of each. Deletes collected lineage of
    applications that a DAG manages now.
    """

    template_fields = ("merge", "labels", "exclude")
    ui_color = "#e6f1f2"

    def __init__(
        self,
        *,
        labels: Sequence[str],
        exclude: Sequence[str],
        lookback: timedelta,
        grace: timedelta,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.labels = labels
        self.exclude = exclude
        self.lookback = lookback
        self.grace = grace

    def execute(self, context: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the pending merges."""
        from lineage_merge.load.gremlin import configured_endpoint
        from lineage_merge.load.gremlin.connection import connect
        from lineage_merge.load.gremlin.remove_dag import remove
        from lineage_merge.load.result import Pipeline
        from lineage_merge.orchestration.unmanaged_jobs import plan
        from lineage_merge.questions.traversal.job_ownership import owners

        now = datetime.now(UTC)
        with fail_if_permanent(), resolve_settings(self.merge, self, context, here=True) as (_, config, _ids):
            observed = _list_observed_jobs(config, _ms(now - self.lookback), self.labels)
            graph = configured_endpoint.endpoint(config.gremlin)
            with connect(graph) as g:
                known = owners(g, config.environment)
            merges = plan(
                observed,
                known,
                collector=config.dag_name,
                exclude=self.exclude,
                not_after=_ms(now - self.grace),
            )
            for job in merges.duplicates:
                self.log.info("a DAG manages %s: deleting it from %s", job, config.dag_name)
                remove(graph, Pipeline(config.environment, config.dag_name, job))
        for due in merges.due:
            self.log.info("due: %s, for %s", due.dag_name, ", ".join(due.jobs))
        # The merge treats names as globs: escape them.
        return [
            {"dag_name": due.dag_name, "spline_applications": [*map(escape, due.jobs)]} for due in merges.due
        ]


def _list_observed_jobs(config: "Config", since: int, labels: Sequence[str]) -> "list[ObservedJob]":
    """Return the jobs that the servers of sources observed. Raises `ConfigError` without a server."""
    from lineage_merge.model.errors import ConfigError
    from lineage_merge.sources.registry import SOURCES

    supported = [(source, support) for source in SOURCES if (support := source.airflow())]
    answers = [
        support.observed(config.sources[source.key], since, labels)
        for source, support in supported
        if source.key in config.sources
    ]
    of_servers = [jobs for jobs in answers if jobs is not None]
    if not of_servers:
        names = " or ".join(source.name for source, _ in supported)
        raise ConfigError("", f"unmanaged applications require a live {names}: no server is configured")
    return [job for jobs in of_servers for job in jobs]


def _ms(moment: datetime) -> int:
    return int(moment.timestamp() * 1000)


def unmanaged_merge_task_group(
    group_id: str = "unmanaged",
    *,
    collector: str = "{{ dag.dag_id }}",
    labels: Sequence[str] = LABELS,
    exclude: Sequence[str] = (),
    lookback: timedelta = timedelta(days=2),
    grace: timedelta = timedelta(minutes=30),
    **merge: Any,
) -> Any:
    """Merge unmanaged applications: one merge per DAG name, in parallel.

    An application is managed by the DAG under whose name the graph has it. An unmanaged application is
    merged under the DAG name in one of the `labels` of its run or plan, else under `collector`. `exclude`:
    globs of applications to ignore. Writes within `grace` are not due yet: their own DAG may merge them.
    `lookback` should span several intervals of the schedule. `merge`: arguments of
    `lineage_merge_task_group`, except names and dbt. Raises `ValueError`.
    """
    wrong = sorted(_NOT_HERE & merge.keys())
    if wrong:
        raise ValueError(f"{', '.join(wrong)}: not supported for unmanaged applications")
    common = {name: merge[name] for name in ("retries", "retry_delay") if name in merge}
    with TaskGroup(group_id) as group:
        find = FindUnmanagedJobs(
            task_id="find",
            merge={
                "config": merge.get("config", CONFIG),
                "dag_name": collector,
                "environment": merge.get("environment", ENVIRONMENT),
                "arguments": {"spline.applications": ["*"]},
                "settings": merge.get("settings"),
                "connections": {
                    "arangodb_default": merge.get("arangodb_conn_id"),
                    "gremlin_default": merge.get("gremlin_conn_id"),
                },
                "aws": merge.get("aws_conn_id", "aws_default"),
            },
            labels=list(labels),
            exclude=list(exclude),
            lookback=lookback,
            grace=grace,
            **common,
        )

        @task_group(group_id="each")  # type: ignore[untyped-decorator] # as above
        def each(dag_name: Any, spline_applications: Any) -> None:
            lineage_merge_task_group(
                "merge", dag_name=dag_name, spline_applications=spline_applications, wait=False, **merge
            )

        each.expand_kwargs(find.output)
    return group
