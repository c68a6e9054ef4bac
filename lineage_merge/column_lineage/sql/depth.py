"""A larger stack for deeply nested SQL."""

import sys
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

_Result = TypeVar("_Result")

# Enough for some 500 nested functions. The memory is reserved, but only used as far as needed.
_CALLS = 20_000
_STACK = 128 * 1024 * 1024
_lock = threading.Lock()
_here = threading.local()


def with_deep_stack(work: Callable[[], _Result]) -> _Result:
    """Return the result of `work`, retried on a larger stack after a `RecursionError`.

    Raises `RecursionError` if the larger stack is too small too.
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
