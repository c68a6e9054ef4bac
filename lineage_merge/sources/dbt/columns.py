"""Columns of a dbt project's datasets, and their column lineage.

From compiled SQL, in build order. What the SQL does not determine is left out and reported in `problems`.
Needs sqlglot (the extra `columns`).
"""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.derive import derive_flows, derive_influences
from lineage_merge.column_lineage.sql.names import PartOfTable, TableNames, part_of_table
from lineage_merge.column_lineage.sql.notes import MISSING_COLUMNS, UNKNOWN_TABLE
from lineage_merge.column_lineage.sql.parsing import parse, run_with_deep_stack
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.scope import NamedColumn, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, SqlColumn
from lineage_merge.column_lineage.sql.struct_types import type_text
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold
from lineage_merge.column_lineage.sql.text import cut, reason
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence
from lineage_merge.column_lineage.value_graph import has_origin
from lineage_merge.model.elements import FIELD
from lineage_merge.sources.dbt.catalog import Catalog, CatalogColumn
from lineage_merge.sources.dbt.nodes import Manifest, Node
from lineage_merge.sources.dbt.order import find_behind, parents_first
from lineage_merge.sources.dbt.semantic_sql import query as semantic_query
from lineage_merge.sources.dbt.undeclared import Completion, UndeclaredTable

_RELATIONS = frozenset({"source", "model", "seed", "snapshot"})
_TABLES = _RELATIONS | {"semantic_model"}
_WITH_SQL = frozenset({"model", "snapshot", "semantic_model"})
# dbt's platform names that differ from sqlglot's.
_DIALECTS = {
    "alloydb": "postgres",
    "cratedb": "postgres",
    "fabricspark": "spark",
    "glue": "spark",
    "greenplum": "postgres",
    "impala": "hive",
    "mariadb": "mysql",
    "mysql5": "mysql",
    "sqlserver": "tsql",
    "synapse": "tsql",
    "timescaledb": "postgres",
    "vertica": "postgres",
}
_EPHEMERAL = "__dbt__cte__"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a dataset. `position` counts from 0, None if the order is unknown.

    `data_type` is the warehouse's (from the catalog), else the project's, "" if neither has it. `description`
    is the project's, else the warehouse's comment.
    """

    name: str
    data_type: str = ""
    description: str = ""
    position: int | None = None


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """Column lineage of one dataset.

    `fields` are those with a description. `problems` are phrases that follow the dataset's unique id.
    Sources are unique ids, or keys of `undeclared`: tables that only the SQL names. `reads` is everything
    that the SQL reads, of `metadata_only` no rows but only metadata tables of Iceberg; `expected` are
    relations that it should read by the manifest and does not. `deferred` maps names in the SQL that were
    taken for such a relation to its name: dbt's `--defer` uses another target's relation there.
    `missing` are the columns that its SQL names and no relation in it has. `is_unread`: it has code that was
    not or cannot be read. `is_partial`: its code, or that of something that it reads, is not compiled, so
    that it may have more lineage. `outdated` are columns of an outdated catalog that its SQL does not have.
    """

    columns: tuple[Column, ...] = ()
    fields: tuple[Column, ...] = ()
    flows: tuple[ColumnFlow[str], ...] = ()
    influences: tuple[Influence[str], ...] = ()
    problems: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()
    metadata_only: frozenset[str] = frozenset()
    undeclared: Mapping[str, UndeclaredTable] = field(default_factory=dict)
    expected: tuple[str, ...] = ()
    deferred: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    is_unread: bool = False
    is_partial: bool = False
    outdated: tuple[str, ...] = ()


def column_lineage(
    manifest: Manifest, catalog: Catalog | None = None, outdated: Container[str] = ()
) -> dict[str, ColumnLineage]:
    """Return the column lineage of a manifest that was read `with_columns`, by unique id, sorted.

    Covers every dataset with known columns, and every ephemeral model with a problem. Standard SQL is assumed
    if sqlglot does not know the manifest's adapter. Never raises: a model that cannot be read loses only its
    own columns. `outdated`: entries whose columns in the catalog may be those of other SQL; their own SQL
    takes precedence if it determines all columns.
    """
    project = _Project(manifest, catalog or {}, outdated)
    for unique_id in parents_first(manifest.nodes, manifest.nodes):
        project.build(unique_id)
    lineages = {unique_id: project.lineage(unique_id) for unique_id in sorted(manifest.nodes)}
    return {unique_id: lineage for unique_id, lineage in lineages.items() if lineage != ColumnLineage()}


def dialect_of(manifest: Manifest) -> Dialect | None:
    """Return the SQL dialect of a manifest's platform, None if it is unknown."""
    adapter = manifest.adapter.lower()
    name = _DIALECTS.get(adapter, adapter)
    return Dialect.get_or_raise(name or None) if not name or Dialect.get(name) is not None else None


class _Unreadable(Exception):
    """Why parsed SQL yields no columns."""


class _Project:
    """The datasets of a manifest, completed while their SQL is read."""

    def __init__(self, manifest: Manifest, catalog: Catalog, outdated: Container[str]) -> None:
        self._nodes = manifest.nodes
        self._outdated = outdated
        self._catalog = {
            unique_id: tuple(column for column in columns if FIELD not in column.name)
            for unique_id, columns in catalog.items()
        }
        self._with_fields = catalog
        self._notes: dict[str, dict[str, dict[str, None]]] = {}
        self._dialect = self._dialect_of(manifest)
        self.tables = {
            unique_id: self._table(node)
            for unique_id, node in manifest.nodes.items()
            if node.kind in _TABLES and not node.folded
        }
        relations = {
            unique_id: relation_name(self._nodes[unique_id])
            for unique_id in self.tables
            if self._nodes[unique_id].kind in _RELATIONS
        }
        built = {unique_id for unique_id in self.tables if manifest.nodes[unique_id].is_built}
        self._names = TableNames(self._dialect, relations, built)
        self._completion = Completion(
            (self._names.whole(unique_id) for unique_id in sorted(built)),
            (self._names.whole(unique_id) for unique_id in built if not self._nodes[unique_id].has_own_place),
        )
        # Whether rows are read, not only metadata.
        self._reads: dict[str, dict[str, bool]] = {}
        self._deferrals: dict[str, dict[str, str]] = {}
        self._undeclared: dict[str, tuple[UndeclaredTable, KnownTable]] = {}
        self._named: dict[str, frozenset[str]] = {}
        self._ephemeral = {
            fold(_EPHEMERAL + node.name): unique_id
            for unique_id, node in manifest.nodes.items()
            if node.kind == "model" and node.folded
        }
        self._inlined: dict[str, Relation] = {}
        self._closed: set[str] = set()  # all columns are in the order of the model's own SQL
        self._started: set[str] = set()
        self._unread: set[str] = set()
        self._partial: dict[str, bool] = {}
        self._superseded: dict[str, tuple[str, ...]] = {}

    def _dialect_of(self, manifest: Manifest) -> Dialect:
        dialect = dialect_of(manifest)
        if dialect is None:
            for unique_id in sorted(manifest.nodes)[:1]:
                self._note(
                    unique_id, f"is read as standard SQL: unknown platform {manifest.adapter.lower()}", ""
                )
        return dialect or Dialect.get_or_raise(None)

    def _note(self, unique_id: str, what: str, name: str) -> None:
        self._notes.setdefault(unique_id, {}).setdefault(what, {})[name] = None

    # ---- before SQL is read

    def _table(self, node: Node) -> KnownTable:
        table = KnownTable(node.unique_id)
        known = self._catalog.get(node.unique_id, ())
        for column in known:
            table.columns.setdefault(fold(column.name), column.name)
        # For models built from SQL, the SQL is more reliable than declared columns.
        if not known and not self._has_sql(node):
            self._declare(table, node)
        table.complete = bool(known) or table.complete
        # A changed seed has only the columns of a catalog of its own version, whatever the SQL names.
        table.built = bool(known) and node.kind == "seed" and node.unique_id in self._outdated
        return table

    def _declare(self, table: KnownTable, node: Node) -> None:
        for column in node.code.columns:
            table.add(column.name.partition(FIELD)[0])
        table.complete = node.code.contract and bool(node.code.columns)

    def _has_sql(self, node: Node) -> bool:
        if node.semantics is not None:
            return bool(node.semantics.items and node.semantics.relation)
        readable = node.kind in ("model", "snapshot") and not node.built_elsewhere
        return readable and bool(node.code.sql.strip()) and node.code.language == "sql"

    # ---- SQL

    def build(self, unique_id: str) -> None:
        """Read the SQL of a model, once."""
        table = self.tables.get(unique_id)
        if table is None or unique_id in self._started:
            return
        self._started.add(unique_id)
        node = self._nodes[unique_id]
        if node.kind not in _WITH_SQL or node.built_elsewhere:
            return
        relation = self._read(node)
        if relation is None:
            self._unread.add(unique_id)
            if not table.complete:
                self._declare(table, node)
        else:
            self._fill(table, node, relation)

    def _read(self, node: Node) -> Relation | None:
        """Return the columns of the node's SQL, None (and a problem) if it cannot be read."""
        code = node.code
        if code.language != "sql":
            self._note(
                node.unique_id, f"is a {code.language.capitalize()} model: its columns have no lineage", ""
            )
            return None
        if not code.sql.strip() and node.semantics is None:
            self._note(node.unique_id, "has no compiled SQL: its columns have no lineage", "")
            return None
        try:
            return run_with_deep_stack(lambda: self._relation(node))
        except _Unreadable as error:
            why = str(error)
        except Exception as error:  # noqa: BLE001 - a parser's own bug costs one model, not the project
            why = reason(error)
        self._note(node.unique_id, "has SQL that cannot be read, its columns have no lineage", cut(why))
        return None

    def _relation(self, node: Node) -> Relation:
        queries = self._queries(node)
        if len(queries) != 1:
            raise _Unreadable("several queries" if queries else "no SELECT")
        reader = Queries(
            self._dialect,
            lambda table: self._meaning(table, node),
            lambda what, name: self._note(node.unique_id, what, name),
            lambda table: self._unknown(table, node),
            type_of=self._type_of,
        )
        self._named[node.unique_id] = self._find_named(queries[0], node)
        return reader.read(queries[0])

    def _queries(self, node: Node) -> list[exp.Expr]:
        if node.semantics is not None:
            return [semantic_query(node.semantics, self._dialect)] if self._has_sql(node) else []
        return [
            part
            for part in parse(node.code.sql, self._dialect)
            if isinstance(part, exp.Query | exp.Pivot | exp.Values)
        ]

    def _find_named(self, query: exp.Expr, node: Node) -> frozenset[str]:
        """Return the datasets of the manifest that the query names."""
        ctes = {fold(cte.alias) for cte in query.find_all(exp.CTE)}
        tables = (
            table
            for table in query.find_all(exp.Table)
            if table.args.get("db") or fold(table.name) not in ctes
        )
        relations = (self._find(table, node) for table in tables)
        return frozenset(relation for relation in relations if relation is not None)

    def _type_of(self, column: SqlColumn) -> str:
        node = self._nodes.get(column.source)
        known = [(one.name, one.data_type) for one in self._catalog.get(column.source, ())]
        known += [(column.name, column.data_type) for column in (node.code.columns if node else ())]
        declared = next((kind for name, kind in known if kind and fold(name) == fold(column.column)), "")
        table = self.tables.get(column.source)
        return declared or (type_text(table.values.get(fold(column.column), UNTRACED)) if table else "")

    def _meaning(self, table: exp.Table, node: Node) -> KnownTable | Relation | None:
        ephemeral = self._ephemeral.get(fold(table.name))
        if ephemeral is not None and not table.args.get("db"):
            relation = self._inline(ephemeral)
            for read_id, rows in self._reads.get(ephemeral, {}).items():
                self._add_read(node, read_id, rows=rows)
            return relation
        unique_id = self._find(table, node)
        part = None if unique_id else part_of_table(table, platform_of(self._dialect))
        if part is not None:
            return self._part(part, node)
        if unique_id == node.unique_id:
            return self._itself(unique_id)
        return None if unique_id is None else self._read_by(unique_id, node)

    def _find(self, table: exp.Table, node: Node) -> str | None:
        """Return the dataset that a name refers to.

        A partial name is first completed as the session does: what has the same last parts elsewhere is meant
        only if the model refers to it.
        """
        completed = self._complete_name(table)
        if completed is None:
            return self._names.find(table, node.parents)
        candidates = self._names.candidates(table)
        written = self._names.parts(table)
        declared = {self._names.same.get(parent, parent) for parent in node.parents}
        for matching in (
            [unique_id for unique_id in candidates if self._names.whole(unique_id) == written],
            [unique_id for unique_id in candidates if self._names.whole(unique_id) == completed],
            [unique_id for unique_id in candidates if unique_id in declared],
        ):
            if matching:
                return matching[0] if len(matching) == 1 else self._names.find(table, node.parents)
        return None

    def _complete_name(self, table: exp.Table) -> tuple[str, ...] | None:
        """Return the whole name of a table with a partial name; None for other names, or if it is unknown."""
        parts = self._names.parts(table)
        completed = self._completion.complete(parts) if isinstance(table.this, exp.Identifier) else parts
        is_partial = len(completed) > len(parts) and self._completion.is_complete(completed)
        return completed if is_partial else None

    def _part(self, part: PartOfTable, node: Node) -> Relation | None:
        rows = part.part != "metadata"
        read_id = self._find(part.table, node)
        if read_id is not None:
            return part.relation(self._read_by(read_id, node, rows=rows))
        above = self._unknown(part.table, node, rows=rows) if part.is_certain else None
        return None if above is None else part.relation(above)

    def _add_read(self, node: Node, read_id: str, *, rows: bool) -> None:
        reads = self._reads.setdefault(node.unique_id, {})
        reads[read_id] = reads.get(read_id, False) or rows

    def _read_by(self, read_id: str, node: Node, *, rows: bool = True) -> KnownTable:
        self._add_read(node, read_id, rows=rows)
        self.build(read_id)
        return self.tables[read_id]

    def _unknown(self, table: exp.Table, node: Node, *, rows: bool = True) -> KnownTable | None:
        """Return a table that is not in the manifest: another target's (--defer), or an undeclared one."""
        if self._names.candidates(table) and self._complete_name(table) is None:
            return None  # several
        written = ".".join(part.name for part in table.parts)
        deferred = self._find_deferred(table, node)
        if deferred is not None:
            expected = relation_name(self._nodes[deferred])
            self._deferrals.setdefault(node.unique_id, {})[written] = expected
            return self._read_by(deferred, node, rows=rows)
        known = self._completion.table(self._names.parts(table), [part.name for part in table.parts])
        if known is None:
            return None
        if known.key not in self._undeclared:
            self._undeclared[known.key] = (known, KnownTable(known.key))
        self._add_read(node, known.key, rows=rows)
        return self._undeclared[known.key][1]

    def _find_deferred(self, table: exp.Table, node: Node) -> str | None:
        """Return the node that the SQL should name but does not, with a relation of the same table name."""
        last = self._names.parts(table)[-1:]
        candidates = [id_ for id_ in self._missing(node) if self._names.whole(id_)[-1:] == last]
        return candidates[0] if len(candidates) == 1 else None

    def _missing(self, node: Node) -> list[str]:
        """Return what dbt builds and the node reads by the manifest, but not by its SQL."""
        behind = {self._names.same.get(source, source) for source, _ in find_behind(self._nodes, node)}
        named = self._named.get(node.unique_id, frozenset())
        return sorted(
            id_ for id_ in behind - named if id_ in self.tables and self._nodes[id_].kind != "source"
        )

    def _itself(self, unique_id: str) -> Relation:
        # What an incremental model reads from itself has no other origin: the other branches of its SQL have.
        known = self._catalog.get(unique_id, ())
        items = [NamedColumn(column.name, UNTRACED) for column in known]
        return Relation([*items], rest=UNTRACED) if known else Relation([AllColumns(None, own=True)])

    def _inline(self, unique_id: str) -> Relation:
        if unique_id not in self._inlined:
            self._inlined[unique_id] = Relation([AllColumns(None)])
            relation = self._read(self._nodes[unique_id])
            if relation is not None:
                self._inlined[unique_id] = relation
        return self._inlined[unique_id]

    def _fill(self, table: KnownTable, node: Node, relation: Relation) -> None:
        known = self._catalog.get(node.unique_id, ())
        named = [item for item in relation.items if isinstance(item, NamedColumn)]
        names = [item.name for item in named]
        if relation.closed and len(known) == len(names) + len(node.code.snapshot_columns):
            # Only the platform determines the name of `count(*)`.
            names = [name or column.name for name, column in zip(names, known, strict=False)]
        if known and node.unique_id in self._outdated and relation.closed and all(names):
            spelling = {fold(column.name): column.name for column in known}
            of_sql = {fold(name) for name in (*names, *node.code.snapshot_columns)}
            self._superseded[node.unique_id] = tuple(
                name for key, name in spelling.items() if key not in of_sql
            )
            names = [spelling.get(fold(name), name) for name in names]
            table.columns.clear()
            known = ()
        table.built = True
        table.rows = relation.rows
        for name, item in zip(names, named, strict=True):
            key = fold(name)
            if not name and has_origin(item.value):
                self._note(
                    node.unique_id, "has unnamed columns in its SQL, and no catalog with their names", ""
                )
            if name and key not in table.values:
                table.columns.setdefault(key, name)
                table.values[key] = item.value
        for name in node.code.snapshot_columns:
            table.add(name)
            table.values.setdefault(fold(name), UNTRACED)
        hidden = frozenset(table.values)
        stars = [star.hide(hidden) for star in relation.stars]
        if relation.rest is not None:
            stars.append(
                AllColumns(None, hidden, structure=relation.rest if has_origin(relation.rest) else None)
            )
        if known:
            _close(table, stars)
        else:
            for star in stars:
                table.select_all_of(star)
            table.complete = not stars
            if not stars:
                if all(names) and len({fold(name) for name in names}) == len(names):
                    self._closed.add(node.unique_id)
            elif not any(star.table for star in stars):
                self._declare(table, node)

    # ---- results

    def lineage(self, unique_id: str) -> ColumnLineage:
        """Return everything known of a dataset."""
        table = self.tables.get(unique_id)
        problems = tuple(self._problems(unique_id))
        deferred = tuple(sorted(self._deferrals.get(unique_id, {}).items()))
        if table is None:
            return ColumnLineage(problems=problems, deferred=deferred)
        notes_on_names = self._notes.get(unique_id, {})
        absent = {name for what in (MISSING_COLUMNS, UNKNOWN_TABLE) for name in notes_on_names.get(what, ())}

        made = [(name, table.values.get(key, UNTRACED)) for key, name in table.columns.items()]
        read = self._reads.get(unique_id, {})
        reads = tuple(sorted(read))
        undeclared = {id_: self._undeclared[id_][0] for id_ in reads if id_ in self._undeclared}
        missing = self._missing(self._nodes[unique_id]) if undeclared else ()
        return ColumnLineage(
            tuple(self._columns(table)),
            tuple(self._describe_fields(unique_id)),
            tuple(flow for flow in derive_flows(made) if flow.source != unique_id),
            tuple(influence for influence in derive_influences(table.rows) if influence.source != unique_id),
            problems,
            reads,
            frozenset(read_id for read_id in reads if not read[read_id]),
            undeclared,
            tuple(relation_name(self._nodes[missing_id]) for missing_id in missing),
            deferred,
            tuple(sorted(absent)),
            unique_id in self._unread,
            self._is_partial(unique_id),
            self._superseded.get(unique_id, ()),
        )

    def _is_partial(self, unique_id: str) -> bool:
        if unique_id not in self._partial:
            self._partial[unique_id] = False  # of a cycle
            self._partial[unique_id] = self._find_partial(unique_id)
        return self._partial[unique_id]

    def _find_partial(self, unique_id: str) -> bool:
        node, table = self._nodes.get(unique_id), self.tables.get(unique_id)
        if node is None or table is None:
            return False
        if unique_id in self._unread and node.code.language == "sql" and not node.code.sql.strip():
            return True
        notes_on_names = self._notes.get(unique_id, {})
        is_open = bool(table.stars) or MISSING_COLUMNS in notes_on_names or UNKNOWN_TABLE in notes_on_names
        return is_open and any(map(self._is_partial, self._reads.get(unique_id, ())))

    def _problems(self, unique_id: str) -> Iterator[str]:
        for what, names in self._notes.get(unique_id, {}).items():
            shown = ", ".join(sorted(name for name in names if name))
            yield cut(f"{what}: {shown}" if shown else what)

    def _columns(self, table: KnownTable) -> Iterator[Column]:
        """Return the columns in the order of the catalog, or of the model's own SQL."""
        catalog = {
            fold(column.name): (at, column)
            for at, column in enumerate(self._catalog.get(table.unique_id, ()))
        }
        declared = {fold(column.name): column for column in self._nodes[table.unique_id].code.columns}
        for at, (key, name) in enumerate(table.columns.items()):
            position, column = catalog.get(key, (None, CatalogColumn(name, "", "")))
            said = declared.get(key)
            yield Column(
                name=name,
                data_type=column.data_type or (said.data_type if said else ""),
                description=(said.description if said else "") or column.description,
                position=at if table.unique_id in self._closed else position,
            )

    def _describe_fields(self, unique_id: str) -> Iterator[Column]:
        """Yield the fields that the project or the warehouse describes."""
        declared = [column for column in self._nodes[unique_id].code.columns if FIELD in column.name]
        listed = {
            fold(column.name): column
            for column in self._with_fields.get(unique_id, ())
            if FIELD in column.name
        }
        for column in declared:
            known = listed.pop(fold(column.name), CatalogColumn(column.name, "", ""))
            description = column.description or known.description
            if description:
                yield Column(known.name, known.data_type or column.data_type, description)
        for known in listed.values():
            if known.description:
                yield Column(*known)


def _close(table: KnownTable, stars: list[AllColumns]) -> None:
    """Complete a table whose columns are known from the catalog: find those that the SQL does not name."""
    for key, name in table.columns.items():
        if key not in table.values:
            possible = [star for star in stars if star.may_have(name)]
            certain = [star for star in possible if star.knows(name)]
            if len(certain) == 1 or len(possible) == 1:
                table.values[key] = (certain or possible)[0].find(name) or UNTRACED


def relation_name(node: Node) -> str:
    """Return the name of a node's relation in SQL."""
    if node.code.relation_name:
        return node.code.relation_name
    parts = (node.database, node.schema, node.identifier)
    return ".".join(exp.to_identifier(part).sql() for part in parts if part)
