"""Column lineage of a query: from the relations in FROM to its output columns."""

from collections.abc import Callable, Container, Mapping
from itertools import zip_longest

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.row_rules import compares_both_sides, influence_of, only_filters
from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.clauses import Clauses, Pivots
from lineage_merge.column_lineage.sql.external_reads import external_reads, path_table
from lineage_merge.column_lineage.sql.names import is_dual, is_recursive
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.projections import (
    Projections,
    coalesce,
    merge_by_name,
    merge_by_position,
    star,
)
from lineage_merge.column_lineage.sql.row_patterns import read_row_pattern
from lineage_merge.column_lineage.sql.scope import FromRelation, NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, SqlColumn, SqlRows, SqlValue, merge_values
from lineage_merge.column_lineage.sql.struct_types import StructTypes
from lineage_merge.column_lineage.sql.table_functions import TableFunctions
from lineage_merge.column_lineage.sql.tables import AllColumns, KnownTable, fold
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.column_lineage.value_graph import Input, Value, has_origin, leaves

# Platforms where a subquery in FROM may refer to preceding relations without LATERAL.
_IMPLICIT_LATERALS = frozenset({"duckdb"})
# Clauses of a set operation, or of a query in parentheses.
_LIMITING = frozenset({"limit", "offset", "order"})


class Queries:
    """Reads the queries of one model or statement.

    `table_of` resolves a table name: to a dataset, a relation for inlined SQL (an ephemeral model, a
    temporary table), or None. `note` records problems: a kind and a name. `undeclared` resolves names of
    tables that `table_of` does not find. `variables` of a procedure (folded) are no columns. `type_of`
    returns the data type of a column, "" if unknown.
    """

    def __init__(
        self,
        dialect: Dialect,
        table_of: Callable[[exp.Table], KnownTable | Relation | None],
        note: Callable[[str, str], None],
        undeclared: Callable[[exp.Table], KnownTable | None] = lambda _: None,
        variables: Container[str] = (),
        type_of: Callable[[SqlColumn], str] = lambda _: "",
    ) -> None:
        self._dialect = dialect
        self._platform = platform_of(dialect)
        self._table_of = table_of
        self._undeclared = undeclared
        self._note = note
        self._values = Values(dialect, self._inner, note, StructTypes(type_of), variables)
        self._functions = TableFunctions(dialect, self._values)
        self._projections = Projections(self._platform, self._values, self._functions, note, type_of)
        self._clauses = Clauses(self._platform, self._values)
        self._pivots = Pivots(dialect, self._values)

    def read(self, query: exp.Expr) -> Relation:
        """Return the columns of a statement."""
        return self._relation(query, {}, None)

    def read_columns(self, relation: Relation) -> set[SqlColumn]:
        """Return the columns that a statement with this result reads: those named in it, and of its result.

        A `*` inside of it reads what is named of it outside.
        """
        values = [value for _, value in relation.rows.deciding()]
        values += (item.value for item in relation.list_known())
        return self._values.find_named_columns() | leaves(values)

    def _inner(self, query: exp.Expr, scope: QueryScope) -> Relation:
        return self._relation(query, scope.ctes, scope)

    def _relation(self, query: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None) -> Relation:
        ctes = self._read_ctes(query, ctes, outer)
        if isinstance(query, exp.Select):
            return self._select(query, ctes, outer)
        if isinstance(query, exp.SetOperation):
            relation = self._set_operation(query, ctes, outer)
            return self._sort_and_limit(query, relation, ctes, outer)
        if isinstance(query, exp.Subquery) and not isinstance(query.this, exp.Table):
            relation = self._relation(query.this, ctes, outer)
            return self._sort_and_limit(query, relation, ctes, outer)
        # `(from a join b)`, duckdb's `pivot a on b`, VALUES
        scope = QueryScope(ctes, outer)
        self._source(query, scope)
        return Relation(star(scope), scope.rows)

    def _read_ctes(
        self, query: exp.Expr, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Mapping[str, Relation]:
        clause = query.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        recursive = is_recursive(clause, self._platform)
        for cte in clause.expressions:
            key = fold(cte.alias)
            names = [column.name for column in cte.args["alias"].columns]
            if not isinstance(cte.this, exp.Query):  # ClickHouse: `with 1 as x`
                continue
            if recursive and isinstance(cte.this, exp.SetOperation):
                known[key] = self._recursive(cte.this, key, names, known, outer)
            else:
                relation = self._relation(cte.this, known, outer)
                known[key] = relation.rename_columns(names) if names else relation
        return known

    def _recursive(
        self,
        query: exp.SetOperation,
        key: str,
        names: list[str],
        ctes: Mapping[str, Relation],
        outer: QueryScope | None,
    ) -> Relation:
        inner = self._read_ctes(query, ctes, outer)
        first = self._relation(query.this, inner, outer)
        first = first.rename_columns(names) if names else first
        # The columns of the CTE are those of both sides, also where the right one reads the CTE itself.
        columns = [
            NamedColumn(item.name, Value((Input(item.value),))) if isinstance(item, NamedColumn) else item
            for item in first.items
        ]
        relation = Relation([*columns], SqlRows(of=[first.rows]), None, first.rest)
        step = self._relation(query.expression, {**inner, key: relation}, outer)
        relation.rows.include(step.rows)
        both = self._both(query, relation, step)
        for column, item in zip(columns, both.items, strict=False):
            if isinstance(column, NamedColumn) and isinstance(item, NamedColumn):
                column.value.add(item.value)
        return both.rename_columns(names) if names else both

    # ---- set operations

    def _set_operation(
        self, query: exp.SetOperation, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Relation:
        # Iterative: a union of hundreds of branches is nested to the left.
        branches: list[exp.SetOperation] = [query]
        left: exp.Expr = query.this
        while isinstance(left, exp.SetOperation) and not left.args.get("with_"):
            branches.append(left)
            left = left.this
        relation = self._relation(left, ctes, outer)
        kind: tuple[type[exp.Expr], object] | None = None
        for branch in reversed(branches):
            before, kind = kind, (type(branch), branch.args.get("distinct"))
            right = self._relation(branch.expression, ctes, outer)
            relation = self._both(branch, relation, right, extends=kind == before)
        return relation

    def _both(
        self, query: exp.SetOperation, left: Relation, right: Relation, *, extends: bool = False
    ) -> Relation:
        """Return the rows of both sides. `extends`: the left one is the result of the same operation."""
        rows = SqlRows(of=(left.rows, right.rows))
        compared = (right,) if extends else (left, right)
        columns = [item.value for relation in compared for item in relation.list_known()]
        if compares_both_sides(query.key):
            rows.add(InfluenceKind.JOIN, *columns)
            return Relation(left.items, rows, None, left.rest)
        if query.args.get("distinct"):
            rows.add(InfluenceKind.GROUP_BY, *columns)
        if query.args.get("by_name"):
            return Relation(merge_by_name(left, right), rows)
        items, complete = merge_by_position(left.items, right.items)
        if not complete:
            self._note("has a union with unknown columns", "")
        return Relation(items, rows, None, left.rest)

    def _sort_and_limit(
        self, query: exp.Expr, relation: Relation, ctes: Mapping[str, Relation], outer: QueryScope | None
    ) -> Relation:
        if not _LIMITING.intersection(query.args):
            return relation
        scope = QueryScope(ctes, outer, aliases_first=True)
        scope.add("", FromRelation(relation))
        order = query.args.get("order")
        if order is not None:
            self._clauses.order(order, scope, relation.items)
        self._clauses.limit(query, scope)
        return Relation(relation.items, scope.rows, None, relation.rest)

    # ---- SELECT

    def _select(self, query: exp.Select, ctes: Mapping[str, Relation], outer: QueryScope | None) -> Relation:
        scope = QueryScope(ctes, outer)
        clause = query.args.get("from_")
        if clause is not None:
            self._source(clause.this, scope)
        self._joins(query, scope)
        match = query.args.get("match")
        if match is not None:
            scope = self._match_rows(match, scope)
        for window in query.args.get("windows") or ():
            scope.windows[fold(window.this.name)] = window
        scope.projecting = True
        items = self._projections.read(query, scope)
        scope.projecting = False
        self._clauses.read(query, scope, items)
        rest = merge_values(
            source.relation.rest or UNTRACED
            for source in scope.sources.values()
            if not source.relation.items and source.relation.rest is not None
        )
        return Relation(items, scope.rows, None, rest if query.is_star and has_origin(rest) else None)

    def _match_rows(self, match: exp.MatchRecognize, scope: QueryScope) -> QueryScope:
        relation = Relation(star(scope), scope.rows)
        matched = QueryScope(scope.ctes, scope.outer)
        matched.add(match.alias, FromRelation(read_row_pattern(match, relation, scope, self._values)))
        return matched

    # ---- FROM

    def _joins(self, node: exp.Expr, scope: QueryScope) -> None:
        """Add what is joined to a relation or in a SELECT, then the influences of the conditions."""
        joins: list[exp.Join] = node.args.get("joins") or []
        added = [self._join(join, scope) for join in joins]
        for lateral in node.args.get("laterals") or ():
            self._source(lateral, scope)
        for join in joins:
            conditions = [join.args.get("on"), join.args.get("match_condition")]
            self._values.influence(conditions, scope, influence_of("join", _type_of_join(join)))
        for join, sources in zip(joins, added, strict=True):
            if only_filters(_type_of_join(join)):
                for source in sources:
                    source.hidden = True

    def _join(self, join: exp.Join, scope: QueryScope) -> list[FromRelation]:
        """Add what a JOIN adds to `scope`, and return it."""
        before = list(scope.sources.values())
        self._source(join.this, scope)
        added = list(scope.sources.values())[len(before) :]
        side = (join.args.get("side") or "").upper()
        names = [part.name for part in join.args.get("using") or ()]
        if (join.args.get("method") or "").upper() == "NATURAL":
            left = {fold(item.name) for source in before for item in source.relation.list_known()}
            names = [
                item.name
                for source in added
                for item in source.relation.list_known()
                if fold(item.name) in left
            ]
        for name in names:
            right = merge_values(source.relation.find(name) or UNTRACED for source in added)
            left_side = scope.shared.get(fold(name)) or self._one_of(before, name)
            scope.rows.add(influence_of("join", _type_of_join(join)), left_side, right)
            if side == "FULL":
                scope.shared[fold(name)] = coalesce(left_side, right, name)
            else:
                scope.shared[fold(name)] = right if side == "RIGHT" else left_side
        return added

    def _one_of(self, sources: list[FromRelation], name: str) -> SqlValue:
        certain = [source.relation for source in sources if source.relation.knows(name)]
        possible = certain or [source.relation for source in sources if source.relation.may_have(name)]
        if len(possible) == 1 or certain:
            return possible[0].find(name) or UNTRACED
        self._note(notes.UNKNOWN_TABLE, name)
        return UNTRACED

    def _source(self, node: exp.Expr, scope: QueryScope) -> None:
        alias = node.args.get("alias")
        names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        name: str = node.alias or ""
        path: tuple[str, ...] = ()
        if isinstance(node, exp.Final | exp.Stream):  # ClickHouse, Databricks
            self._source(node.this, scope)
            return
        if isinstance(node, exp.Table):
            relation = self._table(node, scope)
            path = (
                tuple(fold(part.name) for part in node.parts) if isinstance(node.this, exp.Identifier) else ()
            )
            name = name or node.name
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table | exp.Subquery) and not name:
            self._source(node.this, scope)  # parentheses around joins
            self._joins(node, scope)
            return
        elif isinstance(node, exp.Subquery | exp.Lateral) and isinstance(node.this, exp.Query):
            is_lateral = isinstance(node, exp.Lateral) or self._platform in _IMPLICIT_LATERALS
            around = scope if is_lateral else scope.outer
            relation = self._relation(node.this, self._read_ctes(node, scope.ctes, around), around)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            inner = QueryScope(self._read_ctes(node, scope.ctes, scope), scope)
            self._source(node.this, inner)
            self._joins(node, inner)
            relation = Relation(star(inner), inner.rows)
        elif isinstance(node, exp.Query):
            relation = self._relation(node, scope.ctes, scope)
        elif isinstance(node, exp.Values):
            relation = self._rows(node, scope)
        elif (
            isinstance(node, exp.TableFromRows | exp.Lateral)
            and (external := self._external(node, scope)) is not None
        ):
            relation = external
        elif isinstance(node, exp.Pivot):
            inner = QueryScope(scope.ctes, scope)
            self._source(node.this, inner)
            relation = self._pivots.read(node, Relation(star(inner), inner.rows), scope)
        else:
            relation, names = self._functions.read(node, names, name, scope)
        for pivot in node.args.get("pivots") or ():
            relation = self._pivots.read(pivot, relation, scope)
            given = pivot.args.get("alias")
            if given is not None:
                name, names = given.name or name, [column.name for column in given.columns] or names
        base = relation.base
        if names:
            relation = relation.rename_columns(names)
        relation.base = base
        scope.add(name, FromRelation(relation, path))
        self._joins(node, scope)

    def _table(self, table: exp.Table, scope: QueryScope) -> Relation:
        if isinstance(table.this, exp.Identifier) and not table.args.get("db"):
            cte = scope.ctes.get(fold(table.name))
            if cte is not None:
                return Relation(cte.items, cte.rows, None, cte.rest)
        resolved = self._table_of(table)
        if isinstance(resolved, Relation):
            return Relation(resolved.items, resolved.rows, None, resolved.rest)
        if resolved is not None:
            return Relation.from_table(resolved)
        if not isinstance(table.this, exp.Identifier):
            found = self._external(table, scope)
            if found is not None:
                return found
            relation, _ = self._functions.read(table.this, [], "", scope)
            return relation
        path = [part.name for part in table.parts]
        if len(path) > 1 and fold(path[0]) in scope.sources:  # `from t, t.list`
            parts = [exp.to_identifier(part.name) for part in table.parts]
            names = dict(zip(("this", "table", "db", "catalog"), reversed(parts[:4]), strict=False))
            relation, _ = self._functions.read(exp.Column(**names), [], table.alias, scope)
            return relation
        if is_dual(table):
            return Relation([])
        undeclared = self._undeclared(table)
        if undeclared is not None:
            return Relation([AllColumns(undeclared)], base=undeclared)
        self._note("reads unknown tables", ".".join(path))
        return Relation([AllColumns(None)])

    def _external(self, function: exp.Expr, scope: QueryScope) -> Relation | None:
        """Return the rows of a function that reads tables, files or other systems; None for others."""
        reads = external_reads(function)
        if reads.unknown:
            self._note(notes.UNKNOWN_FUNCTION, reads.unknown)
            return Relation([AllColumns(None)])
        inputs = [*reads.tables, *map(path_table, reads.paths)]
        relations = []
        for table in inputs:
            inner = QueryScope(scope.ctes, scope)
            self._source(table, inner)
            relations.append(Relation(star(inner), inner.rows))
        if not relations:
            return None
        bases = {star.table for relation in relations for star in relation.stars}
        if reads.paths and len(bases) == 1:  # files of one dataset
            return relations[0]
        if reads.paths:
            self._note("reads several paths, whose columns are unknown", "")
            return Relation([AllColumns(None)])
        # Columns of the arguments, and those that the function adds.
        own = [item for relation in relations for item in relation.items]
        known = [item for item in own if isinstance(item, NamedColumn)]
        open_ = [item for item in own if isinstance(item, AllColumns)]
        return Relation([*known, *open_, AllColumns(None)] if not open_ else [*known, *open_])

    def _rows(self, node: exp.Values, scope: QueryScope) -> Relation:
        # `cross join lateral (values ('a', t.a), ('b', t.b))`: a row's values may be columns.
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        columns = zip_longest(*rows)
        return Relation(
            [
                NamedColumn("", merge_values(self._values.trace(part, scope) for part in column if part))
                for column in columns
            ]
        )


def _type_of_join(join: exp.Join) -> str:
    return join.args.get("kind") or ""
