"""Log levels of the client libraries."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def errors_only(*names: str) -> Iterator[None]:
    """Set these loggers to ERROR: debug lines contain requests, headers and tokens; retries are noise."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
