"""File access: local folders, and S3 through boto3.

The pipeline reads S3 with boto3, not with Hadoop's connector, so that it does not depend on the cluster and
works on a laptop. The AWS chain provides credentials, region and, for other S3 servers, the address
(``AWS_ENDPOINT_URL_S3``).
"""

import errno
import gzip
import io
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, islice
from pathlib import Path
from typing import IO, Any, NamedTuple, TypeVar

from lineage_merge.infra import input_budget
from lineage_merge.infra.aws import boto_client, s3_answer, s3_error
from lineage_merge.infra.batches import batched
from lineage_merge.infra.ranged_file import RangedFile
from lineage_merge.infra.redaction import redact
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

_S3 = ("s3", "s3a", "s3n")
# Raised for a gzip file that is truncated, damaged, or not a gzip file.
_INVALID_GZIP = (gzip.BadGzipFile, EOFError, zlib.error)
# Maximum unpacked size of a file that is read completely: parsed, it takes about ten times as much memory.
MAX_UNPACKED_BYTES = 512 << 20
# Maximum length of a line, which contains one document; `receive` accepts 64 MB.
MAX_LINE_BYTES = 128 << 20
# Maximum ratio of unpacked to packed size. Column lineage of wide joins reaches 130, gzip at most 1,030.
MAX_RATIO = 300
# Any ratio is harmless up to these sizes: in memory for complete files, in time for lines.
MIN_BYTES_FOR_RATIO = 16 << 20
MIN_LINE_BYTES_FOR_RATIO = MAX_LINE_BYTES
# The bytes that take as much time as a line, however short: a bomb may consist of line feeds.
_BYTES_PER_LINE = 64
# Approximate ratio of unpacked to packed text.
_UNPACKED = 8
_BLOCK_BYTES = 1 << 20
_LINE_BLOCK_BYTES = 256 << 10  # short lines take ten times their bytes of memory
# What browsers open.
_CONTENT_TYPES = {".html": "text/html", ".js": "text/javascript"}
# Maximum entries of a folder to search for a similar name.
_MAX_NAMES = 1000
# S3's limit per request.
_MAX_DELETED = 1000
# Concurrent requests for small files.
_MAX_THREADS = 16


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


def is_s3(location: str) -> bool:
    """Whether a location is in S3."""
    return _scheme(location) in _S3


def list_files(folder: str) -> list[StoredFile]:
    """Return all files below a folder, recursively, sorted. Raises `SourceMissing` if there are none."""
    with _translate_errors(folder):
        files = sorted(_list_s3(folder) if is_s3(folder) else _list_local(folder))
    if not files:
        raise SourceMissing(f"{redact_location(folder)}: no files found")
    return files


def find_files(location: str) -> list[StoredFile]:
    """Return the file at a location, or all files below it. Raises `SourceMissing` if there are none."""
    with _translate_errors(location):
        file = _one_file(location)
    return [file] if file else list_files(location)


def read_bytes(location: str) -> bytes:
    """Read a file, unpacked if its name ends in ``.gz``.

    Raises `DocumentError` if a packed file is truncated, or exceeds the limits when unpacked; unpacking stops
    at the limit.
    """
    with _translate_errors(location), open_stream(location) as stream:
        if not location.endswith(".gz"):
            content = stream.read(input_budget.limit_read(-1))
            input_budget.count(len(content))
            return content
        unpacked = _GzipReader(location, stream, MIN_BYTES_FOR_RATIO)
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
    if not locations or not is_s3(locations[0]):
        return list(map(_text_or_none, locations))
    return _concurrently(partial(_text_or_none, client=_s3()), locations)


def _text_or_none(location: str, client: Any = None) -> str | None:
    try:
        if client is None:
            return read_text(location)
        with _translate_errors(location):
            bucket, key = _bucket_and_key(location)
            return str(client.get_object(Bucket=bucket, Key=key)["Body"].read().decode())
    except SourceMissing:
        return None


def _concurrently(call: Callable[[Item], T], items: Sequence[Item]) -> list[T]:
    """Call the function in threads, which may share a client, but not create one."""
    with ThreadPoolExecutor(min(_MAX_THREADS, len(items)), thread_name_prefix="s3") as pool:
        return list(pool.map(call, items))


def read_beginning(location: str, limit: int) -> bytes:
    """Read at most `limit` bytes; of a file whose name ends in ``.gz`` unpacked, as far as it is intact."""
    with _translate_errors(location), open_stream(location) as stream:
        if not location.endswith(".gz"):
            return stream.read(limit)
        try:
            return gzip.GzipFile(fileobj=stream).read1(limit)
        except _INVALID_GZIP:
            return b""


def subfolders(location: str) -> list[str]:
    """Return the folders in a folder, sorted, of at most a thousand entries; none if it is missing."""
    with _translate_errors(location):
        if is_s3(location):
            bucket, key = _bucket_and_key(location.rstrip("/") + "/")
            listing = _s3().list_objects_v2(Bucket=bucket, Prefix=key, Delimiter="/", MaxKeys=_MAX_NAMES)
            return [
                f"s3://{bucket}/{entry['Prefix']}".rstrip("/") for entry in listing.get("CommonPrefixes", ())
            ]
        root = _local(location)
        entries = islice(root.iterdir(), _MAX_NAMES) if root.is_dir() else ()
        return sorted(str(entry) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def children(folder: str, after: str = "") -> list[str]:
    """Return the names of all files and folders in a folder, sorted; none if it is missing.

    `after`: only names that sort after this one, up to which S3 lists nothing.
    """
    with _translate_errors(folder):
        if is_s3(folder):
            names = _children_s3(_s3(), folder, after)
        else:
            root = _local(folder)
            names = [entry.name for entry in root.iterdir()] if root.is_dir() else []
    return sorted(name for name in names if name > after and not name.startswith("."))


def children_of(folders: Sequence[str]) -> list[list[str]]:
    """Return `children` of each folder; those in S3 are listed concurrently."""
    if not folders or not is_s3(folders[0]):
        return [children(folder) for folder in folders]
    client = _s3()

    def list_folder(folder: str) -> list[str]:
        with _translate_errors(folder):
            return sorted(_children_s3(client, folder, ""))

    return _concurrently(list_folder, folders)


def _children_s3(client: Any, folder: str, after: str) -> list[str]:
    bucket, key = _bucket_and_key(folder.rstrip("/") + "/")
    pages = client.get_paginator("list_objects_v2").paginate(
        Bucket=bucket, Prefix=key, Delimiter="/", **({"StartAfter": key + after} if after else {})
    )
    keys: list[str] = []
    for page in pages:
        keys += [entry["Prefix"] for entry in page.get("CommonPrefixes", ())]
        keys += [entry["Key"] for entry in page.get("Contents", ())]
    return [name.removeprefix(key).rstrip("/") for name in keys if name != key]


def size_of(location: str) -> int:
    """Return the stored size of a file. Raises the same errors as reading it."""
    with _translate_errors(location):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            # Like reading: a request for the size alone needs other permissions, and has other errors.
            answer = _s3().get_object(Bucket=bucket, Key=key)
            answer["Body"].close()
            return int(answer["ContentLength"])
        with _open_local(location) as stream:
            return os.fstat(stream.fileno()).st_size


def write_text(location: str, text: str) -> None:
    """Write a file as UTF-8, or replace one: complete or not at all, also if the process is killed.

    A replaced local file keeps its permissions; through a link, the linked file is replaced.
    """
    with _translate_errors(location, "write"):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _s3().put_object(Bucket=bucket, Key=key, Body=text.encode(), **_content_type(key))
        else:
            _replace(_local(location), text.encode())


def write_new_texts(folder: str, files: Iterable[tuple[str, str]]) -> None:
    """Write files, by name, of a new folder that no process reads yet.

    So they are not replaced atomically, and not synced one by one; those in S3 are written concurrently.
    """
    if not is_s3(folder):
        root = _local(folder)
        with _translate_errors(folder, "write"):
            root.mkdir(parents=True)
        for name, text in files:
            with _translate_errors(folder, "write"):
                (root / name).write_bytes(text.encode())
        sync_folder(root)
        return
    client = _s3()
    bucket, prefix = _bucket_and_key(folder)

    def put(file: tuple[str, str]) -> None:
        key = f"{prefix.rstrip('/')}/{file[0]}"
        with _translate_errors(folder, "write"):
            client.put_object(Bucket=bucket, Key=key, Body=file[1].encode(), **_content_type(key))

    for batch in batched(files, _MAX_THREADS):
        _concurrently(put, batch)


def _content_type(name: str) -> dict[str, str]:
    """Return the type of what browsers open: others may not show it as a page, or run it as a script."""
    kind = _CONTENT_TYPES.get(Path(name).suffix)
    return {"ContentType": f"{kind}; charset=utf-8"} if kind else {}


def create_file(location: str, text: str) -> None:
    """Write a file as `write_text` does; creates parent folders."""
    if not is_s3(location):
        with _translate_errors(location, "write"):
            _local(location).parent.mkdir(parents=True, exist_ok=True)
    write_text(location, text)


def _replace(file: Path, content: bytes) -> None:
    mode = file.stat().st_mode if file.exists() else None
    if mode is not None and not stat.S_ISREG(mode):  # such as /dev/stdout
        file.write_bytes(content)
        return
    target = file.resolve()
    incomplete = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        with incomplete.open("wb") as stream:
            if mode is not None:
                incomplete.chmod(stat.S_IMODE(mode))
            stream.write(content)
            stream.flush()
            os.fsync(stream.fileno())
        incomplete.replace(target)
    except PermissionError:
        if mode is None:
            raise
        target.write_bytes(content)  # the folder may belong to others
    finally:
        incomplete.unlink(missing_ok=True)
    sync_folder(target.parent)


def write_file(location: str, file: Path) -> None:
    """Copy a local file to a location; replaces an existing file."""
    with _translate_errors(location, "write"):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _s3().upload_file(str(file), bucket, key)
        else:
            shutil.copyfile(file, _local(location))


def copy_file(source: str, target: str) -> None:
    """Copy a file that no process changes, within S3 or on a disk, where it becomes a link if possible."""
    with _translate_errors(target, "write"):
        if is_s3(target):
            bucket, key = _bucket_and_key(target)
            of_source = dict(zip(("Bucket", "Key"), _bucket_and_key(source), strict=True))
            _s3().copy(of_source, bucket, key)
            return
        path = _local(target)
        path.unlink(missing_ok=True)
        try:
            path.hardlink_to(_local(source))
        except OSError:  # not on every file system
            shutil.copyfile(_local(source), path)


def move_into_place(file: Path, location: str) -> None:
    """Move a local file within its file system, atomically and durably; creates parent folders."""
    target = _local(location)
    with _translate_errors(location, "write"):
        target.parent.mkdir(parents=True, exist_ok=True)
        file.replace(target)
        sync_folder(target.parent)


def sync_folder(folder: Path) -> None:
    """Write the entries of a local folder to the disk, which makes new file names durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(location: str) -> None:
    """Create a local folder if it is missing; S3 has no folders."""
    with _translate_errors(location, "write"):
        if not is_s3(location):
            _local(location).mkdir(parents=True, exist_ok=True)


def delete_folder(location: str) -> None:
    """Delete all files below a folder, which may be missing."""
    with _translate_errors(location, "delete"):
        if is_s3(location):
            bucket, _ = _bucket_and_key(location)
            _delete_s3(_s3(), bucket, [_bucket_and_key(file.location)[1] for file in _list_s3(location)])
        elif _local(location).is_dir():
            shutil.rmtree(_local(location))


def delete_file(location: str) -> None:
    """Delete a file, which may be missing."""
    with _translate_errors(location, "delete"):
        if is_s3(location):
            bucket, key = _bucket_and_key(location)
            _delete_s3(_s3(), bucket, [key])
        else:
            _local(location).unlink(missing_ok=True)


def _delete_s3(s3: Any, bucket: str, keys: list[str]) -> None:
    for batch in batched(keys, _MAX_DELETED):
        objects = [{"Key": key} for key in batch]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        for error in answer.get("Errors", ()):
            raise s3_answer(f"s3://{bucket}/{error.get('Key', '')}", error.get("Code", ""), _buckets)


def replace_folder(location: str, folder: Path) -> None:
    """Replace a folder in S3 by a local one; existing files are deleted first."""
    with _translate_errors(location, "write"):
        bucket, prefix = _bucket_and_key(location)
        s3 = _s3()
        old = [_bucket_and_key(file.location)[1] for file in _list_s3(location)]
        _delete_s3(s3, bucket, old)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            s3.upload_file(str(path), bucket, f"{prefix.rstrip('/')}/{path.relative_to(folder).as_posix()}")


def fetch_folder(location: str, folder: Path) -> None:
    """Copy a folder in S3 to a local one. Raises `SourceMissing` if it has no files."""
    files = list_files(location)
    with _translate_errors(location):
        s3 = _s3()
        for file in files:
            path = folder / file.location.removeprefix(location.rstrip("/") + "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            s3.download_file(*_bucket_and_key(file.location), str(path))


def read_lines(part: Slice) -> Iterator[tuple[int, bytes]]:
    """Read the lines of a slice with the byte at which each starts. Raises as `read_line_blocks`."""
    for offset, lines in read_line_blocks(part):
        for line in lines:
            yield offset, line
            offset += len(line)


def read_line_blocks(part: Slice) -> Iterator[tuple[int, list[bytes]]]:
    """Read the lines of a slice in blocks, with the byte at which each block starts.

    Packed files are never sliced. Raises `DocumentError` after the last complete line of a packed file that
    is truncated or damaged, and if a line or a packed file exceeds the limits.
    """
    if part.location.endswith(".gz"):
        with _translate_errors(part.location), open_stream(part.location) as packed:
            unpacked = _GzipReader(part.location, packed, MIN_LINE_BYTES_FOR_RATIO, _BYTES_PER_LINE)
            yield from _line_blocks(part.location, unpacked, 0, None)
        return
    with _translate_errors(part.location), open_stream(part.location, max(part.start - 1, 0)) as stream:
        offset = part.start
        if part.start:
            # A line across the boundary belongs to the previous slice, unless the byte before the boundary
            # ends it.
            offset += _skip_line(stream, part.end - part.start + 1) - 1
        yield from _line_blocks(part.location, stream, offset, part.end)


def _skip_line(stream: IO[bytes], limit: int) -> int:
    """Skip the rest of a line, at most `limit` bytes; return the number of skipped bytes."""
    skipped = 0
    while skipped < limit and (piece := stream.readline(min(_BLOCK_BYTES, limit - skipped))):
        skipped += len(piece)
        if piece.endswith(b"\n"):
            break
    return skipped


def _line_blocks(
    location: str, stream: "io.BufferedReader | _GzipReader", offset: int, end: int | None
) -> Iterator[tuple[int, list[bytes]]]:
    partial: list[bytes] = []  # the start of an incomplete line
    size = 0
    while end is None or offset < end:
        block = stream.read1(input_budget.limit_read(_LINE_BLOCK_BYTES))
        input_budget.count(len(block))
        partial.append(block)
        size += len(block)
        if block and b"\n" not in block and size <= MAX_LINE_BYTES:
            continue
        lines = io.BytesIO(b"".join(partial)).readlines()
        is_cut = bool(block) and not lines[-1].endswith(b"\n") and len(lines[-1]) <= MAX_LINE_BYTES
        partial = [lines.pop()] if is_cut else []
        complete, size = size, sum(map(len, partial))
        complete -= size
        if end is not None and offset + complete > end:
            lines = _starting_before(end, offset, lines)
        if complete > MAX_LINE_BYTES:
            yield from _check_lengths(location, offset, lines)
        elif lines:
            yield offset, lines
        offset += complete
        if not block:
            return


def _starting_before(end: int, offset: int, lines: list[bytes]) -> list[bytes]:
    starts = accumulate(map(len, lines), initial=offset)
    return [line for start, line in zip(starts, lines, strict=False) if start < end]


def _check_lengths(location: str, offset: int, lines: list[bytes]) -> Iterator[tuple[int, list[bytes]]]:
    for line in lines:
        if len(line) > MAX_LINE_BYTES:
            problem = f"byte {offset}: a line of more than {MAX_LINE_BYTES:,} bytes; the rest is not read"
            raise DocumentError(redact_location(location), "", problem)
        yield offset, [line]
        offset += len(line)


class _GzipReader:
    """Reads a gzip stream while its ratio is below the limit."""

    def __init__(
        self, location: str, packed: IO[bytes], min_bytes_for_ratio: int, bytes_per_line: int = 0
    ) -> None:
        self._location = location
        self._packed = _CountingStream(packed)
        self._stream = gzip.GzipFile(fileobj=self._packed)  # type: ignore[call-overload] # only `read` is called
        self._min_bytes_for_ratio = min_bytes_for_ratio
        self._bytes_per_line = bytes_per_line
        self._size = 0

    def read1(self, limit: int) -> bytes:
        """Read available bytes, at most `limit`: all intact data before a damaged position.

        Raises `DocumentError` if the stream is damaged or a gzip bomb.
        """
        try:
            data: bytes = self._stream.read1(limit)
        except _INVALID_GZIP:
            raise DocumentError(redact_location(self._location), "", "not a valid gzip file") from None
        self._size += len(data)
        if self._bytes_per_line:
            self._size += self._bytes_per_line * data.count(b"\n")
        if self._size > max(self._min_bytes_for_ratio, self._packed.size * MAX_RATIO):
            problem = f"unpacks to more than {MAX_RATIO} times its size"
            raise DocumentError(redact_location(self._location), "", problem)
        return data


class _CountingStream:
    """A stream that counts the bytes read."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.size = 0

    def read(self, limit: int = -1) -> bytes:
        """Read at most `limit` bytes."""
        data = self._stream.read(limit)
        self.size += len(data)
        return data


def _scheme(location: str) -> str:
    scheme, separator, _ = location.partition("://")
    return scheme.lower() if separator else ""


def redact_location(location: str) -> str:
    """Return a location for messages, with passwords redacted."""
    return redact(location) if "://" in location else location


def _local(location: str) -> Path:
    if _scheme(location) not in ("", "file"):
        raise SourceError(f"{redact_location(location)}: neither a local path nor s3://bucket/key")
    path = location.partition("://")[2] if _scheme(location) else location
    try:
        return Path(path).expanduser()
    except RuntimeError:  # ~user of an unknown user
        return Path(path)


def _list_local(folder: str) -> Iterator[StoredFile]:
    root = _local(folder)
    if not root.is_dir():
        if root.exists():
            is_file = root.is_file()
            problem = "a file, not a folder" if is_file else "a pipe or a device, neither a file nor a folder"
            raise SourceMissing(f"{folder}: {problem}")
        raise SourceMissing.with_suggestion(f"{folder}: no such folder", _similar(root))
    seen: set[tuple[int, int]] = set()
    for path, folders, names in os.walk(root, followlinks=True, onerror=_raise):
        status = Path(path).stat()
        if (status.st_dev, status.st_ino) in seen:
            folders.clear()  # a link to a visited folder
            continue
        seen.add((status.st_dev, status.st_ino))
        for name in names:
            file = Path(path, name)
            yield StoredFile(str(file), file.stat().st_size)


def _similar(missing: Path) -> str:
    """Return a location like the missing one, if the nearest folder that exists has a similar name."""
    try:
        parent = next(folder for folder in missing.parents if folder.is_dir())
        wanted, *below = missing.relative_to(parent).parts
        names = {_stem(entry.name): entry.name for entry in islice(parent.iterdir(), _MAX_NAMES)}
    except (OSError, StopIteration, ValueError):
        return ""
    # Without endings, which alone would make names similar.
    similar = next((names[stem] for stem in similar_names(_stem(wanted), names, cutoff=0.7)), wanted)
    return str(Path(parent, similar, *below)) if similar != wanted else ""


def _stem(name: str) -> str:
    return name.partition(".")[0] or name


def _one_file(location: str) -> StoredFile | None:
    if not is_s3(location):
        path = _local(location)
        return StoredFile(str(path), path.stat().st_size) if path.is_file() else None
    bucket, key = _bucket_and_key(location)
    if not key or key.endswith("/"):
        return None
    # The key itself is the first of all keys with this prefix; listing needs no further permission.
    contents = _s3().list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("Contents", ())
    return next(
        (StoredFile(f"s3://{bucket}/{key}", entry["Size"]) for entry in contents if entry["Key"] == key), None
    )


def _raise(error: OSError) -> None:
    raise error


def _bucket_and_key(location: str) -> tuple[str, str]:
    bucket, _, key = location.partition("://")[2].partition("/")
    return bucket, key


def _s3() -> Any:
    """Return the client of this process: to make one takes several times as long as a small file."""
    variables = frozenset(item for item in os.environ.items() if item[0].startswith("AWS_"))
    return _client_of(os.getpid(), variables)


@lru_cache(maxsize=4)
def _client_of(_process: int, _variables: frozenset[tuple[str, str]]) -> Any:
    """Make a client; another process, after a fork, and other credentials have their own."""
    return boto_client("s3", read_timeout=60)  # responses may be slow


def _list_s3(folder: str) -> Iterator[StoredFile]:
    bucket, prefix = _bucket_and_key(folder)
    prefix = prefix if not prefix or prefix.endswith("/") else prefix + "/"
    pages = _s3().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    for page in pages:
        for entry in page.get("Contents", ()):
            if not entry["Key"].endswith("/"):
                yield StoredFile(f"s3://{bucket}/{entry['Key']}", entry["Size"])


@contextmanager
def open_stream(location: str, start: int = 0) -> Iterator[io.BufferedReader]:
    """Open a file as a stream of bytes, from the byte `start` on."""
    if is_s3(location):
        bucket, key = _bucket_and_key(location)
        body = _s3().get_object(Bucket=bucket, Key=key, Range=f"bytes={start}-") if start else None
        body = body or _s3().get_object(Bucket=bucket, Key=key)
        with body["Body"] as raw:
            yield io.BufferedReader(_Readable(raw), 1 << 20)
    else:
        with _open_local(location) as stream:
            stream.seek(start)
            yield stream


def open_ranges(location: str) -> RangedFile:
    """Open a file in S3 of which only parts may be needed. Raises `SourceError`, also when it is read."""
    bucket, key = _bucket_and_key(location)
    client = _s3()

    def fetch(part: str) -> tuple[bytes, int]:
        with _translate_errors(location):
            try:
                answer = client.get_object(Bucket=bucket, Key=key, Range=part)
            except client.exceptions.ClientError as error:
                if error.response["Error"].get("Code") != "InvalidRange":
                    raise
                return b"", 0  # an empty object has no ranges
            content: bytes = answer["Body"].read()
        input_budget.count(len(content))
        # A server may ignore the range.
        return content, int(answer.get("ContentRange", f"/{len(content)}").rpartition("/")[2])

    return RangedFile(fetch)


def _open_local(location: str) -> io.BufferedReader:
    """Open a regular file. Raises `DocumentError` for others, such as a pipe, which may never end."""
    # Not to wait for the writer of a pipe.
    handle = os.open(_local(location), os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
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
def _translate_errors(location: str, action: str = "read") -> Iterator[None]:
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
        raise s3_error(name, error, _buckets) from None


def _buckets() -> list[str]:
    """Return the buckets that these credentials may list; none without that permission."""
    from botocore.exceptions import BotoCoreError, ClientError

    try:
        return [str(bucket["Name"]) for bucket in _s3().list_buckets()["Buckets"]]
    except (BotoCoreError, ClientError, ValueError):
        return []
