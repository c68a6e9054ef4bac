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
# In 3.7 only a Groovy script can bind `g`, so Groovy is loaded although no query needs it.
_BIND_G = "def globals = [:]\nglobals << [g : traversal().withEmbedded(graph)]\n"


def write_settings(directory: Path, host: str, port: int, transactional: bool) -> Path:
    """Write the server's files into `directory`; returns the one that it takes as its argument.

    String ids and vertex properties that default to `set`, as in Neptune. `transactional`:
    a graph whose concurrent writers really conflict.
    """
    graph = directory / "graph.properties"
    graph.write_text(
        f"gremlin.graph={_STRUCTURE}.{'TinkerTransactionGraph' if transactional else 'TinkerGraph'}\n"
        "gremlin.tinkergraph.vertexIdManager=ANY\n"
        "gremlin.tinkergraph.edgeIdManager=ANY\n"
        "gremlin.tinkergraph.defaultVertexPropertyCardinality=set\n"
    )
    script = directory / "bind.groovy"
    script.write_text(_BIND_G)
    plugins: dict[str, object] = {
        "org.apache.tinkerpop.gremlin.server.jsr223.GremlinServerGremlinPlugin": {},
        "org.apache.tinkerpop.gremlin.tinkergraph.jsr223.TinkerGraphGremlinPlugin": {},
        "org.apache.tinkerpop.gremlin.jsr223.ScriptFileGremlinPlugin": {"files": [str(script)]},
    }
    server = directory / "server.yaml"
    settings = {
        "host": host,
        "port": port,
        "evaluationTimeout": EVALUATION_TIMEOUT,
        "maxContentLength": MAX_CONTENT_LENGTH,
        # A vertex of TinkerGraph keeps edges and sets in collections that two threads spoil: of many edges
        # written to one vertex at once, some would hang on nothing.
        **({} if transactional else {"gremlinPool": 1}),
        "channelizer": "org.apache.tinkerpop.gremlin.server.channel.WebSocketChannelizer",
        # Ends the process when the graph does not open, where the default one goes on without.
        "graphManager": "org.apache.tinkerpop.gremlin.server.util.CheckedGraphManager",
        "graphs": {"graph": str(graph)},
        "scriptEngines": {"gremlin-groovy": {"plugins": plugins}},
        "serializers": [
            {"className": f"org.apache.tinkerpop.gremlin.util.ser.{name}"} for name in _SERIALIZERS
        ],
    }
    server.write_text(json.dumps(settings, indent=1))  # JSON is YAML, and quotes every path safely
    return server
