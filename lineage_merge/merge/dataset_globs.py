"""Globs on datasets and their columns, as in `metadata` and `propagation`. Pure."""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from lineage_merge.model.elements import DatasetName, decode, path_of


def glob_names(dataset_id: str, qualified_name: str = "") -> set[str]:
    """Return the names that globs match: path, ``namespace|name``, name, and qualified name."""
    _, namespace, name = (decode(part) for part in dataset_id.split("|", 2))
    return {path_of(DatasetName(namespace, name)), f"{namespace}|{name}", name, qualified_name or name}


def dataset_matches(names: Iterable[str], glob: str) -> bool:
    """Return whether one of a dataset's `glob_names` matches."""
    return any(fnmatchcase(name, glob) for name in names)


def column_matches(column: str, glob: str) -> bool:
    """Return whether the name of a column matches, in any case."""
    return fnmatchcase(column.lower(), glob.lower())


def matching_glob(names: Collection[str], globs: Iterable[str]) -> str:
    """Return the first glob that matches one of a dataset's `glob_names`, "" if none does."""
    return next((glob for glob in globs if dataset_matches(names, glob)), "")
