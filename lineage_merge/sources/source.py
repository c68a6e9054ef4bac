"""Declaration of a source: its settings and references to its functions. Imports no Spark."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from lineage_merge.infra.json_schema import load_schema
from lineage_merge.model.elements import Element, Reference
from lineage_merge.model.records import Record
from lineage_merge.sources.settings import NamespaceSetting


class Resolver(Protocol):
    """Resolves references. Readers pass it to the workers that translate: it is small to pickle."""

    def records(self, elements: Iterable[Element], /) -> Iterator[Record]:
        """Yield elements as records, in which references are ids."""

    def resolve_id(self, ref: Reference, /) -> str:
        """Return the id of a dataset, or the reference's own text if it names none."""

    def resolves(self, ref: Reference, /) -> bool:
        """Return whether a reference names a dataset."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of document: what it is, and what to do with it ("" if nothing reads it).

    As parsed JSON it has one of the sets of top-level `keys`, or is otherwise a document (`is_document`).
    `pattern` recognizes its text, or a beginning of it; `first`: the first characters of such a text
    (default: any, as in logs).
    """

    name: str
    remedy: str = ""
    keys: tuple[tuple[str, ...], ...] = ()
    is_document: Callable[[Any], bool] = lambda _document: False
    pattern: re.Pattern[str] | None = None
    first: str = ""

    def __str__(self) -> str:
        """Return both as the end of a message."""
        return f"{self.name}: {self.remedy}" if self.remedy else self.name

    def recognizes(self, document: object) -> bool:
        """Return whether a JSON document is one of this kind."""
        has_keys = isinstance(document, dict) and any(document.keys() >= set(keys) for keys in self.keys)
        return has_keys or self.is_document(document)


class InitOption(NamedTuple):
    """An option of `init`: the value of `key` below the source's key in the configuration.

    `contents`: what is at its locations, in questions ("" if its values are none). `also`: the keys of other
    documents that are found from these. `is_rare`: only ``--help-all`` shows it.
    """

    flag: str
    key: str
    help: str
    contents: str = ""
    metavar: str = "PATH"
    default: str = ""
    is_repeatable: bool = False
    is_rare: bool = True
    also: tuple[str, ...] = ()


class LineFiles(NamedTuple):
    """Files of lines, such as logs, in which `init` searches for a source's documents.

    `key`: the key of their locations. `has_documents` is given as ``module:function``: whether a `StoredFile`
    has one. `rejects`: the kinds of the problems that a file with other documents causes.
    """

    key: str = ""
    has_documents: str = ""
    rejects: tuple[str, ...] = ("rejected",)


_NO_LINE_FILES = LineFiles()


def files_option(flag: str, key: str, contents: str) -> InitOption:
    """Return the option of a source with files of lines."""
    return InitOption(flag, key, contents, contents, is_repeatable=True)


class Suggestion(NamedTuple):
    """Lines that `init` proposes as a comment if a project is on one of these platforms."""

    platforms: tuple[str, ...]
    lines: str


class Sample(NamedTuple):
    """What a part of a large input contains: jobs with the time of their last run, and datasets."""

    jobs: Mapping[str, int]
    references: frozenset[Reference]


@dataclass(frozen=True, slots=True)
class Source:
    """A source: its display `name`, and its `key` in the configuration.

    `package` is its folder with `settings.schema.json`. `parse` turns settings that fit the schema into the
    object that is stored in ``Config.sources`` and passed to the functions below. `paths` are keys below
    `key` that hold paths relative to the configuration file.

    Functions with imports that are too heavy for ``--help`` are given as ``module:function``. `read` is the
    reader (`sources.registry`). `size` lists the input without Spark and returns its bytes, or None if only
    reading shows them; it raises the errors of reading. `preflight` checks before Spark starts whether the
    source can be read, and raises if not. `checks` names the sections of `doctor`:
    `diagnosis.SourceCheck`s; without them `preflight` is the only one. `without_sqlglot`: what is missing
    where sqlglot is not installed.

    `files` are the files it reads. `needs_aws`: it needs AWS credentials for more than files in S3.
    `with_secrets` adds the secrets of the driver's environment to the settings, for Spark's executors.
    `catalogs` maps Spark's catalog names to namespaces; `namespaces` are those that are configured for its
    tables. `has_raw_uris`: its datasets are raw URIs, which rules match. `retire_after` (only sources that
    report runs): after how many successful runs of a job without a write its target is retired (0: never);
    such a source reports all runs of `job_types`. `by_project`: the source describes `job_types` project by
    project, and what a project no longer contains is retired at once, unless a document of the source was
    rejected. `stated_projects` are those that the configuration names.
    `usual_job_types`: the types of most jobs, of a source without `job_types` because each document has its
    own. `is_catalog`: it only describes datasets that other sources reference.

    `kinds`: the documents that it recognizes, for messages about another source's input.

    For `init`: `options` that name its input, `discovery`: a `discovery.SourceDiscovery`, `line_files` of a
    source that reports jobs, `job_word` for these, `selected_by`: the key that selects some of them.
    `version` returns the version of what wrote the input, `sample` a `Sample` of input that is not in files
    of lines, else None. `project` of a source that describes projects returns the `ProjectFindings` of a
    location. `how_to_create`: the remedy for a missing document, unless there is one nearby. `suggestion`: if
    it is only proposed.

    `location_keys` are the keys below `key` that say where to read from; if none is set, `airflow` may supply
    one: its `airflow_support.AirflowSupport`.
    """

    name: str
    key: str
    package: str
    parse: Callable[[Any], Any]
    read: str
    size: str = ""
    paths: tuple[str, ...] = ()
    preflight: str = ""
    checks: str = ""
    without_sqlglot: str = ""
    files: Callable[[Any], Iterable[str]] = lambda _settings: ()
    needs_aws: Callable[[Any], bool] = lambda _settings: False
    with_secrets: Callable[[Any], Any] = lambda settings: settings
    catalogs: Callable[[Any], Mapping[str, str]] = lambda _settings: {}
    namespaces: Callable[[Any], Iterable[NamespaceSetting]] = lambda _settings: ()
    has_raw_uris: bool = False
    retire_after: Callable[[Any], int] | None = None
    by_project: bool = False
    stated_projects: Callable[[Any], Iterable[str]] = lambda _settings: ()
    job_types: tuple[str, ...] = ()
    usual_job_types: tuple[str, ...] = ()
    is_catalog: bool = False
    kinds: tuple[Kind, ...] = ()
    options: tuple[InitOption, ...] = ()
    discovery: str = "lineage_merge.sources.discovery:SourceDiscovery"
    line_files: LineFiles = _NO_LINE_FILES
    job_word: str = "job"
    selected_by: str = ""
    version: str = ""
    sample: str = ""
    project: str = ""
    how_to_create: str = ""
    suggestion: Suggestion | None = None
    location_keys: tuple[str, ...] = ()
    airflow: str = ""

    @property
    def described_job_types(self) -> tuple[str, ...]:
        """Return the types of the jobs that it describes, as far as declared; else its key."""
        return self.job_types or self.usual_job_types or (self.key,)

    @property
    def locations(self) -> tuple[InitOption, ...]:
        """Return the options of `init` that name its input."""
        return tuple(option for option in self.options if option.contents)

    def schema(self) -> dict[str, Any]:
        """Return the JSON Schema of its configuration section."""
        return schema_of(self.package)


def imported(reference: str) -> Any:
    """Import what ``module:name`` names."""
    module, _, name = reference.partition(":")
    return getattr(import_module(module), name)


def schema_of(package: str) -> dict[str, Any]:
    """Return the `settings.schema.json` of a package, with ``$ref`` to other packages resolved."""
    filled: dict[str, Any] = _with_references(load_schema(package, "settings.schema.json"))
    return filled


def _with_references(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_references(member) for member in node]
    if not isinstance(node, dict):
        return node
    own = {name: _with_references(child) for name, child in node.items() if name != "$ref"}
    return {**schema_of(node["$ref"]), **own} if "$ref" in node else own
