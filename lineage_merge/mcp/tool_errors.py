"""Errors as a client gets them: short, without tracebacks, addresses and paths of this machine."""

import re
from typing import Any

from pydantic import ValidationError

from lineage_merge.mcp.untrusted_text import cut, format_text, texts
from lineage_merge.model.errors import (
    Ambiguous,
    ConfigError,
    EmbeddedError,
    GraphDenied,
    GraphError,
    GraphUnreachable,
    IntermediateError,
    NotFound,
    QueryError,
    SourceError,
)

_MESSAGE = 400
_CANDIDATES = 10
_CANDIDATE = 300
# The options of the command line that messages name, as arguments of the tools.
_ARGUMENTS = {"--environment": "environment", "--as-of": "as_of", "--from": "start", "--to": "end"}
_DETAILS = "The log of the server has details"
_BY_CLASS: tuple[tuple[type[Exception], str, str], ...] = (
    (GraphUnreachable, "unreachable", f"the graph is unreachable. Fix: try again later. {_DETAILS}"),
    (GraphDenied, "denied", f"the graph rejects the credentials of the server. {_DETAILS}"),
    (GraphError, "graph", f"the graph rejected the question. {_DETAILS}"),
    (EmbeddedError, "unreadable", f"the embedded graph cannot be read. {_DETAILS}"),
    (IntermediateError, "unreadable", f"the files of the graph or its history cannot be read. {_DETAILS}"),
    (SourceError, "unreadable", f"the files of the graph or its history cannot be read. {_DETAILS}"),
    (ConfigError, "configuration", f"the configuration of the server is invalid. {_DETAILS}"),
)
# Of an ambiguous name: ids are among the candidates.
_LONGER_NAME = re.compile(r"; use a longer name, --environment or --dag")
# After the location, which is one of this machine.
_NO_HISTORY = ": no history"
_INTERNAL = ("internal", f"internal error. {_DETAILS}")


class DemoMissing(QueryError):
    """The graph of the demo is not built yet, or cannot be built."""


class Busy(QueryError):
    """A question took too long, or too many are running."""


def as_error(error: Exception) -> dict[str, Any]:
    """Return an error as JSON: its kind, one line, and candidates for a name."""
    kind, message = _explain(error)
    answer: dict[str, Any] = {"error": kind, "message": format_text(message, _MESSAGE)}
    if isinstance(error, NotFound | Ambiguous) and error.candidates:
        answer["candidates"] = [cut(text, _CANDIDATE) for text in texts(error.candidates[:_CANDIDATES])]
        if len(error.candidates) > _CANDIDATES:
            answer["more_candidates"] = len(error.candidates) - _CANDIDATES
    return answer


def is_expected(error: Exception) -> bool:
    """Whether the client alone can correct it: nothing for the log."""
    return isinstance(error, QueryError | ValidationError) or _moment(error) is not None


def _explain(error: Exception) -> tuple[str, str]:
    if isinstance(error, ValidationError):
        return "arguments", "; ".join(_invalid(error))
    if (problem := _moment(error)) is not None:
        return "arguments", problem
    if isinstance(error, QueryError):
        kinds = {NotFound: "not_found", Ambiguous: "ambiguous", Busy: "busy", DemoMissing: "not_ready"}
        return kinds.get(type(error), "question"), _as_arguments(error.message)
    for kind, name, message in _BY_CLASS:
        if isinstance(error, kind):
            return name, message
    return _INTERNAL


def _moment(error: Exception) -> str | None:
    """Return the problem of a moment that a client set; None for other errors."""
    if not isinstance(error, ConfigError):
        return None
    if error.key in ("--as-of", "--from", "--to"):
        return f"{_ARGUMENTS[error.key]}: {error.problem}"
    if error.key == "history.location":
        return "this graph has no history: as_of, diff and history need one"
    return None


def _as_arguments(message: str) -> str:
    """Return a message without the location of a history, and with arguments in place of options."""
    if _NO_HISTORY in message:
        message = f"no history{message.partition(_NO_HISTORY)[2]}"
    message = _LONGER_NAME.sub("; use an id", message)
    for option, argument in _ARGUMENTS.items():
        message = message.replace(option, argument)
    return message.removesuffix(":")


def _invalid(error: ValidationError) -> list[str]:
    problems = []
    for problem in error.errors(include_url=False, include_context=False, include_input=False)[:5]:
        name = ".".join(map(str, problem["loc"]))
        problems.append(f"{format_text(name, 60)}: {format_text(problem['msg'], 160)}")
    return problems
