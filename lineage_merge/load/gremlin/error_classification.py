"""Classification of the graph's errors by how to handle them, and the policy of retries per kind.

Neptune's errors have codes: the status message of a Gremlin response is JSON with ``code``,
``detailedMessage`` and ``requestId`` (AWS, "Graph engine error messages and codes"; botocore's model of
``neptunedata`` also lists the codes and which errors may be retried). Gremlin Server has status codes and
texts of Java exceptions.
"""

import json
import logging
import random
import re
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any, NamedTuple

import aiohttp
from gremlin_python.driver.protocol import ConfigurationError, GremlinServerError

from lineage_merge.model.errors import (
    GraphDenied,
    GraphError,
    GraphRejected,
    GraphUnreachable,
    GraphUnsupported,
    one_line,
)

_TIMEOUT = "no response in time"


class ErrorKind(Enum):
    """How to handle an error."""

    CONFLICT = auto()  # concurrent writer: retry soon
    READ_ONLY = auto()  # a failover made the instance a reader: reconnect and retry
    UNAVAILABLE = auto()  # no connection, connection lost, timeout: reconnect and retry
    THROTTLED = auto()  # throttled, too many requests: retry later
    RESOURCE_EXHAUSTED = auto()  # out of memory or time: retry later in smaller parts
    TOO_LARGE = auto()  # request too long: retry in smaller parts
    INTERNAL = auto()  # server error without a reason: retry a few times
    REJECTED = auto()  # possibly an invalid element: retry elements one by one to identify it
    PERMANENT = auto()  # do not retry


@dataclass(frozen=True, slots=True)
class ClassifiedError:
    """An error with its kind, and the exception to raise if retries fail.

    `name`: short name for logs. `broken`: the connection cannot be reused, and it is unknown whether the
    request was executed. `answered`: the endpoint itself reported the error, so it is reachable.
    """

    kind: ErrorKind
    error: GraphError
    name: str
    broken: bool = False
    answered: bool = False


class UnexpectedResponse(ConnectionError):
    """A response that does not belong to the pending request."""


_BY_CODE = {
    "ConcurrentModificationException": ErrorKind.CONFLICT,
    # "the durability of both in- and out-vertices when adding an edge": occurs with concurrent writers.
    "ConstraintViolationException": ErrorKind.CONFLICT,
    "ReadOnlyViolationException": ErrorKind.READ_ONLY,
    "ServerShutdownException": ErrorKind.UNAVAILABLE,
    "CancelledByMaintenanceException": ErrorKind.UNAVAILABLE,
    "ThrottlingException": ErrorKind.THROTTLED,
    "TooManyRequestsException": ErrorKind.THROTTLED,
    "QueryLimitExceededException": ErrorKind.THROTTLED,
    "MemoryLimitExceededException": ErrorKind.RESOURCE_EXHAUSTED,
    "TimeLimitExceededException": ErrorKind.RESOURCE_EXHAUSTED,
    "QueryLimitException": ErrorKind.TOO_LARGE,
    "QueryTooLargeException": ErrorKind.TOO_LARGE,
    "InternalFailureException": ErrorKind.INTERNAL,
    "CancelledByUserException": ErrorKind.INTERNAL,
    "ClientTimeoutException": ErrorKind.INTERNAL,
    "BadRequestException": ErrorKind.REJECTED,
    "FailureByQueryException": ErrorKind.REJECTED,
    "InvalidNumericDataException": ErrorKind.REJECTED,
}
_DENIED = frozenset({"AccessDeniedException", "MissingAuthenticationTokenException"})
# Errors in the query language of a request, which affect all elements alike.
_UNSUPPORTED = frozenset(
    """
    MalformedQueryException UnsupportedOperationException MethodNotAllowedException
    InvalidParameterException MissingParameterException InvalidArgumentException
    IllegalArgumentException ParsingException ValidationException
    """.split()
)

# Of the Gremlin protocol:
# https://tinkerpop.apache.org/docs/3.7.3/dev/provider/#_graph_driver_provider_requirements
_BY_STATUS = {596: ErrorKind.CONFLICT, 598: ErrorKind.RESOURCE_EXHAUSTED}
_DENIED_STATUS = frozenset({401, 403})
_UNSUPPORTED_STATUS = frozenset({498, 499})

# Texts of TinkerTransactionGraph, and of two requests that create the same vertex concurrently.
_CONFLICTS = (
    "ConcurrentModification",
    "TransactionException",
    "Conflict: element modified in another transaction",
    "with id already exists",
)

# Texts of RuntimeErrors raised by gremlinpython.
_CLOSED = ("Connection was closed", "Connection was already closed", "Event loop is closed")
_UNREADABLE = "Received error on read"

_TLS_FAILED = "TLS failed; a server without TLS requires ws://"

_CODE = re.compile(r'"code"\s*:\s*"(\w+)"')


def classify(error: BaseException, address: str) -> ClassifiedError | None:
    """Classify an error of gremlinpython, aiohttp or this package; None for other errors.

    `address`: name of the graph in messages. Messages are one line and contain no headers and no URL.
    """
    match error:
        case GraphError():
            kind = ErrorKind.UNAVAILABLE if type(error) is GraphUnreachable else ErrorKind.PERMANENT
            return ClassifiedError(kind, error, type(error).__name__, broken=True)
        case GremlinServerError():
            return _classify_response(error, address)
        case UnexpectedResponse():
            return _unavailable(address, "a response that belongs to no request")
        case ConfigurationError():
            return _permanent(
                GraphDenied(f"{address}: the server requires a user and password"), "no password"
            )
        case aiohttp.WSServerHandshakeError():
            return _classify_handshake(error.status, address)
        case aiohttp.ClientSSLError():
            # The error's text is not used: it contains the certificate.
            reason = getattr(error.__cause__ or error, "verify_message", "") or _TLS_FAILED
            return _permanent(GraphUnreachable(f"{address}: no secure connection: {reason}"), "TLS")
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return _permanent(GraphUnreachable(f"{address}: invalid address"), "address")
        case TimeoutError():
            return _unavailable(address, _TIMEOUT)
        case aiohttp.ClientError() | ConnectionError() | CancelledError():
            return _unavailable(address, f"no connection: {reason_of(error)}")
        case RuntimeError() | AttributeError() if _is_closed(error):
            return _unavailable(address, "the server closed the connection")
        case RuntimeError() if str(error).startswith(_UNREADABLE):
            if "exceeds limit" in str(error):
                return _permanent(GraphRejected(f"{address}: a response is too long"), "too long")
            return _unavailable(address, "the server closed the connection")
        case _:
            return None


def _is_closed(error: Exception) -> bool:
    # After a failure the driver reuses the same connection, without its socket.
    return str(error).startswith((*_CLOSED, "'NoneType' object has no attribute 'send_bytes'"))


def _permanent(error: GraphError, name: str) -> ClassifiedError:
    return ClassifiedError(ErrorKind.PERMANENT, error, name, broken=True)


def _unavailable(address: str, problem: str) -> ClassifiedError:
    return ClassifiedError(
        ErrorKind.UNAVAILABLE, GraphUnreachable(f"{address}: {problem}"), problem, broken=True
    )


def reason_of(error: BaseException) -> str:
    """Return a short reason why there is no connection."""
    if isinstance(error, TimeoutError):
        return _TIMEOUT
    return getattr(error, "strerror", None) or type(error).__name__


def _classify_handshake(status: int, address: str) -> ClassifiedError:
    # The error's text is not used, because it contains the URL, and neither is the body: for an invalid
    # signature it may contain the signed text with a session token.
    match status:
        case 401 | 403:
            problem = (
                f"HTTP {status}: access denied. IAM authentication (gremlin.iam_auth) requires valid"
                " credentials with permission to query the cluster, the cluster's region, and a clock"
                " accurate to five minutes"
            )
            return _permanent(GraphDenied(f"{address}: {problem}"), f"HTTP {status}")
        case 429:
            kind, problem = ErrorKind.THROTTLED, "too many connections: HTTP 429"
        case 500 | 502 | 503 | 504:
            kind, problem = ErrorKind.UNAVAILABLE, f"no connection: HTTP {status}"
        case _:
            usual = "its address is usually wss://host:8182/gremlin (ws:// without TLS)"
            kind, problem = ErrorKind.PERMANENT, f"not a Gremlin endpoint: HTTP {status}; {usual}"
    error = GraphUnreachable(f"{address}: {problem}")
    return ClassifiedError(kind, error, f"HTTP {status}", broken=True, answered=True)


def _classify_response(error: GremlinServerError, address: str) -> ClassifiedError:
    message = str(error.status_message)
    if "Server disconnected" in message:
        return _unavailable(address, "the server closed the connection")
    return replace(_classify_status(error, message, address), answered=True)


def _classify_status(error: GremlinServerError, message: str, address: str) -> ClassifiedError:
    code, detail = _parse_neptune_message(message)
    attributes = error.status_attributes or {}
    texts = f"{message} {attributes.get('exceptions', '')}"
    text = f"rejected by {address}: {one_line(detail)} ({code or f'status {error.status_code}'})"
    if code in _DENIED or error.status_code in _DENIED_STATUS:
        return ClassifiedError(ErrorKind.PERMANENT, GraphDenied(text), code)
    if code in _UNSUPPORTED or error.status_code in _UNSUPPORTED_STATUS:
        return ClassifiedError(ErrorKind.PERMANENT, GraphUnsupported(text), code or "unsupported")
    name = code or f"status {error.status_code}"
    if code in _BY_CODE:
        kind = _BY_CODE[code]
        is_disconnected = kind in (ErrorKind.UNAVAILABLE, ErrorKind.READ_ONLY)
        is_temporary = is_disconnected or kind is ErrorKind.THROTTLED
        final_error = GraphUnreachable(text) if is_temporary else GraphRejected(text)
        return ClassifiedError(kind, final_error, name, broken=is_disconnected)
    if any(conflict in texts for conflict in _CONFLICTS):
        return ClassifiedError(ErrorKind.CONFLICT, GraphRejected(text), name)
    return ClassifiedError(_BY_STATUS.get(error.status_code, ErrorKind.REJECTED), GraphRejected(text), name)


def _parse_neptune_message(message: str) -> tuple[str, str]:
    """Return Neptune's error code and detail; "" and the message for other servers."""
    match = _CODE.search(message)
    if not match:
        return "", message
    try:
        response: Any = json.loads(message)
    except ValueError:
        return match[1], message
    detail = response.get("detailedMessage") if isinstance(response, dict) else None
    return match[1], detail if isinstance(detail, str) else message


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

    def copy_for_part(self) -> "RetryState":
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
            raise _add_attempts(failure.error, f"tried {failures} times")
        seconds = _delay(policy, failures)
        if failure.kind is not ErrorKind.CONFLICT:
            remaining = self._since + self._seconds - now
            if remaining <= 0:
                error = failure.error
                raise _add_attempts(error, f"tried for {self._seconds:g} s") if self._seconds else error
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


def _add_attempts(error: GraphError, tried: str) -> GraphError:
    return type(error)(f"{error.message} ({tried})")
