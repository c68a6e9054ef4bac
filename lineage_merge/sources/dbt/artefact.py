"""Reading and JSON parsing of dbt's artifacts, with errors on one line that name the file and its fix."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any

from lineage_merge.infra import storage
from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing
from lineage_merge.model.times import epoch_ms
from lineage_merge.sources import document_kind
from lineage_merge.sources.dbt.settings import CATALOG, FRESHNESS, MANIFEST, RUN_RESULTS, What
from lineage_merge.sources.kinds import Kind

_KINDS = {
    "manifest": MANIFEST,
    "catalog": CATALOG,
    "run results file": RUN_RESULTS,
    "sources file": FRESHNESS,
}
_FILES = {
    "manifest": "manifest.json",
    "catalog": "catalog.json",
    "run results file": "run_results.json",
    "sources file": "sources.json",
}
_BEGINNING = 1 << 16
# Folders next to a missing file that are searched.
_MAX_FOLDERS = 50


def read(location: str, what: What) -> str:
    """Read an artifact as text. Raises `SourceError`, which names the file to give if it is a similar one."""
    with _similar_files(location, what):
        content = storage.read_bytes(location)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        actual = document_kind.recognize_bytes(content[:_BEGINNING])
        if actual and actual is not _KINDS[what]:
            raise _wrong(storage.redact_location(location), "", actual, what) from None
        problem = f"not UTF-8 text (byte {error.start})"
        raise DocumentError(storage.redact_location(location), "", problem) from None


def size(location: str, what: What) -> int:
    """Return the stored size of an artifact. Raises the same errors as reading it."""
    with _similar_files(location, what):
        return storage.size_of(location)


@contextmanager
def _similar_files(location: str, what: What) -> Iterator[None]:
    """Add to the error of a missing file where the artifact is: in the folder, or one level below."""
    try:
        yield
    except SourceMissing as error:
        if error.remedy:
            raise
        nearest = _nearest(location.rstrip("/"), what)
        if not nearest:
            raise
        raise SourceMissing.with_suggestion(error.message, storage.redact_location(nearest)) from None


def _nearest(missing: str, what: What) -> str:
    """Return the artifact of a folder that is missing as a file, or of the folder of a missing file."""
    parent = missing.rpartition("/")[0] or "."
    name = _FILES[what]
    places = (f"{missing}/{name}", f"{missing}/target/{name}", f"{parent}/target/{name}")
    other_place = next((place for place in places if place != missing and _exists(place)), "")
    # Other programs have files of these names, too: those of any folder are recognized by their content.
    return other_place or next(
        (file for file in _list_below((missing, parent), name) if has_kind(file, what)), ""
    )


def _list_below(folders: tuple[str, ...], name: str) -> Iterator[str]:
    for folder in folders:
        with suppress(SourceError):
            yield from (f"{subfolder}/{name}" for subfolder in storage.subfolders(folder)[:_MAX_FOLDERS])


def has_kind(location: str, what: What) -> bool:
    """Return whether a file is an artefact, by its beginning."""
    with suppress(SourceError):
        return document_kind.recognize_bytes(storage.read_beginning(location, _BEGINNING)) is _KINDS[what]
    return False


def _exists(location: str) -> bool:
    with suppress(SourceError):
        storage.size_of(location)
        return True
    return False


def _wrong(location: str, field: str, actual: Kind, what: What) -> DocumentError:
    return DocumentError(location, field, f"is not a dbt {what}, but {actual}", actual.remedy)


_LONGEST_SECONDS = 10**9


def parse(
    location: str, text: str, what: What, reduce_object: Callable[[dict[str, Any]], Any] | None = None
) -> dict[str, Any]:
    """Parse a manifest or a catalog (`what`); `reduce_object` is applied to each JSON object while parsing.

    Raises `DocumentError` for text that is not a JSON object, or another kind of document.
    """
    try:
        document = json.loads(text.removeprefix("\ufeff"), object_hook=reduce_object)
    except json.JSONDecodeError as error:
        actual = document_kind.recognize_text(text[:_BEGINNING])
        if actual and actual is not _KINDS[what]:
            raise _wrong(location, "", actual, what) from None
        position = f"line {error.lineno}, column {error.colno}"
        raise DocumentError(location, "", f"is not valid JSON: {error.msg} ({position})") from None
    except ValueError:  # Python does not parse numbers of thousands of digits
        raise DocumentError(location, "", f"is not a dbt {what}: a number is too long") from None
    except RecursionError:
        raise DocumentError(location, "", f"is not a dbt {what}: nested too deeply") from None
    kind = document_kind.recognize_document(document)
    if kind and kind is not _KINDS[what]:
        has_version = isinstance(document, dict) and "metadata" in document
        raise _wrong(location, "metadata.dbt_schema_version" if has_version else "", kind, what)
    if not isinstance(document, dict):
        raise DocumentError(location, "", f"is not a dbt {what}: not a JSON object")
    return document


def moment(text: str | None) -> int:
    """Return a time in ISO 8601 as ms since 1970, 0 if it is missing or malformed.

    Without a time zone it is UTC, as dbt writes it.
    """
    try:
        return epoch_ms(datetime.fromisoformat(text)) if text else 0
    except ValueError:
        return 0


def duration_ms(seconds: float | None) -> int | None:
    """Return a duration in ms, None if it is missing or impossible."""
    if seconds is None or not 0 <= seconds < _LONGEST_SECONDS:
        return None
    return round(seconds * 1000)
