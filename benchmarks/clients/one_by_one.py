"""Simple clients with one request per element, with which load.py compares the loader."""

import time
from collections.abc import Callable
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality, Direction, Merge, T

from benchmarks.graph_under_test import Bench
from benchmarks.made_lineage import Lineage, Row, rows
from lineage_merge.load.gremlin.connection import connect
from lineage_merge.load.gremlin.writer import load

ELEMENTS_TIMED_IN_FULL = 15_000
SAMPLE_VERTICES = 500

Add = Callable[[GraphTraversalSource, Row], Any]


def is_sampled(elements: int) -> bool:
    """Return whether only the last elements are timed, because so many would take too long."""
    return elements > ELEMENTS_TIMED_IN_FULL


def rate(bench: Bench, made: Lineage, add_vertex: Add, add_edge: Add) -> float:
    """Return elements per second; vertices, then edges."""
    v, e = made.nodes, made.edges
    cut = len(v) - SAMPLE_VERTICES if is_sampled(len(made)) else 0
    if cut:
        load(rows(bench.engine, v[:cut]), rows(bench.engine, []), bench.endpoint)
    vertex_rate = _rate(bench, add_vertex, v[cut:])
    if cut:
        # Not the last vertices, which a client may have given other ids.
        there = {row["id"] for row in v[:cut]}
        before = [row for row in e[: 2 * cut] if row["from"] in there and row["to"] in there]
        load(rows(bench.engine, []), rows(bench.engine, before), bench.endpoint)
    edge_rate = _rate(bench, add_edge, e[2 * cut :])
    return len(made) / (len(v) / vertex_rate + len(e) / edge_rate)


def _rate(bench: Bench, add: Add, made: list[Row]) -> float:
    with connect(bench.endpoint) as g:
        started = time.perf_counter()
        for row in made:
            add(g, row)
        return len(made) / (time.perf_counter() - started)


def add_vertex_by_id(g: GraphTraversalSource, row: Row) -> None:
    adding = g.merge_v({T.id: row["id"]})
    adding = adding.option(Merge.on_create, {T.id: row["id"], T.label: row["label"]})
    for key, value in row.items():
        if key not in ("id", "label", "dag_name"):
            adding = adding.property(Cardinality.single, key, value)
    adding.property(Cardinality.set_, "dag_name", row["dag_name"]).to_list()


def add_edge_by_id(g: GraphTraversalSource, row: Row) -> None:
    values = {key: row[key] for key in row if key not in ("id", "label", "from", "to")}
    ends = {Direction.OUT: row["from"], Direction.IN: row["to"]}
    adding = g.merge_e({T.id: row["id"]})
    adding = adding.option(Merge.on_create, {T.id: row["id"], T.label: row["label"], **ends, **values})
    adding.option(Merge.on_match, values).to_list()


def add_vertex_by_name(g: GraphTraversalSource, row: Row) -> None:
    if g.V().has("name", row["name"]).has_next():
        return
    adding = g.add_v(row["label"])
    for key, value in row.items():
        if key not in ("id", "label"):
            adding = adding.property(Cardinality.single, key, value)
    adding.to_list()


def add_edge_by_name(g: GraphTraversalSource, row: Row) -> None:
    source, target = (row[end].rpartition(".")[2] for end in ("from", "to"))
    adding = g.V().has("name", source).as_("from").V().has("name", target)
    adding = adding.add_e(row["label"]).from_("from")
    for key, value in row.items():
        if key not in ("id", "label", "from", "to"):
            adding = adding.property(key, value)
    adding.to_list()
