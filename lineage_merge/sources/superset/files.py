"""Exports in files: zips, or folders of YAML, local or in S3. No Spark."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.sources.document_files import DocumentFiles, Text

EXPORT_FILES = DocumentFiles((".yaml", ".yml"), (".zip",), "a zip or YAML files")
# The folders of an export, and what is in them.
_BELOW = re.compile(r"/(?:dashboards|charts|datasets|databases|themes)/.*$|/[^/]*$")


class ExportFiles(NamedTuple):
    """The files of one export: a zip, or YAML below a folder."""

    files: tuple[str, ...]


def group_exports(files: Sequence[StoredFile]) -> list[ExportFiles]:
    """Return the files by export: each zip is one, and each folder with an unpacked one."""
    groups: dict[str, list[str]] = {}
    for file in files:
        is_zip = EXPORT_FILES.is_zip(file.location)
        root = file.location if is_zip else _BELOW.sub("", file.location)
        groups.setdefault(root, []).append(file.location)
    return [ExportFiles(tuple(group)) for group in groups.values()]


def read_files(export: ExportFiles) -> Iterator[Text | Problem]:
    """Yield the documents of an export; a problem for a file that cannot be read. Raises `SourceError`."""
    for location in export.files:
        yield from EXPORT_FILES.read(location)
