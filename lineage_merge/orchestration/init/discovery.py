"""Search of a folder, local or in S3, for input of sources, by the names and first lines of files."""

import os
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile, is_s3, list_files
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources.discovery import SourceInput, discovery_of
from lineage_merge.sources.registry import SOURCES

MAX_DEPTH = 8
MAX_FILES = 20_000

_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "venv", "env", "__pycache__", "dbt_packages", "dbt_modules", "site-packages", "dist"}
)

# The input of each source of a configuration, by its key.
Inputs = Mapping[str, SourceInput]


class SearchResult(NamedTuple):
    """The input found in a folder. `notes`: lines about what was found and not used."""

    inputs: Inputs
    notes: tuple[str, ...] = ()


def search(folder: str) -> SearchResult:
    """Search a folder for input of all sources. Raises `SourceError` if the folder cannot be listed."""
    files, is_complete = _files(folder)
    notes = [] if is_complete else [f"{folder}: searched {MAX_FILES:,} files, there are more"]
    discoveries = {source.key: discovery_of(source) for source in SOURCES if source.options}
    owned = {location for discovery in discoveries.values() for location in discovery.own_files(files)}
    rest = [file for file in files if file.location not in owned]
    inputs: dict[str, SourceInput] = {}
    for key, discovery in discoveries.items():
        discovered = discovery.search(files, rest)
        notes += discovered.notes
        if discovered.input:
            inputs[key] = discovered.input
    return SearchResult(inputs, tuple(notes))


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
