"""`doctor` on files of declarations: whether they are valid, and which expire soon."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.doctor.diagnosing import examine

TODAY = datetime.now(UTC).date()


def diagnosed(path: Path) -> list[tuple[str, str, str]]:
    settings: dict[str, Any] = {"dag_name": "d", "environment": "dev", "declared": [str(path)]}
    found = examine("declared lineage", CONFIGURATION.parse(settings))
    return [
        (each.state, each.message.replace(str(path), "PATH"), each.fix.replace(str(path), "PATH"))
        for each in found
    ]


def write(folder: Path, *days: int) -> Path:
    file = folder / "partners.yml"
    edges = [
        f"  - {{from: s3://a/{number}, to: s3://b/x, why: w, until: {TODAY + timedelta(days=day)}}}\n"
        for number, day in enumerate(days)
    ]
    file.write_text("by: ann\nlineage:\n  - {from: s3://a/c, to: s3://b/x, why: w}\n" + "".join(edges))
    return file


def test_valid_files_without_an_end_have_no_fix(tmp_path: Path) -> None:
    assert diagnosed(write(tmp_path)) == [("ok", "PATH: 1 declared edge in 1 file", "")]


@pytest.mark.parametrize("day", [0, 30])
def test_what_expires_within_30_days_is_a_warning(tmp_path: Path, day: int) -> None:
    found = diagnosed(write(tmp_path, day, 31))
    end = f"the first on {TODAY + timedelta(days=day)}: s3://a/0 to s3://b/x"
    assert found[1:] == [
        (
            "warning",
            f"PATH: 1 declaration expiring within 30 days, {end}",
            "confirm it, and set a later until",
        )
    ]


def test_what_has_expired_is_another_warning(tmp_path: Path) -> None:
    found = diagnosed(write(tmp_path, -1, -5))
    end = f"the first on {TODAY - timedelta(days=5)}: s3://a/1 to s3://b/x"
    assert found[1:] == [
        ("warning", f"PATH: 2 declarations expired, {end}", "delete it, or set a later until")
    ]


def test_an_invalid_file_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path).write_text("lineage:\n  - {from: orders, to: s3://b/x, why: w, by: ann}\n")
    ((state, message, fix),) = diagnosed(tmp_path)
    assert state == "warning"
    assert message.startswith("PATH/partners.yml:2: lineage[0].from: expected a URI")
    assert fix == "correct PATH/partners.yml:2; a run rejects the file"


def test_a_missing_file_fails(tmp_path: Path) -> None:
    ((state, _, fix),) = diagnosed(tmp_path / "none.yml")
    assert (state, fix) == ("failed", "correct declared[0], or create the file")
