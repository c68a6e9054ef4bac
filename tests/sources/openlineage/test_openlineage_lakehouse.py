"""The lakehouse jobs as openlineage-spark 1.53 reports them, compared with what they do, by hand."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Element, Problem
from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage import translator
from lineage_merge.sources.openlineage.documents import cut_down
from lineage_merge.sources.openlineage.runs import Run, combine_events
from tests import lakehouse_truth

# The client sent no action of this application.
NOT_SENT = {"d07_path"}
# Columns of metadata tables are no columns of the graph.
METADATA_TABLES = {"i15_files", "i15_snaps"}
ROW_LEVEL = {"mrg_t", "mrg_d", "upd_t", "upd_d", "del1_t", "del2_t"}
# The optimized plan filters empty arrays and maps before `explode`.
FILTERS_OF_EXPLODE = {
    ("n03a", "customers.json", "items"),
    ("n03c", "customers.json", "items"),
    ("n07b", "customers.json", "attrs"),
}


def runs() -> Iterator[Run]:
    events: dict[str, list[dict[str, Any]]] = {}
    for event in lakehouse_truth.messages("openlineage"):
        events.setdefault(event["run"]["runId"], []).append(cut_down(event))
    yield from map(combine_events, events.values())


def elements() -> Iterator[Element]:
    for run in runs():
        for key in translator.targets(run):
            yield from translator.translate(run, key)


@pytest.fixture(scope="module")
def found() -> lakehouse_truth.LakehouseEdges:
    return lakehouse_truth.edges(elements())


def test_every_value_that_the_client_reports_is_an_edge_and_no_other(
    found: lakehouse_truth.LakehouseEdges,
) -> None:
    truth = lakehouse_truth.truth()
    compared = lakehouse_truth.compare_values(truth, found)

    assert compared.wrong == set()
    assert {edge[0] for edge in compared.missing} == NOT_SENT | METADATA_TABLES
    assert len(compared.right) == 89


def test_influences_are_those_of_the_jobs_except_for_filters_of_explode(
    found: lakehouse_truth.LakehouseEdges,
) -> None:
    compared = lakehouse_truth.compare_influences(lakehouse_truth.truth(), found)

    assert compared.wrong == FILTERS_OF_EXPLODE
    assert {edge[0] for edge in compared.missing} == NOT_SENT


def test_row_level_operations_have_the_kinds_of_their_expressions(
    found: lakehouse_truth.LakehouseEdges,
) -> None:
    truth = lakehouse_truth.truth().of(ROW_LEVEL)
    rows = found.of(ROW_LEVEL)

    assert rows.values == truth.values
    assert rows.influences == truth.influences


def test_nothing_of_the_statements_is_reported_as_lost() -> None:
    assert [element for element in elements() if isinstance(element, Problem)] == []


def test_a_merge_of_the_events_has_the_write_of_each_operation(data: Path) -> None:
    config = CONFIGURATION.parse(
        {
            "dag_name": "lakehouse",
            "environment": "dev",
            "openlineage": {"events": str(data / "lakehouse/openlineage.jsonl.gz")},
        }
    )

    report, merged = read_sources.merge(config)

    rows = merged.collect()
    writes = {(row["job_name"], row["to"].rpartition("/")[2]) for row in rows if row.get("label") == "writes"}
    assert writes >= {
        ("i05_merge_upd_ins", "mrg_t"),
        ("i07_update_expr", "upd_t"),
        ("i09_delete_filter", "del1_t"),
        ("i09_delete_filter", "del2_t"),
        ("d02_merge_sql", "mrg_d"),
        ("d04_update", "upd_d"),
    }
    modes = {
        (row["from"].rpartition("/")[2], row["to"].rpartition("/")[2], row["write_mode"])
        for row in rows
        if row.get("label") == "feeds" and row["write_mode"] in ("merge", "update", "delete")
    }
    assert modes == {
        ("orders.csv", "mrg_t", "merge"),
        ("customers.json", "mrg_t", "merge"),
        ("mrg_t", "mrg_t", "merge"),
        ("orders.csv", "mrg_d", "merge"),
        ("customers.json", "mrg_d", "merge"),
        ("mrg_d", "mrg_d", "merge"),
        ("upd_t", "upd_t", "update"),
        ("upd_d", "upd_d", "update"),
    }
    assert [problem for problem in report.problems if problem.kind in ("rejected", "no-columns")] == []


def test_the_snapshot_or_version_after_a_write_is_known_of_tables_by_name() -> None:
    written = {translator.version_written(run, key) for run in runs() for key in translator.targets(run)}

    assert written == {
        None,
        "db.app_t@9093182274305730827",
        "db.chain1@3020307519182711811",
        "db.chain2@3319722203335977193",
        "db.ctas_o@1751626483579533456",
        "db.del1_t@2893213376193794522",
        "db.del2_t@6681426697243712936",
        "db.mrg_t@1963490203056056197",
        "db.upd_t@9013954717318611029",
        "default.sales_d@0",
    }
