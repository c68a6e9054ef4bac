"""Times ahead of the clock, in each source of files: what is read beside them, the report, and `doctor`."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.hive.reader import read_hive
from lineage_merge.sources.openlineage.reader import read_openlineage
from lineage_merge.sources.registry import QUERY_LOG
from lineage_merge.sources.spline.reader import read_capture, read_spline
from tests.agent_lines import line as agent_line
from tests.agent_lines import of_database
from tests.doctor.diagnosing import examine
from tests.record_reading import jobs_of, problems_of, rows_of
from tests.sources.hive.hive_lines import copy, document, line
from tests.sources.openlineage.made_events import event
from tests.sources.query_log.redshift_history import History
from tests.spline_documents import DAY, START, SplineDatabase

# A job in the lookback before the last one of the past, and one of the far future.
TIMES = {
    "weekly": datetime(2026, 1, 3, tzinfo=UTC),
    "hourly": datetime(2026, 1, 9, tzinfo=UTC),
    "ahead": datetime(2871, 5, 4, tzinfo=UTC),
}
Input = dict[str, Any]


def spline_database() -> SplineDatabase:
    spline = SplineDatabase()
    for job, at in TIMES.items():
        days = (at.timestamp() * 1000 - START) / 86_400_000
        spline.plan(job, reads=["s3://in/a"], writes=f"s3://out/{job}", at=days * DAY, run=job)
    return spline


def export(folder: Path) -> Input:
    return {"spline": {"export": str(spline_database().write(folder))}}


def messages(folder: Path) -> str:
    lines = [agent_line(each) for each in of_database(spline_database().contents)]
    (folder / "agent.jsonl").write_text("\n".join(lines))
    return str(folder)


def agent(folder: Path) -> Input:
    return {"spline": {"agent": messages(folder)}}


def listener(folder: Path) -> Input:
    return {"capture": {"files": messages(folder)}}


def hive(folder: Path) -> Input:
    made = [
        document(f"insert overwrite table dw.{job}", copy(f"dw.{job}", "ods.a"), int(at.timestamp()))
        for job, at in TIMES.items()
    ]
    (folder / "hive.log").write_text("\n".join(map(line, made)))
    return {"hive": {"log": str(folder)}}


def openlineage(folder: Path) -> Input:
    made = [
        {
            **event(
                "COMPLETE", "06:00", job, f"run-{job}", inputs=["s3://in|a"], outputs=[f"s3://out|{job}"]
            ),
            "eventTime": at.isoformat(),
        }
        for job, at in TIMES.items()
    ]
    (folder / "events.jsonl").write_text("\n".join(map(json.dumps, made)))
    return {"openlineage": {"events": str(folder)}}


def statements(folder: Path) -> Input:
    made = [
        {
            "id": str(number),
            "session": "s",
            "statement": f"insert into {job} select x from a",
            "started": at.isoformat(),
            "label": job,
        }
        for number, (job, at) in enumerate(TIMES.items())
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, made)))
    entry = {
        "format": "statements",
        "path": str(folder),
        "dialect": "snowflake",
        "namespace": "snowflake://o-a",
    }
    return {"query_log": [entry]}


def redshift(folder: Path) -> Input:
    history = History()
    session = history.session(7)
    for job, at in TIMES.items():
        history._at = at.replace(tzinfo=None)
        session.run(f"insert into dw.{job} select x from ods.a", label=job)
    entry = {
        "format": "redshift",
        "path": str(history.write(folder)),
        "namespace": "redshift://w.us-east-1:5439",
    }
    return {"query_log": [entry]}


READERS: dict[str, Callable[..., Any]] = {
    "spline": read_spline,
    "capture": read_capture,
    "hive": read_hive,
    "openlineage": read_openlineage,
    "query_log": QUERY_LOG.read,
}
INPUTS = [
    (export, "Spline export"),
    (agent, "Spline agent"),
    (listener, "capture files"),
    (hive, "Hive log"),
    (openlineage, "OpenLineage"),
    (statements, "query log"),
    (redshift, "query log"),
]


@pytest.mark.parametrize(("made", "check"), INPUTS)
def test_a_run_ahead_of_the_clock_hides_no_other_and_has_no_time(
    made: Callable[[Path], Input], check: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEAGE_MERGE_USER_SALT", "s")
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", **made(tmp_path)})
    (read,) = (READERS[name] for name in config.sources if name in READERS)

    records = rows_of(read(LocalEngine(), config, dataset_resolver.from_config(config)))

    jobs = {name.rpartition(".")[2].partition(" ")[0]: facts for name, facts in jobs_of(records).items()}
    assert jobs.keys() == TIMES.keys()
    assert {name for name, facts in jobs.items() if "last_run_at" not in facts} == {"ahead"}
    (notice,) = [each for each in problems_of(records) if "ahead of the clock" in each[3]]
    assert notice[0] == "notice"
    assert " has a time more than a day ahead of the clock (from 2871-05-04" in notice[3]
    warnings = [each for each in examine(check, config) if "ahead of the clock (from 2871" in each.message]
    assert [each.state for each in warnings] == ["warning"]
