"""A real Gremlin Server for every test that needs a graph: started once, emptied for each test."""

import os
from collections.abc import Iterator

import pytest
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.anonymous_traversal import traversal
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.embedded import EmbeddedServer


@pytest.fixture(scope="session")
def gremlin_url() -> Iterator[str]:
    """The URL of a running server; ``LINEAGE_MERGE_TEST_GREMLIN_URL`` names another (it is emptied)."""
    if url := os.environ.get("LINEAGE_MERGE_TEST_GREMLIN_URL"):
        yield url
        return
    with EmbeddedServer(None) as server:
        yield server.url


@pytest.fixture(scope="session")
def conflicting_url() -> Iterator[str]:
    """The URL of a server whose concurrent writers conflict, as Neptune's do; it is not emptied."""
    with EmbeddedServer(None, transactional=True) as server:
        yield server.url


@pytest.fixture
def gremlin(gremlin_url: str) -> Iterator[GraphTraversalSource]:
    """A traversal source over a graph that is empty at the start of the test."""
    connection = DriverRemoteConnection(gremlin_url, "g")
    try:
        g = traversal().with_remote(connection)
        g.V().drop().iterate()
        yield g
    finally:
        connection.close()
