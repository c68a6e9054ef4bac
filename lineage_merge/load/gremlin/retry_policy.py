"""Retry policy of requests, per kind of error."""

import logging
import random
import time
from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from lineage_merge.load.gremlin.error_classification import ClassifiedError, ErrorKind
from lineage_merge.model.errors import GraphError

log = logging.getLogger(__name__)


class Backoff(NamedTuple):
    """Exponential backoff: policy in seconds from `first`, doubled up to `longest`.

    `attempts`: maximum number of requests (0: limited by time only).
    """

    first: float
    longest: float
    attempts: int = 0


BACKOFF: Mapping[ErrorKind, Backoff] = {
    # Conflicts clear quickly and prove that the server works: no time limit.
    ErrorKind.CONFLICT: Backoff(0.1, 2.0, attempts=10),
    # A failover takes about 30 s; DNS follows 5 s later.
    ErrorKind.READ_ONLY: Backoff(0.5, 5.0),
    ErrorKind.UNAVAILABLE: Backoff(0.2, 10.0),
    ErrorKind.THROTTLED: Backoff(1.0, 30.0),
    ErrorKind.RESOURCE_EXHAUSTED: Backoff(1.0, 30.0, attempts=4),
    ErrorKind.INTERNAL: Backoff(0.5, 10.0, attempts=4),
}


class RetryState:
    """Failures and remaining time of one request.

    `seconds`: time limit from the first failure on; 0: only conflicts are retried.
    """

    def __init__(self, seconds: float, *, since: float | None = None) -> None:
        self._seconds = seconds
        self._since = since
        self._failures: Counter[ErrorKind] = Counter()

    def for_part(self) -> "RetryState":
        """Return the state for a part of the request: the same time limit, but all attempts."""
        return RetryState(self._seconds, since=self._since)

    def wait(self, failure: ClassifiedError) -> None:
        """Pause before the request is sent again; raises its error if it must not be retried."""
        policy = BACKOFF.get(failure.kind)
        if policy is None:
            raise failure.error
        now = time.monotonic()
        if self._since is None:
            self._since = now
        self._failures[failure.kind] += 1
        failures = self._failures[failure.kind]
        if policy.attempts and failures >= policy.attempts:
            raise _with_attempts(failure.error, f"tried {failures} times")
        seconds = _delay(policy, failures)
        if failure.kind is not ErrorKind.CONFLICT:
            remaining = self._since + self._seconds - now
            if remaining <= 0:
                error = failure.error
                raise _with_attempts(error, f"tried for {self._seconds:g} s") if self._seconds else error
            seconds = min(seconds, remaining)
        log.info("%s: retrying in %.1f s", failure.name, seconds)
        time.sleep(seconds)


def backoff(kind: ErrorKind, failures: int) -> None:
    """Pause before retrying an operation that failed so many times with this kind of error."""
    time.sleep(_delay(BACKOFF[kind], failures))


def _delay(policy: Backoff, failures: int) -> float:
    limit = min(policy.longest, policy.first * 2 ** min(failures - 1, 20))
    # Randomized and never 0, so that clients rejected together do not retry together.
    return random.uniform(limit / 4, limit)  # noqa: S311 # jitter


def _with_attempts(error: GraphError, tried: str) -> GraphError:
    return type(error)(f"{error.message} ({tried})")
