"""The settings of the source, `doctor` and the preflight check."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge import config
from lineage_merge.model.errors import ConfigError, SourceMissing
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import machine
from lineage_merge.orchestration.preflight import check_sources
from lineage_merge.sources.diagnosis import Diagnosis
from lineage_merge.sources.openlineage.settings import OpenLineage
from lineage_merge.sources.settings import Runs
from tests.doctor.diagnosing import examine
from tests.s3_fixtures import S3
from tests.sources.openlineage.made_events import event


def parsed(**settings: Any) -> config.Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "openlineage": settings})


def findings(*locations: object) -> list[Diagnosis]:
    return examine("OpenLineage", parsed(events=[str(each) for each in locations]))


@pytest.mark.parametrize("written", ["http://marquez:5000/", {"url": "http://marquez:5000"}])
def test_marquez_is_an_address_or_settings(written: Any) -> None:
    settings = {"dag_name": "d", "environment": "dev", "openlineage": {"marquez": written}}
    assert CONFIGURATION.parse(settings).sources["openlineage"].marquez.url == "http://marquez:5000"


def test_all_settings_arrive() -> None:
    found = parsed(
        events="events.jsonl", jobs=["a*"], namespaces=["prod"], runs="all", lookback="12h", retire_after=0
    )

    assert found.of(OpenLineage) == OpenLineage(
        events=("events.jsonl",),
        jobs=("a*",),
        namespaces=("prod",),
        runs=Runs("all"),
        lookback=timedelta(hours=12),
        retire_after=0,
    )
    assert parsed(events=["a", "b"]).of(OpenLineage) == OpenLineage(events=("a", "b"))


@pytest.mark.parametrize(
    ("settings", "key", "problem"),
    [
        ({}, "openlineage", "give events, kafka, datazone or marquez"),
        ({"events": []}, "openlineage.events", "is empty"),
        (
            {"events": "a", "runs": "since yesterday"},
            "openlineage.runs",
            "expected latest, all, since TIME or run ID",
        ),
        ({"events": "a", "lookback": "0d"}, "openlineage.lookback", "expected more than 0"),
        ({"events": "a", "applications": ["x"]}, "openlineage.applications", "is not a known key"),
    ],
)
def test_a_wrong_setting_is_named(settings: dict[str, Any], key: str, problem: str) -> None:
    with pytest.raises(ConfigError) as error:
        parsed(**settings)

    assert error.value.key == key
    assert problem in error.value.message


def test_paths_in_a_file_start_at_the_file(tmp_path: Path) -> None:
    file = tmp_path / "merge.yml"
    file.write_text("dag_name: d\nenvironment: dev\nopenlineage: {events: [events, s3://bucket/events]}\n")

    found = CONFIGURATION.load(file, environ={})

    assert found.of(OpenLineage) == OpenLineage(events=(str(tmp_path / "events"), "s3://bucket/events"))


def test_doctor_finds_events_and_says_what_is_wrong_with_others(tmp_path: Path, data: Path, s3: S3) -> None:
    good = s3.put("events", "tpch.jsonl.gz", data / "openlineage/events/tpch.jsonl.gz")
    (tmp_path / "quiet.log").write_text("INFO nothing\n")
    broken = tmp_path / "broken.jsonl"
    broken.write_text(json.dumps({**event("START", "06:00"), "run": {}}) + "\n")

    found = findings(good, tmp_path / "quiet.log", broken, tmp_path / "nowhere")

    assert [(each.check, each.state, each.exit_code) for each in found] == [
        ("OpenLineage", "ok", 0),
        ("OpenLineage", "warning", 0),
        ("OpenLineage", "warning", 0),
        ("OpenLineage", "failed", 3),
    ]
    assert found[0].message == f"{good}: 1 files, with lineage"
    assert found[2].message == f"{broken}: 1 files, but {broken}, line 1: run.runId: is missing"
    assert found[3].fix == "correct openlineage.events, or create the file"


def test_events_in_s3_need_credentials() -> None:
    assert machine.needs_aws(parsed(events=["s3://bucket/events"]))
    assert not machine.needs_aws(parsed(events=["/events"]))


def test_a_run_without_the_files_ends_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no such folder"):
        check_sources(parsed(events=str(tmp_path / "nowhere")))
