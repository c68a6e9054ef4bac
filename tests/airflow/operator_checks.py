"""Checks of operators and settings inside an environment with Airflow, without a scheduler and without Spark.

    python -m pytest --noconftest tests/airflow/operator_checks.py

`check_dag.py` runs them after `airflow db migrate`. The name keeps them out of the suite.
"""

# mypy: disable-error-code="import-not-found"

import asyncio
import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest

from lineage_merge.airflow import (
    cluster,
    connections,
    lineage_asset,
    lineage_merge_task_group,
    merge_counts,
    settings,
)
from lineage_merge.airflow import glue as glue_module
from lineage_merge.airflow import glue_trigger as trigger_module
from lineage_merge.airflow.archive_history import ArchiveHistory
from lineage_merge.airflow.attempts import Attempt
from lineage_merge.airflow.compat import (
    AirflowException,
    AirflowFailException,
    AirflowSensorTimeout,
    BaseTrigger,
    task_group,
)
from lineage_merge.airflow.emr_serverless import EmrServerlessStep
from lineage_merge.airflow.glue_trigger import GlueRunTrigger
from lineage_merge.airflow.local import CheckPolicies
from lineage_merge.airflow.report import ReportMerge
from lineage_merge.airflow.wait import RunsTrigger, WaitForRuns
from lineage_merge.infra import storage
from lineage_merge.model.errors import (
    ConfigError,
    PolicyViolated,
    SourceDenied,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.orchestration import policy_check, stages
from lineage_merge.sources.airflow_support import GlueRuns
from lineage_merge.sources.query_log.logs import archive
from lineage_merge.sources.spline.airflow_support import SUPPORT
from lineage_merge.sources.spline.settings import Arango, Spline

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow import DAG
try:
    from airflow.providers.standard.operators.empty import EmptyOperator
except ImportError:
    from airflow.operators.empty import EmptyOperator

GRAPH = {"gremlin.endpoint": "ws://localhost:8182/gremlin"}
NAMESPACE = "redshift://wh.us-east-1:5439"


def merge_of(**given: Any) -> dict[str, Any]:
    return {"folder": "s3://lineage/runs", "dag_name": "sales", "environment": "dev", "aws": None, **given}


def resolve(merge: dict[str, Any]) -> Any:
    """The configuration of a step of a group without tasks before it."""
    task = SimpleNamespace(get_flat_relatives=lambda upstream: [])
    context = {"ti": SimpleNamespace(), "dag_run": SimpleNamespace(dag_id="sales")}
    with settings.resolve_settings(merge, task, context, here=False) as found:
        return found.config


@pytest.mark.parametrize(
    "given",
    [
        {"spline.agent": "s3://lineage/agent/", "spline.applications": ["sales_*"]},
        {"openlineage.events": "s3://lineage/events/"},
        {"hive.log": "s3://logs/hive/"},
        {"sql": [{"path": "s3://sql/", "namespace": NAMESPACE, "dialect": "redshift"}]},
    ],
)
def test_a_merge_of_files_needs_no_connection(given: dict[str, Any]) -> None:
    config = resolve(merge_of(settings={**GRAPH, **given}))

    assert sorted(config.sources) == [next(iter(given)).partition(".")[0]]


def test_a_merge_without_sources_asks_for_spline() -> None:
    with pytest.raises(ConfigError, match="no connection arangodb_default in Airflow"):
        resolve(merge_of(settings=GRAPH))


@pytest.mark.parametrize("step", ["build", "load"])
def test_a_configured_history_is_passed_on_with_the_run_of_airflow(step: Any) -> None:
    given = {
        **GRAPH,
        "openlineage.events": "s3://lineage/events/",
        "history.location": "s3://lineage/history",
    }
    task = SimpleNamespace(get_flat_relatives=lambda upstream: [])
    run = SimpleNamespace(dag_id="sales", run_id="manual__1", logical_date="2026-01-31T00:00:00+00:00")
    attempt = Attempt("try-1", "s3://lineage/runs/try-1")
    merge = merge_of(settings=given)

    call = cluster.job_call(step, merge, task, {"ti": SimpleNamespace(), "dag_run": run}, attempt)
    assert call.arguments["--history-location"] == "s3://lineage/history"
    assert call.arguments["--history-run-id"] == "manual__1"
    assert call.arguments["--history-logical-date"] == "2026-01-31T00:00:00+00:00"

    on_disk = merge_of(settings={**given, "history.location": "history"})
    with pytest.raises(AirflowFailException, match=r"history\.location: a cluster needs s3://"):
        cluster.job_call(step, on_disk, task, {"ti": SimpleNamespace(), "dag_run": run}, attempt)


class Glue:
    """A client of Glue with some runs; a run that is started is RUNNING, one that is stopped STOPPED."""

    class exceptions:  # noqa: N801 (as boto3 has it)
        class EntityNotFoundException(Exception):
            pass

    def __init__(self, *runs: dict[str, Any]) -> None:
        self.runs = {run["Id"]: run for run in runs}
        self.started: list[dict[str, Any]] = []
        self.stopped: list[str] = []

    def get_job_run(self, JobName: str, RunId: str, **_: Any) -> dict[str, Any]:  # noqa: N803
        if RunId not in self.runs:
            raise self.exceptions.EntityNotFoundException(RunId)
        return {"JobRun": self.runs[RunId]}

    def get_paginator(self, _name: str) -> Any:
        return SimpleNamespace(paginate=lambda **_: [{"JobRuns": list(self.runs.values())}])

    def batch_stop_job_run(self, JobName: str, JobRunIds: list[str]) -> dict[str, Any]:  # noqa: N803
        self.stopped += JobRunIds
        for run_id in JobRunIds:
            self.runs[run_id] = {**self.runs[run_id], "JobRunState": "STOPPED"}
        return {"SuccessfulSubmissions": JobRunIds}

    def start(self, arguments: Any = None, _kwargs: Any = None) -> dict[str, str]:
        run_id = f"jr_{len(self.runs) + 1}"
        self.started.append(dict(arguments))
        self.runs[run_id] = {"Id": run_id, "JobRunState": "RUNNING", "Arguments": dict(arguments)}
        return {"JobRunId": run_id}


class Hook:
    """The provider's hook, over that client; a wait ends with `end`."""

    conn_region_name, conn_partition = "us-east-1", "aws"

    def __init__(self, client: Glue, end: str) -> None:
        self.conn = client
        self.end = end
        self.initialize_job = client.start

    def job_completion(self, _job: str, run_id: str, *_args: Any) -> dict[str, str]:
        self.conn.runs[run_id]["JobRunState"] = self.end
        if self.end == "FAILED":
            raise AirflowException("job failure")
        return {"JobRunState": self.end, "JobRunId": run_id}


class Instance:
    """A task instance of one DAG run, with XComs."""

    dag_id, task_id, run_id, map_index = "sales", "lineage.build", "manual", -1

    def __init__(self, try_number: int) -> None:
        self.try_number = try_number
        self.xcoms: dict[str, Any] = {}

    def xcom_push(self, key: str, value: Any) -> None:
        self.xcoms[key] = value


class Stored:
    """What `storage` reads and writes."""

    def __init__(self) -> None:
        self.files: dict[str, str] = {}

    def read_text(self, location: str) -> str:
        if location not in self.files:
            raise SourceMissing(location)
        return self.files[location]

    def write_text(self, location: str, text: str) -> None:
        self.files[location] = text


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    found = Stored()
    monkeypatch.setattr(storage, "read_text", found.read_text)
    monkeypatch.setattr(storage, "write_text", found.write_text)
    monkeypatch.setattr(glue_module, "show_rendered", lambda context: None)
    return found


ROOT = "s3://lineage/runs/sales/manual/-1/lineage"


def step_of(client: Glue, end: str = "SUCCEEDED", **options: Any) -> Any:
    merge = merge_of(
        settings={**GRAPH, "openlineage.events": "s3://lineage/events/"},
        run="sales/manual/-1/lineage",
        artifacts="",
    )
    hook = Hook(client, end)
    kind = type("Step", (glue_module.GlueStep,), {"hook": hook, "glue_job_hook": hook})
    step = kind(task_id="build", step="build", merge=merge, aws_conn_id=None, **options)
    step.get_flat_relatives = lambda upstream: []
    step.job_poll_interval = 0
    return step


def run_try(client: Glue, number: int, **options: Any) -> Instance:
    instance = Instance(number)
    step_of(client, **options).execute({"ti": instance, "dag_run": SimpleNamespace(dag_id="sales")})
    return instance


def killed_during(client: Glue, state: str = "RUNNING") -> None:
    """Start a run as a worker does that is killed while it waits."""

    class Killed(BaseException):
        pass

    class DyingHook(Hook):
        def job_completion(self, *_args: Any) -> Any:
            raise Killed

    step = step_of(client)
    hook = DyingHook(client, "")
    type(step).hook = type(step).glue_job_hook = hook
    with pytest.raises(Killed):
        step.execute({"ti": Instance(1), "dag_run": SimpleNamespace(dag_id="sales")})
    client.runs["jr_1"]["JobRunState"] = state


def test_a_second_try_waits_for_the_run_that_a_killed_worker_started(stored: Stored) -> None:
    client = Glue()
    killed_during(client)

    instance = run_try(client, 2)

    assert [each["--folder"] for each in client.started] == [f"{ROOT}/try-1"]
    assert instance.xcoms["folder"] == f"{ROOT}/try-1"
    assert client.stopped == []


def test_a_second_try_finds_a_run_whose_id_was_never_recorded(stored: Stored) -> None:
    client = Glue()
    killed_during(client)
    location = f"{ROOT}/build.run.json"
    stored.files[location] = json.dumps({**json.loads(stored.files[location]), "run_id": ""})

    run_try(client, 2)

    assert len(client.started) == 1


def test_a_second_try_that_does_something_else_stops_the_first_run(stored: Stored) -> None:
    client = Glue()
    killed_during(client)

    instance = run_try(client, 2, script_args={"--strict": "true"})

    assert client.stopped == ["jr_1"]
    assert [each["--folder"] for each in client.started] == [f"{ROOT}/try-1", f"{ROOT}/try-2"]
    assert instance.xcoms["folder"] == f"{ROOT}/try-2"


@pytest.mark.parametrize("state", ["FAILED", "STOPPED", "TIMEOUT", "SUCCEEDED"])
def test_a_run_that_has_ended_is_not_joined(stored: Stored, state: str) -> None:
    client = Glue()
    killed_during(client, state)

    assert run_try(client, 2).xcoms["folder"] == f"{ROOT}/try-2"
    assert client.stopped == []


def test_a_run_that_is_being_stopped_is_not_joined(stored: Stored) -> None:
    client = Glue()
    killed_during(client, "STOPPING")

    assert run_try(client, 2).xcoms["folder"] == f"{ROOT}/try-2"


def test_a_run_that_was_stopped_is_no_success(stored: Stored) -> None:
    with pytest.raises(AirflowException, match=r"run jr_1 of Glue job lineage_merge: STOPPED"):
        run_try(Glue(), 1, end="STOPPED")


def test_the_rendered_arguments_are_those_that_were_sent(stored: Stored) -> None:
    client = Glue()
    step = step_of(client, script_args={"--extra": "wss://user:hunter2@graph:8182"})
    step.execute({"ti": Instance(1), "dag_run": SimpleNamespace(dag_id="sales")})

    (sent,) = client.started
    assert sent["--extra"] == "wss://user:hunter2@graph:8182"
    assert step.script_args == {**sent, "--extra": "wss://graph:8182"}
    assert "hunter2" not in json.dumps([step.script_args, stored.files])


def deferred_event(state: str, message: str = "") -> dict[str, Any]:
    """The event of the trigger for a run in this state."""
    trigger = GlueRunTrigger("lineage_merge", "jr_1", 0, 3, True, {})
    client = Glue({"Id": "jr_1", "JobRunState": state, "ErrorMessage": message})
    trigger._client = lambda: client  # type: ignore[method-assign]

    async def first() -> Any:
        async for event in trigger.run():
            return event.payload
        return None

    return asyncio.run(first())


@pytest.mark.parametrize(
    ("state", "status"),
    [("SUCCEEDED", "success"), ("FAILED", "failed"), ("STOPPED", "failed"), ("RUNNING", "error")],
)
def test_the_trigger_always_ends_in_an_event(state: str, status: str) -> None:
    event = deferred_event(state, "out of memory")

    assert (event["status"], event["state"], event["run_id"]) == (status, state, "jr_1")


def test_a_failed_deferred_run_shows_the_reason_that_the_job_left(stored: Stored) -> None:
    killed_during(Glue())
    stored.files[f"{ROOT}/try-1/failed.json"] = json.dumps(
        {"attempt": "sales/lineage.build/manual/-1/1", "message": "no permission", "permanent": True}
    )

    with pytest.raises(AirflowFailException, match=r"^no permission$"):
        step_of(Glue()).execute_complete({"ti": Instance(1)}, deferred_event("FAILED"))


def test_a_failed_deferred_run_without_a_reason_may_be_retried(stored: Stored) -> None:
    killed_during(Glue())

    with pytest.raises(AirflowException, match="jr_1 of Glue job lineage_merge: FAILED: lost") as raised:
        step_of(Glue()).execute_complete({"ti": Instance(1)}, deferred_event("FAILED", "lost"))
    assert not isinstance(raised.value, AirflowFailException)


@pytest.mark.parametrize(("deferred", "stopped"), [(True, []), (False, ["jr_1"])])
def test_a_cancelled_trigger_stops_the_run_of_a_task_that_is_not_deferred_any_more(
    monkeypatch: pytest.MonkeyPatch, deferred: bool, stopped: list[str]
) -> None:
    client = Glue({"Id": "jr_1", "JobRunState": "RUNNING"})
    trigger = GlueRunTrigger("lineage_merge", "jr_1", 60, 3, True, {})
    trigger._client = lambda: client  # type: ignore[method-assign]

    async def is_deferred(_instance: Any) -> bool:
        await asyncio.sleep(0.3)
        return deferred

    monkeypatch.setattr(trigger_module, "is_deferred", is_deferred)

    async def cancel() -> None:
        async def wait() -> None:
            async for _ in trigger.run():
                pass

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.3)
        task.cancel()
        await asyncio.sleep(0.1)
        task.cancel()  # as Airflow 3.0 does until the trigger has ended
        with pytest.raises(asyncio.CancelledError):
            await task
        # Airflow 3.3 and newer call this themselves, where a user acted on the task.
        if hasattr(BaseTrigger, "on_kill") and not deferred:
            assert client.stopped == []
            await trigger.on_kill()

    asyncio.run(cancel())
    assert client.stopped == stopped


def test_the_waiter_of_a_deferred_glue_run_takes_the_same_arguments_with_each_provider() -> None:
    merge = {"folder": "s3://lineage/runs", "artifacts": ""}
    with DAG("waiter", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)):
        plain = glue_module.GlueStep(task_id="plain", step="build", merge=merge)
        given = glue_module.GlueStep(
            task_id="given", step="build", merge=merge, waiter_delay=1, waiter_max_attempts=600
        )
    assert (plain.waiter_delay, plain.waiter_max_attempts) == (60, 75)
    assert (given.waiter_delay, given.waiter_max_attempts) == (1, 600)


def test_a_group_takes_xcoms_and_templates_wherever_a_value_may_come_from_a_run() -> None:
    with DAG("xcoms", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
        source = EmptyOperator(task_id="source")
        lineage_merge_task_group(
            "lineage",
            dbt_manifests=source.output,
            settings=source.output,
            spline_labels=source.output,
            spline_applications=source.output,
            folder="{{ var.value.folder }}",
            on_rejected="{{ params.policy }}",  # type: ignore[arg-type]  # a template
            trigger_rule="all_done",
        )

    rules = {task.task_id: str(getattr(task.trigger_rule, "value", task.trigger_rule)) for task in dag.tasks}
    assert rules == {
        "source": "all_success",
        "lineage.wait": "all_done",
        "lineage.build": "all_success",
        "lineage.load": "all_success",
        "lineage.report": "all_success",
    }
    for task in dag.tasks[1:]:
        assert task.doc_md, task.task_id
        assert "source" in task.upstream_task_ids, task.task_id


@pytest.mark.parametrize(
    "dbt",
    [
        [{"manifest": "s3://dbt/manifest.json", "namespace": NAMESPACE}],
        "[{'manifest': 's3://dbt/manifest.json', 'namespace': '" + NAMESPACE + "'}]",
    ],
)
@pytest.mark.parametrize(
    "given",
    [
        {"strict": True, "gremlin.endpoint": "ws://localhost:8182/gremlin"},
        "{'strict': True, 'gremlin.endpoint': 'ws://localhost:8182/gremlin'}",
    ],
)
def test_what_an_xcom_holds_and_what_a_template_makes_of_it_are_one_configuration(
    dbt: Any, given: Any
) -> None:
    config = resolve(merge_of(arguments={"dbt": dbt}, settings=given))

    assert [each.manifest for each in config.sources["dbt"]] == ["s3://dbt/manifest.json"]
    assert config.strict is True


@pytest.mark.parametrize(
    ("given", "policy"), [(True, "fail"), ("warn", "warn"), ("{{ var.value.p }}", "{{ var.value.p }}")]
)
@pytest.mark.parametrize("engine", ["local", "glue", "emr_serverless"])
def test_a_group_can_check_policies_after_the_load(engine: Any, given: Any, policy: str) -> None:
    options = {"emr_serverless": {"application_id": "a", "execution_role_arn": "r"}}.get(engine)
    with DAG("checked", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
        lineage_merge_task_group(
            "lineage",
            engine=engine,
            artifacts="s3://lineage/artifacts",
            engine_options=options,
            check_policies=given,
            wait=False,
        )

    tasks = {task.task_id: task for task in dag.tasks}
    assert sorted(tasks) == [f"lineage.{step}" for step in ("build", "check", "load", "report")]
    check = tasks["lineage.check"]
    assert (check.upstream_task_ids, check.downstream_task_ids) == ({"lineage.load"}, set())
    assert check.merge["policies"]["policy-violation"] == policy
    assert check.doc_md


@pytest.mark.parametrize("wait", [True, False])
def test_a_group_can_archive_the_history_before_the_build(wait: bool) -> None:
    with DAG("archived", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
        before = EmptyOperator(task_id="dbt")
        before >> lineage_merge_task_group(
            "lineage", archive_history=True, wait=wait, trigger_rule="all_done"
        )

    tasks = {task.task_id: task for task in dag.tasks}
    archiving = tasks["lineage.archive_history"]
    assert (archiving.upstream_task_ids, archiving.downstream_task_ids) == ({"dbt"}, {"lineage.build"})
    assert (archiving.trigger_rule, tasks["lineage.build"].trigger_rule) == ("all_done", "all_success")
    assert ("lineage.wait" in tasks) == wait


@pytest.mark.parametrize("failed", [0, 2])
def test_the_archive_of_each_cluster_is_written_and_the_first_failure_fails_the_task(
    monkeypatch: pytest.MonkeyPatch, failed: int
) -> None:
    def archive_all(logs: Any, _now: Any, _on_progress: Any) -> Any:
        done = [archive.Archived(log.cluster, log.path, ("monday",), ()) for log in logs]
        return done, [SourceUnreachable(f"no connection {number}") for number in range(failed)]

    monkeypatch.setattr(archive, "archive_all", archive_all)
    log = {"format": "redshift", "cluster": "wh", "database": "dw", "namespace": NAMESPACE}
    logs = [{**log, "archive": "s3://lineage/query_log"}, {**log, "cluster": "unarchived"}]
    task = ArchiveHistory(
        task_id="lineage.archive_history", merge=merge_of(settings={**GRAPH, "query_log": logs})
    )
    task.get_flat_relatives = lambda upstream: []
    context = {"ti": SimpleNamespace(), "dag_run": SimpleNamespace(dag_id="sales")}

    if failed:
        with pytest.raises(SourceUnreachable, match="no connection 0"):
            task.execute(context)
    else:
        assert task.execute(context) == {"wh": ["monday"]}


def test_a_group_checks_no_policies_by_default() -> None:
    with DAG("unchecked", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:
        lineage_merge_task_group("lineage")
    assert "lineage.check" not in {task.task_id for task in dag.tasks}
    ignored: Any = "ignore"
    with pytest.raises(ValueError, match="check_policies: must be True, False, fail or warn, not 'ignore'"):
        lineage_merge_task_group("lineage", check_policies=ignored)


@pytest.mark.parametrize("policy", ["fail", "warn"])
def test_violations_fail_the_check_on_the_worker_or_warn(
    monkeypatch: pytest.MonkeyPatch, stored: Stored, policy: str
) -> None:
    def check(config: Any, folder: str, _on_progress: Any) -> Any:
        stored.files[f"{folder}/policies.json"] = json.dumps({"errors": 2, "passed": False, "results": [1]})
        raise PolicyViolated(f"{config.policies[0].name}: 2 errors")

    monkeypatch.setattr(policy_check, "check", check)
    policies = [{"name": "owned", "datasets": "*", "must_have": "owner"}]
    events = {"openlineage.events": "s3://lineage/events/"}
    merge = merge_of(
        settings={**GRAPH, **events, "policies": policies}, policies={"policy-violation": policy}
    )
    task = CheckPolicies(task_id="lineage.check", merge=merge)
    task.get_flat_relatives = lambda upstream: []
    instance = ReportInstance(1)
    instance.task_id = "lineage.check"
    context = {"ti": instance, "dag_run": SimpleNamespace(dag_id="sales")}
    if policy == "fail":
        with pytest.raises(AirflowFailException, match=r"^owned: 2 errors$"):
            task.execute(context)
    else:
        assert task.execute(context) == {"errors": 2, "passed": False}


@pytest.mark.parametrize("policy", ["fail", "warn"])
def test_violations_of_a_check_on_a_cluster_fail_or_warn(stored: Stored, policy: str) -> None:
    attempt = Attempt("sales/lineage.check/manual/-1/1", f"{ROOT}/try-1")
    stored.files[f"{attempt.folder}/failed.json"] = json.dumps(
        {"attempt": attempt.name, "message": "2 errors", "permanent": True, "exit_code": 14}
    )

    def fail() -> None:
        with cluster.report_job_failure(merge_of(policies={"policy-violation": policy}), attempt):
            raise AirflowException("job failure")

    if policy == "fail":
        with pytest.raises(AirflowFailException, match=r"^2 errors$"):
            fail()
    else:
        fail()


@pytest.mark.parametrize("policy", ["on_rejected", "on_retire_refused", "on_near_miss"])
def test_a_wrong_policy_is_refused_when_the_file_is_parsed(policy: str) -> None:
    arguments: dict[str, Any] = {policy: "ignore"}
    with pytest.raises(ValueError, match=f"{policy}: must be fail or warn, not 'ignore'"):
        lineage_merge_task_group("lineage", **arguments)


def test_a_missing_default_connection_to_aws_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    assert connections.aws("aws_default") == {}
    assert "Unable to find AWS Connection" not in caplog.text


def test_the_hooks_for_openlineage_name_the_datasets(stored: Stored) -> None:
    step = step_of(Glue())
    step.execute({"ti": Instance(1), "dag_run": SimpleNamespace(dag_id="sales")})

    found = step.get_openlineage_facets_on_complete(None)
    assert [(each.namespace, each.name) for each in found.inputs] == [("s3://lineage", "events")]
    assert [(each.namespace, each.name) for each in found.outputs] == [
        ("s3://lineage", "runs/sales/manual/-1/lineage/try-1")
    ]


REPORT = {
    "read": {"dbt manifests": 2},
    "nodes": {"table": 7},
    "edges": {"feeds": 18},
    "joined": [],
    "totals": {"rejected": 1, "no-consumer": 1},
    "problems": [
        {"kind": "rejected", "document": "damaged.json", "field": "nodes.a", "message": "expected an object"},
        {"kind": "no-consumer", "document": "s3://b/a", "field": "", "message": "nothing reads it"},
    ],
}
WRITTEN = {"nodes": 7, "edges": 18, "requests": 2, "seconds": 1.5}


class ReportInstance(Instance):
    """The instance of the task `report`, after a build."""

    task_id = "lineage.report"

    def xcom_pull(self, task_ids: str, key: str = "return_value", map_indexes: int = -1) -> Any:
        return {"lineage.build": f"{ROOT}/try-1", self.task_id: self.xcoms.get(key)}[task_ids]


def report_with(
    monkeypatch: pytest.MonkeyPatch, policies: dict[str, str], written: dict[str, Any] | None = None
) -> tuple[ReportInstance, Any]:
    """Run the task; returns its instance, and the asset event or the error."""
    monkeypatch.setattr(stages, "outcomes", lambda folder: (REPORT, written or WRITTEN))
    asset = lineage_asset("sales")
    task = ReportMerge(
        task_id="report", merge={"policies": policies, "page": "https://page", "aws": None}, outlets=[asset]
    )
    instance, event = ReportInstance(1), SimpleNamespace(extra={})
    # Assets of Airflow 3 have no hash.
    events = type("Events", (), {"__getitem__": lambda _, outlet: {asset.uri: event}[outlet.uri]})()
    context = {"ti": instance, "outlet_events": events}
    try:
        task.execute(context)
    except AirflowException as error:
        return instance, error
    return instance, event


def test_a_rejected_document_fails_the_report_with_counts_for_callbacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance, error = report_with(monkeypatch, {"rejected": "fail"})

    assert isinstance(error, AirflowFailException)
    assert str(error) == "1 rejected documents: damaged.json: nodes.a: expected an object"
    counts = merge_counts({"ti": instance, "exception": error})
    assert counts == merge_counts({"ti": instance}) == instance.xcoms["return_value"]
    assert counts is not None
    assert counts["totals"] == {"rejected": 1, "no-consumer": 1}
    assert counts["written"]["nodes"] == 7


def test_a_report_that_only_warns_updates_the_asset_with_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    instance, event = report_with(monkeypatch, {"rejected": "warn"})

    assert event.extra == {
        "read": {"dbt manifests": 2},
        "nodes": {"table": 7},
        "edges": {"feeds": 18},
        "totals": {"rejected": 1, "no-consumer": 1},
        "written": instance.xcoms["return_value"]["written"],
    }
    assert instance.xcoms["lineage_page_url"] == "https://page"
    assert instance.xcoms["lineage_report_url"] == (
        "https://console.aws.amazon.com/s3/object/lineage"
        "?prefix=runs/sales/manual/-1/lineage/try-1/report.json"
    )


@pytest.mark.parametrize(("policy", "fails"), [("fail", True), ("warn", False)])
def test_a_refused_retirement_follows_its_policy(
    monkeypatch: pytest.MonkeyPatch, policy: str, fails: bool
) -> None:
    refused = {**WRITTEN, "nodes": 0, "refusal": "would retire 30 of 40 edges"}
    instance, outcome = report_with(monkeypatch, {"rejected": "warn", "retire-refused": policy}, refused)

    assert isinstance(outcome, AirflowFailException) is fails
    assert instance.xcoms["return_value"]["refusal"] == "would retire 30 of 40 edges"


def test_a_load_whose_refusal_is_a_warning_ends_well_and_leaves_it_for_the_report(stored: Stored) -> None:
    attempt = Attempt("sales/lineage.load/manual/-1/1", f"{ROOT}/try-1")
    stored.files[f"{attempt.folder}/failed.json"] = json.dumps(
        {"attempt": attempt.name, "message": "too much", "permanent": True, "exit_code": 8}
    )

    def fail(policy: str) -> None:
        with cluster.report_job_failure(merge_of(policies={"retire-refused": policy}), attempt):
            raise AirflowException("job failure")

    with pytest.raises(AirflowFailException, match="too much"):
        fail("fail")
    assert f"{attempt.folder}/loaded.json" not in stored.files
    fail("warn")
    assert json.loads(stored.files[f"{attempt.folder}/loaded.json"])["refusal"] == "too much"


def test_a_group_can_be_mapped_over_dbt_projects() -> None:
    with DAG("mapped", schedule=None, start_date=datetime(2024, 1, 1, tzinfo=UTC)) as dag:

        @task_group(group_id="each")  # type: ignore[untyped-decorator] # mypy runs without Airflow
        def each(dag_name: Any, dbt_manifests: Any) -> None:
            lineage_merge_task_group("lineage", dag_name=dag_name, dbt_manifests=dbt_manifests, wait=False)

        each.expand_kwargs(EmptyOperator(task_id="projects").output)

    assert {task.task_id for task in dag.tasks} == {
        "projects",
        *(f"each.lineage.{step}" for step in ("build", "load", "report")),
    }


def test_a_failed_deferred_emr_run_shows_the_reason_that_the_job_left(stored: Stored) -> None:
    stored.files[f"{ROOT}/try-1/failed.json"] = json.dumps(
        {"attempt": "sales/lineage.build/manual/-1/1", "message": "no permission", "permanent": True}
    )
    step = EmrServerlessStep(
        task_id="build",
        step="build",
        merge=merge_of(run="sales/manual/-1/lineage", artifacts=""),
        application_id="app",
        execution_role_arn="arn:aws:iam::123456789012:role/emr",
    )

    with pytest.raises(AirflowFailException, match=r"^no permission$"):
        step.resume_execution("__fail__", {"error": "Trigger failure"}, {"ti": Instance(1)})


def wait_event(monkeypatch: pytest.MonkeyPatch, *answers: Any) -> Any:
    """The event of a deferred wait whose questions to Spline have these answers."""
    trigger = RunsTrigger([["spline", {}, None]], 0, 9e9)
    following = iter(answers)

    def missing() -> str:
        found = next(following)
        if isinstance(found, Exception):
            raise found
        return str(found)

    monkeypatch.setattr(trigger, "_missing", missing)

    async def first() -> Any:
        async for event in trigger.run():
            return event.payload
        return None

    return asyncio.run(first())


def test_a_deferred_wait_asks_until_all_have_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    unreachable = SourceUnreachable("no connection to ArangoDB at http://a:8529")

    assert wait_event(monkeypatch, "job", unreachable, "") == {"missing": "", "error": ""}
    assert wait_event(monkeypatch, SourceDenied("wrong password")) == {
        "missing": "",
        "error": "wrong password",
    }


def test_a_deferred_wait_ends_as_one_without_the_triggerer() -> None:
    options: dict[str, Any] = {"task_id": "wait", "merge": merge_of(), "timeout": 60.0}
    strict = WaitForRuns(deferrable=True, **options)
    lenient = WaitForRuns(deferrable=True, when_missing="merge", **options)

    with pytest.raises(AirflowSensorTimeout, match="after 60 s no successful write of job"):
        strict.execute_complete({}, {"missing": "no successful write of job", "error": ""})
    lenient.execute_complete({}, {"missing": "no successful write of job", "error": ""})
    strict.execute_complete({}, {"missing": "", "error": ""})
    with pytest.raises(AirflowFailException, match="wrong password"):
        lenient.execute_complete({}, {"missing": "", "error": "wrong password"})


def test_the_trigger_of_a_deferred_wait_holds_no_password() -> None:
    arango = Arango("http://a:8529", "spline", "reader", known_password="hunter2")
    spline = Spline(arango=arango, applications=("job",))
    runs = SUPPORT.awaited(spline, [GlueRuns("job", ("jr_1",))], 5)
    assert runs
    trigger = RunsTrigger([["spline", runs.request, "arangodb_default"]], 60, 9e9)
    place, arguments = trigger.serialize()

    assert place == "lineage_merge.airflow.wait.RunsTrigger"
    assert RunsTrigger(**json.loads(json.dumps(arguments))).serialize() == trigger.serialize()
    assert "hunter2" not in json.dumps(arguments)
