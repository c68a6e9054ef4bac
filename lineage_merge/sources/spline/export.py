"""Exports of Spline's database: one file per collection, as `arangoexport` writes them.

JSON lines or JSON arrays, optionally compressed with gzip. A folder with an `executionPlan` file is one
database; a folder of such folders is several. Large files of lines are read in slices.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from lineage_merge.infra.storage import (
    Slice,
    StoredFile,
    is_s3,
    list_files,
    read_text,
    redact_location,
    size_of,
)
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError, SourceMissing
from lineage_merge.sources import line_files
from lineage_merge.sources.spline.database_state import VERSIONS, Versions, versions
from lineage_merge.sources.spline.documents import COLLECTIONS, REQUIRED, Document, parse, reject
from lineage_merge.sources.spline.settings import EXPORT

# operation.json, operation.jsonl.gz, and arangodump's operation_<hash>.data.json.gz
_FILE = re.compile(
    r"^(?P<collection>[A-Za-z]+)(?P<dump>_[0-9a-f]{32})?(?:\.\d+)?(?:\.data)?"
    r"\.(?P<type>json|jsonl|ndjson)(?:\.gz)?$"
)

_ENDINGS = ("json", "jsonl", "json.gz", "jsonl.gz")
_FOUND = (*COLLECTIONS, VERSIONS)


@dataclass(frozen=True, slots=True)
class Part:
    """A slice of one collection's file of one database. `is_json`: it may be an array."""

    database: str
    collection: str
    slice: Slice
    is_json: bool = False


class Text(NamedTuple):
    """A document's text and location."""

    location: str
    text: str


def find(folder: str) -> list[Part]:
    """List the files of the required collections, cut into slices.

    Raises `SourceMissing` without a database, or if a required collection is missing.
    """
    databases: dict[str, list[tuple[str, StoredFile, bool]]] = defaultdict(list)
    prefix = _root(folder)
    files = _list_files(folder)
    for file in files:
        path = PurePosixPath(file.location)
        match = _FILE.match(path.name)
        if match and match["collection"] in _FOUND:
            parent = path.parent
            name = str(parent.relative_to(prefix)) if parent.is_relative_to(prefix) else str(parent)
            whole = match["type"] == "json" and not match["dump"]
            databases["" if name == "." else name].append((match["collection"], file, whole))
    if not databases:
        problem = "no collections of Spline found (executionPlan.json or .jsonl, ...)"
        raise _instead(f"{redact_location(folder)}: {problem}", folder, files)
    for name, collections in sorted(databases.items()):
        present = {collection for collection, _, _ in collections}
        for collection in REQUIRED:
            if collection not in present:
                location = f"{folder}/{name}" if name else folder
                fix = f"run arangoexport with --collection {collection}"
                problem = f"{redact_location(location)}: the required collection {collection} is missing"
                raise SourceMissing(f"{problem}: {fix}", fix)
    return [
        Part(name, collection, piece, whole)
        for name, collections in sorted(databases.items())
        for collection, file, whole in collections
        for piece in _cut(file, whole)
    ]


def _list_files(folder: str) -> list[StoredFile]:
    try:
        return list_files(folder)
    except SourceMissing as error:
        file = _file_at(folder)
        if file is None:
            raise
        raise _instead(error.message, folder, [file]) from None


def _file_at(location: str) -> StoredFile | None:
    with suppress(SourceError):
        return StoredFile(location, size_of(location))
    return None


def _instead(problem: str, folder: str, files: list[StoredFile]) -> SourceMissing:
    """Return the problem with the folder to give, or with what the files are, if either is known."""
    parent = folder.rstrip("/").rpartition("/")[0]
    if parent and any(_file_at(f"{parent}/executionPlan.{ending}") for ending in _ENDINGS):
        return SourceMissing.with_suggestion(problem, redact_location(parent))
    kind = line_files.recognize(Slice(file.location, 0, file.size) for file in files)
    if kind is None or kind is EXPORT:
        return SourceMissing(problem)
    return SourceMissing(f"{problem}, but {kind}", kind.remedy)


def versions_of(parts: Iterable[Part]) -> dict[str, Versions]:
    """Read the version of each database that has a `dbVersion` file; these are small."""
    documents_of: dict[str, list[Document]] = defaultdict(list)
    for part in parts:
        if part.collection == VERSIONS:
            documents_of[part.database].extend(valid_documents(part))
    return {database: versions(documents) for database, documents in documents_of.items() if documents}


def _root(folder: str) -> PurePosixPath:
    """Return the folder in the form that its files' locations begin with."""
    if is_s3(folder):
        return PurePosixPath(re.sub(r"^\w+:", "s3:", folder))
    return PurePosixPath(Path(folder.removeprefix("file://")).expanduser())


def _cut(file: StoredFile, whole: bool) -> Iterator[Slice]:
    return iter([Slice(file.location, 0, file.size)]) if whole else line_files.cut(file)


def texts(part: Part) -> Iterator[Text | Problem]:
    """Yield the documents of a slice, each as the text of one JSON object, not validated."""
    found = (
        _json_file(part) if part.is_json else json_lines(line_files.number_lines(part.slice), part.database)
    )
    yield from found


def documents(part: Part) -> Iterator[Document | Problem]:
    """Yield the documents of a slice, not validated, and problems with malformed ones."""
    for text in texts(part):
        yield text if isinstance(text, Problem) else parse(part.collection, text.text, part.database)


def valid_documents(part: Part) -> Iterator[Document]:
    """Yield the documents of a slice without problems."""
    return (document for document in documents(part) if not isinstance(document, Problem))


def json_lines(numbered: Iterable[tuple[str, bytes]], database: str) -> Iterator[Text | Problem]:
    """Yield the JSON objects of located lines, and problems with other lines."""
    for location, line in numbered:
        try:
            text = line.decode("utf-8").removeprefix("\ufeff").strip()
        except UnicodeDecodeError as error:
            yield reject(location, "", f"not UTF-8 text (byte {error.start} of the line)", database)
            continue
        if not text:
            continue
        if text[0] == "{" and text[-1] == "}":
            yield Text(location, text)
        else:
            yield reject(location, "", "not a JSON object", database)


def _json_file(part: Part) -> Iterator[Text | Problem]:
    """Read a ``.json`` file: an array, or lines."""
    file = part.slice.location
    text = read_text(file)
    if not text.lstrip().startswith("["):
        # Not splitlines: strings in a document may contain other line separators.
        numbered = ((f"{file}, line {n}", line.encode()) for n, line in enumerate(text.split("\n"), 1))
        yield from json_lines(numbered, part.database)
        return
    try:
        documents = json.loads(text)
    except (ValueError, RecursionError):
        documents = None
    if not isinstance(documents, list):
        yield from _recover_array(text, part)
        return
    for number, document in enumerate(documents, 1):
        location = f"{file}, element {number}"
        if isinstance(document, dict):
            yield Text(location, json.dumps(document))
        else:
            yield reject(location, "", "not a JSON object", part.database)


_BETWEEN = re.compile(r"[\s,]*")
# Arrays on one line: Arango's own fields come first in a document, and never in nested objects.
_NEXT_ON_LINE = r",\s*(?=\{\s*\"_(?:key|id|rev|from|to)\")"


def _recover_array(text: str, part: Part) -> Iterator[Text | Problem]:
    """Recover the elements of a malformed array.

    After a malformed element, reading continues where the next one seems to begin: at a line with the
    indentation of the first element, or at a document's first field.
    """
    decoder = json.JSONDecoder()
    file = part.slice.location
    start = text.index("[") + 1
    opening = re.compile(r"\s*\n([ \t]*)\{").match(text, start)
    at_line = rf"\n(?:{opening[1]}|[ \t]*,[ \t]*)(?=\{{)|" if opening else ""
    next_element = re.compile(at_line + _NEXT_ON_LINE)
    line, counted = 1, 0
    while True:
        gap = _BETWEEN.match(text, start)
        start = gap.end() if gap else start
        line, counted = line + text.count("\n", counted, start), start
        location = f"{file}, line {line}"
        if start >= len(text):
            yield reject(location, "", "unterminated array: the file is truncated", part.database)
            return
        if text[start] == "]":
            return
        try:
            document, start = decoder.raw_decode(text, start)
        except (ValueError, RecursionError) as error:
            reason = f"not JSON: {error.args[0]}" if isinstance(error, ValueError) else "nested too deeply"
            following = next_element.search(text, start + 1)
            if not following:
                yield reject(location, "", f"{reason}; nothing after it can be read", part.database)
                return
            yield reject(location, "", reason, part.database)
            start = following.end()
            continue
        if isinstance(document, dict):
            yield Text(location, json.dumps(document))
        else:
            yield reject(location, "", "not a JSON object", part.database)
