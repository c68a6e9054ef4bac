"""The dbt project `shop` as a graph of the page."""

from functools import cache

from lineage_merge.exporters.page import Options, render
from lineage_merge.exporters.page.selection import entire_graph
from lineage_merge.graph_format.elements import Subgraph, edge_of_row, vertex_of_row
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.traversal.staleness import Expectations, Freshness, freshness_within
from tests import dbt_shop

# Three hours after the tests of the captured project, as text and in ms since 1970.
MADE_AT = "2026-11-23 03:48 UTC"
NOW = 1795405680000


@cache
def graph() -> InMemory:
    """Return the project's graph."""
    found = dbt_shop.graph()
    return InMemory(map(vertex_of_row, found.nodes), map(edge_of_row, found.edges))


def shop() -> Subgraph:
    """Return everything of the project."""
    return entire_graph(graph())


def page(what: Subgraph | None = None, older_than_ms: int | None = None) -> str:
    """Return the page of the project, or of another graph, at a fixed time."""
    shown = what or shop()
    return render(shown, Options(title="shop", made_at=MADE_AT), assessed(shown, NOW, older_than_ms))


def assessed(what: Subgraph, now: int, older_than_ms: int | None = None) -> list[Freshness]:
    """Return the freshness of the datasets of a graph."""
    found = InMemory(what.vertices.values(), what.edges)
    ids = (each.id for each in what.datasets)
    return freshness_within(found, ids, Expectations(now, older_than_ms))
