"""Frames that are kept while a merge reads them several times, and let go when it has ended.

A session may be somebody else's (Glue, EMR, a notebook) and live on: what a merge kept in its executors'
memory and on their disks would stay there with it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

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


def keep_planned(frame: "DataFrame") -> "DataFrame":
    """The same rows, planned and computed once from now on, else as `keep`.

    A frame that is only kept is a leaf for whoever computes it, not for whoever plans it: each step from
    there on is analysed with all that came before, which for small input takes much longer than to do it.
    Each row is written anew for that, so it is for what many steps follow.
    """
    from pyspark.sql import DataFrame

    java: Any = frame._jdf
    if java.queryExecution().analyzed().children().isEmpty():
        return keep(frame)
    spark = frame.sparkSession
    jvm_session: Any = spark._jsparkSession
    return keep(DataFrame(jvm_session.createDataFrame(java.toJavaRDD(), java.schema()), spark))


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
