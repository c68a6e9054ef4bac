"""The order in which dbt builds: parents first. Pure."""

from collections.abc import Callable, Iterable, Mapping

from lineage_merge.sources.dbt.nodes import Node


def parents_first(
    nodes: Mapping[str, Node], start: Iterable[str], follow: Callable[[Node], bool] = lambda _: True
) -> list[str]:
    """`start` and what it depends on, as far as `follow` goes, each after those it depends on.

    The same way each time; a cycle is cut open.
    """
    order: list[str] = []
    seen: set[str] = set()
    stack = [(unique_id, False) for unique_id in sorted(start, reverse=True)]
    while stack:
        unique_id, finished = stack.pop()
        if finished:
            order.append(unique_id)
        elif unique_id not in seen:
            seen.add(unique_id)
            stack.append((unique_id, True))
            parents = sorted(nodes[unique_id].parents, reverse=True)
            stack.extend((parent, False) for parent in parents if parent in nodes and follow(nodes[parent]))
    return order
