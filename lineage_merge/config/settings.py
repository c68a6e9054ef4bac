"""Typed settings of a validated configuration."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, Literal, TypeVar

from lineage_merge.config.policies import Policy
from lineage_merge.config.propagation import Propagation
from lineage_merge.infra.graph_files import EMBEDDED
from lineage_merge.infra.telemetry import Metrics
from lineage_merge.model.times import UNITS

# Location of a history that is not written.
NO_HISTORY = "none"

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that maps a location, or an application, to a dataset.

    `match` is searched in the original URI; `dataset` may contain its named groups. With `application`
    (a glob) the rule applies only to datasets that this application reads or writes.
    """

    name: str
    dataset: str
    match: str = ""
    application: str = ""


@dataclass(frozen=True, slots=True)
class Expect:
    """What a merge must join. `joined`: pairs of datasets, with lineage from the first to the second."""

    joined_at_least: int = 0
    joined: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class DismissedNearMiss:
    """A near miss that is two datasets, as `by` decided.

    `written`, `read`: as reports print them, or ids. `until`: last day of it (None: no end). `score`,
    `evidence`: when it was dismissed; 0 and "": any.
    """

    written: str
    read: str
    by: str
    reason: str
    until: date | None = None
    score: int = 0
    evidence: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """How names are qualified and joined, and which temporary datasets are collapsed.

    `default_schemas`: database.schema by namespace. `collapse_datasets`: globs on paths of datasets.
    `collapse_run_local`: also collapse datasets that only the run that writes them reads. `expect`: what must
    be joined. `dismissed_near_misses`: near misses that are not reported.
    """

    default_schemas: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    collapse_datasets: tuple[str, ...] = ()
    collapse_run_local: bool = False
    expect: Expect = field(default_factory=Expect)
    dismissed_near_misses: tuple[DismissedNearMiss, ...] = ()


@dataclass(frozen=True, slots=True)
class MetadataRule:
    """Tags, owners and a description of the datasets that match a glob, or of their columns (`column`).

    The description is used for datasets that have none.
    """

    dataset: str
    column: str = ""
    tags: tuple[str, ...] = ()
    owners: tuple[str, ...] = ()
    description: str = ""


@dataclass(frozen=True, slots=True)
class Bulk:
    """Neptune's bulk loader: files below `s3`, read by the cluster as `role_arn`.

    `min_changes`: `gremlin.mode` auto uses the loader for more changed elements. `timeout_seconds` includes
    waiting in the queue. `endpoint`: address of the loader ("": that of Gremlin).
    """

    s3: str
    role_arn: str
    min_changes: int = 50_000
    parallelism: str = "HIGH"
    timeout_seconds: float = 3600.0
    keep_files: bool = False
    endpoint: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Gremlin:
    """Connection to the graph.

    `iam_auth`: sign connections (Neptune), for `region` ("": the endpoint's, or that of the AWS chain) and as
    `role_arn` ("": no role is assumed). `retry_seconds`: how long a request is retried while the graph is
    unavailable or busy. `writers`: maximum concurrent write requests (0: two per partition that the engine
    computes at a time). `mode`: over Gremlin, in `bulk`, or by the number of changes (`auto`).
    """

    endpoint: str = field(default=EMBEDDED, repr=False)  # may contain a password
    timeout_seconds: float = 60.0
    retry_seconds: float = 300.0
    reader_endpoint: str = field(default="", repr=False)
    iam_auth: bool = False
    region: str = ""
    role_arn: str = ""
    mode: Literal["gremlin", "bulk", "auto"] = "gremlin"
    bulk: Bulk | None = None
    writers: int = 0


@dataclass(frozen=True, slots=True)
class Load:
    """How a load updates the graph.

    `allow_retire`: retire also a large part of a DAG. `verify`: compare everything that the graph stores
    for the DAG, not only changes since the last load.
    """

    allow_retire: bool = False
    verify: bool = False


@dataclass(frozen=True, slots=True)
class History:
    """The history of merges: its `location`, a folder or prefix in S3 ("": only beside an embedded graph).

    `keep`: age from which `history compact` deletes merges, such as ``400d`` ("": never). `run_id`,
    `logical_date`: of the orchestrator's run, stored with the merge.
    """

    location: str = ""
    keep: str = ""
    run_id: str = ""
    logical_date: str = ""

    @property
    def keep_days(self) -> int | None:
        """The age in days; None: merges are never deleted."""
        return int(self.keep[:-1]) * UNITS[self.keep[-1]].days if self.keep else None


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Settings of queries. `layers`: in their order, each with globs; a dataset matches any of them."""

    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session, if none is running. `kafka`: with Spark's Kafka source.

    `distribute_above_mb`: maximum input that one task reads and the driver merges; 0: always distribute.
    """

    master: str = ""
    partitions: int = 0
    distribute_above_mb: int = 64
    kafka: bool = False


@dataclass(frozen=True, slots=True)
class Log:
    """Log output of a run: `text`, or `json` lines."""

    format: Literal["text", "json"] = "text"


@dataclass(frozen=True, slots=True)
class Config:
    """The validated configuration."""

    dag_name: str
    environment: str
    # Settings by key of the source, as its section parses them.
    sources: Mapping[str, Any] = field(default_factory=dict)
    merge: Merge = field(default_factory=Merge)
    # None: the section is missing, and tags of earlier merges stay.
    metadata: tuple[MetadataRule, ...] | None = None
    # By tag; `*`: tags without settings.
    propagation: Mapping[str, Propagation] = field(default_factory=dict)
    gremlin: Gremlin = field(default_factory=Gremlin)
    load: Load = field(default_factory=Load)
    history: History = field(default_factory=History)
    query: QuerySettings = field(default_factory=QuerySettings)
    policies: tuple[Policy, ...] = ()
    spark: SparkOptions = field(default_factory=SparkOptions)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    # Settings by name of the exporter, valid by the schema of `exporters.registry`.
    exporters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strict: bool = False

    def of(self, kind: type[Settings]) -> Settings | None:
        """Return the source settings of a class, None if that source is not configured."""
        return next((settings for settings in self.sources.values() if isinstance(settings, kind)), None)
