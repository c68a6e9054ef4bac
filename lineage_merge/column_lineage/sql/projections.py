"""The select list: columns, their names, the expansion of ``*``, EXCEPT, USING; lists of set operations."""

import re
from collections import Counter
from collections.abc import Callable
from itertools import zip_longest

from sqlglot import exp

from lineage_merge.column_lineage.sql.postgres_names import postgres_name
from lineage_merge.column_lineage.sql.scope import Item, NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.spark_names import ResolvedColumn, spark_name
from lineage_merge.column_lineage.sql.sql_values import SqlColumn, SqlValue, merge_values
from lineage_merge.column_lineage.sql.table_functions import TableFunctions, returns_fields
from lineage_merge.column_lineage.sql.tables import AllColumns, fold
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import Chains, Input, Value
from lineage_merge.model.elements import FIELD

# Platforms where a select expression may use the alias of a preceding one.
_LATERAL_ALIASES = frozenset(
    {"redshift", "snowflake", "duckdb", "spark", "spark2", "databricks", "clickhouse", "teradata", "dremio"}
)
# Platforms where an alias precedes a column of the same name, in the whole query.
_ALIASES_FIRST = frozenset({"clickhouse"})
# Platforms whose names for columns without an alias are known.
_WITH_GENERATED_NAMES = frozenset({"postgres", "redshift", "spark"})


class Projections:
    """Reads the select lists of one model or statement."""

    def __init__(
        self,
        platform: str,
        values: Values,
        functions: TableFunctions,
        note: Callable[[str, str], None],
        type_of: Callable[[SqlColumn], str],
    ) -> None:
        self._platform = platform
        self._values = values
        self._functions = functions
        self._note = note
        self._type_of = type_of

    def read(self, query: exp.Select, scope: QueryScope) -> list[Item]:
        """Return the columns of the SELECT, and add their aliases to `scope` for other clauses."""
        items: list[Item] = []
        generated: list[NamedColumn] = []
        aliases: dict[str, SqlValue] = {}
        early = self._platform in _LATERAL_ALIASES
        if self._platform in _ALIASES_FIRST:
            self._define_aliases(query, scope)
        for part in query.expressions:
            if isinstance(part, exp.Aliases):
                items += self._rows(part.this, [name.name for name in part.expressions], scope)
            elif isinstance(part, exp.Star) or (
                isinstance(part, exp.Column | exp.Dot) and isinstance(_last(part), exp.Star)
            ):
                items += self._expand(part, scope)
            elif returns_fields(part) or self._unfolds_a_structure(part, scope):
                items += self._rows(part, [], scope)
            elif _is_pattern(part):
                items += self._match_pattern(part, scope)
            else:
                defined = scope.aliases.get(fold(part.alias)) if scope.aliases_first and part.alias else None
                value = self._values.trace(part, scope) if defined is None else defined
                name = self._explicit_name(part.unnest())
                item = NamedColumn(name or self._generate_name(part.unnest(), scope), value)
                items.append(item)
                if not name:
                    generated.append(item)
                aliases.setdefault(fold(item.name), value)
                if early and isinstance(part, exp.Alias):
                    scope.aliases.setdefault(fold(name), value)
        _remove_ambiguous_names(generated, items)
        scope.aliases = {**scope.aliases, **aliases} if scope.aliases_first else aliases
        exclude = query.args.get("exclude")
        if exclude:
            names = exclude if isinstance(exclude, list) else exclude.expressions or [exclude]
            items = hide_columns(items, {fold(name.name) for name in names})
        return items

    def _define_aliases(self, query: exp.Select, scope: QueryScope) -> None:
        """Add the aliases of ClickHouse's WITH and select list to `scope`: they precede columns.

        Within its own expression, the name of an alias is that of a column.
        """
        scope.aliases_first = True
        with_ = query.args.get("with_")
        named = with_.expressions if with_ is not None else []
        expressions = {
            fold(part.alias): part.this
            for part in (*named, *query.expressions)
            if isinstance(part, exp.Alias | exp.CTE) and not isinstance(part.this, exp.Query)
        }
        pending: set[str] = set()

        def define(name: str) -> None:
            pending.add(name)
            for column in expressions[name].find_all(exp.Column):
                used = fold(column.name)
                if not column.table and used in expressions and used not in pending:
                    define(used)
            scope.aliases[name] = self._values.trace(expressions[name], scope)

        for name in expressions:
            if name not in pending:
                define(name)

    def _explicit_name(self, part: exp.Expr) -> str:
        if isinstance(part, exp.Dot):
            is_field = self._platform != "spark" or isinstance(_first(part), exp.Column)
            return part.expression.name if is_field else ""
        return part.alias_or_name if isinstance(part, exp.Alias | exp.Column) else ""

    def _generate_name(self, part: exp.Expr, scope: QueryScope) -> str:
        if self._platform not in _WITH_GENERATED_NAMES:
            return ""
        try:
            if self._platform == "spark":
                name = spark_name(part, lambda column: self._resolve(column, scope))
            else:
                name = postgres_name(part, is_redshift=self._platform == "redshift")
        except RecursionError:  # the value of a sum of thousands of terms is known, unlike its name
            return ""
        return "" if "${" in name or "{{" in name else name

    def _resolve(self, column: exp.Column, scope: QueryScope) -> ResolvedColumn | None:
        parts = [part.name for part in column.parts]
        if len(parts) > 1:
            qualified = scope.find_qualified(parts)
            parts = parts if qualified is None else [qualified[1], *qualified[2]]
        elif fold(parts[0]) in scope.aliases and not any(
            source.relation.knows(parts[0]) for source in scope.sources.values()
        ):
            return None  # the alias of a preceding column, which Spark names otherwise
        if len(parts) > 1:
            return ResolvedColumn(tuple(parts), "")
        chains: Chains[str] = Chains()
        types = {
            "" if chain.step or FIELD in chain.column.column else self._type_of(chain.column)
            for chain in chains.trace(self._values.column(column, scope))
        }
        return ResolvedColumn(tuple(parts), types.pop() if len(types) == 1 else "")

    def _expand(self, part: exp.Expr, scope: QueryScope) -> list[Item]:
        last = _last(part)
        if part is last:
            items = star(scope)
        else:
            path = tuple(fold(step.name) for step in _parts(part)[:-1])
            source = next(
                (relation for inner in scope.chain() if (relation := inner.find_relation(path))), None
            )
            items = self._fields(part, scope) if source is None else list(source.relation.items)
        if last.args.get("ilike"):
            self._note("selects columns by a pattern", "")
            return [AllColumns(None)]
        hidden = {fold(name.name) for name in last.args.get("except_") or ()}
        items = hide_columns(items, hidden) if hidden else items
        for alias in last.args.get("replace") or ():
            items = replace_column(items, alias.alias, alias.alias, self._values.trace(alias, scope))
        for alias in last.args.get("rename") or ():
            items = replace_column(
                items, alias.this.name, alias.alias, self._values.column(alias.this, scope)
            )
        return items

    def _rows(self, part: exp.Expr, names: list[str], scope: QueryScope) -> list[Item]:
        """Return the columns of a function in a select list."""
        columns = self._functions.read_selected(part, names, scope)
        if columns is None:
            return [AllColumns(None, structure=self._values.trace(part, scope))]
        return [NamedColumn(*column) for column in columns]

    def _match_pattern(self, part: exp.Expr, scope: QueryScope) -> list[Item]:
        """Return the columns of ``COLUMNS('a.*') + 1`` or ``* LIKE 'a%'``: one for each that matches."""
        relation = Relation(star(scope))
        matching = matching_columns(part.find(exp.Columns) or part, relation)
        if matching is None:
            self._note("selects columns by a pattern", "")
            return [AllColumns(None)]
        if isinstance(part, exp.Columns) or part.find(exp.Columns) is None:
            return list(matching)
        items: list[Item] = []
        for column in matching:
            single = part.copy()
            for pattern in list(single.find_all(exp.Columns)):
                pattern.replace(exp.column(exp.to_identifier(column.name, quoted=True)))
            name = part.alias.replace("\\0", column.name) if part.alias else column.name
            items.append(NamedColumn(name, self._values.trace(single, scope)))
        return items

    def _unfolds_a_structure(self, part: exp.Expr, scope: QueryScope) -> bool:
        """Return whether an item is DuckDB's ``unnest(s)``, which returns the fields of a structure."""
        return (
            self._platform == "duckdb"
            and isinstance(part, exp.Explode | exp.Unnest)
            and self._values.structures.is_structure(part.this or part.expressions[0], scope)
        )

    def _fields(self, part: exp.Expr, scope: QueryScope) -> list[Item]:
        """Return the fields of ``address.*``."""
        if isinstance(part, exp.Dot):
            value = self._values.trace(part.this, scope)
        else:
            names = _parts(part)[:-1]
            first = exp.column(names[0])
            value = self._values.resolve_name([name.name for name in names], first, scope)
        known = self._values.structures.star(value)
        return [AllColumns(None, structure=value)] if known is None else known.items


def _remove_ambiguous_names(generated: list[NamedColumn], items: list[Item]) -> None:
    counts = Counter(fold(item.name) for item in items if isinstance(item, NamedColumn))
    for item in generated:
        if counts[fold(item.name)] > 1:
            item.name = ""


def _first(part: exp.Dot) -> exp.Expr:
    first: exp.Expr = part.this
    while isinstance(first, exp.Dot):
        first = first.this
    return first


def _last(part: exp.Expr) -> exp.Expr:
    last = part
    if isinstance(part, exp.Column):
        last = part.this
    elif isinstance(part, exp.Dot):
        last = part.expression
    return last


def _parts(part: exp.Expr) -> list[exp.Expr]:
    return part.parts if isinstance(part, exp.Column | exp.Dot) else [part]


def star(scope: QueryScope) -> list[Item]:
    """Return the columns of ``*``."""
    items: list[Item] = []
    seen = set(scope.shared)
    if scope.shared:
        # Columns of USING appear once, and first.
        names = {
            fold(item.name): item.name
            for source in scope.sources.values()
            for item in source.relation.list_known()
        }
        items += [NamedColumn(names.get(key, key), value) for key, value in scope.shared.items()]
    for source in scope.sources.values():
        if not source.hidden:
            items += hide_columns(source.relation.items, seen) if seen else source.relation.items
    return items


def _is_pattern(part: exp.Expr) -> bool:
    like = part.this if isinstance(part, exp.Not) else part
    of_star = isinstance(like, exp.Binary) and isinstance(like.this, exp.Star)
    return of_star or part.find(exp.Columns) is not None


def matching_columns(part: exp.Expr, relation: Relation) -> list[NamedColumn] | None:
    """Return the columns of DuckDB's ``COLUMNS(* EXCLUDE (a))``, ``COLUMNS('pattern')`` or ``* LIKE 'a%'``.

    None for another expression, and if not all columns of the relation are known.
    """
    is_negated = isinstance(part, exp.Not)
    like = part.this if is_negated else part
    if relation.closed and isinstance(like, exp.Like | exp.ILike) and isinstance(like.this, exp.Star):
        shape = re.escape(like.expression.name).replace("%", ".*").replace("_", ".")
        pattern = re.compile(shape, re.IGNORECASE if isinstance(like, exp.ILike) else 0)
        return [item for item in relation.list_known() if bool(pattern.fullmatch(item.name)) != is_negated]
    if not isinstance(part, exp.Columns) or not relation.closed:
        return None
    selected = part.this
    if isinstance(selected, exp.Star) and not selected.args.get("replace"):
        excluded = {fold(name.name) for name in selected.args.get("except_") or ()}
        return [item for item in relation.list_known() if fold(item.name) not in excluded]
    if isinstance(selected, exp.Literal):
        try:
            pattern = re.compile(selected.name)
        except re.error:
            return None
        return [item for item in relation.list_known() if pattern.search(item.name)]
    return None


def hide_columns(items: list[Item], hidden: set[str]) -> list[Item]:
    result: list[Item] = []
    for item in items:
        if isinstance(item, AllColumns):
            result.append(item.hide(frozenset(hidden)))
        elif fold(item.name) not in hidden:
            result.append(item)
    return result


def replace_column(items: list[Item], old: str, new: str, value: SqlValue) -> list[Item]:
    key = fold(old)
    if any(isinstance(item, NamedColumn) and fold(item.name) == key for item in items):
        return [
            NamedColumn(new, value) if isinstance(item, NamedColumn) and fold(item.name) == key else item
            for item in items
        ]
    return [*hide_columns(items, {key}), NamedColumn(new, value)]


def coalesce(left: SqlValue, right: SqlValue, name: str) -> SqlValue:
    sides = (Input(side, Transformation.TRANSFORMATION, passes=False) for side in (left, right))
    return Value(sides, text=f"coalesce({name}, {name})")


def merge_by_position(left: list[Item], right: list[Item]) -> tuple[list[Item], bool]:
    """Combine columns by position under the left names; False if some right columns are not matched."""
    # The self-reference of an incremental model has the columns of the other side.
    for side, other_side in ((left, right), (right, left)):
        if len(side) == 1 and isinstance(side[0], AllColumns) and side[0].own:
            return other_side, True
    items: list[Item] = []
    start = 0
    for left_item, right_item in zip_longest(left, right):
        if not (isinstance(left_item, NamedColumn) and isinstance(right_item, NamedColumn)):
            break
        items.append(NamedColumn(left_item.name, merge_values((left_item.value, right_item.value))))
        start += 1
    end: list[Item] = []
    for left_item, right_item in zip(reversed(left[start:]), reversed(right[start:]), strict=False):
        if not (isinstance(left_item, NamedColumn) and isinstance(right_item, NamedColumn)):
            break
        end.insert(0, NamedColumn(left_item.name, merge_values((left_item.value, right_item.value))))
    middle, right_middle = left[start : len(left) - len(end)], right[start : len(right) - len(end)]
    same = len(middle) == len(right_middle) and all(
        isinstance(left_item, AllColumns)
        and isinstance(right_item, AllColumns)
        and left_item.is_same(right_item)
        for left_item, right_item in zip(middle, right_middle, strict=True)
    )
    return [*items, *middle, *end], same


def merge_by_name(left: Relation, right: Relation) -> list[Item]:
    unmatched = {fold(item.name): item for item in right.named}
    items: list[Item] = []
    for item in left.items:
        other = unmatched.pop(fold(item.name), None) if isinstance(item, NamedColumn) else None
        if isinstance(item, NamedColumn) and other is not None:
            items.append(NamedColumn(item.name, merge_values((item.value, other.value))))
        else:
            items.append(item)
    return [*items, *unmatched.values(), *right.stars]
