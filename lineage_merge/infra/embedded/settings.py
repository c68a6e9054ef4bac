"""The files that a Gremlin Server starts from, such that its graph behaves as Neptune's."""

import json
from pathlib import Path

# Neptune's limits: the size of a request and the time of a query, in bytes and milliseconds.
MAX_CONTENT_LENGTH = 10 * 1024 * 1024
EVALUATION_TIMEOUT = 120_000

_STRUCTURE = "org.apache.tinkerpop.gremlin.tinkergraph.structure"
_SERIALIZERS = (
    "GraphBinaryMessageSerializerV1",
    "GraphSONMessageSerializerV3",
    "GraphSONMessageSerializerV2",
)
# The user of the one password; SASL and HTTP both want a name.
USER = "lineage"


def write_settings(directory: Path, host: str, port: int, transactional: bool, password: str) -> Path:
    """Write the server's files into `directory`; returns the one that it takes as its argument.

    String ids and vertex properties that default to `set`, as in Neptune. `transactional`:
    a graph whose concurrent writers really conflict. The returned file holds the password: mode 0600.
    """
    graph = directory / "graph.properties"
    graph.write_text(
        f"gremlin.graph={_STRUCTURE}.{'TinkerTransactionGraph' if transactional else 'TinkerGraph'}\n"
        "gremlin.tinkergraph.vertexIdManager=ANY\n"
        "gremlin.tinkergraph.edgeIdManager=ANY\n"
        "gremlin.tinkergraph.defaultVertexPropertyCardinality=set\n"
    )
    server = directory / "server.yaml"
    settings = {
        "host": host,
        "port": port,
        "evaluationTimeout": EVALUATION_TIMEOUT,
        "maxContentLength": MAX_CONTENT_LENGTH,
        # A vertex of TinkerGraph keeps edges and sets in collections that two threads spoil: of many edges
        # written to one vertex at once, some would hang on nothing.
        **({} if transactional else {"gremlinPool": 1}),
        # Ends the process when the graph does not open, where the default one goes on without.
        "graphManager": "org.apache.tinkerpop.gremlin.server.util.CheckedGraphManager",
        "graphs": {"graph": str(graph)},
        "scriptEngines": {"gremlin-lang": {}},
        "authentication": {"config": {"user": USER, "password": password}},
        "serializers": [
            {"className": f"org.apache.tinkerpop.gremlin.util.ser.{name}"} for name in _SERIALIZERS
        ],
    }
    server.touch(mode=0o600)
    server.write_text(json.dumps(settings, indent=1))  # JSON is YAML, and quotes every path safely
    return server
