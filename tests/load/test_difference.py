"""How elements of a merge differ from what the graph holds. Without a graph."""

import pytest

from lineage_merge.load.diff import Held, edge_change, node_change

OF_JOB = {"job_type": "spark", "job_name": "j"}
HELD_OF_JOB = {name: [value] for name, value in OF_JOB.items()}


def test_an_edge_loses_what_its_merge_asserts_no_longer_and_keeps_what_is_not_declared() -> None:
    held = {
        **HELD_OF_JOB,
        "column_lineage": ["unavailable"],
        "operations": ["Read > Write"],
        "via": ["s3://b/tmp"],
        "write_mode": ["append"],
        "checked": ["by ann"],
    }
    change, told, cleared = edge_change({**OF_JOB, "write_mode": "overwrite"}, held)
    assert (change, told, set(cleared)) == (
        "changed",
        ["write_mode"],
        {"column_lineage", "operations", "via"},
    )
    assert edge_change(OF_JOB, {**HELD_OF_JOB, "column_lineage": ["unavailable"]}) == (
        "changed",
        [],
        ["column_lineage"],
    )


@pytest.mark.parametrize("edge", [{}, {"sequence": 4}])
def test_that_the_order_of_writes_is_unknown_or_another_is_no_reason_to_write(edge: dict[str, int]) -> None:
    change, _, cleared = edge_change({**OF_JOB, **edge}, {**HELD_OF_JOB, "sequence": ["3"]})
    assert (change, cleared) == ("same", [])


def test_a_job_loses_what_an_earlier_run_said_and_keeps_its_project() -> None:
    held = {
        "environment": ["dev"],
        "last_run_at": ["1"],
        "last_run_id": ["app-1"],
        "rows_written": ["9"],
        "duration_ms": ["5"],
        "project": ["shop"],
    }
    node = {"label": "job", "last_run_at": 2, "last_run_id": "app-2"}
    change, told, cleared, _ = node_change(node, Held("job", True, False, held), builds=False)
    assert (change, set(told), set(cleared)) == (
        "changed",
        {"last_run_at", "last_run_id"},
        {"rows_written", "duration_ms"},
    )


@pytest.mark.parametrize("label", ["table", "column", "file"])
def test_a_dataset_and_a_column_lose_nothing_that_the_merge_does_not_know(label: str) -> None:
    held = {"environment": ["dev"], "description": ["by dbt"], "format": ["csv"], "data_type": ["int"]}
    assert node_change({"label": label}, Held(label, True, False, held), builds=True) == (
        "same",
        [],
        [],
        label,
    )
