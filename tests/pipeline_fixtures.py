"""The pipeline made by hand, in a server and in a folder; read-only."""

from collections.abc import Iterator

import pytest

from lineage_merge.infra.embedded import EmbeddedServer
from tests.lineage_made import pipeline


@pytest.fixture(scope="session")
def pipeline_url() -> Iterator[str]:
    """A server that has the made pipeline and is never changed."""
    with EmbeddedServer(None) as server:
        pipeline().load(server.url)
        yield server.url


@pytest.fixture(scope="session")
def pipeline_folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The made pipeline as JSON lines."""
    return pipeline().folder(tmp_path_factory.mktemp("pipeline"))
