"""Items in batches."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

Item = TypeVar("Item")


def batched(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    """Yield the items in lists of `size`, the last one perhaps shorter: `itertools` has it in Python 3.12."""
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
