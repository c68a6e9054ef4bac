"""Removal of DAGs and jobs from the graph."""

from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.remove_dag import remove
from lineage_merge.load.result import Pipeline, Removed
from lineage_merge.load.server.update import update
from tests.graph_reading import whole
from tests.made_merges import Made, dataset

pytestmark = pytest.mark.jvm


def two_jobs(dag: str) -> Made:
    """Return raw -> a -> b by jobs j and k, with columns, and an unused source."""
    made = Made(dag).job("spark", "j", {"a": ["raw"]}).job("spark", "k", {"b": ["a"]}).node("unread")
    made.feeds_column(("spark", "j"), ("raw", "c"), ("a", "c"))
    return made.feeds_column(("spark", "k"), ("a", "c"), ("b", "c"))


@pytest.fixture
def endpoint(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource) -> Endpoint:
    """Provide a graph with `two_jobs` of two DAGs."""
    target = Endpoint(gremlin_url)
    for dag in ("daily", "weekly"):
        update(two_jobs(dag).merge(engine), target, "dev", dag)
    return target


def graph(g: GraphTraversalSource) -> tuple[dict[str, Any], set[str]]:
    vertices, edges = whole(g, merge_runs=True)
    return {key: values["dag_name"] for key, (_, values) in vertices.items()}, set(edges)


def test_removing_a_dag_leaves_other_dags_unchanged(
    endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    counted = remove(endpoint, Pipeline("dev", "daily"), dry_run=True)
    assert len(whole(gremlin)[1]) == 2 * len(two_jobs("daily").edges)
    done = remove(endpoint, Pipeline("dev", "daily"))
    weekly = two_jobs("weekly")
    assert graph(gremlin) == (
        {key: ["weekly"] for key in (*weekly.nodes, "dev|weekly|merge_run")},
        set(weekly.edges),
    )
    # Its own: two jobs and merge_run; shared: four datasets and three columns.
    assert counted == done == Removed(edges=len(weekly.edges), dropped=3, untagged=7)


def test_removing_the_last_dag_removes_everything(endpoint: Endpoint, gremlin: GraphTraversalSource) -> None:
    remove(endpoint, Pipeline("dev", "daily"))
    remove(endpoint, Pipeline("dev", "weekly"))
    assert whole(gremlin, merge_runs=True) == ({}, {})


def test_a_dag_of_the_same_name_in_another_environment_is_another_one(
    endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    before = whole(gremlin)
    assert remove(endpoint, Pipeline("prod", "daily")) == Removed(0, 0, 0)
    assert whole(gremlin) == before


def test_removing_a_job_removes_what_only_it_touched(
    endpoint: Endpoint, gremlin: GraphTraversalSource
) -> None:
    remove(endpoint, Pipeline("dev", "daily", "k"))
    dags, edges = graph(gremlin)
    rest = Made("daily").job("spark", "j", {"a": ["raw"]})
    rest.feeds_column(("spark", "j"), ("raw", "c"), ("a", "c"))
    assert edges == set(rest.edges) | set(two_jobs("weekly").edges)
    assert "dev|daily|spark|k" not in dags
    assert dags[dataset("b")] == dags[f"{dataset('b')}|c"] == ["weekly"]
    assert dags[dataset("a")] == dags[f"{dataset('a')}|c"] == ["daily", "weekly"]
    assert dags[dataset("unread")] == ["daily", "weekly"]


def test_removing_twice_has_no_further_effect(endpoint: Endpoint, gremlin: GraphTraversalSource) -> None:
    remove(endpoint, Pipeline("dev", "daily", "k"))
    before = whole(gremlin)
    assert remove(endpoint, Pipeline("dev", "daily", "k")) == Removed(0, 0, 0)
    assert whole(gremlin) == before
