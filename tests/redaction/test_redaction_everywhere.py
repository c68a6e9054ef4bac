"""No secret of a document reaches what is built of it: graph, files, report, log, page and exports."""

import gzip
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import HTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
import requests
import yaml
from pyspark.sql import SparkSession

from lineage_merge import capture
from lineage_merge.exporters.registry import EXPORTERS
from lineage_merge.load.merge_run import report_text
from lineage_merge.merge.report import Report
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from tests.command_line import in_process
from tests.redaction import sources_with_secrets as made
from tests.redaction.secret_forms import SECRET, leaks, some_forms

_OPERATIONS = {"operations": True, "lookback": 36_500}


@dataclass(frozen=True)
class World:
    """What one build of all sources left."""

    folder: str
    settings: Path
    report: Report
    log: str


@pytest.fixture(scope="module")
def world(
    spark: SparkSession, s3_url: str, data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[World]:
    """One build by Spark of all sources at once."""
    requests.post(f"{s3_url}/moto-api/reset", timeout=10).raise_for_status()
    folder = tmp_path_factory.mktemp("secrets")
    settings = _write(folder, data)
    file = folder / "lineage_merge.yml"
    file.write_text(yaml.safe_dump(settings))
    said: list[str] = []
    handler = _Collecting(said)
    logging.getLogger().addHandler(handler)
    try:
        with pipeline.build(spark, CONFIGURATION.parse(settings), said.append) as built:
            pipeline.write_folder(built, str(folder / "built"), "jsonl")
        # Spline's settings name an export or agents' files, not both.
        agent = {"agent": [str(folder / "agent.log")], "lookback": 36_500}
        of_agent = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "spline": agent})
        with pipeline.build(spark, of_agent, said.append) as built_of_agent:
            assert built_of_agent.report.read["execution plans"] >= len(some_forms())
            pipeline.write_folder(built_of_agent, str(folder / "of_agent"), "jsonl")
        yield World(str(folder / "built"), file, built.report, "\n".join(said))
    finally:
        logging.getLogger().removeHandler(handler)


class _Collecting(logging.Handler):
    def __init__(self, said: list[str]) -> None:
        super().__init__()
        self._said = said

    def emit(self, record: logging.LogRecord) -> None:
        self._said.append(record.getMessage())


def _write(folder: Path, data: Path) -> dict[str, Any]:
    spline = made.Spline(data)
    made.write_spline(spline, folder / "spline")
    made.write_agent(spline, folder / "agent.log")
    made.write_openlineage(folder / "events.jsonl")
    made.write_hive(folder / "hive.log")
    made.write_sql(folder / "sql")
    made.write_query_log(folder / "query_log")
    made.write_dbt(folder / "manifest.json", folder / "catalog.json")
    made.write_quicksight(folder / "quicksight")
    made.write_superset(folder / "superset", data)
    glue: Any = boto3.client("glue")
    glue.create_database(DatabaseInput={"Name": "shop", "Description": some_forms()[0]})
    for table in made.glue_tables():
        glue.create_table(DatabaseName="shop", TableInput=table)
    glue.close()
    return {
        "dag_name": "daily",
        "environment": "dev",
        "spline": {"export": str(folder / "spline"), **_OPERATIONS},
        "openlineage": {"events": [str(folder / "events.jsonl")], "lookback": 36_500},
        "hive": {"log": [str(folder / "hive.log")], "warehouse": "s3://lake/warehouse", "lookback": 36_500},
        "sql": [{"path": str(folder / "sql"), "dialect": "spark"}],
        "dbt": [
            {
                "manifest": str(folder / "manifest.json"),
                "catalog": str(folder / "catalog.json"),
                "namespace": "redshift://wh.us-east-1:5439",
            }
        ],
        "glue": [{"region": "us-east-1"}],
        "quicksight": [{"definitions": str(folder / "quicksight")}],
        "superset": [{"export": str(folder / "superset"), "url": "https://superset.example.com"}],
        "query_log": [
            {
                "format": "redshift",
                "path": str(folder / "query_log"),
                "namespace": "redshift://wh.us-east-1:5439",
            }
        ],
    }


def _lines_with_a_secret(folder: Path | str) -> list[str]:
    files = [each for each in sorted(Path(folder).rglob("*")) if each.is_file() and each.suffix != ".crc"]
    assert files
    return [line[:300] for file in files for line in _lines(file) if leaks(line)]


def _lines(file: Path) -> list[str]:
    if file.suffix == ".parquet":
        rows = SparkSession.builder.getOrCreate().read.parquet(str(file)).collect()
        return [repr(row) for row in rows]
    raw = file.read_bytes()
    if file.suffix == ".arrow":  # its texts are not compressed
        return raw.decode(errors="replace").splitlines()
    return (gzip.decompress(raw) if file.suffix == ".gz" else raw).decode().splitlines()


@pytest.mark.jvm
def test_no_secret_reaches_nodes_edges_and_report(world: World) -> None:
    assert _lines_with_a_secret(world.folder) == []
    assert _lines_with_a_secret(Path(world.folder).parent / "of_agent") == []
    assert leaks(report_text(world.report)) is False


@pytest.mark.jvm
def test_what_holds_secrets_still_gives_lineage(world: World) -> None:
    assert world.report.edges["feeds"] > len(some_forms())
    assert world.report.edges["feeds_column"] > len(some_forms())
    assert {"spark", "dbt", "hive", "sql", "redshift", "quicksight", "superset"} <= {
        each["job_type"] for each in _rows(world, "edges") if each["label"] == "writes"
    }
    assert {"execution plans", "Glue tables", "QuickSight visuals", "Superset charts"} <= set(
        world.report.read
    )


def _rows(world: World, kind: str) -> list[dict[str, Any]]:
    files = Path(world.folder, kind).rglob("part-*.json*")
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


@pytest.mark.jvm
def test_no_secret_reaches_the_log(world: World) -> None:
    assert world.log
    assert [line for line in world.log.splitlines() if leaks(line)] == []


@pytest.mark.jvm
def test_no_secret_reaches_the_page(world: World, tmp_path: Path) -> None:
    done = in_process("html", "--folder", world.folder, "--out", tmp_path / "page.html")

    assert (done.code, leaks(done.out + done.err)) == (0, False), done.err
    assert leaks((tmp_path / "page.html").read_text()) is False


@pytest.mark.jvm
def test_no_secret_reaches_the_shards_of_a_page(world: World, tmp_path: Path) -> None:
    done = in_process("html", "--folder", world.folder, "--out", f"{tmp_path}/page/")

    assert (done.code, leaks(done.out + done.err)) == (0, False), done.err
    assert len([*tmp_path.rglob("*.js")]) > 3
    assert _lines_with_a_secret(tmp_path) == []


@pytest.mark.jvm
@pytest.mark.parametrize("exporter", sorted(EXPORTERS))
def test_no_secret_reaches_an_export(world: World, exporter: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = in_process("export", "--to", exporter, "--out", out, "--folder", world.folder)

    assert (done.code, leaks(done.out + done.err)) == (0, False), done.err
    assert _lines_with_a_secret(tmp_path) == []


@pytest.mark.jvm
def test_no_secret_reaches_what_a_check_prints(world: World) -> None:
    done = in_process("doctor", "--config", world.settings)

    assert done.out
    assert [line for line in (done.out + done.err).splitlines() if leaks(line)] == []


@pytest.fixture
def superset() -> Iterator[str]:
    """The address of a server that repeats the secrets that it gets."""
    with HTTPServer(("127.0.0.1", 0), made.SupersetServer) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize(
    ("login", "printed"),
    [
        ({"username": "ann", "password_env": "SUPERSET_SECRET"}, "dashboards are listed"),
        ({"username": "bob", "password_env": "SUPERSET_SECRET"}, "rejects the login"),
        ({"token_env": "SUPERSET_SECRET"}, "dashboards are listed"),
        ({"username": "ann", "password_env": SECRET}, "superset.password_env"),
        ({"token_env": SECRET}, "superset.token_env"),
    ],
)
def test_no_secret_of_a_server_of_superset_is_printed(
    superset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, login: dict[str, str], printed: str
) -> None:
    monkeypatch.setenv("SUPERSET_SECRET", SECRET)
    settings = {"dag_name": "daily", "environment": "dev", "superset": [{"url": superset, **login}]}
    file = tmp_path / "lineage_merge.yml"
    file.write_text(yaml.safe_dump(settings))

    done = in_process("doctor", "--config", file)
    try:
        report = merge(CONFIGURATION.parse(settings)).report
    except LineageMergeError as error:
        said = str(error)
    else:
        said = report_text(report)
        assert len(report.problems) == len(some_forms())

    assert printed in done.out + done.err
    assert [line for line in (done.out + done.err + said).splitlines() if leaks(line)] == []


@pytest.mark.jvm
def test_no_secret_reaches_a_capture(spark: SparkSession, tmp_path: Path) -> None:
    """Literals of columns, names of columns and of the job, the keys of an encryption function."""
    spark.sql("select 'x' as a").write.parquet(f"{tmp_path}/in")
    source = spark.read.parquet(f"{tmp_path}/in")
    shown = [f"concat(a, '{_literal(form)}') as c{number}" for number, form in enumerate(some_forms())]
    named = [f"a as `{number} {form.replace('`', '``')}`" for number, form in enumerate(some_forms())]
    keys = [f"aes_encrypt(a, '{SECRET}')", f"aes_decrypt(unhex(a), '{SECRET}', 'GCM') as d"]
    captured = capture(source.selectExpr(*shown, *named, *keys), target=f"s3://k:{SECRET}@lake/out")

    texts = {
        "nodes": repr(captured.nodes),
        "edges": repr(captured.edges),
        "problems": repr(captured.problems),
        "columns": str(captured.columns()),
        "records": repr(captured.records()),
        "tree": str(captured),
        "mermaid": captured.to_mermaid(),
        "dot": captured.to_dot(),
        "graphml": captured.to_graphml(),
        "json": repr(captured.to_json()),
        "html": captured.to_html(),
    }
    assert len(captured.edges) > 2 * len(some_forms())
    assert {name: _around(text) for name, text in texts.items() if leaks(text)} == {}


def _literal(form: str) -> str:
    return form.replace("\\", "\\\\").replace("'", "\\'")


def _around(text: str) -> str:
    at = text.lower().index(SECRET.lower())
    return text[max(0, at - 200) : at + 100]


def test_a_process_that_imports_only_the_errors_redacts_their_messages() -> None:
    program = (
        "from lineage_merge.model.errors import SourceError; print(SourceError('s3://key:s3cret@bucket'))"
    )
    printed = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert printed.stdout == "s3://bucket\n"
