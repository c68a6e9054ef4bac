"""Records: elements with ids and redacted texts, as they pass from the sources to the merge.

Each kind has a type. They are named tuples, which pickle fast: millions of them pass between processes.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from lineage_merge.model.elements import JobKey, Problem


class DatasetRecord(NamedTuple):
    """Properties of a dataset from one source."""

    dataset: str
    label: str | None
    authority: int
    properties: Mapping[str, str] = {}
    sets: Mapping[str, Sequence[str]] = {}


class ColumnRecord(NamedTuple):
    """Properties of a column from one source."""

    dataset: str
    column: str
    authority: int
    properties: Mapping[str, str] = {}
    sets: Mapping[str, Sequence[str]] = {}


class JobRecord(NamedTuple):
    """Properties of a job, as of `at`."""

    job: JobKey
    at: int
    properties: Mapping[str, str] = {}
    sets: Mapping[str, Sequence[str]] = {}


class AssertionRecord(NamedTuple):
    """A check by `job` of a dataset, or of a column of it; `edge` is the label of the edge between them."""

    job: JobKey
    key: str
    target: str
    column: str | None
    edge: str
    at: int
    properties: Mapping[str, str] = {}
    sets: Mapping[str, Sequence[str]] = {}


class ObservedLogRecord(NamedTuple):
    """The time for which the statements of a warehouse were read."""

    namespace: str
    observed_from: int
    observed_until: int


class OperationRecord(NamedTuple):
    """An operation of a job."""

    job: JobKey
    key: str
    properties: Mapping[str, str] = {}


class FeedsRecord(NamedTuple):
    """A dataset feeds another. `is_run_local`: the run that reads the source had written it before."""

    job: JobKey
    source: str
    target: str
    properties: Mapping[str, str] = {}
    sets: Mapping[str, Sequence[str]] = {}
    is_run_local: bool = False


class FeedsColumnRecord(NamedTuple):
    """A column feeds another. `is_assumed`: the name of a column is assumed."""

    job: JobKey
    source: str
    source_column: str
    target: str
    target_column: str
    transformations: Sequence[str]
    expressions: Sequence[str] = ()
    is_assumed: bool = False


class InfluencesRecord(NamedTuple):
    """A column determines the rows of a dataset. `is_assumed`: the name of the column is assumed."""

    job: JobKey
    source: str
    source_column: str
    target: str
    transformations: Sequence[str]
    is_assumed: bool = False


class FollowsRecord(NamedTuple):
    """An operation consumes the output of another; both are keys within the job."""

    job: JobKey
    operation: str
    consumed: str


class WritesRecord(NamedTuple):
    """A job writes a dataset."""

    job: JobKey
    target: str


class AliasRecord(NamedTuple):
    """`alias` and `dataset` are one dataset, by a rule; `text` is what its vertex says about the alias.

    Of several datasets of one alias, those with the highest authority count. `properties` describe a dataset
    that no other record may describe.
    """

    alias: str
    dataset: str
    authority: int
    rule: str
    text: str
    properties: Mapping[str, str] = {}


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


class ProblemRecord(NamedTuple):
    """A problem; `source` is the key of the source that found it, set where all sources are read."""

    problem: Problem
    source: str | None = None


class CountRecord(NamedTuple):
    """The number of items that a source read."""

    items: str
    number: int


class YieldRecord(NamedTuple):
    """The number of elements that a source, by its key, yields in one partition."""

    source: str
    elements: int


class RunsRecord(NamedTuple):
    """The number of a job's successful runs that a source read.

    A target that none of them wrote is retired after `spline.retire_after` runs.
    """

    job: JobKey
    number: int


class UnreadColumnsRecord(NamedTuple):
    """A job of whose column lineage nothing is retired, because the merge cannot know it."""

    job: JobKey


# Records between datasets or columns: what a temporary dataset in between is collapsed from.
LinkRecord = FeedsRecord | FeedsColumnRecord | InfluencesRecord
# Records that become nodes and edges.
ElementRecord = (
    DatasetRecord
    | ColumnRecord
    | JobRecord
    | AssertionRecord
    | ObservedLogRecord
    | OperationRecord
    | LinkRecord
    | FollowsRecord
    | WritesRecord
)
Record = (
    ElementRecord
    | AliasRecord
    | JoinedRecord
    | ResolvedRecord
    | ProblemRecord
    | CountRecord
    | YieldRecord
    | RunsRecord
    | UnreadColumnsRecord
)


class CatalogEntry(NamedTuple):
    """An entry of a catalog (a table) with its records. `key` None: they are about the whole catalog."""

    key: str | None
    records: tuple[Record, ...]
