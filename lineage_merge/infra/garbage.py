"""Reading without garbage collection."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collection_off() -> Iterator[None]:
    """Switch off garbage collection while objects are created that are needed until the end."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
