"""The configuration, checked: what the rest of the program is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.spline.settings import Spline

EMBEDDED = "embedded"

Settings = TypeVar("Settings")


@dataclass(frozen=True, slots=True)
class Rule:
    """A location, or an application, that stands for a dataset.

    `match` is searched in the raw URI; `dataset` may use its named groups. With
    `application` (a glob) the rule holds only for what that job writes or reads.
    """

    name: str
    dataset: str
    match: str = ""
    application: str = ""


@dataclass(frozen=True, slots=True)
class Merge:
    """How names are completed and joined, and which datasets are folded away.

    `fold`: globs on a dataset's path. `fold_run_local`: what only the run reads that writes it.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()
    fold: tuple[str, ...] = ()
    fold_run_local: bool = False


@dataclass(frozen=True, slots=True)
class Bulk:
    """Neptune's bulk loader: files below `s3`, read by the cluster as `role_arn`.

    `above`: how many elements differ before `gremlin.mode` auto takes it. `timeout_seconds` is for
    waiting in the queue and loading. `endpoint`: where the loader answers, if not where Gremlin does.
    """

    s3: str
    role_arn: str
    above: int = 50_000
    parallelism: str = "HIGH"
    timeout_seconds: float = 3600.0
    keep_files: bool = False
    endpoint: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Gremlin:
    """The graph.

    `iam_auth`: connections are signed (Neptune), for `region` ("": the endpoint's, or that of the AWS chain)
    and as `role_arn` ("": as whoever runs this). `retry_seconds`: how long a request is tried again while the
    graph is away or busy. `writers`: most requests under way at once that write (0: two for each partition
    that the engine computes at a time). `mode`: over Gremlin, in `bulk`, or whichever suits what differs
    (`auto`).
    """

    endpoint: str = field(default=EMBEDDED, repr=False)  # an address may hold a password
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
    """What a load may do: `allow_retire` goes on where much of a DAG would be retired.

    `verify`: all that the graph has of the DAG is compared, not only what changed since the last load.
    """

    allow_retire: bool = False
    verify: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What questions need to know. `layers`: in their order, each with globs of which one is enough."""

    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session that is started where none runs yet. `kafka`: with Spark's Kafka source.

    `distribute_above_mb`: input of up to so many MB is read by one task, and merged in the driver; 0: never.
    """

    master: str = ""
    partitions: int = 0
    distribute_above_mb: int = 32
    kafka: bool = False


@dataclass(frozen=True, slots=True)
class Log:
    """What a run says while it works: `text` for people, or `json` lines."""

    format: Literal["text", "json"] = "text"


@dataclass(frozen=True, slots=True)
class Metrics:
    """Counts of each run as CloudWatch's Embedded Metric Format, if asked for."""

    format: Literal["none", "emf"] = "none"
    namespace: str = "lineage_merge"


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, checked."""

    dag_name: str
    environment: str
    # By key of a source, what its `parse` makes of it.
    sources: Mapping[str, Any] = field(default_factory=dict)
    merge: Merge = field(default_factory=Merge)
    gremlin: Gremlin = field(default_factory=Gremlin)
    load: Load = field(default_factory=Load)
    query: Query = field(default_factory=Query)
    spark: SparkOptions = field(default_factory=SparkOptions)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    # By name of a sink, what `exporters.registry` takes.
    sinks: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    strict: bool = False

    def of(self, kind: type[Settings]) -> Settings | None:
        """The settings of the source that has settings of this kind."""
        return next((each for each in self.sources.values() if isinstance(each, kind)), None)

    @property
    def spline(self) -> Spline | None:
        """Spline's settings."""
        return self.of(Spline)

    @property
    def dbt(self) -> tuple[DbtProject, ...]:
        """dbt's projects."""
        projects: tuple[DbtProject, ...] = self.sources.get("dbt", ())
        return projects
