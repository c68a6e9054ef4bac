"""Items in batches and groups."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`, the last one perhaps shorter: `itertools` has it in Python 3.12."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch


def gather(pairs: Iterable[tuple[Key, Item]]) -> defaultdict[Key, list[Item]]:
    """Return the items by key, in their order; a key without items has none."""
    groups: defaultdict[Key, list[Item]] = defaultdict(list)
    for key, item in pairs:
        groups[key].append(item)
    return groups
