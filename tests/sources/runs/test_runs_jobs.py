"""The newest run of each job, and the number of successful runs."""

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.model.elements import Job, JobKey, SuccessfulRuns
from lineage_merge.sources.runs import jobs
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.jobs import JobFacts
from lineage_merge.sources.runs.run_selection import SelectedWrite
from tests.sources.runs.run_events import event


def facts(events: list[EventRow], selected: list[EventRow] | None = None) -> dict[str, JobFacts]:
    """The facts by job; by default all events count."""
    rows = LocalEngine().rows(events)
    chosen = LocalEngine().rows(
        [SelectedWrite(each, 1) for each in (events if selected is None else selected)]
    )
    found = jobs.job_facts(rows, chosen).collect()
    assert len({each.job for each in found}) == len(found)
    return {each.job: each for each in found}


def test_the_facts_are_those_of_the_newest_run_summed_over_its_writes(engine: Engine) -> None:
    events = [
        event("old", 9, "r1", rows=100),
        event("a", 10, "r2", duration_ms=5, rows=1, framework="spark 3"),
        event("b", 11, "r2", duration_ms=7, rows=None, framework="spark 4"),
        event("c", 12, "r2", duration_ms=None, rows=4, failed=True, shown_run_id="jr"),
        event(None, 13, "r3"),
    ]
    selected = [SelectedWrite(each, 1) for each in events[:1]]

    assert jobs.job_facts(engine.rows(events), engine.rows(selected)).collect() == [
        JobFacts("spark", "load", 12, "r2", 12, 5, "spark 4", True)
    ]


def test_a_duplicate_document_counts_once_whatever_its_target() -> None:
    write = event("a", 1, rows=3, duration_ms=2)
    events = [write, write, write._replace(target="s3://x", dataset="y", unlabelled=["dag"])]

    assert facts(events)["load"] == JobFacts("spark", "load", 1, "r1", 2, 3, "spark", False)


def test_the_version_of_each_target_is_that_after_its_last_successful_write() -> None:
    events = [
        event("b", 3, version="db.b@7", failed=True),
        event("b", 2, version="db.b@6"),
        event("b", 1, version="db.b@5"),
        event("a", 1, version="db.a@12"),
        event("c", 1),
    ]

    found = facts(events)["load"]

    assert jobs.job(found).properties["last_versions"] == "db.a@12, db.b@6"


def test_missing_facts_are_unknown() -> None:
    events = [event("a", 1, rows=None, duration_ms=None, framework=None, failed=None)]

    assert facts(events)["load"] == JobFacts("spark", "load", 1, "r1", None, None, None, None)


def test_of_runs_that_ended_at_one_time_the_last_by_its_facts_is_the_newest() -> None:
    events = [
        event("a", 1, "r1", shown_run_id="r1", rows=9),
        event("b", 1, "r2", shown_run_id="r2", rows=1),
        event("c", 1, "r3", shown_run_id=None, rows=10),
    ]

    assert facts(events)["load"].rows_written == 1


def test_a_job_without_a_selected_write_has_no_facts() -> None:
    events = [event("a", 1), event("b", 1, job="export"), event("c", 1, job_type="python")]

    found = jobs.job_facts(
        LocalEngine().rows(events), LocalEngine().rows([SelectedWrite(events[0], 1)])
    ).collect()

    assert [(each.job_type, each.job) for each in found] == [("spark", "load")]


def test_facts_become_the_properties_of_a_job_without_the_unknown_ones() -> None:
    assert jobs.job(JobFacts("spark", "load", 12, "", None, 0, "spark 4", True)) == Job(
        JobKey("spark", "load"),
        12,
        {"last_run_at": 12, "rows_written": 0, "framework": "spark 4", "status": "failed"},
    )
    assert jobs.job(JobFacts("spark", "load", 1, "r", 1, 1, "", False)).properties["status"] == "succeeded"


def test_a_successful_run_is_one_without_failed_writes(engine: Engine) -> None:
    events = [
        event("a", 1, "r1"),
        event("b", 2, "r1", failed=True),
        event("a", 1, "r2"),
        event("b", 2, "r2"),
        event("a", 1, "r3", failed=None),
        event("a", 1, "r2", database="other"),
        event(None, 1, "r4"),
        event("a", 1, "r1", job="export"),
        event("a", 1, "r1", job="always fails", failed=True),
    ]

    assert set(jobs.successful_runs(engine.rows(events)).collect()) == {
        SuccessfulRuns(JobKey("spark", "export"), 1),
        SuccessfulRuns(JobKey("spark", "load"), 2),
    }
