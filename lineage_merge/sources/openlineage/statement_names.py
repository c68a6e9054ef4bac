"""Names of datasets as Spark's SQL writes them: `db.t`, `lake.db.t`, delta.`s3://lake/t`. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from lineage_merge.column_lineage.table_parts import part_of_name, path_of_name
from lineage_merge.naming import path_uri
from lineage_merge.naming.address import trim
from lineage_merge.sources.openlineage.runs import DatasetKey

# Scheme and authority of a URI.
_ROOT = re.compile(r"^[a-z][a-z0-9+.-]*:(?://[^/]*)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class DatasetNames:
    """The names of one dataset of an event: its path ("" without one), and tables, each from its database."""

    path: str
    tables: tuple[tuple[str, ...], ...]

    def has(self, name: Sequence[str]) -> bool:
        """Return whether a name in SQL, by its parts, is the dataset's."""
        path = path_of_name(name)
        if path:
            return bool(self.path) and _same_path(path, self.path)
        parts = _fold_parts(name)
        return any(_ends_with(parts, _fold_parts(table)) for table in self.tables)


def names_of(namespace: str, name: str, dataset: Mapping[str, Any]) -> DatasetNames:
    """Return the names of a dataset of an event, without those of a part such as ``db.t.files``."""
    path = path_uri(namespace, name)
    symlinks = ((dataset.get("facets") or {}).get("symlinks") or {}).get("identifiers") or ()
    given = [str(symlink["name"]) for symlink in symlinks] + ([] if path else [name])
    tables: dict[tuple[str, ...], None] = {}
    for identifier in given:
        parts = identifier.removeprefix("table/").replace("/", ".").split(".")
        if part_of_name(["", *parts], location=path) is not None:
            parts = parts[:-1]
        tables[tuple(parts)] = None
    return DatasetNames(path, tuple(tables))


def key_of(name: Sequence[str], catalog: str) -> DatasetKey | None:
    """Return the namespace and name of a dataset that no event has; None without a database.

    A path without a scheme is one of Spark's default file system, `file`. `catalog` is that of a name without
    one.
    """
    path = path_of_name(name)
    if path:
        return ("", path) if _ROOT.match(path) else ("file", path)
    match len(name):
        case 0 | 1:
            return None
        case 2:
            return catalog, ".".join(name)
    return name[0], ".".join(name[1:])


def _fold_parts(name: Sequence[str]) -> tuple[str, ...]:
    return tuple(part.casefold() for part in name)


def _ends_with(parts: tuple[str, ...], table: tuple[str, ...]) -> bool:
    """Return whether two names are of one table; either may have more parts before."""
    length = min(len(parts), len(table))
    return length > 0 and parts[-length:] == table[-length:]


def _same_path(path: str, uri: str) -> bool:
    """Return whether a path, of the default file system without a scheme, is the dataset's."""
    path, uri = _plain(path), _plain(uri)
    return path == uri if _ROOT.match(path) else path == _ROOT.sub("", uri)


def _plain(path: str) -> str:
    """Return a path with one spelling of its file system: ``s3://``, ``file:/``."""
    return re.sub(r"^s3[an]://", "s3://", re.sub(r"^file:/+", "file:/", trim(path)))
