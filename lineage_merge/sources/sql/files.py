"""SQL files below folders, local or in S3. No Spark."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile, find_files, is_s3, read_bytes
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources.settings import check_dialect
from lineage_merge.sources.sql.settings import SqlFiles

SUFFIXES = (".sql", ".hql", ".hive", ".ddl", ".q")


class SqlText(NamedTuple):
    """A file: its name relative to its root (``daily/load.sql``), and its text."""

    name: str
    text: str


def is_sql(name: str) -> bool:
    """Return whether a file is read, by its name."""
    return name.lower().endswith(SUFFIXES)


def find(path: str) -> dict[str, str]:
    """Return the location of each file below a folder, by name; for a file, its own. Raises `SourceError`."""
    return {name: file.location for name, file in list_stored(path).items()}


def list_stored(path: str) -> dict[str, StoredFile]:
    """Return each file below a folder, by name; for a file, itself. Raises `SourceError`."""
    root = path.rstrip("/") if is_s3(path) else str(Path(path).expanduser())
    files: dict[str, StoredFile] = {}
    for file in find_files(root):
        below = file.location.removeprefix(root).lstrip("/")
        name = below or root.rpartition("/")[2]
        hidden = any(part.startswith(".") for part in name.split("/"))
        if (is_sql(name) and not hidden) or not below:
            files[name] = file
    return files


def read(locations: Iterable[tuple[str, str]]) -> list[SqlText]:
    """Return the texts of files, each with its name. Raises `SourceError`."""
    return [SqlText(name, decode(read_bytes(location))) for name, location in locations]


def decode(content: bytes) -> str:
    """Decode a file's text; invalid UTF-8 only affects the string or comment that contains it."""
    return content.decode("utf-8", "replace")


def size(folders: Sequence[SqlFiles]) -> int:
    """Return the stored bytes of all files. Raises `SourceError`."""
    paths = (path for folder in folders for path in (folder.path, *folder.schema))
    return sum(file.size for path in paths for file in list_stored(path).values())


def preflight(folders: Sequence[SqlFiles]) -> None:
    """Check that the parser is installed, the dialects are known and the folders have SQL files.

    Raises `ConfigError`, `SourceError`.
    """
    for index, folder in enumerate(folders):
        check_dialect(f"sql[{index}].dialect", folder.dialect)
        for path in (folder.path, *folder.schema):
            if not find(path):
                raise SourceMissing(f"{path}: no SQL files found ({', '.join(SUFFIXES)})")
