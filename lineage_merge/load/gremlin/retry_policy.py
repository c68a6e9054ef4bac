"""How long, and how often, a request is tried again: by the kind of what went wrong."""

import logging
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from lineage_merge.load.gremlin.error_classification import ClassifiedError, ErrorKind
from lineage_merge.model.errors import GraphError

log = logging.getLogger(__name__)


class _Pauses(NamedTuple):
    """Seconds: the first pause is at most `first`, each may be twice as long, none above `longest`.

    `attempts` limits how often one request is sent; 0: only the time does.
    """

    first: float
    longest: float
    attempts: int = 0


_PAUSES: Mapping[ErrorKind, _Pauses] = {
    # Whoever was in the way is done in a moment. No limit of time: it says that the graph works.
    ErrorKind.CONFLICT: _Pauses(0.1, 2.0, attempts=10),
    # A failover takes some 30 s, the name in DNS has followed 5 s later.
    ErrorKind.READ_ONLY: _Pauses(0.5, 5.0),
    ErrorKind.UNAVAILABLE: _Pauses(0.2, 10.0),
    ErrorKind.THROTTLED: _Pauses(1.0, 30.0),
    ErrorKind.RESOURCE_EXHAUSTED: _Pauses(1.0, 30.0, attempts=4),
    ErrorKind.INTERNAL: _Pauses(0.5, 10.0, attempts=4),
}


class RetryState:
    """What is left of it for one request.

    `seconds` counts from the first failure; 0: only conflicts are tried again.
    """

    def __init__(self, seconds: float, *, since: float | None = None) -> None:
        self._seconds = seconds
        self._since = since
        self._failures: Counter[ErrorKind] = Counter()

    def of_part(self) -> "RetryState":
        """For a part of the request: no more time, but as many attempts."""
        return RetryState(self._seconds, since=self._since)

    def wait(self, fault: ClassifiedError) -> None:
        """Pause before the request is sent again; raises the fault's error where that is no use."""
        pauses = _PAUSES.get(fault.kind)
        if pauses is None:
            raise fault.error
        now = time.monotonic()
        if self._since is None:
            self._since = now
        self._failures[fault.kind] += 1
        failures = self._failures[fault.kind]
        if pauses.attempts and failures >= pauses.attempts:
            raise _with(fault.error, f"tried {failures} times")
        seconds = _pause(pauses, failures)
        if fault.kind is not ErrorKind.CONFLICT:
            left = self._since + self._seconds - now
            if left <= 0:
                raise _with(fault.error, f"tried for {self._seconds:g} s") if self._seconds else fault.error
            seconds = min(seconds, left)
        log.info("%s: trying again in %.1f s", fault.name, seconds)
        time.sleep(seconds)


def pause(kind: ErrorKind, failures: int) -> None:
    """Wait before a request is made anew after so many failures of a kind."""
    time.sleep(_pause(_PAUSES[kind], failures))


def _pause(pauses: _Pauses, failures: int) -> float:
    longest = min(pauses.longest, pauses.first * 2 ** min(failures - 1, 20))
    # Never none: several that were turned away together must not come back together.
    return random.uniform(longest / 4, longest)  # noqa: S311 # jitter


def _with(error: GraphError, tried: str) -> GraphError:
    return type(error)(f"{error.message} ({tried})")
