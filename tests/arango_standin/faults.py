"""Things that go wrong on purpose: one after the other, for the next requests that fit."""

import threading
from collections import deque
from dataclasses import dataclass
from enum import Enum


class Kind(Enum):
    """What happens to a request.

    REFUSE answers with an error before anything is done. SLOW waits first. CUT does the work and
    breaks off in the middle of the body; DROP does the work and closes without a word.
    """

    REFUSE = "refuse"
    SLOW = "slow"
    CUT = "cut"
    DROP = "drop"


@dataclass(frozen=True)
class Fault:
    """`method` and `path` (a part of it, without the database) say which requests it may hit; None: any."""

    kind: Kind
    status: int = 0
    error_num: int = 0
    seconds: float = 0.0
    method: str | None = None
    path: str | None = None

    def fits(self, method: str, path: str) -> bool:
        return self.method in {None, method} and (self.path is None or self.path in path)


class Faults:
    """A queue of faults that several request threads may take from."""

    def __init__(self) -> None:
        self._waiting: deque[Fault] = deque()
        self._lock = threading.Lock()

    def add(self, fault: Fault, times: int) -> None:
        with self._lock:
            self._waiting.extend([fault] * times)

    def take(self, method: str, path: str) -> Fault | None:
        with self._lock:
            for fault in self._waiting:
                if fault.fits(method, path):
                    self._waiting.remove(fault)
                    return fault
        return None

    def clear(self) -> None:
        with self._lock:
            self._waiting.clear()
