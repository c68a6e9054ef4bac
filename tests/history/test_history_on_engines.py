"""Entries written by each engine, with and without pyarrow, and the step of the pipeline."""

from pathlib import Path
from typing import Any, cast

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.graph_format.arrow import arrow_schema
from lineage_merge.graph_format.columns import rows_at
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.history import entry_files, merge_index
from lineage_merge.history.entry_files import read_columns, write_rows
from lineage_merge.history.fingerprints import sums_of
from lineage_merge.history.layout import DagScope
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.on_spark import SparkEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.merge.report import EMPTY
from lineage_merge.model.errors import HistoryError, IntermediateError
from lineage_merge.orchestration import pipeline
from tests.made_merges import Made

MADE = Made().job("spark", "load", {f"b{number}": ["a", "x"] for number in range(20)}, at=5)
MADE.node("a", tags=["pii", "raw"], description="d")


def expected(rows: Any) -> dict[str, dict[str, Any]]:
    """Rows by id, without partition keys and unknown values."""
    return {
        row["id"]: {
            key: value
            for key, value in row.items()
            if value is not None and key not in ("environment", "dag_name")
        }
        for row in rows
    }


def rows_of(folder: str) -> list[dict[str, Any]]:
    columns = read_columns(folder)
    return rows_at(columns, range(columns.num_rows))


@pytest.mark.parametrize(
    "each_engine", ["local", pytest.param("spark", marks=pytest.mark.jvm)], indirect=True
)
def test_workers_write_the_rows_of_their_partitions(each_engine: Engine, tmp_path: Path) -> None:
    for kind, rows in (("nodes", MADE.nodes), ("edges", MADE.edges)):
        folder = str(tmp_path / kind)
        written = write_rows(each_engine.rows(rows.values(), 2), kind, folder)  # type: ignore[arg-type]
        schema = arrow_schema(node_ddl() if kind == "nodes" else edge_ddl())
        assert written == (len(rows), sums_of(table_of_rows([*rows.values()], schema)))
        assert expected(rows_of(folder)) == expected(rows.values())


@pytest.mark.jvm
def test_spark_writes_without_pyarrow(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entry_files, "has_pyarrow", lambda: False)
    for engine in (LocalEngine(), SparkEngine(spark)):
        folder = str(tmp_path / type(engine).__name__)
        assert write_rows(engine.rows(MADE.nodes.values()), "nodes", folder, spark) == (len(MADE.nodes), None)
        assert expected(rows_of(folder)) == expected(MADE.nodes.values())
    with pytest.raises(IntermediateError, match=r"need pyarrow\. Fix: install"):
        write_rows(LocalEngine().rows(MADE.nodes.values()), "nodes", str(tmp_path / "x"))


def built(merge: MergeOutput) -> pipeline.Built:
    return pipeline.Built(
        merge.nodes,
        merge.edges,
        merge.aliases,
        merge.runs,
        merge.identities,
        merge.coverage,
        report=EMPTY,
        spark=cast("SparkSession", None),
        owner=("dev", "daily"),
    )


@pytest.mark.jvm
def test_a_load_adds_its_merge_and_a_dry_run_does_not(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    made = built(MADE.merge(LocalEngine()))
    location = str(tmp_path / "history")
    config, target = Config("daily", "dev"), Endpoint(gremlin_url)
    pipeline.load_graph(made, config, target, dry_run=True, history=location)
    assert merge_index.scopes(location) == []
    pipeline.load_graph(made, config, target)
    assert merge_index.scopes(location) == []
    pipeline.load_graph(made, config, target, history=location)
    record = merge_index.newest_record(location, DagScope("dev", "daily"))
    assert record
    assert (record.kind, record.vertices, record.edges) == ("full", len(MADE.nodes), len(MADE.edges))


@pytest.mark.jvm
def test_exporters_run_when_the_history_cannot_be_written(
    gremlin: GraphTraversalSource, gremlin_url: str, tmp_path: Path
) -> None:
    blocked = tmp_path / "blocked"
    blocked.touch()
    out = tmp_path / "lineage.mmd"
    config = Config("daily", "dev", exporters={"mermaid": {"out": str(out)}})
    with pytest.raises(HistoryError, match="the graph is loaded, but its history is not written"):
        pipeline.load_graph(
            built(MADE.merge(LocalEngine())), config, Endpoint(gremlin_url), history=str(blocked)
        )
    assert "b19" in out.read_text()
    location = str(tmp_path / "history")
    pipeline.load_graph(built(MADE.merge(LocalEngine())), config, Endpoint(gremlin_url), history=location)
    record = merge_index.newest_record(location, DagScope("dev", "daily"))
    assert record
    assert (record.kind, record.added) == ("full", 0)
