"""Reading and JSON parsing of dbt's artifacts, with errors on one line that name the file and its fix."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from lineage_merge.infra import storage
from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing
from lineage_merge.sources import document_kind

What = Literal["manifest", "catalog", "run results file"]

_KINDS = {
    "manifest": document_kind.MANIFEST,
    "catalog": document_kind.CATALOG,
    "run results file": document_kind.RUN_RESULTS,
}
_FILES = {
    "manifest": "manifest.json",
    "catalog": "catalog.json",
    "run results file": "run_results.json",
}
_BEGINNING = 1 << 16


def read(location: str, what: What) -> str:
    """Read an artifact as text. Raises `SourceError`, which names the file to give if it is a similar one."""
    with _similar_files(location, what):
        content = storage.read_bytes(location)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = document_kind.of_bytes(content[:_BEGINNING])
        problem = f"not UTF-8 text (byte {error.start})"
        if found and found is not _KINDS[what]:
            problem = _wrong(found, what)
        raise DocumentError(storage.shown(location), "", problem) from None


def size(location: str, what: What) -> int:
    """Return the stored size of an artifact. Raises the same errors as reading it."""
    with _similar_files(location, what):
        return storage.size_of(location)


@contextmanager
def _similar_files(location: str, what: What) -> Iterator[None]:
    """Add to the error of a missing file where the artifact is: in the folder, or in its folder target."""
    try:
        yield
    except SourceMissing as error:
        folder = location.rstrip("/")
        parent, _, _ = folder.rpartition("/")
        name = _FILES[what]
        places = (f"{folder}/{name}", f"{folder}/target/{name}", f"{parent}/target/{name}")
        found = next((each for each in places if each != location and _exists(each)), "")
        if not found:
            raise
        raise SourceMissing(f"{error.message}; did you mean {storage.shown(found)}?") from None


def _exists(location: str) -> bool:
    with suppress(SourceError):
        storage.size_of(location)
        return True
    return False


def _wrong(found: document_kind.Kind, what: What) -> str:
    return f"is not a dbt {what}, but {found}"


def parse(
    location: str, text: str, what: What, reduce_object: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """Parse a manifest or a catalog (`what`); `reduce_object` is applied to each JSON object while parsing.

    Raises `DocumentError` for text that is not a JSON object, or another kind of document.
    """
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_hook=reduce_object)
    except json.JSONDecodeError as error:
        found = document_kind.of_text(text[:_BEGINNING])
        if found and found is not _KINDS[what]:
            raise DocumentError(location, "", _wrong(found, what)) from None
        position = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(location, "", f"is not valid JSON: {error.msg} ({position})") from None
    except ValueError:  # Python does not parse numbers of thousands of digits
        raise DocumentError(location, "", f"is not a dbt {what}: a number is too long") from None
    except RecursionError:
        raise DocumentError(location, "", f"is not a dbt {what}: nested too deeply") from None
    kind = document_kind.of_document(document)
    if kind and kind is not _KINDS[what]:
        has_version = isinstance(document, dict) and "metadata" in document
        raise DocumentError(
            location, "metadata.dbt_schema_version" if has_version else "", _wrong(kind, what)
        )
    if not isinstance(document, dict):
        raise DocumentError(location, "", f"is not a dbt {what}: not a JSON object")
    return document


def milliseconds(moment: datetime) -> int:
    """Return a time as ms since 1970; without a time zone it is UTC, as dbt writes it."""
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
