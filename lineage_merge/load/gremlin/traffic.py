"""Counters of requests to the graph and of their results, across all processes."""

from dataclasses import dataclass

from lineage_merge.infra.engine.rows import Counter, Engine


@dataclass(frozen=True, slots=True)
class Traffic:
    """Numbers of requests sent, including retries, and of elements, ids and values read."""

    requests: Counter
    read: Counter


def counted(engine: Engine) -> Traffic:
    """Return new counters."""
    return Traffic(engine.counter(), engine.counter())
