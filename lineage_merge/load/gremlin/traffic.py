"""Counts requests to the graph and what they are answered with, wherever they are sent from."""

from dataclasses import dataclass

from lineage_merge.infra.engine.rows import Counter, Engine


@dataclass(frozen=True, slots=True)
class Traffic:
    """Requests that were sent, also those sent again, and elements, ids and values that were read."""

    requests: Counter
    read: Counter


def counted(engine: Engine) -> Traffic:
    """Return counters of nothing yet."""
    return Traffic(engine.counter(), engine.counter())
