"""Opens files: local ones, and those in S3 through boto3. Translates errors of both."""

import errno
import io
import os
import stat
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from lineage_merge.infra.aws import boto_client, s3_error
from lineage_merge.infra.storage.locations import bucket_and_key, is_s3, local_path, redact_location
from lineage_merge.model.errors import (
    DocumentError,
    InputTooLarge,
    SourceDenied,
    SourceError,
    SourceMissing,
    similar_names,
)

T = TypeVar("T")
Item = TypeVar("Item")
# Concurrent requests for small files.
MAX_THREADS = 16
# Maximum entries of a folder to search for a similar name.
MAX_NAMES = 1000


def s3_client() -> Any:
    """Return the client of this process: to make one takes several times as long as a small file."""
    variables = frozenset(item for item in os.environ.items() if item[0].startswith("AWS_"))
    return _client_of(os.getpid(), variables)


@lru_cache(maxsize=4)
def _client_of(_process: int, _variables: frozenset[tuple[str, str]]) -> Any:
    """Make a client; another process, after a fork, and other credentials have their own."""
    return boto_client("s3", read_timeout=60)  # responses may be slow


def run_concurrently(call: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """Call a function of S3 in threads; return its results."""
    s3_client()  # threads may share a client, but not create one
    with ThreadPoolExecutor(min(MAX_THREADS, len(items)), thread_name_prefix="s3") as pool:
        return list(pool.map(call, items))


def map_locations(call: Callable[[str], T], locations: Sequence[str]) -> list[T]:
    """Return the results of a function of each location, which is called concurrently if these are in S3."""
    if not locations or not is_s3(locations[0]):
        return list(map(call, locations))
    return run_concurrently(call, locations)


@contextmanager
def open_stream(location: str, start: int = 0) -> Iterator[io.BufferedReader]:
    """Open a file as a stream of bytes, from the byte `start` on."""
    if is_s3(location):
        bucket, key = bucket_and_key(location)
        body = s3_client().get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-") if start else None
        body = body or s3_client().get_object(Bucket=bucket, Key=key)
        with body["Body"] as raw:
            yield io.BufferedReader(_Readable(raw), 1 << 20)
    else:
        with open_local(location) as stream:
            stream.seek(start)
            yield stream


def open_local(location: str) -> io.BufferedReader:
    """Open a regular file. Raises `DocumentError` for others, such as a pipe, which may never end."""
    # Not to wait for the writer of a pipe.
    handle = os.open(local_path(location), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise IsADirectoryError
    kind = "a named pipe" if stat.S_ISFIFO(mode) else "a device"
    raise DocumentError(redact_location(location), "", f"{kind}, not a file")


class _Readable(io.RawIOBase):
    """boto3's stream as a raw stream, for fast lines with `BufferedReader`."""

    def __init__(self, body: Any) -> None:
        self._body = body

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._body.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


@contextmanager
def translate_errors(location: str, action: str = "read") -> Iterator[None]:
    """Translate errors of file access to errors of this package."""
    name = redact_location(location)
    try:
        yield
    except FileNotFoundError as error:
        # For a folder: a broken link in it.
        missing = str(error.filename or name)
        if action == "write":
            raise SourceMissing(f"{name}: no folder {Path(missing).parent}. Fix: create it") from None
        raise SourceMissing.with_suggestion(f"{missing}: no such file", _similar(Path(missing))) from None
    except (IsADirectoryError, NotADirectoryError) as error:
        problem = "a folder, not a file" if isinstance(error, IsADirectoryError) else "no such file"
        raise SourceMissing(f"{name}: {problem}") from None
    except PermissionError:
        raise SourceDenied(f"{name}: no permission to {action} it") from None
    except OSError as error:
        if error.errno == errno.ENXIO:  # a socket
            raise DocumentError(name, "", "a socket, not a file") from None
        raise SourceError(f"{name}: {error.strerror or type(error).__name__}") from None
    except Exception as error:  # botocore is only imported for S3
        if isinstance(error, ValueError) and not is_s3(location):
            raise SourceMissing(f"{name}: not a file name") from None  # contains a null byte
        if not is_s3(location) or isinstance(error, SourceError | InputTooLarge):
            raise
        raise s3_error(name, error, list_buckets) from None


def _similar(missing: Path) -> str:
    """Return a location like the missing one, if the nearest folder that exists has a similar name."""
    try:
        parent = next(folder for folder in missing.parents if folder.is_dir())
        wanted, *below = missing.relative_to(parent).parts
        names = {_stem(entry.name): entry.name for entry in islice(parent.iterdir(), MAX_NAMES)}
    except (OSError, StopIteration, ValueError):
        return ""
    # Without endings, which alone would make names similar.
    similar = next((names[stem] for stem in similar_names(_stem(wanted), names, cutoff=0.7)), wanted)
    return str(Path(parent, similar, *below)) if similar != wanted else ""


def _stem(name: str) -> str:
    return name.partition(".")[0] or name


def list_buckets() -> list[str]:
    """Return the buckets that these credentials may list; none without that permission."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return [str(bucket["Name"]) for bucket in s3_client().list_buckets()["Buckets"]]
    except (BotoCoreError, ClientError, ValueError):
        return []
