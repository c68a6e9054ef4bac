"""``lineage-merge sql`` without git: output and required options."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.command_line import in_process
from tests.runs_made import MadeRuns


@pytest.fixture
def etl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etl").mkdir()
    (tmp_path / "etl" / "load.sql").write_text("create table x as select id, upper(n) as m from s where ok")
    return tmp_path


def test_the_tree_shows_datasets_columns_and_files(etl: Path) -> None:
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


def test_assumed_names_of_inserts_are_said_in_a_line_and_marked(etl: Path) -> None:
    (etl / "etl" / "load.sql").write_text(
        "insert into y select id as x from s; insert into z select id from s; insert into z select ok from s"
    )
    (etl / "ddl.sql").write_text("create table z (a int)")
    arguments = ("sql", "etl", "--dialect", "spark", "--database", "dw", "--columns")

    tree, table, output = (in_process(*arguments, *each) for each in ((), ("--format", "table"), ("--json",)))
    known = in_process(*arguments, "--schema", "ddl.sql")

    line = "assumed: 3 INSERTs by the names of the query, because the columns are unknown: dw.y, dw.z\n"
    assert tree.err == table.err == line
    assert "· x  ← dw.s#id  IDENTITY (assumed)\n" in tree.out
    assert "IDENTITY (assumed)" in table.out
    answer = json.loads(output.out)
    assert [each.rpartition("|")[2] for each in answer["assumed"]] == ["dw.y", "dw.z"]
    assert {
        each["to"].rpartition("|")[2]: each["properties"]["assumed"]
        for each in answer["edges"]
        if each["label"] == "feeds_column"
    } == {"x": "true", "id": "true", "ok": "true"}
    assert known.err == line.replace("3 INSERTs", "1 INSERT").replace(", dw.z", "")


def test_the_default_paths_are_those_of_the_configuration(etl: Path) -> None:
    text = "dag_name: d\nenvironment: prod\nsql: [{path: etl, dialect: hive}]\n"
    (etl / "lineage_merge.yml").write_text(text)

    outcome = in_process("sql", "--config", "lineage_merge.yml", "--json")

    output = json.loads(outcome.out)
    assert (outcome.code, output["written"], output["read"]) == (
        0,
        ["prod|spark_catalog|x"],
        ["prod|spark_catalog|s"],
    )


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ((), "no files: set PATHS, or sql in the configuration"),
        (("etl",), "--dialect is missing"),
        (("etl", "--dialect", "klingon"), "--dialect: unknown dialect klingon"),
        (("etl", "--dialect", "hive", "--var", "x"), "must be NAME=VALUE"),
        (
            ("etl", "--dialect", "redshift", "--namespace", "redshift://h:5439", "--database", "dev"),
            "--database: must be database.schema",
        ),
    ],
)
def test_invalid_options_are_reported_with_a_fix(etl: Path, arguments: tuple[str, ...], problem: str) -> None:
    outcome = in_process("sql", *arguments)

    assert outcome.code == 2
    assert problem in outcome.err


PLACEHOLDERS = {
    "snowflake": "snowflake://organization-account",
    "tsql": "mssql://host:1433",
    "teradata": "teradata://host",
}


@pytest.mark.parametrize("dialect", PLACEHOLDERS)
def test_without_a_graph_a_placeholder_takes_the_place_of_the_namespace(etl: Path, dialect: str) -> None:
    outcome = in_process("sql", "etl", "--dialect", dialect, "--json")

    namespace = PLACEHOLDERS[dialect]
    output = json.loads(outcome.out)
    fix = "set --namespace to that of the warehouse"
    assert (outcome.code, output["notes"]) == (0, [f"namespace {namespace} is a placeholder. Fix: {fix}"])
    assert outcome.err == f"note: {output['notes'][0]}\n"
    assert output["written"][0].split("|")[1] == namespace


def test_platforms_with_one_namespace_need_none(etl: Path) -> None:
    outcome = in_process("sql", "etl", "--dialect", "bigquery", "--json")

    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)["written"] == ["none|bigquery|x"]


ONE, TWO = "snowflake://acme-one", "snowflake://acme-two"


@pytest.mark.parametrize(
    ("settings", "namespace"),
    [
        ({"merge": {"default_schemas": {ONE: "DB.S", "redshift://wh:5439": "dev.public"}}}, ONE),
        ({"dbt": [{"manifest": "m.json", "namespace": ONE}]}, ONE),
        ({"sql": [{"path": "others", "dialect": "snowflake", "namespace": ONE}]}, ONE),
        ({"merge": {"default_schemas": {ONE: "DB.S", TWO: "DB.S"}}}, None),
        ({"merge": {"default_schemas": {"redshift://wh:5439": "dev.public"}}}, None),
    ],
)
def test_names_of_a_graph_need_the_namespace_of_the_dialect_in_the_configuration(
    etl: Path, settings: dict[str, Any], namespace: str | None
) -> None:
    graph = MadeRuns().chain("a > b", 1).folder(etl / "graph")
    (etl / "lineage_merge.yml").write_text(json.dumps({"environment": "dev", **settings}))

    outcome = in_process("sql", "etl", "--dialect", "snowflake", "--folder", graph, "--json",
                         "--config", "lineage_merge.yml")  # fmt: skip

    if namespace:
        assert (outcome.code, outcome.err) == (0, "")
        assert json.loads(outcome.out)["written"][0].startswith(f"dev|{namespace}|")
        return
    several = TWO in str(settings)
    found = f"the configuration has {ONE}, {TWO}" if several else f"such as {PLACEHOLDERS['snowflake']}"
    assert (outcome.code, found in outcome.err) == (2, True), outcome.err


def test_sql_imports_neither_spark_nor_gremlin(etl: Path) -> None:
    program = (
        "import sys; from lineage_merge.cli import main\n"
        "try: main(['sql', 'etl', '--dialect', 'hive'])\n"
        "except SystemExit: pass\n"
        "print(sorted({'pyspark', 'gremlin_python', 'boto3'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "[]"
