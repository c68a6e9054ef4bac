"""Conditions of SQL files: `review` and `sql --check` compare them with one implementation."""

import json
from pathlib import Path

import pytest

from tests.command_line import in_process
from tests.review.test_review_dbt_command import git

LOAD = """\
insert overwrite table dw.t select s.id, upper(s.name) as name
from raw.s as s left join raw.c as c on s.id = c.id where s.id > 0 and s.kind = 'x';
"""
REPORT = "create table mart.r as select id, count(*) as n from dw.t group by id;\n"


@pytest.fixture
def etl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "etl"
    folder.mkdir()
    (folder / "load.sql").write_text(LOAD)
    (folder / "report.sql").write_text(REPORT)
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    return folder


def findings() -> set[tuple[str, str, str, str]]:
    outcome = in_process("review", "etl", "--dialect", "hive", "--base", "main", "--json")
    assert outcome.code == 0, outcome.err
    return {
        (each["kind"], each["title"], each["before"], each["after"])
        for each in json.loads(outcome.out)["findings"]
    }


def clauses() -> set[tuple[str, str, tuple[str, ...], tuple[str, ...]]]:
    outcome = in_process("sql", "etl", "--dialect", "hive", "--since", "main", "--check", "--json")
    assert outcome.code == 0, outcome.err
    return {
        (
            f"{each['kind']} changed",
            each["dataset"].rpartition("|")[2],
            *map(" and ".join, (each["removed"], each["added"])),
        )
        for each in json.loads(outcome.out)["changes"]["clauses"]
    }


@pytest.mark.parametrize(
    ("file", "before", "after", "expected"),
    [
        ("load", "s.id > 0", "s.id > 100", ("filter changed", "dw.t", "id > 0", "id > 100")),
        (
            "load",
            "left join",
            "join",
            ("join changed", "dw.t", "left join raw.c on id = id", "inner join raw.c on id = id"),
        ),
        (
            "report",
            "group by id",
            "group by id having count(*) > 1",
            ("filter changed", "mart.r", "", "count(*) > 1"),
        ),
    ],
)
def test_a_changed_condition_is_found(
    etl: Path, file: str, before: str, after: str, expected: tuple[str, str, str, str]
) -> None:
    path = etl / f"{file}.sql"
    path.write_text(path.read_text().replace(before, after))
    assert findings() == {expected}
    assert clauses() == {expected}


@pytest.mark.parametrize(
    "text",
    [
        LOAD.replace("s.id > 0 and s.kind = 'x'", "s.kind = 'x' AND /* all */ s.id > 0"),
        LOAD.replace("raw.s as s", "RAW.S  orders").replace("s.id", "orders.id").replace("s.", "s."),
        "-- nightly\n\n" + LOAD.replace("\nfrom", "\n    FROM").upper().replace("'X'", "'x'"),
        LOAD.replace("raw.c", "`raw`.`c`").replace("s.id,", "`s`.`id`,"),
    ],
)
def test_a_reformatted_file_has_no_finding(etl: Path, text: str) -> None:
    if "orders" in text:
        text = text.replace("upper(s.name)", "upper(orders.name)").replace("s.kind", "orders.kind")
        text = text.replace("orderorders", "orders")
    (etl / "load.sql").write_text(text)
    assert findings() == set()
    assert clauses() == set()


def test_a_renamed_file_has_no_finding(etl: Path) -> None:
    git(etl.parent, "mv", "etl/load.sql", "etl/load_t.sql")
    assert findings() == set()


@pytest.mark.parametrize(
    ("load", "code"),
    [(LOAD, 0), (LOAD.replace(", upper(s.name) as name", ""), 0), (LOAD.replace("s.id,", "s.code,"), 12)],
)
def test_both_commands_fail_in_the_same_cases(etl: Path, load: str, code: int) -> None:
    (etl / "ddl.sql").write_text("create table raw.s (id int, name string, kind string);\n")
    (etl / "load.sql").write_text(load)
    checked = in_process("sql", "etl", "--dialect", "hive", "--since", "main", "--check").code
    reviewed = in_process("review", "etl", "--dialect", "hive", "--base", "main").code
    assert (checked, reviewed) == (code, code)
