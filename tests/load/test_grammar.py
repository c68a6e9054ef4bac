"""All requests of the load conform to Neptune's grammar: no lambda, no script, no variable."""

from collections.abc import Callable
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.traversal_source import vertices_at
from lineage_merge.load import result
from lineage_merge.load.gremlin import (
    element_reads,
    label_replacement,
    merge_state,
    remove_dag,
    running_load,
    upserts,
    vertex_merge,
)
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from lineage_merge.load.gremlin.element_reads import VertexSnapshot, edges_at
from lineage_merge.load.gremlin.upserts import EdgeUpsert
from lineage_merge.load.neptune_bulk import bulk_load
from lineage_merge.load.server import write_changes
from lineage_merge.load.shard_state import RunState
from tests.gremlin_text import passes_the_grammar

pytestmark = pytest.mark.jvm

BuildTraversal = Callable[[GraphTraversalSource], Any]

IDS = ["dev|wh|it's", "dev|wh|$b"]
SNAPSHOT = VertexSnapshot(
    "dev|wh|it's",
    "view",
    {"environment": ["dev"], "name": ["a"], "dag_name": ["d", "e"], "last_run_at": [5]},
    (EdgeUpsert("e0", "feeds", "dev|wh|it's", "dev|wh|$b", (("dag_name", "d"), ("sequence", 3))),),
    1,
)
STARTED_LOAD = running_load.StartedLoad("token", RunState(), "{}")
DAG = result.Pipeline("dev", "d")
JOB = result.Pipeline("dev", "d", "j")
NODE = {"label": "job", "environment": "dev", "dag_name": "d", "name": "j", "last_run_at": 7, "tags": ["x"]}
EDGE = {"id": "e1", "label": "feeds", "from": IDS[0], "to": IDS[1], "environment": "dev", "dag_name": "d"}


@pytest.mark.parametrize(
    "build",
    [
        lambda g: element_reads.vertex_counts(g, "dev", "d"),
        lambda g: element_reads.select_tagged_ids(g, "dev", "d", "a::b").range_(5, 10),
        lambda g: vertices_at(g, IDS),
        lambda g: element_reads.find_built_by_others(g, IDS, "d"),
        lambda g: element_reads.edges_from(g, IDS, "d"),
        lambda g: element_reads.alias_counts(g, "dev"),
        lambda g: element_reads.aliases_of(g, "dev", "table"),
        lambda g: edges_at(g, IDS[0]),
        lambda g: bulk_load.last_runs(g, IDS),
        lambda g: label_replacement.replace_vertex(g, SNAPSHOT, "table", list(SNAPSHOT.edges)),
        lambda g: label_replacement.drop_edges(g, ["e0"]),
        lambda g: vertex_merge.drop_if_unchanged(g, IDS[0], 3, ["d", "it's"]),
        lambda g: write_changes.drop_edges(g, ["e0"], "run", "token"),
        lambda g: write_changes.drop_vertices(g, IDS, "run", "token", "d"),
        lambda g: write_changes.drop_tags(g, IDS, "run", "token", "d"),
        lambda g: label_replacement.interim_edges(g, IDS),
        lambda g: element_reads.edges_by_id(g, ["e0"]),
        lambda g: merge_state.edge_counts(g, "dev", "d"),
        lambda g: merge_state.select_stored_ids(g, IDS),
        lambda g: merge_state.state_texts(g, IDS),
        lambda g: merge_state.drop_shards(g, IDS),
        lambda g: merge_state.other_dag_tags(g, IDS, "d"),
        lambda g: running_load.set_state(g, "run", "token", "{}"),
        lambda g: running_load.drop_state(g, "run", "token"),
        lambda g: running_load.replace_state(g, "run", STARTED_LOAD, "{}"),
        lambda g: running_load.add_mark(g, ["run"], "dag token"),
        lambda g: running_load.drop_marks(g, ["dag token"], "run"),
        lambda g: running_load.set_load_token(g, "dev", "d", "token"),
        lambda g: running_load.drop_unmerged(g, "run", "token"),
        lambda g: running_load.drop_load_token(g, "run", "token"),
        lambda g: running_load.set_properties(g, "run", {"report": "{}", "elements_written": 3}),
        lambda g: remove_dag.edges_of(g, JOB).limit(5),
        lambda g: remove_dag.vertices_of(g, DAG),
        lambda g: remove_dag.own_vertices_of(g, JOB),
        lambda g: remove_dag.select_unused_vertices(g, IDS, "d"),
        lambda g: remove_dag.columns_of(g, IDS, "d"),
        lambda g: remove_dag.drop_vertices(g, IDS, "d"),
        lambda g: remove_dag.drop_tags(g, IDS, "d"),
        lambda g: upserts.bytecode(u for key in IDS for u in upserts.vertex_upserts(NODE | {"id": key})),
        lambda g: upserts.bytecode([upserts.edge_upsert(EDGE), SNAPSHOT.edges[0]]),
    ],
)
def test_the_request_conforms_to_the_grammar_of_neptune(
    build: BuildTraversal, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    gremlin.add_v("view").property("name", "it's").to_list()
    vertices = upserts.bytecode(u for key in IDS for u in upserts.vertex_upserts(NODE | {"id": key}))
    with open_client(Endpoint(gremlin_url), 1) as client:
        client.submit(vertices).all().result()
        passes_the_grammar(client, build(gremlin))
