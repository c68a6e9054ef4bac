"""``lineage-merge sql`` without git: what it prints, and what it needs."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import in_process


@pytest.fixture
def etl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etl").mkdir()
    (tmp_path / "etl" / "load.sql").write_text("create table x as select id, upper(n) as m from s where ok")
    return tmp_path


def test_the_tree_shows_datasets_columns_and_the_file_that_moves_them(etl: Path) -> None:
    outcome = in_process("sql", "etl", "--dialect", "spark", "--database", "dw", "--columns")

    assert outcome.code == 0
    assert outcome.out == (
        "dw.s  table\n"
        "├── · id\n"
        "├── · n\n"
        "├── · ok\n"
        "└── dw.x  table  ← etl/load.sql\n"
        "    ├── · id  ← dw.s#id  IDENTITY\n"
        "    └── · m  ← dw.s#n  TRANSFORMATION  upper(n)\n"
    )


def test_the_configurations_folders_are_read_where_no_path_is_given(etl: Path) -> None:
    text = "dag_name: d\nenvironment: prod\nsql: [{path: etl, dialect: hive}]\n"
    (etl / "lineage_merge.yml").write_text(text)

    outcome = in_process("sql", "--config", "lineage_merge.yml", "--json")

    told = json.loads(outcome.out)
    assert (outcome.code, told["written"], told["read"]) == (
        0,
        ["prod|spark_catalog|x"],
        ["prod|spark_catalog|s"],
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no files: give PATHS, or sql in the configuration"),
        (("etl",), "--dialect: which SQL is it?"),
        (("etl", "--dialect", "redshift"), "where are the tables of redshift?"),
        (("etl", "--dialect", "klingon", "--namespace", "x"), "unknown dialect klingon"),
        (("etl", "--dialect", "hive", "--var", "x"), "expected NAME=VALUE"),
        (
            ("etl", "--dialect", "redshift", "--namespace", "redshift://h:5439", "--database", "dev"),
            "--database: expected database.schema",
        ),
    ],
)
def test_a_wrong_call_says_what_to_give(etl: Path, arguments: tuple[str, ...], problem: str) -> None:
    outcome = in_process("sql", *arguments)

    assert outcome.code == 2
    assert problem in outcome.err


def test_neither_spark_nor_gremlin_is_loaded(etl: Path) -> None:
    program = (
        "import sys; from lineage_merge.cli import main\n"
        "try: main(['sql', 'etl', '--dialect', 'hive'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark', 'gremlin_python', 'boto3'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
