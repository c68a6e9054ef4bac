"""The sample pipeline, asked of a server."""

from collections.abc import Iterator

import pytest

from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph


@pytest.fixture(scope="module")
def tickit(tickit_url: str) -> Iterator[LineageGraph]:
    """TICKIT, behind a Gremlin server."""
    with open_graph(Endpoint(tickit_url)) as graph:
        yield graph
