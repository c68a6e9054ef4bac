"""Files of SQL below folders, local or in S3. No Spark."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile, find_files, is_s3, read_bytes
from lineage_merge.model.errors import ConfigError, SourceError, SourceMissing
from lineage_merge.sources.sql.settings import SqlFiles

SUFFIXES = (".sql", ".hql", ".hive", ".ddl", ".q")


class SqlText(NamedTuple):
    """A file: its name below its root (``daily/load.sql``), and its text."""

    name: str
    text: str


def is_sql(name: str) -> bool:
    """Whether a file is read, by its name."""
    return name.lower().endswith(SUFFIXES)


def find(path: str) -> dict[str, str]:
    """The location of each file below a folder, by name; of one file, of itself. Raises `SourceError`."""
    return {name: file.location for name, file in stored(path).items()}


def stored(path: str) -> dict[str, StoredFile]:
    """Each file below a folder, by name; of one file, itself. Raises `SourceError`."""
    root = path.rstrip("/") if is_s3(path) else str(Path(path).expanduser())
    found: dict[str, StoredFile] = {}
    for each in find_files(root):
        below = each.location.removeprefix(root).lstrip("/")
        name = below or root.rpartition("/")[2]
        hidden = any(part.startswith(".") for part in name.split("/"))
        if (is_sql(name) and not hidden) or not below:
            found[name] = each
    return found


def read(locations: Iterable[tuple[str, str]]) -> list[SqlText]:
    """The texts of files, each with its name. Raises `SourceError`."""
    return [SqlText(name, decoded(read_bytes(location))) for name, location in locations]


def decoded(content: bytes) -> str:
    """A file's text; a byte that is no UTF-8 only spoils the text or comment that it stands in."""
    return content.decode("utf-8", "replace")


def size(folders: Sequence[SqlFiles]) -> int:
    """Return the stored bytes of all files. Raises `SourceError`."""
    paths = (path for each in folders for path in (each.path, *each.schema))
    return sum(file.size for path in paths for file in stored(path).values())


def preflight(folders: Sequence[SqlFiles]) -> None:
    """Check that the parser is installed, the dialects are known and the folders have SQL files.

    Raises `ConfigError`, `SourceError`.
    """
    for index, each in enumerate(folders):
        check_dialect(f"sql[{index}].dialect", each.dialect)
        for path in (each.path, *each.schema):
            if not find(path):
                raise SourceMissing(f"{path}: no files of SQL there ({', '.join(SUFFIXES)})")


def check_dialect(key: str, dialect: str) -> None:
    """Raises `ConfigError` for a dialect that nobody knows, `SourceError` without sqlglot."""
    try:
        from sqlglot import Dialect
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        raise SourceError(
            "SQL is not read: sqlglot is not installed (pip install 'lineage-merge[columns]')"
        ) from None
    if Dialect.get(dialect) is None:
        known = ", ".join(sorted(each for each in Dialect.classes if each))
        raise ConfigError(key, f"{dialect} is not known: one of {known}")
