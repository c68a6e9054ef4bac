"""A real Gremlin Server for every test that needs a graph: started once, emptied for each test.

``LINEAGE_MERGE_TEST_GREMLIN_SERVER`` is another version of it than the package's own, such as 3.8.1; the
jars are fetched into the same cache.
"""

import os
from collections.abc import Iterator

import pytest
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.embedded import EmbeddedServer, maven_jars
from lineage_merge.infra.traversal_source import source

SERVER = "LINEAGE_MERGE_TEST_GREMLIN_SERVER"

if version := os.environ.get(SERVER):
    maven_jars.GREMLIN = maven_jars.GREMLIN._replace(
        name=f"Gremlin Server {version}",
        folder=f"gremlin-server-{version}",
        dependencies=maven_jars.GREMLIN.dependencies.replace(maven_jars.GREMLIN_SERVER, version),
        pins=None,  # those of the package are of its own version
        places=None,
    )


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
        g = source(connection)
        g.V().drop().to_list()
        yield g
    finally:
        connection.close()
