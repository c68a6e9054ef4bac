"""Writes, copies and deletes files and folders."""

import os
import secrets
import shutil
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from lineage_merge.infra.aws import s3_answer
from lineage_merge.infra.batches import batched
from lineage_merge.infra.storage.access import (
    MAX_THREADS,
    list_buckets,
    run_concurrently,
    s3_client,
    translate_errors,
)
from lineage_merge.infra.storage.listing import list_files, list_s3
from lineage_merge.infra.storage.locations import bucket_and_key, is_s3, local_path

# What browsers open.
_CONTENT_TYPES = {".html": "text/html", ".js": "text/javascript"}
# S3's limit per request.
_MAX_DELETED = 1000


def write_text(location: str, text: str) -> None:
    """Write a file as UTF-8, or replace one: complete or not at all, also if the process is killed.

    A replaced local file keeps its permissions; through a link, the linked file is replaced.
    """
    with translate_errors(location, "write"):
        if is_s3(location):
            bucket, key = bucket_and_key(location)
            s3_client().put_object(Bucket=bucket, Key=key, Body=text.encode(), **_content_type(key))
        else:
            _replace(local_path(location), text.encode())


def write_new_texts(folder: str, files: Iterable[tuple[str, str]]) -> None:
    """Write files, by name, of a new folder that no process reads yet.

    So they are not replaced atomically, and not synced one by one; those in S3 are written concurrently.
    """
    if not is_s3(folder):
        root = local_path(folder)
        with translate_errors(folder, "write"):
            root.mkdir(parents=True)
        for name, text in files:
            with translate_errors(folder, "write"):
                (root / name).write_bytes(text.encode())
        sync_folder(root)
        return
    client = s3_client()
    bucket, prefix = bucket_and_key(folder)

    def put(file: tuple[str, str]) -> None:
        key = f"{prefix.rstrip('/')}/{file[0]}"
        with translate_errors(folder, "write"):
            client.put_object(Bucket=bucket, Key=key, Body=file[1].encode(), **_content_type(key))

    for batch in batched(files, MAX_THREADS):
        run_concurrently(put, batch)


def _content_type(name: str) -> dict[str, str]:
    """Return the type of what browsers open: others may not show it as a page, or run it as a script."""
    kind = _CONTENT_TYPES.get(Path(name).suffix)
    return {"ContentType": f"{kind}; charset=utf-8"} if kind else {}


def create_file(location: str, text: str) -> None:
    """Write a file as `write_text` does; creates parent folders."""
    if not is_s3(location):
        with translate_errors(location, "write"):
            local_path(location).parent.mkdir(parents=True, exist_ok=True)
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
    with translate_errors(location, "write"):
        if is_s3(location):
            bucket, key = bucket_and_key(location)
            s3_client().upload_file(str(file), bucket, key)
        else:
            shutil.copyfile(file, local_path(location))


def copy_file(source: str, target: str) -> None:
    """Copy a file that no process changes, within S3 or on a disk, where it becomes a link if possible."""
    with translate_errors(target, "write"):
        if is_s3(target):
            bucket, key = bucket_and_key(target)
            of_source = dict(zip(("Bucket", "Key"), bucket_and_key(source), strict=True))
            s3_client().copy_object(Bucket=bucket, Key=key, CopySource=of_source)
            return
        path = local_path(target)
        path.unlink(missing_ok=True)
        try:
            path.hardlink_to(local_path(source))
        except OSError:  # not on every file system
            shutil.copyfile(local_path(source), path)


def move_into_place(file: Path, location: str) -> None:
    """Move a local file within its file system, atomically and durably; creates parent folders."""
    target = local_path(location)
    with translate_errors(location, "write"):
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
    with translate_errors(location, "write"):
        if not is_s3(location):
            local_path(location).mkdir(parents=True, exist_ok=True)


def delete_folder(location: str) -> None:
    """Delete all files below a folder, which may be missing."""
    with translate_errors(location, "delete"):
        if is_s3(location):
            bucket, _ = bucket_and_key(location)
            _delete_s3(s3_client(), bucket, [bucket_and_key(file.location)[1] for file in list_s3(location)])
        elif local_path(location).is_dir():
            shutil.rmtree(local_path(location))


def delete_file(location: str) -> None:
    """Delete a file, which may be missing."""
    with translate_errors(location, "delete"):
        if is_s3(location):
            bucket, key = bucket_and_key(location)
            _delete_s3(s3_client(), bucket, [key])
        else:
            local_path(location).unlink(missing_ok=True)


def _delete_s3(s3: Any, bucket: str, keys: list[str]) -> None:
    for batch in batched(keys, _MAX_DELETED):
        objects = [{"Key": key} for key in batch]
        answer = s3.delete_objects(Bucket=bucket, Delete={"Objects": objects, "Quiet": True})
        for error in answer.get("Errors", ()):
            raise s3_answer(f"s3://{bucket}/{error.get('Key', '')}", error.get("Code", ""), list_buckets)


def replace_folder(location: str, folder: Path) -> None:
    """Replace a folder in S3 by a local one; existing files are deleted first."""
    with translate_errors(location, "write"):
        bucket, prefix = bucket_and_key(location)
        s3 = s3_client()
        old = [bucket_and_key(file.location)[1] for file in list_s3(location)]
        _delete_s3(s3, bucket, old)
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            s3.upload_file(str(path), bucket, f"{prefix.rstrip('/')}/{path.relative_to(folder).as_posix()}")


def fetch_folder(location: str, folder: Path) -> None:
    """Copy a folder in S3 to a local one. Raises `SourceMissing` if it has no files."""
    files = list_files(location)
    with translate_errors(location):
        s3 = s3_client()
        for file in files:
            path = folder / file.location.removeprefix(location.rstrip("/") + "/")
            path.parent.mkdir(parents=True, exist_ok=True)
            s3.download_file(*bucket_and_key(file.location), str(path))
