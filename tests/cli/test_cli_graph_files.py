"""The demo's graph and several graphs of one's own: `--demo`, `--graph-file`, LINEAGE_MERGE_GRAPH_FILE."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from pyspark.sql import SparkSession

from lineage_merge.cli.sample import company_folder, config_file
from tests.command_line import Outcome, in_process
from tests.snapshots import write_graph
from tests.test_docs_commands import commands

HINT = "the graph is empty; the demo's lineage: add --demo"


def write_tables(file: Path, *names: str, environment: str = "dev") -> Path:
    """Write an embedded graph of tables."""
    properties = {"label": "table", "environment": environment, "dag_name": "daily"}
    properties["namespace"] = "redshift://wh:5439"
    rows = []
    for name in names:
        values = properties | {"name": name, "qualified_name": f"dev.public.{name}"}
        rows.append(values | {"id": f"{environment}|redshift://wh:5439|dev.public.{name}"})
    return write_graph(file, rows)


def names(outcome: Outcome) -> set[str]:
    assert outcome.code == 0, outcome
    return {each["properties"]["name"] for each in json.loads(outcome.out)["vertices"]}


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """Run a command in an empty folder, with an empty data folder."""
    home = tmp_path / "home"
    home.mkdir()
    monkeypatch.chdir(tmp_path)

    def asked(*arguments: str | Path, **variables: str) -> Outcome:
        return in_process(*arguments, LINEAGE_MERGE_HOME=str(home), **variables)

    return asked


Ask = Callable[..., Outcome]


def test_questions_read_the_selected_graph(ask: Ask, tmp_path: Path) -> None:
    write_tables(tmp_path / "home/graph", "own")
    write_tables(tmp_path / "home/demo", "sample")
    write_tables(tmp_path / "other", "other")
    variable = {"LINEAGE_MERGE_GRAPH_FILE": "other"}

    assert names(ask("datasets", "--json")) == {"own"}
    assert names(ask("datasets", "--json", "--demo")) == {"sample"}
    assert names(ask("datasets", "--json", "--graph-file", "other")) == {"other"}
    assert names(ask("datasets", "--json", **variable)) == {"other"}
    assert names(ask("datasets", "--json", "--demo", **variable)) == {"sample"}
    assert names(ask("datasets", "--json", "--graph-file", "home/graph", **variable)) == {"own"}


def test_the_demo_ignores_endpoint_and_environment_of_the_own_graph(ask: Ask, tmp_path: Path) -> None:
    write_tables(tmp_path / "home/demo", "sample")
    (tmp_path / "own.yml").write_text("environment: prod\ngremlin: {endpoint: 'ws://127.0.0.1:1/gremlin'}\n")
    variables = {
        "LINEAGE_MERGE_ENVIRONMENT": "prod",
        "LINEAGE_MERGE_GREMLIN_ENDPOINT": "ws://127.0.0.1:1/gremlin",
        "LINEAGE_MERGE_CONFIG": "own.yml",
    }
    assert names(ask("datasets", "--json", "--demo", **variables)) == {"sample"}
    typed = ask("datasets", "--demo", "--environment", "prod", **variables)
    assert (typed.code, typed.err) == (9, "error: unknown environment: prod; the graph has:\n  dev\n")


def test_the_demo_has_the_configuration_of_the_sample(ask: Ask, tmp_path: Path) -> None:
    write_tables(tmp_path / "home/demo", "sample")
    manifest = json.loads((company_folder() / "sources/dbt/manifest.json").read_text())
    model = "model.brightmug.weekly_demand"
    del manifest["nodes"][model]
    (tmp_path / "base.json").write_text(json.dumps(manifest))
    (tmp_path / "a.sql").write_text("create table marts.a as select b from staging.c")
    # Of the own graph: neither counts.
    (tmp_path / "own.yml").write_text("environment: prod\n")
    variables = {"LINEAGE_MERGE_CONFIG": "own.yml", "LINEAGE_MERGE_DAG_NAME": "own"}

    review = ask("review", "--base", "base.json", "--demo", "--json", **variables)
    sql = ask("sql", "a.sql", "--dialect", "redshift", "--demo", "--json", **variables)

    assert (review.code, review.err) == (0, "")
    assert {each["unique_id"] for each in json.loads(review.out)["findings"]} == {model}
    warehouse = "redshift://brightmug-wh.eu-central-1:5439"
    assert (sql.code, sql.err) == (0, "")
    assert json.loads(sql.out)["written"] == [f"dev|{warehouse}|shop.marts.a"]


@pytest.mark.parametrize(
    "arguments",
    [
        "datasets --demo --folder lineage",
        "upstream a --graph-file a --folder lineage",
        "datasets --demo --graph-file a",
        "html --out a.html --demo --gremlin-endpoint ws://localhost:8182/gremlin",
        "export --to mermaid --graph-file a --gremlin-endpoint ws://localhost:8182/gremlin",
        "report --dag d --environment e --demo --graph-file a",
        "remove --dag d --environment e --graph-file a --gremlin-endpoint ws://localhost:8182/gremlin",
        "run --graph-file a --gremlin-endpoint ws://localhost:8182/gremlin",
        "load lineage --graph-file a --gremlin-endpoint ws://localhost:8182/gremlin",
        "serve --demo --graph-file a",
    ],
)
def test_two_graphs_are_a_usage_error(ask: Ask, arguments: str, tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    outcome = ask(*arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert "select different graphs" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("datasets --demo", "--demo: the demo has no graph. Fix: lineage-merge demo"),
        ("html --out a.html --demo", "--demo: the demo has no graph. Fix: lineage-merge demo"),
        ("report --demo", "--demo: the demo has no graph. Fix: lineage-merge demo"),
        ("serve --demo", "--demo: the demo has no graph. Fix: lineage-merge demo"),
        ("sql etl --demo --dialect hive", "--demo: the demo has no graph. Fix: lineage-merge demo"),
        ("datasets --graph-file a", "--graph-file: no such file: {folder}/a"),
        (
            "report --dag d --environment e --graph-file a",
            "--graph-file: no such file: {folder}/a",
        ),
        (
            "remove --dag d --environment e --graph-file a",
            "--graph-file: no such file: {folder}/a",
        ),
    ],
)
def test_a_selected_graph_must_exist(ask: Ask, arguments: str, message: str, tmp_path: Path) -> None:
    outcome = ask(*arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == f"error: {message.format(folder=tmp_path)}\n"


def test_an_empty_own_graph_points_to_the_demo(ask: Ask, tmp_path: Path) -> None:
    write_tables(tmp_path / "home/demo", "sample")

    missing = ask("upstream", "sample")
    assert (missing.code, missing.err) == (9, f"error: not found: sample; {HINT}\n")
    assert ask("datasets").err == f"no matching dataset; {HINT}\n"
    assert ask("no-consumer").err == f"all written datasets have a consumer; {HINT}\n"
    assert ask("html", "--out", "a.html").err == f"{HINT}\n"
    assert ask("export", "--to", "mermaid").err == f"{HINT}\n"


def test_without_a_demo_an_empty_own_graph_points_to_a_run(ask: Ask) -> None:
    fix = "the graph is empty. Fix: lineage-merge run --config FILE"
    assert ask("impact", "sales").err == f"error: not found: sales; {fix}\n"


def test_other_graphs_do_not_point_to_the_demo(ask: Ask, tmp_path: Path) -> None:
    write_tables(tmp_path / "home/demo", "sample")
    write_tables(tmp_path / "empty")
    assert ask("upstream", "sample", "--graph-file", "empty").err == "error: not found: sample\n"
    assert ask("upstream", "nothing", "--demo").err == "error: not found: nothing\n"
    write_tables(tmp_path / "home/graph", "own")
    assert ask("upstream", "sample").err == "error: not found: sample\n"


@pytest.mark.jvm
def test_the_demo_has_a_graph_of_its_own(ask: Ask, tmp_path: Path) -> None:
    made = ask("demo", "--quiet")

    assert made.code == 0, made
    assert {each.name for each in (tmp_path / "home").iterdir() if each.is_dir()} == {"demo", "demo.history"}
    assert ask("upstream", "top_events_by_sales").err == f"error: not found: top_events_by_sales; {HINT}\n"
    assert "brightmug_daily in dev" in ask("report", "--demo", LINEAGE_MERGE_ENVIRONMENT="prod").out
    unknown = ask("report", "--demo", "--dag", "tickit_dayly")
    listed = "did you mean tickit_daily? dev has:\n  brightmug_daily\n  tickit_daily\n"
    assert (unknown.code, unknown.err) == (9, f"error: unknown DAG: tickit_dayly; {listed}")
    assert "tickit_sales_load" in ask("export", "--to", "mermaid", "--demo").out
    page = [each.words for each in commands() if each.place.startswith("queries.md")]
    assert len(page) >= 20
    assert [words for words in page if ask(*words, "--demo").code != 0] == []


@pytest.mark.jvm
def test_runs_and_loads_write_the_selected_graph(
    ask: Ask, spark: SparkSession, tickit_folder: Path, tmp_path: Path
) -> None:
    settings = yaml.safe_load(config_file().read_text())
    del settings["spline"]
    for project in settings["dbt"]:
        project["manifest"] = str(config_file().parent / project["manifest"])
    # A typed file takes precedence over the endpoint of the configuration.
    settings["gremlin"] = {"endpoint": "ws://127.0.0.1:1/gremlin"}
    (tmp_path / "own.yml").write_text(yaml.safe_dump(settings))

    run = ask("run", "-c", "own.yml", "--graph-file", "of_run", "--quiet")
    assert run.code == 0, run
    load = ask("load", tickit_folder, "-c", "own.yml", "--graph-file", "of_load", "--quiet")
    assert load.code == 0, load

    scope = ("--dag", "tickit_daily", "--environment", "dev")
    jobs = {file: names(ask("jobs", "--json", "--graph-file", file)) for file in ("of_run", "of_load")}
    assert "tickit_sales_load" in jobs["of_load"] - jobs["of_run"]
    assert "tickit_daily in dev" in ask("report", *scope, "--graph-file", "of_run").out
    removed = ask("remove", *scope, "--graph-file", "of_load")
    assert removed.code == 0, removed
    assert names(ask("jobs", "--json", "--graph-file", "of_load")) == set()
    assert names(ask("jobs", "--json", "--graph-file", "of_run")) == jobs["of_run"]
    assert list((tmp_path / "home").iterdir()) == []


def test_a_file_of_an_earlier_version_is_named_with_the_fix(ask: Ask, tmp_path: Path) -> None:
    (tmp_path / "graph.json").write_text('{"id":"a","label":"table"}\n')
    outcome = ask("datasets", "--graph-file", "graph.json")
    assert outcome.code == 6, outcome
    assert "is a graph file of an earlier version (GraphSON)" in outcome.err
    assert "Fix: " in outcome.err
