"""Settings of the configuration, without those of sources: each key is declared here once."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from string import Formatter
from typing import Annotated, Any, Literal, TypeVar

from lineage_merge import naming
from lineage_merge.config import pattern_cost
from lineage_merge.config.policies import Policy, WrittenPolicy
from lineage_merge.config.propagation import Propagation
from lineage_merge.config.section import parse_namespace
from lineage_merge.infra.graph_files import EMBEDDED
from lineage_merge.infra.json_schema import PATH, path_text
from lineage_merge.infra.setting import DAY, Form, RegionName, Texts, declare, parse, schema_of
from lineage_merge.infra.telemetry import Metrics
from lineage_merge.model.elements import DatasetName
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.model.times import UNITS

# Location of a history that is not written.
NO_HISTORY = "none"

Settings = TypeVar("Settings")

_Scope = Annotated[str, Form("^[A-Za-z0-9_.~+-]+$", "letters, digits and _ . ~ + - only")]
_ENDPOINT_HINTS = {
    "^https://": "write wss:// in place of https://, and the path /gremlin",
    "^http://": "write ws:// in place of http:// (wss:// with TLS), and the path /gremlin",
    "^[^:/]+(:[0-9]+)?(/.*)?$": "begin with wss:// (ws:// without TLS)",
}
_ROLE = "arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=.@_/-]+"
_ROLE_EXAMPLE = "arn:aws:iam::123456789012:role/name"
_DATASET_FORM = Form(r"^[^|]+\|[^|]+$", "namespace|name")


def split_dataset(text: str) -> DatasetName:
    """Split ``namespace|name``."""
    namespace, _, name = text.partition("|")
    return DatasetName(namespace, name)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule that maps a location, or the datasets that an application reads or writes, to a dataset."""

    name: str = declare("name of the rule in reports", example="glue-temp")
    dataset: str = declare(
        "dataset as namespace|name; {group} inserts a named group of match",
        example="redshift://wh.us-east-1:5439|dev.{schema}.{table}",
        form=_DATASET_FORM,
    )
    match: str = declare(
        "regular expression, searched in the original URI",
        "",
        "^s3://my-temp-bucket/redshift/(?P<schema>[^./]+)\\.(?P<table>[^/]+)/",
    )
    application: str = declare("glob on the application name", "", "load_customers")

    def complete(self, key: str) -> "Rule":
        """Check that the expression is valid and has the groups of the dataset."""
        if not (self.match or self.application):
            raise ConfigError(key, "requires match or application")
        groups = _groups(self.match, self.name, f"{key}.match")
        try:
            parts = [part for part in Formatter().parse(self.dataset) if part[1] is not None]
        except ValueError as error:
            raise ConfigError(f"{key}.dataset", str(error)) from None
        if any(form or conversion for _, _, form, conversion in parts):
            raise ConfigError(f"{key}.dataset", "groups must be {name}, without conversion or format")
        missing = sorted({name for _, name, _, _ in parts if name is not None}.difference(groups))
        if missing:
            raise ConfigError(f"{key}.dataset", f"group missing in match: {', '.join(missing)}")
        return self


def _groups(expression: str, rule: str, key: str) -> tuple[str, ...]:
    """Return the named groups of a regular expression."""
    if not expression:
        return ()
    try:
        with warnings.catch_warnings():
            # An unescaped [[, whose meaning depends on the version of Python.
            warnings.simplefilter("error", FutureWarning)
            groups = tuple(re.compile(expression).groupindex)
    except (re.error, FutureWarning, OverflowError, RecursionError) as error:
        raise ConfigError(key, f"invalid regular expression: {error}") from None
    if slow := pattern_cost.problem_of(expression):
        raise ConfigError(key, f"{rule}: {slow}")
    return groups


@dataclass(frozen=True, slots=True)
class Expect:
    """What a merge must join."""

    joined_at_least: int = declare(
        "minimum number of distinct joined datasets, the first number of the report's row joined",
        0,
        3,
        "none",
        minimum=1,
    )
    joined: tuple[Annotated[tuple[str, str], Form(text="two datasets: [from, to]")], ...] = declare(
        "pairs of datasets: lineage must lead from the first to the second; each a path, a table name with "
        "or without database and schema, namespace|name, or the unique id of a dbt model",
        (),
        [["s3://tickit-raw/sales", "tickit_marts.fct_sales"]],
    )


@dataclass(frozen=True, slots=True)
class DismissedNearMiss:
    """A near miss that is two datasets, as `by` decided. `score` 0 and `evidence` "": any."""

    written: str = declare(
        "dataset that is written, as reports print it, or its id", example="s3://lake/orders"
    )
    read: str = declare(
        "dataset that is read, as reports print it, or its id",
        example="redshift://wh.us-east-1:5439|dev.public.orders",
    )
    by: str = declare("who dismissed it", example="anna")
    reason: str = declare("why the two are not one dataset", example="orders of another shop")
    until: date | None = declare(
        "last day on which it is dismissed",
        None,
        "2027-01-31",
        form=DAY,
    )
    score: int = declare(
        "score when it was dismissed; it is reported again with a higher one, or with an equal one and other "
        "evidence",
        0,
        85,
        minimum=0,
        maximum=100,
    )
    evidence: str = declare(
        "fingerprint of the evidence when it was dismissed",
        "",
        "1a2b3c4d",
        form=Form("^[0-9a-f]{8}$", "8 hexadecimal digits in quotes"),
    )


def parse_default_schema(key: str, of: str, name: str) -> tuple[str, str]:
    """Return a namespace, normalized, and the default schema of its tables. Raises `ConfigError`."""
    canonical = parse_namespace(of, key)
    if not naming.completes_names(canonical, name):
        raise ConfigError(key, "must be database.schema: tables of this platform have both")
    return canonical, name


def _parse_default_schemas(written: Mapping[str, str], key: str) -> Mapping[str, str]:
    errors = ErrorCollector()
    default_schemas = {}
    for of, name in written.items():
        with errors.collecting():
            namespace, schema = parse_default_schema(path_text([key, of]), of, name)
            default_schemas[namespace] = schema
    errors.raise_errors()
    return default_schemas


@dataclass(frozen=True, slots=True)
class Merge:
    """How names are qualified and joined, and which temporary datasets are collapsed."""

    default_schemas: Mapping[
        str, Annotated[str, Form(r"^[^.\s]+(\.[^.\s]+)?$", "database.schema or database")]
    ] = declare(
        "default database.schema of unqualified table names, by namespace; database alone where tables have "
        "no schema (Hive, MySQL)",
        {},
        {"redshift://cluster.region:5439": "dev.public"},
        form=Form(parse=_parse_default_schemas),
    )
    rules: tuple[Rule, ...] = declare(
        "rules that map locations or applications to datasets, in addition to the built-in rules",
        (),
        [
            {
                "name": "temporary",
                "match": "/staging/(?P<table>[a-z_]+)/",
                "dataset": "redshift://cluster.region:5439|dev.public.{table}",
            }
        ],
    )
    collapse_datasets: tuple[str, ...] = declare(
        "globs on the paths of temporary datasets, such as s3://*/tmp/*; these are removed, and their "
        "sources connected to their targets",
        (),
        ["s3://*/tmp/*"],
    )
    collapse_run_local: bool = declare("also remove datasets that only the run that writes them reads", False)
    expect: Expect = declare(
        "what a merge must join; if it joins less, nothing is loaded and the exit code is 13", Expect()
    )
    dismissed_near_misses: tuple[DismissedNearMiss, ...] = declare(
        "near misses that are two datasets; each is reported again if its evidence becomes stronger, or "
        "after a date; lineage-merge near-misses dismiss writes an entry",
        (),
    )


@dataclass(frozen=True, slots=True)
class _Metadata:
    """Metadata of a glob, as it is written."""

    tags: Texts = declare("tags, one or several", (), ["pii"])
    owner: Texts = declare("e-mail addresses or names of owners, one or several", ())
    description: str = declare("description of datasets or columns that have none", "")


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


def _parse_metadata(written: Mapping[str, Any], key: str) -> tuple[MetadataRule, ...]:
    rules = []
    errors = ErrorCollector()
    for glob, entry in written.items():
        dataset, is_column, column = glob.rpartition("#") if "#" in glob else (glob, "", "")
        if is_column and not (dataset and column):
            problem = "expected a glob on datasets, or dataset#column"
            errors.errors.append(ConfigError(path_text([key, glob]), problem))
        given: _Metadata = parse(_Metadata, entry, key)
        rules.append(MetadataRule(dataset, column, given.tags, given.owner, given.description))
    errors.raise_errors()
    return tuple(rules)


@dataclass(frozen=True, slots=True)
class Bulk:
    """Neptune's bulk loader."""

    s3: str = declare(
        "prefix under which its files are written, such as s3://bucket/prefix, in the cluster's region",
        example="s3://bucket/prefix",
        form=Form("^s3[an]?://[a-z0-9][a-z0-9.-]+(/.*)?$", "s3://bucket/prefix"),
    )
    role_arn: str = declare(
        "IAM role of the cluster for reading the files; several roles, separated by commas, are chained",
        example=_ROLE_EXAMPLE,
        form=Form(f"^{_ROLE}(,{_ROLE})*$", _ROLE_EXAMPLE),
    )
    min_changes: int = declare(
        "auto uses the bulk loader for more changed vertices and edges than this",
        50000,
        minimum=0,
        maximum=1000000000,
    )
    parallelism: Literal["LOW", "MEDIUM", "HIGH", "OVERSUBSCRIBE"] = declare(
        "share of the writer instance's CPU that the loader uses", "HIGH"
    )
    timeout_seconds: float = declare(
        "timeout for queueing and loading, in seconds", 3600, above=0, maximum=604800
    )
    keep_files: bool = declare("keep the files in S3 after a successful load", False)
    endpoint: str = declare(
        "address of the bulk loader",
        "",
        "https://cluster:8182",
        "host and port of gremlin.endpoint",
        form=Form("^https?://[^\\s/@]+/?$", "https://host:port", is_secret=True),
    )


@dataclass(frozen=True, slots=True)
class Gremlin:
    """Connection to the graph. `writers` 0: two per partition that the engine computes at a time."""

    endpoint: str = declare(
        "Gremlin endpoint: embedded, ws://host:8182/gremlin or wss://...",
        EMBEDDED,
        "wss://cluster:8182/gremlin",
        form=Form(
            "^(embedded|wss?://[^\\s]+)$",
            "embedded, ws://host:port/gremlin or wss://...",
            _ENDPOINT_HINTS,
            is_secret=True,
        ),
    )  # may contain a password
    timeout_seconds: float = declare("timeout of one request, in seconds", 60, above=0, maximum=86400)
    retry_seconds: float = declare(
        "how long to retry a request while the graph is unavailable or busy, in seconds; 0: no retry",
        300,
        minimum=0,
        maximum=86400,
    )
    reader_endpoint: str = declare(
        "endpoint for queries, such as Neptune's reader endpoint",
        "",
        "wss://reader:8182/gremlin",
        "gremlin.endpoint",
        form=Form("^wss?://[^\\s]+$", "ws://host:port/gremlin or wss://...", _ENDPOINT_HINTS, is_secret=True),
    )
    iam_auth: bool = declare("sign connections with AWS credentials (Neptune IAM authentication)", False)
    region: RegionName = declare("region of the Neptune cluster", "", "us-east-1", "that of the host name")
    role_arn: str = declare(
        "IAM role to assume for signing",
        "",
        _ROLE_EXAMPLE,
        form=Form("^arn:aws[a-z-]*:iam::[0-9]{12}:role/[A-Za-z0-9+=,.@_/-]+$", _ROLE_EXAMPLE),
    )
    mode: Literal["gremlin", "bulk", "auto"] | None = declare(
        "how changes are written: gremlin, bulk (Neptune's bulk loader), or auto (by the number of changes)",
        None,
        shown="auto with gremlin.bulk, else gremlin",
    )
    bulk: Bulk | None = declare("Neptune's bulk loader", None)
    writers: int = declare(
        "maximum concurrent write requests of the whole Spark cluster; for Neptune, 2 per vCPU of its writer "
        "instance",
        0,
        16,
        "two per core of Spark",
        minimum=1,
        maximum=10000,
    )

    def complete(self, key: str) -> "Gremlin":
        """Return the settings with the mode that follows from the others."""
        mode = self.mode or ("auto" if self.bulk else "gremlin")
        if mode != "gremlin" and self.bulk is None:
            raise ConfigError(f"{key}.mode", f"{mode} needs gremlin.bulk.s3 and gremlin.bulk.role_arn")
        if mode == "bulk" and self.endpoint == EMBEDDED:
            raise ConfigError(f"{key}.mode", "the embedded graph has no bulk loader: use gremlin or auto")
        return replace(self, mode=mode)


@dataclass(frozen=True, slots=True)
class Load:
    """How a load updates the graph."""

    verify: bool = declare(
        "compare everything that the graph stores for the DAG, not only changes since the last load", False
    )
    allow_retire: bool = declare(
        "allow a merge to retire more than 30% of a DAG's edges, or all edges of a job", False
    )


_OF_ORCHESTRATOR = "of the orchestrator's run, stored with the merge; the Airflow task group sets it"
_MAY_BE_EMPTY = Form(schema={"minLength": 0})


@dataclass(frozen=True, slots=True)
class History:
    """The history of merges. `location` "": only beside an embedded graph."""

    location: str = declare(
        "folder or prefix in S3 of the history, or none",
        "",
        "s3://my-bucket/lineage-history",
        "a folder beside the file of the embedded graph; for others none",
        is_path=True,
    )
    keep: str = declare(
        "age from which lineage-merge history compact deletes merges: days, weeks or years",
        "",
        "400d",
        "never",
        form=Form("^[1-9][0-9]{0,4}[dwy]$", "a number and d, w or y, such as 400d"),
    )
    run_id: str = declare(
        f"id {_OF_ORCHESTRATOR}", "", "scheduled__2026-01-31T04:00:00+00:00", form=_MAY_BE_EMPTY
    )
    logical_date: str = declare(
        f"logical date {_OF_ORCHESTRATOR}", "", "2026-01-31T04:00:00+00:00", form=_MAY_BE_EMPTY
    )

    @property
    def keep_days(self) -> int | None:
        """The age in days; None: merges are never deleted."""
        return int(self.keep[:-1]) * UNITS[self.keep[-1]].days if self.keep else None


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """Settings of queries."""

    layers: Mapping[str, Texts] = declare(
        'layers in the direction of the data flow, each with one or more globs: {raw: "s3://*-raw/*", mart: '
        '"*.marts.*"}',
        {},
        {"raw": "s3://*-raw/*", "mart": "*.marts.*"},
    )


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session, if none is running. `kafka`: with Spark's Kafka source."""

    master: str = declare("Spark master URL", "", "local[4]", "local[*], on a cluster its own")
    partitions: int = declare(
        "number of shuffle partitions", 0, 8, "by the size of the input in a local session", minimum=1
    )
    distribute_above_mb: int = declare(
        "maximum size in MB of input that one Spark task reads and the driver merges; 0: always distribute",
        64,
        minimum=0,
    )
    kafka: bool = False


@dataclass(frozen=True, slots=True)
class Log:
    """Log output of a run."""

    format: Literal["text", "json"] = declare("text, or json for one JSON object per line", "text")


_POLICIES_EXAMPLE = [
    {
        "name": "no-pii-in-marts",
        "tag": "pii",
        "must_not_reach": ["*.marts.*"],
        "except": ["*.marts.secure_*"],
    },
    {"name": "marts-read-no-raw", "layer": "mart", "must_not_read": "raw"},
    {
        "name": "marts-are-owned",
        "datasets": ["*.marts.*"],
        "must_have": ["owner", "description", "test"],
        "severity": "warning",
    },
    {
        "name": "revenue-is-fed-by-sales",
        "datasets": ["*.marts.revenue"],
        "must_be_fed_by": ["s3://lake/sales"],
    },
    {"name": "marts-are-fresh", "datasets": ["*.marts.*"], "must_be_updated_within": "36h"},
]


@dataclass(frozen=True, slots=True)
class Config:
    """The validated configuration."""

    dag_name: _Scope = declare("name of the Airflow DAG whose lineage is merged", example="tickit_daily")
    environment: _Scope = declare(
        "environment, such as dev, staging or prod; environments are never joined", example="prod"
    )
    # Settings by key of the source, as its section parses them.
    sources: Mapping[str, Any] = field(default_factory=dict)
    merge: Merge = declare("how datasets of different sources are joined", Merge())
    # None: the section is missing, and tags of earlier merges stay.
    metadata: tuple[MetadataRule, ...] | None = declare(
        'tags, owners and descriptions by glob on datasets or on dataset#column: {"s3://*-pii/*": {tags: '
        '[pii], owner: privacy@example.com}, "*.customers#email": {tags: [pii]}}; in addition to those of '
        "the sources",
        None,
        {
            "s3://*-pii/*": {"tags": ["pii"], "owner": "privacy@example.com"},
            "*.customers#email": {"tags": ["pii"]},
        },
        form=Form(
            schema={"additionalProperties": schema_of(_Metadata) | {"minProperties": 1}},
            written=Mapping[str, Any],
            parse=_parse_metadata,
        ),
    )
    propagation: Mapping[str, Propagation] = declare(
        'where tags stop on their path along column lineage, by tag ("*": tags without settings): {pii: '
        '{stop_at: [AGGREGATION], stop_at_functions: [sha2, "mask*"]}}; by default, a tag stops nowhere',
        {},
        {"pii": {"stop_at": ["AGGREGATION", "influences"], "stop_at_functions": ["sha2", "mask*"]}},
    )
    gremlin: Gremlin = declare("graph database", Gremlin())
    load: Load = declare("updates of the graph", Load())
    history: History = declare(
        "history of merges, for --as-of, history and diff --from; write history: s3://bucket/prefix, or "
        "history: none",
        History(),
    )
    query: QuerySettings = declare("query settings", QuerySettings())
    policies: tuple[Policy, ...] = declare(
        "rules that lineage-merge check verifies, each of one kind: tag and must_not_reach; layer and "
        "must_not_read; datasets and must_have; datasets and must_be_fed_by; datasets and "
        "must_be_updated_within",
        (),
        _POLICIES_EXAMPLE,
        form=Form(written=tuple[WrittenPolicy, ...]),
    )
    spark: SparkOptions = declare("Spark session, if none is running", SparkOptions())
    log: Log = declare("log output of a run", Log())
    metrics: Metrics = declare("metrics of each run", Metrics())
    # Settings by name of the exporter, valid by the schema of `exporters.registry`.
    exporters: Mapping[str, Mapping[str, Any]] = declare(
        'exporters that run after each load, by name: {datahub: {url: "http://datahub-gms:8080"}}',
        {},
        {"datahub": {"url": "http://datahub-gms:8080"}},
        form=Form(
            schema={"additionalProperties": {"type": "object", "properties": {"out": {PATH: True}}}},
            written=Mapping[str, Any],
        ),
    )
    strict: bool = declare("stop at the first invalid document, and if a source has no lineage", False)

    def of(self, kind: type[Settings]) -> Settings | None:
        """Return the source settings of a class, None if that source is not configured."""
        return next((settings for settings in self.sources.values() if isinstance(settings, kind)), None)
