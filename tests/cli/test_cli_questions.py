"""Query commands on TICKIT and on a small pipeline, from a server and from a folder."""

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.command_line import Outcome, in_process
from tests.lineage_made import at


@pytest.fixture
def tickit(tickit_folder: Path) -> str:
    """Return the Parquet output of `build` for TICKIT."""
    return str(tickit_folder)


def ask(folder: str, *arguments: str) -> Outcome:
    return in_process(*arguments, "--folder", folder)


@pytest.mark.jvm
def test_upstream_of_a_mart(tickit: str) -> None:
    outcome = ask(tickit, "upstream", "fct_sales")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out == (
        "dev.tickit_marts.fct_sales  table\n"
        "├── dev.tickit_staging.stg_date  view  → model.tickit.fct_sales via int_sales_enriched\n"
        "│   └── dev.public.date  table  → model.tickit.stg_date\n"
        "├── dev.tickit_staging.stg_event  view  → model.tickit.fct_sales via int_sales_enriched\n"
        "│   └── dev.public.event  table  → model.tickit.stg_event\n"
        "│       └── s3://tickit-staging/event  file  → tickit_sales_load\n"
        "│           └── s3://tickit-raw/event  file  → tickit_sales_ingest\n"
        "└── dev.tickit_staging.stg_sales  view  → model.tickit.fct_sales via int_sales_enriched\n"
        "    └── dev.public.sales  table  → model.tickit.stg_sales\n"
        "        └── s3://tickit-lake/sales_dl  file  → tickit_sales_load\n"
        "            ├── s3://tickit-staging/event  file  → tickit_sales_ingest  (see above)\n"
        "            └── s3://tickit-staging/sales  file  → tickit_sales_ingest\n"
        "                └── s3://tickit-raw/sales  file  → tickit_sales_ingest\n"
    )


@pytest.mark.jvm
def test_a_column_of_a_report_comes_from_a_file(tickit: str) -> None:
    outcome = ask(
        tickit, "path", "s3://tickit-raw/sales#pricepaid", "top_events_by_sales#total_sales", "--json"
    )
    output = json.loads(outcome.out)
    assert output["question"] == "path"
    assert [each["properties"]["transformation"] for each in output["edges"]].count("IDENTITY") == 4
    assert [
        each["properties"]["expression"] for each in output["edges"] if "expression" in each["properties"]
    ] == ["sum(pricepaid)"]


@pytest.mark.jvm
def test_the_impact_of_a_raw_column(tickit: str) -> None:
    output = json.loads(ask(tickit, "impact", "s3://tickit-raw/sales#commission", "--json").out)
    assert output["counts"] == {
        "datasets": 6,
        "indirectly_affected": 0,
        "columns": 9,
        "jobs": 5,
        "dags": 1,
        "exposures": 1,
    }
    assert {each.rpartition("|")[2] for each in output["datasets"]} == {
        "sales",
        "sales_dl",
        "dev.public.sales",
        "dev.tickit_staging.stg_sales",
        "dev.tickit_marts.fct_sales",
        "dev.tickit_marts.dim_people",
    }


@pytest.mark.jvm
def test_datasets_without_consumer_and_producer(tickit: str) -> None:
    def names(command: str) -> set[str]:
        return {each["name"] for each in json.loads(ask(tickit, command, "--json").out)["vertices"]}

    assert names("no-consumer") == {"users_snapshot", "dim_people"}
    assert names("no-producer") == {"date", "users", "event", "sales"}


@pytest.mark.jvm
def test_layers_come_from_the_configuration(tickit: str, tmp_path: Path) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text(
        "query: {layers: {raw: 's3://*-raw/*', lake: 's3://*-lake/*', staging: ['s3://*-staging/*']}}\n"
    )
    output = json.loads(ask(tickit, "layers", "--config", str(file), "--json").out)
    assert output["datasets"] == {"raw": 2, "lake": 1, "staging": 2, "": 14}
    assert {(each["from_layer"], each["to_layer"], each["skips"]) for each in output["breaches"]} == {
        ("staging", "lake", False)
    }
    good = ask(tickit, "layers", *(f"--layer={each}=s3://*-{each}/*" for each in ("raw", "staging", "lake")))
    assert (good.code, good.err) == (0, "no edge violates the order\n")


@pytest.mark.jvm
def test_datasets_with_rows_by_a_column_are_indirectly_affected(tickit: str) -> None:
    output = json.loads(ask(tickit, "impact", "s3://tickit-raw/event#eventid", "--json").out)
    # It never is a value of the lake, but the join with it decides which rows the lake has.
    assert "dev|s3://tickit-lake|sales_dl" in output["indirectly_affected"]


QUESTIONS = [
    ("upstream", "z"),
    ("upstream", "e#total", "--influences"),
    ("upstream", "e", "--environment", "dev", "--columns", "--depth", "2"),
    ("downstream", "d", "--dag", "daily"),
    ("path", "redshift://wh:5439|a", "e", "--environment", "dev"),
    ("impact", "side"),
    ("impact", "d#key", "--change", "rename"),
    ("owners", "side"),
    ("owners", "d#flag"),
    ("datasets", "--search", "re"),
    ("jobs",),
    ("no-consumer",),
    ("no-producer", "--environment", "dev"),
    ("cycles",),
    ("diff", "dev", "prod"),
    ("layers", "--layer", "late=[xyz]", "--layer", "early=[abcde]"),
]


@pytest.mark.jvm
@pytest.mark.parametrize("question", QUESTIONS, ids=" ".join)
@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_server_and_folder_give_the_same_results(
    question: tuple[str, ...], form: str, pipeline_folder: str, pipeline_url: str
) -> None:
    of_folder = in_process(*question, "--folder", pipeline_folder, "--format", form)
    assert of_folder.code == 0, of_folder.err
    assert of_folder.out
    assert in_process(*question, "--gremlin-endpoint", pipeline_url, "--format", form) == of_folder


@pytest.mark.parametrize("question", [each for each in QUESTIONS if each[0] != "diff"], ids=" ".join)
def test_results_are_available_in_all_formats(question: tuple[str, ...], pipeline_folder: str) -> None:
    output = json.loads(ask(pipeline_folder, *question, "--json").out)
    assert (output["question"], output["dag"]) == (question[0], "daily" if "--dag" in question else None)
    xml = ElementTree.fromstring(ask(pipeline_folder, *question, "--format", "graphml").out.encode())
    assert len(xml.findall(".//{*}node")) == len(output["vertices"]) > 0
    assert len(xml.findall(".//{*}edge")) == len(output["edges"])
    lines = ask(pipeline_folder, *question, "--format", "mermaid").out.splitlines()
    assert len(lines) == 1 + len(output["vertices"]) + len(output["edges"])
    assert ask(pipeline_folder, *question, "--format", "dot").out.startswith("digraph")
    assert ask(pipeline_folder, *question, "--format", "tree").out
    drawing = ElementTree.fromstring(ask(pipeline_folder, *question, "--format", "svg").out.encode())
    assert drawing.findtext("{*}title", "").startswith(question[0])


def test_the_difference_of_two_environments_as_json(pipeline_folder: str) -> None:
    output = json.loads(ask(pipeline_folder, "diff", "prod", "dev", "--json").out)
    assert output["environments"] == ["prod", "dev"]
    assert output["only"]["prod"] == {
        "datasets": ["redshift://wh:5439|q"],
        "feeds": [{"from": "redshift://wh:5439|b", "to": "redshift://wh:5439|q"}],
        "columns": ["redshift://wh:5439|a|extra"],
    }


@pytest.mark.parametrize(
    ("question", "code", "message"),
    [
        (
            ("upstream", "a"),
            10,
            f"ambiguous name: a (2 matches; use a longer name, --environment or --dag):\n  {at('a')}\n",
        ),
        (("upstream", "nothing"), 9, "error: not found: nothing\n"),
        *(
            (
                (*words, "--dag", "typo"),
                9,
                "error: unknown DAG: typo; the graph has:\n  daily\n",
            )
            for words in (
                ("datasets",),
                ("jobs",),
                ("no-consumer",),
                ("no-producer",),
                ("cycles",),
                ("html", "--out", "not-written.html"),
            )
        ),
        (
            ("jobs", "--environment", "typo"),
            9,
            "unknown environment: typo; the graph has:\n  dev",
        ),
        (("impact", "sid"), 9, "not found: sid; similar names:\n  dev|daily|spark|side\n"),
        (("path", "e#total", "z"), 9, "must be two datasets or two columns"),
        (("upstream", "z", "--depth", "0"), 2, "--depth"),
        (("diff",), 2, "expected two environments, or --from TIME"),
        (("layers",), 2, "at least two layers are required"),
        (("layers", "--layer", "raw"), 2, "must be NAME=GLOB"),
    ],
)
def test_query_errors_have_exit_codes(
    question: tuple[str, ...], code: int, message: str, pipeline_folder: str
) -> None:
    outcome = ask(pipeline_folder, *question)
    assert (outcome.code, outcome.out) == (code, "")
    assert message in outcome.err


def test_a_missing_folder_and_an_unreachable_server(tmp_path: Path) -> None:
    assert in_process("no-consumer", "--folder", tmp_path).code == 4
    outcome = in_process("no-consumer", "--gremlin-endpoint", "ws://127.0.0.1:1/gremlin")
    assert (outcome.code, outcome.err) == (
        5,
        "error: ws://127.0.0.1:1/gremlin: no connection: Connection refused\n",
    )


def test_the_environment_option_takes_precedence_over_the_configuration(
    pipeline_folder: str, tmp_path: Path
) -> None:
    file = tmp_path / "lineage_merge.yml"
    file.write_text("dag_name: other\nenvironment: prod\n")

    def names(*arguments: str) -> set[str]:
        output = json.loads(ask(pipeline_folder, "datasets", "--json", "--config", str(file), *arguments).out)
        return {each["properties"]["environment"] for each in output["vertices"]}

    assert names() == {"prod"}
    assert names("--environment", "dev") == {"dev"}


def test_empty_results_are_no_errors(pipeline_folder: str) -> None:
    for question, output in (
        (("upstream", "s3://raw/in", "--environment", "prod"), "s3://raw/in: no upstream datasets\n"),
        (("downstream", "z"), "z: no downstream datasets\n"),
        (("path", "z", "e"), "no path from z to e\n"),
        (("cycles", "--environment", "prod"), "no cycles\n"),
        (("datasets", "--search", "nothing"), "no matching dataset\n"),
        (("diff", "dev", "dev"), "dev and dev are identical\n"),
    ):
        outcome = ask(pipeline_folder, *question)
        assert (outcome.code, outcome.err) == (0, output)


@pytest.mark.jvm
def test_queries_use_the_reader_endpoint(pipeline_url: str) -> None:
    reader = {"LINEAGE_MERGE_GREMLIN_READER_ENDPOINT": pipeline_url}
    outcome = in_process("jobs", "--gremlin-endpoint", "ws://127.0.0.1:1/gremlin", "--json", **reader)
    assert outcome.code == 0, outcome.err


def test_the_default_is_the_embedded_graph(tmp_path: Path) -> None:
    outcome = in_process("jobs", "--json", LINEAGE_MERGE_HOME=str(tmp_path))
    assert (outcome.code, json.loads(outcome.out)["vertices"]) == (0, [])
