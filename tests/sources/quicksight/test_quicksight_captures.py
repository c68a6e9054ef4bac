"""Seven public dashboards, with the right answers, where the shared folder is present."""

import json
import lzma
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_merge.model.elements import FIELD, FeedsColumn
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from tests.record_reading import problems_of, records_of
from tests.sources.quicksight.made_definitions import read

CAPTURES = Path(__file__).parents[4] / "shared" / "captures" / "quicksight"
pytestmark = pytest.mark.skipif(not CAPTURES.is_dir(), reason="the shared captures are not here")
NAMES = sorted(folder.name for folder in CAPTURES.glob("*/")) if CAPTURES.is_dir() else []

# Visual, field, data set, column.
Edge = tuple[str, str, str, str]
# The truth takes the address in concat("https://...", {event_arn}) for the begin of a comment.
NOT_IN_TRUTH = {
    ("23154baf-7cfe-4700-b237-d04c31d9fa52", "f6138813-ba26-4ad0-8806-aa333a7c2a69.13.1725398249764"),
    ("cb19273f-22c8-41dd-b235-5700e0ff0ff0", "f6138813-ba26-4ad0-8806-aa333a7c2a69.0.1731522422193"),
}
# Fields of the truth whose expression it has in place of columns.
EXPRESSION = "?expression"


def read_capture(name: str, folder: Path) -> list[Record]:
    copy_capture(name, folder)
    return read(folder)


def copy_capture(name: str, folder: Path) -> None:
    shutil.copytree(CAPTURES / name / "data_sets", folder / "data_sets")
    shutil.copy(CAPTURES / name / "data_source.json", folder)
    (folder / "dashboard.json").write_bytes(
        lzma.decompress((CAPTURES / name / "dashboard.json.xz").read_bytes())
    )


def truth_of(name: str) -> Iterator[Edge]:
    truth = json.loads((CAPTURES / name / "truth.json").read_text())
    for visual, fields in truth.items():
        for field, columns in fields.items():
            for data_set, column in columns:
                yield visual.rpartition("|")[2], field, data_set, column


def edges_of(records: list[Record]) -> set[Edge]:
    return {
        (*record.target_column.split(FIELD), record.source.rpartition("dataset/")[2], record.source_column)
        for record in records_of(FeedsColumn, records)
        if FIELD in record.target_column and "dashboard/" in record.target
    }


@pytest.mark.parametrize("name", NAMES)
def test_every_edge_to_a_field_of_a_real_dashboard(name: str, tmp_path: Path) -> None:
    records = read_capture(name, tmp_path)
    truth = set(truth_of(name))
    without_columns = {edge[:2] for edge in truth if edge[2] == EXPRESSION}
    expected = {edge for edge in truth if edge[2] != EXPRESSION}
    found = edges_of(records)
    visuals = {
        visual.rpartition("|")[2] for visual in json.loads((CAPTURES / name / "truth.json").read_text())
    }
    # Insights have fields in computations, which are no field wells.
    in_truth = {edge for edge in found if edge[0] in visuals and edge[:2] not in without_columns}

    assert expected - found == set()
    assert {edge[:2] for edge in in_truth - expected} <= NOT_IN_TRUTH
    assert without_columns <= {edge[:2] for edge in found}
    assert not [problem for problem in problems_of(records) if problem[0] != "no-columns"]


# Constants, the current time, and counts of rows.
WITHOUT_SOURCE = {
    "alarms_total",
    "compliance_total",
    "feed_type",
    "fis_tests_total",
    "input_source_drifts",
    "operational_recommendations_total",
    "payer_id",
    "qs_refresh",
    "sops_total",
}


@pytest.mark.parametrize("name", NAMES)
def test_views_of_athena_lead_from_data_sets_to_their_tables(name: str, tmp_path: Path) -> None:
    copy_capture(name, tmp_path)
    athena = "awsathena://athena.us-east-1.amazonaws.com"
    settings = {
        "dag_name": "d",
        "environment": "dev",
        "quicksight": [{"definitions": str(tmp_path)}],
        "sql": [{"path": str(CAPTURES / name / "views"), "dialect": "athena", "namespace": athena}],
        "merge": {"default_schemas": {athena: "awsdatacatalog.cid_data"}},
    }
    rows = merge(CONFIGURATION.parse(settings)).elements.collect()
    views = {row["to"] for row in rows if row["label"] == "feeds" and f"|{athena}|" in row["to"]}
    read = {row["from"] for row in rows if row["label"] == "feeds" and "|dataset/" in row["to"]}
    fed = {row["to"] for row in rows if row["label"] == "feeds_column"}
    unfed = {
        row["to"].rpartition("|")[2]
        for row in rows
        if row["label"] == "has_column" and row["from"] in views and row["to"] not in fed
    }
    assert views & read
    assert unfed <= WITHOUT_SOURCE


def test_broken_charts_of_real_dashboards_are_found(tmp_path: Path) -> None:
    messages = {
        problem[3]
        for name in NAMES
        for problem in problems_of(read_capture(name, tmp_path / name))
        if "visual" in problem[3]
    }
    column = "budgets_view.MissingColumnId_612b70e2-0b78-4f7d-9dc5-54f3fbb16f63"
    assert messages == {
        f"visual Budget Summary by ${{GroupBy}} This Month shows a column that its data set lost: {column}"
    }
