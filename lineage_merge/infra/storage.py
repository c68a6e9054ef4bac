"""Files of a person or a team: in a local folder, or in S3 through boto3.

The pipeline reads S3 with boto3, not with Hadoop's connector, so that it needs nothing from
the cluster and works on a laptop. The AWS chain gives credentials, region and, for an S3
server of one's own, the address (``AWS_ENDPOINT_URL_S3``).
"""

import gzip
import io
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from lineage_merge.infra import input_budget
from lineage_merge.model.errors import (
    DocumentError,
    InputTooLarge,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.naming import redact

_S3 = ("s3", "s3a", "s3n")
# What unpacking raises for a file that is cut short, damaged, or not packed at all.
_NOT_WHOLE = (gzip.BadGzipFile, EOFError, zlib.error)
# A packed file that is read whole, unpacked: parsed, it takes some ten times as much memory.
MOST_UNPACKED_BYTES = 512 << 20
# A line, which a document is read from at once; far above the 64 MB that `receive` takes.
MOST_LINE_BYTES = 128 << 20
# Unpacked to packed. Column lineage of wide joins reaches 130; gzip itself 1,030.
MOST_RATIO = 300
# Up to here any ratio does no harm: to memory, of a file read whole; to time, of lines.
RATIO_COUNTS_ABOVE = 16 << 20
RATIO_OF_LINES_COUNTS_ABOVE = 1 << 30
_BLOCK_BYTES = 1 << 20
_LINE_BLOCK_BYTES = 256 << 10  # short lines take ten times their bytes of memory
# S3 deletes no more objects a request.
_MOST_DELETED = 1000
_DENIED = frozenset(
    {
        "403",
        "AccessDenied",
        "AllAccessDisabled",
        "ExpiredToken",
        "Forbidden",
        "InvalidAccessKeyId",
        "InvalidToken",
        "RequestTimeTooSkewed",
        "SignatureDoesNotMatch",
    }
)


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
    return _scheme(location) in _S3


def list_files(folder: str) -> list[StoredFile]:
    """All files below a folder, at any depth, sorted. Raises `SourceMissing` where there is none."""
    with _reaching(folder):
        found = sorted(_list_s3(folder) if is_s3(folder) else _list_local(folder))
    if not found:
        raise SourceMissing(f"{shown(folder)}: no files there")
    return found


def find_files(location: str) -> list[StoredFile]:
    """The file at a location, or all files below it. Raises `SourceMissing` where there is none."""
    with _reaching(location):
        file = _one_file(location)
    return [file] if file else list_files(location)


def read_bytes(location: str) -> bytes:
    """Read a whole file, unpacked where its name ends in ``.gz``.

    Raises `DocumentError` where a packed file is cut short, or unpacks to more than the limits allow: no more
    than that is ever unpacked of it.
    """
    with _reaching(location), _open(location) as stream:
        if not location.endswith(".gz"):
            content = stream.read(input_budget.at_most(-1))
            input_budget.count(len(content))
            return content
        unpacked = _Unpacked(location, stream, RATIO_COUNTS_ABOVE)
        data = bytearray()
        while block := unpacked.read(input_budget.at_most(_BLOCK_BYTES)):
            input_budget.count(len(block))
            data += block
            if len(data) > MOST_UNPACKED_BYTES:
                problem = f"unpacks to more than {MOST_UNPACKED_BYTES:,} bytes"
                raise DocumentError(shown(location), "", problem)
        return bytes(data)


def read_text(location: str) -> str:
    """A whole file as UTF-8 text, a byte order mark taken off."""
    try:
        return read_bytes(location).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(shown(location), "", f"not UTF-8 text (byte {error.start})") from None


def size_of(location: str) -> int:
    """The size of a file as it is stored. Raises the errors of reading it."""
    with _reaching(location):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            # As reading does: to ask for the size alone needs other rights, and has other errors.
            answer = _s3().get_object(Bucket=bucket, Key=key)
            answer["Body"].close()
            return int(answer["ContentLength"])
        with _local(location).open("rb") as stream:
            return os.fstat(stream.fileno()).st_size


def write_text(location: str, text: str) -> None:
    """Write a file as UTF-8, in place of what stands there."""
    with _reaching(location, "write"):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _s3().put_object(Bucket=bucket, Key=key, Body=text.encode())
        else:
            _local(location).write_text(text, encoding="utf-8")


def write_file(location: str, file: Path) -> None:
    """Copy a local file to a location, in place of what stands there."""
    with _reaching(location, "write"):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _s3().upload_file(str(file), bucket, key)
        else:
            shutil.copyfile(file, _local(location))


def move_into_place(file: Path, location: str) -> None:
    """Give a local file its place in the same file system, at once and for good, with the folders above."""
    target = _local(location)
    with _reaching(location, "write"):
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
        # The name too must be on the disk before anybody relies on it.
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_folder(location: str) -> None:
    """Make a local folder where it lacks; S3 has none."""
    with _reaching(location, "write"):
        if not is_s3(location):
            _local(location).mkdir(parents=True, exist_ok=True)


def delete_folder(location: str) -> None:
    """Delete all files below a folder, which need not be there."""
    with _reaching(location, "delete"):
        if is_s3(location):
            bucket, _ = _bucket_and_key(location)
            _delete_s3(_s3(), bucket, [_bucket_and_key(each.location)[1] for each in _list_s3(location)])
        elif _local(location).is_dir():
            shutil.rmtree(_local(location))


def _delete_s3(s3: Any, bucket: str, keys: list[str]) -> None:
    for start in range(0, len(keys), _MOST_DELETED):
        some = [{"Key": key} for key in keys[start : start + _MOST_DELETED]]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": some, "Quiet": True})
        for refused in answer.get("Errors", ()):
            raise _s3_answer(f"s3://{bucket}/{refused.get('Key', '')}", refused.get("Code", ""))


def replace_folder(location: str, folder: Path) -> None:
    """Make a folder in S3 what a local one is; what else stood there is deleted first."""
    with _reaching(location, "write"):
        bucket, prefix = _bucket_and_key(location)
        s3 = _s3()
        old = [_bucket_and_key(each.location)[1] for each in _list_s3(location)]
        _delete_s3(s3, bucket, old)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            s3.upload_file(str(path), bucket, f"{prefix.rstrip('/')}/{path.relative_to(folder).as_posix()}")


def fetch_folder(location: str, folder: Path) -> None:
    """Copy a folder in S3 to a local one. Raises `SourceMissing` where there is none."""
    found = list_files(location)
    with _reaching(location):
        s3 = _s3()
        for file in found:
            path = folder / file.location.removeprefix(location.rstrip("/") + "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            s3.download_file(*_bucket_and_key(file.location), str(path))


def read_lines(part: Slice) -> Iterator[tuple[int, bytes]]:
    """Read the lines of a slice with the byte at which each begins; packed files are never cut.

    Raises `DocumentError` behind the last whole line of a packed file that is cut short or damaged, and where
    a line or a packed file exceeds the limits.
    """
    if part.location.endswith(".gz"):
        with _reaching(part.location), _open(part.location) as packed:
            unpacked = _Unpacked(part.location, packed, RATIO_OF_LINES_COUNTS_ABOVE)
            yield from _lines(part.location, unpacked, 0, None)
        return
    with _reaching(part.location), _open(part.location, max(part.start - 1, 0)) as stream:
        offset = part.start
        if part.start:
            # The line that spans the cut belongs to the slice before, unless the byte
            # before the cut ends it.
            offset += _skip_line(stream, part.end - part.start + 1) - 1
        yield from _lines(part.location, stream, offset, part.end)


def _skip_line(stream: IO[bytes], most: int) -> int:
    """Pass over the rest of a line, but no more than `most` bytes; return how many."""
    skipped = 0
    while skipped < most and (piece := stream.readline(min(_BLOCK_BYTES, most - skipped))):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _lines(
    location: str, stream: "io.BufferedReader | _Unpacked", offset: int, end: int | None
) -> Iterator[tuple[int, bytes]]:
    begun: list[bytes] = []  # the line that the blocks so far have not ended
    size = 0
    while end is None or offset < end:
        block = stream.read1(input_budget.at_most(_LINE_BLOCK_BYTES))
        input_budget.count(len(block))
        begun.append(block)
        size += len(block)
        if block and b"\n" not in block and size <= MOST_LINE_BYTES:
            continue
        lines = io.BytesIO(b"".join(begun)).readlines()
        is_cut = bool(block) and not lines[-1].endswith(b"\n") and len(lines[-1]) <= MOST_LINE_BYTES
        begun = [lines.pop()] if is_cut else []
        size = sum(map(len, begun))
        for line in lines:
            if end is not None and offset >= end:
                return
            if len(line) > MOST_LINE_BYTES:
                problem = (
                    f"byte {offset}: a line of more than {MOST_LINE_BYTES:,} bytes; the rest is not read"
                )
                raise DocumentError(shown(location), "", problem)
            yield offset, line
            offset += len(line)
        if not block:
            return


class _Unpacked:
    """The contents of a packed stream, as far as its ratio is below the limit.

    Methods raise `DocumentError` where the stream is damaged or a bomb.
    """

    def __init__(self, location: str, packed: IO[bytes], any_ratio_up_to: int) -> None:
        self._location = location
        self._packed = _Counted(packed)
        self._stream = gzip.GzipFile(fileobj=self._packed)  # type: ignore[call-overload] # it only reads
        self._any_ratio_up_to = any_ratio_up_to
        self._size = 0

    def read(self, most: int) -> bytes:
        """Read at most so many bytes."""
        return self._checked(self._stream.read, most)

    def read1(self, most: int) -> bytes:
        """Read what is there, at most so many bytes: in front of a damaged place, all that is whole."""
        return self._checked(self._stream.read1, most)

    def _checked(self, read: Callable[[int], bytes], most: int) -> bytes:
        try:
            data = read(most)
        except _NOT_WHOLE:
            raise DocumentError(shown(self._location), "", "not a whole gzip file") from None
        self._size += len(data)
        if self._size > max(self._any_ratio_up_to, self._packed.size * MOST_RATIO):
            problem = f"unpacks to more than {MOST_RATIO} times its size"
            raise DocumentError(shown(self._location), "", problem)
        return data


class _Counted:
    """A stream, and how many bytes were read of it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.size = 0

    def read(self, most: int = -1) -> bytes:
        """Read at most so many bytes."""
        data = self._stream.read(most)
        self.size += len(data)
        return data


def _scheme(location: str) -> str:
    scheme, separator, _ = location.partition("://")
    return scheme.lower() if separator else ""


def shown(location: str) -> str:
    """A location for messages: an address loses its password."""
    return redact(location) if "://" in location else location


def _local(location: str) -> Path:
    if _scheme(location) not in ("", "file"):
        raise SourceError(f"{shown(location)}: neither a local path nor s3://bucket/key")
    path = location.partition("://")[2] if _scheme(location) else location
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~somebody who is not there
        return Path(path)


def _list_local(folder: str) -> Iterator[StoredFile]:
    root = _local(folder)
    if not root.is_dir():
        raise SourceMissing(f"{folder}: {'a file, not a folder' if root.exists() else 'no such folder'}")
    seen: set[tuple[int, int]] = set()
    for path, folders, names in os.walk(root, followlinks=True, onerror=_raise):
        status = Path(path).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link back to where we have been
            continue
        seen.add((status.st_dev, status.st_ino))
        for name in names:
            file = Path(path, name)
            yield StoredFile(str(file), file.stat().st_size)


def _one_file(location: str) -> StoredFile | None:
    if not is_s3(location):
        path = _local(location)
        return StoredFile(str(path), path.stat().st_size) if path.is_file() else None
    bucket, key = _bucket_and_key(location)
    if not key or key.endswith("/"):
        return None
    # Of all keys that begin with it, itself comes first; asking so needs no other right than listing.
    found = _s3().list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("Contents", ())
    return next(
        (StoredFile(f"s3://{bucket}/{key}", each["Size"]) for each in found if each["Key"] == key), None
    )


def _raise(error: OSError) -> None:
    raise error


def _bucket_and_key(location: str) -> tuple[str, str]:
    bucket, _, key = location.partition("://")[2].partition("/")
    return bucket, key


def _s3() -> Any:
    import boto3
    from botocore.config import Config

    # An address where nobody answers should be known soon; a slow answer may take its time.
    return boto3.client(
        "s3",
        config=Config(
            connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 3}
        ),
    )


def _list_s3(folder: str) -> Iterator[StoredFile]:
    bucket, prefix = _bucket_and_key(folder)
    prefix = prefix if not prefix or prefix.endswith("/") else prefix + "/"
    pages = _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    for page in pages:
        for entry in page.get("Contents", ()):
            if not entry["Key"].endswith("/"):
                yield StoredFile(f"s3://{bucket}/{entry['Key']}", entry["Size"])


@contextmanager
def _open(location: str, start: int = 0) -> Iterator[io.BufferedReader]:
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
def _reaching(location: str, doing: str = "read") -> Iterator[None]:
    """Turn what goes wrong on the way to a file into the project's own errors."""
    place = shown(location)
    try:
        yield
    except FileNotFoundError as error:
        # Of a folder it is a link in it that leads nowhere.
        raise SourceMissing(f"{error.filename or place}: no such file") from None
    except (IsADirectoryError, NotADirectoryError) as error:
        problem = "a folder, not a file" if isinstance(error, IsADirectoryError) else "no such file"
        raise SourceMissing(f"{place}: {problem}") from None
    except PermissionError:
        raise SourceDenied(f"{place}: no permission to {doing} it") from None
    except OSError as error:
        raise SourceError(f"{place}: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # botocore is imported only where S3 is read
        if isinstance(error, ValueError) and not is_s3(location):
            raise SourceMissing(f"{place}: not the name of a file") from None  # with a zero in it
        if not is_s3(location) or isinstance(error, SourceError | InputTooLarge):
            raise
        raise _s3_error(place, error) from None


def _s3_error(place: str, error: Exception) -> SourceError:
    from boto3.exceptions import S3UploadFailedError
    from botocore import exceptions as boto

    match error:
        case S3UploadFailedError():
            # It holds the answer's code in its text only.
            code = re.search(r"\((\w+)\) when calling", str(error))
            return _s3_answer(place, code[1] if code else "")
        case boto.ClientError():
            return _s3_answer(place, str(error.response.get("Error", {}).get("Code", "")))
        case boto.NoCredentialsError() | boto.PartialCredentialsError():
            return SourceDenied(f"{place}: no AWS credentials found")
        case boto.CredentialRetrievalError() | boto.SSOError() | boto.TokenRetrievalError():
            return SourceDenied(f"{place}: no AWS credentials: log in again")
        case boto.ProfileNotFound():
            return SourceDenied(f"{place}: the AWS profile that AWS_PROFILE names does not exist")
        case boto.ParamValidationError():
            return SourceMissing(f"{place}: not the name of a bucket and an object")
        case boto.EndpointConnectionError() | boto.ConnectTimeoutError() | boto.ProxyConnectionError():
            return SourceUnreachable(f"{place}: no connection to S3")
        case boto.SSLError():
            return SourceUnreachable(f"{place}: no connection to S3 (its certificate is not trusted)")
        case boto.BotoCoreError():
            return SourceUnreachable(f"{place}: no answer from S3 ({type(error).__name__})")
        case ValueError():
            return SourceUnreachable(f"{place}: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL is not a URL")
    return SourceError(f"{place}: {type(error).__name__}")


def _s3_answer(place: str, code: str) -> SourceError:
    if code in ("NoSuchBucket", "InvalidBucketName"):
        return SourceMissing(f"{place}: no such bucket")
    if code in ("NoSuchKey", "404"):
        return SourceMissing(f"{place}: no such object")
    if code in _DENIED:
        return SourceDenied(f"{place}: S3 refuses these credentials ({code})")
    return SourceError(f"{place}: S3 answers {code}")
