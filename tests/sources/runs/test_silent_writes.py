"""Writes that earlier runs of a job did, and later ones did not report."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.silent_writes import silent_writes
from tests.sources.runs.run_events import event

A, B, C = "dev|s3://lake|a", "dev|s3://lake|b", "dev|s3://lake|c"
HOUR = 3_600_000


def written(runs: Sequence[Sequence[str]], job: str = "load", **more: Any) -> list[EventRow]:
    """The writes of runs at the hours 0, 1, ...: the datasets of each; of none a run without a target."""
    return [
        event(f"{dataset} {hour}", hour * HOUR, f"r{hour}", dataset=dataset or None, job=job, **more)
        for hour, datasets in enumerate(runs)
        for dataset in datasets or [""]
    ]


def silent(events: list[EventRow]) -> Mapping[tuple[str, str], str]:
    """Return the start of the messages by dataset and job."""
    found = silent_writes(LocalEngine().rows(events)).collect()
    assert {each.kind for each in found} <= {"silent"}
    return {(each.document, each.field): each.message.partition(":00:00 UTC")[0] for each in found}


def test_a_dataset_that_later_runs_do_not_report_is_named_with_the_job_and_the_time(engine: Engine) -> None:
    events = [*written([[A, B], [A, B], [A], [A]]), *written([[A], [A]], job="other")]

    (found,) = silent_writes(engine.rows(events)).collect()

    assert (found.kind, found.document, found.field) == ("silent", B, "spark load")
    assert found.message.startswith(
        "no write since 1970-01-01 01:00:00 UTC, although 2 later successful runs did not report it"
    )


@pytest.mark.parametrize(
    ("runs", "missed"),
    [
        ([[A, B], [A, B], [A]], {B}),
        # The client sent nothing of the last run but its end.
        ([[A], [A], []], {A}),
        ([[A, B], [A, B], [A, B]], set()),
        # It came back.
        ([[A, B], [A, B], [A], [A, B]], set()),
        # Not each run writes it.
        ([[A, B], [A], [A, B], [A]], set()),
        # Too few runs to know.
        ([[A, B], [A]], set()),
        # Runs with other parameters.
        ([[A], [A], [B], [B], [C]], set()),
        # A dataset of each run.
        ([[A, B], [A, C], [A]], set()),
    ],
)
def test_only_what_the_last_runs_in_a_row_wrote_is_missed(runs: list[list[str]], missed: set[str]) -> None:
    assert {dataset for dataset, _ in silent(written(runs))} == missed


def test_a_failed_run_may_have_ended_before_the_write() -> None:
    failed = event("a", 2 * HOUR, "r2", dataset=A, failed=True)

    assert silent([*written([[A, B], [A, B]]), failed]) == {}


def test_what_names_no_dataset_and_statements_of_their_own_are_not_missed() -> None:
    assert silent(written([[A, "?x"], [A, "?x"], [A]])) == {}
    assert silent(written([[A, B], [A, B], [A]], statement="insert")) == {}
