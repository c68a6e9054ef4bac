"""The words of the project as types: dataset, job, feeds, writes, and their ids.

A source's translation yields these elements and nothing else (`Element`), the merge
reads nothing else, so a new source needs to know only this module. The types hold no
Spark and no Gremlin.

A translation does not name datasets by itself: it says what it saw, as a `Reference`,
and the merge finds out which dataset that is (`lineage_merge.merge.names`). So rules
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

    Who builds a dataset decides what it is, then the platform it lies on, then who only
    reads it.
    """

    READER = 1
    PLATFORM = 2
    BUILDER = 3


@dataclass(frozen=True, slots=True)
class Dataset:
    """What a source knows about one dataset. `label` None: no opinion what it is."""

    ref: Reference
    authority: Authority
    label: DatasetLabel | None = None
    properties: Mapping[str, Scalar] = field(default_factory=dict)
    sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


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
class Writes:
    """The job writes the dataset."""

    job: JobKey
    target: Reference


@dataclass(frozen=True, slots=True)
class Alias:
    """Two references are one dataset, which is named by `of`; `rule` says how that is known."""

    ref: Reference
    of: Reference
    rule: str


ProblemKind = Literal["rejected", "skipped", "not-joined", "unfed", "unread", "notice"]


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that a person should know of.

    `rejected`: a broken document, left out. `skipped`: a whole document that is fine but
    says nothing usable. `not-joined`: a dataset whose identity is unknown or could be several.
    `unfed`: a table that dbt reads and nothing writes. `unread`: what Spark writes and nothing reads.
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


Element = Dataset | Job | Feeds | Writes | Alias | Problem | Count


def encode(part: str) -> str:
    """Percent-encode what separates the parts of an id, so that no two things share one."""
    return part.replace("%", "%25").replace("|", "%7C")


def dataset_id(environment: str, name: DatasetName) -> str:
    """``dev|s3://tickit-raw|sales``."""
    return f"{encode(environment)}|{encode(name.namespace)}|{encode(name.name)}"


def job_id(environment: str, dag_name: str, job: JobKey) -> str:
    """``dev|tickit_daily|spark|tickit_sales_ingest``."""
    return "|".join(encode(part) for part in (environment, dag_name, *job))


def edge_id(environment: str, dag_name: str, job: JobKey, from_id: str, label: str, to_id: str) -> str:
    """A hash of what makes an edge itself: 20 hex digits (80 bits), the same everywhere.

    `lineage_merge.merge.join` computes the same in Spark.
    """
    parts = (environment, dag_name, *job, from_id, label, to_id)
    text = "|".join(encode(part) for part in parts)
    return hashlib.sha256(text.encode()).hexdigest()[:20]
