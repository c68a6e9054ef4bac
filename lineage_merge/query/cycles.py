"""Datasets that feed themselves, by way of others or at once."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from lineage_merge.query.elements import Subgraph
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.lineage import completed


@dataclass(frozen=True, slots=True)
class Cycles:
    """`groups`: ids of datasets that all reach each other, each in order, the largest first.

    A group of one is a dataset that a job reads and writes. `subgraph` has the edges within groups.
    """

    groups: tuple[tuple[str, ...], ...]
    subgraph: Subgraph


def cycles(graph: LineageGraph, environment: str | None = None, dag: str | None = None) -> Cycles:
    """All cycles of `feeds`; with `dag` those that lie within its edges."""
    groups = circling(graph.pairs(["feeds"], environment, dag))
    group_of = {each: number for number, group in enumerate(groups) for each in group}
    edges = [
        each
        for each in graph.edges_from(sorted(group_of), ["feeds"], dag)
        if group_of.get(each.to_id) == group_of[each.from_id]
    ]
    return Cycles(groups, completed(graph, group_of, edges))


def circling(pairs: Iterable[tuple[str, str]]) -> tuple[tuple[str, ...], ...]:
    """The groups in which each reaches each other (Tarjan's, without recursion), by size, then name."""
    following: dict[str, list[str]] = defaultdict(list)
    for source, target in sorted(set(pairs)):
        following[source].append(target)
    index: dict[str, int] = {}
    lowest: dict[str, int] = {}
    waiting: list[str] = []
    is_waiting: set[str] = set()
    groups: list[tuple[str, ...]] = []
    for root in sorted(following):
        if root in index:
            continue
        walk = [(root, iter(following[root]))]
        index[root] = lowest[root] = len(index)
        waiting.append(root)
        is_waiting.add(root)
        while walk:
            here, left = walk[-1]
            for each in left:
                if each not in index:
                    index[each] = lowest[each] = len(index)
                    waiting.append(each)
                    is_waiting.add(each)
                    walk.append((each, iter(following.get(each, ()))))
                    break
                if each in is_waiting:
                    lowest[here] = min(lowest[here], index[each])
            else:
                walk.pop()
                if walk:
                    above = walk[-1][0]
                    lowest[above] = min(lowest[above], lowest[here])
                if lowest[here] == index[here]:
                    start = _place(waiting, here)
                    group = waiting[start:]
                    del waiting[start:]
                    is_waiting.difference_update(group)
                    if len(group) > 1 or here in following.get(here, ()):
                        groups.append(tuple(sorted(group)))
    return tuple(sorted(groups, key=lambda group: (-len(group), group)))


def _place(waiting: list[str], wanted: str) -> int:
    place = len(waiting) - 1
    while waiting[place] != wanted:
        place -= 1
    return place
