"""Graphs of real events of several clients: exported, valid, read again without loss, twice."""

import json
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage import EXPORTER
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.questions.backends.folder import read_folder
from tests.exporters.openlineage_schemas import problems
from tests.graph_folder import write_folder

Rows = list[dict[str, Any]]
NOW = datetime(2026, 11, 27, tzinfo=UTC)


def merged(source: dict[str, Any]) -> Rows:
    settings = {"dag_name": "daily", "environment": "dev", **source}
    report, elements = read_sources.merge(CONFIGURATION.parse(settings))
    assert not [each for each in report.problems if each.kind == "rejected"]
    found: Rows = elements.collect()
    return found


def exported(rows: Rows, folder: Path) -> list[str]:
    nodes = [row for row in rows if "from" not in row]
    graph = read_folder(write_folder(folder / "graph", nodes, [row for row in rows if "from" in row]))
    EXPORTER.send(Export(graph, {"out": str(folder / "events.jsonl")}, at=NOW))
    return (folder / "events.jsonl").read_text().splitlines()


def lineage(rows: Rows) -> set[tuple[Any, ...]]:
    """Edges between datasets and columns with their jobs, the columns with their types, results of checks."""
    edges = {
        (
            row["label"],
            row["from"],
            row["to"],
            row["job_name"],
            row.get("transformation"),
            row.get("expression"),
        )
        for row in rows
        if row["label"] in ("feeds", "feeds_column", "influences")
    }
    fed = {end for _, *ends, _, _, _ in edges for end in ends}
    columns = {
        (row["id"], row.get("data_type")) for row in rows if row["label"] == "column" and row["id"] in fed
    }
    overwritten = {row["id"] for row in rows if row.get("write_mode") == "overwrite"}
    return edges | columns | {("overwrite", edge) for edge in overwritten} | set(checks(rows).items())


def checks(rows: Rows) -> Counter[tuple[Any, ...]]:
    """How many checks have a name and a status."""
    return Counter(
        (row["name"], row["status"]) for row in rows if row["label"] == "assertion" and row.get("status")
    )


@pytest.mark.parametrize(
    "source",
    [
        {"openlineage": {"events": "openlineage/airflow/airflow_2_11.jsonl.gz"}},
        {"openlineage": {"events": "openlineage/airflow/airflow_3_0.jsonl.gz"}},
        {"openlineage": {"events": "openlineage/events"}},
        {"spline": {"export": "spline"}},
    ],
    ids=["Airflow 2", "Airflow 3", "openlineage-spark", "Spline"],
)
def test_what_comes_out_goes_in_without_loss_twice(source: Any, data: Path, tmp_path: Path) -> None:
    ((kind, (*_, (key, path))),) = ((kind, [*each.items()]) for kind, each in source.items())
    rows = merged({kind: {key: str(data / path)}})
    assert len(lineage(rows)) > 20
    events = exported(rows, tmp_path / "once")
    assert [found for each in events for found in problems(json.loads(each))] == []
    again = merged({"openlineage": {"events": str(tmp_path / "once" / "events.jsonl")}})
    assert lineage(again) == lineage(rows)
    assert exported(rows, tmp_path / "same") == events
    twice = exported(again, tmp_path / "twice")
    assert lineage(merged({"openlineage": {"events": str(tmp_path / "twice" / "events.jsonl")}})) == lineage(
        rows
    )
    assert len(twice) == len(events)
