"""Reads a query: from the relations in FROM to the columns that come out."""

from collections.abc import Callable, Mapping
from itertools import zip_longest

from sqlglot import Dialect, exp

from lineage_merge.column_lineage import InfluenceKind, Transformation
from lineage_merge.sql.derivation import (
    Derivation,
    Influences,
    Origin,
    deciding,
    derived,
    itself,
    merged,
)
from lineage_merge.sql.scope import Item, Named, Relation, Scope, Source
from lineage_merge.sql.tables import Everything, Table, fold
from lineage_merge.sql.text import Text
from lineage_merge.sql.values import Values

# A recursive CTE is read again until nothing new comes out, and not for ever.
_ROUNDS = 10
# Platforms where a column of SELECT may use one that stands left of it.
_LATERAL_ALIASES = frozenset(
    {"redshift", "snowflake", "duckdb", "spark", "spark2", "databricks", "clickhouse", "teradata", "dremio"}
)
_RECURSIVE_WITHOUT_A_WORD = frozenset({"tsql", "fabric", "oracle"})
_NAMED_AFTER_THEIR_FUNCTION = (
    exp.Abs,
    exp.Avg,
    exp.Coalesce,
    exp.Count,
    exp.Lower,
    exp.Max,
    exp.Min,
    exp.Round,
    exp.RowNumber,
    exp.Sum,
    exp.Upper,
)


class Queries:
    """Reads the queries of one model or statement.

    `table_of` finds what a table's name means: a dataset, a relation that stands for SQL
    (an ephemeral model, a temporary table), or None. `note` takes what cannot be told: a kind and a name.
    """

    def __init__(
        self,
        dialect: Dialect,
        table_of: Callable[[exp.Table], Table | Relation | None],
        note: Callable[[str, str], None],
    ) -> None:
        self._dialect = dialect
        self._platform = type(dialect).__name__.lower()
        self._table_of = table_of
        self._note = note
        self._values = Values(dialect, self._inner, note)

    def read(self, query: exp.Expr) -> Relation:
        """The columns of a whole statement."""
        return self._relation(query, {}, None)

    def _inner(self, query: exp.Expr, scope: Scope) -> Relation:
        return self._relation(query, scope.ctes, scope)

    def _relation(self, query: exp.Expr, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        ctes = self._with(query, ctes, outer)
        if isinstance(query, exp.Select):
            return self._select(query, ctes, outer)
        if isinstance(query, exp.SetOperation):
            relation = self._set_operation(query, ctes, outer)
            return self._sorted(query, relation, ctes, outer)
        if isinstance(query, exp.Subquery) and not isinstance(query.this, exp.Table):
            relation = self._relation(query.this, ctes, outer)
            return self._sorted(query, relation, ctes, outer)
        # `(from a join b)`, duckdb's `pivot a on b`, VALUES
        scope = Scope(ctes, outer)
        self._source(query, scope)
        return Relation(self._star(scope), scope.influences)

    def _with(
        self, query: exp.Expr, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> Mapping[str, Relation]:
        clause = query.args.get("with_")
        if clause is None:
            return ctes
        known = dict(ctes)
        recursive = clause.args.get("recursive") or self._platform in _RECURSIVE_WITHOUT_A_WORD
        for cte in clause.expressions:
            key = fold(cte.alias)
            names = [column.name for column in cte.args["alias"].columns]
            if not isinstance(cte.this, exp.Query):  # ClickHouse: `with 1 as x`
                continue
            if recursive and isinstance(cte.this, exp.SetOperation):
                known[key] = self._recursive(cte.this, key, names, known, outer)
            else:
                relation = self._relation(cte.this, known, outer)
                known[key] = relation.renamed(names) if names else relation
        return known

    def _recursive(
        self,
        query: exp.SetOperation,
        key: str,
        names: list[str],
        ctes: Mapping[str, Relation],
        outer: Scope | None,
    ) -> Relation:
        inner = self._with(query, ctes, outer)
        relation = self._relation(query.this, inner, outer)
        for _ in range(_ROUNDS):
            relation = relation.renamed(names) if names else relation
            before = _signature(relation)
            step = self._relation(query.expression, {**inner, key: relation}, outer)
            relation = self._both(query, relation, step)
            if _signature(relation) == before:
                break
        return relation.renamed(names) if names else relation

    # ---- set operations

    def _set_operation(
        self, query: exp.SetOperation, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> Relation:
        # A union of hundreds nests to the left: no recursion.
        branches: list[exp.SetOperation] = [query]
        left: exp.Expr = query.this
        while isinstance(left, exp.SetOperation) and not left.args.get("with_"):
            branches.append(left)
            left = left.this
        relation = self._relation(left, ctes, outer)
        for branch in reversed(branches):
            relation = self._both(branch, relation, self._relation(branch.expression, ctes, outer))
        return relation

    def _both(self, query: exp.SetOperation, left: Relation, right: Relation) -> Relation:
        influences: Influences = {origin: set(kinds) for origin, kinds in left.influences.items()}
        for origin, kinds in right.influences.items():
            influences.setdefault(origin, set()).update(kinds)
        if not isinstance(query, exp.Union):
            # The values are those of the left side, the right side only decides which stay.
            for item in right.known():
                for origin in item.derivation:
                    influences.setdefault(origin, set()).add(InfluenceKind.FILTER)
            return Relation(left.items, influences, None, left.rest)
        if query.args.get("by_name"):
            return Relation(_by_name(left, right), influences)
        items, complete = _by_position(left.items, right.items)
        if not complete:
            self._note("has a union in which the columns of a side are not known", "")
        return Relation(items, influences, None, left.rest)

    def _sorted(
        self, query: exp.Expr, relation: Relation, ctes: Mapping[str, Relation], outer: Scope | None
    ) -> Relation:
        order = query.args.get("order")
        if order is None:
            return relation
        scope = Scope(ctes, outer, aliases_first=True)
        scope.add("", Source(relation))
        self._order(order, scope, relation.items)
        return Relation(relation.items, scope.influences, None, relation.rest)

    # ---- SELECT

    def _select(self, query: exp.Select, ctes: Mapping[str, Relation], outer: Scope | None) -> Relation:
        scope = Scope(ctes, outer)
        clause = query.args.get("from_")
        if clause is not None:
            self._source(clause.this, scope)
        joins: list[exp.Join] = query.args.get("joins") or []
        for join in joins:
            self._join(join, scope)
        for lateral in query.args.get("laterals") or ():
            self._source(lateral, scope)
        for join in joins:
            self._values.influence(
                [join.args.get("on"), join.args.get("match_condition")], scope, InfluenceKind.JOIN
            )
        for window in query.args.get("windows") or ():
            scope.windows[fold(window.this.name)] = window
        scope.projecting = True
        items = self._projections(query, scope)
        scope.projecting = False
        self._clauses(query, scope, items)
        rest = merged(
            source.relation.rest or {}
            for source in scope.sources.values()
            if not source.relation.items and source.relation.rest is not None
        )
        return Relation(items, scope.influences, None, rest if rest and query.is_star else None)

    def _clauses(self, query: exp.Select, scope: Scope, items: list[Item]) -> None:
        args = query.args
        influence = self._values.influence
        connect = args.get("connect")
        filters = [args.get("prewhere"), args.get("where"), args.get("having"), args.get("qualify")]
        if connect is not None:
            filters += [connect.args.get("start"), connect.args.get("connect")]
        influence(filters, scope, InfluenceKind.FILTER)
        distinct = args.get("distinct")
        if distinct is not None:
            influence([distinct.args.get("on")], scope, InfluenceKind.GROUP_BY)
        group = args.get("group")
        if group is not None:
            self._group(query, group, scope, items)
        for key in ("order", "sort", "cluster"):
            order = args.get(key)
            if order is not None:
                scope.aliases_first = True
                self._order(order, scope, items)

    def _group(self, query: exp.Select, group: exp.Group, scope: Scope, items: list[Item]) -> None:
        parts: list[exp.Expr | None] = []
        if group.args.get("all"):
            parts += [part for part in query.selects if not part.is_star and not part.find(exp.AggFunc)]
        for part in group.expressions:
            if not self._ordinal(part, scope, items, InfluenceKind.GROUP_BY):
                parts.append(part)
        for key in ("grouping_sets", "cube", "rollup"):
            found = group.args.get(key)
            parts += [part for part in found if isinstance(part, exp.Expr)] if isinstance(found, list) else []
        self._values.influence(parts, scope, InfluenceKind.GROUP_BY)

    def _order(self, order: exp.Expr, scope: Scope, items: list[Item]) -> None:
        for ordered in order.expressions:
            part = ordered.this if isinstance(ordered, exp.Ordered) else ordered
            if isinstance(part, exp.Var) and part.name.upper() == "ALL":
                for item in items:
                    if isinstance(item, Named):
                        scope.influence(deciding(item.derivation, InfluenceKind.SORT))
            elif not self._ordinal(part, scope, items, InfluenceKind.SORT):
                self._values.influence([part], scope, InfluenceKind.SORT)

    def _ordinal(self, part: exp.Expr, scope: Scope, items: list[Item], kind: InfluenceKind) -> bool:
        if not (isinstance(part, exp.Literal) and part.is_int):
            return False
        position = int(part.name)
        if 0 < position <= len(items) and all(isinstance(item, Named) for item in items[:position]):
            item = items[position - 1]
            if isinstance(item, Named):
                scope.influence(deciding(item.derivation, kind))
        return True

    def _projections(self, query: exp.Select, scope: Scope) -> list[Item]:
        items: list[Item] = []
        aliases: dict[str, Derivation] = {}
        early = self._platform in _LATERAL_ALIASES
        for part in query.expressions:
            if isinstance(part, exp.Aliases):
                derivation = self._values.trace(part.this, scope)
                items += [Named(name.name, derivation) for name in part.expressions]
            elif isinstance(part, exp.Star) or (
                isinstance(part, exp.Column | exp.Dot) and isinstance(_last(part), exp.Star)
            ):
                items += self._expanded(part, scope)
            elif part.find(exp.Columns) or (isinstance(part, exp.Binary) and isinstance(part.this, exp.Star)):
                self._note("selects columns by a pattern", "")
                items.append(Everything(None))
            else:
                derivation = self._values.trace(part, scope)
                name = self._name(part)
                items.append(Named(name, derivation))
                aliases.setdefault(fold(name), derivation)
                if early and isinstance(part, exp.Alias):
                    scope.aliases.setdefault(fold(name), derivation)
        scope.aliases = aliases
        exclude = query.args.get("exclude")
        if exclude:
            names = exclude if isinstance(exclude, list) else exclude.expressions or [exclude]
            items = _without(items, {fold(name.name) for name in names})
        return items

    def _name(self, part: exp.Expr) -> str:
        part = part.unnest()
        name: str = part.alias_or_name if isinstance(part, exp.Alias | exp.Column) else ""
        if isinstance(part, exp.Dot):
            name = part.expression.name
        if not name and self._platform in ("postgres", "redshift"):
            if isinstance(part, exp.Cast) and isinstance(part.this, exp.Column) and part.this.name != "*":
                name = part.this.name
            elif isinstance(part, exp.Case):
                name = "case"
            elif isinstance(part, _NAMED_AFTER_THEIR_FUNCTION):
                name = part.sql_name().lower()
        return name

    # ---- *

    def _star(self, scope: Scope) -> list[Item]:
        items: list[Item] = []
        seen = set(scope.shared)
        if scope.shared:
            # USING: such a column comes once, and first.
            names = {
                fold(item.name): item.name
                for source in scope.sources.values()
                for item in source.relation.known()
            }
            items += [Named(names.get(key, key), derivation) for key, derivation in scope.shared.items()]
        for source in scope.sources.values():
            if not source.hidden:
                items += _without(source.relation.items, seen) if seen else source.relation.items
        return items

    def _expanded(self, part: exp.Expr, scope: Scope) -> list[Item]:
        star = _last(part)
        if part is star:
            items = self._star(scope)
        else:
            path = tuple(fold(step.name) for step in _parts(part)[:-1])
            source = next((found for inner in scope.chain() if (found := inner.named(path))), None)
            if source is None:  # the fields of a struct
                if isinstance(part, exp.Column) and len(path) == 1:
                    self._values.column(exp.column(_parts(part)[0]), scope)
                return [Everything(None)]
            items = list(source.relation.items)
        if star.args.get("ilike"):
            self._note("selects columns by a pattern", "")
            return [Everything(None)]
        hidden = {fold(name.name) for name in star.args.get("except_") or ()}
        items = _without(items, hidden) if hidden else items
        for alias in star.args.get("replace") or ():
            items = _replaced(items, alias.alias, alias.alias, self._values.trace(alias, scope))
        for alias in star.args.get("rename") or ():
            derivation, _ = self._values.column(alias.this, scope)
            items = _replaced(items, alias.this.name, alias.alias, derivation)
        return items

    # ---- FROM

    def _join(self, join: exp.Join, scope: Scope) -> None:
        before = list(scope.sources.values())
        self._source(join.this, scope)
        added = [source for source in scope.sources.values() if not any(source is old for old in before)]
        side, kind = (join.args.get("side") or "").upper(), (join.args.get("kind") or "").upper()
        names = [part.name for part in join.args.get("using") or ()]
        if (join.args.get("method") or "").upper() == "NATURAL":
            left = {fold(item.name) for source in before for item in source.relation.known()}
            names = [
                item.name for source in added for item in source.relation.known() if fold(item.name) in left
            ]
        for name in names:
            right = merged(source.relation.find(name) or {} for source in added)
            left_side = scope.shared.get(fold(name)) or self._one_of(before, name)
            scope.influence(deciding((*left_side, *right), InfluenceKind.JOIN))
            if side == "FULL":
                scope.shared[fold(name)] = _coalesced(left_side, right, name)
            else:
                scope.shared[fold(name)] = right if side == "RIGHT" else left_side
        if kind in ("SEMI", "ANTI"):
            for source in added:
                source.hidden = True

    def _one_of(self, sources: list[Source], name: str) -> Derivation:
        certain = [source.relation for source in sources if source.relation.knows(name)]
        possible = certain or [source.relation for source in sources if source.relation.may_have(name)]
        if len(possible) == 1 or certain:
            return possible[0].find(name) or {}
        self._note("names columns of which nobody can tell the table", name)
        return {}

    def _source(self, node: exp.Expr, scope: Scope) -> None:
        alias = node.args.get("alias")
        names = [column.name for column in alias.columns] if isinstance(alias, exp.TableAlias) else []
        name: str = node.alias or ""
        path: tuple[str, ...] = ()
        if isinstance(node, exp.Final):  # ClickHouse
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
            self._joins_inside(node, scope)
            return
        elif isinstance(node, exp.Subquery | exp.Lateral) and isinstance(node.this, exp.Query):
            around = (
                scope if isinstance(node, exp.Lateral) else scope.outer
            )  # only LATERAL sees its neighbours
            relation = self._relation(node.this, self._with(node, scope.ctes, around), around)
        elif isinstance(node, exp.Subquery) and isinstance(node.this, exp.Table):
            inner = Scope(self._with(node, scope.ctes, scope), scope)
            self._source(node.this, inner)
            self._joins_inside(node, inner)
            relation = Relation(self._star(inner), inner.influences)
        elif isinstance(node, exp.Query):
            relation = self._relation(node, scope.ctes, scope)
        elif isinstance(node, exp.Values):
            relation = self._rows(node, scope)
        elif isinstance(node, exp.Pivot):
            inner = Scope(scope.ctes, scope)
            self._source(node.this, inner)
            relation = self._pivoted(node, Relation(self._star(inner), inner.influences), scope)
        else:
            relation, names = self._function(node, names, name, scope)
        for pivot in node.args.get("pivots") or ():
            relation = self._pivoted(pivot, relation, scope)
            given = pivot.args.get("alias")
            if given is not None:
                name, names = given.name or name, [column.name for column in given.columns] or names
        base = relation.base
        if names:
            relation = relation.renamed(names)
        relation.base = base
        scope.add(name, Source(relation, path))
        self._joins_inside(node, scope)

    def _joins_inside(self, node: exp.Expr, scope: Scope) -> None:
        joins = node.args.get("joins") or ()
        for join in joins:
            self._join(join, scope)
        for lateral in node.args.get("laterals") or ():
            self._source(lateral, scope)
        for join in joins:
            self._values.influence([join.args.get("on")], scope, InfluenceKind.JOIN)

    def _table(self, table: exp.Table, scope: Scope) -> Relation:
        if isinstance(table.this, exp.Identifier) and not table.args.get("db"):
            cte = scope.ctes.get(fold(table.name))
            if cte is not None:
                return Relation(cte.items, cte.influences, None, cte.rest)
        found = self._table_of(table)
        if isinstance(found, Relation):
            return Relation(found.items, found.influences, None, found.rest)
        if found is not None:
            if not found.complete:
                return Relation([Everything(found)], base=found)
            columns: list[Item] = [
                Named(name, itself(Origin(found.unique_id, name))) for name in found.columns.values()
            ]
            return Relation(columns, base=found)
        if not isinstance(table.this, exp.Identifier):
            relation, _ = self._function(table.this, [], "", scope)
            return relation
        path = [part.name for part in table.parts]
        if len(path) > 1 and fold(path[0]) in scope.sources:  # `from t, t.list`
            parts = [exp.to_identifier(part.name) for part in table.parts]
            names = dict(zip(("this", "table", "db", "catalog"), reversed(parts[:4]), strict=False))
            relation, _ = self._function(exp.Column(**names), [], table.alias, scope)
            return relation
        self._note("reads tables that are not known", ".".join(path))
        return Relation([Everything(None)])

    def _rows(self, node: exp.Values, scope: Scope) -> Relation:
        # `cross join lateral (values ('a', t.a), ('b', t.b))`: a row's values may be columns.
        rows = [row.expressions if isinstance(row, exp.Tuple) else [row] for row in node.expressions]
        columns = zip_longest(*rows)
        return Relation(
            [
                Named("", merged(self._values.trace(part, scope) for part in column if part))
                for column in columns
            ]
        )

    def _function(
        self, node: exp.Expr, names: list[str], name: str, scope: Scope
    ) -> tuple[Relation, list[str]]:
        """UNNEST, FLATTEN, explode, generate_series: every column comes out of the arguments."""
        body = node.this if isinstance(node, exp.Lateral | exp.TableFromRows) else node
        origins = dict.fromkeys(self._values.origins(body, scope), (Transformation.TRANSFORMATION,))
        text = Text(body, frozenset(scope.sources), self._dialect)
        derivation = derived(origins, text)
        offset = node.args.get("offset")
        if isinstance(offset, exp.Identifier):
            names = [*names, offset.name]
        if not names and name:
            names = [name]  # PostgreSQL: the only column is called like the table
        return Relation([Named(column, derivation) for column in names], rest=derivation), names

    # ---- PIVOT

    def _pivoted(self, pivot: exp.Pivot, relation: Relation, outer: Scope) -> Relation:
        scope = Scope(outer.ctes, outer)
        scope.add("", Source(relation))
        if pivot.args.get("unpivot"):
            return self._unpivoted(pivot, relation, scope)
        functions = pivot.args.get("using") or pivot.expressions
        steering = [field.this for field in pivot.args.get("fields") or ()]
        steering += pivot.expressions if pivot.args.get("using") else []
        decides = {
            origin: (Transformation.CONDITIONAL,)
            for part in steering
            for origin in self._values.origins(part, scope)
        }
        values = []
        for function in functions:
            text = Text(function, frozenset(), self._dialect)
            values.append(merged([self._values.trace(function, scope), derived(decides, text)]))
        used = {fold(column.name) for part in (*functions, *steering) for column in part.find_all(exp.Column)}
        group = pivot.args.get("group")
        if group is None:
            kept = _without(relation.items, used)
        else:
            kept = [Named(part.name, self._values.trace(part, scope)) for part in group.expressions]
        for item in kept:
            if isinstance(item, Named):
                scope.influence(deciding(item.derivation, InfluenceKind.GROUP_BY))
        names = [column.name for column in pivot.args.get("columns") or ()]
        if not names:  # the columns come out of the data
            return Relation([*kept, Everything(None)], scope.influences)
        items = [*kept, *(Named(name, values[at % len(values)]) for at, name in enumerate(names) if values)]
        return Relation(items, scope.influences)

    def _unpivoted(self, pivot: exp.Pivot, relation: Relation, scope: Scope) -> Relation:
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
        rows = [_row(part) for part in columns]
        used = {fold(column.name) for row in rows for column in row}
        items: list[Item] = [*_without(relation.items, used), *(Named(name, {}) for name in label)]
        for at, name in enumerate(values):
            items.append(
                Named(name, merged(self._values.trace(row[at], scope) for row in rows if at < len(row)))
            )
        return Relation(items, scope.influences)


def _row(part: exp.Expr) -> list[exp.Expr]:
    plain = part.this if isinstance(part, exp.PivotAlias | exp.Alias) else part
    columns = plain.expressions if isinstance(plain, exp.Tuple) else [plain]
    return [exp.column(column) if isinstance(column, exp.Identifier) else column for column in columns]


def _last(part: exp.Expr) -> exp.Expr:
    last = part
    if isinstance(part, exp.Column):
        last = part.this
    elif isinstance(part, exp.Dot):
        last = part.expression
    return last


def _parts(part: exp.Expr) -> list[exp.Expr]:
    return part.parts if isinstance(part, exp.Column | exp.Dot) else [part]


def _without(items: list[Item], hidden: set[str]) -> list[Item]:
    result: list[Item] = []
    for item in items:
        if isinstance(item, Everything):
            result.append(Everything(item.table, item.hidden | hidden))
        elif fold(item.name) not in hidden:
            result.append(item)
    return result


def _replaced(items: list[Item], old: str, new: str, derivation: Derivation) -> list[Item]:
    key = fold(old)
    if any(isinstance(item, Named) and fold(item.name) == key for item in items):
        return [
            Named(new, derivation) if isinstance(item, Named) and fold(item.name) == key else item
            for item in items
        ]
    return [*_without(items, {key}), Named(new, derivation)]


def _coalesced(left: Derivation, right: Derivation, name: str) -> Derivation:
    kinds = dict.fromkeys((*left, *right), (Transformation.TRANSFORMATION,))
    return derived(kinds, lambda: f"coalesce({name}, {name})")


def _by_position(left: list[Item], right: list[Item]) -> tuple[list[Item], bool]:
    """The left names with what both sides give; False: some columns of the right are not told."""
    # What an incremental model reads of itself has the columns of the other side.
    for one, other in ((left, right), (right, left)):
        if len(one) == 1 and isinstance(one[0], Everything) and one[0].own:
            return other, True
    items: list[Item] = []
    start = 0
    for mine, theirs in zip_longest(left, right):
        if not (isinstance(mine, Named) and isinstance(theirs, Named)):
            break
        items.append(Named(mine.name, merged((mine.derivation, theirs.derivation))))
        start += 1
    end: list[Item] = []
    for mine, theirs in zip(reversed(left[start:]), reversed(right[start:]), strict=False):
        if not (isinstance(mine, Named) and isinstance(theirs, Named)):
            break
        end.insert(0, Named(mine.name, merged((mine.derivation, theirs.derivation))))
    middle, other = left[start : len(left) - len(end)], right[start : len(right) - len(end)]
    same = len(middle) == len(other) and all(
        isinstance(mine, Everything)
        and isinstance(theirs, Everything)
        and (mine.table, mine.hidden) == (theirs.table, theirs.hidden)
        for mine, theirs in zip(middle, other, strict=True)
    )
    return [*items, *middle, *end], same


def _by_name(left: Relation, right: Relation) -> list[Item]:
    theirs = {fold(item.name): item for item in right.named}
    items: list[Item] = []
    for item in left.items:
        other = theirs.pop(fold(item.name), None) if isinstance(item, Named) else None
        if isinstance(item, Named) and other is not None:
            items.append(Named(item.name, merged((item.derivation, other.derivation))))
        else:
            items.append(item)
    return [*items, *theirs.values(), *right.stars]


def _signature(relation: Relation) -> object:
    columns = [
        (item.name, {origin: step.kinds for origin, step in item.derivation.items()})
        for item in relation.named
    ]
    return columns, {origin: frozenset(kinds) for origin, kinds in relation.influences.items()}
