"""A real Gremlin Server for every test that needs a graph: started once, emptied for each test.

``LINEAGE_MERGE_TEST_GREMLIN_SERVER`` is another version of it with a file in ``tests/locks``, such as 3.8.1.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from gremlin_python.driver.driver_remote_connection import DriverRemoteConnection
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.embedded import EmbeddedServer, jars
from lineage_merge.infra.traversal_source import source

SERVER = "LINEAGE_MERGE_TEST_GREMLIN_SERVER"

if (version := os.environ.get(SERVER, jars.GREMLIN_SERVER)) != jars.GREMLIN_SERVER:
    lock = Path(__file__).with_name("locks") / f"gremlin-server-{version}.lock"
    jars.GREMLIN = jars.Bundle(f"Gremlin Server {version}", lock)


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
