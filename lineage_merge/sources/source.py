"""What a source is: its settings, and where its functions stand. Imports no Spark and asks nobody."""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any


def _no_files(_settings: Any) -> Iterable[str]:
    return ()


def _no_catalogs(_settings: Any) -> Mapping[str, str]:
    return {}


def _as_it_is(settings: Any) -> Any:
    return settings


def _not_of_aws(_settings: Any) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Source:
    """A source: what a person calls it, and its `key` in the configuration.

    `package` is its folder, where `settings.schema.json` stands; `parse` takes what fits that schema, and
    what it makes of it is kept in ``Config.sources``: the `settings` that the functions below are given.
    `paths` are keys below `key` that hold paths, which are relative to the configuration file.

    Functions that import more than a command's help needs are named, as ``module:function``: `read` is the
    reader (`sources.registry`); `size` lists the input, without Spark, and returns its bytes, None where only
    reading shows them, and raises the errors of reading; `look` asks, before Spark starts, whether a run can
    begin, and raises where it cannot; `checks` are areas of `doctor`, each a
    `orchestration.doctor.finding.Examine`.

    `files` are those that it reads, `needs_aws` tells whether it needs credentials beside those for files in
    S3, `with_secrets` puts secrets into the settings that only the driver's environment holds, for Spark's
    executors, `catalogs` are namespaces by the names that Spark has for them. `retire_after` makes it one
    that tells runs: how many good runs of a job retire a target that none of them wrote (0: never), where
    it tells all runs of `job_types`. `by_project` makes it one that describes `job_types` project by project:
    what a project no longer has is retired at once, unless a document of the source was rejected.
    `is_catalog`: it only describes what other sources mention.

    `places` are keys below `key` that name where to read; where settings have none of them, Airflow's
    connection `connection` supplies one.
    """

    name: str
    key: str
    package: str
    parse: Callable[[Any], Any]
    read: str
    size: str = ""
    paths: tuple[str, ...] = ()
    preflight: str = ""
    checks: tuple[tuple[str, str], ...] = ()
    files: Callable[[Any], Iterable[str]] = _no_files
    needs_aws: Callable[[Any], bool] = _not_of_aws
    with_secrets: Callable[[Any], Any] = _as_it_is
    catalogs: Callable[[Any], Mapping[str, str]] = _no_catalogs
    retire_after: Callable[[Any], int] | None = None
    by_project: bool = False
    job_types: tuple[str, ...] = ()
    is_catalog: bool = False
    location_keys: tuple[str, ...] = ()
    connection: str = ""

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its part of the configuration."""
        return schema_of(self.package)


def function(place: str) -> Callable[..., Any]:
    """What ``module:function`` names, imported now."""
    module, _, name = place.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), name)
    return found


def schema_of(package: str) -> dict[str, Any]:
    """`settings.schema.json` of a package; one of another package is put where it is named (``$ref``)."""
    text = files(package).joinpath("settings.schema.json").read_text(encoding="utf-8")
    filled: dict[str, Any] = _filled(json.loads(text))
    return filled


def _filled(node: Any) -> Any:
    if isinstance(node, list):
        return [_filled(each) for each in node]
    if not isinstance(node, dict):
        return node
    own = {name: _filled(child) for name, child in node.items() if name != "$ref"}
    return {**schema_of(node["$ref"]), **own} if "$ref" in node else own
