"""Parse the shipped DAGs and run one for each engine with `dag.test()`, inside an environment with Airflow.

`check_dag.py` makes that environment and starts this script in it. AWS is moto, which runs the
script of a Glue job when one is started; Spline's ArangoDB is the tests' stand-in, which hears of
the runs late; `dbt` writes down its arguments. The merges are real ones: Spark, the sample data, a
Gremlin Server.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
import logging
import os
import subprocess
import sys
import time
import traceback
import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any

TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
SAMPLE = REPOSITORY / "sample_data"
SHIPPED = {"lineage_pipeline.py": "tickit_daily", "lineage_scheduled.py": "lineage_unmanaged"}
GLUE_JOBS = ("tickit_sales_ingest", "tickit_sales_load")
STEPS = ["lineage.wait", "lineage.build", "lineage.load", "lineage.report"]
PARSE_SECONDS = 0.5
# None of these may come with a parse; the Glue operator itself brings boto3.
HEAVY = (
    "pyspark",
    "gremlin_python",
    "arango",
    "lineage_merge.config",
    "lineage_merge.orchestration.pipeline",
)
DBT = '#!/bin/sh\nprintf "%s\\n" "$@" > "$DBT_ARGUMENTS"\n'
PASSWORD = "secret of arangodb"
LATE_SECONDS = 3.0


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--parse-only", action="store_true")
    arguments.add_argument("facts", type=Path, help="where the outcome goes, as JSON")
    given = arguments.parse_args()
    with output_in(Path(os.environ["AIRFLOW_HOME"]) / "output"):
        check_all(given.facts, given.parse_only)


def check_all(facts_file: Path, parse_only: bool) -> None:
    facts: dict[str, Any] = {
        "airflow": version("apache-airflow"),
        "amazon_provider": version("apache-airflow-providers-amazon"),
        "parse_seconds": round(parsed(), 3),
    }
    the_files_use_nothing_deprecated()
    if not parse_only:
        facts |= run(Path(os.environ["AIRFLOW_HOME"]))
    facts_file.write_text(json.dumps(facts))


@contextmanager
def output_in(file: Path) -> Iterator[None]:
    """Everything that is printed goes into a file first: not every Airflow logs where a handler hears it."""
    before = os.dup(1)
    with file.open("wb") as stream:
        os.dup2(stream.fileno(), 1)
        os.dup2(stream.fileno(), 2)
    try:
        yield
    except BaseException:
        traceback.print_exc()
        raise
    finally:
        sys.stdout.flush()
        os.dup2(before, 1)
        os.dup2(before, 2)
        sys.stdout.write(file.read_text(errors="replace"))


def dag_folder() -> Path:
    return Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])


def bag_of(file: Path) -> Any:
    """A file as Airflow's own parser sees it."""
    try:
        dag_bag = import_module("airflow.dag_processing.dagbag").DagBag
    except ImportError:
        dag_bag = import_module("airflow.models.dagbag").DagBag
    bag = dag_bag(dag_folder=str(file))
    assert not bag.import_errors, bag.import_errors
    return bag


def parsed() -> float:
    """Check what parsing brings; returns the processor seconds of one more parse of all shipped files.

    The first parse pays for importing Airflow and its providers, which every DAG does.
    """
    for name, dag_id in SHIPPED.items():
        bag = bag_of(dag_folder() / name)
        assert sorted(bag.dags) == [dag_id], sorted(bag.dags)
    imported = [name for name in HEAVY if name in sys.modules]
    assert not imported, f"parsing imports {imported}"
    started = time.process_time()
    dags: dict[str, Any] = {}
    for name in SHIPPED:
        dags |= bag_of(dag_folder() / name).dags
    seconds = time.process_time() - started
    assert seconds < PARSE_SECONDS, f"one parse takes {seconds:.1f} s"
    chain = [*(f"glue_{job}" for job in GLUE_JOBS), "dbt_build", *STEPS]
    assert order(dags["tickit_daily"]) == chain, order(dags["tickit_daily"])
    steps = {"find", *(f"each.merge.{step}" for step in ("build", "load", "report"))}
    assert {task.task_id for task in dags["lineage_unmanaged"].tasks} == {
        f"unmanaged.{step}" for step in steps
    }
    registered = import_module("airflow.providers_manager").ProvidersManager().extra_links_class_names
    links = {f"lineage_merge.airflow.report.{name}" for name in ("ReportLink", "PageLink")}
    assert links <= {*registered}, sorted(registered)
    (asset,) = dags["tickit_daily"].get_task("lineage.report").outlets
    assert asset.uri == "lineage-merge://graph/tickit_daily", asset
    return seconds


def order(dag: Any) -> list[str]:
    """The tasks of a chain, first to last; fails where the DAG is no chain."""
    chain: list[str] = []
    following = {task.task_id for task in dag.tasks if not task.upstream_task_ids}
    while following:
        (task_id,) = following - set(chain)
        chain.append(task_id)
        following = set(dag.get_task(task_id).downstream_task_ids)
    return chain


def the_files_use_nothing_deprecated() -> None:
    dag_folder_module()  # what providers do when they are first imported is their own affair
    for name in [name for name in sys.modules if name.startswith("lineage_merge")]:
        del sys.modules[name]
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dag_folder_module()
    ours = [
        str(each.message) for each in warned if "lineage_merge" in each.filename or "shipped" in each.filename
    ]
    assert not ours, ours


def dag_folder_module() -> Any:
    from importlib import util

    spec = util.spec_from_file_location("checked_dags", dag_folder() / "checked_dags.py")
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(home: Path) -> dict[str, Any]:
    """Run the DAGs; returns what they did."""
    from lineage_merge.infra.embedded import EmbeddedServer

    log = Lines(home / "output")
    for name in ("airflow.task", "task", ""):
        logging.getLogger(name).addHandler(log)
    with ExitStack() as stack:
        cloud = stack.enter_context(aws(home))
        graph = stack.enter_context(EmbeddedServer(None))
        spline = stack.enter_context(spline_database())
        dbt_arguments = stand_in_dbt(home)
        host, port = graph.url.partition("://")[2].partition("/")[0].rsplit(":", 1)
        os.environ |= {
            "AIRFLOW_CONN_ARANGODB_DEFAULT": json.dumps(
                {
                    "conn_type": "arangodb",
                    "host": spline.url,
                    "schema": "spline",
                    "login": "root",
                    "password": spline.password,
                    "extra": {"password_secret": "lineage/arango#password"},
                }
            ),
            "AIRFLOW_CONN_GREMLIN_DEFAULT": json.dumps(
                {"conn_type": "gremlin", "host": host, "port": int(port), "extra": {"scheme": "ws"}}
            ),
            "AIRFLOW_VAR_LINEAGE_MERGE_ENVIRONMENT": "dev",
            "AIRFLOW_VAR_SAMPLE_DATA": str(SAMPLE),
            "AIRFLOW_VAR_DBT_TARGET": "dev",
            "DBT_PROJECT_DIR": "/srv/tickit dbt",
        }
        cloud.prepare(spline.password)
        dags = bag_of(dag_folder() / "checked_dags.py").dags
        facts: dict[str, Any] = {}
        for check in (glue, emr_serverless, missing, local, unmanaged):
            log.begin()
            started = time.monotonic()
            check(Check(dags, cloud, spline, graph.url, log, dbt_arguments), facts)
            facts[f"{check.__name__}_seconds"] = round(time.monotonic() - started, 1)
            sys.stdout.write(f"{check.__name__}: {facts[f'{check.__name__}_seconds']} s\n")
            sys.stdout.flush()
            if check is emr_serverless:
                assert "pyspark" not in sys.modules, "the engines on a cluster want no Spark here"
        for line in [*log.everything, *(home / "output").read_text(errors="replace").splitlines()]:
            # In `dag.test()` Airflow 3.0 says aloud what it is about to mask.
            assert spline.password not in line or "MaskSecret(" in line, f"a password in the log: {line}"
        return facts


class Check:
    """What a check has at hand."""

    def __init__(
        self, dags: Any, cloud: "Cloud", spline: Any, url: str, log: "Lines", dbt_arguments: Path
    ) -> None:
        self.dags = dags
        self.cloud = cloud
        self.spline = spline
        self.url = url
        self.log = log
        self.dbt_arguments = dbt_arguments

    def run(self, dag_id: str) -> Any:
        return self.dags[dag_id].test()

    def succeeds(self, dag_id: str) -> Any:
        outcome = self.run(dag_id)
        states = {each.task_id: str(each.state) for each in outcome.get_task_instances()}
        assert str(outcome.state) == "success", (states, self.log.lines[-30:])
        return outcome

    def says(self, text: str) -> bool:
        return any(text in line for line in [*self.log.lines, *self.log.printed()])


def report_of(outcome: Any, task_id: str = "lineage.report") -> Any:
    return outcome.get_task_instance(task_id).xcom_pull(task_ids=task_id)


def glue(check: Check, facts: dict[str, Any]) -> None:
    """The steps are runs of a job on Glue: started with the operator's arguments, run for real."""
    with reporting_late(check, "check_glue", GLUE_JOBS[1:]):
        outcome = check.succeeds("check_glue")
    assert check.says("Spline has no successful write of tickit_sales_load (jr_"), (
        "it did not wait for the run"
    )
    job = check.cloud.glue.get_job(JobName="lineage_merge")["Job"]
    assert job["GlueVersion"] == "5.0", job
    assert job["Connections"] == {"Connections": ["lineage_merge-vpc"]}, job
    assert job["Command"]["ScriptLocation"] == "s3://lineage/artifacts/lineage_merge_job.py", job
    runs = check.cloud.glue.get_job_runs(JobName="lineage_merge")["JobRuns"]
    sent = {each["Arguments"]["--step"]: each["Arguments"] for each in runs}
    assert sent["build"]["--folder"] == sent["load"]["--folder"], sent
    assert sent["build"]["--folder"].endswith("/lineage/try-1"), sent
    assert sorted(sent) == ["build", "load"], sent
    for arguments in sent.values():
        assert arguments["--spline-arango-password-secret"] == "lineage/arango#password", arguments
        assert arguments["--spline-applications"] == '["tickit_sales_load"]', arguments
        assert arguments["--additional-python-modules"].startswith("s3://lineage/artifacts/"), arguments
        assert check.spline.password not in json.dumps(arguments), "a password among the arguments"
    _, edges = in_the_graph(check, "check_glue")
    report = report_of(outcome)
    assert report["edges"] == edges, (report["edges"], edges)
    facts["glue_edges"] = sum(edges.values())


def emr_serverless(check: Check, facts: dict[str, Any]) -> None:
    """The steps are job runs of EMR Serverless, with the same arguments; moto runs nothing."""
    outcome = check.succeeds("check_emr_serverless")
    client, application = check.cloud.emr, os.environ["AIRFLOW_VAR_EMR_APPLICATION"]
    runs = client.list_job_runs(applicationId=application)["jobRuns"]
    drivers = [
        client.get_job_run(applicationId=application, jobRunId=each["id"])["jobRun"]["jobDriver"]
        for each in runs
    ]
    sent = [driver["sparkSubmit"] for driver in drivers]
    assert {each["entryPoint"] for each in sent} == {"s3://lineage/artifacts/lineage_merge_job.py"}, sent
    words = [each["entryPointArguments"] for each in sent]
    assert sorted(each[each.index("--step") + 1] for each in words) == ["build", "load"], words
    assert all("lineage/arango#password" in each for each in words), words
    assert report_of(outcome)["edges"], "the report reads what lies in the folder"


def missing(check: Check, facts: dict[str, Any]) -> None:
    """The wait ends, and says who did not report."""
    with suppress(Exception):  # some versions of Airflow pass the task's own error on
        outcome = check.run("check_missing")
        states = {each.task_id: str(each.state) for each in outcome.get_task_instances()}
        facts["missing_states"] = states
    assert facts.get("missing_states", {}).get("lineage.build") != "success", facts
    expected = "Spline has no successful write of tickit_sales_load; never_there"
    assert check.says(expected), check.log.lines[-20:]


def local(check: Check, facts: dict[str, Any]) -> None:
    """The example's whole chain, with Spark in the tasks."""
    with reporting_late(check, "check_local", GLUE_JOBS):
        outcome = check.succeeds("check_local")
    expected = ["build", "--project-dir", "/srv/tickit dbt", "--target", "dev"]
    assert check.dbt_arguments.read_text().splitlines() == expected, check.dbt_arguments.read_text()
    lines = check.log.lines
    twice = [line for line, following in pairwise(lines) if line.startswith("writing") and line == following]
    assert not twice, f"said again and again: {twice}"
    assert check.says("vertices and 276 edges, 0 unchanged"), "no summary in the log"
    assert check.says("policies: 0 errors and 0 warnings of 1 policy"), "the policies are not checked"
    report = report_of(outcome)
    vertices, edges = in_the_graph(check, "check_local")
    assert report["nodes"] | {"merge_run": 1} == vertices, (report["nodes"], vertices)
    assert report["edges"] == edges, (report["edges"], edges)
    the_path_leads_through(check)
    facts |= {
        "vertices": sum(vertices.values()),
        "edges": sum(edges.values()),
        "xcom_bytes": len(json.dumps(report)),
    }


def unmanaged(check: Check, facts: dict[str, Any]) -> None:
    """Of three applications two are claimed by now; the third says its DAG in a label."""
    check.spline.report("nightly_export", labels={"airflow.dag_id": ["nightly"]}, like="tickit_sales_load")
    check.succeeds("check_unmanaged")
    with graph_of(check) as g:
        owners = sorted(tuple(each) for each in _jobs(g))
    assert ("nightly", "nightly_export") in owners, owners
    others = {name for name, job in owners if job in GLUE_JOBS}
    assert others == {"check_local", "check_glue"}, owners


def _jobs(g: Any) -> Iterator[tuple[str, str]]:
    from lineage_merge.questions.traversal.job_ownership import owners

    return ((each.dag_name, each.job) for each in owners(g, "dev"))


@contextmanager
def graph_of(check: Check) -> Iterator[Any]:
    from lineage_merge.load.gremlin.connection import Endpoint, connect

    with connect(Endpoint(check.url)) as g:
        yield g


def in_the_graph(check: Check, dag_id: str) -> tuple[dict[str, int], dict[str, int]]:
    """Vertices and edges of a DAG, by label."""
    from gremlin_python.process.traversal import T

    with graph_of(check) as g:
        vertices = g.V().has("dag_name", dag_id).group_count().by(T.label).next()
        return vertices, g.E().has("dag_name", dag_id).group_count().by(T.label).next()


def the_path_leads_through(check: Check) -> None:
    from lineage_merge.cli import sample
    from lineage_merge.load.gremlin.connection import Endpoint
    from lineage_merge.questions.backends.opening import open_graph
    from lineage_merge.questions.lineage import all_paths

    with open_graph(Endpoint(check.url)) as graph:
        ends = sample.path_ends("dev")
        at = {each.id: each for each in graph.vertices(ends)}
        jobs = {edge.job for edge in all_paths(graph, at[ends[0]], at[ends[1]]).edges}
    assert {*GLUE_JOBS} < jobs, f"Spark's and dbt's lineage do not meet: {jobs}"


class Spline:
    """The stand-in with the sample's documents, whose runs all ended yesterday."""

    def __init__(self, server: Any, contents: Mapping[str, list[dict[str, Any]]]) -> None:
        self.url = server.url
        self.password = server.password
        self._server = server
        self._contents = {name: list(documents) for name, documents in contents.items()}
        yesterday = int(time.time() * 1000) - 86_400_000
        for document in self._contents["progress"]:
            document["timestamp"] = yesterday
        self._show()

    def report(self, application: str, labels: Any = None, like: str = "") -> None:
        """The application has just done again what it, or another, did before."""
        number = len(self._contents["progress"])
        for document in list(self._contents["progress"]):
            details = document["execPlanDetails"]
            if details["applicationName"] == (like or application) and "again" not in document["_key"]:
                key = f"{document['_key']}:again{number}"
                again = {**document, "_key": key, "_id": f"progress/{key}", "labels": labels or {}}
                again["timestamp"] = int(time.time() * 1000)
                again["execPlanDetails"] = {**details, "applicationName": application}
                self._contents["progress"].append(again)
        self._show()

    def _show(self) -> None:
        self._server.load("spline", {name: list(found) for name, found in self._contents.items()})


@contextmanager
def spline_database() -> Iterator[Spline]:
    sys.path.append(str(TESTS))
    from arango_standin import ArangoStandin, read_folder

    contents: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
    for job in GLUE_JOBS:
        for name, documents in read_folder(SAMPLE / "spline" / job).items():
            # Keys of edges and data sources are those of one database.
            contents[name] += [
                {**each, "_key": f"{job}-{each['_key']}", "_id": f"{name}/{job}-{each['_key']}"}
                if "_from" in each or name == "dataSource"
                else dict(each)
                for each in documents
            ]
    with ArangoStandin({}, password=PASSWORD) as server:
        yield Spline(server, contents)


@contextmanager
def reporting_late(check: Check, dag_id: str, jobs: tuple[str, ...]) -> Iterator[None]:
    """Spline hears of the runs some seconds after the wait began."""

    def report() -> None:
        deadline = time.monotonic() + 60
        while not check.says("Spline has no successful write of") and time.monotonic() < deadline:
            time.sleep(0.2)
        time.sleep(LATE_SECONDS)
        for job in jobs:
            check.spline.report(job)

    reporter = Thread(target=report, name=f"late reports for {dag_id}", daemon=True)
    reporter.start()
    yield
    reporter.join()


class Lines(logging.Handler):
    """Keeps what is logged: `lines` since the last check, `everything`; `output` has what is printed."""

    def __init__(self, output: Path) -> None:
        super().__init__(logging.INFO)
        self._output = output
        self._began = 0
        self.lines: list[str] = []
        self.everything: list[str] = []
        self._last: logging.LogRecord | None = None

    def begin(self) -> None:
        """Another check begins."""
        self.lines.clear()
        self._began = self._output.stat().st_size

    def printed(self) -> list[str]:
        """What was printed since then."""
        with self._output.open("rb") as stream:
            stream.seek(self._began)
            return stream.read().decode(errors="replace").splitlines()

    def emit(self, record: logging.LogRecord) -> None:
        if record is self._last:
            return  # on its path up through the loggers
        self._last = record
        found = record.getMessage().splitlines()
        self.lines += found
        self.everything += found


def stand_in_dbt(home: Path) -> Path:
    """Put a `dbt` on the PATH; returns the file with its arguments, one a line."""
    folder = home / "bin"
    folder.mkdir()
    (folder / "dbt").write_text(DBT)
    (folder / "dbt").chmod(0o755)
    written = home / "dbt_arguments"
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "DBT_ARGUMENTS": str(written)}
    return written


class Cloud:
    """AWS by moto: S3 with what `publish` puts there, Glue with the pipeline's jobs, EMR Serverless."""

    def __init__(self, s3: Any, glue: Any, emr: Any, secrets: Any) -> None:
        self.s3, self.glue, self.emr, self.secrets = s3, glue, emr, secrets

    def prepare(self, password: str) -> None:
        self.s3.create_bucket(Bucket="lineage")
        self.secrets.create_secret(Name="lineage/arango", SecretString=json.dumps({"password": password}))
        role = "arn:aws:iam::123456789012:role/glue"
        for job in GLUE_JOBS:
            command = {"Name": "glueetl", "ScriptLocation": "s3://tickit/job.py"}
            self.glue.create_job(Name=job, Role=role, Command=command)
        application = self.emr.create_application(name="spark", releaseLabel="emr-7.5.0", type="SPARK")
        os.environ["AIRFLOW_VAR_EMR_APPLICATION"] = application["applicationId"]
        publish = [
            str(Path(sys.executable).with_name("lineage-merge")),
            "publish",
            "--s3",
            "s3://lineage/artifacts",
        ]
        subprocess.run(publish, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def aws(home: Path) -> Iterator[Cloud]:
    """moto in this process, behind which the script of a merge's Glue job runs for real."""
    import boto3

    sys.path.append(str(Path(__file__).parent))
    aws_standin = import_module("aws_standin")
    logs = home / "glue"
    logs.mkdir()
    server = aws_standin.serve(aws_standin.application(aws_standin.GlueRuns(logs), built_by_glue))
    Thread(target=server.serve_forever, name="moto", daemon=True).start()
    os.environ |= {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{server.server_port}",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
    }
    try:
        yield Cloud(*(boto3.client(name) for name in ("s3", "glue", "emr-serverless", "secretsmanager")))
    finally:
        server.shutdown()


def built_by_glue(arguments: list[str]) -> None:
    """Put what the job on Glue left into the folder of a job run of EMR, which runs nothing."""
    import boto3

    given = dict(zip(arguments[::2], arguments[1::2], strict=True))
    if given["--step"] != "build":
        return
    s3 = boto3.client("s3")
    _, _, prefix = given["--folder"].removeprefix("s3://").partition("/")
    listed = s3.list_objects_v2(Bucket="lineage", Prefix="runs/1/check_glue/")["Contents"]
    for each in listed:
        _, folder, name = each["Key"].rpartition("/try-1/")
        if folder:
            s3.copy_object(Bucket="lineage", Key=f"{prefix}/{name}", CopySource=f"lineage/{each['Key']}")


if __name__ == "__main__":
    main()
