"""A pipeline before and after many changes, for tests of faults.

What changes needs every kind of request: vertices and edges, a label that is replaced, a dataset
that turns out to be another, tags and elements that go.
"""

from typing import Any

from lineage_merge.graph_format.schema import SETS
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint, connect
from lineage_merge.load.gremlin.executor import send
from lineage_merge.load.gremlin.upserts import EdgeUpsert, VertexUpsert
from tests.graph_reading import whole
from tests.made_merges import Made

_OF_RUNS = (
    "last_merged_at",
    "elements_written",
    "elements_retired",
    "requests",
    "elements_read",
    "state",
    "touched",
)
Graph = tuple[dict[str, Any], dict[str, Any]]


def graph(endpoint: Endpoint) -> Graph:
    """Read the whole graph, without properties that differ in every run."""
    with connect(endpoint) as g:
        vertices, edges = whole(g, merge_runs=True)
    for _, values in vertices.values():
        for name in _OF_RUNS:
            values.pop(name, None)
    return vertices, edges


def restore(endpoint: Endpoint, content: Graph) -> None:
    """Restore an earlier content of the graph."""
    with connect(endpoint) as g:
        g.V().drop().to_list()
    vertices = (
        VertexUpsert(
            key,
            label,
            tuple(upserts.convert_types({k: v[0] for k, v in values.items() if k not in SETS}).items()),
            tuple((k, one) for k, v in values.items() if k in SETS for one in v),
        )
        for key, (label, values) in content[0].items()
    )
    send(endpoint, upserts.batches(vertices))
    edges = (
        EdgeUpsert(key, label, start, end, tuple(upserts.convert_types(values).items()))
        for key, (start, label, end, values) in content[1].items()
    )
    send(endpoint, upserts.batches(edges))


def before() -> Made:
    """Return the merge of a DAG before the changes."""
    made = Made("d").job("dbt", "model.p.old", {"old": ["a"]}, 1, "p").column("old", "c")
    made.node("view_or_table", "view").job("dbt", "model.p.v", {"view_or_table": ["a"]}, 1, "p")
    made.job("dbt", "model.p.m", {"m": ["hive|t", "view_or_table", "a"]}, 1, "p", operations="Project")
    made.feeds_column(("dbt", "model.p.m"), ("hive|t", "c"), ("m", "c"))
    return made.job("dbt", "model.p.n", {f"n{i}": ["a"] for i in range(60)}, 1, "p")


def after() -> Made:
    """Return its merge after: a dropped model, a view that is a table, a table that is a path, sources."""
    made = Made("d").node("view_or_table", "table").job("dbt", "model.p.v", {"view_or_table": ["a"]}, 2, "p")
    made.job("dbt", "model.p.m", {"m": ["s3://l|t", "view_or_table"]}, 2, "p", operations="Filter")
    made.node("s3://l|t", location="s3://l/t").alias("hive|t", "s3://l|t")
    made.feeds_column(("dbt", "model.p.m"), ("s3://l|t", "c"), ("m", "c"), transformation="IDENTITY")
    made.job("dbt", "model.p.n", {f"n{i}": ["a"] for i in range(60)}, 2, "p")
    return made.job("dbt", "model.p.new", {f"new{i}": ["a", "m"] for i in range(150)}, 2, "p")
