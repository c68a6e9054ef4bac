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
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from pathlib import Path
from string import Formatter
from typing import Any, NamedTuple

import yaml

from lineage_merge import naming
from lineage_merge.errors import ConfigError
from lineage_merge.json_schema import Checker
from lineage_merge.model import DatasetName

EMBEDDED = "embedded"


@dataclass(frozen=True, slots=True)
class Arango:
    """How to reach Spline's ArangoDB. The password itself is read when it is needed."""

    hosts: str
    database: str
    username: str = "root"
    password_env: str = ""
    auth_method: str = "basic"
    batch_size: int = 1000
    timeout_seconds: float = 60.0

    def password(self) -> str:
        """The password, from the variable that `password_env` names; none named: no password."""
        if not self.password_env:
            return ""
        try:
            return os.environ[self.password_env]
        except KeyError:
            raise ConfigError(
                "spline.arango.password_env", f"the environment variable {self.password_env} is not set"
            ) from None


@dataclass(frozen=True, slots=True)
class Spline:
    """Where Spline's documents come from, and which applications count."""

    export: str = ""
    arango: Arango | None = None
    applications: tuple[str, ...] = ()
    lookback_days: float = 30.0

    def wants(self, job_name: str, application: str) -> bool:
        """Whether an application counts, by its own name or by the job that runs it on Glue."""
        if not self.applications:
            return True
        names = (job_name, application)
        return any(fnmatch.fnmatchcase(name, glob) for name in names for glob in self.applications)


@dataclass(frozen=True, slots=True)
class DbtProject:
    """One dbt project: its manifest, and the namespace of its tables."""

    manifest: str
    namespace: str


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
    """How names are completed and joined."""

    defaults: Mapping[str, str] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Gremlin:
    """The graph."""

    endpoint: str = EMBEDDED
    timeout_seconds: float = 60.0


@dataclass(frozen=True, slots=True)
class SparkOptions:
    """The Spark session that is started where none runs yet."""

    master: str = ""
    partitions: int = 0


@dataclass(frozen=True, slots=True)
class Config:
    """The whole configuration, checked."""

    dag_name: str
    environment: str
    spline: Spline | None = None
    dbt: tuple[DbtProject, ...] = ()
    merge: Merge = field(default_factory=Merge)
    gremlin: Gremlin = field(default_factory=Gremlin)
    spark: SparkOptions = field(default_factory=SparkOptions)
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
_PATHS = (("spline", "export"), ("dbt", "manifest"))


def load(
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, str] | None = None,
) -> Config:
    """Read and check the configuration.

    `flags` maps dotted keys to texts. A relative path in the file is relative to the file's
    folder, in a variable or flag to the working folder. Raises `ConfigError`.
    """
    settings = _read_file(file) if file else {}
    environ = os.environ if environ is None else environ
    for key in settable():
        text = (flags or {}).get(key.dotted, environ.get(key.variable))
        if text is not None:
            _put(settings, key, text)
    return parse(settings)


def parse(settings: Mapping[str, Any]) -> Config:
    """Check settings as a YAML file holds them, and turn them into a `Config`."""
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
            DbtProject(entry["manifest"], naming.canonical_namespace(entry["namespace"]))
            for entry in settings.get("dbt", ())
        ),
        merge=Merge(
            defaults={
                naming.canonical_namespace(namespace): name
                for namespace, name in merge.get("defaults", {}).items()
            },
            rules=tuple(_rule(index, rule) for index, rule in enumerate(merge.get("rules", ()))),
        ),
        gremlin=Gremlin(**settings.get("gremlin", {})),
        spark=SparkOptions(**settings.get("spark", {})),
        strict=settings.get("strict", False),
    )
    if config.spline is None and not config.dbt:
        raise ConfigError("", "no source: give spline.export, spline.arango or dbt")
    return config


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
    arango = settings.get("arango")
    return Spline(
        export=settings.get("export", ""),
        arango=Arango(**arango) if arango else None,
        applications=tuple(settings.get("applications", ())),
        lookback_days=float(settings.get("lookback_days", 30.0)),
    )


def _rule(index: int, settings: Mapping[str, Any]) -> Rule:
    key = f"merge.rules[{index}]"
    rule = Rule(**settings)
    groups: Sequence[str] = ()
    if rule.match:
        try:
            groups = tuple(re.compile(rule.match).groupindex)
        except re.error as error:
            raise ConfigError(f"{key}.match", f"not a regular expression: {error}") from None
    try:
        wanted = {name for _, name, _, _ in Formatter().parse(rule.dataset) if name is not None}
    except ValueError as error:
        raise ConfigError(f"{key}.dataset", str(error)) from None
    missing = sorted(wanted.difference(groups))
    if missing:
        raise ConfigError(f"{key}.dataset", f"match has no group named {', '.join(missing)}")
    return rule


def _read_file(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8 text"
        raise ConfigError("", f"cannot read {file}: {reason}") from None
    try:
        settings = yaml.safe_load(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{file}, line {mark.line + 1}" if mark else str(file)
        raise ConfigError("", f"{place}: {getattr(error, 'problem', None) or 'not YAML'}") from None
    if not isinstance(settings, dict):
        raise ConfigError("", f"{file}: expected keys such as dag_name and environment")
    for section, name in _PATHS:
        entries = settings.get(section)
        for entry in entries if isinstance(entries, list) else [entries]:
            if isinstance(entry, dict) and isinstance(entry.get(name), str):
                entry[name] = _relative_to(file.parent, entry[name])
    return settings


def _relative_to(folder: Path, location: str) -> str:
    return location if "://" in location else str(folder / Path(location).expanduser())


def _put(settings: dict[str, Any], key: Key, text: str) -> None:
    here = settings
    for name in key.path[:-1]:
        inner = here.setdefault(name, {})
        if not isinstance(inner, dict):
            raise ConfigError(key.dotted, f"{name} is not a group of keys in the file")
        here = inner
    here[key.path[-1]] = _value(key, text)


def _value(key: Key, text: str) -> Any:
    kind = key.schema.get("type", "string")
    if kind == "string":
        return text
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise ConfigError(key.dotted, f"{text!r} is not YAML") from None
    if kind == "array" and isinstance(value, str):
        return [item.strip() for item in text.split(",") if item.strip()]
    return value
