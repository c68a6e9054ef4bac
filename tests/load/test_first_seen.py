"""`first_seen`: written once, when a load creates an element."""

import time
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import Merge, T

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load.diff import Change, get_first_seen
from lineage_merge.load.element_rows import edge_values, node_values, row_to_write
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import send
from lineage_merge.load.gremlin.upserts import Upsert, edge_upsert, vertex_upserts
from lineage_merge.load.result import LoadResult
from lineage_merge.load.server.update import update
from tests.made_merges import Made, dataset

NODE = {"id": "dev|wh|a", "label": "table", "environment": "dev", "dag_name": "daily", "name": "a"}
EDGE = {**NODE, "label": "feeds", "from": "dev|wh|a", "to": "dev|wh|b", "job_type": "spark", "job_name": "j"}


def load(url: str, made: Made, *, verify: bool = False) -> LoadResult:
    engine = LocalEngine()
    return update(made.merge(engine), Endpoint(url), "dev", made.dag, allow_retire=True, verify=verify)


def times(g: GraphTraversalSource) -> dict[str, Any]:
    vertices = g.V().not_(__.has_label("merge_run", "merge_state")).project("id", "at")
    found = {
        each["id"]: each["at"] for each in vertices.by(T.id).by(__.values("first_seen").fold()).to_list()
    }
    edges = g.E().project("id", "at").by(T.id).by(__.values("first_seen").fold())
    return found | {each["id"]: each["at"] for each in edges.to_list()}


@pytest.mark.jvm
def test_each_element_has_the_time_of_its_first_load(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    begin = time.time_ns() // 1_000_000
    load(gremlin_url, Made().job("spark", "load", {"b": ["a"]}).column("b", "c", data_type="int"))
    first = times(gremlin)
    assert len(first) == 7
    assert all(len(each) == 1 and begin <= each[0] <= time.time_ns() // 1_000_000 for each in first.values())

    time.sleep(0.002)
    again = load(gremlin_url, Made().job("spark", "load", {"b": ["a"]}).column("b", "c", data_type="int"))
    assert (again.nodes, again.edges, again.effect) == (0, 0, "none")
    full = load(
        gremlin_url, Made().job("spark", "load", {"b": ["a"]}).column("b", "c", data_type="int"), verify=True
    )
    assert (full.nodes, full.edges, full.effect, full.compared) == (0, 0, "none", "full")
    assert times(gremlin) == first

    time.sleep(0.002)
    changed = Made().job("spark", "load", {"b": ["a", "new"]}, at=2, operations="Join")
    load(gremlin_url, changed.node("b", "view").column("b", "c", data_type="bigint"))
    load(gremlin_url, Made("weekly").node("a", description="shared"))
    after = times(gremlin)
    # A changed label replaces the vertex, and its edges.
    assert {key: at for key, at in after.items() if key in first} == first
    created = {key: at for key, at in after.items() if key not in first}
    assert dataset("new") in created
    assert min(created.values()) > max(first.values())


def test_only_new_elements_get_the_time() -> None:
    assert get_first_seen(Change("new", NODE), 5) == 5
    for change in ("changed", "label"):
        assert get_first_seen(Change(change, NODE), 5) is None
    assert row_to_write(NODE, ("id",), (), None) == {"id": NODE["id"]}


def test_the_time_is_only_set_on_creation() -> None:
    written: list[Upsert] = [
        *vertex_upserts({**NODE, "first_seen": 5}),
        edge_upsert({**EDGE, "first_seen": 5}),
    ]
    for upsert in written:
        steps = upsert.steps()
        (create,) = (step[2] for step in steps if step[0] == "option" and step[1] == Merge.on_create)
        assert create["first_seen"] == 5
        others = [step for step in steps if step[0] != "option" or step[1] != Merge.on_create]
        assert "first_seen" not in str(others)


@pytest.mark.jvm
def test_a_vertex_that_another_dag_created_since_keeps_its_values_and_gets_the_tag(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    stored = {**NODE, "dag_name": "other", "description": "of other", "first_seen": 5}
    incoming = {**NODE, "description": "of daily", "format": "csv", "first_seen": 6}
    for row in (stored, incoming):
        send(Endpoint(gremlin_url), upserts.batches(vertex_upserts(row)))
    assert gremlin.V(NODE["id"]).value_map().to_list() == [
        {
            "environment": ["dev"],
            "name": ["a"],
            "description": ["of other"],
            "first_seen": [5],
            "dag_name": ["other", "daily"],
        }
    ]


@pytest.mark.jvm
def test_a_new_job_has_the_values_of_its_newest_run_in_any_order(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    for at in (7, 9, 8):
        job = {**NODE, "label": "job", "last_run_at": at, "first_seen": 5}
        send(Endpoint(gremlin_url), upserts.batches(vertex_upserts(job)))
    assert gremlin.V(NODE["id"]).values("last_run_at").to_list() == [9]


def test_the_time_is_not_compared() -> None:
    assert node_values({"name": "a", "first_seen": 5}) == {"name": "a"}
    assert edge_values({"job_name": "j", "first_seen": 5}) == {"job_name": "j"}
