"""Selections of datasets and columns by globs: ``*.marts.*``, ``s3://lake/sales``, ``*.customers#email``."""

import re
from collections.abc import Callable, Collection, Iterable
from fnmatch import translate
from typing import NamedTuple

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.merge.metadata_rules import column_matches, glob_names
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_uri

_WILDCARDS = frozenset("*?[")


class DatasetGlobs:
    """Globs of which a dataset or column must match one.

    A glob is compared with the path or qualified name, ``namespace|name``, the name in the namespace and the
    location; the part after ``#`` with the column, in any case. A URI without wildcards is normalized.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        self._patterns = {glob: _pattern([glob]) for glob in self.globs}
        owners = {glob: glob.rpartition("#")[0] for glob in self.globs if "#" in glob}
        self._owners = {name: _pattern([owner]) for name, owner in owners.items()}
        # One comparison excludes most datasets.
        self._any = _pattern([*self.globs, *owners.values()])

    def selection(self, names: Collection[str]) -> "Selection":
        """Return what the globs select of a dataset with these names."""
        if not any(map(self._any, names)):
            return Selection()
        return Selection(
            tuple(glob for glob, matches in self._patterns.items() if any(map(matches, names))),
            tuple(glob for glob, matches in self._owners.items() if any(map(matches, names))),
        )

    def matching(self, names: Collection[str]) -> tuple[str, ...]:
        """Return the globs that match a dataset with these names."""
        return self.selection(names).whole


class Selection(NamedTuple):
    """The globs that match a dataset as a whole, and those on columns of it."""

    whole: tuple[str, ...] = ()
    of_columns: tuple[str, ...] = ()

    def holds_column(self, column: str) -> bool:
        """Whether a glob matches the dataset, or this column."""
        return bool(self.whole) or any(
            column_matches(column, glob.rpartition("#")[2]) for glob in self.of_columns
        )


def names_of(dataset: Vertex) -> set[str]:
    """Return the names of a dataset that globs are compared with."""
    names = glob_names(dataset.id, str(dataset.properties.get("qualified_name", "")))
    location = dataset.properties.get("location")
    return names | {str(location)} if location else names


def is_name(glob: str) -> bool:
    """Whether a glob has no wildcards."""
    return not _WILDCARDS & set(glob)


def _spellings(glob: str) -> set[str]:
    """Return a glob, and the normalized name of a URI without wildcards (``s3a://lake/sales/``)."""
    if not is_name(glob) or "://" not in glob or "|" in glob:
        return {glob}
    try:
        namespace, name = name_uri(glob).name
    except NamingError:
        return {glob}
    return {glob, f"{namespace}|{name}"}


def _pattern(globs: Iterable[str]) -> Callable[[str], object]:
    """Return a function that compares a name with all spellings of globs."""
    spellings = sorted({spelling for glob in globs for spelling in _spellings(glob)})
    # Without globs, a pattern that matches nothing.
    return re.compile("|".join(map(translate, spellings)) or "(?!)").match
