"""Hive's logs as `doctor` sees them."""

from pathlib import Path

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.diagnosis import Diagnosis
from tests.doctor.diagnosing import examine
from tests.s3_fixtures import S3


def examined(*locations: str | Path) -> list[Diagnosis]:
    settings = {"dag_name": "daily", "environment": "dev", "hive": {"log": [str(each) for each in locations]}}
    return examine("Hive log", CONFIGURATION.parse(settings))


def test_logs_with_lineage_pass_at_any_location(data: Path, s3: S3) -> None:
    in_s3 = s3.put("logs", "hive/hive.log", data / "hive" / "hive-lineage.log")

    found = examined(data / "hive", in_s3)

    assert [(each.check, each.state) for each in found] == [("Hive log", "ok"), ("Hive log", "ok")]
    assert found[0].message == f"{data}/hive: 2 files, with lineage"


@pytest.mark.parametrize(
    ("text", "message", "fix"),
    [
        ("2026-11-21 INFO ql.Driver: OK\n", "no lineage", "hive.exec.post.hooks"),
        ('INFO hooks.LineageLogger: {"version":"1.0","edges":[{]}\n', "not JSON", "a run skips it"),
    ],
)
def test_a_log_without_valid_lineage_is_a_warning(tmp_path: Path, text: str, message: str, fix: str) -> None:
    (tmp_path / "hive.log").write_text(text)

    (found,) = examined(tmp_path)

    assert found.state == "warning"
    assert message in found.message
    assert fix in found.fix


def test_a_missing_log_fails_as_in_a_run(tmp_path: Path) -> None:
    (found,) = examined(tmp_path / "nowhere")

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "hive.log" in found.fix
