"""Definitions in files: JSON below a folder, local or in S3, and asset bundles. No Spark."""

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.infra.document_decoder import loads
from lineage_merge.infra.redaction import redact
from lineage_merge.infra.storage import MAX_UNPACKED_BYTES, StoredFile, find_files, read_bytes
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing
from lineage_merge.sources.json_values import as_list, as_mapping, as_text

_JSON = (".json", ".json.gz")
_BUNDLES = (".zip", ".qs")


class Text(NamedTuple):
    """The text of a document, and where it is."""

    location: str
    text: str


def find_definitions(location: str) -> list[StoredFile]:
    """Return the files with definitions at a location. Raises `SourceError`, `SourceMissing` for none."""
    files = [file for file in find_files(location) if file.location.lower().endswith((*_JSON, *_BUNDLES))]
    if not files:
        raise SourceMissing(f"{redact(location)}: no JSON files and no asset bundle found")
    return files


def read_file(location: str) -> Iterator[Text | Problem]:
    """Yield the documents of a file; a problem for one that cannot be read. Raises `SourceError`."""
    try:
        content = read_bytes(location)
        if not location.lower().endswith(_BUNDLES):
            yield Text(redact(location), content.decode("utf-8-sig"))
            return
        yield from _read_bundle(location, content)
    except UnicodeDecodeError:
        yield Problem("rejected", redact(location), "", "not UTF-8 text")
    except DocumentError as error:
        yield Problem("rejected", error.document, error.field, error.problem)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, zlib.error) as error:
        yield Problem("rejected", redact(location), "", f"damaged asset bundle ({type(error).__name__})")


def _read_bundle(location: str, content: bytes) -> Iterator[Text | Problem]:
    with zipfile.ZipFile(io.BytesIO(content)) as bundle:
        members = [member for member in bundle.infolist() if member.filename.lower().endswith(".json")]
        if sum(member.file_size for member in members) > MAX_UNPACKED_BYTES:
            problem = f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
            yield Problem("rejected", redact(location), "", problem)
            return
        for member in members:
            text = bundle.read(member)
            input_budget.count(len(text))
            yield Text(f"{redact(location)}: {member.filename}", text.decode("utf-8-sig"))


def list_manifest_files(manifest: str) -> Sequence[str]:
    """Return the addresses of the files that a manifest lists; none if it cannot be read."""
    try:
        locations = as_list(as_mapping(loads(read_bytes(manifest).decode("utf-8-sig"))).get("fileLocations"))
    except (SourceError, ValueError, RecursionError):
        return ()
    return [
        _address_of(as_text(uri))
        for location in map(as_mapping, locations)
        for key in ("URIs", "URIPrefixes")
        for uri in as_list(location.get(key))
        if as_text(uri)
    ]


def _address_of(uri: str) -> str:
    """Return ``s3://bucket/key`` for the HTTPS address of an object."""
    scheme, _, rest = uri.partition("://")
    host, _, path = rest.partition("/")
    if scheme != "https" or ".amazonaws.com" not in host:
        return uri
    bucket, dot, _ = host.partition(".s3")
    return f"s3://{bucket}/{path}" if dot and bucket else f"s3://{path}"
