"""Resolution of names in SQL files to datasets. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.column_lineage.scripts.datasets import path_of_table
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import Reference
from lineage_merge.naming.identifiers import join_name


@dataclass(slots=True)
class NamedTables:
    """The datasets in the files, by key; `resolve_id` returns the same key for all names of a dataset."""

    namespace: str
    resolve_id: Callable[[Reference], str]
    references: dict[str, Reference] = field(default_factory=dict)
    _keys: dict[Reference, str] = field(default_factory=dict)

    def key(self, reference: Reference) -> str:
        """Return the dataset's key, used while files are read."""
        key = self._keys.get(reference)
        if key is None:
            key = self._keys[reference] = self.resolve_id(reference)
            self.references.setdefault(key, reference)
        return key

    def name_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """Return the dataset of a table in the current `database`; None if the name contains a variable."""
        parts = [part.name for part in table.parts]
        if any(variables.occur_in(part) for part in parts):
            return None
        if path := path_of_table(table):
            return self.name_path(path, variables)
        if len(parts) == 1:
            parts = [*database, *parts]
        elif len(parts) == 2 and len(database) == 2:
            parts = [database[0], *parts]
        return self.key(Reference(self.namespace, join_name(parts)))

    def name_path(self, path: str, variables: Variables) -> str | None:
        """Return the dataset of a path; None if it contains a variable or its file system is unknown."""
        if ":/" not in path or _dataset_path(path, variables) is None:
            return None
        return self.key(Reference("", str(_dataset_path(path, variables))))


def _dataset_path(path: str, variables: Variables) -> str | None:
    """Return the known part of a path: variables below the dataset's folder are partitions."""
    known: list[str] = []
    scheme, _, rest = path.partition("://") if "://" in path else ("", "", path)
    for segment in rest.split("/"):
        if variables.occur_in(segment):
            # dt=${dt} is a partition's folder; other variables may be the dataset itself.
            if "=" in segment.split("$")[0].split("{")[0]:
                break
            return None
        known.append(segment)
    return f"{scheme}://{'/'.join(known)}" if scheme else "/".join(known)
