"""What a run of the tests draws at random: a tenth of it, from a seed that changes by the day.

``LINEAGE_MERGE_TEST_SEED`` repeats a run, ``LINEAGE_MERGE_TEST_SHARE=1`` draws everything (`nox -s nightly`).
"""

import datetime
import os

SEED = "LINEAGE_MERGE_TEST_SEED"
SHARE = "LINEAGE_MERGE_TEST_SHARE"

_SHARE = 0.1


def begin() -> None:
    """Choose the seed of this run, which the processes that are started from now on inherit."""
    os.environ.setdefault(SEED, datetime.datetime.now(datetime.UTC).strftime("%Y%m%d"))


def seed() -> str:
    """The seed of this run."""
    begin()
    return os.environ[SEED]


def share() -> float:
    """How much of what is drawn this run takes: 1 is everything."""
    return float(os.environ.get(SHARE) or _SHARE)


def header() -> str:
    """The line that says how to repeat this run."""
    return f"drawn at random: {share():g} of all cases; repeat with {SEED}={seed()} {SHARE}={share():g}"
