"""Requests that are sent twice, because the first response was lost, have the effect of one."""

from collections.abc import Callable, Iterator

import pytest

from lineage_merge.load import merge_run, result
from lineage_merge.load.gremlin import executor, remove_dag, running_load, upserts, vertex_merge
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.load.gremlin.executor import send
from lineage_merge.load.gremlin.label_replacement import replace_labels
from lineage_merge.load.gremlin.upserts import EdgeUpsert, Upsert, VertexUpsert
from lineage_merge.load.result import LoadResult
from tests.graph_reading import whole
from tests.load.neptune_proxy import Fault, neptune_proxy

pytestmark = [pytest.mark.jvm, pytest.mark.usefixtures("quick")]


def vertex(name: str, *dags: str, label: str = "table") -> VertexUpsert:
    values = (("environment", "dev"), ("name", name))
    return VertexUpsert(f"dev|wh|{name}", label, values, tuple(("dag_name", dag) for dag in dags))


def edge(start: str, end: str, dag: str) -> EdgeUpsert:
    of = (("environment", "dev"), ("dag_name", dag), ("job_type", "dbt"), ("job_name", "j"))
    return EdgeUpsert(f"{dag}:{start}:{end}", "feeds", f"dev|wh|{start}", f"dev|wh|{end}", of)


def every_first_answer_is_lost() -> Callable[[bytes], Fault | None]:
    """Close the connection before the first response to each request, which is executed."""
    seen: set[bytes] = set()

    def fault(request: bytes) -> Fault | None:
        content = request[1 + request[0] + 18 :]  # without its id
        known = content in seen
        seen.add(content)
        return None if known else "close after"

    return fault


@pytest.fixture
def direct(conflicting_url: str) -> Endpoint:
    """Provide a server with a table that two DAGs read and write, and its duplicate."""
    endpoint = Endpoint(conflicting_url)
    with connect(endpoint) as g:
        g.V().drop().to_list()
    vertices: list[Upsert] = [vertex(name, "d", "e") for name in ("a", "t", "other")]
    vertices.append(vertex("z", "d"))
    edges: list[Upsert] = [edge(*ends, dag) for dag in ("d", "e") for ends in (("a", "t"), ("t", "other"))]
    edges += [edge("a", "z", "d"), edge("t", "t", "d")]
    send(endpoint, upserts.batches(vertices))
    send(endpoint, upserts.batches(edges))
    return endpoint


@pytest.fixture
def losing(direct: Endpoint) -> Iterator[Endpoint]:
    with neptune_proxy(direct.url, choose_fault=every_first_answer_is_lost()) as proxy:
        yield Endpoint(proxy.url)


def test_a_label_is_replaced_and_every_edge_keeps_its_id(direct: Endpoint, losing: Endpoint) -> None:
    with connect(direct) as g:
        before = whole(g)
    assert replace_labels(losing, [("dev|wh|t", "table", "view")]) == 1
    with connect(direct) as g:
        vertices, edges = whole(g)
    assert vertices.pop("dev|wh|t") == ("view", before[0].pop("dev|wh|t")[1])
    assert (vertices, edges) == before


def test_a_vertex_is_moved_once(direct: Endpoint, losing: Endpoint) -> None:
    assert vertex_merge.move(losing, [("dev|wh|other", "dev|wh|z")]) == 1
    with connect(direct) as g:
        vertices, edges = whole(g)
    assert {key: properties["dag_name"] for key, (_, properties) in vertices.items()} == {
        "dev|wh|a": ["d", "e"],
        "dev|wh|t": ["d", "e"],
        "dev|wh|z": ["d", "e"],
    }
    ends = {(start, end, properties["dag_name"]) for start, _, end, properties in edges.values()}
    assert ends == {
        ("dev|wh|a", "dev|wh|t", "d"),
        ("dev|wh|a", "dev|wh|t", "e"),
        ("dev|wh|t", "dev|wh|z", "d"),
        ("dev|wh|t", "dev|wh|z", "e"),
        ("dev|wh|a", "dev|wh|z", "d"),
        ("dev|wh|t", "dev|wh|t", "d"),
    }


def test_a_vertex_that_another_dag_has_started_to_use_is_not_dropped(direct: Endpoint) -> None:
    with connect(direct) as g:
        g.V("dev|wh|z").both_e().drop().to_list()
        g.V("dev|wh|z").property("dag_name", "late").to_list()
        vertex_merge.drop_if_unchanged(g, "dev|wh|z", 0, ["d"]).to_list()
        assert g.V("dev|wh|z").values("dag_name").to_set() == {"d", "late"}
        vertex_merge.drop_if_unchanged(g, "dev|wh|z", 0, ["d", "late"]).to_list()
        assert not g.V("dev|wh|z").has_next()


def test_a_pipeline_is_removed_completely(
    direct: Endpoint, losing: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (remove_dag, executor):  # so that a batch whose answers are lost is not the last
        monkeypatch.setattr(module, "IDS_PER_REQUEST", 1)
    remove_dag.remove(losing, result.Pipeline("dev", "d"))
    with connect(direct) as g:
        vertices, edges = whole(g)
    assert {key: properties["dag_name"] for key, (_, properties) in vertices.items()} == {
        "dev|wh|a": ["e"],
        "dev|wh|t": ["e"],
        "dev|wh|other": ["e"],
    }
    assert {properties["dag_name"] for *_, properties in edges.values()} == {"e"}


def test_a_completed_load_leaves_no_token(direct: Endpoint, losing: Endpoint) -> None:
    begun = running_load.begin(losing, "dev", "d", running_load.read_run(losing, "dev", "d"))
    running_load.end(begun, LoadResult(1, 0, 0, 0.0, retired_nodes=2), None, None)
    with connect(direct) as g:
        properties = g.V(merge_run.run_id("dev", "d")).value_map().next()
    assert (properties["elements_written"], properties["elements_retired"]) == ([1], [2])
    assert "load_token" not in properties
    assert "touched" not in properties
    again = running_load.begin(losing, "dev", "new", {})
    running_load.abort(again)
    with connect(direct) as g:
        assert not g.V(merge_run.run_id("dev", "new")).has_next()
