"""Batches of elements into the embedded server give the graph that requests give."""

import http.client
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from gremlin_python.process.graph_traversal import __
from gremlin_python.process.traversal import Cardinality, T
from pyarrow import parquet

from lineage_merge.history.embedded_entry import write_snapshot_entry
from lineage_merge.history.fingerprints import read_fingerprints
from lineage_merge.history.layout import ENTRY_KINDS, DagScope, MergeName, entry_folder
from lineage_merge.history.recording import write_entry
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.infra.embedded.connection import connected
from lineage_merge.infra.embedded.element_batches import encoded_tables, table_of
from lineage_merge.infra.embedded.element_transfer import ElementClient, ElementRejected
from lineage_merge.infra.embedded.graph_store import save
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.embedded_bulk import EmbeddedBulk
from lineage_merge.load.graph_state import read_graph_state, read_picture
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.result import LoadResult
from lineage_merge.load.update import update
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.errors import GraphRejected

OWN = {"environment": "dev", "dag_name": "daily"}
OF_JOB = {"job_type": "spark", "job_name": "load"}
Rows = list[dict[str, Any]]
Servers = tuple[EmbeddedServer, EmbeddedServer]


@pytest.fixture(scope="module", params=[False, True], ids=["", "transactional"])
def servers(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two servers, for bulk and for requests."""
    folder = tmp_path_factory.mktemp("graphs")
    with (
        EmbeddedServer(folder / "bulk", transactional=request.param) as bulk,
        EmbeddedServer(folder / "requests", transactional=request.param) as requests,
    ):
        yield bulk, requests


@pytest.fixture
def both(servers: Servers) -> Servers:
    for server in servers:
        with connected(server.url) as g:
            g.V().drop().to_list()
    return servers


def content(server: EmbeddedServer) -> tuple[Any, Any]:
    """All of a graph but what differs between two loads: times, counts of requests, tokens."""
    volatile = ("first_seen", "last_merged_at", "requests", "elements_read", "state", "load_token", "touched")
    with connected(server.url) as g:
        vertices = {
            row[T.id]: {
                key: sorted(value, key=repr) if isinstance(value, list) else value
                for key, value in row.items()
                if key not in volatile
            }
            for row in g.V().value_map(True).to_list()
            if row[T.label] != "merge_state"
        }
        edges = {
            row[T.id]: {key: value for key, value in row.items() if key not in volatile}
            for row in g.E().element_map().to_list()
        }
    return vertices, edges


def load(
    server: EmbeddedServer, nodes: Rows, edges: Rows, *, in_bulk: bool, dag: str = "daily"
) -> LoadResult:
    engine = LocalEngine(threads=2)
    merge = MergeOutput(
        engine.rows(nodes), engine.rows(edges), coverage=SourceCompleteness(runs=True, projects={})
    )
    endpoint = Endpoint(server.url, retry_seconds=5, graph_file=str(server.graph_file) if in_bulk else "")
    bulk = EmbeddedBulk(0) if in_bulk else None
    return update(merge, endpoint, "dev", dag, in_bulk=bulk, allow_retire=True)


def table(name: str, **values: Any) -> dict[str, Any]:
    return {"id": f"dev|s3://b|{name}", "label": "file", "name": name, **OWN, **values}


def edge(identifier: str, start: str, end: str, label: str = "feeds", **values: Any) -> dict[str, Any]:
    ends = {"from": f"dev|s3://b|{start}", "to": f"dev|s3://b|{end}"}
    return {"id": identifier, "label": label, **ends, **OWN, **OF_JOB, **values}


NODES = [
    table("a", tags=["x", "y"], description='nul \\0 "quoted", line\nend 𝄞'),
    table("b", tags=[], description="", aliases=["s3://b|c (rule)"]),
    table("c", location="s3://b/c"),
    {"id": "dev|s3://b|a|id", "label": "column", "name": "id", "position": 2**40, **OWN},
    {
        "id": "dev|daily|spark|load",
        "label": "job",
        "name": "load",
        "job_type": "spark",
        "last_run_at": 5,
        **OWN,
    },
]
EDGES = [
    edge("e1", "a", "b", sequence=1, operations="Filter"),
    edge("e2", "b", "c"),
    {**edge("e3", "a", "a|id", "has_column"), "job_type": None, "job_name": None},
    {**edge("e4", "a", "b", "writes"), "from": "dev|daily|spark|load"},
]


def changed() -> tuple[Rows, Rows]:
    """Other values, a new label, members of sets, new and removed elements."""
    nodes = [dict(row) for row in NODES if row["name"] != "c"]
    nodes[0] |= {"tags": ["y", "z"], "description": "other"}
    nodes[1] |= {"label": "table"}
    nodes.append(table("d", tags=["x"]))
    return nodes, [EDGES[0] | {"operations": "Join"}, EDGES[2], EDGES[3], edge("e5", "b", "d")]


def test_bulk_and_requests_give_the_same_graph(both: Servers) -> None:
    other = [table("a", tags=["other"], dag_name="weekly")]
    steps: tuple[tuple[Rows, Rows, str], ...] = (
        (other, [], "weekly"),
        (NODES, EDGES, "daily"),
        (NODES, EDGES, "daily"),
        (*changed(), "daily"),
        (NODES, EDGES, "daily"),
    )
    for number, (nodes, edges, dag) in enumerate(steps):
        found = [
            load(server, nodes, edges, in_bulk=in_bulk, dag=dag)
            for server, in_bulk in zip(both, (True, False), strict=True)
        ]
        counts = [(each.counts | {"requests": 0}, each.added, each.relabelled) for each in found]
        assert counts[0] == counts[1], number
        assert content(both[0]) == content(both[1]), number
    vertices, edges_found = content(both[0])
    assert vertices["dev|s3://b|a"]["dag_name"] == ["daily", "weekly"]
    assert set(edges_found) == {"e1", "e2", "e3", "e4", "e5"}  # its job has not run since


def test_an_edge_with_a_missing_end_is_named(both: Servers) -> None:
    with pytest.raises(GraphRejected, match=r"edge e9 \(dev\|s3://b\|a -feeds-> dev\|s3://b\|zz\)"):
        load(both[0], NODES, [edge("e9", "a", "zz")], in_bulk=True)


def merge(server: EmbeddedServer, kind: Any, rows: Rows, created: tuple[str, ...] = ()) -> None:
    with ElementClient(server.url) as client:
        for _, batch in encoded_tables(kind, table_of(kind, rows), created):
            client.merge(batch)


def test_existing_elements_keep_what_a_batch_does_not_have(
    both: Servers,
) -> None:
    server = both[0]
    with connected(server.url) as g:
        vertex = g.add_v("table").property(T.id, "v").property(Cardinality.single, "name", "old")
        vertex.property("tags", "x").property("own", 5).property("first_seen", 1).to_list()
        g.V("v").add_e("feeds").property(T.id, "e").property("own", 5).to(__.V("v")).to_list()
        row = {
            "id": "v",
            "label": "file",
            "name": "new",
            "tags": ["x", "y"],
            "first_seen": 9,
            "dag_name": "d",
        }
        merge(server, "vertices", [row, row | {"id": "w"}], ("first_seen",))
        merge(server, "edges", [{"id": "e", "label": "writes", "from": "w", "to": "w", "via": "t"}])
        found = {each[T.id]: each for each in g.V().value_map(True).to_list()}
        (edge_found,) = g.E().element_map().to_list()
    assert found["v"][T.label] == "table"
    assert (found["v"]["name"], sorted(found["v"]["tags"])) == (["new"], ["x", "y"])
    assert (found["v"]["own"], found["v"]["first_seen"], found["w"]["first_seen"]) == ([5], [1], [9])
    assert (edge_found[T.label], edge_found["own"], edge_found["via"]) == ("feeds", 5, "t")


def test_a_damaged_batch_is_refused(both: Servers) -> None:
    with ElementClient(both[0].url) as client, pytest.raises(Exception, match=r"."):
        client.merge(b"\xff" * 64)
    with connected(both[0].url) as g:
        assert g.V().count().next() == 0


def test_a_vertex_that_is_there_cannot_be_created_again(both: Servers) -> None:
    ((_, batch),) = encoded_tables("vertices", table_of("vertices", [{"id": "v", "label": "x"}]))
    with ElementClient(both[0].url) as client:
        client.create(batch, "snapshot-1")
        with pytest.raises(ElementRejected, match="already exists"):
            client.create(batch, "snapshot-1")


Headers = Callable[[str], dict[str, str]]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (lambda _: {}, 401),
        (lambda _: {"Authorization": "Basic " + b64encode(b"lineage:wrong").decode()}, 401),
        (lambda login: {"Authorization": login, "Origin": "https://evil.example"}, 403),
    ],
)
@pytest.mark.parametrize("operation", ["dump", "merge", "create?snapshot=x", "../gremlin"])
def test_elements_need_the_password_and_no_foreign_page(
    both: Servers, headers: Headers, status: int, operation: str
) -> None:
    address = urlsplit(both[0].url)
    login = "Basic " + b64encode(f"{address.username}:{address.password}".encode()).decode()
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=10)
    connection.request("POST", f"/elements/{operation}", b"{}", headers(login))
    assert connection.getresponse().status == status
    connection.close()


@pytest.mark.parametrize(("method", "operation", "status"), [("GET", "dump", 405), ("POST", "files", 404)])
def test_there_are_no_other_operations(both: Servers, method: str, operation: str, status: int) -> None:
    address = urlsplit(both[0].url)
    login = b64encode(f"{address.username}:{address.password}".encode()).decode()
    connection = http.client.HTTPConnection(address.hostname or "", address.port or 0, timeout=10)
    connection.request(method, f"/elements/{operation}", b"", {"Authorization": f"Basic {login}"})
    assert connection.getresponse().status == status
    connection.close()


def test_dumped_columns_are_those_of_the_graph_model(both: Servers, tmp_path: Path) -> None:
    load(both[0], NODES, EDGES, in_bulk=True)
    with ElementClient(both[0].url) as client:
        tables = client.dump()
    assert tables
    rows = {row["id"]: row for row in tables.vertices.to_pylist()}
    assert rows["dev|s3://b|a"]["description"] == NODES[0]["description"]
    assert rows["dev|s3://b|a|id"]["position"] == 2**40
    assert {row["other_properties"] for row in rows.values()} == {None}


def test_state_and_history_of_a_dump_are_those_of_requests(both: Servers, tmp_path: Path) -> None:
    """Shared vertices, values of a notebook, and an edge that a killed load left."""
    server = both[0]
    weekly = [{**row, "dag_name": "weekly"} for row in (table("a"), NODES[3], table("w"))]
    of_weekly = {"dag_name": "weekly", "job_name": "other"}
    ends = [edge("w1", "a", "a", "writes", **of_weekly), {**EDGES[2], **of_weekly, "id": "w2"}]
    load(server, weekly, ends, in_bulk=True, dag="weekly")
    load(server, NODES, EDGES, in_bulk=True)
    with connected(server.url) as g:
        g.V("dev|s3://b|b").property(Cardinality.set_, "name", "second").property("own", 5).to_list()
        g.add_v("view").property(T.id, "dev|s3://b|v").property("environment", "dev").property(
            "dag_name", "daily"
        ).to_list()
        g.V("dev|s3://b|v").add_e("feeds").property(T.id, "e8~").property("dag_name", "daily").property(
            "environment", "dev"
        ).to(__.V("dev|s3://b|a")).to_list()
    engine = LocalEngine()
    ids = engine.rows(["dev|s3://b|a", "dev|s3://b|w", "dev|s3://b|missing"])
    by_requests = Endpoint(server.url)
    by_dump = Endpoint(server.url, graph_file=str(server.graph_file))
    states = [read_graph_state(ids, each, "dev", "daily") for each in (by_requests, by_dump)]
    vertices = [sorted(state.vertices.collect()) for state in states]
    edges = [sorted(state.edges.collect()) for state in states]
    assert vertices[0] == vertices[1]
    assert edges[0] == edges[1]
    assert {vertex.id for vertex in vertices[0] if vertex.built_elsewhere} == {
        "dev|s3://b|a",
        "dev|s3://b|a|id",
    }

    scope, names = DagScope("dev", "daily"), [MergeName(number, "0" * 12) for number in (1, 2)]
    place = str(tmp_path / "history")
    counts = [
        write_entry(place, scope, names[0], read_picture(engine, by_requests, *scope)),
        write_snapshot_entry(place, scope, names[1], save(server.url, tmp_path / "graph")),
    ]
    assert counts[0] == counts[1]
    for kind in ENTRY_KINDS:
        folders = [entry_folder(place, kind, scope, name) for name in names]
        rows = [parquet.read_table(folder, partitioning=None).to_pylist() for folder in folders]
        assert rows[0] == rows[1]
    elements = [row["id"] for row in rows[0]] + ["dev|s3://b|a", "dev|s3://b|b", "load"]
    sums = read_fingerprints(place, [(scope, name) for name in names], elements)
    assert sums[0] is not None
    assert sums[0] == sums[1]
