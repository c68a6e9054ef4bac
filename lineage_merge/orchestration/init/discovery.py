"""Search of a folder, local or in S3, for input of sources, by the names and first lines of files."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from lineage_merge.infra.batches import gather
from lineage_merge.infra.storage import StoredFile, is_s3, list_files, read_beginning
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.sources import document_kind
from lineage_merge.sources.discovery import SourceInput, folder_of, is_below, is_text
from lineage_merge.sources.registry import SOURCES

MAX_DEPTH = 8
MAX_FILES = 20_000
# Files and folders without permission that a note names.
_DENIED_SHOWN = 3
# Files per folder and bytes of each by which documents that are not used are recognized.
_TESTED_FILES = 5
_TESTED_BYTES = 1 << 16
_UNUSED_SHOWN = 10

_SKIPPED_FOLDERS = frozenset(
    {"node_modules", "venv", "env", "__pycache__", "dbt_packages", "dbt_modules", "site-packages", "dist"}
)

# The input of each source of a configuration, by its key.
Inputs = Mapping[str, SourceInput]


class SearchResult(NamedTuple):
    """The input found in a folder. `notes`: lines about what was found and not used."""

    inputs: Inputs
    notes: tuple[str, ...] = ()


def search(folder: str, named: Inputs = MappingProxyType({})) -> SearchResult:
    """Search a folder for input of all sources but those that are `named`.

    Raises `SourceError` if the folder cannot be listed.
    """
    files, denied, is_complete = _files(folder)
    notes = [f"{path}: no permission to read it" for path in denied[:_DENIED_SHOWN]]
    if len(denied) > _DENIED_SHOWN:
        notes.append(f"no permission to read {len(denied) - _DENIED_SHOWN:,} more")
    if not is_complete:
        notes.append(f"{folder}: searched {MAX_FILES:,} files, there are more")
    discoveries = {source.key: discovery for source in SOURCES if (discovery := source.discovery()).options}
    owned = {location for discovery in discoveries.values() for location in discovery.own_files(files)}
    rest = [file for file in files if file.location not in owned]
    inputs: dict[str, SourceInput] = {}
    for key, discovery in discoveries.items():
        if key in named:
            continue
        discovered = discovery.search(files, rest)
        notes += discovered.notes
        if discovered.input:
            inputs[key] = discovered.input
    used = {location for inputs_ in (named, inputs) for one in inputs_.values() for location in one.locations}
    used |= {note.partition(": ")[0] for note in notes}
    notes += _list_unused(
        file for file in rest if not any(is_below(file.location, location) for location in used)
    )
    return SearchResult(inputs, tuple(notes))


def _list_unused(files: Iterable[StoredFile]) -> Iterator[str]:
    """Yield notes about documents of a kind that a source declares, by the beginnings of some files."""
    kinds = {id(kind) for source in SOURCES for kind in source.kinds}
    notes = []
    for in_folder in gather((folder_of(file.location), file) for file in files if is_text(file)).values():
        for file in in_folder[:_TESTED_FILES]:
            with suppress(SourceError):
                kind = document_kind.recognize_bytes(read_beginning(file.location, _TESTED_BYTES))
                if kind and id(kind) in kinds:
                    notes.append(f"{file.location}: not used: {kind}")
    yield from notes[:_UNUSED_SHOWN]
    if len(notes) > _UNUSED_SHOWN:
        yield f"{len(notes) - _UNUSED_SHOWN:,} more files that sources could read, not used"


def _files(folder: str) -> tuple[list[StoredFile], list[str], bool]:
    """Return readable files, the files and folders that are not, and whether these are all."""
    if is_s3(folder):
        files = list_files(folder)
        return files[:MAX_FILES], [], len(files) <= MAX_FILES
    root = Path(folder).expanduser()
    if not root.is_dir():
        raise SourceMissing(f"{folder}: {'a file, not a folder' if root.exists() else 'no such folder'}")
    denied: list[str] = []
    local = [*islice(_walk(root, denied), MAX_FILES + 1)]
    return sorted(local[:MAX_FILES]), denied, len(local) <= MAX_FILES


def _walk(root: Path, denied: list[str]) -> Iterator[StoredFile]:
    """Yield the files below a folder; adds what this user may not read to `denied`."""
    for path, folders, names in os.walk(root, onerror=lambda error: denied.append(str(error.filename))):
        depth = len(Path(path).relative_to(root).parts)
        folders[:] = sorted(
            name
            for name in folders
            if depth < MAX_DEPTH and not name.startswith(".") and name not in _SKIPPED_FOLDERS
        )
        for name in sorted(names):
            file = Path(path, name)
            if name.startswith(".") or not file.is_file():
                continue
            if not os.access(file, os.R_OK):
                denied.append(str(file))
            else:
                yield StoredFile(str(file), file.stat().st_size)
