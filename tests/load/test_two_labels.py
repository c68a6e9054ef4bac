"""Vertices with two labels, as created by Neptune's bulk loader, with Neptune's behaviour emulated.

TinkerPop's own graphs have no such vertex: it is one whose label is ``file::table``, behind a proxy by which
`hasLabel` finds it by each of the two, and not by that text.
"""

from collections.abc import Iterator
from struct import pack
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.diff import node_change
from lineage_merge.load.graph_state import StoredVertex
from lineage_merge.load.gremlin import label_replacement, upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import take_snapshot
from lineage_merge.load.gremlin.executor import open_executor, send
from lineage_merge.load.gremlin.label_replacement import replace_labels
from lineage_merge.load.server.update import update
from lineage_merge.questions.backends.gremlin import open_gremlin
from tests.graph_reading import whole
from tests.load.neptune_proxy import neptune_proxy
from tests.made_merges import ALL, Made, dataset

TWO = "file::table"


def _has_label(label: str) -> bytes:
    """Return the step in GraphBinary: its name, and one argument."""
    name, text = b"hasLabel", label.encode()
    return pack(">i", len(name)) + name + pack(">i", 1) + b"\x03\x00" + pack(">i", len(text)) + text


def as_neptune(request: bytes) -> bytes:
    """Return a request for TinkerPop with the results of the original in Neptune."""
    request = request.replace(_has_label(TWO), _has_label("nothing"))
    for first, second in (("file", "table"), ("table", "file")):
        request = request.replace(_has_label(first) + _has_label(second), _has_label(TWO) * 2)
    return request


@pytest.fixture
def neptune(gremlin_url: str, gremlin: GraphTraversalSource) -> Iterator[Endpoint]:
    """Provide a graph; ``A::B`` must never be sent as the label of a vertex."""
    written: list[bytes] = []

    def seen(request: bytes) -> bytes:
        if TWO.encode() in request.replace(_has_label(TWO), b""):
            written.append(request)
        return as_neptune(request)

    with neptune_proxy(gremlin_url) as proxy:
        proxy.rewritten = seen
        yield Endpoint(proxy.url, retry_seconds=5)
    assert not written


def reader(dag: str, label: str) -> Made:
    return Made(dag).node("t", label, tags=["core"]).node("out").job("spark", "j", {"out": ["t"]})


def builder(dag: str, label: str) -> Made:
    return Made(dag).node("t", label, tags=["core"]).node("in").job("dbt", "model.p.t", {"t": ["in"]}, 1, "p")


def with_two_labels(endpoint: Endpoint) -> None:
    """Add a second label to the table, without other changes."""
    with open_executor(endpoint) as execute:
        found = take_snapshot(execute, dataset("t"))
        assert found
        execute(lambda g: g.V(found.id).drop())
    send(endpoint, upserts.batches([found.upsert(found.id, TWO)]))
    send(endpoint, upserts.batches(found.edges))


@pytest.mark.jvm
@pytest.mark.parametrize(
    ("incoming", "stored_by_other", "label"),
    [
        pytest.param(builder("a", "table"), reader("b", "file"), "table", id="the merge builds it"),
        pytest.param(builder("a", "view"), reader("b", "file"), "view", id="the merge has another label"),
        pytest.param(reader("a", "file"), builder("b", "table"), "table", id="another DAG builds it"),
        pytest.param(reader("a", "file"), reader("b", "table"), "table", id="no DAG builds it"),
    ],
)
def test_a_load_replaces_two_labels_by_one(
    engine: Engine,
    neptune: Endpoint,
    gremlin_url: str,
    gremlin: GraphTraversalSource,
    incoming: Made,
    stored_by_other: Made,
    label: str,
) -> None:
    for made in (stored_by_other, incoming):
        update(made.merge(engine, ALL), neptune, "dev", made.dag)
    before = whole(gremlin)
    with_two_labels(Endpoint(gremlin_url))
    assert whole(gremlin)[0][dataset("t")][0] == TWO
    with open_gremlin(neptune) as graph:
        assert [each.label for each in graph.vertices([dataset("t")])] == ["table"]

    loaded = update(incoming.merge(engine, ALL), neptune, "dev", incoming.dag)

    assert loaded.relabelled == 1
    before[0][dataset("t")] = (label, before[0][dataset("t")][1])
    assert whole(gremlin) == before
    assert update(incoming.merge(engine, ALL), neptune, "dev", incoming.dag).nodes == 0


@pytest.mark.parametrize(
    ("stored", "incoming", "shared", "built_elsewhere", "label"),
    [
        ("file::table", "table", False, False, "table"),
        ("file::table", "file", False, False, "file"),
        ("file::table", "file", True, False, "table"),
        ("file::table", "view", True, False, "view"),
        ("table::view", "table", True, True, "view"),
        ("table::view", "file", True, True, "view"),
        ("a::b::c", "c", True, True, "b"),
    ],
)
def test_the_one_label_is_that_of_the_side_that_takes_precedence(
    stored: str, incoming: str, shared: bool, built_elsewhere: bool, label: str
) -> None:
    others = ("other",) if shared else ()
    vertex = StoredVertex("dev|wh|t", stored, {"environment": "dev"}, True, others, built_elsewhere)

    assert node_change({"label": incoming}, vertex, builds=False) == ("label", [], [], label)


@pytest.mark.jvm
@pytest.mark.parametrize("is_answered", [True, False])
def test_a_dropped_vertex_is_recreated_with_all_its_edges(
    engine: Engine,
    gremlin_url: str,
    gremlin: GraphTraversalSource,
    monkeypatch: pytest.MonkeyPatch,
    is_answered: bool,
) -> None:
    """Emulate a graph whose `mergeV` still sees the dropped vertex; the response may be lost."""
    endpoint = Endpoint(gremlin_url)
    for made in (builder("a", "table"), reader("b", "table")):
        update(made.merge(engine, ALL), endpoint, "dev", made.dag)
    before = whole(gremlin)

    def only_dropping(
        g: GraphTraversalSource, old: Any, label: str, edges: Any, suffix: str = ""
    ) -> GraphTraversal:
        dropped = g.V(old.id).side_effect(__.drop())
        return dropped.count() if is_answered else dropped.is_(False).count()

    monkeypatch.setattr(label_replacement, "replace_vertex", only_dropping)

    assert replace_labels(endpoint, [(dataset("t"), "table", "view")]) == 1
    before[0][dataset("t")] = ("view", before[0][dataset("t")][1])
    assert whole(gremlin) == before


@pytest.mark.jvm
def test_a_vertex_removed_by_another_merge_stays_removed(
    gremlin_url: str, gremlin: GraphTraversalSource
) -> None:
    assert replace_labels(Endpoint(gremlin_url), [(dataset("t"), "table", "view")]) == 0
    assert whole(gremlin) == ({}, {})
