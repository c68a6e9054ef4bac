"""How `init` finds the input of a source, and proposes its settings."""

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.infra.storage import StoredFile, read_beginning
from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import SourceError

# Per folder: the files of one folder usually have one format.
_MAX_TESTED = 3
# Of a file that is tested for patterns, in bytes.
_BEGINNING = 1 << 16
_TEXTS = (".json", ".jsonl", ".ndjson", ".log")

Prompt = Callable[..., str]
"""Asks for a text (`text`, `default`)."""


class SourceInput(NamedTuple):
    """The input of a source: the locations of `key`, or `settings` (with locations: those beside it)."""

    key: str
    locations: tuple[str, ...] = ()
    settings: Mapping[str, str] = {}


class Discovered(NamedTuple):
    """What a folder contains of a source. `notes`: lines about what was found and not used."""

    input: SourceInput | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectFindings:
    """What the document of a project contains, which names no host.

    `source`: the key of its source. `sources` and `built` are the names of its datasets in the warehouse,
    whose kind is `platform`; `schemas` are their ``database.schema``, the most frequent first. `version` is
    that of what wrote it, `beside` the locations of other documents by the key of the configuration.
    """

    source: str
    location: str
    project: str
    platform: str
    version: str = ""
    generated_at: int = 0
    nodes: int = 0
    sources: frozenset[str] = frozenset()
    built: frozenset[str] = frozenset()
    schemas: tuple[str, ...] = ()
    beside: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


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


class SourceDiscovery:
    """What `init` does for a source: sources override its attributes and methods.

    `options` name the input; `is_list`: the section of the configuration is a list of inputs. `line_key`: the
    key of the locations of files of lines, such as logs, in which documents of a source that reports jobs are
    searched; `rejects`: the kinds of the problems that a file with other documents causes. `job_word` for
    these jobs, `selected_by`: the key that selects some of them. `has_version`: `version` returns one.
    `describes_projects`: its documents are those of projects, see `project`. `how_to_create`: the remedy for
    a missing document, unless there is one nearby. `suggestion`: what is only proposed.
    """

    options: tuple[InitOption, ...] = ()
    is_list = False
    line_key = ""
    rejects: tuple[str, ...] = ("rejected",)
    job_word = "job"
    selected_by = ""
    has_version = False
    describes_projects = False
    how_to_create = ""
    suggestion: Suggestion | None = None

    @property
    def locations(self) -> tuple[InitOption, ...]:
        """Return the options that name input."""
        return tuple(option for option in self.options if option.contents)

    def has_documents(self, _file: StoredFile) -> bool:
        """Return whether a file of lines has a document of the source."""
        return False

    def version(self, _settings: Any) -> str:
        """Return the version of what wrote the input."""
        return ""

    def sample(self, _settings: Any) -> Sample | None:
        """Return what a part of an input contains that is not in files of lines, else None."""
        return None

    def project(self, location: str) -> ProjectFindings:
        """Return what the document of a project contains. Raises `SourceError`."""
        raise NotImplementedError(location)

    def read_options(self, given: Mapping[str, Any]) -> SourceInput | None:
        """Return the input that options name; `given` are their values by key. Raises `ConfigError`."""
        for option in self.locations:
            if value := given[option.key]:
                return SourceInput(option.key, (value,) if isinstance(value, str) else tuple(value))
        return None

    def ask(self, prompt: Prompt) -> SourceInput | None:
        """Ask for the input, if no source of this kind is known."""
        return None

    def own_files(self, files: Iterable[StoredFile]) -> Iterable[str]:
        """Return the locations of files that no source reads as lines."""
        return ()

    def search(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> Discovered:
        """Return the input among files; `rest` are those that no source owns."""
        return Discovered(self.find_in_lines(files, rest))

    def find_in_lines(self, files: Sequence[StoredFile], rest: Sequence[StoredFile]) -> SourceInput | None:
        """Return folders or files of lines with documents of the source.

        Its parser decides: a log may contain documents of several sources, and long ones.
        """
        if not self.line_key:
            return None
        locations = locations_with(self.has_documents, files, rest)
        return SourceInput(self.line_key, locations) if locations else None

    def settings(
        self, source_input: SourceInput, folder: Path | None, _namespaces: Mapping[str, str] = {}
    ) -> Any:
        """Return the section of the configuration, in a file in `folder` (see `locate_from`).

        `namespaces`: those of projects by platform, and of "" the given one.
        """
        locations = [locate_from(location, folder) for location in source_input.locations]
        if self.is_list:
            return [{source_input.key: location, **source_input.settings} for location in locations]
        if not locations:
            return {source_input.key: dict(source_input.settings)}
        return {source_input.key: locations[0] if len(locations) == 1 else locations}

    def check(self, _source_input: SourceInput, _namespaces: Mapping[str, str]) -> str:
        """Return what a user has to check in the settings, "" if they are certain."""
        return ""

    def command(self, key: str, location: str) -> str:
        """Return the option that reads a location as the documents of `key`, "" if none can."""
        (flag,) = (option.flag for option in self.locations if key in (option.key, *option.also))
        return f"{flag} {location}"

    def fix(self, _error: SourceError) -> str:
        """Return the remedy for input without a location."""
        return ""


def locations_with(
    has_documents: Callable[[StoredFile], bool], files: Iterable[StoredFile], rest: Iterable[StoredFile]
) -> tuple[str, ...]:
    """Return the folders of which all texts have a document, and else the files that have one.

    `rest` are the files that no source owns. Folders are read with all that is below them, so one is named
    in place of its only file, or of several folders, only if nothing else is below it.
    """
    by_folder = gather((folder_of(file.location), file) for file in rest if is_text(file))
    texts = Counter(folder_of(file.location) for file in files if is_text(file))
    whole: set[str] = set()
    locations: set[str] = set()
    for folder, in_folder in by_folder.items():
        matching = _matching(has_documents, in_folder[:_MAX_TESTED])
        is_whole = len(matching) == len(in_folder[:_MAX_TESTED])
        if matching and not is_whole:
            matching += _matching(has_documents, in_folder[_MAX_TESTED:])
        if is_whole and len(in_folder) == texts[folder]:
            whole.add(folder)
        locations |= {folder} if is_whole and len(in_folder) > 1 else set(matching)

    def is_complete(folder: str) -> bool:
        return folder != "." and all(text in whole for text in texts if is_below(text, folder))

    locations = {
        folder_of(location)
        if location not in by_folder and folder_of(location) in whole and is_complete(folder_of(location))
        else location
        for location in locations
    }
    while common := [
        above
        for above, number in Counter(parent(location) for location in locations & whole).items()
        if number > 1 and is_complete(above)
    ]:
        locations |= {*common}
        whole |= {*common}
        locations = {*outermost(locations)}
    return outermost(locations)


def _matching(has_documents: Callable[[StoredFile], bool], files: Iterable[StoredFile]) -> list[str]:
    matching: list[str] = []
    for file in files:
        with suppress(SourceError):
            matching += [file.location] if has_documents(file) else []
    return matching


def locate_from(location: str, folder: Path | None) -> str:
    """Return a location as a configuration file in `folder` has it; None: unchanged.

    A local path below the folder becomes relative, another one absolute.
    """
    if folder is None or "://" in location:
        return location
    # Links are not resolved: a link below the folder is below it.
    path, root = (Path(os.path.normpath(Path(text).expanduser().absolute())) for text in (location, folder))
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def file_name(location: str) -> str:
    """Return the last part of a location."""
    return location.rpartition("/")[2]


def folder_of(location: str) -> str:
    """Return the folder of a file."""
    return location.rpartition("/")[0] or "."


def parent(location: str) -> str:
    """Return the folder of a file or folder; "." at the root."""
    head = location.rstrip("/").rpartition("/")[0]
    return head if head and not re.fullmatch(r"\w+:/?", head) else "."


def is_below(location: str, folder: str) -> bool:
    """Return whether a location is a folder, or in it."""
    if folder == ".":
        return not location.startswith("/") and "://" not in location
    return location == folder or location.startswith(folder.rstrip("/") + "/")


def is_text(file: StoredFile) -> bool:
    """Return whether a file may have documents as text, by its name."""
    plain = file_name(file.location).lower().removesuffix(".gz")
    return file.size > 0 and (plain.endswith(_TEXTS) or ".log." in plain)


def begins_with(file: StoredFile, endings: tuple[str, ...], *patterns: re.Pattern[bytes]) -> bool:
    """Return whether a file with one of these endings has matches of all patterns at its beginning."""
    if not file.size or not file.location.lower().endswith(endings):
        return False
    with suppress(SourceError):
        beginning = read_beginning(file.location, _BEGINNING)
        return all(pattern.search(beginning) for pattern in patterns)
    return False


def outermost(locations: Iterable[str]) -> tuple[str, ...]:
    """Return the locations that are below no other one, sorted."""
    ordered = sorted(set(locations))
    return tuple(
        location
        for location in ordered
        if not any(location != other and is_below(location, other) for other in ordered)
    )
