"""Declared edges over several loads: entries that are removed, tools that report them, and a second DAG."""

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.history.layout import history_location
from lineage_merge.infra.embedded.graph_store import GraphFolder
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.pipeline import build, load_graph
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
        file = self.folder / f"{dag}_declared.yml"
        entries = "".join(ENTRY.format(NAMESPACE, *pair) for pair in pairs)
        file.write_text("by: ann\nlineage:" + (f"\n{entries}" if entries else " []\n"))
        sql = [{"path": str(self.folder / "sql"), "dialect": "spark", "namespace": NAMESPACE}]
        settings: dict[str, Any] = {"dag_name": dag, "environment": "dev", "declared": [str(file)]}
        settings |= {"load": {"allow_retire": True}} | ({"sql": sql} if with_sql else {})
        config, graph = CONFIGURATION.parse(settings), self.folder / "graph"
        with build(None, config) as built:
            load_graph(built, config, GraphFolder(graph), history=history_location(config, graph))

    def ask(self, *arguments: str) -> str:
        """Return the answer as text."""
        outcome = in_process(*arguments, "--graph-file", self.folder / "graph")
        assert outcome.code == 0, outcome.err
        return outcome.out

    def jobs(self) -> set[tuple[str, str]]:
        """The type and DAG of each job."""
        jobs = json.loads(self.ask("jobs", "--json"))["vertices"]
        return {(job["properties"]["job_type"], *job["properties"]["dag_name"]) for job in jobs}

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
    (pipeline.folder / "sql" / "load.sql").write_text("CREATE TABLE `lake`.`x` AS SELECT y FROM `raw`.`y`;")
    pipeline.load(("raw.orders", "lake.orders"), with_sql=True)
    assert pipeline.upstream("lake.orders") == [("raw.orders", "by ann: known")]


def test_the_last_entry_of_a_file_is_retired_too(pipeline: Pipeline) -> None:
    pipeline.load(("raw.orders", "lake.orders"))
    pipeline.load()
    assert pipeline.jobs() == set()


def test_a_file_that_is_rejected_retires_nothing(pipeline: Pipeline) -> None:
    pipeline.load(("raw.orders", "lake.orders"))
    pipeline.load(("raw.orders", "lake.orders#id"))
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
    rows = csv.DictReader(io.StringIO(pipeline.ask("history", "raw.orders", "--format", "csv")))
    said = {
        (row["event"], row["what"], row["name"]): row["before"] or row["after"]
        for row in rows
        if row["what"] in ("upstream", "downstream")
    }
    job = f"etl_declared/{NAMESPACE}|"
    assert said == {
        ("dropped", "upstream", "raw.x"): f"{job}raw.orders {BY_ANN}",
        ("added", "downstream", "lake.orders"): f"{job}lake.orders {BY_ANN}",
    }


def test_a_changed_declaration_is_in_the_history(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    pipeline.load(("raw.x", "raw.orders"))
    monkeypatch.setattr(f"{__name__}.ENTRY", ENTRY.replace("known", "a macro, until: 2999-01-31"))
    pipeline.load(("raw.x", "raw.orders"))
    (row, _) = csv.DictReader(io.StringIO(pipeline.ask("history", "raw.orders", "--format", "csv")))
    assert (row["what"], row["name"]) == ("upstream", "raw.x")
    assert row["before"].endswith(BY_ANN)
    assert row["after"].endswith("declared by ann until 2999-01-31: a macro")
