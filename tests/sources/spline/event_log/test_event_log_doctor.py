"""Event logs as `doctor` sees them: what they hold, and the setting that repairs plans that are cut."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.diagnosis import Diagnosis
from lineage_merge.sources.spline.event_log import doctor
from tests import event_log_recipe
from tests.doctor.diagnosing import examine
from tests.s3_fixtures import S3

LOG = event_log_recipe.FOLDER / "shop.jsonl"
Change = Callable[[dict[str, Any]], None]


def examined(*locations: str | Path) -> list[Diagnosis]:
    settings = {"dag_name": "daily", "environment": "dev", "event_log": {"logs": [*map(str, locations)]}}
    return examine("Spark event logs", CONFIGURATION.parse(settings))


def write_log(file: Path, change: Change) -> None:
    """Write the log of the tests, with changed events."""
    events = [json.loads(line) for line in LOG.read_bytes().splitlines()]
    for event in events:
        change(event)
    file.write_text("".join(json.dumps(event, separators=(",", ":")) + "\n" for event in events))


def change_application(version: str, app_id: str) -> Change:
    def change(event: dict[str, Any]) -> None:
        if "Spark Version" in event:
            event["Spark Version"] = version
        if "App ID" in event:
            event["App ID"] = app_id

    return change


def cut_plans(old: str, new: str) -> Change:
    def change(event: dict[str, Any]) -> None:
        if plan := event.get("physicalPlanDescription"):
            event["physicalPlanDescription"] = plan.replace(old, new)

    return change


def test_logs_are_described_by_applications_versions_and_plans(tmp_path: Path, s3: S3) -> None:
    write_log(tmp_path / "local-1", change_application("3.3.4", "local-1"))
    write_log(tmp_path / "local-2", change_application("3.5.9", "local-2"))
    in_s3 = s3.put("logs", "spark/local-2", tmp_path / "local-2")

    folder, bucket = examined(tmp_path, in_s3)

    assert (folder.state, bucket.state) == ("ok", "ok")
    assert folder.message.startswith(f"{tmp_path}: 2 logs: 2 applications of Spark 3.3.4, 3.5.9, ")
    assert folder.message.endswith(" plans of writes")
    assert "1 logs: 1 applications of Spark 3.5.9" in bucket.message


def test_a_version_that_is_not_known_is_said(tmp_path: Path) -> None:
    write_log(tmp_path / "local-1", change_application("9.0.0", "local-1"))

    (found,) = examined(tmp_path)

    assert found.state == "ok"
    assert (
        "1 applications of Spark 9.0.0 (Spark 9.0.0 is not known: its log is read as that of "
        in found.message
    )


def test_of_many_logs_the_last_ones_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(4):
        write_log(tmp_path / f"local-{number}", change_application(f"3.5.{number}", f"local-{number}"))
    monkeypatch.setattr(doctor, "_BYTES", LOG.stat().st_size * 3 // 2)

    (found,) = examined(tmp_path)

    assert "4 logs, of the last 2: 2 applications of Spark 3.5.2, 3.5.3" in found.message


def test_columns_that_are_left_out_are_repaired_by_a_setting(tmp_path: Path) -> None:
    whole = "FIRST], [id#0]"
    assert whole in LOG.read_text()
    write_log(tmp_path / "local-1", cut_plans(whole, "FIRST], [id#0, ... 20 more fields]"))

    (found,) = examined(tmp_path)

    assert found.state == "warning"
    assert " plans of writes, of which 1 are cut (" in found.message
    assert found.fix == "set spark.sql.debug.maxToStringFields=1000 in the jobs"


def test_a_log_without_writes_says_how_logs_are_written(tmp_path: Path) -> None:
    lines = LOG.read_bytes().splitlines(keepends=True)
    (tmp_path / "local-1").write_bytes(b"".join(lines[:3]))

    (found,) = examined(tmp_path)

    assert (found.state, "spark.eventLog.enabled" in found.fix) == ("warning", True)


def test_files_of_another_kind_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('["plan", {"id": "x", "operations": {}}]\n')

    (found,) = examined(tmp_path)

    assert found.state == "warning"
    assert "0 applications" not in found.message


def test_a_missing_folder_fails_as_in_a_run(tmp_path: Path) -> None:
    (found,) = examined(tmp_path / "nowhere")

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "event_log.logs" in found.fix
