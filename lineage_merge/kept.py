"""Frames that are kept while a merge reads them several times, and let go when it has ended.

A session may be somebody else's (Glue, EMR, a notebook) and live on: what a merge kept in its executors'
memory and on their disks would stay there with it.

On a cluster a kept frame is persisted, so that what an executor takes along when it ends is computed again.
In one process nothing of that kind can be lost, and the frame is cut off from what it was made of. Spark
would otherwise send all of that with each task and analyse it with each step: over small input, half of its
work.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# What Spark calls the plan of rows that it has, and not of how to make them.
_CUT_OFF = "LogicalRDD"

_kept: ContextVar["list[DataFrame] | None"] = ContextVar("kept", default=None)


def keep(frame: "DataFrame") -> "DataFrame":
    """The same rows, which are computed once from now on; inside of `keeping` they are noted down."""
    if _in_one_process(frame):
        return frame if _rows_of(frame) else _noted(frame.localCheckpoint(eager=False))
    from pyspark import StorageLevel

    return _noted(frame.persist(StorageLevel.MEMORY_AND_DISK))


def keep_planned(frame: "DataFrame") -> "DataFrame":
    """The same rows, planned and computed once from now on, else as `keep`.

    A frame that is only persisted is a leaf for whoever computes it, not for whoever plans it: each step from
    there on is analysed with all that came before, which for small input takes much longer than to do it.
    Each row is written anew for that, so it is for what many steps follow.
    """
    from pyspark.sql import DataFrame

    java: Any = frame._jdf
    if _in_one_process(frame) or java.queryExecution().analyzed().children().isEmpty():
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
    """Free the frames, the last first: it is made of those before it. None of them can be read afterwards."""
    for frame in reversed(frames):
        frame.unpersist()
        rows = _rows_of(frame)
        if rows:
            rows.unpersist(False)


def _noted(frame: "DataFrame") -> "DataFrame":
    noted = _kept.get()
    if noted is not None:
        noted.append(frame)
    return frame


def _rows_of(frame: "DataFrame") -> Any:
    """The kept rows of a frame that was cut off from what it was made of; None of any other."""
    plan: Any = frame._jdf.queryExecution().logical()
    if plan.getClass().getSimpleName() != _CUT_OFF or not plan.rdd().getStorageLevel().isValid():
        return None
    return plan.rdd()


def _in_one_process(frame: "DataFrame") -> bool:
    context: Any = frame.sparkSession.sparkContext._jsc
    return bool(context.isLocal())
