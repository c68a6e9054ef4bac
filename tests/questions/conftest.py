"""The same lineage in several backends."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph


@pytest.fixture(params=["server", "folder"])
def graph(request: pytest.FixtureRequest, pipeline_url: str, pipeline_folder: str) -> Iterator[LineageGraph]:
    """Open the pipeline behind a server and in a folder."""
    place = Endpoint(pipeline_url) if request.param == "server" else Path(pipeline_folder)
    with open_graph(place) as opened:
        yield opened
