"""Elements of lineage as types (dataset, column, job, feeds, writes, ...), and their ids.

The interface between sources and merge: translators yield only these types (`Element`), and the merge reads
only these types. They depend on neither Spark nor Gremlin.

Translators do not resolve dataset names: they yield a `Reference` to the raw name, and workers replace it by
the dataset's id (`lineage_merge.merge.dataset_resolver`), which makes the element a record (`Record`). So
rules that need the raw text, such as the one for Redshift's temporary directories, have it.

Elements are named tuples, which pickle fast: millions of them pass between processes.
"""

import hashlib
from collections.abc import Mapping, Sequence
from enum import IntEnum
from typing import Generic, Literal, NamedTuple, TypeVar

DatasetLabel = Literal[
    "file",
    "table",
    "view",
    "topic",
    "seed",
    "snapshot",
    "exposure",
    "semantic_model",
    "metric",
    "saved_query",
]
Scalar = str | int
# Begins the namespace of what only a dbt project defines, ``dbt://{project}``: exposures, the semantic layer.
DBT_NAMESPACE = "dbt://"
# Separates the names of a field's path wherever a column is expected: a column's own name may have dots.
# Elements of arrays and values of maps have no name: ``items.sku`` is a field of the array's elements.
FIELD = "\x1f"
# Parts of a dataset's id; that of a column has one more, that of a field one for each level.
_DATASET_PARTS = 3


class DatasetName(NamedTuple):
    """An OpenLineage dataset name: ``("s3://tickit-raw", "sales")``."""

    namespace: str
    name: str


class Reference(NamedTuple):
    """A reference to a dataset, as a source contains it.

    With a `namespace`, the pair is a dataset name (dbt provides it). Without (``""``), `name` is the raw
    URI that Spline recorded, and `application` is the job that accessed it, for rules that depend on it.
    """

    namespace: str
    name: str
    application: str = ""


# How an element names a dataset: a reference, or the id that it is resolved to.
Ref = TypeVar("Ref", bound=Reference | str, covariant=True)


class JobKey(NamedTuple):
    """A job's type (`spark`, `dbt`) and its name, unique within a DAG."""

    job_type: str
    name: str


class Authority(IntEnum):
    """Precedence of sources with conflicting property values of a dataset, lowest first.

    The job that builds a dataset takes precedence over the catalog that lists it, then its platform, then
    jobs that only read it.
    """

    READER = 1
    PLATFORM = 2
    CATALOG = 3
    BUILDER = 4


class Dataset(NamedTuple, Generic[Ref]):
    """Properties of a dataset from one source.

    `authority`: an `Authority`. `label` is None if the source does not know it.
    """

    ref: Ref
    authority: int
    label: DatasetLabel | None = None
    properties: Mapping[str, Scalar] = {}
    sets: Mapping[str, Sequence[str]] = {}


class Column(NamedTuple, Generic[Ref]):
    """Properties of a column from one source: `data_type`, `position` (from 0), `description`; sets: `tags`.

    `name` may be a `field_path`. Names compare case-insensitively; the graph has the spelling with the
    highest authority.
    """

    ref: Ref
    name: str
    authority: int
    properties: Mapping[str, Scalar] = {}
    sets: Mapping[str, Sequence[str]] = {}


def column_properties(
    data_type: str = "", description: str = "", position: int | None = None
) -> dict[str, Scalar]:
    """Return the properties of a column that are known."""
    texts = {"data_type": data_type, "description": description}
    known: dict[str, Scalar] = {name: text for name, text in texts.items() if text.strip()}
    return known if position is None else {**known, "position": position}


class Job(NamedTuple):
    """A named process that moves data. `at`: ms since 1970; the newest counts."""

    key: JobKey
    at: int = 0
    properties: Mapping[str, Scalar] = {}
    sets: Mapping[str, Sequence[str]] = {}


class Assertion(NamedTuple, Generic[Ref]):
    """A check of a dataset, or of a `column` of it, that `job` makes: a dbt test, source freshness.

    `key` is unique within the job, "" if the job makes no other check. `edge`: the assertion `checks` the
    target, or `references` it (the other side of a relationship). `at`: ms since 1970; the newest counts.
    """

    job: JobKey
    target: Ref
    column: str = ""
    key: str = ""
    at: int = 0
    edge: Literal["checks", "references"] = "checks"
    properties: Mapping[str, Scalar] = {}
    sets: Mapping[str, Sequence[str]] = {}


class Feeds(NamedTuple, Generic[Ref]):
    """Data flows from `source` to `target`, moved by `job`.

    `is_run_local`: the run that reads the source had written it before.
    """

    job: JobKey
    source: Ref
    target: Ref
    properties: Mapping[str, Scalar] = {}
    sets: Mapping[str, Sequence[str]] = {}
    is_run_local: bool = False


class FeedsColumn(NamedTuple, Generic[Ref]):
    """The value of a column depends, directly or indirectly, on a column of another dataset.

    Both columns may be fields (`field_path`). `transformations` are names of
    `lineage_merge.column_lineage.transformations.Transformation`, `expression` is readable text, "" if the
    column is only renamed. `assumed`: the name of the target column is. `client`: 0 for the first of the
    clients that may report a run, more for those whose word counts less.
    """

    job: JobKey
    source: Ref
    source_column: str
    target: Ref
    target_column: str
    transformations: Sequence[str]
    expression: str = ""
    assumed: bool = False
    client: int = 0


class Influences(NamedTuple, Generic[Ref]):
    """A column, or a field (`field_path`), determines the rows of a dataset.

    `transformations` are names of `lineage_merge.column_lineage.transformations.InfluenceKind`.
    `assumed`: the name of the column is. `client`: as of `FeedsColumn`.
    """

    job: JobKey
    source: Ref
    source_column: str
    target: Ref
    transformations: Sequence[str]
    assumed: bool = False
    client: int = 0


class ObservedLog(NamedTuple):
    """The time for which the statements of a warehouse were read: ms since 1970.

    The reads of datasets of its `namespace` were counted.
    """

    namespace: str
    observed_from: int
    observed_until: int


class Operation(NamedTuple):
    """An operation of a job, from Spline. `key` is unique within the job and the same in every run."""

    job: JobKey
    key: str
    properties: Mapping[str, Scalar] = {}


class Follows(NamedTuple):
    """An operation consumes the output of another operation of the same job."""

    job: JobKey
    operation: str
    consumed: str


class Writes(NamedTuple, Generic[Ref]):
    """The job writes the dataset."""

    job: JobKey
    target: Ref


class Alias(NamedTuple, Generic[Ref]):
    """`ref` and `of` are one dataset, whose name is that of `of`; `rule` names the evidence.

    An `assumed` alias yields to any other alias of `ref`. Of ids, `text` is what the vertex says about the
    alias, and `properties` describe a dataset that no other element may describe.
    """

    ref: Ref
    of: Ref
    rule: str
    assumed: bool = False
    text: str = ""
    properties: tuple[tuple[str, Scalar], ...] = ()


ProblemKind = Literal[
    "rejected", "skipped", "not-joined", "silent", "no-columns", "no-producer", "no-consumer", "notice"
]


class Problem(NamedTuple):
    """A finding for the report.

    `rejected`: an invalid document, not read. `skipped`: a valid document without lineage. `not-joined`: a
    dataset whose identity is unknown or ambiguous. `silent`: a dataset (`document`) that earlier runs of a
    job (`field`) wrote, and its later runs did not report. `no-columns`: column lineage is unavailable,
    dataset lineage is complete. `no-producer`: a table that dbt reads and no job writes. `no-consumer`: a
    table that a job writes and no job reads. `notice`: the result is complete, but a fallback was used.
    `document` is the location (collection and key, file, or dataset), `field` the path in it, `source` the
    key of the source that found it, set where all sources are read.
    """

    kind: ProblemKind
    document: str
    field: str
    message: str
    source: str = ""

    def as_json(self) -> dict[str, str]:
        """Return a JSON object for scripts."""
        return {"kind": self.kind, "document": self.document, "field": self.field, "message": self.message}


class Count(NamedTuple):
    """The number of items that a source read (`what`: "execution plans"), summed up in the report."""

    what: str
    number: int


class SuccessfulRuns(NamedTuple):
    """The number of successful runs of a job that a source read."""

    job: JobKey
    number: int


class UnreadColumns(NamedTuple):
    """A job whose column lineage this merge cannot know: what the graph has of it is not retired."""

    job: JobKey


Element = (
    Dataset[Reference]
    | Column[Reference]
    | Job
    | Assertion[Reference]
    | ObservedLog
    | Operation
    | Feeds[Reference]
    | FeedsColumn[Reference]
    | Influences[Reference]
    | Follows
    | Writes[Reference]
    | Alias[Reference]
    | Problem
    | Count
    | SuccessfulRuns
    | UnreadColumns
)


def encode(part: str) -> str:
    """Percent-encode the separators of ids, so that ids are unique."""
    return part.replace("%", "%25").replace("|", "%7C")


def decode(part: str) -> str:
    """Reverse `encode`."""
    return part.replace("%7C", "|").replace("%25", "%")


def field_path(*names: str) -> str:
    """Return the path of a field of a structure, from its column down."""
    return FIELD.join(names)


def dot_path(column: str) -> str:
    """Return a column or a `field_path` as people write it: ``address.city``."""
    return column.replace(FIELD, ".")


def path_of(name: DatasetName) -> str:
    """Return the path of a dataset that is stored in files: ``s3://tickit-lake/sales_dl``, ``/data/x``."""
    if name.namespace == "file":
        return name.name
    return f"{name.namespace.rstrip('/')}/{name.name.lstrip('/')}"


def dataset_id(environment: str, name: DatasetName) -> str:
    """Return an id such as ``dev|s3://tickit-raw|sales``."""
    return f"{encode(environment)}|{encode(name.namespace)}|{encode(name.name)}"


def column_id(dataset: str, column: str) -> str:
    """Return an id such as ``dev|s3://tickit-raw|sales|pricepaid``, with the column in lower case.

    `column` may be a `field_path`: each name is a part of the id. Spark, Hive, Redshift and Snowflake compare
    columns case-insensitively: sources may spell one differently.
    """
    return f"{dataset}|{'|'.join(map(encode, column.lower().split(FIELD)))}"


def dataset_of(column_id: str) -> str:
    """Return the id of the dataset of a column or field; that of a dataset itself."""
    return "|".join(column_id.split("|", _DATASET_PARTS)[:_DATASET_PARTS])


def column_of(column_id: str) -> str:
    """Return the column or field of an id, as a `field_path` in lower case."""
    return FIELD.join(map(decode, column_id.split("|")[_DATASET_PARTS:]))


def is_column_id(identifier: str) -> bool:
    """Return whether an id is that of a column or field, not of a dataset."""
    return identifier.count("|") >= _DATASET_PARTS


def is_field(column_id: str) -> bool:
    """Return whether the id of a column or field is that of a field."""
    return column_id.count("|") > _DATASET_PARTS


def structures_of(column_id: str) -> list[str]:
    """Return the ids of the column and fields that contain a field, the column first; none for a column."""
    parts = column_id.split("|")
    return ["|".join(parts[:number]) for number in range(_DATASET_PARTS + 1, len(parts))]


def job_id(environment: str, dag_name: str, job: JobKey) -> str:
    """Return an id such as ``dev|tickit_daily|spark|tickit_sales_ingest``."""
    return "|".join(encode(part) for part in (environment, dag_name, *job))


def operation_id(job: str, key: str) -> str:
    """Return an id such as ``dev|tickit_daily|spark|tickit_sales_ingest|1:op-3``, from the id of its job."""
    return f"{job}|{encode(key)}"


def assertion_id(environment: str, dag_name: str, job: JobKey, key: str = "") -> str:
    """Return an id such as ``dev|tickit_daily|assertion|dbt|test.tickit.unique_sales_salesid.1a2b3c``.

    `key` distinguishes several assertions of one job.
    """
    parts = (environment, dag_name, "assertion", *job, *([key] if key else []))
    return "|".join(encode(part) for part in parts)


def query_log_id(environment: str, namespace: str) -> str:
    """Return an id such as ``dev|query_log|redshift://cluster.region:5439``."""
    return f"{encode(environment)}|query_log|{encode(namespace)}"


def edge_id(environment: str, dag_name: str, job: JobKey | None, from_id: str, label: str, to_id: str) -> str:
    """Return a stable hash of an edge's key: 20 hex digits (80 bits).

    `job` is None for edges of no job (`has_column`).
    """
    parts = (environment, dag_name, *(job or ()), from_id, label, to_id)
    text = "|".join(encode(part) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
