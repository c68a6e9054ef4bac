"""Search of a folder, local or in S3, for sources of lineage, by the names and first lines of files."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile, is_s3, list_files, read_beginning
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.orchestration.init.sources import JOB_SOURCES, Sources
from lineage_merge.sources import document_kind
from lineage_merge.sources.source import imported
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.source import SPLINE

MAX_DEPTH = 8
MAX_FILES = 20_000
# Per folder: the files of one folder usually have one format.
_MAX_TESTED = 3
_RECOGNIZED_BYTES = 1 << 16
_MAX_NOTES = 5

_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "venv", "env", "__pycache__", "dbt_packages", "dbt_modules", "site-packages", "dist"}
)
_TEXTS = (".json", ".jsonl", ".ndjson", ".log")
_DBT_FILES = frozenset(
    {"manifest.json", "catalog.json", "run_results.json", "sources.json", "semantic_manifest.json"}
)


class Discovered(NamedTuple):
    """The sources found in a folder. `notes`: lines about what was found and not used."""

    sources: Sources
    notes: tuple[str, ...] = ()


def search(folder: str) -> Discovered:
    """Search a folder for exports of Spline, dbt manifests, and files of lines of each source.

    Files of Spline's agent are only used without an export: they are of the same runs.
    Raises `SourceError` if the folder cannot be listed.
    """
    files, is_complete = _files(folder)
    notes = [] if is_complete else [f"{folder}: searched {MAX_FILES:,} files, there are more"]
    databases = {_folder(file.location) for file in files if _is_plan_file(_name(file.location))}
    exported, more = _export(sorted(databases))
    notes += more
    manifests = [file.location for file in files if _name(file.location) == "manifest.json"]
    rest = [file for file in files if _folder(file.location) not in databases]
    line_files = _by_content(rest)
    if exported:
        agent = line_files.pop(SPLINE.key, ())
        notes += [f"{each}: files of Spline's agent, not used" for each in agent[:_MAX_NOTES]]
    sources = Sources(
        spline_export=exported,
        line_files=line_files,
        dbt=tuple(manifest for manifest in manifests if _is_dbt_manifest(manifest)),
    )
    return Discovered(sources, tuple(notes))


def _files(folder: str) -> tuple[list[StoredFile], bool]:
    if is_s3(folder):
        files = list_files(folder)
        return files[:MAX_FILES], len(files) <= MAX_FILES
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise SourceMissing(f"{folder}: {'a file, not a folder' if root.exists() else 'no such folder'}")
    local = [*islice(_walk(root), MAX_FILES + 1)]
    return sorted(local[:MAX_FILES]), len(local) <= MAX_FILES


def _walk(root: Path) -> Iterator[StoredFile]:
    for path, folders, names in os.walk(root):
        depth = len(Path(path).relative_to(root).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < MAX_DEPTH and not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            file = Path(path, name)
            if not name.startswith(".") and file.is_file():
                yield StoredFile(str(file), file.stat().st_size)


def _is_plan_file(name: str) -> bool:
    return name.startswith(("executionPlan.", "executionPlan_"))


def _export(folders: Sequence[str]) -> tuple[str, list[str]]:
    """Return the folder of the exported databases, and notes about databases that are not below it.

    Databases in one folder are one export. Of several such folders it is the one with most databases, the
    last by name if several have as many: names are often dates.
    """
    by_parent: dict[str, list[str]] = defaultdict(list)
    for folder in folders:
        by_parent[_folder(folder)].append(folder)
    ordered = sorted(by_parent, key=lambda parent: (len(by_parent[parent]), parent), reverse=True)
    candidates = [parent for parent in ordered if len(by_parent[parent]) > 1]
    for candidate in (*candidates, *sorted(folders, reverse=True)):
        try:
            export.find(candidate)
        except SourceError:
            continue
        others = [each for each in folders if not _is_below(each, candidate)]
        notes = [f"{other}: another export of Spline, not used" for other in others[:_MAX_NOTES]]
        return candidate, [*notes, *_more(len(others) - _MAX_NOTES)]
    return "", [f"{each}: an incomplete export of Spline, not used" for each in folders[:_MAX_NOTES]]


def _more(number: int) -> list[str]:
    return [f"{number} more exports of Spline, not used"] if number > 0 else []


def _is_dbt_manifest(location: str) -> bool:
    try:
        found = document_kind.of_bytes(read_beginning(location, _RECOGNIZED_BYTES))
    except SourceError:
        return False
    return found is document_kind.MANIFEST


def _by_content(files: Iterable[StoredFile]) -> dict[str, tuple[str, ...]]:
    """Return folders or files with documents of each source, by its key.

    The parsers of the sources decide: a log may contain documents of several sources, and long ones.
    """
    by_folder: dict[str, list[StoredFile]] = defaultdict(list)
    for file in files:
        if _may_be_text(_name(file.location)) and file.size:
            by_folder[_folder(file.location)].append(file)
    locations: dict[str, list[str]] = {}
    for source in JOB_SOURCES:
        has_documents: Callable[[StoredFile], bool] = imported(source.line_files.has_documents)
        for folder, in_folder in by_folder.items():
            tested = in_folder[:_MAX_TESTED]
            matching = [file.location for file in tested if _is_read_by(has_documents, file)]
            whole = len(matching) == len(tested) and len(in_folder) > 1
            if matching:
                locations.setdefault(source.key, []).extend([folder] if whole else matching)
    return {key: _outermost(found) for key, found in locations.items()}


def _is_read_by(has: Callable[[StoredFile], bool], file: StoredFile) -> bool:
    try:
        return has(file)
    except SourceError:
        return False


def _may_be_text(name: str) -> bool:
    plain = name.lower().removesuffix(".gz")
    return name not in _DBT_FILES and (plain.endswith(_TEXTS) or ".log." in plain)


def _outermost(locations: Iterable[str]) -> tuple[str, ...]:
    found = sorted(set(locations))
    return tuple(
        location
        for location in found
        if not any(location != other and _is_below(location, other) for other in found)
    )


def _is_below(location: str, folder: str) -> bool:
    if folder == ".":
        return not location.startswith("/") and "://" not in location
    return location == folder or location.startswith(folder.rstrip("/") + "/")


def _name(location: str) -> str:
    return location.rpartition("/")[2]


def _folder(location: str) -> str:
    return location.rpartition("/")[0] or "."
