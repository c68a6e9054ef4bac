"""Open graphs: one thread each, which answers one question after another, with a time limit.

A question that takes too long, or whose client cancels it, cannot be stopped: its thread is abandoned, and
the next question gets another one. A graph that cannot be opened is opened again by the next question.
"""

import asyncio
import logging
import queue
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from lineage_merge.mcp.graph_stamp import OpenedGraph
from lineage_merge.mcp.tool_errors import Busy
from lineage_merge.model.errors import QueryError
from lineage_merge.query.selection import GraphSelection
from lineage_merge.query.session import Session, open_session, session_without_graph

# Of the history, besides the present one: each may be large.
_MAX_PAST = 2
_MAX_ABANDONED = 4
_MAX_WAITING = 32

_T = TypeVar("_T")
_log = logging.getLogger(__name__)


class Past(NamedTuple):
    """Which graph a question needs: the present one without a moment; `only`: none, the history alone."""

    as_of: str | None = None
    environment: str | None = None
    only: bool = False


def require_history(selection: GraphSelection) -> None:
    """Raise `QueryError` for a folder without history: the default one is that of another graph."""
    if selection.folder and not selection.history:
        raise QueryError("this graph is a folder without history. Fix: start the server with --history")


class OpenGraphs:
    """The graphs of a selection, at the moments that are asked for."""

    def __init__(
        self, selection: GraphSelection, seconds: float, prepare: Callable[[], None] = lambda: None
    ) -> None:
        """Open nothing yet. `seconds`: time limit of a question; `prepare`: called before opening."""
        self._selection = replace(selection, seconds=seconds)
        self._seconds = seconds
        self._prepare = prepare
        self._threads: OrderedDict[Past, _GraphThread] = OrderedDict()
        self._abandoned: list[_GraphThread] = []

    async def ask(self, question: Callable[[Session], _T], past: Past = Past()) -> _T:  # noqa: B008 - immutable
        """Answer a question in the thread of its graph. Raises `Busy` after the time limit."""
        thread = self._thread(past)
        submitted = thread.submit(_Question(question))
        try:
            async with asyncio.timeout(self._seconds):
                answer: _T = await asyncio.wrap_future(submitted.answer)
                return answer
        except TimeoutError:
            opening = thread.is_opening
            self._abandon(past, thread, submitted)
            state = "The graph is still being opened; ask again" if opening else "Fix: a smaller depth"
            raise Busy(f"no answer within {self._seconds:g} s. {state}") from None
        except asyncio.CancelledError:
            self._abandon(past, thread, submitted)
            raise

    def close(self) -> None:
        """Close all graphs, without waiting for running questions."""
        for thread in self._threads.values():
            thread.stop()
        for thread in self._threads.values():
            thread.join(1.0)
        self._threads.clear()

    def _thread(self, past: Past) -> "_GraphThread":
        if past in self._threads:
            self._threads.move_to_end(past)
            return self._threads[past]
        self._abandoned = [thread for thread in self._abandoned if thread.is_alive()]
        if len(self._abandoned) >= _MAX_ABANDONED:
            raise Busy("earlier questions without an answer are still running. Fix: ask again later")
        if past.as_of:
            require_history(self._selection)
            older = [thread for thread in self._threads if thread.as_of]
            for opened in older[: max(len(older) - _MAX_PAST + 1, 0)]:
                closed = self._threads.pop(opened)
                closed.stop()
                self._abandoned.append(closed)  # until it has ended
        selection = self._selection
        if past.as_of:
            environment = past.environment or selection.environment
            # A folder has no moments: its history stands for it.
            selection = replace(selection, as_of=past.as_of, environment=environment, folder=None)
        made = self._threads[past] = _GraphThread(selection, self._prepare, is_open=not past.only)
        made.start()
        return made

    def _abandon(self, past: Past, thread: "_GraphThread", submitted: "_Question") -> None:
        """Forget a question; replace its thread if that still answers it. Waiting questions are moved."""
        submitted.is_abandoned = True
        submitted.answer.cancel()
        # An open graph is of use for the next question.
        if thread.is_opening or not thread.is_stuck() or self._threads.get(past) is not thread:
            return
        del self._threads[past]
        self._abandoned.append(thread)
        waiting = thread.drain()
        thread.stop()
        try:
            other = self._thread(past)
            for question in waiting:
                other.submit(question)
        except QueryError as error:
            for question in waiting:
                question.answer.set_exception(error)


class _Question:
    """A question that waits for its answer. `is_abandoned`: no client waits for it."""

    __slots__ = ("answer", "ask", "is_abandoned")

    def __init__(self, ask: Callable[[Session], Any]) -> None:
        self.ask = ask
        self.answer: Future[Any] = Future()
        self.is_abandoned = False


class _GraphThread(threading.Thread):
    """A thread with a graph of its own. It ends with the process, even while it answers."""

    def __init__(
        self, selection: GraphSelection, prepare: Callable[[], None], *, is_open: bool = True
    ) -> None:
        """Prepare the thread. `is_open`: with a graph, otherwise with the history alone."""
        super().__init__(daemon=True, name="lineage-graph")
        self.is_opening = False
        self._is_open = is_open
        self._selection = selection
        self._prepare = prepare
        self._queue: queue.SimpleQueue[_Question | None] = queue.SimpleQueue()
        self._current: _Question | None = None
        self._opened: OpenedGraph | None = None
        self._resources = ExitStack()

    def submit(self, question: _Question) -> _Question:
        """Ask a question after those that wait. Raises `Busy` if too many wait."""
        if self._queue.qsize() >= _MAX_WAITING:
            raise Busy("too many questions wait for the graph. Fix: ask again later")
        self._queue.put(question)
        return question

    def is_stuck(self) -> bool:
        """Whether it answers a question for which no client waits."""
        current = self._current
        return current is not None and current.is_abandoned

    def drain(self) -> list[_Question]:
        """Take the questions that wait."""
        waiting = []
        with suppress(queue.Empty):
            while True:
                question = self._queue.get_nowait()
                if question is not None and not question.is_abandoned:
                    waiting.append(question)
        return waiting

    def stop(self) -> None:
        """End after the questions that wait."""
        self._queue.put(None)

    def run(self) -> None:
        """Answer questions until `stop`."""
        while (question := self._queue.get()) is not None:
            self._current = question
            if question.answer.set_running_or_notify_cancel():
                self._answer(question)
            self._current = None
        self._close()

    def _answer(self, question: _Question) -> None:
        try:
            opened = self._open()
            with opened.session.hints():
                answer = None if question.is_abandoned else question.ask(opened.session)
        except BaseException as error:  # noqa: BLE001 - raised where the question was asked
            if not isinstance(error, QueryError):
                self._close()
            question.answer.set_exception(error)
            return
        question.answer.set_result(answer)

    def _open(self) -> OpenedGraph:
        """Return the open graph, opened again if its files have changed."""
        if self._opened and self._opened.is_current():
            return self._opened
        self._close()
        self.is_opening = True
        try:
            self._opened = self._read()
        finally:
            self.is_opening = False
        return self._opened

    def _read(self) -> OpenedGraph:
        self._prepare()
        started = time.time_ns()
        if not self._is_open:
            return OpenedGraph.from_session(session_without_graph(self._selection), started)
        session = self._resources.enter_context(open_session(self._selection))
        return OpenedGraph.from_session(session, started)

    def _close(self) -> None:
        self._opened = None
        try:
            self._resources.close()
        except Exception:  # noqa: BLE001 - a connection that cannot be closed is of no use either
            _log.debug("closing the graph failed", exc_info=True)
