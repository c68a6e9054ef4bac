"""Lists files and folders."""

import os
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from lineage_merge.infra.storage.access import (
    MAX_NAMES,
    _similar,
    map_locations,
    open_local,
    s3_client,
    translate_errors,
)
from lineage_merge.infra.storage.locations import (
    StoredFile,
    bucket_and_key,
    is_s3,
    local_path,
    redact_location,
)
from lineage_merge.model.errors import SourceMissing


def list_files(folder: str) -> list[StoredFile]:
    """Return all files below a folder, recursively, sorted. Raises `SourceMissing` if there are none."""
    with translate_errors(folder):
        files = sorted(list_s3(folder) if is_s3(folder) else _list_local(folder))
    if not files:
        raise SourceMissing(f"{redact_location(folder)}: no files found")
    return files


def find_files(location: str) -> list[StoredFile]:
    """Return the file at a location, or all files below it. Raises `SourceMissing` if there are none."""
    with translate_errors(location):
        file = _one_file(location)
    return [file] if file else list_files(location)


def subfolders(location: str) -> list[str]:
    """Return the folders in a folder, sorted, of at most a thousand entries; none if it is missing."""
    with translate_errors(location):
        if is_s3(location):
            bucket, key = bucket_and_key(location.rstrip("/") + "/")
            listing = s3_client().list_objects_v2(Bucket=bucket, Prefix=key, Delimiter="/", MaxKeys=MAX_NAMES)
            return [
                f"s3://{bucket}/{entry['Prefix']}".rstrip("/") for entry in listing.get("CommonPrefixes", ())
            ]
        root = local_path(location)
        entries = islice(root.iterdir(), MAX_NAMES) if root.is_dir() else ()
        return sorted(str(entry) for entry in entries if entry.is_dir() and not entry.name.startswith("."))


def children(folder: str, after: str = "") -> list[str]:
    """Return the names of all files and folders in a folder, sorted; none if it is missing.

    `after`: only names that sort after this one, up to which S3 lists nothing.
    """
    with translate_errors(folder):
        if is_s3(folder):
            names = _children_s3(s3_client(), folder, after)
        else:
            root = local_path(folder)
            names = [entry.name for entry in root.iterdir()] if root.is_dir() else []
    return sorted(name for name in names if name > after and not name.startswith("."))


def children_of(folders: Sequence[str]) -> list[list[str]]:
    """Return `children` of each folder; those in S3 are listed concurrently."""
    return map_locations(children, folders)


def _children_s3(client: Any, folder: str, after: str) -> list[str]:
    bucket, key = bucket_and_key(folder.rstrip("/") + "/")
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
    with translate_errors(location):
        if is_s3(location):
            bucket, key = bucket_and_key(location)
            # Like reading: a request for the size alone needs other permissions, and has other errors.
            answer = s3_client().get_object(Bucket=bucket, Key=key)
            answer["Body"].close()
            return int(answer["ContentLength"])
        with open_local(location) as stream:
            return os.fstat(stream.fileno()).st_size


def _list_local(folder: str) -> Iterator[StoredFile]:
    root = local_path(folder)
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


def _one_file(location: str) -> StoredFile | None:
    if not is_s3(location):
        path = local_path(location)
        return StoredFile(str(path), path.stat().st_size) if path.is_file() else None
    bucket, key = bucket_and_key(location)
    if not key or key.endswith("/"):
        return None
    # The key itself is the first of all keys with this prefix; listing needs no further permission.
    contents = s3_client().list_objects_v2(Bucket=bucket, Prefix=key, MaxKeys=1).get("Contents", ())
    return next(
        (StoredFile(f"s3://{bucket}/{key}", entry["Size"]) for entry in contents if entry["Key"] == key), None
    )


def _raise(error: OSError) -> None:
    raise error


def list_s3(folder: str) -> Iterator[StoredFile]:
    bucket, prefix = bucket_and_key(folder)
    prefix = prefix if not prefix or prefix.endswith("/") else prefix + "/"
    pages = s3_client().get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=prefix)
    for page in pages:
        for entry in page.get("Contents", ()):
            if not entry["Key"].endswith("/"):
                yield StoredFile(f"s3://{bucket}/{entry['Key']}", entry["Size"])
