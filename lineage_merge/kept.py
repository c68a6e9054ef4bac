"""Frames that are kept while a merge reads them several times, and let go when it has ended.

A session may be somebody else's (Glue, EMR, a notebook) and live on: what a merge kept in its executors'
memory and on their disks would stay there with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_kept: ContextVar["list[DataFrame] | None"] = ContextVar("kept", default=None)


def keep(frame: "DataFrame") -> "DataFrame":
    """The same frame, which is computed once from now on; inside of `keeping` it is noted down."""
    from pyspark import StorageLevel

    frame.persist(StorageLevel.MEMORY_AND_DISK)
    noted = _kept.get()
    if noted is not None:
        noted.append(frame)
    return frame


@contextmanager
def keeping() -> "Iterator[list[DataFrame]]":
    """What is kept meanwhile, for whoever is to let it go; where an error ends it, that is done here."""
    noted: list[DataFrame] = []
    token = _kept.set(noted)
    try:
        yield noted
    except BaseException:
        let_go(noted)
        raise
    finally:
        _kept.reset(token)


def let_go(frames: "list[DataFrame] | tuple[DataFrame, ...]") -> None:
    """Free the frames, the last first: it is made of those before it."""
    for frame in reversed(frames):
        frame.unpersist()
