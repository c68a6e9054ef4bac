"""What nodes of a directed graph lead to."""

from collections.abc import Iterable, Mapping
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
