"""The newer of two merges of a job: determined by the manifest for dbt, by the newest run for others."""

from typing import Any

import pytest

from lineage_merge.load.diff import node_change
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.gremlin.upserts import vertex_upserts

KEYS = {
    "id": "dev|d|dbt|model.p.m",
    "label": "job",
    "environment": "dev",
    "dag_name": "d",
    "name": "model.p.m",
}
RUN = {"last_run_at": 50, "last_run_id": "run-5", "duration_ms": 3, "status": "succeeded"}


def change(stored: dict[str, Any], **node: Any) -> tuple[str, set[str]]:
    there = {**stored, "environment": "dev", "name": "model.p.m"}
    vertex = StoredVertex("dev|d|j", "job", there, tagged=True, others=(), built_elsewhere=False)
    found, written, _, _ = node_change({**KEYS, **node}, vertex, builds=False)
    return found, set(written)


@pytest.mark.parametrize(
    ("stored", "node", "expected"),
    [
        # A manifest without run results leaves what is known of runs alone.
        (
            {"described_at": 10, **RUN},
            {"described_at": 60, "framework": "dbt 2"},
            {"described_at", "framework"},
        ),
        ({"described_at": 10}, {"described_at": 40, **RUN}, {"described_at", *RUN}),
        # Run results that are older than those in the graph are not written, the newer manifest is.
        (
            {"described_at": 10, **RUN},
            {"described_at": 60, "last_run_at": 20, "last_run_id": "run-2", "status": "failed"},
            {"described_at"},
        ),
        # Of a graph that took the manifest's time for a run.
        ({"last_run_at": 30, "last_run_id": "i"}, {"described_at": 40}, {"described_at"}),
    ],
)
def test_a_newer_manifest_is_written(
    stored: dict[str, Any], node: dict[str, Any], expected: set[str]
) -> None:
    assert change(stored, **node) == ("changed", expected)


def test_an_older_manifest_leaves_the_job_unchanged() -> None:
    assert change({"described_at": 60}, described_at=10, **RUN) == ("stored_is_newer", set())


def test_of_jobs_without_a_manifest_the_newest_run_decides() -> None:
    assert change(RUN, last_run_at=20, status="failed") == ("stored_is_newer", set())
    assert change(RUN, last_run_at=60) == ("changed", {"last_run_at"})


def test_a_stored_time_ahead_of_the_clock_blocks_no_later_merge() -> None:
    ahead = 32_000_000_000_000
    written = {"last_run_at", "status"}
    assert change({**RUN, "last_run_at": ahead}, last_run_at=60, status="failed") == ("changed", written)
    dbt = change({"described_at": ahead, **RUN}, described_at=70, last_run_at=60, status="failed")
    assert dbt == ("changed", {"described_at", *written})


@pytest.mark.parametrize(
    ("node", "order"),
    [
        ({"described_at": 60, **RUN}, ("described_at", 60)),
        ({"described_at": 60}, ("described_at", 60)),
        (RUN, ("last_run_at", 50)),
        ({}, None),
    ],
)
def test_a_request_does_not_overwrite_newer_values(
    node: dict[str, Any], order: tuple[str, int] | None
) -> None:
    (upsert,) = vertex_upserts({**KEYS, **node})
    assert upsert.unless_newer == order
