import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from pyspark.sql import DataFrame, SparkSession

from lineage_merge.errors import GraphRejected, GraphUnreachable, IntermediateError
from lineage_merge.graph.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_PROPERTIES,
    edge_ddl,
    node_ddl,
)
from lineage_merge.load import requests
from lineage_merge.load.connection import Endpoint, connect
from lineage_merge.load.loader import load
from lineage_merge.load.sending import send
from tests.graph_reading import whole
from tests.load.neptune_proxy import neptune_proxy

Row = dict[str, Any]

NODE_COLUMNS = (*NODE_KEYS, *(item.name for item in NODE_PROPERTIES))
EDGE_COLUMNS = (*EDGE_KEYS, *(item.name for item in EDGE_PROPERTIES))


@pytest.fixture
def endpoint(gremlin_url: str, gremlin: GraphTraversalSource) -> Endpoint:
    """The test server, emptied."""
    return Endpoint(gremlin_url)


@pytest.fixture
def conflicting(conflicting_url: str) -> Endpoint:
    """A server whose concurrent writers conflict, emptied."""
    with connect(Endpoint(conflicting_url)) as g:
        g.V().drop().iterate()
    return Endpoint(conflicting_url)


def nodes_of(spark: SparkSession, *rows: Row) -> DataFrame:
    return spark.createDataFrame([tuple(row.get(key) for key in NODE_COLUMNS) for row in rows], node_ddl())


def edges_of(spark: SparkSession, *rows: Row) -> DataFrame:
    return spark.createDataFrame([tuple(row.get(key) for key in EDGE_COLUMNS) for row in rows], edge_ddl())


def node(name: str, dag: str = "daily", label: str = "table", **properties: Any) -> Row:
    keys = {"id": f"dev|wh|{name}", "label": label, "environment": "dev", "dag_name": dag}
    return {**keys, "name": name, **properties}


def edge(source: str, target: str, dag: str = "daily", **properties: Any) -> Row:
    keys = {"id": f"{dag}:{source}:{target}", "label": "feeds", "environment": "dev", "dag_name": dag}
    return {**keys, "from": f"dev|wh|{source}", "to": f"dev|wh|{target}", **properties}


def test_the_graph_holds_exactly_what_was_loaded(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    nodes = nodes_of(
        spark,
        node("sales", label="file", namespace="s3://b", format="parquet", aliases=["glue|sales|catalog"]),
        node("top", description="best sellers", tags=["core", "daily"]),
        {
            **node("ingest", label="job", rows_written=3, last_run_at=1_700_000_000_000),
            "id": "dev|daily|spark|x",
        },
    )
    edges = edges_of(
        spark,
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


def test_loading_the_same_again_changes_nothing(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    names = [f"t{number}" for number in range(120)]
    nodes = nodes_of(spark, *(node(name, description=name, tags=["a", "b"]) for name in names))
    edges = edges_of(spark, *(edge(a, b, write_mode="append") for a, b in pairwise(names)))
    load(nodes, edges, endpoint)
    before = whole(gremlin)
    assert len(before[0]) == 120
    assert len(before[1]) == 119
    load(nodes, edges, endpoint)
    assert whole(gremlin) == before


def test_a_second_dag_adds_its_name_to_shared_vertices_and_has_edges_of_its_own(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    for dag in ("daily", "weekly"):
        load(nodes_of(spark, node("a", dag), node("b", dag)), edges_of(spark, edge("a", "b", dag)), endpoint)
    vertices, edges = whole(gremlin)
    assert {key: found["dag_name"] for key, (_, found) in vertices.items()} == {
        "dev|wh|a": ["daily", "weekly"],
        "dev|wh|b": ["daily", "weekly"],
    }
    assert {key: found["dag_name"] for key, (*_, found) in edges.items()} == {
        "daily:a:b": "daily",
        "weekly:a:b": "weekly",
    }


def test_a_changed_value_replaces_the_old_one_and_an_unknown_one_leaves_it(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    first = node("a", format="csv", description="old", tags=["x"])
    joined = edge("a", "a", write_mode="append", via="tmp")
    load(nodes_of(spark, first), edges_of(spark, joined), endpoint)
    second = node("a", description="new", tags=["y"])
    load(nodes_of(spark, second), edges_of(spark, edge("a", "a", write_mode="overwrite")), endpoint)
    vertices, edges = whole(gremlin)
    found = vertices["dev|wh|a"][1]
    assert (found["format"], found["description"], found["tags"]) == (["csv"], ["new"], ["x", "y"])
    assert edges["daily:a:a"][3] == {
        "environment": "dev",
        "dag_name": "daily",
        "write_mode": "overwrite",
        "via": "tmp",
    }


def test_a_vertex_that_has_another_label_by_now_keeps_the_one_in_the_graph(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    load(nodes_of(spark, node("a", label="view")), edges_of(spark), endpoint)
    load(nodes_of(spark, node("a", label="table", description="d")), edges_of(spark), endpoint)
    assert whole(gremlin)[0] == {
        "dev|wh|a": (
            "view",
            {"environment": ["dev"], "dag_name": ["daily"], "name": ["a"], "description": ["d"]},
        )
    }


@pytest.mark.parametrize(
    "text",
    ['it\'s "quoted"', "${name} $1 \\", "line\nline\r\n\ttab", "😀 Ünïcödé \u2028", "", "x" * 100_000],
    ids=["quotes", "dollar", "lines", "unicode", "empty", "100 kB"],
)
def test_any_text_arrives_unchanged(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource, text: str
) -> None:
    described = {**node("a", description=text, tags=[text]), "id": f"dev|wh|{text[:100]}"}
    joined = {**edge("a", "a", job_name=text), "from": described["id"], "to": described["id"]}
    load(nodes_of(spark, described), edges_of(spark, joined), endpoint)
    vertices, edges = whole(gremlin)
    assert vertices[described["id"]][1]["description"] == [text]
    assert vertices[described["id"]][1]["tags"] == [text]
    assert edges["daily:a:a"][3]["job_name"] == text


def test_numbers_above_31_bits_arrive_unchanged(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    load(
        nodes_of(spark, node("a", label="job", rows_written=2**62, duration_ms=-1)), edges_of(spark), endpoint
    )
    found = whole(gremlin)[0]["dev|wh|a"][1]
    assert (found["rows_written"], found["duration_ms"]) == ([2**62], [-1])


def test_more_values_than_fit_into_a_request_all_arrive(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    tags = [f"tag {number:04d}" for number in range(700)]
    loaded = load(nodes_of(spark, node("a", tags=tags)), edges_of(spark), endpoint)
    assert whole(gremlin)[0]["dev|wh|a"][1]["tags"] == tags
    assert loaded.nodes == 1


def test_the_parts_of_what_is_too_large_for_a_request_do_not_conflict(conflicting: Endpoint) -> None:
    asked: list[bytes] = []

    def watched(request: bytes) -> None:
        asked.append(request)

    row = node("a", tags=[f"tag {number:04d}" for number in range(3000)])
    batches = list(requests.batches(requests.vertex_upserts(row)))
    with neptune_proxy(conflicting.url, fault_of=watched) as proxy:
        send(Endpoint(proxy.url), iter(batches))

    assert len(asked) == len(batches) == 16


def test_edges_that_several_write_to_one_vertex_at_once_all_hang_on_it(
    endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    """TinkerGraph, where two threads write to it, has some of them that its vertices do not know."""
    names = [f"t{number}" for number in range(3)]
    nodes = [each for name in names for each in requests.vertex_upserts(node(name))]
    send(endpoint, requests.batches(nodes))
    edges = [requests.edge_upsert(edge("t0", name, str(dag))) for dag in range(4000) for name in names]
    with ThreadPoolExecutor(4) as writers:
        sent = [writers.submit(send, endpoint, requests.batches(edges[start::4])) for start in range(4)]
    assert all(each.result() for each in sent)

    assert gremlin.V("dev|wh|t0").out_e().count().next() == gremlin.E().count().next() == len(edges)
    assert gremlin.V().in_e().count().next() == len(edges)


@pytest.mark.parametrize("partitions", [1, 2, 5])
@pytest.mark.parametrize("present", [1, 4])
def test_rows_are_all_written_however_they_are_spread(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource, present: int, partitions: int
) -> None:
    names = [f"t{number}" for number in range(60)]
    nodes = nodes_of(spark, *(node(name) for name in names)).repartition(present)
    edges = edges_of(spark, *(edge(name, "t0") for name in names)).repartition(present)
    loaded = load(nodes, edges, endpoint, partitions=partitions)
    vertices, found = whole(gremlin)
    assert (len(vertices), len(found)) == (loaded.nodes, loaded.edges) == (60, 60)


def test_progress_begins_at_nothing_and_ends_with_all_partitions(
    spark: SparkSession, endpoint: Endpoint
) -> None:
    told: list[tuple[str, int, int]] = []
    nodes, edges = nodes_of(spark, node("a")), edges_of(spark, edge("a", "a"))
    load(nodes, edges, endpoint, partitions=3, on_progress=lambda *step: told.append(step))
    assert told == sorted(set(told), key=lambda step: (step[0] == "edges", step[1]))
    assert {step for step in told if step[1] in (0, 3)} == {
        (what, done, 3) for what in ("nodes", "edges") for done in (0, 3)
    }


def test_an_edge_with_a_missing_end_is_named_with_what_is_missing(
    spark: SparkSession, endpoint: Endpoint
) -> None:
    names = [f"t{number}" for number in range(50)]
    nodes = nodes_of(spark, *(node(name) for name in names))
    edges = edges_of(spark, *(edge(name, "t0") for name in names), edge("t1", "gone"))
    with pytest.raises(GraphRejected) as raised:
        load(nodes, edges, endpoint)
    message = raised.value.message
    assert message.startswith("edge daily:t1:gone (dev|wh|t1 -feeds-> dev|wh|gone): refused by ws://")
    assert "could not be resolved from mergeE: dev|wh|gone" in message
    assert "\n" not in message
    assert raised.value.__cause__ is None  # nothing of Spark's to print


def test_a_load_that_was_refused_can_be_repeated_once_the_end_is_there(
    spark: SparkSession, endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    nodes, edges = nodes_of(spark, node("a")), edges_of(spark, edge("a", "b"), edge("a", "a"))
    with pytest.raises(GraphRejected):
        load(nodes, edges, endpoint)
    load(nodes_of(spark, node("a"), node("b")), edges, endpoint)
    vertices, found = whole(gremlin)
    assert (set(vertices), set(found)) == ({"dev|wh|a", "dev|wh|b"}, {"daily:a:b", "daily:a:a"})


def test_a_row_without_a_key_is_named(spark: SparkSession, endpoint: Endpoint) -> None:
    with pytest.raises(IntermediateError, match=r"edge daily:a:b: dag_name is missing"):
        load(nodes_of(spark), edges_of(spark, edge("a", "b") | {"dag_name": None}), endpoint)


def test_a_server_that_is_not_there_is_reported_within_seconds(spark: SparkSession) -> None:
    started = time.monotonic()
    with pytest.raises(GraphUnreachable, match=r"ws://127.0.0.1:1/gremlin: no connection"):
        load(nodes_of(spark, node("a")), edges_of(spark), Endpoint("ws://127.0.0.1:1/gremlin"))
    assert time.monotonic() - started < 20


def test_dags_that_load_at_once_lose_neither_a_vertex_nor_a_tag_nor_an_edge(
    spark: SparkSession, conflicting: Endpoint
) -> None:
    names = [f"t{number}" for number in range(300)]

    def one(dag: str) -> None:
        nodes = nodes_of(spark, *(node(name, dag, tags=[dag]) for name in names))
        edges = edges_of(spark, *(edge(name, "t0", dag) for name in names))
        # One task each, so that Spark runs several loads at once.
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


def test_edges_that_meet_in_one_vertex_are_all_written_although_their_requests_conflict(
    spark: SparkSession, conflicting: Endpoint
) -> None:
    names = [f"hub{number}" for number in range(600)]
    nodes = nodes_of(spark, *(node(name) for name in names))
    edges = edges_of(spark, *(edge(name, "hub0") for name in names))
    load(nodes, edges, conflicting, partitions=2)
    with connect(conflicting) as g:
        assert len(set(g.V("dev|wh|hub0").in_e("feeds").id_().to_list())) == 600
