"""Every request that loading makes is one that Neptune's grammar knows: no lambda, no script, no variable."""

from collections.abc import Callable
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.load import (
    bulk,
    existing,
    held,
    moves,
    remove,
    replace,
    requests,
    stored_state,
    summary,
    unfinished,
)
from lineage_merge.load.connection import Endpoint, open_client
from lineage_merge.load.retire import take_out
from lineage_merge.load.snapshot import Edge, Snapshot, edges_at
from lineage_merge.load.state import RunState
from tests.gremlin_text import passes_the_grammar

Ask = Callable[[GraphTraversalSource], Any]

IDS = ["dev|wh|it's", "dev|wh|$b"]
SNAPSHOT = Snapshot(
    "dev|wh|it's",
    "view",
    {"environment": ["dev"], "name": ["a"], "dag_name": ["d", "e"], "last_run_at": [5]},
    (Edge("e0", "feeds", "dev|wh|it's", "dev|wh|$b", {"dag_name": "d", "sequence": 3}),),
    1,
)
BEGUN = summary.Begun("token", RunState(), "{}")
DAG = remove.Pipeline("dev", "d")
JOB = remove.Pipeline("dev", "d", "j")
NODE = {"label": "job", "environment": "dev", "dag_name": "d", "name": "j", "last_run_at": 7, "tags": ["x"]}
EDGE = {"id": "e1", "label": "feeds", "from": IDS[0], "to": IDS[1], "environment": "dev", "dag_name": "d"}


@pytest.mark.parametrize(
    "ask",
    [
        lambda g: existing.vertex_counts(g, "dev", "d"),
        lambda g: existing.tagged_ids(g, "dev", "d", "a::b").range_(5, 10),
        lambda g: held.vertices_by_id(g, IDS),
        lambda g: existing.built_by_others(g, IDS, "d"),
        lambda g: existing.edges_from(g, IDS, "d"),
        lambda g: existing.alias_counts(g, "dev"),
        lambda g: existing.aliases_of(g, "dev", "table"),
        lambda g: edges_at(g, IDS[0]),
        lambda g: bulk.last_runs(g, IDS),
        lambda g: replace.replacing(g, SNAPSHOT, "table", list(SNAPSHOT.edges)),
        lambda g: replace.dropping_edges(g, ["e0"]),
        lambda g: moves.taking_out(g, IDS[0], 3, ["d", "it's"]),
        lambda g: take_out.dropping_edges(g, "run", "token", ["e0"]),
        lambda g: take_out.dropping_vertices(g, "run", "token", IDS, "d"),
        lambda g: take_out.removing_tags(g, "run", "token", IDS, "d"),
        lambda g: unfinished.interim_edges(g, IDS),
        lambda g: existing.edges_by_id(g, ["e0"]),
        lambda g: stored_state.edge_counts(g, "dev", "d"),
        lambda g: stored_state.stored_ids(g, IDS),
        lambda g: stored_state.state_texts(g, IDS),
        lambda g: stored_state.writing(g, "dev", "d", dict.fromkeys(IDS, "text")),
        lambda g: stored_state.dropping(g, IDS),
        lambda g: stored_state.sharing(g, IDS, "d"),
        lambda g: summary.setting_state(g, "run", "token", "{}"),
        lambda g: summary.dropping_state(g, "run", "token"),
        lambda g: summary.settling(g, "run", BEGUN, "{}"),
        lambda g: summary.marking(g, ["run"], "dag token"),
        lambda g: summary.dropping_marks(g, "run", ["dag token"]),
        lambda g: summary.beginning(g, "dev", "d", "token"),
        lambda g: summary.dropping_unmerged(g, "run", "token"),
        lambda g: summary.dropping_token(g, "run", "token"),
        lambda g: summary.ending(g, "run", {"report": "{}", "elements_written": 3}),
        lambda g: remove.edges_of(g, JOB).limit(5),
        lambda g: remove.vertices_of(g, DAG),
        lambda g: remove.own_vertices_of(g, JOB),
        lambda g: remove.needless(g, IDS, "d"),
        lambda g: remove.columns_of(g, IDS, "d"),
        lambda g: remove.dropping_vertices(g, IDS, "d"),
        lambda g: remove.removing_tags(g, IDS, "d"),
        lambda g: requests.bytecode(u for key in IDS for u in requests.vertex_upserts(NODE | {"id": key})),
        lambda g: requests.bytecode([requests.edge_upsert(EDGE), SNAPSHOT.edges[0].upsert()]),
    ],
)
def test_the_request_passes_the_grammar_that_neptune_uses(
    ask: Ask, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    gremlin.add_v("view").property("name", "it's").iterate()
    vertices = requests.bytecode(u for key in IDS for u in requests.vertex_upserts(NODE | {"id": key}))
    with open_client(Endpoint(gremlin_url), 1) as client:
        client.submit(vertices).all().result()
        passes_the_grammar(client, ask(gremlin))
