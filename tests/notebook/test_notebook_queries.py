"""Each query of the notebook is one that Neptune's grammar knows, and answers on TICKIT what it must."""

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


def test_every_query_has_an_answer_written_by_hand() -> None:
    assert set(queries()) == set(ANSWERS)


@pytest.mark.parametrize(("cell", "query"), queries().items(), ids=list(queries()))
def test_a_query_passes_the_grammar_that_neptune_uses_and_answers(
    cell: str, query: str, tickit: Client
) -> None:
    found = plain(answers_in_the_grammar(tickit, query))

    assert isinstance(found, list)
    assert rows(found) == expected(cell)


def test_each_label_of_a_vertex_has_a_colour_of_its_own() -> None:
    look = json.loads(code_cells()["look"].partition("\n")[2])
    # Operations are there only when asked for; the state of a load is for loads.
    drawn = {label.name for label in NODE_LABELS} - {"operation", "merge_state"}
    colours = {name: group["color"]["background"] for name, group in look["groups"].items()}

    assert set(colours) == drawn
    assert len(set(colours.values())) == len(drawn)


def test_the_notebook_is_stored_without_outputs() -> None:
    code = [cell for cell in document()["cells"] if cell["cell_type"] == "code"]

    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []
