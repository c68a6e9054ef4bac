"""The one configuration: read once, checked against its schema, passed down.

Three layers, the later wins: the YAML file, environment variables, flags. Which keys there
are stands in `config.schema.json`; the name of a key's variable and flag follow from it
(``spline.arango.hosts``: ``LINEAGE_MERGE_SPLINE_ARANGO_HOSTS``, ``--spline-arango-hosts``).
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any, Literal, NamedTuple, TypeVar

from lineage_merge import storage
from lineage_merge.errors import ConfigError, SourceError
from lineage_merge.json_schema import Checker, path_text
from lineage_merge.model import DatasetName
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.settings import namespace
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
    """The Spark session that is started where none runs yet. `kafka`: with Spark's Kafka source."""

    master: str = ""
    partitions: int = 0
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
    # By name of a sink, what `sinks.registry` takes.
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
    """The JSON Schema of the configuration file: `config.schema.json`, and what each source adds."""
    text = files("lineage_merge").joinpath("config.schema.json").read_text(encoding="utf-8")
    whole: dict[str, Any] = json.loads(text)
    own = whole["properties"]
    first = {name: own[name] for name in whole["required"]}
    whole["properties"] = {**first, **{each.key: each.schema() for each in SOURCES}, **own}
    return whole


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
    merge = settings.get("merge", {})
    config = Config(
        dag_name=settings["dag_name"],
        environment=settings["environment"],
        sources={each.key: each.parse(settings[each.key]) for each in SOURCES if each.key in settings},
        merge=Merge(
            defaults={
                namespace(path_text(["merge", "defaults", each]), each): name
                for each, name in merge.get("defaults", {}).items()
            },
            rules=tuple(_rule(index, rule) for index, rule in enumerate(merge.get("rules", ()))),
            fold=tuple(merge.get("fold", ())),
            fold_run_local=merge.get("fold_run_local", False),
        ),
        gremlin=_gremlin(settings.get("gremlin", {})),
        load=Load(**settings.get("load", {})),
        query=_query(settings.get("query", {})),
        spark=_spark(settings.get("spark", {}), kafka=_has_kafka(settings)),
        log=Log(**settings.get("log", {})),
        metrics=Metrics(**settings.get("metrics", {})),
        sinks=_sinks(settings.get("sinks", {})),
        strict=settings.get("strict", False),
    )
    telling = [each.key for each in SOURCES if not each.is_catalog]
    if needs_source and not any(config.sources.get(key) for key in telling):
        raise ConfigError("", f"no source: give {', '.join(telling[:-1])} or {telling[-1]}")
    return config


@cache
def _checker() -> Checker:
    return Checker(schema())


def split_dataset(text: str) -> DatasetName:
    """``namespace|name`` as the configuration writes it."""
    namespace, _, name = text.partition("|")
    return DatasetName(namespace, name)


def _sinks(settings: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    if not settings:
        return {}
    # Each sink says itself what it takes, so that a new one changes nothing here.
    from lineage_merge.sinks import registry

    return registry.checked(settings)


def _query(settings: Mapping[str, Any]) -> Query:
    layers = settings.get("layers", {})
    return Query(
        {name: tuple(globs) if isinstance(globs, list) else (globs,) for name, globs in layers.items()}
    )


def _gremlin(settings: Mapping[str, Any]) -> Gremlin:
    bulk = Bulk(**settings["bulk"]) if "bulk" in settings else None
    mode = settings.get("mode", "auto" if bulk else "gremlin")
    if mode != "gremlin" and bulk is None:
        raise ConfigError("gremlin.mode", f"{mode} needs gremlin.bulk.s3 and gremlin.bulk.role_arn")
    gremlin = Gremlin(**{**settings, "mode": mode, "bulk": bulk})
    if mode == "bulk" and gremlin.endpoint == EMBEDDED:
        raise ConfigError("gremlin.mode", "the embedded server has no bulk loader: gremlin or auto")
    return gremlin if bulk is None else replace(gremlin, bulk=replace(bulk, above=int(bulk.above)))


def _has_kafka(settings: Mapping[str, Any]) -> bool:
    return any(isinstance(section, dict) and "kafka" in section for section in settings.values())


def _spark(settings: Mapping[str, Any], kafka: bool) -> SparkOptions:
    options = SparkOptions(**settings, kafka=kafka)
    return replace(options, partitions=int(options.partitions))  # JSON Schema takes 2.0 for an integer


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
    from lineage_merge import yaml_text  # not above: flags and variables seldom need it, help never

    settings = yaml_text.parse(_text(file), "", str(file))
    if not isinstance(settings, dict):
        raise ConfigError("", f"{file}: expected keys such as dag_name and environment")
    sinks = settings.get("sinks")
    files_of_sinks = [(f"sinks.{name}", "out") for name in sinks] if isinstance(sinks, dict) else []
    files_of_sources = [f"{source.key}.{path}".rpartition(".") for source in SOURCES for path in source.paths]
    places = [*((section, name) for section, _, name in files_of_sources), *files_of_sinks]
    for section, name in places:
        entries: Any = settings
        for part in section.split("."):
            entries = entries.get(part) if isinstance(entries, dict) else None
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict) and isinstance(entry.get(name), str):
                entry[name] = _beside(file, entry[name])
            elif isinstance(entry, dict) and isinstance(entry.get(name), list):
                entry[name] = [_beside(file, e) if isinstance(e, str) else e for e in entry[name]]
    return settings


def _text(file: Path | str) -> str:
    if isinstance(file, str) and storage.is_s3(file):
        try:
            return storage.read_text(file)
        except SourceError as error:
            raise ConfigError("", f"cannot read {error.message}") from None
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        # A name may have what no file's name can: a zero, or half of a character.
        odd = "not UTF-8 text" if isinstance(error, UnicodeDecodeError) else "not the name of a file"
        reason = error.strerror if isinstance(error, OSError) else odd
        raise ConfigError("", f"cannot read {storage.shown(str(file))}: {reason}") from None


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
        case "array" | ["array", *_] if key.schema["items"][
            "type"
        ] == "string" and not text.lstrip().startswith(("[", "- ")):
            # Not as YAML, to which the glob * is an alias.
            return [item.strip() for item in text.split(",") if item.strip()]
        case "array" | "object" | ["array", *_]:
            from lineage_merge import yaml_text

            return yaml_text.parse(text, key.dotted, "the flag or variable")
    return text
