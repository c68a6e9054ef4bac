"""Room for SQL that is nested deeper than Python's stack usually allows."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")

# Some 500 functions inside each other; a hundred MB that only what is so deep really uses.
_CALLS = 20_000
_STACK = 128 * 1024 * 1024
_lock = threading.Lock()
_here = threading.local()


def deep(work: Callable[[], _Result]) -> _Result:
    """What `work` returns. It is tried again on a larger stack where the usual one is too small.

    Raises `RecursionError` where that is too small too.
    """
    try:
        return work()
    except RecursionError:
        if getattr(_here, "has_room", False):
            raise
    future: Future[_Result] = Future()

    def run() -> None:
        _here.has_room = True
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            future.set_exception(error)

    with _lock:  # both settings belong to the process
        calls = sys.getrecursionlimit()
        stack = threading.stack_size(_STACK)
        sys.setrecursionlimit(max(calls, _CALLS))
        try:
            thread = threading.Thread(target=run, name="deep SQL")
            thread.start()
            thread.join()
        finally:
            threading.stack_size(stack)
            sys.setrecursionlimit(calls)
    return future.result()
