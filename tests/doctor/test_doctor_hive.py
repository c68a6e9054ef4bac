"""Hive's logs as `doctor` sees them."""

from pathlib import Path

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import Finding, hive
from tests.s3_fixtures import S3


def examined(*locations: str | Path) -> list[Finding]:
    settings = {"dag_name": "daily", "environment": "dev", "hive": {"log": [str(each) for each in locations]}}
    return list(hive.examine(CONFIGURATION.parse(settings)))


def test_logs_with_lineage_are_well_wherever_they_lie(data: Path, s3: S3) -> None:
    in_s3 = s3.put("logs", "hive/hive.log", data / "hive" / "hive-lineage.log")

    found = examined(data / "hive", in_s3)

    assert [(each.check, each.state) for each in found] == [("Hive log", "ok"), ("Hive log", "ok")]
    assert found[0].told == f"{data}/hive: 2 files, with lineage"


@pytest.mark.parametrize(
    ("text", "told", "mend"),
    [
        ("2026-11-21 INFO ql.Driver: OK\n", "no lineage", "hive.exec.post.hooks"),
        ('INFO hooks.LineageLogger: {"version":"1.0","edges":[{]}\n', "not JSON", "leaves it out"),
    ],
)
def test_a_log_without_good_lineage_is_a_warning(tmp_path: Path, text: str, told: str, mend: str) -> None:
    (tmp_path / "hive.log").write_text(text)

    (found,) = examined(tmp_path)

    assert found.state == "warning"
    assert told in found.told
    assert mend in found.mend


def test_a_log_that_is_not_there_fails_as_a_run_would(tmp_path: Path) -> None:
    (found,) = examined(tmp_path / "nowhere")

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "hive.log" in found.mend
