"""Build and load as runs of a job on AWS Glue."""

from collections.abc import Mapping
from dataclasses import replace
from inspect import signature
from typing import TYPE_CHECKING, Any

from airflow.providers.amazon.aws.operators.glue import GlueJobOperator

from lineage_merge.airflow import attempts, cluster, glue_network, glue_trigger
from lineage_merge.airflow.attempts import Attempt, RunRecord
from lineage_merge.airflow.cluster import ClusterStep
from lineage_merge.airflow.compat import (
    AirflowException,
    AirflowFailException,
    show_rendered,
)
from lineage_merge.airflow.connections import aws, environment, existing_aws
from lineage_merge.airflow.openlineage_datasets import TaskDatasets
from lineage_merge.airflow.settings import (
    Merge,
    fail_if_permanent,
    root_folder,
    share_folder,
)

if TYPE_CHECKING:
    from lineage_merge.orchestration.stages import Step

JOB_NAME = "lineage_merge"
# Defaults of a job that is created.
_CREATED = {"WorkerType": "G.1X", "NumberOfWorkers": 2}
_GLUE_VERSION = "5.0"
# Seconds between polls of a deferred run, and number of polls, as in newer providers.
_WAITER = {"waiter_delay": 60, "waiter_max_attempts": 75}
# Several DAGs may use one job.
_CONCURRENT_RUNS = 20


class GlueStep(ClusterStep, GlueJobOperator):  # type: ignore[misc] # mypy runs without Airflow
    """A step as a run of a Glue job: `GlueJobOperator`, with arguments that are set at run time.

    `artifacts` in `merge`: the prefix of `lineage-merge publish`; empty: the job exists and has script and
    package. Of a job that is created: `vpc_connections` are names of Glue connections, `glue_version` is 5.0,
    5.1 or 6.0 (as of `lineage-merge publish --glue-version`). A try that finds the active run of an earlier
    try waits for it if the arguments are equal, and stops it otherwise.
    """

    template_fields = (*GlueJobOperator.template_fields, "merge")
    template_fields_renderers = {**GlueJobOperator.template_fields_renderers, "merge": "json"}  # noqa: RUF012
    script_args: dict[str, Any]
    waiter_delay: int
    waiter_max_attempts: int

    def __init__(
        self,
        *,
        step: "Step",
        merge: Merge,
        vpc_connections: glue_network.Connections = None,
        glue_version: str = _GLUE_VERSION,
        **options: Any,
    ) -> None:
        given = {
            "job_name": JOB_NAME,
            "job_desc": "one step of a merge of lineage",
            "concurrent_run_limit": _CONCURRENT_RUNS,
            "stop_job_run_on_kill": True,
            **options,
        }
        given["create_job_kwargs"] = glue_network.add_connections(
            {"GlueVersion": glue_version, **_CREATED, **(options.get("create_job_kwargs") or {})},
            vpc_connections,
            has_role=_has_role(options),
        )
        # Older providers lack these arguments, but the trigger here needs them.
        known = signature(GlueJobOperator.__init__).parameters
        waiter = {name: given.pop(name, default) for name, default in _WAITER.items() if name not in known}
        super().__init__(**given)
        for name, value in waiter.items():
            setattr(self, name, value)
        # Newer providers resume an earlier run without comparing its arguments.
        for name in ("durable", "resume_glue_job_on_retry"):
            if hasattr(self, name):
                setattr(self, name, False)
        self.step = step
        self.merge = merge
        self._record: RunRecord | None = None

    def execute(self, context: Mapping[str, Any]) -> Any:
        """Start a run, or find that of an earlier try, and wait for it; return its id."""
        if glue_network.lacks_a_name(self.create_job_kwargs, has_role=_has_role(vars(self))):
            raise AirflowFailException("engine_options of glue: vpc_connections: a template without a value")
        attempt, call = self.prepare(context)
        sent = call.arguments
        if self.merge["artifacts"]:
            published = cluster.read_published_index(self.merge)
            self.script_location = published["script"]
            sent = {**published["glue"], **sent}
        sent = {**sent, **self.script_args}
        record = self._join_run(attempts.digest(self.step, sent)) or RunRecord(
            attempt.name,
            attempt.folder,
            self.job_name,
            attempts.digest(self.step, sent),
            arguments=attempts.redact_secrets(sent),
            inputs=call.datasets.inputs,
            outputs=call.datasets.outputs,
        )
        self._set(record)
        self.script_args = sent
        self._glue.initialize_job = self._start(self._glue.initialize_job, context)
        with cluster.report_job_failure(self.merge, Attempt(record.attempt, record.folder)):
            super().execute(context)
            self._fail_if_stopped()
        return self._return_run(context, self._job_run_id)

    def execute_complete(self, context: Mapping[str, Any], event: dict[str, Any] | None = None) -> Any:
        """Complete a deferred run."""
        self.aws_conn_id = existing_aws(self.aws_conn_id)
        with fail_if_permanent(), environment(aws(self.merge.get("aws"))):
            record = attempts.read(root_folder(self.merge), self.step)
        if record is None:
            raise AirflowException(f"no record of the Glue run in {root_folder(self.merge)}")
        self._set(record)
        self._show(context)
        ended = event or {}
        with cluster.report_job_failure(self.merge, Attempt(record.attempt, record.folder)):
            if ended.get("status") != "success":
                raise AirflowException(_failure(record, ended))
        return self._return_run(context, record.run_id)

    def defer(self, **options: Any) -> None:
        """Wait in the triggerer, with a trigger that reports failure reasons and stops abandoned runs."""
        hook = {"aws_conn_id": self.aws_conn_id, "region_name": self.region_name}
        trigger = glue_trigger.GlueRunTrigger(
            self.job_name,
            str(self._job_run_id),
            float(self.waiter_delay),
            int(self.waiter_max_attempts),
            bool(self.stop_job_run_on_kill),
            {name: value for name, value in hook.items() if value or name == "aws_conn_id"},
        )
        super().defer(**{**options, "trigger": trigger})

    def on_kill(self) -> None:
        """Stop the run, if it was started."""
        if self._job_run_id:
            super().on_kill()

    @property
    def _glue(self) -> Any:
        """Return the provider's hook, whose name differs before 9.1."""
        return self.glue_job_hook if hasattr(type(self), "glue_job_hook") else self.hook

    def _join_run(self, digest: str) -> RunRecord | None:
        """Return the active run of an earlier try with equal arguments; stop any other active run."""
        with fail_if_permanent(), environment(aws(self.merge.get("aws"))):
            record = attempts.read(root_folder(self.merge), self.step)
        if record is None:
            return None
        client = self._glue.conn
        run_id = record.run_id or glue_trigger.run_of_attempt(client, record.job_name, record.attempt)
        state = glue_trigger.state(client, record.job_name, run_id) if run_id else ""
        if state not in glue_trigger.ACTIVE:
            return None
        if state != glue_trigger.STOPPING and (record.job_name, record.digest) == (self.job_name, digest):
            self.log.info("run %s of an earlier try is %s: waiting for it", run_id, state)
            return replace(record, run_id=run_id)
        self.log.info("run %s of an earlier try is %s: stopping it", run_id, state)
        if not glue_trigger.stop(client, record.job_name, run_id, self.job_poll_interval):
            raise AirflowException(f"run {run_id} of Glue job {record.job_name} does not stop")
        return None

    def _start(self, initialize: Any, context: Mapping[str, Any]) -> Any:
        """Return an `initialize_job` that records the run, and does not start a run that was found."""

        def start(script_arguments: Any = None, run_kwargs: Any = None) -> dict[str, str]:
            record = self._record
            if record is None:
                raise AirflowException("a Glue run without a record")
            if not record.run_id:
                # Recorded before the start, so that a later try finds the run of a killed worker.
                self._write(record)
                started = initialize(script_arguments, run_kwargs)
                record = self._record = replace(record, run_id=started["JobRunId"])
            self._write(record)
            self._show(context)
            return {"JobRunId": record.run_id}

        return start

    def _set(self, record: RunRecord) -> None:
        self._record = record
        self._datasets = TaskDatasets.from_pairs(record.inputs, record.outputs)

    def _write(self, record: RunRecord) -> None:
        with fail_if_permanent(), environment(aws(self.merge.get("aws"))):
            attempts.write(root_folder(self.merge), self.step, record)

    def _show(self, context: Mapping[str, Any]) -> None:
        if self._record:
            self.script_args = dict(self._record.arguments)
            show_rendered(context)

    def _fail_if_stopped(self) -> None:
        """Raise for a stopped run, which the provider treats as a success."""
        if not self.wait_for_completion or not self._record:
            return
        outcome = glue_trigger.outcome(self._glue.conn, self.job_name, self._record.run_id)
        if outcome["state"] != glue_trigger.SUCCEEDED:
            raise AirflowException(_failure(self._record, outcome))

    def _return_run(self, context: Mapping[str, Any], run_id: str | None) -> str | None:
        if self._record:
            share_folder(self.step, context, self._record.folder)
        return run_id


def _failure(record: RunRecord, ended: Mapping[str, Any]) -> str:
    state, message = ended.get("state") or "unknown", ended.get("message")
    return f"run {record.run_id} of Glue job {record.job_name}: {state}" + (f": {message}" if message else "")


def _has_role(options: Mapping[str, Any]) -> bool:
    return bool(options.get("iam_role_name") or options.get("iam_role_arn"))
