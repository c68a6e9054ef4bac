"""Reviews of captured plans of a Spark job.

The documents in `captures/` are those of a real Spark, by the code of `tests/capture/test_capture_saved.py`.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.captures import parse_capture
from lineage_merge.model.errors import DocumentError
from tests.command_line import in_process

CAPTURES = Path(__file__).parent / "captures"
TARGET = "prod|s3://lake|sales"


def document(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((CAPTURES / f"{name}.json").read_text())
    return found


def write_graph(folder: Path, *, dag: str = "nightly") -> None:
    """Write the graph of a merge: the job as it ran, and a dbt model of another DAG that reads it."""
    text = (CAPTURES / "base.json").read_text().replace("notebook", dag)
    base = json.loads(text)
    job = {"environment": "prod", "dag_name": "reports", "job_type": "dbt", "job_name": "model.shop.top"}
    report = "prod|redshift://w:5439|dev.mart.top"
    owned = {"environment": "prod", "dag_name": "reports"}
    nodes = [
        {
            "id": report,
            "label": "table",
            "qualified_name": "dev.mart.top",
            "owners": ["ada@example.com"],
            **owned,
        },
        *(
            {"id": f"{report}|{name}", "label": "column", "name": name, **owned}
            for name in ("orders", "revenue")
        ),
    ]
    edges = [{"id": "f", "label": "feeds", "from": TARGET, "to": report, **job}]
    for name in ("orders", "revenue"):
        column = f"{report}|{name}"
        edges += [
            {"id": f"h{name}", "label": "has_column", "from": report, "to": column, **owned},
            {
                "id": f"c{name}",
                "label": "feeds_column",
                "from": f"{TARGET}|{name}",
                "to": column,
                "transformation": "IDENTITY",
                **job,
            },
        ]
    for kind, rows in (("nodes", [*base["nodes"], *nodes]), ("edges", [*base["edges"], *edges])):
        (folder / kind).mkdir(parents=True)
        (folder / kind / "part.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("graph")
    write_graph(found)
    return found


Row = tuple[str, str, str, str, str]


def findings(capture: Path, *more: str, code: int = 0) -> list[dict[str, Any]]:
    outcome = in_process("review", "--capture", str(capture), *more, "--json")
    assert outcome.code == code, outcome.err
    found: list[dict[str, Any]] = json.loads(outcome.out)["findings"]
    return found


def row(found: dict[str, Any]) -> Row:
    title = found["title"].removeprefix("s3://lake/")
    return found["severity"], found["kind"], title, found["before"], found["after"]


EXPECTED: dict[str, set[Row]] = {
    "base": set(),
    "reordered": set(),
    "renamed": {
        ("breaking", "column renamed", "sales#revenue", "revenue", "net_revenue"),
        ("changed", "filter changed", "sales", "status = 'paid'", "status = 'settled'"),
        (
            "changed",
            "join changed",
            "sales",
            "left outer join on customer = key",
            "inner join on customer = key",
        ),
    },
    "dropped": {
        ("breaking", "column dropped", "sales#orders", "orders", ""),
        ("changed", "type changed", "sales#revenue", "double", "decimal(18,2)"),
        (
            "changed",
            "expression changed",
            "sales#revenue",
            "sum(amount)",
            "cast(sum(amount) as decimal(18,2))",
        ),
    },
    "moved": {("breaking", "output moved", "sales", "s3://lake/sales", "s3://lake/sales_v2")},
    "append": {("changed", "write mode changed", "sales", "overwrite", "append")},
}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_plan_is_compared_with_an_earlier_one(name: str, folder: Path) -> None:
    code = 12 if any(each[0] == "breaking" for each in EXPECTED[name]) else 0
    base = ("--base", str(CAPTURES / "base.json"), "--folder", str(folder))
    assert {row(each) for each in findings(CAPTURES / f"{name}.json", *base, code=code)} == EXPECTED[name]


def moved(tmp_path: Path, *, columns: bool, inputs: bool) -> set[tuple[str, str, bool]]:
    """Review the job with another output, whose columns or inputs may be others too."""
    head = document("moved")
    text = json.dumps(head)
    if not columns:
        text = text.replace("sales_v2|revenue", "sales_v2|turnover").replace(
            '"name": "revenue"', '"name": "turnover"'
        )
    if not inputs:
        text = text.replace("/data/orders", "/data/returns")
    (tmp_path / "head.json").write_text(text)
    outcome = in_process(
        "review", "--capture", str(tmp_path / "head.json"), "--base", str(CAPTURES / "base.json"), "--json"
    )
    found = json.loads(outcome.out)["findings"]
    return {(each["kind"], each["title"], each["is_guess"]) for each in found if "output" in each["kind"]}


@pytest.mark.parametrize(
    ("columns", "inputs", "is_moved"),
    [(True, True, True), (True, False, True), (False, True, True), (False, False, False)],
)
def test_another_output_is_a_moved_one_if_columns_or_inputs_are_equal(
    columns: bool, inputs: bool, is_moved: bool, tmp_path: Path
) -> None:
    two = {("output removed", "s3://lake/sales"), ("output added", "s3://lake/sales_v2")}
    expected = {("output moved", "s3://lake/sales", True)} if is_moved else {(*each, False) for each in two}
    assert moved(tmp_path, columns=columns, inputs=inputs) == expected


def test_the_comment_says_why_an_output_is_a_moved_one() -> None:
    places = ("--capture", str(CAPTURES / "moved.json"), "--base", str(CAPTURES / "base.json"))
    shown = in_process("review", *places, "--format", "markdown").out
    assert "(a guess: same columns and inputs)" in shown


@pytest.mark.parametrize("name", ["base", "reordered", "renamed", "dropped", "append"])
def test_a_plan_is_compared_with_the_job_in_the_graph(name: str, folder: Path) -> None:
    """The graph has the columns of conditions, not their texts; a job is found by what it writes."""
    expected = {each for each in EXPECTED[name] if each[1] not in ("filter changed", "join changed")}
    code = 12 if any(each[0] == "breaking" for each in expected) else 0
    found = findings(CAPTURES / f"{name}.json", "--folder", str(folder), code=code)
    assert {row(each) for each in found} == expected


def test_a_reader_of_another_dag_breaks_and_its_owner_is_named(folder: Path) -> None:
    found = findings(CAPTURES / "dropped.json", "--folder", str(folder), code=12)
    [dropped] = [each for each in found if each["kind"] == "column dropped"]
    assert dropped["owners"] == ["ada@example.com"]
    assert dropped["impact"]["datasets"] == ["prod|redshift://w:5439|dev.mart.top"]


def test_a_plan_of_another_environment_is_compared_with_that_of_the_graph(
    folder: Path, tmp_path: Path
) -> None:
    """A notebook captures in the environment dev."""
    text = (CAPTURES / "dropped.json").read_text()
    (tmp_path / "dev.json").write_text(text.replace('"prod', '"dev'))
    found = findings(tmp_path / "dev.json", "--folder", str(folder), code=12)
    assert {row(each) for each in found} == EXPECTED["dropped"]


def test_other_columns_of_conditions_are_reported_without_an_earlier_plan(
    folder: Path, tmp_path: Path
) -> None:
    head = document("base")
    for each in head["edges"]:
        if each["label"] == "influences" and each["from"].endswith("|status"):
            each["from"] = each["from"].replace("status", "id")
    (tmp_path / "head.json").write_text(json.dumps(head))
    found = findings(tmp_path / "head.json", "--folder", str(folder))
    assert {row(each) for each in found} == {
        ("changed", "filter changed", "sales", "/data/orders#status", "/data/orders#id")
    }


def test_a_column_of_another_job_is_not_dropped(tmp_path: Path) -> None:
    """Two jobs write the dataset, each with columns of its own."""
    write_graph(tmp_path)
    job = {"environment": "prod", "dag_name": "x", "job_type": "spark", "job_name": "other"}
    column, source = f"{TARGET}|extra", "prod|file|/data/orders|id"
    rows: dict[str, list[dict[str, Any]]] = {
        "nodes": [{"id": column, "label": "column", "name": "extra", "position": 3, "environment": "prod"}],
        "edges": [
            {"id": "x1", "label": "has_column", "from": TARGET, "to": column, "environment": "prod"},
            {"id": "x2", "label": "feeds_column", "from": source, "to": column, **job},
        ],
    }
    for kind, added in rows.items():
        (tmp_path / kind / "more.jsonl").write_text("".join(json.dumps(each) + "\n" for each in added))
    assert findings(CAPTURES / "base.json", "--folder", str(tmp_path)) == []


def test_a_job_that_the_graph_lacks_is_a_note(folder: Path, tmp_path: Path) -> None:
    text = (CAPTURES / "base.json").read_text().replace('"name": "sales"', '"name": "sails"', 1)
    text = text.replace('"job_name": "sales"', '"job_name": "sails"')
    (tmp_path / "head.json").write_text(text)
    outcome = in_process(
        "review", "--capture", str(tmp_path / "head.json"), "--folder", str(folder), "--json"
    )
    shown = json.loads(outcome.out)
    assert (outcome.code, shown["findings"]) == (0, [])
    assert any("no job sails that writes s3://lake/sales" in each for each in shown["notes"])


def test_new_violations_of_policies_are_found(folder: Path, tmp_path: Path) -> None:
    config = tmp_path / "lineage_merge.yml"
    config.write_text(
        "dag_name: reports\nenvironment: prod\npolicies:\n"
        "  - {name: no-keys, tag: key, must_not_reach: ['*.mart.*']}\n"
    )
    graph = tmp_path / "graph"
    write_graph(graph)
    nodes = graph / "nodes" / "part.jsonl"
    rows = [json.loads(each) for each in nodes.read_text().splitlines()]
    for each in rows:
        if each["id"].endswith("/orders|id"):
            each["tags"] = ["key"]
    nodes.write_text("".join(json.dumps(each) + "\n" for each in rows))
    head = document("base")
    for each in head["edges"]:
        if each["label"] == "feeds_column" and each["from"].endswith("|amount"):
            each["from"] = each["from"].replace("|amount", "|id")
    (tmp_path / "head.json").write_text(json.dumps(head))

    more = ("--folder", str(graph), "--config", str(config))
    found = findings(tmp_path / "head.json", *more, code=12)
    assert {(each["severity"], each["kind"]) for each in found} >= {("policy", "policy violated")}
    assert "policy violated" not in {each["kind"] for each in findings(CAPTURES / "base.json", *more)}


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"format": "x"}, "format: is not 'lineage-merge capture'"),
        ({"version": 2}, "version: is unknown"),
        ({"nodes": {}}, "nodes: must be a list"),
        ({"edges": [{"id": "x"}]}, r"edges\[0\].label: must be text"),
        ({"job": {"type": "spark"}}, "job.name: must be text"),
        ({"clauses": ["x"]}, r"clauses\[0\]: must be an object"),
        ({"clauses": [{"kind": "limit"}]}, r"clauses\[0\].text: must be text"),
        ({"clauses": [{"kind": "@octocat", "text": "x"}]}, r"clauses\[0\].kind: is unknown: filter, join"),
    ],
)
def test_an_invalid_document_is_rejected(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        parse_capture("x.json", json.dumps({**document("base"), **change}))


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("--capture", "absent.json", "--base", "absent.json"), 3, "absent.json"),
        (("--capture", str(CAPTURES / "base.json")), 2, "no graph has the job"),
        (("--capture", "x.json", "--head", "y.json"), 2, "--capture is a Spark job"),
        ((), 2, "--base is missing"),
    ],
)
def test_invalid_options_are_reported(arguments: tuple[str, ...], code: int, problem: str) -> None:
    outcome = in_process("review", *arguments)
    assert (outcome.code, problem in outcome.err) == (code, True), outcome.err
