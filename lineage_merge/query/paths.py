"""The whole way from one dataset, or column, to another: every path between them, as one subgraph."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from lineage_merge.model.errors import QueryError
from lineage_merge.query.elements import COLUMN, Edge, Subgraph, Vertex
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import Influences, completed


def way(
    graph: LineageGraph,
    start: Vertex,
    end: Vertex,
    *,
    depth: int | None = None,
    dag: str | None = None,
    columns: bool = False,
    influences: bool = False,
) -> Subgraph:
    """Every path from `start` to `end`, of `depth` hops at most; no edges where there is none.

    What lies on one is what both ends reach: two walks of the server, and the edges between.
    Raises `QueryError` where one end is a dataset and the other a column.
    """
    if (start.label == COLUMN) != (end.label == COLUMN):
        raise QueryError("a path leads from dataset to dataset, or from column to column")
    labels = ["feeds_column" if start.label == COLUMN else "feeds"]
    ahead = graph.reach([start.id], labels, "down", depth, dag)
    kept: set[Edge] = set()
    if end.id in ahead:
        behind = graph.reach([end.id], labels, "up", depth, dag)
        middle = (ahead | {start.id}) & (behind | {end.id})
        edges = graph.edges_from(sorted(middle - {end.id} | {start.id}), labels, dag)
        kept = on_the_way([each for each in edges if each.to_id in middle], start.id, end.id, depth)
    ids = {start.id, end.id}.union(*((each.from_id, each.to_id) for each in kept))
    which: Influences | None = "within" if influences else None
    return completed(graph, ids, kept, dag, columns=columns, influences=which)


def on_the_way(edges: Iterable[Edge], start: str, end: str, depth: int | None = None) -> set[Edge]:
    """The edges that lie on a path from `start` to `end`, of `depth` hops at most.

    A path neither passes its start again nor goes on behind its end; a circle in between does no harm.
    """
    edges = list(edges)
    leaving, arriving = defaultdict(list), defaultdict(list)
    for each in edges:
        if each.to_id != start or start == end:
            leaving[each.from_id].append(each.to_id)
            arriving[each.to_id].append(each.from_id)
    from_start = _distances(leaving, start, end)
    to_end = _distances(arriving, end, start)
    return {
        each
        for each in edges
        if each.from_id in from_start
        and each.to_id in to_end
        and (each.from_id != end or start == end)
        and (each.to_id != start or start == end)
        and (depth is None or from_start[each.from_id] + 1 + to_end[each.to_id] <= depth)
    }


def _distances(steps: Mapping[str, list[str]], start: str, last: str) -> dict[str, int]:
    """How many steps from `start` to whatever is reached without passing through `last`."""
    found = {start: 0}
    frontier = [start]
    while frontier:
        here = [each for each in frontier if each != last or each == start]
        frontier = []
        for each in here:
            for following in steps.get(each, ()):
                if following not in found:
                    found[following] = found[each] + 1
                    frontier.append(following)
    return found
