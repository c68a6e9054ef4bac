"""Silence of the libraries that send."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(*names: str) -> Iterator[None]:
    """Loggers of these names say errors only: debug lines hold requests, headers and tokens too, and that
    something was tried again is nobody's news."""
    loggers = [logging.getLogger(name) for name in names]
    levels = [each.level for each in loggers]
    for each in loggers:
        each.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for each, level in zip(loggers, levels, strict=True):
            each.setLevel(level)
