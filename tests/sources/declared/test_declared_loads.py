"""Declared edges over several loads: entries that are removed, tools that report them, and a second DAG."""

import json
from pathlib import Path

import pytest

from tests.command_line import in_process
from tests.sources.declared.test_declared import LOAD

NAMESPACE = "hive://metastore:9083"
ENTRY = '  - {{from: "{0}|{1}", to: "{0}|{2}", why: known}}\n'
BY_ANN = "declared by ann: known"


class Pipeline:
    """Loads of DAGs into one embedded graph. The DAG `etl` has a file of declarations, and SQL on demand."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / "sql").mkdir()
        (folder / "sql" / "load.sql").write_text(LOAD)

    def load(self, *pairs: tuple[str, str], dag: str = "etl", with_sql: bool = False) -> None:
        """Load the declared edges, and those of the SQL."""
        file, config = self.folder / f"{dag}_declared.yml", self.folder / f"{dag}.yml"
        entries = "".join(ENTRY.format(NAMESPACE, *pair) for pair in pairs)
        file.write_text("by: ann\nlineage:" + (f"\n{entries}" if entries else " []\n"))
        sql = [{"path": str(self.folder / "sql"), "dialect": "spark", "namespace": NAMESPACE}]
        settings = {"dag_name": dag, "environment": "dev", "declared": [str(file)]}
        config.write_text(json.dumps(settings | ({"sql": sql} if with_sql else {})))
        outcome = in_process(
            "run", "-c", config, "--graph-file", self.folder / "graph", "--allow-retire", "--quiet"
        )
        assert outcome.code == 0, outcome.err

    def ask(self, *arguments: str) -> str:
        """Return the answer as text."""
        outcome = in_process(*arguments, "--graph-file", self.folder / "graph")
        assert outcome.code == 0, outcome.err
        return outcome.out

    def jobs(self) -> set[tuple[str, str]]:
        """The type and DAG of each job."""
        rows = json.loads(self.ask("jobs", "--json"))["jobs"]
        return {(row["job_type"], *row["dags"]) for row in rows}

    def upstream(self, dataset: str) -> list[tuple[str, str]]:
        """The source of each edge, and who declares it."""
        graph = json.loads(self.ask("upstream", dataset, "--json"))
        return [
            (edge["from"].rpartition("|")[2], edge["properties"].get("declared", ""))
            for edge in graph["edges"]
            if edge["label"] == "feeds"
        ]


@pytest.fixture
def pipeline(tmp_path: Path) -> Pipeline:
    return Pipeline(tmp_path)


def test_an_entry_that_is_removed_retires_its_edge_and_its_job(pipeline: Pipeline) -> None:
    pipeline.load(("raw.orders", "lake.orders"), ("lake.orders", "mart.orders"))
    assert pipeline.upstream("lake.orders") == [("raw.orders", "by ann: known")]
    pipeline.load(("lake.orders", "mart.orders"))
    assert pipeline.upstream("lake.orders") == []
    assert pipeline.upstream("mart.orders") == [("lake.orders", "by ann: known")]
    assert pipeline.jobs() == {("declared", "etl")}


def test_a_tool_that_reports_the_edge_replaces_the_declared_one(pipeline: Pipeline) -> None:
    pipeline.load(("raw.orders", "lake.orders"))
    pipeline.load(("raw.orders", "lake.orders"), with_sql=True)
    assert pipeline.upstream("lake.orders") == [("raw.orders", "")]
    assert pipeline.jobs() == {("sql", "etl")}
    # And back, when the tool no longer reports it.
    (pipeline.folder / "sql" / "load.sql").write_text("SELECT 1;")
    pipeline.load(("raw.orders", "lake.orders"), with_sql=True)
    assert pipeline.upstream("lake.orders") == [("raw.orders", "by ann: known")]


def test_each_dag_has_its_own_declarations(pipeline: Pipeline) -> None:
    pipeline.load(("raw.orders", "lake.orders"))
    pipeline.load(("lake.orders", "mart.orders"), dag="other")
    pipeline.load(("raw.orders", "lake.x"))
    assert pipeline.upstream("mart.orders") == [("lake.orders", "by ann: known")]
    assert pipeline.jobs() == {("declared", "etl"), ("declared", "other")}


def test_the_history_says_who_declared_an_edge(pipeline: Pipeline) -> None:
    pipeline.load(("raw.x", "raw.orders"))
    pipeline.load(("raw.x", "raw.orders"), ("raw.orders", "lake.orders"))
    pipeline.load(("raw.orders", "lake.orders"))
    said = pipeline.ask("history", "raw.orders", "--format", "csv")
    lines = [line for line in said.splitlines() if BY_ANN in line]
    assert [line.count("raw.x") for line in lines] != []
    assert any("lake.orders" in line for line in lines)
