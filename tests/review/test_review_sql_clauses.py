"""Conditions of SQL files: `review` and `sql --check` compare them with one implementation."""

import json
import re
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


def clauses() -> set[tuple[str, ...]]:
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


PAID = """\
insert overwrite table mart.p select coalesce(o.amount, p.amount) as amount, o.id
from raw.o as o join raw.p as p on o.id = p.id where o.amount < p.amount;
"""
PAIRED = """\
insert overwrite table mart.p select datediff(o.d, p.d) as days, o.id as id
from raw.o as o join raw.o as p on o.id = p.parent where o.status = 'x';
"""
TWO = """\
with a as (select * from raw.o where status = 'x'), b as (select * from raw.o)
insert overwrite table mart.p select a.id, b.name from a left join b on a.id = b.parent;
"""


@pytest.mark.parametrize(
    ("text", "before", "after", "expected"),
    [
        (
            PAID,
            "coalesce(o.amount, p.amount)",
            "coalesce(p.amount, o.amount)",
            {
                (
                    "expression",
                    "coalesce(o.amount, p.amount) as amount",
                    "coalesce(p.amount, o.amount) as amount",
                )
            },
        ),
        (
            PAID,
            "o.amount < p.amount",
            "p.amount < o.amount",
            {("filter", "o.amount < p.amount", "p.amount < o.amount")},
        ),
        (
            PAID.replace("where", "and"),
            "o.amount < p.amount",
            "p.amount < o.amount",
            {
                (
                    "join",
                    "inner join raw.p on o.amount < p.amount and o.id = p.id",
                    "inner join raw.p on p.amount < o.amount and o.id = p.id",
                )
            },
        ),
        (
            PAIRED,
            "datediff(o.d, p.d)",
            "datediff(p.d, o.d)",
            {("expression", "datediff(o.d, p.d) as days", "datediff(p.d, o.d) as days")},
        ),
        (PAIRED, "o.id as id", "p.id as id", {("expression", "o.id as id", "p.id as id")}),
        (PAIRED, "o.status", "p.status", {("filter", "o.status = 'x'", "p.status = 'x'")}),
        (
            PAIRED,
            "o.id = p.parent",
            "p.id = o.parent",
            {("join", "inner join raw.o on o.id = p.parent", "inner join raw.o on p.id = o.parent")},
        ),
        (
            TWO,
            " where status = 'x'), b as (select * from raw.o)",
            "), b as (select * from raw.o where status = 'x')",
            {("filter", "status = 'x' in a", "status = 'x' in b")},
        ),
    ],
)
def test_columns_of_one_name_are_distinguished(
    etl: Path, text: str, before: str, after: str, expected: set[tuple[str, str, str]]
) -> None:
    (etl / "paid.sql").write_text(text)
    git(etl.parent, "add", ".")
    git(etl.parent, "commit", "-qm", "paid")
    assert before in text
    (etl / "paid.sql").write_text(text.replace(before, after))
    of_dataset = {(f"{kind} changed", "mart.p", was, now) for kind, was, now in expected}
    assert findings() == of_dataset
    assert clauses() == of_dataset


@pytest.mark.parametrize("text", [PAID, PAIRED, TWO])
def test_renamed_aliases_have_no_finding(etl: Path, text: str) -> None:
    (etl / "paid.sql").write_text(text)
    git(etl.parent, "add", ".")
    git(etl.parent, "commit", "-qm", "paid")
    renamed = re.sub(r"(?<!raw\.)\b([opab])\b(?!;)(?<!mart\.p)", r"\1\1", text)
    assert renamed != text
    (etl / "paid.sql").write_text(renamed)
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
