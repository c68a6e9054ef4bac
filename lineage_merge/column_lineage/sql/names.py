"""Resolution of SQL table names to datasets and parts of tables, with the platform's rules for names."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass

from sqlglot import Dialect, exp, maybe_parse
from sqlglot.dialects.dialect import NormalizationStrategy
from sqlglot.errors import SqlglotError

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable
from lineage_merge.column_lineage.table_parts import (
    BELOW_A_TABLE,
    METADATA_TABLES,
    TablePart,
    part_of_name,
    part_of_path,
)
from lineage_merge.infra.batches import gather

Parts = tuple[str, ...]

# Platforms that need no RECURSIVE.
_RECURSIVE_BY_DEFAULT = frozenset({"tsql", "fabric", "oracle", "snowflake"})


def is_dual(table: exp.Table) -> bool:
    """Whether it is the one-row table of Oracle, MySQL, Snowflake and others for constants."""
    parts = [part.name.casefold() for part in table.parts]
    return parts in (["dual"], ["sys", "dual"], ["sysibm", "sysdummy1"])


def is_recursive(clause: exp.With, platform: str) -> bool:
    """Whether CTEs of a clause may read themselves, if they are set operations."""
    return bool(clause.args.get("recursive")) or platform in _RECURSIVE_BY_DEFAULT


class TableNames:
    """Datasets by SQL name, fully qualified or without database and schema.

    Datasets with the same SQL name are one dataset. `same` maps each of them to its representative: the
    one that a job builds, else the first. Several that jobs build remain separate.
    """

    def __init__(self, dialect: Dialect, relations: Mapping[str, str], built: Container[str] = ()) -> None:
        """`relations`: the SQL name of each dataset by unique id; `built`: the datasets that jobs build."""
        self._strategy = dialect.normalization_strategy
        self._exact = platform_of(dialect) == "bigquery"
        self._dialect = dialect
        self._whole = {unique_id: self._parse(text) for unique_id, text in relations.items()}
        self.same = _representatives(self._whole, built)
        self._by_parts: dict[Parts, list[str]] = {}
        for unique_id, parts in self._whole.items():
            if self.same[unique_id] == unique_id:
                for start in range(len(parts)):
                    self._by_parts.setdefault(parts[start:], []).append(unique_id)

    def find(self, table: exp.Table, preferred: Iterable[str]) -> str | None:
        """Return the only dataset that `table` can refer to, or the only one of `preferred`."""
        matching = self.candidates(table)
        wanted = {self.same.get(uid, uid) for uid in preferred} if len(matching) > 1 else set()
        for candidates in (matching, [uid for uid in matching if uid in wanted]):
            if len(candidates) == 1:
                return candidates[0]
        return None

    def candidates(self, table: exp.Table) -> list[str]:
        """Return all datasets that `table` can refer to."""
        parts = self.parts(table)
        candidates = self._by_parts.get(parts, [])
        if not candidates and len(parts) > 2:
            # Spark, Hive and MySQL have no database, but SQL may contain a catalog name.
            candidates = [uid for uid in self._by_parts.get(parts[-2:], []) if len(self._whole[uid]) == 2]
        return candidates

    def whole(self, unique_id: str) -> Parts:
        """Return the parts of a dataset's full name; empty if it cannot be parsed."""
        return self._whole.get(unique_id, ())

    def parts(self, table: exp.Table) -> Parts:
        """Return the normalized parts of a name; a function call is one part."""
        if not table.this:
            return ()
        if not isinstance(table.this, exp.Identifier | exp.Dot):
            return (table.this.sql(dialect=self._dialect, comments=False).casefold(),)
        return tuple(
            self._fold(part) if isinstance(part, exp.Identifier) else part.name for part in table.parts
        )

    def _parse(self, text: str) -> Parts:
        try:
            return self.parts(maybe_parse(text, into=exp.Table, dialect=self._dialect))
        except (SqlglotError, RecursionError):
            return ()

    def _fold(self, part: exp.Identifier) -> str:
        name = part.name
        if self._exact or self._strategy is NormalizationStrategy.CASE_SENSITIVE:
            return name
        if self._strategy in (NormalizationStrategy.LOWERCASE, NormalizationStrategy.UPPERCASE):
            if part.args.get("quoted"):
                return name
            return name.lower() if self._strategy is NormalizationStrategy.LOWERCASE else name.upper()
        return name.casefold()


def _representatives(whole: Mapping[str, Parts], built: Container[str]) -> dict[str, str]:
    by_name = gather((whole[unique_id], unique_id) for unique_id in sorted(whole))
    same = {unique_id: unique_id for unique_id in whole}
    for parts, unique_ids in by_name.items():
        of_jobs = [identifier for identifier in unique_ids if identifier in built]
        if parts and len(of_jobs) < 2:
            same.update(dict.fromkeys(unique_ids, (of_jobs or unique_ids)[0]))
    return same


# `db.orders.snapshots`
_DOTTED = frozenset({"databricks", "hive", "spark", "spark2"})
# `db."orders$snapshots"`
_DOLLAR = frozenset({"athena", "doris", "presto", "starrocks", "trino"})
# Trino has `$properties` besides.
_AFTER_DOLLAR = METADATA_TABLES | {"properties"}
# Spark takes the first part of `t.files` for a namespace, whatever the current database.
_DATABASE_OR_CATALOG = 3
# iceberg.`s3://lake/orders#snapshots`
_ICEBERG = "iceberg"
_FORMAT_AND_PATH = 2


@dataclass(frozen=True, slots=True)
class PartOfTable:
    """What a name refers to if `table` is a table; `is_certain`: unless the name is known as a table.

    `added` are the columns that the part has besides those of the table.
    """

    table: exp.Table
    part: TablePart
    added: tuple[str, ...] = ()
    is_certain: bool = True

    def relation(self, table: KnownTable) -> Relation:
        """Return the columns of the part: none of metadata has an origin."""
        if self.part == "metadata":
            return Relation([AllColumns(None)])
        whole = Relation.from_table(table)
        return Relation(
            [*whole.items, *(NamedColumn(name, UNTRACED) for name in self.added)], base=whole.base
        )


def part_of_table(table: exp.Table, platform: str) -> PartOfTable | None:
    """Return the part of a table that a name may refer to; None for other names."""
    if isinstance(table.this, exp.Anonymous) and table.this.name.lower() == "table_changes":
        name = next(iter(table.this.expressions), None)
        if platform not in _DOTTED or not isinstance(name, exp.Literal):
            return None
        return PartOfTable(exp.to_table(name.name), "changes", pseudo_columns.DELTA_CHANGE)
    parts = table.parts
    if platform in _DOLLAR:
        name, _, selected = table.name.partition("$")
        if not name or selected.lower() not in _AFTER_DOLLAR:
            return None
        return PartOfTable(_make_table([*parts[:-1], exp.to_identifier(name, quoted=True)]), "metadata")
    if platform not in _DOTTED:
        return None
    names = [part.name for part in parts]
    if len(parts) == _FORMAT_AND_PATH and names[0].lower() == _ICEBERG:
        return _part_of_path(parts[0], names[1])
    if len(parts) < _DATABASE_OR_CATALOG:
        return None
    part = part_of_name(["", *names[-3:]], location=names[-2])  # if the name above is a table's
    if part is None:
        return None
    added = pseudo_columns.ICEBERG_CHANGE if part == "changes" else ()
    return PartOfTable(_make_table(parts[:-1]), part, added, len(parts) >= BELOW_A_TABLE)


def _part_of_path(table_format: exp.Expr, path: str) -> PartOfTable | None:
    """Return the part in ``iceberg.`s3://lake/orders#branch_audit```."""
    part = part_of_path(path)
    if part is None:
        return None
    return PartOfTable(_make_table([table_format, exp.to_identifier(part[0], quoted=True)]), part[1])


def _make_table(parts: list[exp.Expr]) -> exp.Table:
    copies = [part.copy() for part in parts[-3:]]
    return exp.Table(**dict(zip(("this", "db", "catalog"), reversed(copies), strict=False)))
