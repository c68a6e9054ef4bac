"""Files with one document each, plain or in a zip. No Spark."""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from lzma import LZMAError
from typing import NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.storage import MAX_UNPACKED_BYTES, StoredFile, find_files, read_bytes
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceMissing

# What `zipfile` raises for damaged content.
_DAMAGES = (
    zipfile.BadZipFile,
    EOFError,
    LZMAError,
    NotImplementedError,
    OSError,
    RuntimeError,
    ValueError,
    struct.error,
    zlib.error,
)


class Text(NamedTuple):
    """The text of a document, and where it is."""

    location: str
    text: str


class DocumentFiles(NamedTuple):
    """How a format is stored: the endings of the names of documents, and of the zips with documents."""

    endings: tuple[str, ...]
    zips: tuple[str, ...]
    description: str

    def find(self, location: str) -> list[StoredFile]:
        """Return the files at a location. Raises `SourceError`, `SourceMissing` for none."""
        endings = (*self.endings, *self.zips)
        files = [file for file in find_files(location) if file.location.lower().endswith(endings)]
        if not files:
            raise SourceMissing(f"{redact(location)}: {self.description} not found")
        return files

    def is_zip(self, location: str) -> bool:
        """Return whether a file is a zip, by its name."""
        return location.lower().endswith(self.zips)

    def read(self, location: str) -> Iterator[Text | Problem]:
        """Yield the documents of a file; a problem for one that cannot be read. Raises `SourceError`."""
        try:
            content = read_bytes(location)
        except DocumentError as error:
            yield Problem("rejected", error.document, error.field, error.problem)
            return
        if self.is_zip(location):
            yield from self.unzip(redact(location), content)
        else:
            yield _decode(redact(location), content)

    def unzip(self, location: str, content: bytes) -> Iterator[Text | Problem]:
        """Yield the documents of a zip; a problem if it is damaged."""
        try:
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                members = [one for one in archive.infolist() if one.filename.lower().endswith(self.endings)]
                if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
                    problem = f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
                    yield Problem("rejected", location, "", problem)
                    return
                for member in members:
                    yield _read_member(archive, member, f"{location}: {member.filename}")
        except _DAMAGES as error:
            yield Problem("rejected", location, "", f"damaged zip ({type(error).__name__})")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, location: str) -> Text | Problem:
    try:
        content = archive.read(member)
    except _DAMAGES as error:
        return Problem("rejected", location, "", f"damaged in its zip ({type(error).__name__})")
    input_budget.count(len(content))
    return _decode(location, content)


def _decode(location: str, content: bytes) -> Text | Problem:
    try:
        return Text(location, content.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return Problem("rejected", location, "", "not UTF-8 text")
