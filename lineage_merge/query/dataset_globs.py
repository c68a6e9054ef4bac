"""Selections of datasets and columns by globs: ``*.marts.*``, ``s3://lake/sales``, ``*.customers#email``."""

from collections.abc import Iterable
from typing import NamedTuple

from lineage_merge.merge.dataset_globs import column_matches, dataset_matches, glob_names
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_uri
from lineage_merge.query.elements import Vertex

_WILDCARDS = frozenset("*?[")


class DatasetGlobs:
    """Globs of which a dataset or column must match one.

    A glob is compared with the path or qualified name, ``namespace|name``, the name in the namespace and the
    location; the part after ``#`` with the column, in any case. A URI without wildcards is normalized.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        self._spellings = {each: _spellings(each) for each in self.globs}
        of_columns = [each for each in self.globs if "#" in each]
        self._owners = {each: _spellings(each.rpartition("#")[0]) for each in of_columns}

    def matching(self, dataset: Vertex) -> list[str]:
        """Return the globs that match a dataset."""
        if not self.globs:
            return []
        names = names_of(dataset)
        return [each for each in self.globs if _matches(names, self._spellings[each])]

    def selection(self, dataset: Vertex) -> "Selection":
        """Return what the globs select of a dataset."""
        if not self.globs:
            return Selection()
        names = names_of(dataset)
        return Selection(
            tuple(each for each in self.globs if _matches(names, self._spellings[each])),
            tuple(glob for glob, owner in self._owners.items() if _matches(names, owner)),
        )

    def holds(self, dataset: Vertex) -> bool:
        """Whether a glob matches a dataset."""
        return bool(self.matching(dataset))


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


def _matches(names: set[str], globs: set[str]) -> bool:
    return any(dataset_matches(names, glob) for glob in globs)
