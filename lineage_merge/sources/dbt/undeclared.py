"""Tables that compiled SQL names without `ref` or `source` and that the manifest lacks. Pure."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeVar

from lineage_merge.naming.identifiers import join_name

Value = TypeVar("Value")

_SYSTEM = frozenset({"information_schema", "pg_catalog", "sys"})
# Spark reads a path as a table of a format: parquet.`s3://bucket/path`.
_FORMATS = frozenset({"avro", "binaryfile", "csv", "delta", "iceberg", "json", "orc", "parquet", "text"})


class UndeclaredTable(NamedTuple):
    """A table by its name, as far as it is known, or by its `path`."""

    name: str
    path: str = ""

    @property
    def key(self) -> str:
        """Return its key in column lineage; dbt's unique ids contain no space."""
        return f"undeclared {self.path or self.name}"


class Completion:
    """Completes partial names by the database and schema of the session, which are those of dbt's target."""

    def __init__(self, built: Iterable[Sequence[str]], in_target: Iterable[Sequence[str]] = ()) -> None:
        """`built`: the qualified names of the relations that the project builds.

        `in_target`: those whose database and schema no configuration sets. Without them, or if they differ,
        only a database or schema in which everything is built is that of the target.
        """
        above = {tuple(parts[:-1]) for parts in built if parts}
        self._target = _only({tuple(parts[:-1]) for parts in in_target if parts}) or ()
        self._database = _only({parts[0] for parts in above if len(parts) == 2})
        self._schema = _only({parts[-1] for parts in above if parts})
        self._levels = _only({len(parts) + 1 for parts in above}) or 0

    def complete(self, parts: Sequence[str]) -> tuple[str, ...]:
        """Return a name with the missing parts, as far as they are known."""
        names = tuple(parts)
        if self._target:
            return (*self._target[: max(len(self._target) + 1 - len(names), 0)], *names)
        if len(names) == 1 and self._schema and self._levels > 1:
            names = (self._schema, *names)
        if len(names) == 2 and self._database and self._levels == 3:
            names = (self._database, *names)
        return names

    def is_complete(self, parts: Sequence[str]) -> bool:
        """Return whether a completed name has as many parts as those of the target."""
        return len(parts) == (len(self._target) + 1 if self._target else self._levels)

    def table(self, parts: Sequence[str], written: Sequence[str]) -> UndeclaredTable | None:
        """Return the table of a name in SQL: `parts` in the platform's case, and as `written`.

        None if it is no dataset: a system table, or a relative path.
        """
        if any(part.casefold() in _SYSTEM for part in parts[:-1]) or not parts:
            return None
        path = _path(written)
        if path is not None:
            return UndeclaredTable("", path) if path else None
        return UndeclaredTable(join_name(self.complete(parts)))


def _path(written: Sequence[str]) -> str | None:
    """Return the path that a table's name is; "" if it is relative, None for a name."""
    if len(written) == 2 and written[0].casefold() in _FORMATS and "/" in written[1]:
        path = written[1]
    elif len(written) == 1 and "/" in written[0]:
        path = written[0]
    else:
        return None
    return path if path.startswith("/") or "://" in path else ""


def _only(values: set[Value]) -> Value | None:
    return next(iter(values)) if len(values) == 1 else None
