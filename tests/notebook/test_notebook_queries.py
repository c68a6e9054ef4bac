"""The notebook's queries conform to Neptune's grammar and return the expected results on TICKIT."""

import json
from collections.abc import Iterator

import pytest
from gremlin_python.driver.client import Client

from lineage_merge.graph_format.schema import NODE_LABELS
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from tests.gremlin_text import answers_in_the_grammar
from tests.notebook.answers import ANSWERS, expected, rows
from tests.notebook.cells import code_cells, document, queries
from tests.sample_graph import plain


@pytest.fixture(scope="module")
def tickit(tickit_url: str) -> Iterator[Client]:
    with open_client(Endpoint(tickit_url), 1) as client:
        yield client


def test_all_queries_have_expected_results() -> None:
    assert set(queries()) == set(ANSWERS)


@pytest.mark.parametrize(("cell", "query"), queries().items(), ids=list(queries()))
def test_queries_conform_to_neptunes_grammar_and_return_the_expected_results(
    cell: str, query: str, tickit: Client
) -> None:
    found = plain(answers_in_the_grammar(tickit, query))

    assert isinstance(found, list)
    assert rows(found) == expected(cell)


def test_vertex_labels_have_distinct_colours() -> None:
    look = json.loads(code_cells()["look"].partition("\n")[2])
    # Operations are there only when asked for; the state of a load is for loads.
    drawn = {label.name for label in NODE_LABELS} - {"operation", "merge_state"}
    colours = {name: group["color"]["background"] for name, group in look["groups"].items()}

    assert set(colours) == drawn
    assert len(set(colours.values())) == len(drawn)


def test_the_notebook_is_stored_without_outputs() -> None:
    code = [cell for cell in document()["cells"] if cell["cell_type"] == "code"]

    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
