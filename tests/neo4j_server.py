"""A Neo4j Community server for tests, and graphs in it as Neptune's openCypher shows them.

Its jars are fetched and cached like those of the Gremlin Server. Nothing of it is part of the package.

What Neptune's documentation says ("openCypher specification compliance", "openCypher extensions", "openCypher
data model"), and how it is imitated:

* The id is a text, which clauses read as the property ``~id``: a property of that name.
* A node has a list of labels; of a vertex that Gremlin calls ``table::view`` it is both.
* Of a property with several values "one of the values is arbitrarily chosen": the caller chooses which.
"""

import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from neo4j import Driver, GraphDatabase
from neo4j.exceptions import ServiceUnavailable

from lineage_merge.infra.embedded.jars import Bundle, bundle_jars
from lineage_merge.infra.embedded.java import find_java
from tests.neptune_reading import Record, Value, records

# The lock has those jars of org.neo4j:neo4j, as Maven resolves it, from which the tests load classes
# (-Xlog:class+load): not the web server, backups and imports, a third of the size.
_VERSION = "5.26.30"  # the line with long-term support; later ones need Java 21
_BUNDLE = Bundle(f"Neo4j {_VERSION}", Path(__file__).with_name("locks") / f"neo4j-{_VERSION}.lock")
_START_SECONDS = 120
_SETTINGS = """\
dbms.security.auth_enabled=false
dbms.usage_report.enabled=false
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.memory.pagecache.size=16m
"""

ChooseValue = Callable[[Iterable[Value]], Value]


@contextmanager
def neo4j_server(folder: Path) -> Iterator[Driver]:
    """Yield a client of a server whose data are in `folder`; the server ends with the block."""
    java, jars, port = find_java(), bundle_jars(_BUNDLE, lambda _: None), _free_port()
    (folder / "neo4j.conf").write_text(_SETTINGS.format(port=port))
    command = [str(java), "-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", f"{jars}/*"]
    command += ["org.neo4j.server.CommunityEntryPoint", f"--home-dir={folder}", f"--config-dir={folder}"]
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(command, stdout=output, stderr=output) as process,
    ):
        try:
            _wait(process, port, log)
            with GraphDatabase.driver(f"bolt://127.0.0.1:{port}", notifications_min_severity="OFF") as driver:
                yield driver
        finally:
            process.kill()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        assert process.poll() is None, log.read_text()[-2000:]
        assert time.monotonic() < deadline, "Neo4j does not start"
        try:
            with GraphDatabase.driver(f"bolt://127.0.0.1:{port}") as driver:
                return driver.verify_connectivity()
        except ServiceUnavailable:
            time.sleep(0.2)


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def csv_records(folder: Path, kind: str) -> list[Record]:
    """Return the rows of Neptune CSV files below a folder; `kind` is ``vertices`` or ``edges``."""
    return [record for file in sorted(folder.glob(f"{kind}/*")) for record in records(file.read_bytes())]


def put_records(
    driver: Driver, vertices: Iterable[Record], edges: Iterable[Record], choose: ChooseValue
) -> None:
    """Replace the graph by these vertices and edges; several rows of one id are one vertex."""
    driver.execute_query("MATCH (n) DETACH DELETE n")
    # One query for all labels: Neo4j takes longer to compile a query than to run it.
    created = driver.execute_query(
        "UNWIND $rows AS row CREATE (n:$(row.labels)) SET n = row.properties"
        " RETURN n.`~id` AS id, elementId(n) AS element",
        rows=[_vertex(vertex, choose) for vertex in _united(vertices)],
    )
    elements = {row["id"]: row["element"] for row in created.records}
    driver.execute_query(
        "UNWIND $rows AS row MATCH (source) WHERE elementId(source) = row.source"
        " MATCH (target) WHERE elementId(target) = row.target"
        " CREATE (source)-[edge:$(row.label)]->(target) SET edge = row.properties",
        rows=[_edge(edge, elements) for edge in edges],
    )


def _united(vertices: Iterable[Record]) -> Iterable[Record]:
    united: dict[str, Record] = {}
    for vertex in vertices:
        known = united.setdefault(vertex.id, replace(vertex, single={}, sets={}))
        known.single.update(vertex.single)
        for name, values in vertex.sets.items():
            known.sets[name] = [*known.sets.get(name, ()), *values]
    return united.values()


def _vertex(vertex: Record, choose: ChooseValue) -> dict[str, Any]:
    sets = {name: choose(values) for name, values in vertex.sets.items()}
    return {"labels": vertex.label.split("::"), "properties": {"~id": vertex.id, **vertex.single, **sets}}


def _edge(edge: Record, elements: Mapping[str, str]) -> dict[str, Any]:
    assert edge.ends is not None
    source, target = (elements[end] for end in edge.ends)
    properties = {"~id": edge.id, **edge.single}
    return {"label": edge.label, "source": source, "target": target, "properties": properties}
