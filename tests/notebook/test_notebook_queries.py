"""The notebook's queries conform to Neptune's grammar and return the expected results on TICKIT."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from gremlin_python.driver.client import Client

from lineage_merge.graph_format.schema import NODE_LABELS
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from tests.gremlin_text import answers_in_the_grammar
from tests.notebook.answers import ANSWERS, expected, rows
from tests.notebook.cells import NOTEBOOK, OPENCYPHER_NOTEBOOK, code_cells, document, queries
from tests.sample_graph import plain


@pytest.fixture(scope="module")
def tickit(tickit_url: str) -> Iterator[Client]:
    with open_client(Endpoint(tickit_url), 1) as client:
        yield client


def test_all_queries_have_expected_results() -> None:
    assert set(queries()) == set(ANSWERS)


@pytest.mark.jvm
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


@pytest.mark.parametrize("notebook", [NOTEBOOK, OPENCYPHER_NOTEBOOK], ids=lambda file: file.stem)
def test_the_notebook_is_stored_without_outputs(notebook: Path) -> None:
    code = [cell for cell in document(notebook)["cells"] if cell["cell_type"] == "code"]

    assert [cell["id"] for cell in code if cell["outputs"] or cell["execution_count"]] == []


def test_both_notebooks_have_the_same_cells() -> None:
    gremlin, opencypher = code_cells(), code_cells(OPENCYPHER_NOTEBOOK)

    assert list(queries()) == list(queries(OPENCYPHER_NOTEBOOK))
    different = {name for name in gremlin | opencypher if gremlin.get(name) != opencypher.get(name)}
    assert different == {
        *queries(),
        "freshness-hours",
    }  # a stored answer of openCypher is the response's JSON
