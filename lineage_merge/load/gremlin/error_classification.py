"""What went wrong with a request, and what to do about it: every error of the graph gets its kind here.

Neptune names its errors: the status message of a Gremlin answer is JSON with ``code``,
``detailedMessage`` and ``requestId`` (AWS, "Graph engine error messages and codes"; which code
each error has, and which may pass when tried again, also stands in botocore's model of
``neptunedata``). Gremlin Server has status codes and the words of Java's exceptions.
"""

import json
import re
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

import aiohttp
from gremlin_python.driver.protocol import ConfigurationError, GremlinServerError

from lineage_merge.model.errors import (
    GraphDenied,
    GraphError,
    GraphRejected,
    GraphUnreachable,
    GraphUnsupported,
)

_LONGEST_MESSAGE = 500


class ErrorKind(Enum):
    """What an error asks for."""

    CONFLICT = auto()  # another writer was in the way: soon again
    READ_ONLY = auto()  # a failover made a reader of the instance: a new connection, then again
    UNAVAILABLE = auto()  # no connection, a lost one, no answer: a new connection, then again
    THROTTLED = auto()  # throttled, too many requests: later again
    RESOURCE_EXHAUSTED = auto()  # out of memory or time: later again, in smaller parts
    TOO_LARGE = auto()  # the text of a request is too long: in smaller parts
    INTERNAL = auto()  # the server failed and does not say why: a few times again
    REJECTED = auto()  # this very element, perhaps: by itself, to find out which
    PERMANENT = auto()  # wrong whenever it is sent


@dataclass(frozen=True, slots=True)
class ClassifiedError:
    """An error with its kind, and what to raise if it stays.

    `broken`: the connection cannot be used again, and it is unknown whether the request was carried
    out. `answered`: the endpoint itself reported the error, so it is reachable. `name` says in a word what
    it was, for a log.
    """

    kind: ErrorKind
    error: GraphError
    name: str
    broken: bool = False
    answered: bool = False


class UnexpectedAnswer(ConnectionError):
    """An answer that cannot be one to the request under way: a text, or one to an earlier request."""


_BY_CODE = {
    "ConcurrentModificationException": ErrorKind.CONFLICT,
    # "the durability of both in- and out-vertices when adding an edge": seen while others write.
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
# About the language of a request, which is the same for all elements.
_NOT_UNDERSTOOD = frozenset(
    {
        "MalformedQueryException",
        "UnsupportedOperationException",
        "MethodNotAllowedException",
        "InvalidParameterException",
        "MissingParameterException",
        "InvalidArgumentException",
        "IllegalArgumentException",
        "ParsingException",
        "ValidationException",
    }
)

# Of the Gremlin protocol: https://tinkerpop.apache.org/docs/3.7.3/dev/provider/#_graph_driver_provider_requirements
_BY_STATUS = {596: ErrorKind.CONFLICT, 598: ErrorKind.RESOURCE_EXHAUSTED}
_NO_RIGHT = frozenset({401, 403})
_WRONG_REQUEST = frozenset({498, 499})

# The words of TinkerTransactionGraph, and of two requests that create the same vertex at once.
_CONFLICTS = (
    "ConcurrentModification",
    "TransactionException",
    "Conflict: element modified in another transaction",
    "with id already exists",
)

# gremlinpython raises these as RuntimeError.
_CLOSED = ("Connection was closed", "Connection was already closed", "Event loop is closed")
_UNREADABLE = "Received error on read"

_CODE = re.compile(r'"code"\s*:\s*"(\w+)"')


def classify(error: BaseException, address: str) -> ClassifiedError | None:
    """The kind of an error of gremlinpython, aiohttp or this package; None of any other.

    `address` names the graph in messages. Each is one line and repeats no header and no URL.
    """
    match error:
        case GraphError():
            return ClassifiedError(_kind_of_own(error), error, type(error).__name__, broken=True)
        case GremlinServerError():
            return _of_answer(error, address)
        case UnexpectedAnswer():
            return _away(address, "an answer that belongs to no request")
        case ConfigurationError():
            denied = GraphDenied(f"{address}: the server asks for a user and password")
            return ClassifiedError(ErrorKind.PERMANENT, denied, "no password", broken=True)
        case aiohttp.WSServerHandshakeError():
            return _of_handshake(error.status, address)
        case aiohttp.ClientSSLError():
            # Not its text: that repeats the certificate.
            reason = getattr(error.__cause__ or error, "verify_message", "") or "TLS failed"
            untrusted = GraphUnreachable(f"{address}: no secure connection: {reason}")
            return ClassifiedError(ErrorKind.PERMANENT, untrusted, "TLS", broken=True)
        case aiohttp.InvalidURL() | aiohttp.NonHttpUrlClientError():
            return ClassifiedError(
                ErrorKind.PERMANENT, GraphUnreachable(f"{address}: no such address"), "address", broken=True
            )
        case TimeoutError():
            return _away(address, "no answer in time")
        case aiohttp.ClientError() | ConnectionError() | CancelledError():
            return _away(address, f"no connection: {reason_of(error)}")
        case RuntimeError() | AttributeError() if _is_closed(error):
            return _away(address, "the server closed the connection")
        case RuntimeError() if str(error).startswith(_UNREADABLE):
            if "exceeds limit" in str(error):
                too_long = GraphRejected(f"{address}: an answer is too long to be read")
                return ClassifiedError(ErrorKind.PERMANENT, too_long, "too long", broken=True)
            return _away(address, "the server closed the connection")
        case _:
            return None


def _kind_of_own(error: GraphError) -> ErrorKind:
    return ErrorKind.UNAVAILABLE if type(error) is GraphUnreachable else ErrorKind.PERMANENT


def _is_closed(error: Exception) -> bool:
    # After a failure the driver hands out the same connection again, without its socket.
    return str(error).startswith((*_CLOSED, "'NoneType' object has no attribute 'send_bytes'"))


def _away(address: str, problem: str) -> ClassifiedError:
    return ClassifiedError(
        ErrorKind.UNAVAILABLE, GraphUnreachable(f"{address}: {problem}"), problem, broken=True
    )


def reason_of(error: BaseException) -> str:
    """Why there is no connection, in a word or two."""
    if isinstance(error, TimeoutError):
        return "no answer in time"
    return getattr(error, "strerror", None) or type(error).__name__


def _of_handshake(status: int, address: str) -> ClassifiedError:
    # Not the error's text: that repeats the whole URL. Nor the body: of a wrong signature it may
    # repeat what was signed, a session token with it.
    match status:
        case 401 | 403:
            problem = (
                f"HTTP {status}: no access. With IAM authentication (gremlin.iam_auth) it needs credentials"
                " that are still valid, their right to query the cluster, the cluster's region,"
                " and a clock that is right to five minutes"
            )
            return ClassifiedError(
                ErrorKind.PERMANENT, GraphDenied(f"{address}: {problem}"), f"HTTP {status}", broken=True
            )
        case 429:
            kind, problem = ErrorKind.THROTTLED, "too many connections: HTTP 429"
        case 500 | 502 | 503 | 504:
            kind, problem = ErrorKind.UNAVAILABLE, f"no connection: HTTP {status}"
        case _:
            kind, problem = ErrorKind.PERMANENT, f"no Gremlin endpoint, the answer was HTTP {status}"
    stays = GraphUnreachable(f"{address}: {problem}")
    return ClassifiedError(kind, stays, f"HTTP {status}", broken=True, answered=True)


def _of_answer(error: GremlinServerError, address: str) -> ClassifiedError:
    message = str(error.status_message)
    if "Server disconnected" in message:
        return _away(address, "the server closed the connection")
    return replace(_of_status(error, message, address), answered=True)


def _of_status(error: GremlinServerError, message: str, address: str) -> ClassifiedError:
    code, told = _neptune(message)
    attributes = error.status_attributes or {}
    words = f"{message} {attributes.get('exceptions', '')}"
    text = f"refused by {address}: {_line(told)} ({code or f'status {error.status_code}'})"
    if code in _DENIED or error.status_code in _NO_RIGHT:
        return ClassifiedError(ErrorKind.PERMANENT, GraphDenied(text), code)
    if code in _NOT_UNDERSTOOD or error.status_code in _WRONG_REQUEST:
        return ClassifiedError(ErrorKind.PERMANENT, GraphUnsupported(text), code or "not understood")
    name = code or f"status {error.status_code}"
    if code in _BY_CODE:
        kind = _BY_CODE[code]
        gone = kind in (ErrorKind.UNAVAILABLE, ErrorKind.READ_ONLY)
        stays = GraphUnreachable(text) if gone or kind is ErrorKind.THROTTLED else GraphRejected(text)
        return ClassifiedError(kind, stays, name, broken=gone)
    if any(sign in words for sign in _CONFLICTS):
        return ClassifiedError(ErrorKind.CONFLICT, GraphRejected(text), name)
    return ClassifiedError(_BY_STATUS.get(error.status_code, ErrorKind.REJECTED), GraphRejected(text), name)


def _neptune(message: str) -> tuple[str, str]:
    """Neptune's code and words; "" and the message where it is another server's."""
    found = _CODE.search(message)
    if not found:
        return "", message
    try:
        answer: Any = json.loads(message)
    except ValueError:
        return found[1], message
    detail = answer.get("detailedMessage") if isinstance(answer, dict) else None
    return found[1], detail if isinstance(detail, str) else message


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST_MESSAGE else f"{line[: _LONGEST_MESSAGE - 3]}..."
