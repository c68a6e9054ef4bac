"""The same lineage in several backends."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_merge.graph_format.folder_index import write_folder_index
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph


@pytest.fixture(scope="session")
def indexed_folder(pipeline_folder: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The pipeline in a folder with an index."""
    folder = str(tmp_path_factory.mktemp("indexed") / "lineage")
    shutil.copytree(pipeline_folder, folder)
    write_folder_index(folder, at_least=0)
    return folder


@pytest.fixture(params=["server", "folder", "index"])
def graph(
    request: pytest.FixtureRequest, pipeline_url: str, pipeline_folder: str, indexed_folder: str
) -> Iterator[LineageGraph]:
    """Open the pipeline behind a server, in a folder, and in a folder with an index."""
    folder = indexed_folder if request.param == "index" else pipeline_folder
    place = Endpoint(pipeline_url) if request.param == "server" else Path(folder)
    with open_graph(place) as opened:
        yield opened
