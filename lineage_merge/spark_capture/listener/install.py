"""`capture.install`: recording the writes of a Spark application."""

import atexit
import os
import uuid
from contextlib import suppress
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from lineage_merge.spark_capture.listener.delivery import delivery_of
from lineage_merge.spark_capture.listener.executions import Execution, ExecutionListener
from lineage_merge.spark_capture.listener.facts import (
    application_of,
    counts_of,
    error_text,
    find_start_ms,
)
from lineage_merge.spark_capture.listener.lines import messages
from lineage_merge.spark_capture.listener.nested_writes import Write
from lineage_merge.spark_capture.listener.recorder import DEFAULT, LOG, Counts, Limits, Recorder
from lineage_merge.spark_capture.listener.streams import Streams
from lineage_merge.spark_capture.session import JvmSession
from lineage_merge.spark_capture.targets import DATAFRAME
from lineage_merge.spark_capture.write_documents import WriteDocument, write_document

# Environment variable with the bearer token of a receiver.
TOKEN_ENV = "LINEAGE_MERGE_RECEIVER_TOKEN"  # noqa: S105 (its name)
CLOSING_SECONDS = 20.0

Target = str | Path | list[Any]


class _Watched(NamedTuple):
    """A session, and what is registered there: in its `manager` of execution listeners, and its streams'."""

    spark: SparkSession
    manager: Any
    executions: Any
    streams: Streams

    def remove(self) -> None:
        """Remove the listeners, as far as the session still has them."""
        with suppress(Exception):
            self.manager.unregister(self.executions)
        with suppress(Exception):
            self.spark.streams.removeListener(self.streams)


class Listener:
    """The listener of an application. It ends by itself with the application."""

    def __init__(self, spark: SparkSession, target: Target, limits: Limits, key: tuple[str, str]) -> None:
        self.target = target
        self.application = application_of(spark)
        self._key = key
        self._session = JvmSession(spark)
        deliver = delivery_of(target, self.application.app_id, os.environ.get(TOKEN_ENV, ""))
        serialize = partial(messages, application=self.application)
        self._recorder = Recorder(self._write, serialize, deliver, limits)
        self._proxy = ExecutionListener(self._recorder.offer)
        self._watched: dict[str, _Watched] = {}  # by the session's id
        self._bus = spark.sparkContext._jsc.sc().listenerBus()

    @property
    def counts(self) -> Counts:
        """Return what was recorded and lost so far."""
        return self._recorder.counts

    def watch(self, spark: SparkSession) -> None:
        """Record the writes of a session, of those that it clones, and of its new sessions."""
        java: Any = spark._jsparkSession
        identifier = str(java.sessionUUID())
        if identifier in self._watched:
            return
        manager = java.listenerManager()
        manager.register(self._proxy)
        # Each call makes another Java object of the proxy: only this one can be removed.
        registered = list(manager.listListeners())[-1]
        streams = Streams(java, self._recorder.offer)
        self._watched[identifier] = _Watched(spark, manager, registered, streams)
        spark.streams.addListener(streams)
        create = spark.newSession

        # Only cloned sessions inherit listeners.
        def new_session() -> SparkSession:
            session = create()
            with suppress(Exception):
                if not self._recorder.is_closed:
                    self.watch(session)
            return session

        spark.newSession = new_session  # type: ignore[method-assign]

    def flush(self, seconds: float = CLOSING_SECONDS) -> bool:
        """Deliver all writes that have ended; return whether that took at most `seconds`."""
        end = monotonic() + seconds
        self._await_events(seconds)
        return self._recorder.flush(max(0.1, end - monotonic()))

    def close(self, seconds: float = CLOSING_SECONDS) -> None:
        """Deliver all writes that have ended, at most for `seconds`, and record no more."""
        if self._recorder.is_closed:
            return
        _installed.pop(self._key, None)
        atexit.unregister(self.close)
        end = monotonic() + seconds
        self._await_events(seconds)
        self._recorder.close(max(0.1, end - monotonic()))
        for watched in self._watched.values():
            watched.remove()

    def _await_events(self, seconds: float) -> None:
        """Wait until Spark has reported what has ended, which it does on a thread of its own."""
        with suppress(Exception):  # it takes longer, or the JVM has ended
            self._bus.waitUntilEmpty(int(seconds * 1000))

    # In the recorder's thread.

    def _write(self, execution: Execution) -> Write | None:
        query = execution.query
        session = self._session.wrap(query.sparkSession())
        # A copy, because another thread may add a session.
        sessions = list(self._watched.values())
        session.streams = [stream for watched in sessions for stream in watched.streams.executions]
        plan_id = str(uuid.uuid4())
        name = f"executionPlan/{plan_id}"
        document = write_document(session, query.analyzed(), session.application, name, plan_id)
        if document is None or _is_temporary(document):
            return None
        started = find_start_ms(query)
        return Write(
            document,
            execution.ended_ms if started is None else started,
            execution.ended_ms,
            execution.duration_ns,
            # The plan of a failed execution may not exist: asking for it would plan it.
            {} if execution.error else counts_of(query),
            error_text(execution.error) if execution.error else "",
        )


def _is_temporary(document: WriteDocument) -> bool:
    """Return whether a document is that of a session's view, whose query is a part of plans that read it."""
    return document.table is not None and document.table.namespace == DATAFRAME


# By application and target.
_installed: dict[tuple[str, str], Listener] = {}


def install(spark: SparkSession, target: Target, *, limits: Limits = DEFAULT) -> Listener | None:
    """Record the lineage of every write of a Spark application, while it runs.

    `target` is a folder, local or in S3, from which the source `capture` reads; the URL of a receiver
    (`lineage-merge receive`), with its token in the environment variable ``LINEAGE_MERGE_RECEIVER_TOKEN``;
    or a list, to which messages are appended. Sessions that `spark` creates and clones are included; call it
    again, with the same target, for other sessions.

    The job never fails for it: without a classic session, and after any error, it logs a warning and returns
    None.
    """
    try:
        return _install(spark, target, limits)
    except Exception as error:  # noqa: BLE001 (the job must not fail)
        LOG.warning("lineage: not recorded, because the listener is not installed: %s", _reason(spark, error))
        return None


def _reason(spark: Any, error: Exception) -> str:
    if not hasattr(spark, "_jsparkSession"):
        return "Spark Connect has its plans on the server"
    return type(error).__name__


def _install(spark: SparkSession, target: Target, limits: Limits) -> Listener:
    context: Any = spark.sparkContext
    key = str(context.applicationId), str(id(target) if isinstance(target, list) else target)
    listener = _installed.get(key)
    if listener is None:
        ensure_callback_server_started(context._gateway)  # type: ignore[no-untyped-call]
        listener = Listener(spark, target, limits, key)
        listener.watch(spark)
        _installed[key] = listener
        _close_before_stop(context, listener)
        atexit.register(listener.close)
    else:
        listener.watch(spark)
    return listener


def _close_before_stop(context: Any, listener: Listener) -> None:
    """Close a listener when its context is stopped, which `SparkSession.stop` does too."""
    stop = context.stop

    def close_and_stop() -> None:
        with suppress(Exception):
            listener.close()
        stop()

    context.stop = close_and_stop
