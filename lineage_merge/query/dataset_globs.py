"""Globs on datasets and columns, such as ``*.marts.*``, ``s3://lake/sales`` and ``*.customers#email``."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_uri
from lineage_merge.query.elements import Vertex, name_parts

_WILDCARDS = frozenset("*?[")


class DatasetGlobs:
    """Globs of which a dataset or column must match one.

    A glob is compared with the path or qualified name, ``namespace|name``, the name in the namespace and the
    location; one with ``#`` also with a column of the dataset. A URI without wildcards is normalized.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        self._spellings = {each: _spellings(each) for each in self.globs}
        of_columns = [each for each in self.globs if "#" in each]
        self._owners = {each: _spellings(each.rpartition("#")[0]) for each in of_columns}

    def matching(self, dataset: Vertex) -> list[str]:
        """Return the globs that match a dataset."""
        names = names_of(dataset)
        return [each for each in self.globs if _matches(names, self._spellings[each])]

    def possible(self, dataset: Vertex) -> list[str]:
        """Return the globs that match a dataset, or may match one of its columns."""
        names = names_of(dataset)
        of_columns = [glob for glob, owner in self._owners.items() if _matches(names, owner)]
        return [*self.matching(dataset), *of_columns]

    def matching_column(self, dataset: Vertex, column: str) -> list[str]:
        """Return the globs that match a dataset, or one of its columns."""
        names = names_of(dataset)
        columns = {f"{each}#{column}" for each in names}
        return [
            each
            for each in self.globs
            if _matches(names, self._spellings[each])
            or ("#" in each and _matches(columns, self._spellings[each]))
        ]

    def holds(self, dataset: Vertex) -> bool:
        """Whether a glob matches a dataset."""
        return bool(self.matching(dataset))


def names_of(dataset: Vertex) -> set[str]:
    """Return the names of a dataset that globs are compared with."""
    _, namespace, name = name_parts(dataset.id)
    names = {dataset.title, f"{namespace}|{name}", name}
    others = (dataset.properties.get(key) for key in ("qualified_name", "location"))
    return names | {str(each) for each in others if each}


def is_name(glob: str) -> bool:
    """Whether a glob has no wildcards."""
    return not _WILDCARDS & set(glob)


def _spellings(glob: str) -> set[str]:
    """Return a glob, and the normalized name of a URI without wildcards (``s3a://lake/sales/``)."""
    if not is_name(glob) or "://" not in glob or "|" in glob:
        return {glob}
    uri, mark, column = glob.partition("#")
    try:
        namespace, name = name_uri(uri).name
    except NamingError:
        return {glob}
    return {glob, f"{namespace}|{name}{mark}{column}"}


def _matches(names: set[str], globs: set[str]) -> bool:
    return any(fnmatchcase(name, glob) for glob in globs for name in names)
