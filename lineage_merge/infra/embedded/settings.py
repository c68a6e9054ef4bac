"""Configuration files of the Gremlin Server, for behaviour like Neptune's."""

import json
from pathlib import Path

# Neptune's limits: request size in bytes, query time in milliseconds.
MAX_CONTENT_LENGTH = 10 * 1024 * 1024
EVALUATION_TIMEOUT = 120_000

_STRUCTURE = "org.apache.tinkerpop.gremlin.tinkergraph.structure"
_SERIALIZERS = (
    "GraphBinaryMessageSerializerV1",
    "GraphSONMessageSerializerV3",
    "GraphSONMessageSerializerV2",
)
# SASL and HTTP require a user name.
USER = "lineage"


def write_settings(directory: Path, host: str, port: int, transactional: bool, password: str) -> Path:
    """Write the server's configuration into `directory`; return its main file.

    String ids and vertex properties of cardinality `set`, as in Neptune. `transactional`: concurrent writers
    conflict. The returned file contains the password: mode 0600.
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
        # TinkerGraph's collections of edges and sets are not thread-safe: concurrent writes to one vertex
        # would leave edges without a vertex.
        **({} if transactional else {"gremlinPool": 1}),
        # Ends the process if the graph does not open; the default manager continues without it.
        "graphManager": "org.apache.tinkerpop.gremlin.server.util.CheckedGraphManager",
        "graphs": {"graph": str(graph)},
        "scriptEngines": {"gremlin-lang": {}},
        "authentication": {"config": {"user": USER, "password": password}},
        "serializers": [
            {"className": f"org.apache.tinkerpop.gremlin.util.ser.{name}"} for name in _SERIALIZERS
        ],
    }
    server.touch(mode=0o600)
    server.write_text(json.dumps(settings, indent=1))  # JSON is valid YAML, and quotes paths correctly
    return server
