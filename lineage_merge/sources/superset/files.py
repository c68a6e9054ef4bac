"""Exports in files: zips, or folders of YAML, local or in S3. No Spark."""

import io
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.storage import MAX_UNPACKED_BYTES, StoredFile, find_files, read_bytes
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing
from lineage_merge.sources.superset.documents import Text

_YAML = (".yaml", ".yml")
# The folders of an export, and what is in them.
_BELOW = re.compile(r"/(?:dashboards|charts|datasets|databases|themes)/.*$|/[^/]*$")


class ExportFiles(NamedTuple):
    """The files of one export: a zip, or YAML below a folder."""

    files: tuple[str, ...]


def find_exports(location: str) -> list[StoredFile]:
    """Return the files of exports at a location. Raises `SourceError`, `SourceMissing` for none."""
    files = [file for file in find_files(location) if file.location.lower().endswith((*_YAML, ".zip"))]
    if not files:
        raise SourceMissing(f"{redact(location)}: no zip and no YAML files found")
    return files


def group_exports(files: Sequence[StoredFile]) -> list[ExportFiles]:
    """Return the files by export: each zip is one, and each folder with an unpacked one."""
    groups: dict[str, list[str]] = {}
    for file in files:
        is_zip = file.location.lower().endswith(".zip")
        root = file.location if is_zip else _BELOW.sub("", file.location)
        groups.setdefault(root, []).append(file.location)
    return [ExportFiles(tuple(group)) for group in groups.values()]


def read_files(export: ExportFiles) -> Iterator[Text | Problem]:
    """Yield the documents of an export; a problem for a file that cannot be read. Raises `SourceError`."""
    for location in export.files:
        try:
            content = read_bytes(location)
        except DocumentError as error:
            yield Problem("rejected", error.document, error.field, error.problem)
            continue
        if location.lower().endswith(".zip"):
            yield from read_zip(redact(location), content)
        else:
            yield _decode(redact(location), content)


def read_zip(location: str, content: bytes) -> Iterator[Text | Problem]:
    """Yield the documents of a zip; a problem if it is damaged."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as bundle:
            members = [member for member in bundle.infolist() if member.filename.lower().endswith(_YAML)]
            if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
                yield Problem("rejected", location, "", f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes")
                return
            for member in members:
                text = bundle.read(member)
                input_budget.count(len(text))
                yield _decode(f"{location}: {member.filename.partition('/')[2] or member.filename}", text)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        yield Problem("rejected", location, "", f"damaged zip ({type(error).__name__})")


def _decode(location: str, content: bytes) -> Text | Problem:
    try:
        return Text(location, content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Problem("rejected", location, "", "not UTF-8 text")
