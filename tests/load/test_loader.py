import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.load.gremlin.executor import send
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.load.gremlin.writer import load, writers
from lineage_merge.model.errors import GraphRejected, GraphUnreachable, IntermediateError
from tests.graph_reading import whole
from tests.load.engines import on_both_engines
from tests.load.neptune_proxy import neptune_proxy

Row = dict[str, Any]


@pytest.fixture
def endpoint(gremlin_url: str, gremlin: GraphTraversalSource) -> Endpoint:
    """Provide the test server, emptied."""
    return Endpoint(gremlin_url)


@pytest.fixture
def conflicting(conflicting_url: str) -> Endpoint:
    """Provide an emptied server on which concurrent writers conflict."""
    with connect(Endpoint(conflicting_url)) as g:
        g.V().drop().to_list()
    return Endpoint(conflicting_url)


def rows_of(engine: Engine, *rows: Row, partitions: int = 1) -> Rows[Row]:
    return engine.rows(rows, partitions)


def node(name: str, dag: str = "daily", label: str = "table", **properties: Any) -> Row:
    keys = {"id": f"dev|wh|{name}", "label": label, "environment": "dev", "dag_name": dag}
    return {**keys, "name": name, **properties}


def edge(source: str, target: str, dag: str = "daily", **properties: Any) -> Row:
    keys = {"id": f"{dag}:{source}:{target}", "label": "feeds", "environment": "dev", "dag_name": dag}
    return {**keys, "from": f"dev|wh|{source}", "to": f"dev|wh|{target}", **properties}


@pytest.mark.jvm
@on_both_engines
def test_the_graph_holds_exactly_what_was_loaded(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    nodes = rows_of(
        engine,
        node("sales", label="file", namespace="s3://b", format="parquet", aliases=["glue|sales|catalog"]),
        node("top", description="best sellers", tags=["core", "daily"]),
        {
            **node("ingest", label="job", rows_written=3, last_run_at=1_700_000_000_000),
            "id": "dev|daily|spark|x",
        },
    )
    edges = rows_of(
        engine,
        edge("sales", "top", job_type="spark", job_name="ingest", write_mode="append"),
        edge("top", "top", job_type="dbt", job_name="top"),
        {**edge("x", "top", job_name="ingest"), "label": "writes", "from": "dev|daily|spark|x"},
    )
    loaded = load(nodes, edges, endpoint)
    assert (loaded.nodes, loaded.edges) == (3, 3)
    shared = {"environment": ["dev"], "dag_name": ["daily"]}
    on_edges = {"environment": "dev", "dag_name": "daily"}
    assert whole(gremlin) == (
        {
            "dev|wh|sales": (
                "file",
                shared
                | {"name": ["sales"], "namespace": ["s3://b"], "format": ["parquet"]}
                | {"aliases": ["glue|sales|catalog"]},
            ),
            "dev|wh|top": (
                "table",
                shared | {"name": ["top"], "description": ["best sellers"], "tags": ["core", "daily"]},
            ),
            "dev|daily|spark|x": (
                "job",
                shared | {"name": ["ingest"], "rows_written": [3], "last_run_at": [1_700_000_000_000]},
            ),
        },
        {
            "daily:sales:top": (
                "dev|wh|sales",
                "feeds",
                "dev|wh|top",
                on_edges | {"job_type": "spark", "job_name": "ingest", "write_mode": "append"},
            ),
            "daily:top:top": (
                "dev|wh|top",
                "feeds",
                "dev|wh|top",
                on_edges | {"job_type": "dbt", "job_name": "top"},
            ),
            "daily:x:top": ("dev|daily|spark|x", "writes", "dev|wh|top", on_edges | {"job_name": "ingest"}),
        },
    )


@pytest.mark.jvm
def test_loading_the_same_again_changes_nothing(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    names = [f"t{number}" for number in range(120)]
    nodes = rows_of(engine, *(node(name, description=name, tags=["a", "b"]) for name in names))
    edges = rows_of(engine, *(edge(a, b, write_mode="append") for a, b in pairwise(names)))
    load(nodes, edges, endpoint)
    before = whole(gremlin)
    assert len(before[0]) == 120
    assert len(before[1]) == 119
    load(nodes, edges, endpoint)
    assert whole(gremlin) == before


@pytest.mark.jvm
def test_a_second_dag_adds_its_tag_to_shared_vertices_and_its_own_edges(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    for dag in ("daily", "weekly"):
        load(rows_of(engine, node("a", dag), node("b", dag)), rows_of(engine, edge("a", "b", dag)), endpoint)
    vertices, edges = whole(gremlin)
    assert {key: found["dag_name"] for key, (_, found) in vertices.items()} == {
        "dev|wh|a": ["daily", "weekly"],
        "dev|wh|b": ["daily", "weekly"],
    }
    assert {key: found["dag_name"] for key, (*_, found) in edges.items()} == {
        "daily:a:b": "daily",
        "weekly:a:b": "weekly",
    }


@pytest.mark.jvm
def test_a_changed_value_is_replaced_and_an_unknown_one_stays(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    first = node("a", format="csv", description="old", tags=["x"])
    joined = edge("a", "a", write_mode="append", via="tmp")
    load(rows_of(engine, first), rows_of(engine, joined), endpoint)
    second = node("a", description="new", tags=["y"])
    load(rows_of(engine, second), rows_of(engine, edge("a", "a", write_mode="overwrite")), endpoint)
    vertices, edges = whole(gremlin)
    found = vertices["dev|wh|a"][1]
    assert (found["format"], found["description"], found["tags"]) == (["csv"], ["new"], ["x", "y"])
    assert edges["daily:a:a"][3] == {
        "environment": "dev",
        "dag_name": "daily",
        "write_mode": "overwrite",
        "via": "tmp",
    }


@pytest.mark.jvm
def test_a_vertex_keeps_its_stored_label(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    load(rows_of(engine, node("a", label="view")), rows_of(engine), endpoint)
    load(rows_of(engine, node("a", label="table", description="d")), rows_of(engine), endpoint)
    assert whole(gremlin)[0] == {
        "dev|wh|a": (
            "view",
            {"environment": ["dev"], "dag_name": ["daily"], "name": ["a"], "description": ["d"]},
        )
    }


@pytest.mark.jvm
@pytest.mark.parametrize(
    "text",
    ['it\'s "quoted"', "${name} $1 \\", "line\nline\r\n\ttab", "😀 Ünïcödé \u2028", "", "x" * 100_000],
    ids=["quotes", "dollar", "lines", "unicode", "empty", "100 kB"],
)
@on_both_engines
def test_any_text_arrives_unchanged(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource, text: str
) -> None:
    described = {**node("a", description=text, tags=[text]), "id": f"dev|wh|{text[:100]}"}
    joined = {**edge("a", "a", job_name=text), "from": described["id"], "to": described["id"]}
    load(rows_of(engine, described), rows_of(engine, joined), endpoint)
    vertices, edges = whole(gremlin)
    assert vertices[described["id"]][1]["description"] == [text]
    assert vertices[described["id"]][1]["tags"] == [text]
    assert edges["daily:a:a"][3]["job_name"] == text


@pytest.mark.jvm
def test_numbers_above_31_bits_arrive_unchanged(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    load(
        rows_of(engine, node("a", label="job", rows_written=2**62, duration_ms=-1)), rows_of(engine), endpoint
    )
    found = whole(gremlin)[0]["dev|wh|a"][1]
    assert (found["rows_written"], found["duration_ms"]) == ([2**62], [-1])


@pytest.mark.jvm
def test_more_values_than_fit_into_a_request_all_arrive(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    tags = [f"tag {number:04d}" for number in range(700)]
    loaded = load(rows_of(engine, node("a", tags=tags)), rows_of(engine), endpoint)
    assert whole(gremlin)[0]["dev|wh|a"][1]["tags"] == tags
    assert loaded.nodes == 1


@pytest.mark.jvm
def test_parts_of_an_element_too_large_for_a_request_do_not_conflict(conflicting: Endpoint) -> None:
    asked: list[bytes] = []

    def watched(request: bytes) -> None:
        asked.append(request)

    row = node("a", tags=[f"tag {number:04d}" for number in range(3000)])
    batches: list[list[Upsert]] = [[*batch] for batch in upserts.batches(upserts.vertex_upserts(row))]
    with neptune_proxy(conflicting.url, choose_fault=watched) as proxy:
        send(Endpoint(proxy.url), iter(batches))

    assert len(asked) == len(batches) == 16


@pytest.mark.jvm
def test_concurrent_writes_of_edges_at_one_vertex_lose_none(
    endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    """With two writing threads, TinkerGraph would have edges that are missing at their vertices."""
    names = [f"t{number}" for number in range(3)]
    nodes = [each for name in names for each in upserts.vertex_upserts(node(name))]
    send(endpoint, upserts.batches(nodes))
    edges = [upserts.edge_upsert(edge("t0", name, str(dag))) for dag in range(4000) for name in names]
    with ThreadPoolExecutor(4) as writers:
        sent = [writers.submit(send, endpoint, upserts.batches(edges[start::4])) for start in range(4)]
    assert all(each.result() for each in sent)

    assert gremlin.V("dev|wh|t0").out_e().count().next() == gremlin.E().count().next() == len(edges)
    assert gremlin.V().in_e().count().next() == len(edges)


@pytest.mark.jvm
@on_both_engines
@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("present", [1, 4])
def test_all_rows_are_written_for_any_partitioning(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource, present: int, partitions: int
) -> None:
    names = [f"t{number}" for number in range(60)]
    nodes = rows_of(engine, *(node(name) for name in names), partitions=present)
    edges = rows_of(engine, *(edge(name, "t0") for name in names), partitions=present)
    loaded = load(nodes, edges, endpoint, partitions=partitions)
    vertices, found = whole(gremlin)
    assert (len(vertices), len(found)) == (loaded.nodes, loaded.edges) == (60, 60)


@pytest.mark.jvm
@on_both_engines
def test_progress_starts_at_zero_and_ends_with_all_partitions(engine: Engine, endpoint: Endpoint) -> None:
    reports: list[tuple[str, int, int]] = []
    names = [f"t{number}" for number in range(3)]
    nodes = rows_of(engine, *(node(name) for name in names))
    edges = rows_of(engine, *(edge(name, "t0") for name in names))
    load(nodes, edges, endpoint, partitions=3, on_written=lambda *step: reports.append(step))
    assert reports == sorted(set(reports), key=lambda step: (step[0] == "edges", step[1]))
    # Edges of one vertex are in one partition: there may be fewer of them.
    parts = {"nodes": 3, "edges": next(total for what, _, total in reports if what == "edges")}
    assert 1 <= parts["edges"] <= 3
    assert {step for step in reports if step[1] in (0, step[2])} == {
        (what, done, total) for what, total in parts.items() for done in (0, total)
    }
    assert all(total == parts[what] for what, _, total in reports)


@pytest.mark.jvm
@on_both_engines
def test_an_edge_with_a_missing_end_is_named_with_what_is_missing(engine: Engine, endpoint: Endpoint) -> None:
    names = [f"t{number}" for number in range(50)]
    nodes = rows_of(engine, *(node(name) for name in names))
    edges = rows_of(engine, *(edge(name, "t0") for name in names), edge("t1", "missing"))
    with pytest.raises(GraphRejected) as raised:
        load(nodes, edges, endpoint)
    message = raised.value.message
    assert message.startswith("edge daily:t1:missing (dev|wh|t1 -feeds-> dev|wh|missing): rejected by ws://")
    assert "could not be resolved from mergeE: dev|wh|missing" in message
    assert "\n" not in message
    assert raised.value.__cause__ is None  # nothing of Spark's to print


@pytest.mark.jvm
def test_a_rejected_load_can_be_repeated_when_the_end_exists(
    engine: Engine, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    nodes, edges = rows_of(engine, node("a")), rows_of(engine, edge("a", "b"), edge("a", "a"))
    with pytest.raises(GraphRejected):
        load(nodes, edges, endpoint)
    load(rows_of(engine, node("a"), node("b")), edges, endpoint)
    vertices, found = whole(gremlin)
    assert (set(vertices), set(found)) == ({"dev|wh|a", "dev|wh|b"}, {"daily:a:b", "daily:a:a"})


@pytest.mark.jvm
@on_both_engines
def test_a_row_without_a_key_is_named(engine: Engine, endpoint: Endpoint) -> None:
    with pytest.raises(IntermediateError, match=r"edge daily:a:b: dag_name is missing"):
        load(rows_of(engine), rows_of(engine, edge("a", "b") | {"dag_name": None}), endpoint)


def test_an_unavailable_server_is_reported_within_seconds(engine: Engine) -> None:
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match=r"ws://127.0.0.1:1/gremlin: no connection"):
        load(rows_of(engine, node("a")), rows_of(engine), Endpoint("ws://127.0.0.1:1/gremlin"))
    assert time.monotonic() - started < 20


@pytest.mark.jvm
def test_concurrent_loads_of_dags_lose_no_vertex_tag_or_edge(engine: Engine, conflicting: Endpoint) -> None:
    names = [f"t{number}" for number in range(300)]

    def one(dag: str) -> None:
        nodes = rows_of(engine, *(node(name, dag, tags=[dag]) for name in names))
        edges = rows_of(engine, *(edge(name, "t0", dag) for name in names))
        # One partition each, so that several loads run at once.
        load(nodes, edges, conflicting, partitions=1)

    dags = ["daily", "hourly", "weekly"]
    with ThreadPoolExecutor(len(dags)) as loads:
        list(loads.map(one, dags))
    with connect(conflicting) as g:
        vertices, found = whole(g)
    assert {(key, *values["dag_name"]) for key, (_, values) in vertices.items()} == {
        (f"dev|wh|{name}", *dags) for name in names
    }
    assert all(values["tags"] == dags for _, values in vertices.values())
    assert set(found) == {f"{dag}:{name}:t0" for dag in dags for name in names}


@pytest.mark.jvm
@on_both_engines
def test_edges_at_one_vertex_are_all_written_despite_conflicts(engine: Engine, conflicting: Endpoint) -> None:
    names = [f"hub{number}" for number in range(600)]
    nodes = rows_of(engine, *(node(name) for name in names))
    edges = rows_of(engine, *(edge(name, "hub0") for name in names))
    load(nodes, edges, conflicting, partitions=2)
    with connect(conflicting) as g:
        assert len(set(g.V("dev|wh|hub0").in_e("feeds").id_().to_list())) == 600


@pytest.mark.parametrize(("most", "partitions"), [(0, 4), (1, 1), (2, 1), (5, 2), (8, 4), (100, 4)])
def test_the_number_of_writing_partitions_limits_concurrent_requests(most: int, partitions: int) -> None:
    assert writers(LocalEngine(threads=4), Endpoint("ws://h:1/gremlin", writers=most)) == partitions
