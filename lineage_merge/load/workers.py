"""Errors of functions that an engine runs."""

from collections.abc import Iterator
from contextlib import contextmanager

from lineage_merge.engine.rows import Engine


@contextmanager
def own_worker_errors(engine: Engine) -> Iterator[None]:
    """Raise errors of this package as they are, also those that Spark wraps in its own."""
    if engine.is_local:
        yield
        return
    from lineage_merge.spark import own_errors

    with own_errors():
        yield
