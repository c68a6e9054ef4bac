"""Files of a person or a team: in a local folder, or in S3 through boto3.

The pipeline reads S3 with boto3, not with Hadoop's connector, so that it needs nothing from
the cluster and works on a laptop. The AWS chain gives credentials, region and, for an S3
server of one's own, the address (``AWS_ENDPOINT_URL_S3``).
"""

import gzip
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple
from urllib.parse import urlsplit

from lineage_merge.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable


class StoredFile(NamedTuple):
    """A file and its size in bytes, as it lies (packed, if it is)."""

    location: str
    size: int


@dataclass(frozen=True, slots=True)
class Slice:
    """A part of a file: the lines that begin in the bytes from `start` up to `end`."""

    location: str
    start: int
    end: int


def is_s3(location: str) -> bool:
    """Whether a location lies in S3."""
    return urlsplit(location).scheme in ("s3", "s3a", "s3n")


def list_files(folder: str) -> list[StoredFile]:
    """All files below a folder, at any depth, sorted. Raises `SourceMissing` where there is none."""
    found = sorted(_list_s3(folder) if is_s3(folder) else _list_local(folder))
    if not found:
        raise SourceMissing(f"{folder}: no files there")
    return found


def read_bytes(location: str) -> bytes:
    """A whole file, unpacked where its name ends in ``.gz``."""
    with _reading(location), _open(location) as stream:
        data = stream.read()
    if not location.endswith(".gz"):
        return data
    with _reading(location):
        return gzip.decompress(data)


def read_text(location: str) -> str:
    """A whole file as UTF-8 text, a byte order mark taken off."""
    try:
        return read_bytes(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise SourceError(f"{location}: not UTF-8 text (byte {error.start})") from None


def write_text(location: str, text: str) -> None:
    """Write a file as UTF-8, in place of what stands there."""
    with _reading(location):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _s3().put_object(Bucket=bucket, Key=key, Body=text.encode())
        else:
            _local(location).write_text(text, encoding="utf-8")


def read_lines(part: Slice) -> Iterator[tuple[int, bytes]]:
    """The lines of a slice with the byte at which each begins; packed files are never cut."""
    if part.location.endswith(".gz"):
        offset = 0
        for line in io.BytesIO(read_bytes(part.location)):
            yield offset, line
            offset += len(line)
        return
    with _reading(part.location), _open(part.location, max(part.start - 1, 0)) as stream:
        offset = part.start
        if part.start:
            # The line that spans the cut belongs to the slice before, unless the byte
            # before the cut ends it.
            offset += len(stream.readline()) - 1
        while offset < part.end:
            line = stream.readline()
            if not line:
                return
            yield offset, line
            offset += len(line)


def _local(location: str) -> Path:
    return Path(location.removeprefix("file://")).expanduser()


def _list_local(folder: str) -> Iterator[StoredFile]:
    root = _local(folder)
    if not root.is_dir():
        raise SourceMissing(f"{folder}: no such folder")
    for path, _, names in os.walk(root, followlinks=True):
        for name in names:
            file = Path(path, name)
            yield StoredFile(str(file), file.stat().st_size)


def _bucket_and_key(location: str) -> tuple[str, str]:
    parts = urlsplit(location, allow_fragments=False)
    key = parts.path.lstrip("/")
    return parts.netloc, f"{key}?{parts.query}" if parts.query else key


def _s3() -> Any:
    import boto3
    from botocore.config import Config

    return boto3.client("s3", config=Config(connect_timeout=10, read_timeout=60, retries={"max_attempts": 3}))


def _list_s3(folder: str) -> Iterator[StoredFile]:
    bucket, prefix = _bucket_and_key(folder)
    prefix = prefix if not prefix or prefix.endswith("/") else prefix + "/"
    with _reading(folder):
        pages = _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
        for page in pages:
            for entry in page.get("Contents", ()):
                if not entry["Key"].endswith("/"):
                    yield StoredFile(f"s3://{bucket}/{entry['Key']}", entry["Size"])


@contextmanager
def _open(location: str, start: int = 0) -> Iterator[IO[bytes]]:
    if is_s3(location):
        bucket, key = _bucket_and_key(location)
        body = _s3().get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-") if start else None
        body = body or _s3().get_object(Bucket=bucket, Key=key)
        with body["Body"] as raw:
            yield io.BufferedReader(_Readable(raw), 1 << 20)
    else:
        with _local(location).open("rb") as stream:
            stream.seek(start)
            yield stream


class _Readable(io.RawIOBase):
    """boto3's stream as a raw stream, so that `BufferedReader` can cut lines quickly."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._body.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def _reading(location: str) -> Iterator[None]:
    """Turn what goes wrong while reading into the project's own errors."""
    try:
        yield
    except FileNotFoundError:
        raise SourceMissing(f"{location}: no such file") from None
    except IsADirectoryError:
        raise SourceMissing(f"{location}: a folder, not a file") from None
    except PermissionError:
        raise SourceDenied(f"{location}: no permission to read it") from None
    except (gzip.BadGzipFile, EOFError):
        raise SourceError(f"{location}: not a whole gzip file") from None
    except OSError as error:
        raise SourceError(f"{location}: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # noqa: BLE001 (botocore is imported only where S3 is read)
        raise _s3_error(location, error) from None


def _s3_error(location: str, error: Exception) -> Exception:
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    if isinstance(error, ClientError):
        code = str(error.response.get("Error", {}).get("Code", ""))
        if code in ("NoSuchKey", "NoSuchBucket", "404"):
            thing = "bucket" if code == "NoSuchBucket" else "object"
            return SourceMissing(f"{location}: no such {thing}")
        if code in ("AccessDenied", "403", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken"):
            return SourceDenied(f"{location}: S3 answers {code}")
        return SourceError(f"{location}: S3 answers {code}")
    if isinstance(error, NoCredentialsError):
        return SourceDenied(f"{location}: no AWS credentials found")
    if isinstance(error, BotoCoreError):
        return SourceUnreachable(f"{location}: {error.fmt.split('{')[0].strip() or type(error).__name__}")
    return error
