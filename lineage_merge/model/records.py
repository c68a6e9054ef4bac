"""Records: elements in which references are ids and texts are redacted, from the sources to the merge."""

from typing import NamedTuple

from lineage_merge.model.elements import (
    Alias,
    Assertion,
    Column,
    Count,
    Dataset,
    Feeds,
    FeedsColumn,
    Follows,
    Influences,
    Job,
    ObservedLog,
    Operation,
    Problem,
    SuccessfulRuns,
    UnreadColumns,
    Writes,
)


class JoinedRecord(NamedTuple):
    """The dataset of a reference was found by a rule."""

    dataset: str
    rule: str


class ResolvedRecord(NamedTuple):
    """A name's id without the configuration, and the id of the dataset that the configuration resolves it to.

    `is_everywhere`: all references to the name resolve to it. Both are equal if a location has its own name
    and no rule matches.
    """

    name: str
    dataset: str
    is_everywhere: bool


class YieldRecord(NamedTuple):
    """The number of elements that a source, by its key, yields in one partition."""

    source: str
    elements: int


# Records between datasets or columns: what a temporary dataset in between is collapsed from.
LinkRecord = Feeds[str] | FeedsColumn[str] | Influences[str]
# Records that become nodes and edges.
ElementRecord = (
    Dataset[str]
    | Column[str]
    | Job
    | Assertion[str]
    | ObservedLog
    | Operation
    | LinkRecord
    | Follows
    | Writes[str]
)
Record = (
    ElementRecord
    | Alias[str]
    | JoinedRecord
    | ResolvedRecord
    | Problem
    | Count
    | YieldRecord
    | SuccessfulRuns
    | UnreadColumns
)
LINKS = (Feeds, FeedsColumn, Influences)


class CatalogEntry(NamedTuple):
    """An entry of a catalog (a table) with its records. `key` None: they are about the whole catalog."""

    key: str | None
    records: tuple[Record, ...]
