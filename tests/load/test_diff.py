"""Comparison of incoming and stored elements, without a graph."""

import pytest

from lineage_merge.load.diff import edge_change, node_change
from lineage_merge.load.graph_state import StoredVertex

OF_JOB = {"job_type": "spark", "job_name": "j"}


def stored_vertex(label: str, properties: dict[str, str]) -> StoredVertex:
    """A vertex with the DAG's tag only."""
    return StoredVertex("dev|wh|t", label, properties, tagged=True, others=(), built_elsewhere=False)


def test_an_edge_loses_properties_that_its_merge_no_longer_has_except_undeclared_ones() -> None:
    stored = {
        **OF_JOB,
        "column_lineage": "unavailable",
        "operations": "Read > Write",
        "via": "s3://b/tmp",
        "write_mode": "append",
        "checked": "by ann",
    }
    change, to_write, cleared = edge_change({**OF_JOB, "write_mode": "overwrite"}, stored)
    assert (change, to_write, set(cleared)) == (
        "changed",
        ["write_mode"],
        {"column_lineage", "operations", "via"},
    )
    assert edge_change(OF_JOB, {**OF_JOB, "column_lineage": "unavailable"}) == (
        "changed",
        [],
        ["column_lineage"],
    )


@pytest.mark.parametrize("edge", [{}, {"sequence": 4}])
def test_a_different_or_unknown_sequence_causes_no_write(edge: dict[str, int]) -> None:
    change, _, cleared = edge_change({**OF_JOB, **edge}, {**OF_JOB, "sequence": "3"})
    assert (change, cleared) == ("unchanged", [])


def test_a_job_loses_properties_of_an_earlier_run_except_its_project() -> None:
    stored = {
        "environment": "dev",
        "last_run_at": "1",
        "last_run_id": "app-1",
        "rows_written": "9",
        "duration_ms": "5",
        "project": "shop",
    }
    node = {"label": "job", "last_run_at": 2, "last_run_id": "app-2"}
    change, to_write, cleared, _ = node_change(node, stored_vertex("job", stored), builds=False)
    assert (change, set(to_write), set(cleared)) == (
        "changed",
        {"last_run_at", "last_run_id"},
        {"rows_written", "duration_ms"},
    )


@pytest.mark.parametrize(
    ("stored", "incoming", "others", "written"),
    [
        ("delta", "parquet", ("hourly",), []),
        ("parquet", "delta", ("hourly",), ["format"]),
        # Nothing else says that it is still a table.
        ("delta", "parquet", (), ["format"]),
    ],
)
def test_a_table_format_of_another_dag_stays(
    stored: str, incoming: str, others: tuple[str, ...], written: list[str]
) -> None:
    known = stored_vertex("table", {"environment": "dev", "format": stored})._replace(others=others)

    assert node_change({"label": "table", "format": incoming}, known, builds=True)[1] == written


@pytest.mark.parametrize("label", ["table", "column", "file"])
def test_datasets_and_columns_keep_properties_unknown_to_the_merge(label: str) -> None:
    stored = {"environment": "dev", "description": "by dbt", "format": "csv", "data_type": "int"}
    assert node_change({"label": label}, stored_vertex(label, stored), builds=True) == (
        "unchanged",
        [],
        [],
        label,
    )
