"""A review says how often statements of the warehouse read what changes, where the graph knows it."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.review.findings import ReviewResult
from lineage_merge.review.review_formats import review_as_json, review_markdown
from tests.command_line import in_process
from tests.graph_folder import write_folder
from tests.review.test_review_dbt import merged, review
from tests.review.test_review_dbt_command import git

DAY = 24 * 3_600_000
# 2026-11-26.
UNTIL = 20_783 * DAY
LOG = Vertex(
    "dev|query_log|duckdb://shop",
    "query_log",
    {"environment": "dev", "observed_from": UNTIL - 117 * DAY, "observed_until": UNTIL},
)


def with_reads(*changed: Vertex, **reads: int) -> InMemory:
    """The project's merged graph, in which all of its columns have these reads."""
    graph = merged()
    elements = [*graph.everything(), *graph.everything(labels=("assertion", "checks", "references"))]
    vertices = [each for each in elements if isinstance(each, Vertex)]
    columns = [
        replace(each, properties={**each.properties, **reads}) if each.label == "column" else each
        for each in vertices
    ]
    return InMemory([*columns, *changed], [each for each in elements if isinstance(each, Edge)])


def dropped(graph: InMemory) -> ReviewResult:
    result = review("drop", graph)
    assert [each.finding.kind for each in result.findings] == ["column dropped"]
    return result


def test_a_finding_has_the_reads_of_what_changes() -> None:
    result = dropped(with_reads(LOG, read_count=1204, last_read_at=UNTIL - 6 * DAY))

    line = "- usage by statements of the warehouse: `read 1,204 times, last on 2026-11-20`"
    assert line in review_markdown(result).splitlines()
    [finding] = review_as_json(result)["findings"]
    assert {key: finding["usage"][key] for key in ("reads", "last_read", "through", "observed_until")} == {
        "reads": 1204,
        "last_read": UNTIL - 6 * DAY,
        "through": None,
        "observed_until": UNTIL,
    }


def test_what_was_not_read_is_said_only_if_it_is_observed() -> None:
    text = review_markdown(dropped(with_reads(LOG)))
    unknown = dropped(with_reads())

    assert "warehouse: `not read since 2026-08-01 (observed)`" in text
    assert "usage" not in review_markdown(unknown)
    assert [each["usage"] for each in review_as_json(unknown)["findings"]] == [None]


def test_a_review_of_sql_files_has_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "etl").mkdir()
    (tmp_path / "etl" / "load.sql").write_text("create table dw.t as select id, day from raw.s;\n")
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "base")
    built = in_process("sql", "etl", "--dialect", "hive", "--json")
    assert built.code == 0, built.err
    [table] = {each["to"] for each in json.loads(built.out)["edges"] if each["label"] == "feeds"}
    environment, namespace, _ = table.split("|")
    held = {"environment": environment, "dag_name": ["warehouse"]}
    log = {"id": f"{environment}|query_log|{namespace}", "label": "query_log", "namespace": namespace}
    times = {"observed_from": UNTIL - 117 * DAY, "observed_until": UNTIL}
    column = {"id": f"{table}|day", "label": "column", "name": "day", "read_count": 7}
    edge = {"id": "e", "label": "has_column", "from": table, "to": f"{table}|day"}
    folder = write_folder(
        tmp_path / "lineage",
        [
            {
                "id": table,
                "label": "table",
                "name": "t",
                "namespace": namespace,
                "qualified_name": "dw.t",
                **held,
            },
            {**log, "name": namespace, **held, **times},
            {**column, **held, "last_read_at": UNTIL - DAY},
        ],
        [{**edge, "environment": environment, "dag_name": "warehouse"}],
    )
    (tmp_path / "etl" / "load.sql").write_text("create table dw.t as select id from raw.s;\n")

    outcome = in_process("review", "etl", "--dialect", "hive", "--base", "main", "--folder", folder, "--json")

    [found] = [each for each in json.loads(outcome.out)["findings"] if each["kind"] == "column dropped"]
    assert found["usage"]["reads"] == 7
