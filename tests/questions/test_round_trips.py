"""The number of requests depends on the size of the result, not on the depth."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.questions.backends import gremlin
from lineage_merge.questions.backends.gremlin import GremlinGraph
from lineage_merge.questions.cycles import cycles
from lineage_merge.questions.lineage import all_paths
from lineage_merge.questions.names import resolve_dataset_or_column
from lineage_merge.questions.ownership import ownership
from lineage_merge.questions.traversal.dependents import dependents, find_affected_tests
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.questions.traversal.impact import impact
from lineage_merge.questions.traversal.lineage import lineage
from lineage_merge.questions.traversal.tag_propagation import propagate
from tests.lineage_made import MadeLineage, at, col

pytestmark = pytest.mark.jvm

DEPTH = 200


class Counted(GremlinGraph):
    """A graph that counts its requests."""

    def __init__(self, ask: Any) -> None:
        self.asked = 0

        def counting(traversal: Any) -> list[Any]:
            self.asked += 1
            found: list[Any] = ask(traversal)
            return found

        super().__init__(counting)


@pytest.fixture
def deep(gremlin: GraphTraversalSource, gremlin_url: str) -> Iterator[Counted]:
    """Load a chain of 200 datasets."""
    MadeLineage().flow(" > ".join(f"t{n:03}" for n in range(DEPTH))).load(gremlin_url)
    with open_executor(Endpoint(gremlin_url)) as ask:
        yield Counted(ask)


Question = Callable[[GremlinGraph], tuple[int, int]]


def upstream(graph: GremlinGraph) -> tuple[int, int]:
    found = lineage(graph, resolve_dataset_or_column(graph, "t199"), "up")
    return len(found.vertices), len(found.edges)


def path(graph: GremlinGraph) -> tuple[int, int]:
    found = all_paths(
        graph, resolve_dataset_or_column(graph, "t000"), resolve_dataset_or_column(graph, "t199")
    )
    return len(found.vertices), len(found.edges)


def everything_below(graph: GremlinGraph) -> tuple[int, int]:
    found = impact(graph, resolve_dataset_or_column(graph, "t000"))
    return len(found.datasets), len(found.subgraph.edges)


def effects_below(graph: GremlinGraph) -> tuple[int, int]:
    found = dependents(graph, resolve_dataset_or_column(graph, "t000"), change=Change.DROP)
    assert ownership(found).owners == ()
    return len(found.elements), len(find_affected_tests(graph, found))


def circles(graph: GremlinGraph) -> tuple[int, int]:
    return len(cycles(graph).groups), 0


@pytest.mark.parametrize(
    ("ask", "found", "most"),
    [
        (upstream, (200, 199), 4),
        (path, (200, 199), 6),
        (everything_below, (199, 199), 7),
        (effects_below, (200, 0), 8),
        (circles, (0, 0), 11),  # one per label of datasets, and the edges
    ],
)
def test_a_deep_chain_takes_a_few_requests(
    deep: Counted, ask: Question, found: tuple[int, int], most: int
) -> None:
    assert ask(deep) == found
    assert deep.asked <= most


def test_large_results_are_fetched_in_batches(deep: Counted, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gremlin, "IDS_A_REQUEST", 50)
    assert upstream(deep) == (200, 199)
    assert deep.asked == 1 + 1 + 4 + 4  # the name, the walk, edges, vertices


def test_depth_limits_a_chain(deep: Counted) -> None:
    found = lineage(deep, resolve_dataset_or_column(deep, "t199"), "up", depth=150)
    assert (min(found.vertices), len(found.edges)) == (at("t049"), 150)


def test_depth_counts_from_the_shortest_path(gremlin: GraphTraversalSource, gremlin_url: str) -> None:
    # In any order of traversal, d is one hop from a, and e two, although b and c lead there too.
    made = MadeLineage().flow("a > b > c > d > e > f").flow("a > d", job="short").flow("z > a")
    made.load(gremlin_url)
    with open_executor(Endpoint(gremlin_url)) as ask:
        found = lineage(GremlinGraph(ask), resolve_dataset_or_column(GremlinGraph(ask), "a"), "down", depth=2)
    assert {(each.from_id, each.to_id) for each in found.edges} == {
        (at(source), at(target)) for source, target in ("ab", "bc", "ad", "de")
    }
    assert set(found.vertices) == {at(each) for each in "abcde"}


@pytest.mark.parametrize("without_columns", [False, True])
def test_tags_pass_a_deep_chain_in_a_few_requests(
    gremlin: GraphTraversalSource, gremlin_url: str, without_columns: bool
) -> None:
    names = [f"t{number:03}" for number in range(DEPTH)]
    made = MadeLineage()
    if without_columns:
        made.flow(" > ".join(names), column_lineage="unavailable").columns("t000.email > t000.other")
    else:
        made.flow(" > ".join(names))
        for source, target in pairwise(names):
            made.columns(f"{source}.email > {target}.email", transformation="IDENTITY")
    made.nodes[col("t000", "email")]["tags"] = ["pii"]
    made.load(gremlin_url)
    with open_executor(Endpoint(gremlin_url)) as ask:
        graph = Counted(ask)
        found = propagate(graph, ["pii"], {}, "dev")
    ends = {each.id: len(each.path) for each in found.carriers}
    assert ends[at("t199") if without_columns else col("t199", "email")] == DEPTH - 1
    assert graph.asked <= 11
