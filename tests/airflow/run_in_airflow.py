"""Parse the DAG and run it with `dag.test()`, inside an environment that has Airflow.

`check_dag.py` makes that environment and starts this script in it. The Glue jobs run on moto,
`dbt` is a stand-in that writes down its arguments, the merge is the real one: Spark, the sample
data, a Gremlin Server.
"""

# mypy: disable-error-code="import-not-found"

import argparse
import json
import logging
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module, util
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any

REPOSITORY = Path(__file__).resolve().parents[2]
DAG_FILE = REPOSITORY / "dags" / "lineage_merge.py"
DAG_ID = "tickit_daily"
GLUE_JOBS = ("tickit_sales_ingest", "tickit_sales_load")
TASKS = [*(f"glue_{job}" for job in GLUE_JOBS), "dbt_build", "merge_lineage"]
PARSE_SECONDS = 0.5
# None of these may come with a parse; the Glue operator itself brings boto3.
HEAVY = ("pyspark", "gremlin_python", "lineage_merge")
DBT = '#!/bin/sh\nprintf "%s\\n" "$@" > "$DBT_ARGUMENTS"\n'


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--parse-only", action="store_true")
    arguments.add_argument("facts", type=Path, help="where the outcome goes, as JSON")
    given = arguments.parse_args()
    dag, parse_seconds = parsed()
    the_file_uses_nothing_deprecated()
    the_factory_leaves_out_what_it_is_told()
    facts: dict[str, Any] = {
        "airflow": version("apache-airflow"),
        "amazon_provider": version("apache-airflow-providers-amazon"),
        "parse_seconds": round(parse_seconds, 3),
    }
    if not given.parse_only:
        facts |= run(dag, Path(os.environ["AIRFLOW_HOME"]))
    given.facts.write_text(json.dumps(facts))


def parsed() -> tuple[Any, float]:
    """The DAG as Airflow's own parser sees it, and the processor seconds of one more parse.

    The first parse pays for importing Airflow and its providers, which every DAG does.
    """
    dag_bag = dag_bag_class()
    bag = dag_bag(dag_folder=str(DAG_FILE), include_examples=False)
    assert not bag.import_errors, bag.import_errors
    assert sorted(bag.dags) == [DAG_ID], sorted(bag.dags)
    imported = [name for name in HEAVY if name in sys.modules]
    assert not imported, f"parsing imports {imported}"
    started = time.process_time()
    dag_bag(dag_folder=str(DAG_FILE), include_examples=False)
    seconds = time.process_time() - started
    assert seconds < PARSE_SECONDS, f"one parse takes {seconds:.1f} s"
    dag = bag.dags[DAG_ID]
    assert order(dag) == TASKS, order(dag)
    return dag, seconds


def dag_bag_class() -> Any:
    try:
        return import_module("airflow.dag_processing.dagbag").DagBag
    except ImportError:
        return import_module("airflow.models.dagbag").DagBag


def order(dag: Any) -> list[str]:
    """The tasks of a chain, first to last; fails where the DAG is no chain."""
    chain: list[str] = []
    following = [task.task_id for task in dag.tasks if not task.upstream_task_ids]
    while following:
        assert len(following) == 1, following
        chain.append(following[0])
        following = sorted(dag.get_task(following[0]).downstream_task_ids)
    return chain


def the_file_uses_nothing_deprecated() -> None:
    dag_file()  # what providers do when they are first imported is their own affair
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        dag_file()
    assert not warned, [str(each.message) for each in warned]


def the_factory_leaves_out_what_it_is_told() -> None:
    dag = dag_file().pipeline_dag("merge_alone", schedule=None, glue_jobs=[], dbt=False)
    assert order(dag) == ["merge_lineage"], order(dag)


def dag_file() -> ModuleType:
    spec = util.spec_from_file_location("dag_under_test", DAG_FILE)
    assert spec
    assert spec.loader
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(dag: Any, home: Path) -> dict[str, Any]:
    """Run the whole DAG; returns what it did."""
    from lineage_merge.embedded import EmbeddedServer

    with glue(home) as client, EmbeddedServer(None) as server:
        dbt_arguments = stand_in_dbt(home)
        os.environ |= {
            "AIRFLOW_VAR_LINEAGE_MERGE_CONFIG": str(REPOSITORY / "sample_data" / "lineage_merge.yml"),
            "AIRFLOW_VAR_DBT_TARGET": "dev",
            "DBT_PROJECT_DIR": "/srv/tickit dbt",
            "LINEAGE_MERGE_GREMLIN_ENDPOINT": server.url,
            "LINEAGE_MERGE_DAG_NAME": "not_this_one",
        }
        log = Lines()
        logging.getLogger("airflow.task").addHandler(log)
        started = time.monotonic()
        outcome = dag.test()
        seconds = time.monotonic() - started

        assert str(outcome.state) == "success", f"the DAG run ended as {outcome.state}"
        for job in GLUE_JOBS:
            runs = client.get_job_runs(JobName=job)["JobRuns"]
            assert len(runs) == 1, f"{job} ran {len(runs)} times on Glue"
        expected = ["build", "--project-dir", "/srv/tickit dbt", "--target", "dev"]
        assert dbt_arguments.read_text().splitlines() == expected, dbt_arguments.read_text()
        twice = [
            line
            for line, following in pairwise(log.lines)
            if line.startswith("writing") and line == following
        ]
        assert not twice, f"said again and again: {twice}"
        assert any("written" in line and "vertices" in line for line in log.lines), "no summary in the log"
        report = outcome.get_task_instance("merge_lineage").xcom_pull(task_ids="merge_lineage")
        vertices, edges = in_the_graph(server.url)
        merged = report["nodes"] | {"merge_run": 1}
        assert merged == vertices, (merged, vertices)
        assert report["edges"] == edges, (report["edges"], edges)
        return {
            "vertices": sum(vertices.values()),
            "edges": sum(edges.values()),
            "xcom_bytes": len(json.dumps(report)),
            "run_seconds": round(seconds, 1),
        }


def in_the_graph(url: str) -> tuple[dict[str, int], dict[str, int]]:
    """Vertices and edges by label, all of this DAG, and a way through all three steps."""
    from gremlin_python.process.traversal import T

    from lineage_merge import sample
    from lineage_merge.load.connection import Endpoint, connect
    from lineage_merge.query.way import way

    with connect(Endpoint(url)) as g:
        names = {*g.V().values("dag_name").dedup().to_list(), *g.E().values("dag_name").dedup().to_list()}
        assert names == {DAG_ID}, f"the graph names {names}"
        jobs = {hop.job for hop in way(g, *sample.way_ends("dev")).hops}
        assert {*GLUE_JOBS} < jobs, f"Spark's and dbt's lineage do not meet: {jobs}"
        return g.V().group_count().by(T.label).next(), g.E().group_count().by(T.label).next()


class Lines(logging.Handler):
    """Keeps what is logged."""

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines += record.getMessage().splitlines()


def stand_in_dbt(home: Path) -> Path:
    """Put a `dbt` on the PATH; returns the file with its arguments, one a line."""
    folder = home / "bin"
    folder.mkdir()
    (folder / "dbt").write_text(DBT)
    (folder / "dbt").chmod(0o755)
    written = home / "dbt_arguments"
    os.environ |= {"PATH": f"{folder}:{os.environ['PATH']}", "DBT_ARGUMENTS": str(written)}
    return written


@contextmanager
def glue(home: Path) -> Iterator[Any]:
    """Glue by moto with the two jobs in it; AWS, for this process, is there."""
    import boto3

    from lineage_merge.embedded.process import free_port

    port = free_port("127.0.0.1")
    moto = Path(sys.executable).with_name("moto_server")
    with (home / "moto.log").open("w") as log:
        server = subprocess.Popen(
            [str(moto), "-H", "127.0.0.1", "-p", str(port)], stdout=log, stderr=subprocess.STDOUT
        )
    try:
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AIRFLOW_CONN_AWS_DEFAULT": "aws://",
        }
        client = boto3.client("glue")
        role = "arn:aws:iam::123456789012:role/glue"
        for job in GLUE_JOBS:
            _retried(
                lambda job=job: client.create_job(
                    Name=job, Role=role, Command={"Name": "glueetl", "ScriptLocation": "s3://tickit/job.py"}
                )
            )
        yield client
    finally:
        server.terminate()
        server.wait()


def _retried(call: Any, seconds: float = 30) -> Any:
    """Call until the server that was just started answers."""
    from botocore.exceptions import EndpointConnectionError

    deadline = time.monotonic() + seconds
    while True:
        try:
            return call()
        except EndpointConnectionError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.2)


if __name__ == "__main__":
    main()
