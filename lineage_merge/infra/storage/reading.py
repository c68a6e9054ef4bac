"""Reads whole files, their beginnings, and parts of them."""

import gzip
from collections.abc import Sequence

from lineage_merge.infra import input_budget
from lineage_merge.infra.storage.access import map_locations, open_stream, s3_client, translate_errors
from lineage_merge.infra.storage.locations import bucket_and_key, redact_location
from lineage_merge.infra.storage.packed import INVALID_GZIP, GzipReader
from lineage_merge.infra.storage.ranged_file import RangedFile
from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing

# Maximum unpacked size of a file that is read completely: parsed, it takes about ten times as much memory.
MAX_UNPACKED_BYTES = 512 << 20
# Any ratio is harmless up to these sizes: in memory for complete files, in time for lines.
MIN_BYTES_FOR_RATIO = 16 << 20
_BLOCK_BYTES = 1 << 20


def read_bytes(location: str) -> bytes:
    """Read a file, unpacked if its name ends in ``.gz``.

    Raises `DocumentError` if a packed file is truncated, or exceeds the limits when unpacked; unpacking stops
    at the limit.
    """
    with translate_errors(location), open_stream(location) as stream:
        if not location.endswith(".gz"):
            content = stream.read(input_budget.limit_read(-1))
            input_budget.count(len(content))
            return content
        unpacked = GzipReader(location, stream, MIN_BYTES_FOR_RATIO)
        data = bytearray()
        while block := unpacked.read1(input_budget.limit_read(_BLOCK_BYTES)):
            input_budget.count(len(block))
            data += block
            if len(data) > MAX_UNPACKED_BYTES:
                problem = f"unpacks to more than {MAX_UNPACKED_BYTES:,} bytes"
                raise DocumentError(redact_location(location), "", problem)
        return bytes(data)


def read_text(location: str) -> str:
    """Read a file as UTF-8 text, without a byte order mark."""
    try:
        return read_bytes(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(redact_location(location), "", f"not UTF-8 text (byte {error.start})") from None


def read_texts(locations: Sequence[str]) -> list[str | None]:
    """Read small files, those in S3 concurrently; None for a missing file."""
    return map_locations(_text_or_none, locations)


def _text_or_none(location: str) -> str | None:
    try:
        return read_text(location)
    except SourceMissing:
        return None


def read_beginning(location: str, limit: int) -> bytes:
    """Read at most `limit` bytes; of a file whose name ends in ``.gz`` unpacked, as far as it is intact."""
    with translate_errors(location), open_stream(location) as stream:
        if not location.endswith(".gz"):
            return stream.read(limit)
        try:
            return gzip.GzipFile(fileobj=stream).read1(limit)
        except INVALID_GZIP:
            return b""


def open_ranges(location: str) -> RangedFile:
    """Open a file in S3 of which only parts may be needed. Raises `SourceError`, also when it is read."""
    bucket, key = bucket_and_key(location)
    client = s3_client()
    version: dict[str, str] = {}  # parts of an object that replaces it are not read

    def fetch(part: str) -> tuple[bytes, int]:
        with translate_errors(location):
            try:
                answer = client.get_object(Bucket=bucket, Key=key, Range=part, **version)
            except client.exceptions.ClientError as error:
                code = error.response["Error"].get("Code")
                if code == "PreconditionFailed":
                    problem = "was replaced while it was read. Fix: repeat the command"
                    raise SourceError(f"{redact_location(location)}: {problem}") from None
                if code != "InvalidRange" or version:
                    raise
                return b"", 0  # an empty object has no ranges
            if "ETag" in answer:
                version["IfMatch"] = answer["ETag"]
            content: bytes = answer["Body"].read()
        input_budget.count(len(content))
        # A server may ignore the range.
        return content, int(answer.get("ContentRange", f"/{len(content)}").rpartition("/")[2])

    return RangedFile(fetch)
