"""What a run of the tests draws at random: a tenth of it, the same in each run.

A change is tested by the same cases as its parent; `nox -s nightly` draws everything, from the day's seed.
``LINEAGE_MERGE_TEST_SEED`` draws other cases, ``LINEAGE_MERGE_TEST_SHARE=1`` all.
"""

import os
import random
from collections.abc import Sequence
from typing import TypeVar

SEED = "LINEAGE_MERGE_TEST_SEED"
SHARE = "LINEAGE_MERGE_TEST_SHARE"

Case = TypeVar("Case")

_SEED = "20261125"
_SHARE = 0.1


def begin() -> None:
    """Choose the seed of this run, which the processes that are started from now on inherit."""
    os.environ.setdefault(SEED, _SEED)


def seed() -> str:
    """The seed of this run."""
    begin()
    return os.environ[SEED]


def share() -> float:
    """How much of what is drawn this run takes: 1 is everything."""
    return float(os.environ.get(SHARE) or _SHARE)


def share_of(cases: Sequence[Case]) -> list[Case]:
    """The cases of this run out of these: at least one, and all where all are drawn."""
    count = max(1, round(len(cases) * share()))
    return sorted(random.Random(seed()).sample(list(cases), count), key=cases.index)


def header() -> str:
    """The line that says how to repeat this run."""
    return f"drawn at random: {share():g} of all cases; repeat with {SEED}={seed()} {SHARE}={share():g}"
