"""Clauses of a SELECT: influences of WHERE, GROUP BY, ORDER BY and others; columns of PIVOT and UNPIVOT."""

from itertools import product

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql.projections import hide_columns, matching_columns
from lineage_merge.column_lineage.sql.scope import FromRelation, Item, NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.sql_values import UNTRACED, merge_values
from lineage_merge.column_lineage.sql.tables import AllColumns, fold
from lineage_merge.column_lineage.sql.text import ExpressionText
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation

# Platforms where a name in GROUP BY and HAVING is an alias of the select list first, then a column.
_ALIASES_IN_GROUPS = frozenset({"bigquery"})


class Clauses:
    """Reads the clauses of the SELECTs of one model or statement."""

    def __init__(self, platform: str, values: Values) -> None:
        self._platform = platform
        self._values = values

    def read(self, query: exp.Select, scope: QueryScope, items: list[Item]) -> None:
        """Add the influences of WHERE, GROUP BY, ORDER BY to `scope`. `items`: the SELECT's columns."""
        args = query.args
        influence = self._values.influence
        connect = args.get("connect")
        filters = [args.get("prewhere"), args.get("where")]
        if connect is not None:
            filters += [connect.args.get("start"), connect.args.get("connect")]
        influence(filters, scope, InfluenceKind.FILTER)
        scope.aliases_first |= self._platform in _ALIASES_IN_GROUPS
        group = args.get("group")
        if group is not None:
            self._group(query, group, scope, items)
        influence([args.get("having"), args.get("qualify")], scope, InfluenceKind.FILTER)
        distinct = args.get("distinct")
        if distinct is not None:
            if (on := distinct.args.get("on")) is not None:
                influence([on], scope, InfluenceKind.GROUP_BY)
            else:
                values = (column.value for column in Relation(items).list_known())
                scope.rows.add(InfluenceKind.GROUP_BY, *values)
        for key in ("order", "sort", "cluster"):
            order = args.get(key)
            if order is not None:
                scope.aliases_first = True
                self.order(order, scope, items)
        self.limit(query, scope)

    def limit(self, query: exp.Expr, scope: QueryScope) -> None:
        """Add the columns that the number of rows derives from: LIMIT and OFFSET may have subqueries."""
        for key in ("limit", "offset"):
            clause = query.args.get(key)
            if clause is not None:
                parts = (clause.args.get("expression"), clause.args.get("count"))
                influence = [part for part in parts if isinstance(part, exp.Expr)]
                self._values.influence(influence, scope, InfluenceKind.FILTER)

    def _group(self, query: exp.Select, group: exp.Group, scope: QueryScope, items: list[Item]) -> None:
        parts: list[exp.Expr | None] = []
        if group.args.get("all"):
            parts += [part for part in query.selects if not part.is_star and not part.find(exp.AggFunc)]
        for part in group.expressions:
            if not self._ordinal(part, scope, items, InfluenceKind.GROUP_BY):
                parts.append(part)
        for key in ("grouping_sets", "cube", "rollup"):
            keys = group.args.get(key)
            parts += [part for part in keys if isinstance(part, exp.Expr)] if isinstance(keys, list) else []
        self._values.influence(parts, scope, InfluenceKind.GROUP_BY)

    def order(self, order: exp.Expr, scope: QueryScope, items: list[Item]) -> None:
        """Add the influences of an ORDER BY to `scope`."""
        for ordered in order.expressions:
            part = ordered.this if isinstance(ordered, exp.Ordered) else ordered
            if isinstance(part, exp.Var) and part.name.upper() == "ALL":
                values = (item.value for item in items if isinstance(item, NamedColumn))
                scope.rows.add(InfluenceKind.SORT, *values)
            elif not self._ordinal(part, scope, items, InfluenceKind.SORT):
                self._values.influence([part], scope, InfluenceKind.SORT)

    def _ordinal(self, part: exp.Expr, scope: QueryScope, items: list[Item], kind: InfluenceKind) -> bool:
        if not (isinstance(part, exp.Literal) and part.is_int):
            return False
        position = int(part.name)
        if 0 < position <= len(items) and all(isinstance(item, NamedColumn) for item in items[:position]):
            item = items[position - 1]
            if isinstance(item, NamedColumn):
                scope.rows.add(kind, item.value)
        return True


class Pivots:
    """Reads the PIVOT clauses of one model or statement."""

    def __init__(self, dialect: Dialect, values: Values) -> None:
        self._dialect = dialect
        self._values = values

    def read(self, pivot: exp.Pivot, relation: Relation, outer: QueryScope) -> Relation:
        """Return the columns of `relation` after the PIVOT."""
        scope = QueryScope(outer.ctes, outer)
        scope.add("", FromRelation(relation))
        if pivot.args.get("unpivot"):
            return self._unpivot(pivot, relation, scope)
        functions = pivot.args.get("using") or pivot.expressions
        indirect = [field.this for field in pivot.args.get("fields") or ()]
        indirect += pivot.expressions if pivot.args.get("using") else []
        values = []
        for function in functions:
            text = ExpressionText(function, frozenset(), self._dialect)
            conditions = (
                self._values.opaque(part, scope, Transformation.CONDITIONAL, text) for part in indirect
            )
            values.append(merge_values([self._values.trace(function, scope), *conditions]))
        columns = (column for part in (*functions, *indirect) for column in part.find_all(exp.Column))
        used = {fold(column.parts[0].name) for column in columns}
        group = pivot.args.get("group")
        if group is None:
            remaining = hide_columns(relation.items, used)
        else:
            remaining = [
                NamedColumn(part.name, self._values.trace(part, scope)) for part in group.expressions
            ]
        for item in remaining:
            if isinstance(item, NamedColumn):
                scope.rows.add(InfluenceKind.GROUP_BY, item.value)
        names = [column.name for column in pivot.args.get("columns") or ()]
        names = names or _names_of_using(pivot, functions, self._dialect)
        if not names:  # the columns depend on the data
            return Relation([*remaining, AllColumns(None)], scope.rows)
        turned = [NamedColumn(name, values[at % len(values)]) for at, name in enumerate(names) if values]
        return Relation([*remaining, *turned], scope.rows)

    def _unpivot(self, pivot: exp.Pivot, relation: Relation, scope: QueryScope) -> Relation:
        into = pivot.args.get("into")
        if into is not None:
            columns, label, values = (
                pivot.expressions,
                [into.this.name],
                [part.name for part in into.expressions],
            )
        else:
            fields = pivot.args.get("fields") or ()
            columns = [part for field in fields for part in field.expressions]
            label = [field.this.name for field in fields]
            values = [name.name for part in pivot.expressions for name in (part.expressions or [part])]
        rows = [row for part in columns for row in _rows(part, relation)]
        if not pivot.args.get("include_nulls"):
            self._values.influence([column for row in rows for column in row], scope, InfluenceKind.FILTER)
        used = {fold(column.name) for row in rows for column in row}
        items: list[Item] = [
            *hide_columns(relation.items, used),
            *(NamedColumn(name, UNTRACED) for name in label),
        ]
        for at, name in enumerate(values):
            items.append(
                NamedColumn(
                    name, merge_values(self._values.trace(row[at], scope) for row in rows if at < len(row))
                )
            )
        return Relation(items, scope.rows)


def _names_of_using(pivot: exp.Pivot, functions: list[exp.Expr], dialect: Dialect) -> list[str]:
    """Return the names of DuckDB's ``PIVOT ... ON k IN (1, 2) USING sum(a)``; none if the data gives them."""
    lists = [part.expressions if isinstance(part, exp.In) else [] for part in pivot.expressions]
    if not pivot.args.get("using") or not all(
        values and all(isinstance(value, exp.Literal) for value in values) for values in lists
    ):
        return []
    endings = [
        f"_{function.alias}" if function.alias else f"_{function.sql(dialect, normalize_functions='lower')}"
        for function in functions
    ]
    if len(functions) == 1 and not functions[0].alias:
        endings = [""]
    return [
        "_".join(value.name for value in values) + ending for values in product(*lists) for ending in endings
    ]


def _rows(part: exp.Expr, relation: Relation) -> list[list[exp.Expr]]:
    """Return the rows that an item of UNPIVOT makes, each with its columns."""
    matching = matching_columns(part, relation)
    if matching is not None:
        return [[exp.column(exp.to_identifier(item.name, quoted=True))] for item in matching]
    return [_row(part)]


def _row(part: exp.Expr) -> list[exp.Expr]:
    plain = part.this if isinstance(part, exp.PivotAlias | exp.Alias) else part
    columns = plain.expressions if isinstance(plain, exp.Tuple) else [plain]
    return [exp.column(column) if isinstance(column, exp.Identifier) else column for column in columns]
