"""Walks over directed graphs, without recursion: chains of thousands occur."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import chain
from typing import TypeVar

Node = TypeVar("Node")


def reachable(starts: Iterable[Node], following: Mapping[Node, Iterable[Node]]) -> set[Node]:
    """Return the starts and everything that they lead to."""
    reached = set(starts)
    waiting = list(reached)
    while waiting:
        new = set(following.get(waiting.pop(), ())) - reached
        reached |= new
        waiting += new
    return reached


def parts_first(starts: Iterable[Node], parts_of: Callable[[Node], Iterable[Node]]) -> Iterator[Node]:
    """Yield the starts and everything below them once, each after its parts, in their order.

    Cycles are cut where they close: what closes one comes before that part of it.
    """
    seen: set[Node] = set()
    waiting = [(start, False) for start in reversed([*starts])]
    while waiting:
        node, has_parts = waiting.pop()
        if has_parts:
            yield node
        elif node not in seen:
            seen.add(node)
            waiting.append((node, True))
            waiting.extend((part, False) for part in reversed([*parts_of(node)]))


def sort_by_edges(nodes: Iterable[Node], following: Mapping[Node, Collection[Node]]) -> Iterator[Node]:
    """Yield the nodes, each after all that lead to it; cycles, and what they lead to, are left out."""
    missing = Counter(chain.from_iterable(following.values()))
    ready = [node for node in nodes if not missing[node]]
    while ready:
        node = ready.pop()
        yield node
        for after in following.get(node, ()):
            missing[after] -= 1
            if not missing[after]:
                ready.append(after)
