"""Locations of files, and what is known of a file without opening it. Pure."""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import SourceError


class StoredFile(NamedTuple):
    """A file and its stored (possibly packed) size in bytes."""

    location: str
    size: int

    @property
    def text_bytes(self) -> int:
        """The approximate size as unpacked text."""
        return self.size * _UNPACKED if self.location.endswith((".gz", ".parquet")) else self.size


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a file: the lines that start in the bytes from `start` to `end`."""

    location: str
    start: int
    end: int


S3_SCHEMES = ("s3", "s3a", "s3n")
# Approximate ratio of unpacked to packed text.
_UNPACKED = 8


def is_s3(location: str) -> bool:
    """Whether a location is in S3."""
    return scheme_of(location) in S3_SCHEMES


def scheme_of(location: str) -> str:
    scheme, separator, _ = location.partition("://")
    return scheme.lower() if separator else ""


def redact_location(location: str) -> str:
    """Return a location for messages, with passwords redacted."""
    return redact(location) if "://" in location else location


def local_path(location: str) -> Path:
    if scheme_of(location) not in ("", "file"):
        raise SourceError(f"{redact_location(location)}: neither a local path nor s3://bucket/key")
    path = location.partition("://")[2] if scheme_of(location) else location
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~user of an unknown user
        return Path(path)


def bucket_and_key(location: str) -> tuple[str, str]:
    bucket, _, key = location.partition("://")[2].partition("/")
    return bucket, key
