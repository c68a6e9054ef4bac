"""Pages: bounded in size, complete together, and refused with a cursor of another question."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lineage_merge.mcp.models import PartRow, Writer
from lineage_merge.mcp.paging import DEFAULT_SIZE, MIN_SIZE, Found, compact, fingerprint, fit, page
from lineage_merge.mcp.untrusted_text import LONG, SHORT, escape
from lineage_merge.mcp.untrusted_text import text as readable
from lineage_merge.model.errors import QueryError
from lineage_merge.query import Lineage
from tests.lineage_made import MadeLineage, at
from tests.mcp.clients import InProcess, all_rows, answer, ask, failed, http, in_process, structured, text

DATASETS = 1_000
COLUMNS = 400
QUESTION = "0" * 12


def large() -> MadeLineage:
    """One dataset that feeds 1,000 others, one with 400 columns, all with long names and texts."""
    made = MadeLineage()
    words = "A description of several words. " * 30
    for number in range(DATASETS):
        name = f"warehouse.schema_of_marts.table_with_a_long_name_{number:05}"
        made.flow(f"hub > {name}", job=f"job_{number % 50}")
        made.dataset(name, "daily", description=words, owners=[f"team-{number % 300}@example.com"])
    made.flow("hub > wide")
    for number in range(COLUMNS):
        made.columns(f"hub.column_{number:04} > wide.column_{number:04}", expression=words)
    return made


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return large().folder(tmp_path_factory.mktemp("large"))


@pytest.fixture(scope="module")
def server(folder: str) -> Iterator[InProcess]:
    with in_process(folder=folder) as running:
        yield running


def test_no_answer_exceeds_the_size(server: InProcess) -> None:
    results = ask(
        server.client(),
        ("search", {}),
        ("search", {"kind": "column", "text": "column"}),
        ("search", {"kind": "job"}),
        ("describe", {"name": "hub"}),
        ("describe", {"name": "wide"}),
        ("upstream", {"name": "wide"}),
        ("downstream", {"name": "hub"}),
        ("downstream", {"name": "hub#column_0001"}),
        ("impact", {"name": "hub", "change": "drop"}),
        ("owners", {"name": "hub"}),
        ("freshness", {}),
        ("compare", {"first": "dev", "second": "prod"}),
    )
    sizes = [len(text(each)) for each in results]
    assert max(sizes) <= DEFAULT_SIZE
    # Rows fill a page: the bound is not met by sending little.
    assert len(text(results[0])) > DEFAULT_SIZE / 2
    assert all(structured(each)["total"] >= len(structured(each)["rows"]) for each in results)


def test_the_pages_are_the_complete_answer(server: InProcess, folder: str) -> None:
    async def pages() -> list[list[dict[str, Any]]]:
        async with server.client()() as client:
            return [
                await all_rows(client, "downstream", name="hub"),
                await all_rows(client, "search", text="table_with"),
                await all_rows(client, "owners", name="hub"),
                await all_rows(client, "describe", name="wide"),
            ]

    downstream, found, owners, columns = anyio.run(pages)
    with Lineage.open(folder) as lineage:
        expected = lineage.downstream("hub")
        assert {(each["source"], each["target"], each["job"]) for each in downstream} == {
            (each.from_id, each.to_id, each.job) for each in expected.graph.edges
        }
        assert len(downstream) == DATASETS + 1 == len({each["target"] for each in downstream})
        assert {each["id"] for each in found} == {each.id for each in lineage.datasets("table_with").datasets}
        assert [each.get("owner") for each in owners] == [
            each["owner"] for each in lineage.owners("hub").records()
        ]
    assert {each["id"] for each in columns} == {
        f"{at('wide')}|column_{number:04}" for number in range(COLUMNS)
    }


def test_a_cursor_belongs_to_one_question(server: InProcess) -> None:
    cursor = answer(server.client(), "downstream", name="hub")["next_cursor"]
    other = failed(server.client(), "downstream", name="hub", depth=3, cursor=cursor)
    assert other["message"].startswith("the cursor belongs to a question with other arguments")
    for invalid in ("7", "x" * 80, f"9999999-{cursor.partition('-')[2]}"):
        assert failed(server.client(), "downstream", name="hub", cursor=invalid)["error"] == "question"
    again = answer(server.client(), "downstream", name="hub", cursor=cursor)
    assert again["rows"][0]["target"] > at("warehouse")


def test_an_answer_that_has_changed_is_not_continued() -> None:
    found = Found(range(10), lambda number: PartRow(id=f"{number}", role="column", description="x" * 900))
    first = page(found, QUESTION, MIN_SIZE, None)
    changed = Found(range(11), found.row)
    with pytest.raises(QueryError, match="has changed since its first page"):
        page(changed, QUESTION, MIN_SIZE, first["next_cursor"])


def test_a_fingerprint_depends_on_all_arguments_but_the_cursor() -> None:
    base = fingerprint("upstream", {"name": "a", "cursor": None})
    assert base == fingerprint("upstream", {"cursor": "1-2-3", "name": "a"})
    others = {
        fingerprint("downstream", {"name": "a"}),
        fingerprint("upstream", {"name": "b"}),
        fingerprint("upstream", {"name": "a", "depth": 1}),
    }
    assert len(others | {base}) == 4


texts = st.text(max_size=3_000).map(escape)
names = st.text("abcdefghij_", min_size=1, max_size=20)
fields = texts | st.integers() | st.lists(texts, max_size=40) | st.dictionaries(texts, st.integers())


@given(st.dictionaries(names, fields, max_size=16), st.integers(1_600, 10_000))
def test_rows_fit_any_size(values: dict[str, Any], size: int) -> None:
    found = fit(values, size)
    assert len(compact(found)) <= size
    assert found == values or found["cut"] is True


def test_a_row_of_any_length_leaves_a_page_within_its_size() -> None:
    long = '\\"' * 50_000
    row = PartRow(id=long, role="column", job=long, type=long, tags=[long] * 100, description=long)
    header = {
        "note": long,
        "counts": {f"{number}{long}": number for number in range(100)},
        "dags": [long] * 99,
    }
    found = page(Found([row, row], lambda each: each, header), QUESTION, DEFAULT_SIZE, None)
    assert len(json.dumps(found, ensure_ascii=False, separators=(",", ":"))) <= DEFAULT_SIZE
    assert found["rows"][0]["cut"] is True
    assert found["cut"] is True


def edge(expression: str) -> dict[str, Any]:
    """The row of an input with an expression, as an answer has it."""

    def row(_: int) -> PartRow:
        return PartRow(id="a", role="computed_from", expression=readable(expression))

    (found,) = page(Found([1], row), QUESTION, DEFAULT_SIZE, None)["rows"]
    return dict(found)


def case(indent: int, branches: int) -> str:
    """An expression of many lines, as people write it."""
    lines = "".join(f"{' ' * indent}when s = {number:02} then {number}\n" for number in range(branches))
    return f"case\n{lines}  else secret_column end"


@pytest.mark.parametrize("indent", [1, 24, 120, 3_000])
def test_a_long_expression_is_cut_and_says_so(indent: int) -> None:
    found = edge(case(indent, 60))
    assert found["cut"] is True
    # As many characters as without the indentation.
    assert found["expression"] == f"{' '.join(case(1, 60).split())[: LONG - 1]}…"


@pytest.mark.parametrize("indent", [1, 24, 3_000])
def test_an_expression_that_is_short_without_its_indentation_is_complete(indent: int) -> None:
    found = edge(case(indent, 15))
    assert found["expression"] == " ".join(case(1, 15).split())
    assert "cut" not in found


def test_texts_beside_the_rows_are_cut_and_say_so() -> None:
    long = "word " * 500
    for header in (
        {"description": readable(long)},
        {"properties": {"format": "parquet", "location": readable(long)}},
        {"unmet": [readable("short"), readable(long)]},
    ):
        assert page(Found((), Writer.model_validate, header), QUESTION, DEFAULT_SIZE, None)["cut"] is True
    writer = Writer(id="job", status=readable(long, SHORT))
    found = page(Found((), Writer.model_validate, {"written_by": [writer]}), QUESTION, DEFAULT_SIZE, None)
    assert found["written_by"][0]["cut"] is True
    complete = page(
        Found((), Writer.model_validate, {"description": readable("ends with …")}),
        QUESTION,
        DEFAULT_SIZE,
        None,
    )
    assert "cut" not in complete


def test_the_size_is_an_option(folder: str, tmp_path: Path) -> None:
    with http(tmp_path, "--folder", folder, "--answer-size", "20000") as running:
        (result,) = ask(running.client(), ("search", {}))
        assert DEFAULT_SIZE < len(text(result)) <= 20_000
