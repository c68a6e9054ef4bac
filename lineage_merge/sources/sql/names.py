"""Which dataset a name in a file of SQL means. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field

from sqlglot import exp

from lineage_merge.model.elements import Reference
from lineage_merge.naming.identifiers import join_name
from lineage_merge.sources.sql.variables import Variables

# Spark reads a path as a table of its format: parquet.`s3://lake/sales`.
_FORMATS = frozenset(
    {"parquet", "orc", "csv", "json", "text", "avro", "delta", "iceberg", "binaryfile", "xml"}
)


@dataclass(slots=True)
class Datasets:
    """The datasets that files speak of, by key; `resolve_id` gives two names of one dataset one key."""

    namespace: str
    resolve_id: Callable[[Reference], str]
    references: dict[str, Reference] = field(default_factory=dict)
    _keys: dict[Reference, str] = field(default_factory=dict)

    def key(self, reference: Reference) -> str:
        """What a dataset is called while files are read."""
        key = self._keys.get(reference)
        if key is None:
            key = self._keys[reference] = self.resolve_id(reference)
            self.references.setdefault(key, reference)
        return key

    def of_table(self, table: exp.Table, database: tuple[str, ...], variables: Variables) -> str | None:
        """The dataset of a table's name, `database` being the one in use; None: a variable is in it."""
        parts = [part.name for part in table.parts]
        if any(variables.in_name(part) for part in parts):
            return None
        if len(parts) == 2 and parts[0].lower() in _FORMATS and "/" in parts[1]:
            return self.of_path(parts[1], variables)
        if len(parts) == 1:
            parts = [*database, *parts]
        elif len(parts) == 2 and len(database) == 2:
            parts = [database[0], *parts]
        return self.key(Reference(self.namespace, join_name(parts)))

    def of_path(self, path: str, variables: Variables) -> str | None:
        """The dataset of a path; None: a variable is in it, or nobody knows which file system it is of."""
        if ":/" not in path or _above(path, variables) is None:
            return None
        return self.key(Reference("", str(_above(path, variables))))


def _above(path: str, variables: Variables) -> str | None:
    """A path as far as it is known: a variable below the dataset's folder is a partition."""
    kept: list[str] = []
    scheme, _, rest = path.partition("://") if "://" in path else ("", "", path)
    for segment in rest.split("/"):
        if variables.in_name(segment):
            # dt=${dt} is a partition's folder; anything else may be the dataset itself.
            if "=" in segment.split("$")[0].split("{")[0]:
                break
            return None
        kept.append(segment)
    return f"{scheme}://{'/'.join(kept)}" if scheme else "/".join(kept)
