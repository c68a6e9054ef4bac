"""The words of the project as types: dataset, column, job, feeds, writes, and their ids.

A source's translation yields these elements and nothing else (`Element`), the merge
reads nothing else, so a new source needs to know only this module. The types hold no
Spark and no Gremlin.

A translation does not name datasets by itself: it says what it saw, as a `Reference`,
and the merge finds out which dataset that is (`lineage_merge.merge.dataset_resolver`). So rules
that need the raw text, such as the one for Redshift's temporary directories, see it.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, NamedTuple

DatasetLabel = Literal["file", "table", "view", "topic", "seed", "snapshot", "exposure"]
Scalar = str | int


class DatasetName(NamedTuple):
    """What OpenLineage calls a dataset: ``("s3://tickit-raw", "sales")``."""

    namespace: str
    name: str


class Reference(NamedTuple):
    """A dataset as a source mentions it.

    With a `namespace`, the pair is a dataset's name already (dbt knows it). Without
    (``""``), `name` is a raw URI, just as Spline recorded it, and `application` is the
    job that touched it: some rules look at that.
    """

    namespace: str
    name: str
    application: str = ""


class JobKey(NamedTuple):
    """A job's type (`spark`, `dbt`) and its name, unique within a DAG."""

    job_type: str
    name: str


class Authority(IntEnum):
    """Whose word counts when two sides tell a property of a dataset differently.

    Who builds a dataset decides what it is, then the catalog that lists it, then the platform
    it lies on, then who only reads it.
    """

    READER = 1
    PLATFORM = 2
    CATALOG = 3
    BUILDER = 4


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a source knows about one dataset. `label` None: no opinion what it is."""

    ref: Reference
    authority: Authority
    label: DatasetLabel | None = None
    properties: Mapping[str, Scalar] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """What a source knows about one column of a dataset: `data_type`, `position` (from 0), `description`.

    Columns compare without case; the name that counts most is shown as it is spelled.
    """

    ref: Reference
    name: str
    authority: Authority
    properties: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Job:
    """What moves data under one name. `at` (ms since 1970) says which of two is newer."""

    key: JobKey
    at: int = 0
    properties: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Feeds:
    """Data flows from `source` to `target`, moved by `job`."""

    job: JobKey
    source: Reference
    target: Reference
    properties: Mapping[str, Scalar] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FeedsColumn:
    """A column's value is made of, or steered by, another dataset's column.

    `transformations` are names of `lineage_merge.column_lineage.transformations.Transformation`, `expression`
    is readable text, "" where the column is only renamed.
    """

    job: JobKey
    source: Reference
    source_column: str
    target: Reference
    target_column: str
    transformations: tuple[str, ...]
    expression: str = ""


@dataclass(frozen=True, slots=True)
class Influences:
    """A column decides which rows a dataset has.

    `transformations` are names of `lineage_merge.column_lineage.transformations.InfluenceKind`.
    """

    job: JobKey
    source: Reference
    source_column: str
    target: Reference
    transformations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    """One step of a job, as Spline keeps it. `key` is unique within the job, run after run."""

    job: JobKey
    key: str
    properties: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Follows:
    """An operation consumes what another one of the same job puts out."""

    job: JobKey
    operation: str
    consumed: str


@dataclass(frozen=True, slots=True)
class Writes:
    """The job writes the dataset."""

    job: JobKey
    target: Reference


@dataclass(frozen=True, slots=True)
class Alias:
    """Two references are one dataset, which is named by `of`; `rule` says how that is known.

    One that is `assumed` holds only where nobody knows better.
    """

    ref: Reference
    of: Reference
    rule: str
    assumed: bool = False


ProblemKind = Literal[
    "rejected", "skipped", "not-joined", "no-columns", "no-producer", "no-consumer", "notice"
]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a person should know of.

    `rejected`: a broken document, left out. `skipped`: a whole document that is fine but
    says nothing usable. `not-joined`: a dataset whose identity is unknown or could be several.
    `no-columns`: something whose columns could not be told; its datasets are there.
    `no-producer`: a table that dbt reads and nothing writes.
    `no-consumer`: what Spark writes and nothing reads.
    `notice`: the result is complete, but was made another way than usual.
    `document` names the place (collection and key, file, or dataset), `field` the path in it.
    """

    kind: ProblemKind
    document: str
    field: str
    message: str


@dataclass(frozen=True, slots=True)
class Count:
    """How many of something a source read (`what`: "execution plans"); a report adds them up."""

    what: str
    number: int


Element = (
    Dataset
    | Column
    | Job
    | Operation
    | Feeds
    | FeedsColumn
    | Influences
    | Follows
    | Writes
    | Alias
    | Problem
    | Count
)


def encode(part: str) -> str:
    """Percent-encode what separates the parts of an id, so that no two things share one."""
    return part.replace("%", "%25").replace("|", "%7C")


def decode(part: str) -> str:
    """A part of an id as it was before `encode`."""
    return part.replace("%7C", "|").replace("%25", "%")


def dataset_id(environment: str, name: DatasetName) -> str:
    """``dev|s3://tickit-raw|sales``."""
    return f"{encode(environment)}|{encode(name.namespace)}|{encode(name.name)}"


def column_id(dataset: str, column: str) -> str:
    """``dev|s3://tickit-raw|sales|pricepaid``: of the dataset's id, the column without case.

    Spark, Hive, Redshift and Snowflake compare columns without case: two sources that spell one
    differently mean the same, whichever comes first.
    """
    return f"{dataset}|{encode(column.lower())}"


def job_id(environment: str, dag_name: str, job: JobKey) -> str:
    """``dev|tickit_daily|spark|tickit_sales_ingest``."""
    return "|".join(encode(part) for part in (environment, dag_name, *job))


def operation_id(job: str, key: str) -> str:
    """``dev|tickit_daily|spark|tickit_sales_ingest|1:op-3``: of the job's id."""
    return f"{job}|{encode(key)}"


def edge_id(environment: str, dag_name: str, job: JobKey | None, from_id: str, label: str, to_id: str) -> str:
    """A hash of what makes an edge itself: 20 hex digits (80 bits), the same everywhere.

    `job` None: the edge belongs to the DAG alone (`has_column`). `lineage_merge.merge.edges`
    computes the same in Spark.
    """
    parts = (environment, dag_name, *(job or ()), from_id, label, to_id)
    text = "|".join(encode(part) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
