"""Run the DAGs of `scheduler_dags.py` with a real scheduler: LocalExecutor on PostgreSQL, a triggerer.

`check_dag.py` calls it with an environment that it has made. What is killed and marked here is what a person
or a lost machine does; the checks ask Airflow's database, the Glue stand-in and the logs what came of it.
PostgreSQL is the machine's own, run as a user other than root.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import traceback
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
SAMPLE = HERE.parents[1] / "sample_data"
# The slowest of the checks is a build and a load with Spark; other work may share the machine.
LIMIT_SECONDS = 480
DATABASE_USER = "postgres"


class SchedulerFailed(Exception):
    """A check did not hold; the message has the end of the logs."""


def postgresql() -> Path | None:
    """The programs of the newest PostgreSQL of this machine."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda each: int(each.parts[4]))
    return found[-1].parent if found else None


def check(environment: Path, home: Path, variables: Mapping[str, str], is_airflow_2: bool) -> dict[str, Any]:
    """Run all; returns facts. Raises `SchedulerFailed`, and CalledProcessError."""
    programs = postgresql()
    if programs is None:
        return {"scheduler": "not checked: this machine has no PostgreSQL"}
    started = time.monotonic()
    shutil.rmtree(home, ignore_errors=True)
    dags, work = home / "dags", home / "work"
    dags.mkdir(parents=True)
    work.mkdir()
    shutil.copy(HERE / "scheduler_dags.py", dags)
    (work / "damaged.json").write_text(damaged_manifest())
    with ExitStack() as stack:
        database = stack.enter_context(Database.running(programs))
        settings = {
            **variables,
            **airflow_settings(home, dags, database.port),
            "SCHEDULER_CHECK_WORK": str(work),
            "SCHEDULER_CHECK_SAMPLE": str(SAMPLE),
        }
        binaries = environment / "bin"
        stack.enter_context(
            running([str(binaries / "python"), str(HERE / "aws_standin.py"), str(work)], settings, home)
        )
        airflow = str(binaries / "airflow")
        with (home / "migrate.log").open("w") as log:
            subprocess.run(
                [airflow, "db", "migrate"], env=settings, check=True, stdout=log, stderr=subprocess.STDOUT
            )
        addresses = json.loads(eventually("the stand-in serves", lambda: text_of(work / "addresses.json")))
        host, port = addresses["graph"].partition("://")[2].partition("/")[0].rsplit(":", 1)
        settings |= {
            "AWS_ENDPOINT_URL": addresses["aws"],
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AIRFLOW_VAR_LINEAGE_MERGE_ENVIRONMENT": "dev",
            "AIRFLOW_CONN_GREMLIN_DEFAULT": json.dumps(
                {"conn_type": "gremlin", "host": host, "port": int(port), "extra": {"scheme": "ws"}}
            ),
        }
        services = ["scheduler", "triggerer"]
        services += [] if is_airflow_2 else ["api-server", "dag-processor"]
        for service in services:
            stack.enter_context(running([airflow, service], settings, home))
        try:
            facts = Checks(database, addresses["aws"], home, [airflow], settings).run()
        except (AssertionError, TimeoutError) as error:
            # The logs are long: what failed stands behind them, too.
            what = str(error) or repr(error.__traceback__ and traceback.extract_tb(error.__traceback__)[-1])
            raise SchedulerFailed(f"{what}\n{database.states()}\n{tails(home)}\n{what}") from error
    return {**facts, "scheduler_seconds": round(time.monotonic() - started, 1)}


class Checks:
    """What is done to the DAG runs, and what must come of it."""

    def __init__(
        self, database: "Database", aws: str, home: Path, airflow: list[str], variables: Mapping[str, str]
    ) -> None:
        self.database = database
        self.aws = aws
        self.home = home
        self.airflow = airflow
        self.variables = variables

    def run(self) -> dict[str, Any]:
        self.mark_a_deferred_task()
        self.kill_a_worker()
        self.a_killed_worker_leaves_one_run()
        self.an_abandoned_run_is_stopped()
        self.a_permanent_failure_is_not_retried()
        self.a_rejected_document_fails_the_report()
        self.what_was_sent_is_shown()
        logs = self.logs()
        assert "Unable to find AWS Connection" not in logs, "a warning of a connection that is not needed"
        assert "TaskDeferralError" not in logs, "a trigger raised"
        return {"scheduler_dags": 4}

    def logs(self) -> str:
        """What all tasks have logged."""
        files = (self.home / "logs").rglob("*.log")
        return "\n".join(each.read_text(errors="replace") for each in files)

    def state(self, dag_id: str, task: str) -> tuple[str, int, int]:
        """State, number of the try and process of a task."""
        query = "select coalesce(state, ''), try_number, coalesce(pid, 0) from task_instance"
        rows = self.database.ask(f"{query} where dag_id = '{dag_id}' and task_id = 'lineage.{task}'")
        if not rows:
            return "", 0, 0
        state, try_number, pid = rows[0].split("|")
        return state, int(try_number), int(pid)

    def runs(self, job_name: str) -> list[dict[str, Any]]:
        """The runs of a job on the Glue stand-in."""
        request = urllib.request.Request(
            self.aws,
            data=json.dumps({"JobName": job_name}).encode(),
            headers={"X-Amz-Target": "AWSGlue.GetJobRuns", "Content-Type": "application/x-amz-json-1.1"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            found: list[dict[str, Any]] = json.load(answer)["JobRuns"]
            return found

    def ends(self, dag_id: str, task: str, expected: str) -> int:
        """Wait until a task has ended; returns the number of its try."""

        def ended() -> tuple[str, int] | None:
            state, number, _ = self.state(dag_id, task)
            return (state, number) if state in ("success", "failed", "upstream_failed") else None

        state, number = eventually(f"{dag_id}.{task} ends", ended)
        assert state == expected, f"{dag_id}.{task} is {state}, not {expected}"
        return int(number)

    def is_not_retried(self, dag_id: str, task: str, expected: str) -> None:
        """Wait until a task has ended, with one try besides those that Airflow itself lost.

        On a busy machine the scheduler may read the end of a deferring process after the task has resumed. It
        takes the resumed task for one that was killed, whatever that one does, and notes the mismatch.
        """
        number = self.ends(dag_id, task, expected)
        noted = f"event = 'state mismatch' and dag_id = '{dag_id}' and task_id = 'lineage.{task}'"
        (lost,) = self.database.ask(f"select count(*) from log where {noted}")
        assert number <= 1 + int(lost), f"{dag_id}.{task} was tried {number} times, {lost} of them lost"

    def callback(self, dag_id: str, task: str) -> dict[str, Any]:
        """What the callback of a task that failed has written."""
        file = self.home / "work" / f"{dag_id}.lineage.{task}.json"
        found: dict[str, Any] = json.loads(
            eventually(f"a callback of {dag_id}.{task}", lambda: text_of(file))
        )
        return found

    def kill_a_worker(self) -> None:
        def waiting() -> int:
            state, _, pid = self.state("killed", "build")
            return pid if state == "running" and self.runs("sleep_killed") else 0

        os.kill(eventually("a worker waits for its Glue run", waiting), signal.SIGKILL)

        def ended() -> str:
            state, number, _ = self.state("killed", "build")
            return state if state != "running" or number > 1 else ""

        # Airflow 3.0 does not retry a task whose process was killed: a person clears it.
        if eventually("Airflow misses the worker", ended) == "failed":
            clear = [*self.airflow, "tasks", "clear", "killed", "--yes", "--task-regex", "build"]
            subprocess.run(
                [*clear, "--downstream"], env=dict(self.variables), check=True, stdout=subprocess.DEVNULL
            )

    def a_killed_worker_leaves_one_run(self) -> None:
        def decided() -> bool:
            return (
                "of an earlier try is RUNNING: waiting" in self.logs() or len(self.runs("sleep_killed")) > 1
            )

        eventually("the second try finds the run of the first", decided)
        (self.home / "work" / "release").touch()
        assert self.ends("killed", "build", "success") == 2
        builds = [each for each in self.runs("sleep_killed") if each["Arguments"]["--step"] == "build"]
        assert [each["JobRunState"] for each in builds] == ["SUCCEEDED"], builds

    def mark_a_deferred_task(self) -> None:
        def deferred() -> bool:
            return self.state("abandoned", "build")[0] == "deferred" and bool(self.runs("sleep_abandoned"))

        eventually("a build is deferred", deferred)
        time.sleep(3)  # until the triggerer has it: nothing outside shows that
        self.database.ask(
            "update task_instance set state = 'failed'"
            " where dag_id = 'abandoned' and task_id = 'lineage.build'"
        )

    def an_abandoned_run_is_stopped(self) -> None:
        def stopped() -> bool:
            return [each["JobRunState"] for each in self.runs("sleep_abandoned")] == ["STOPPED"]

        eventually("the run of an abandoned build is stopped", stopped)

    def a_permanent_failure_is_not_retried(self) -> None:
        self.is_not_retried("permanent", "build", "failed")
        written = self.callback("permanent", "build")
        assert "the secret has no text under 'no_such_key'" in written["error"], written

    def a_rejected_document_fails_the_report(self) -> None:
        self.is_not_retried("rejected", "report", "failed")
        self.is_not_retried("rejected", "load", "success")
        written = self.callback("rejected", "report")
        assert "damaged.json" in written["error"], written
        assert written["counts"]["totals"]["rejected"] >= 1, written
        assert written["counts"]["written"]["nodes"] > 0, written

    def what_was_sent_is_shown(self) -> None:
        (shown,) = self.database.ask(
            "select rendered_fields ->> 'script_args' from rendered_task_instance_fields"
            " where dag_id = 'rejected' and task_id = 'lineage.build'"
        )
        assert '"--step": "build"' in shown.replace("'", '"'), shown


class Database:
    """A PostgreSQL server of this check."""

    def __init__(self, programs: Path, port: int) -> None:
        self.programs = programs
        self.port = port

    @classmethod
    @contextmanager
    def running(cls, programs: Path) -> Iterator["Database"]:
        # PostgreSQL refuses root, and must be able to reach its folder.
        folder = Path(tempfile.mkdtemp(prefix="lineage-merge-postgresql-"))
        user: dict[str, Any] = {}
        if os.getuid() == 0:
            shutil.chown(folder, DATABASE_USER)
            user = {"user": DATABASE_USER, "extra_groups": []}
        found = cls(programs, free_port())
        data = str(folder / "data")
        try:
            make = [str(programs / "initdb"), "-D", data, "-U", "airflow", "-A", "trust", "-E", "UTF8", "-N"]
            subprocess.run(
                make, check=True, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **user
            )
            serve = [str(programs / "postgres"), "-D", data, "-k", str(folder), "-p", str(found.port)]
            with (folder / "log").open("w") as log:
                process = subprocess.Popen(
                    [*serve, "-c", "fsync=off"], cwd=folder, stdout=log, stderr=log, **user
                )
            try:
                eventually("PostgreSQL answers", found.answers)
                yield found
            finally:
                process.send_signal(signal.SIGQUIT)
                process.wait()
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def answers(self) -> bool:
        asked = [str(self.programs / "pg_isready"), "-h", "127.0.0.1", "-p", str(self.port), "-q"]
        return subprocess.run(asked, check=False).returncode == 0

    def ask(self, query: str) -> list[str]:
        """Rows as text, their columns parted by bars."""
        where = ["-h", "127.0.0.1", "-p", str(self.port), "-U", "airflow", "-d", "postgres"]
        done = subprocess.run(
            [str(self.programs / "psql"), *where, "-qAt", "-c", query],
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout.splitlines()

    def states(self) -> str:
        rows = self.ask("select dag_id, task_id, state, try_number from task_instance order by 1, 2")
        return "\n".join(rows)


def airflow_settings(home: Path, dags: Path, port: int) -> dict[str, str]:
    """Airflow's configuration, for 2 and 3."""
    api = free_port()
    return {
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "false",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{api}/execution/",
        "AIRFLOW__API__PORT": str(api),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__WORKERS": "1",
        "AIRFLOW__API_AUTH__JWT_SECRET": "only on this machine, for as long as the check",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"postgresql+psycopg2://airflow@127.0.0.1:{port}/postgres",
        "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(home / "logs"),
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "AIRFLOW__TRIGGERER__DEFAULT_CAPACITY": "20",
    }


def damaged_manifest() -> str:
    """A manifest of another project, most of which cannot be read."""
    manifest = json.loads((SAMPLE / "dbt" / "manifest.json").read_text())
    manifest["metadata"]["project_name"] = "damaged"
    for node in manifest["nodes"].values():
        node["columns"] = "damaged"
    return json.dumps(manifest)


@contextmanager
def running(command: list[str], variables: Mapping[str, str], home: Path) -> Iterator[None]:
    """A process and all that it starts, ended with the block."""
    log = home / f"{Path(command[0]).name}-{Path(command[1]).stem}.out"
    with log.open("w") as stream:
        process = subprocess.Popen(
            command, env=dict(variables), stdout=stream, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(timeout=10)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def eventually(what: str, ask: Callable[[], Any]) -> Any:
    """Ask until the answer is true. Raises TimeoutError."""
    deadline = time.monotonic() + LIMIT_SECONDS
    while time.monotonic() < deadline:
        found = ask()
        if found:
            return found
        time.sleep(0.5)
    raise TimeoutError(f"not within {LIMIT_SECONDS} s: {what}")


def text_of(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def tails(home: Path) -> str:
    """The end of every log."""
    logs = [*home.glob("*.out"), *(home / "logs").rglob("*.log"), *(home / "work").glob("*.log")]
    return "\n".join(f"--- {each}\n{each.read_text(errors='replace')[-3000:]}" for each in sorted(logs))


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port
