"""What a merge retires of dbt projects that its manifests describe in part, or not at all. Pure."""

from collections.abc import Iterable

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load import diff
from lineage_merge.load.graph_state import GraphState, StoredEdge, StoredVertex
from lineage_merge.load.load_plan import Comparison, Deletions, count_differences
from lineage_merge.load.prune.plan import plan_deletions
from lineage_merge.merge.source_completeness import SourceCompleteness
from lineage_merge.model.elements import JobKey
from tests.made_merges import Made, dataset

ENGINE = LocalEngine()
KEYS = ("id", "label", "from", "to", "dag_name", "environment")


def stored(made: Made) -> GraphState:
    """Return a merge as the graph has it."""
    vertices = (
        StoredVertex(
            row["id"],
            row["label"],
            {key: value for key, value in row.items() if key not in ("id", "label", "dag_name")},
            tagged=True,
            others=(),
            built_elsewhere=False,
        )
        for row in made.nodes.values()
    )
    edges = (
        StoredEdge(
            row["id"],
            row["label"],
            row["from"],
            row["to"],
            {key: value for key, value in row.items() if key not in KEYS},
            interim=False,
        )
        for row in made.edges.values()
    )
    return GraphState(ENGINE.rows(vertices), ENGINE.rows(edges))


def deletions(graph: Made, made: Made, unread: Iterable[str] = (), stated: Iterable[str] = ()) -> Deletions:
    coverage = SourceCompleteness(
        projects={"dbt": True},
        unread_columns=frozenset(JobKey("dbt", name) for name in unread),
        stated_projects=frozenset(stated),
    )
    merge, state = made.merge(ENGINE, coverage), stored(graph)
    nodes = diff.compare_nodes(merge.nodes, merge.edges, state).cache()
    edges = diff.compare_edges(merge.edges, state).cache()
    counts = count_differences(nodes, edges, state.edges)
    return plan_deletions(merge, Comparison(nodes, edges, counts, state, state.vertices), frozenset())


def deleted(found: Deletions, graph: Made) -> set[tuple[str, str, str]]:
    """Return the label and the ends of the edges that are deleted."""
    rows = map(graph.edges.__getitem__, found.edges.collect())
    return {(row["label"], short(row["from"]), short(row["to"])) for row in rows}


def short(identifier: str) -> str:
    """Return the name of a dataset, a column or a job in an id."""
    return "/".join(identifier.split("|")[2:])


def project(name: str = "shop", *, columns: bool = True, undeclared: bool = True) -> Made:
    """Return two models: `a` reads raw, also without a reference, and `b` reads `a`."""
    made = Made()
    for model, source in (("a", "raw"), ("b", "a")):
        job = f"model.{name}.{model}"
        made.job("dbt", job, {model: [source]}, project=name)
        if columns:
            made.feeds_column(("dbt", job), (source, "x"), (model, "x"))
            made.column(model, "constant")
    if undeclared:
        reader = JobKey("dbt", f"model.{name}.a")
        made.node("hidden").edge(reader, dataset("hidden"), "feeds", dataset("a"), undeclared="true")
    return made


def partly_compiled(*, described: bool = False) -> Made:
    """Return the merge of a manifest that has no compiled SQL of `a`."""
    made = Made().job("dbt", "model.shop.a", {"a": ["raw"]}, project="shop")
    made.job("dbt", "model.shop.b", {"b": ["a"]}, project="shop")
    made.feeds_column(("dbt", "model.shop.b"), ("a", "x"), ("b", "x")).column("b", "constant")
    return made.column("a", "x", description="declared") if described else made


@pytest.mark.parametrize("described", [False, True])
def test_nothing_is_retired_of_a_model_whose_code_is_not_compiled(described: bool) -> None:
    found = deletions(project(), partly_compiled(described=described), unread=["model.shop.a"])
    assert deleted(found, project()) == set()
    assert found.vertices.collect() == []


def test_a_compiled_model_without_column_lineage_loses_it() -> None:
    graph = project()
    assert ("feeds_column", "raw/x", "a/x") in deleted(deletions(graph, partly_compiled()), graph)


def test_a_reference_that_a_manifest_without_compiled_code_no_longer_has_is_retired() -> None:
    graph, made = project(), Made().job("dbt", "model.shop.a", {"a": ["other"]}, project="shop")
    made.job("dbt", "model.shop.b", {"b": ["a"]}, project="shop")
    found = deletions(graph, made, unread=["model.shop.a", "model.shop.b"])
    assert deleted(found, graph) == {("feeds", "raw", "a")}


def test_a_manifest_of_another_project_in_the_place_of_the_known_one_is_refused() -> None:
    found = deletions(project(), project("store"))
    assert "has dbt store instead of dbt shop" in found.refusal
    assert "dbt[].project" in found.refusal


@pytest.mark.parametrize(
    ("made", "stated"),
    [
        (project("store"), ["dbt store"]),
        (project("shop", undeclared=False), []),
    ],
    ids=["stated", "known"],
)
def test_a_project_that_the_configuration_or_the_graph_knows_is_accepted(
    made: Made, stated: list[str]
) -> None:
    assert deletions(project(), made, stated=stated).refusal == ""


def test_another_project_beside_the_known_one_is_accepted() -> None:
    both = project(undeclared=False)
    both.job("dbt", "model.store.s", {"s": ["raw"]}, project="store")
    assert deletions(project(), both).refusal == ""
