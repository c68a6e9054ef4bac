"""Neptune's HTTP endpoint of openCypher, imitated on a Neo4j for graph-notebook.

As Neptune's documentation shows it ("The Amazon Neptune openCypher HTTPS endpoint"): the form field `query`,
nodes and relationships as maps with ``~id``, ``~entityType``, ``~labels`` or ``~type``, and ``~properties``.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any
from urllib.parse import parse_qs

from neo4j import Driver
from neo4j.exceptions import Neo4jError
from neo4j.graph import Node, Relationship

from tests.http_server import serving


@contextmanager
def opencypher_endpoint(driver: Driver) -> Iterator[str]:
    """Yield the URL of a server that asks a graph of `neo4j_server.put_records`."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            status, answer = _answer(driver, self.path, body)
            content = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Log nothing."""

    with serving(Handler) as server:
        yield f"http://127.0.0.1:{server.server_port}"


def _answer(driver: Driver, path: str, body: str) -> tuple[int, Any]:
    (query,) = parse_qs(body).get("query", [""])
    if path != "/openCypher" or not query:
        return 404, {"code": "BadRequestException", "detailedMessage": path}
    try:
        found = driver.execute_query(query)
    except Neo4jError as error:
        return 400, {"code": "MalformedQueryException", "detailedMessage": str(error)}
    rows = [{name: _shown(record[name]) for name in found.keys} for record in found.records]
    return 200, {"results": rows}


def _shown(value: Any) -> Any:
    if not isinstance(value, Node | Relationship):
        return value
    properties = dict(value)
    identified = {"~id": properties.pop("~id"), "~properties": properties}
    if isinstance(value, Node):
        return {**identified, "~entityType": "node", "~labels": list(value.labels)}
    assert value.start_node is not None
    assert value.end_node is not None
    ends = {"~start": value.start_node["~id"], "~end": value.end_node["~id"]}
    return {**identified, **ends, "~entityType": "relationship", "~type": value.type}
