"""Selection of runs, and other events: one folder of histories."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.merge.join import merge_locally
from lineage_merge.model.elements import Column, Dataset, Feeds, Problem, SuccessfulRuns
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.engine_fixtures import ENGINES, engine_of
from tests.record_reading import (
    comparable,
    counts_of,
    flows_of,
    jobs_of,
    problems_of,
    records_of,
    rows_of,
    runs_of,
    writes_of,
)
from tests.s3_fixtures import S3
from tests.sources.openlineage.made_events import Event, dataset, event, job_type, of_spark, write_lines

OVERWRITE = {"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}}
SQL = job_type("SPARK", "SQL_JOB")
APPLICATION = job_type("SPARK", "APPLICATION")


def ran(
    job: str, run: str, at: str, reads: str, writes: str, end: str = "COMPLETE", **more: Any
) -> list[Event]:
    """A run of a minute: START names the inputs, the end the outputs."""
    start = event("START", at, job, run, inputs=[f"s3://in|{reads}"], **more)
    done = at[:-2] + f"{int(at[-2:]) + 1:02}"
    return [start, event(end, done, job, run, outputs=[dataset(f"s3://out|{writes}", rows=3)], **more)]


def wrote(app: str, run: str, of: str, at: str, reads: str, writes: str, *, append: bool) -> list[Event]:
    """An action of the Spark application's run `of`."""
    output = dataset(f"s3://out|{writes}", {} if append else OVERWRITE, rows=10)
    facts: dict[str, Any] = {"run_facets": of_spark(app, of), "job_facets": SQL}
    done = at[:-2] + f"{int(at[-2:]) + 1:02}"
    return [
        event(
            "START", at, f"{app}.execute_insert", run, inputs=[f"s3://in|{reads}"], outputs=[output], **facts
        ),
        event("COMPLETE", done, f"{app}.execute_insert", run, outputs=[output], **facts),
    ]


HISTORIES: list[Event] = [
    # The newest successful run of a target counts; another target keeps its own newest.
    *ran("plain", "p1", "02T06:00", "old", "x"),
    *ran("plain", "p2", "03T06:00", "new", "x"),
    *ran("plain", "p3", "04T06:00", "failed", "x", "FAIL"),
    *ran("plain", "p4", "01T06:00", "other", "y"),
    event("START", "05T06:00", "plain", "p5", inputs=["s3://in|unfinished"], outputs=["s3://out|x"]),
    # Nothing that ended well: no lineage, no job.
    *ran("never", "n1", "02T06:00", "a", "never", "ABORT"),
    # A run of an application: an overwrite and two appends of one target, then one of another.
    *wrote("appends", "a0", "app-1", "02T05:00", "lost", "t", append=False),
    *wrote("appends", "a1", "app-2", "02T06:00", "old", "t", append=True),
    *wrote("appends", "a2", "app-2", "02T06:10", "first", "t", append=False),
    *wrote("appends", "a3", "app-2", "02T06:20", "second", "t", append=True),
    *wrote("appends", "a4", "app-2", "02T06:30", "third", "u", append=True),
    # A count, and the application itself, which failed after its writes.
    event(
        "COMPLETE",
        "02T06:40",
        "appends.collect",
        "a5",
        inputs=["s3://in|counted"],
        run_facets=of_spark("appends", "app-2"),
        job_facets=SQL,
    ),
    event(
        "FAIL",
        "02T06:50",
        "appends",
        "run-of-app-2",
        run_facets={"spark_applicationDetails": {"appName": "appends", "applicationId": "app-2"}},
        job_facets=APPLICATION,
    ),
    # A stream never ends.
    event(
        "START",
        "01T06:00",
        "stream",
        "s1",
        inputs=["kafka://broker:9092|clicks"],
        job_facets=job_type("FLINK", "JOB", "STREAMING"),
    ),
    event(
        "RUNNING",
        "05T06:00",
        "stream",
        "s1",
        outputs=["s3://out|stream"],
        job_facets=job_type("FLINK", "JOB", "STREAMING"),
    ),
    # Out of the lookback.
    *ran("old", "o1", "01T00:00", "a", "old"),
    # Left out by its namespace, and by its name.
    *ran("foreign", "f1", "05T06:00", "a", "foreign", namespace="others"),
    *ran("unwanted", "u1", "05T06:00", "a", "unwanted"),
    # Successful runs that wrote something, and one that wrote nothing.
    *ran("airflow.task", "t1", "03T06:00", "a", "task", job_facets=job_type("AIRFLOW", "TASK")),
    event("COMPLETE", "04T06:00", "airflow.task", "t2", job_facets=job_type("AIRFLOW", "TASK")),
]
STATIC: list[Event] = [
    {
        "eventTime": "2026-10-01T00:00:00Z",
        "producer": "x",
        "schemaURL": "x",
        "job": {"namespace": "tests", "name": "static"},
        "inputs": [dataset("s3://in|was")],
        "outputs": [dataset("s3://out|static")],
    },
    {
        "eventTime": "2026-10-02T00:00:00Z",
        "producer": "x",
        "schemaURL": "x",
        "job": {"namespace": "tests", "name": "static"},
        "inputs": [dataset("s3://in|is")],
        "outputs": [dataset("s3://out|static")],
    },
    {
        "eventTime": "2026-10-02T00:00:00Z",
        "producer": "x",
        "schemaURL": "x",
        "dataset": dataset(
            "s3://in|is", {"documentation": {"description": "newer"}, "schema": {"fields": [{"name": "a"}]}}
        ),
    },
    {
        "eventTime": "2026-10-01T00:00:00Z",
        "producer": "x",
        "schemaURL": "x",
        "dataset": dataset("s3://in|is", {"documentation": {"description": "older"}}),
    },
    {
        "eventTime": "2026-10-01T00:00:00Z",
        "producer": "x",
        "schemaURL": "x",
        "dataset": dataset(
            "s3://out|view",
            {
                "columnLineage": {
                    "fields": {"a": {"inputFields": [{"namespace": "s3://in", "name": "is", "field": "a"}]}}
                }
            },
        ),
    },
]


def read(engine: Engine, *events: str, **settings: Any) -> list[Record]:
    parsed = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "openlineage": {"events": list(events), **settings}}
    )
    return rows_of(read_openlineage(engine, parsed, dataset_resolver.from_config(parsed)))


SETTINGS = {"lookback": "100h", "namespaces": ["test*"], "jobs": ["[!u]*"]}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("events")
    write_lines(made / "a.jsonl", HISTORIES)
    write_lines(made / "b.jsonl", STATIC)
    return made


@pytest.fixture(scope="module", params=ENGINES)
def rows(request: pytest.FixtureRequest, folder: Path) -> list[Record]:
    with engine_of(request) as engine:
        return read(engine, str(folder), **SETTINGS)


def test_the_newest_successful_run_of_each_job_and_target_is_used(rows: list[Record]) -> None:
    assert flows_of(rows) == {
        ("plain", "s3://in|new", "s3://out|x"),
        ("plain", "s3://in|other", "s3://out|y"),
        ("appends", "s3://in|first", "s3://out|t"),
        ("appends", "s3://in|second", "s3://out|t"),
        ("appends", "s3://in|third", "s3://out|u"),
        ("stream", "kafka://broker:9092|clicks", "s3://out|stream"),
        ("airflow.task", "s3://in|a", "s3://out|task"),
        ("static", "s3://in|is", "s3://out|static"),
    }
    assert writes_of(rows) == {(job, target) for job, _, target in flows_of(rows)}


def test_writes_have_their_place_in_the_run_of_their_job(rows: list[Record]) -> None:
    order = {
        (row.job.name, row.source.rpartition("|")[2], row.properties.get("sequence"))
        for row in records_of(Feeds, rows)
    }
    assert order == {
        ("plain", "new", "1"),
        ("plain", "other", "1"),
        ("appends", "first", "2"),
        ("appends", "second", "3"),
        ("appends", "third", "4"),
        ("stream", "clicks", "1"),
        ("airflow.task", "a", "1"),
        ("static", "is", None),
    }


def test_a_job_shows_what_its_newest_run_did(rows: list[Record]) -> None:
    minute = 60_000
    first = 1793491200000  # 2026-11-01
    day = 24 * 60 * minute
    found = {
        (
            job,
            facts.get("last_run_id"),
            facts.get("status"),
            facts.get("duration_ms"),
            facts.get("rows_written"),
        )
        for job, facts in jobs_of(rows).items()
    }
    assert found == {
        ("plain", "p3", "failed", str(minute), "3"),
        ("appends", "app-2", "failed", str(4 * minute), "40"),
        ("stream", "s1", "succeeded", str(4 * day), None),
        ("airflow.task", "t2", "succeeded", None, None),
        ("static", None, None, None, None),
    }
    assert jobs_of(rows)["plain"]["last_run_at"] == str(first + 3 * day + 6 * 60 * minute + minute)


def test_successful_runs_are_counted_for_retiring(rows: list[Record]) -> None:
    assert {(*row.job, row.number) for row in records_of(SuccessfulRuns, rows)} == {
        ("openlineage", "plain", 3),
        ("spark", "appends", 1),
        ("flink", "stream", 1),
        ("airflow", "airflow.task", 2),
    }


def test_a_dataset_event_describes_a_dataset_and_its_lineage_has_no_job(
    rows: list[Record], folder: Path
) -> None:
    descriptions = {
        row.properties["description"] for row in records_of(Dataset, rows) if "description" in row.properties
    }
    assert descriptions == {"newer"}
    columns = {(row.ref, row.name) for row in records_of(Column, rows)}
    assert columns == {("dev|s3://in|is", "a")}
    what = "the event names no job, so its column lineage cannot be used"
    assert problems_of(rows) == {
        ("skipped", f"{folder}/b.jsonl, line 5", "dataset.facets.columnLineage", what)
    }


def test_what_was_read_is_counted(rows: list[Record]) -> None:
    assert counts_of(rows) == {
        "OpenLineage events": len(HISTORIES) + len(STATIC),
        "OpenLineage runs": 19,
        "OpenLineage runs that only read": 1,
        "OpenLineage runs without an end": 1,
        "OpenLineage runs without datasets": 1,
    }


def test_shuffled_and_duplicate_events_in_several_files_give_the_same_records(
    rows: list[Record], tmp_path: Path
) -> None:
    events = [*HISTORIES, *STATIC] * 2
    random.Random(7).shuffle(events)
    write_lines(tmp_path / "x" / "1.jsonl", events[:30])
    tmp_path.joinpath("2.json").write_text(json.dumps(events[30:50]))
    tmp_path.joinpath("3.log").write_text(
        "".join(f"INFO ConsoleTransport: {json.dumps(e)}\n" for e in events[50:])
    )

    again = read(LocalEngine(), str(tmp_path), **SETTINGS)

    def without_places(found: list[Record]) -> Any:
        return comparable(row for row in found if not isinstance(row, Problem))

    assert without_places(again) == without_places(rows)


def test_all_runs_and_those_since_a_time_are_selected_on_request(folder: Path) -> None:
    of_plain = {"jobs": ["plain"]}
    every = read(LocalEngine(), str(folder), runs="all", **of_plain)
    assert {source for _, source, _ in flows_of(every)} == {"s3://in|old", "s3://in|new", "s3://in|other"}
    since = read(LocalEngine(), str(folder), runs="since 2026-11-03", **of_plain)
    assert {source for _, source, _ in flows_of(since)} == {"s3://in|new"}


def test_one_run_is_selected_by_its_id_however_old_it_is(folder: Path) -> None:
    for run, source in (("p2", "new"), ("p4", "other")):
        found = read(LocalEngine(), str(folder), runs=f"run {run}", lookback="1h", jobs=["plain"])
        assert {read for _, read, _ in flows_of(found)} == {f"s3://in|{source}"}
    assert not flows_of(read(LocalEngine(), str(folder), runs="run another", jobs=["plain"]))


def test_what_openlineage_spark_sends_of_failed_writes_gives_no_lineage(
    each_engine: Engine, tmp_path: Path
) -> None:
    """As openlineage-spark 1.53 does: FAIL of Spark's job, then COMPLETE; a command around it has no FAIL."""
    facts: dict[str, Any] = {"run_facets": of_spark("app", "app-1"), "job_facets": SQL}

    def sent(kind: str, at: str, run: str, writes: str) -> Event:
        output = dataset(f"s3://out|{writes}", OVERWRITE)
        return event(kind, at, f"app.{run}", run, inputs=["s3://in|a"], outputs=[output], **facts)

    write_lines(
        tmp_path / "events.jsonl",
        [
            sent("START", "06:00", "overwrite", "failed"),
            sent("FAIL", "06:01", "overwrite", "failed"),
            sent("COMPLETE", "06:02", "overwrite", "failed"),
            # CREATE TABLE AS SELECT: the command, and the insert within it.
            sent("START", "06:10", "create", "broken"),
            sent("START", "06:11", "insert", "broken"),
            sent("FAIL", "06:12", "insert", "broken"),
            sent("COMPLETE", "06:13", "insert", "broken"),
            sent("COMPLETE", "06:13", "create", "broken"),
            # A second try that succeeded, and one that failed after it.
            sent("START", "06:20", "first", "repeated"),
            sent("FAIL", "06:21", "first", "repeated"),
            sent("COMPLETE", "06:21", "first", "repeated"),
            sent("START", "06:22", "second", "repeated"),
            sent("COMPLETE", "06:23", "second", "repeated"),
            sent("START", "06:24", "third", "repeated"),
            sent("FAIL", "06:25", "third", "repeated"),
            sent("COMPLETE", "06:25", "third", "repeated"),
        ],
    )

    found = read(each_engine, str(tmp_path))

    assert flows_of(found) == {("app", "s3://in|a", "s3://out|repeated")}
    assert writes_of(found) == {("app", "s3://out|repeated")}
    assert jobs_of(found)["app"]["status"] == "failed"
    assert not runs_of(found)


def test_events_are_read_from_s3(s3: S3, folder: Path, rows: list[Record]) -> None:
    for name in ("a.jsonl", "b.jsonl"):
        s3.put("events", f"openlineage/{name}", folder / name)

    found = read(LocalEngine(), "s3://events/openlineage", **SETTINGS)

    assert flows_of(found) == flows_of(rows)


def test_files_without_events_are_reported(each_engine: Engine, tmp_path: Path) -> None:
    tmp_path.joinpath("driver.log").write_text("INFO nothing here\n")

    found = read(each_engine, str(tmp_path))

    assert problems_of(found) == {
        ("notice", "OpenLineage", "events", "no event found in the configured files")
    }


def test_run_local_sources_are_marked_for_collapsing(each_engine: Engine, tmp_path: Path) -> None:
    facts: dict[str, Any] = {"run_facets": of_spark("two", "app-1"), "job_facets": SQL}
    hop = dataset("s3://out|hop", OVERWRITE)
    write_lines(
        tmp_path / "events.jsonl",
        [
            event("COMPLETE", "06:00", "two.a", "r1", inputs=["s3://in|a"], outputs=[hop], **facts),
            event("COMPLETE", "06:01", "two.b", "r2", inputs=[hop], outputs=["s3://out|b"], **facts),
        ],
    )
    parsed = CONFIGURATION.parse(
        {
            "dag_name": "daily",
            "environment": "dev",
            "openlineage": {"events": str(tmp_path)},
            "merge": {"collapse_run_local": True},
        }
    )

    found = rows_of(read_openlineage(each_engine, parsed, dataset_resolver.from_config(parsed)))

    marked = {row.source for row in records_of(Feeds, found) if row.is_run_local}
    assert marked == {"dev|s3://out|hop"}


def test_checks_of_runs_that_write_nothing_are_read_and_the_newest_outcome_counts(tmp_path: Path) -> None:
    def checked(success: bool) -> Event:
        facet = {"assertions": [{"assertion": "not_null", "success": success, "column": "id"}]}
        return {**dataset("s3://in|a"), "inputFacets": {"dataQualityAssertions": facet}}

    write_lines(
        tmp_path / "events.jsonl",
        [
            event("COMPLETE", "06:00", "quality", "r1", inputs=[checked(True)]),
            event("COMPLETE", "07:00", "quality", "r2", inputs=[checked(False)]),
            event("COMPLETE", "08:00", "unwanted", "r3", inputs=[checked(True)]),
        ],
    )
    found = read(LocalEngine(), str(tmp_path), jobs=["quality"])
    graph = merge_locally(found, "dev", "daily")
    assert {(row["id"], row["status"]) for row in graph.nodes if row["label"] == "assertion"} == {
        ("dev|daily|assertion|openlineage|quality|s3://in%7Ca#id:not_null", "failed")
    }
    assert {(row["label"], row["to"]) for row in graph.edges} == {
        ("checks", "dev|s3://in|a|id"),
        ("has_column", "dev|s3://in|a|id"),
    }


def test_what_a_client_could_not_read_of_a_run_is_in_the_report(each_engine: Engine, tmp_path: Path) -> None:
    facet = {
        "totalTasks": 3,
        "failedTasks": 2,
        "errors": [{"errorMessage": "near hunter2", "task": "SELECT"}],
    }
    sent = event(
        "COMPLETE",
        "06:00",
        "load",
        inputs=["s3://in|a"],
        outputs=["s3://out|b"],
        run_facets={"extractionError": facet},
    )
    write_lines(tmp_path / "events.jsonl", [sent])
    records = read(each_engine, str(tmp_path))
    assert problems_of(records) == {
        (
            "notice",
            "Openlineage job load",
            "",
            "its client could not read 2 of 3 statements or tasks: lineage may be missing",
        )
    }
    assert len(flows_of(records)) == 1
