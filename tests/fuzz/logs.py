"""Files of lines of which one is damaged, as cases."""

import random
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.fuzz.cases import less_text
from tests.fuzz.mutation import damaged, packed


class Log(NamedTuple):
    """A file's name and bytes; `good` are the lines around the damaged one, where there are any."""

    name: str
    content: bytes
    good: tuple[bytes, ...] = ()


def log_of(rng: random.Random, bad: bytes, good: Sequence[bytes], name: str) -> Log:
    """A line, damaged once more or not, alone or between good ones, in a file that may be packed badly."""
    bad = damaged(rng, bad) if rng.random() < 0.4 else bad
    chance = rng.random()
    if chance < 0.75:  # good lines take most of a case's time
        return Log(name, bad)
    around = (rng.choice(good), rng.choice(good))
    content = b"\n".join([around[0], bad, around[1], b""])
    if chance < 0.8:
        return Log(f"{name}.gz", packed(rng, content))
    return Log(name, content, around)


def smaller(log: Log) -> Iterator[Log]:
    """The damaged line alone, and less of it."""
    if log.good:
        first, last = log.good
        yield log._replace(content=log.content[len(first) : -len(last) - 1], good=())
    for content in less_text(log.content):
        yield log._replace(content=content, good=())
