"""The one configuration: read once, checked against its schema, passed down.

Three layers, the later wins: the YAML file, environment variables, flags. Which keys there
are stands in `config.schema.json`; the name of a key's variable and flag follow from it
(``spline.arango.hosts``: ``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``, ``--spline-arango-hosts``).
"""

import fnmatch
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any, Literal, NamedTuple

from lineage_merge import naming, storage, yaml_text
from lineage_merge.errors import ConfigError, NamingError, SourceError
from lineage_merge.json_schema import Checker, path_text
from lineage_merge.model import DatasetName

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Arango:
    """How to reach Spline's ArangoDB. The password itself is read when it is needed."""

    hosts: str
    database: str
    username: str = "root"
    password_env: str = ""
    password_secret: str = ""
    auth_method: str = "basic"
    batch_size: int = 1000
    timeout_seconds: float = 60.0

    def password(self) -> str:
        """The password, from the variable or the secret that is named; none named: no password.

        Raises `ConfigError` where it is not there, `SourceError` where Secrets Manager does not give it.
        """
        if self.password_secret:
            from lineage_merge.secrets_manager import secret

            return secret(self.password_secret, "spline.arango.password_secret")
        if not self.password_env:
            return ""
        try:
            return os.environ[self.password_env]
        except KeyError:
            # Without its name: some write the password itself there.
            problem = "the environment variable of this name is not set"
            raise ConfigError("spline.arango.password_env", problem) from None


class Runs(NamedTuple):
    """Which good writes count: the `latest` of each job and target, or `all` there are.

    With `since` (ms since 1970) all since then, and no lookback.
    """

    which: Literal["latest", "all", "since"] = "latest"
    since: int = 0


@dataclass(frozen=True, slots=True)
class Spline:
    """Where Spline's documents come from, and which applications and writes count.

    `labels`: by name of a label, the values of which one is enough. `retire_after`: good runs
    without a write, 0 means never. `operations`: keep Spline's own picture too.
    """

    export: str = ""
    arango: Arango | None = None
    applications: tuple[str, ...] = ()
    labels: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runs: Runs = field(default_factory=Runs)
    lookback: timedelta = timedelta(days=30)
    retire_after: int = 3
    operations: bool = False

    def wants(self, job_name: str, application: str) -> bool:
        """Whether an application counts, by its own name or by the job that runs it on Glue."""
        if not self.applications:
            return True
        names = (job_name, application)
        return any(fnmatch.fnmatchcase(name, glob) for name in names for glob in self.applications)


@dataclass(frozen=True, slots=True)
class DbtProject:
    """One dbt project: its manifest, the namespace of its tables, and its catalog where there is one."""

    manifest: str
    namespace: str
    catalog: str = ""


@dataclass(frozen=True, slots=True)
class GlueCatalog:
    """One Glue catalog: which databases of it (globs; none means all), and what Spark calls it.

    `account` "": the account that the credentials belong to.
    """

    region: str
    account: str = ""
    databases: tuple[str, ...] = ()
    spark_catalogs: tuple[str, ...] = ("spark_catalog",)

    def __str__(self) -> str:
        """``Glue catalog 111122223333 in us-east-1``, for messages."""
        return f"Glue catalog {self.account} in {self.region}".replace("  ", " ")


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

    `iam_auth`: connections are signed (Neptune), for `region` ("": the endpoint's, or that of the
    AWS chain) and as `role_arn` ("": as whoever runs this). `retry_seconds`: how long a request is
    tried again while the graph is away or busy. `mode`: over Gremlin, in `bulk`, or whichever suits
    what differs (`auto`).
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


@dataclass(frozen=True, slots=True)
class Load:
    """What a load may do: `allow_retire` goes on where much of a DAG would be retired."""

    allow_retire: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """What questions need to know. `layers`: in their order, each with globs of which one is enough."""

    layers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session that is started where none runs yet."""

    master: str = ""
    partitions: int = 0


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
    spline: Spline | None = None
    dbt: tuple[DbtProject, ...] = ()
    glue: tuple[GlueCatalog, ...] = ()
    merge: Merge = field(default_factory=Merge)
    gremlin: Gremlin = field(default_factory=Gremlin)
    load: Load = field(default_factory=Load)
    query: Query = field(default_factory=Query)
    spark: SparkOptions = field(default_factory=SparkOptions)
    log: Log = field(default_factory=Log)
    metrics: Metrics = field(default_factory=Metrics)
    strict: bool = False


class Key(NamedTuple):
    """One settable key: its dotted path, and what the schema says of it."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def dotted(self) -> str:
        """``spline.arango.hosts``."""
        return ".".join(self.path)

    @property
    def variable(self) -> str:
        """``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``."""
        return "LINEAGE_MERGE_" + "_".join(self.path).upper()

    @property
    def flag(self) -> str:
        """``--spline-arango-hosts``."""
        return "--" + "-".join(self.path).replace("_", "-")


@cache
def schema() -> dict[str, Any]:
    """The JSON Schema of the configuration file."""
    text = files("lineage_merge").joinpath("config.schema.json").read_text(encoding="utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


@cache
def settable() -> tuple[Key, ...]:
    """Every key that a variable or a flag can set."""

    def walk(path: tuple[str, ...], node: Mapping[str, Any]) -> Iterator[Key]:
        if "properties" in node:
            for name, child in node["properties"].items():
                yield from walk((*path, name), child)
        else:
            yield Key(path, node)

    return tuple(walk((), schema()))


# These hold paths: written in a file, they are relative to that file.
_PATHS = (("spline", "export"), ("dbt", "manifest"), ("dbt", "catalog"))


def load(
    file: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
    *,
    needs_source: bool = True,
) -> Config:
    """Read and check the configuration: `gather` and `parse`."""
    return parse(gather(file, environ, flags), needs_source=needs_source)


def gather(
    file: Path | str | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The settings of all layers, as a YAML file would hold them; not checked yet.

    `file` is a path or s3://bucket/key. `flags` maps dotted keys to texts. A relative path in
    the file is relative to the file's folder, in a variable or flag to the working folder. An
    empty variable is none. Raises `ConfigError`.
    """
    settings = _read_file(file) if file else {}
    environ = os.environ if environ is None else environ
    for key in settable():
        text = (flags or {}).get(key.dotted, environ.get(key.variable) or None)
        if text is not None:
            _put(settings, key, text)
    return settings


def by_key(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by dotted key, without those that are not set."""
    found: dict[str, Any] = {}
    for key in settable():
        value: Any = settings
        for name in key.path:
            value = value.get(name) if isinstance(value, Mapping) else None
        if value is not None:
            found[key.dotted] = value
    return found


def parse(settings: Mapping[str, Any], *, needs_source: bool = True) -> Config:
    """Check settings as a YAML file holds them, and turn them into a `Config`.

    `needs_source`: one that names no source of lineage is wrong.
    """
    error = _checker().error(settings)
    if error:
        raise ConfigError(error.path, error.problem)
    spline = settings.get("spline")
    merge = settings.get("merge", {})
    config = Config(
        dag_name=settings["dag_name"],
        environment=settings["environment"],
        spline=_spline(spline) if spline is not None else None,
        dbt=tuple(
            DbtProject(
                entry["manifest"],
                _namespace(f"dbt[{index}].namespace", entry["namespace"]),
                entry.get("catalog", ""),
            )
            for index, entry in enumerate(settings.get("dbt", ()))
        ),
        glue=tuple(
            GlueCatalog(**{name: _frozen(value) for name, value in entry.items()})
            for entry in settings.get("glue", ())
        ),
        merge=Merge(
            defaults={
                _namespace(path_text(["merge", "defaults", namespace]), namespace): name
                for namespace, name in merge.get("defaults", {}).items()
            },
            rules=tuple(_rule(index, rule) for index, rule in enumerate(merge.get("rules", ()))),
            fold=tuple(merge.get("fold", ())),
            fold_run_local=merge.get("fold_run_local", False),
        ),
        gremlin=_gremlin(settings.get("gremlin", {})),
        load=Load(**settings.get("load", {})),
        query=_query(settings.get("query", {})),
        spark=_spark(settings.get("spark", {})),
        log=Log(**settings.get("log", {})),
        metrics=Metrics(**settings.get("metrics", {})),
        strict=settings.get("strict", False),
    )
    if needs_source and config.spline is None and not config.dbt:
        raise ConfigError("", "no source: give spline.export, spline.arango or dbt")
    return config


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


@cache
def _checker() -> Checker:
    return Checker(schema())


def split_dataset(text: str) -> DatasetName:
    """``namespace|name`` as the configuration writes it."""
    namespace, _, name = text.partition("|")
    return DatasetName(namespace, name)


def _spline(settings: Mapping[str, Any]) -> Spline:
    if "export" not in settings and "arango" not in settings:
        raise ConfigError("spline", "give either export or arango")
    return Spline(
        export=settings.get("export", ""),
        arango=_arango(settings["arango"]) if "arango" in settings else None,
        applications=tuple(settings.get("applications", ())),
        labels={name: _label(value) for name, value in settings.get("labels", {}).items()},
        runs=_runs(settings.get("runs", "latest")),
        lookback=_lookback(settings.get("lookback", 30)),
        retire_after=int(settings.get("retire_after", 3)),
        operations=settings.get("operations", False),
    )


def _label(value: Any) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    return tuple(each if isinstance(each, str) else json.dumps(each) for each in values)


_RUNS = "expected latest, all or since TIME"


def _query(settings: Mapping[str, Any]) -> Query:
    layers = settings.get("layers", {})
    return Query(
        {name: tuple(globs) if isinstance(globs, list) else (globs,) for name, globs in layers.items()}
    )


def _runs(value: Any) -> Runs:
    """``latest``, ``all``, ``since 2026-11-01T06:00:00Z``, or ``{"since": ...}`` as YAML reads it."""
    if value == "latest":
        return Runs("latest")
    if value == "all":
        return Runs("all")
    since: Any = value.get("since") if isinstance(value, dict) else re.sub(r"^since:?\s+", "", value).strip()
    try:
        # YAML makes a date of 2026-11-01 by itself.
        text = since.isoformat() if isinstance(since, date) else since
        moment = datetime.fromisoformat(text)
    except (TypeError, ValueError):
        problem = f"{_RUNS}, and a time as 2026-11-01 or 2026-11-01T06:00:00Z"
        raise ConfigError("spline.runs", problem) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return Runs("since", (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1))


def _lookback(value: float | str) -> timedelta:
    """``30`` and ``30d`` are days, ``12h`` hours."""
    number, unit = (str(value), "d") if not isinstance(value, str) else (value.rstrip("dh"), value[-1])
    days = float(number) / (24 if unit == "h" else 1)
    if not 0 < days <= 36500:
        raise ConfigError("spline.lookback", f"expected more than 0 and at most 36500 days, found {value}")
    return timedelta(days=days)


def _arango(settings: Mapping[str, Any]) -> Arango:
    hosts = [host.strip() for host in settings["hosts"].split(",")]
    if any("@" in host for host in hosts):
        raise ConfigError("spline.arango.hosts", "holds a user or password: use username and password_env")
    if "password_env" in settings and "password_secret" in settings:
        raise ConfigError("spline.arango", "give either password_env or password_secret")
    arango = Arango(**settings)
    return replace(arango, hosts=",".join(hosts), batch_size=int(arango.batch_size))


def _gremlin(settings: Mapping[str, Any]) -> Gremlin:
    bulk = Bulk(**settings["bulk"]) if "bulk" in settings else None
    mode = settings.get("mode", "auto" if bulk else "gremlin")
    if mode != "gremlin" and bulk is None:
        raise ConfigError("gremlin.mode", f"{mode} needs gremlin.bulk.s3 and gremlin.bulk.role_arn")
    gremlin = Gremlin(**{**settings, "mode": mode, "bulk": bulk})
    if mode == "bulk" and gremlin.endpoint == EMBEDDED:
        raise ConfigError("gremlin.mode", "the embedded server has no bulk loader: gremlin or auto")
    return gremlin if bulk is None else replace(gremlin, bulk=replace(bulk, above=int(bulk.above)))


def _spark(settings: Mapping[str, Any]) -> SparkOptions:
    options = SparkOptions(**settings)
    return replace(options, partitions=int(options.partitions))  # JSON Schema takes 2.0 for an integer


def _namespace(key: str, text: str) -> str:
    """A namespace in its one spelling; a mistyped one would join nothing and nobody would see why."""
    if text.lower().startswith("jdbc:"):
        raise ConfigError(key, "a namespace is no JDBC URL: write redshift://host:port without jdbc:")
    if re.search(r"\s|\||://$", text.strip()):
        raise ConfigError(key, "expected a namespace such as redshift://cluster.region:5439")
    try:
        return naming.canonical_namespace(text)
    except NamingError as error:
        raise ConfigError(key, error.message) from None


def _rule(index: int, settings: Mapping[str, Any]) -> Rule:
    key = f"merge.rules[{index}]"
    rule = Rule(**settings)
    groups: Sequence[str] = ()
    if rule.match:
        try:
            groups = tuple(re.compile(rule.match).groupindex)
        except (re.error, OverflowError, RecursionError) as error:
            raise ConfigError(f"{key}.match", f"not a regular expression: {error}") from None
    try:
        fields = [field for field in Formatter().parse(rule.dataset) if field[1] is not None]
    except ValueError as error:
        raise ConfigError(f"{key}.dataset", str(error)) from None
    if any(form or conversion for _, _, form, conversion in fields):
        raise ConfigError(f"{key}.dataset", "a group is written {name}, with nothing behind the name")
    wanted = {name for _, name, _, _ in fields if name is not None}
    missing = sorted(wanted.difference(groups))
    if missing:
        raise ConfigError(f"{key}.dataset", f"match has no group named {', '.join(missing)}")
    return rule


def _read_file(file: Path | str) -> dict[str, Any]:
    settings = yaml_text.parse(_text(file), "", str(file))
    if not isinstance(settings, dict):
        raise ConfigError("", f"{file}: expected keys such as dag_name and environment")
    for section, name in _PATHS:
        entries = settings.get(section)
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict) and isinstance(entry.get(name), str):
                entry[name] = _beside(file, entry[name])
    return settings


def _text(file: Path | str) -> str:
    if isinstance(file, str) and storage.is_s3(file):
        try:
            return storage.read_text(file)
        except SourceError as error:
            raise ConfigError("", f"cannot read {error.message}") from None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError("", f"cannot read {file}: {reason}") from None


def _beside(file: Path | str, location: str) -> str:
    """A location that a configuration file names: a relative path is relative to the file's folder."""
    if "://" in location:
        return location
    if isinstance(file, str) and storage.is_s3(file):
        return f"{file.rpartition('/')[0]}/{location}"
    folder = Path(file).parent
    try:
        return str(folder / Path(location).expanduser())
    except RuntimeError:  # ~somebody who is not there
        return str(folder / location)


def _put(settings: dict[str, Any], key: Key, text: str) -> None:
    here = settings
    for name in key.path[:-1]:
        if here.get(name) is None:
            here[name] = {}
        here = here[name]
        if not isinstance(here, dict):
            raise ConfigError(key.dotted, f"{name} is not a group of keys in the file")
    here[key.path[-1]] = _value(key, text)


_BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
_BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}


def _value(key: Key, text: str) -> Any:
    """A flag's or variable's text as the schema wants it; what does not fit stays text."""
    match key.schema.get("type"):
        case "boolean":
            return _BOOLEANS.get(text.strip().lower(), text)
        case "integer" | "number" as kind:
            try:
                return int(text) if kind == "integer" else float(text)
            except ValueError:
                return text
        case "array" if key.schema["items"]["type"] == "string" and not text.lstrip().startswith(("[", "- ")):
            # Not as YAML, to which the glob * is an alias.
            return [item.strip() for item in text.split(",") if item.strip()]
        case "array" | "object":
            return yaml_text.parse(text, key.dotted, "the flag or variable")
    return text
