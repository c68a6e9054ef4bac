"""The value of an expression."""

from collections.abc import Callable, Container, Iterable, Iterator

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql import notes
from lineage_merge.column_lineage.sql.argument_roles import parts_of, roles_of
from lineage_merge.column_lineage.sql.external_reads import dictionary_entry
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.reserved_names import is_keyword, is_pseudo_column
from lineage_merge.column_lineage.sql.scope import QueryScope, Relation
from lineage_merge.column_lineage.sql.sql_values import (
    UNTRACED,
    SqlColumn,
    SqlValue,
    Text,
    field_of,
    merge_values,
    pass_on,
)
from lineage_merge.column_lineage.sql.struct_types import StructTypes
from lineage_merge.column_lineage.sql.structures import Structures
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.text import ExpressionText
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, compose
from lineage_merge.column_lineage.value_graph import Input, Value, leaves

IDENTITY, TRANSFORMATION, AGGREGATION, CONDITIONAL, WINDOW = Transformation

# With the step to the value, and whether the value has the structure of the expression.
_Pending = list[tuple[exp.Expr, Transformation, bool]]


class Values:
    """Reads expressions. `relation_of` reads nested queries, `note` records problems, `types` has fields.

    `variables` (folded) are no columns, unless a relation certainly has a column of this name.
    """

    def __init__(
        self,
        dialect: Dialect,
        relation_of: Callable[[exp.Expr, QueryScope], Relation],
        note: Callable[[str, str], None],
        types: StructTypes,
        variables: Container[str] = (),
    ) -> None:
        self._dialect = dialect
        self._platform = platform_of(dialect)
        self._relation_of = relation_of
        self._note = note
        self._variables = variables
        self.structures = Structures(dialect, self, types)
        # Variables of the lambdas around an expression.
        self.bound: dict[str, SqlValue] = {}
        # All columns that are named so far.
        self._named_values: dict[SqlValue, None] = {}

    def trace(self, expression: exp.Expr, scope: QueryScope) -> SqlValue:
        """Return the value of an expression; a plain column, or a field of it, is unchanged."""
        plain = expression
        while isinstance(plain, exp.Alias | exp.Paren):
            plain = plain.this
        if isinstance(plain, exp.Column) and not isinstance(plain.this, exp.Star):
            return self.column(plain, scope)
        if isinstance(plain, exp.Query):
            return self._query(plain, scope)
        if type(plain) in self.structures.read_types and self.structures.reads(plain):
            return self.structures.read(plain, scope)
        if self.bound and isinstance(plain, exp.Identifier):
            return self.bound.get(fold(plain.name), UNTRACED)
        if type(plain) in self.structures.constructor_types and self.structures.constructs(plain):
            return self.structures.construct(plain, scope)
        inputs = self._inputs(plain, scope, IDENTITY, is_whole=False)
        return Value(inputs, text=self.text(plain, scope)) if inputs else UNTRACED

    def text(self, expression: exp.Expr, scope: QueryScope) -> Text:
        """Return the text of an expression."""
        return ExpressionText(expression, _tables(scope), self._dialect)

    def opaque(self, expression: exp.Expr, scope: QueryScope, step: Transformation, text: Text) -> SqlValue:
        """Return a value of which the expression is an argument, taken as a whole."""
        return Value(self._inputs(expression, scope, step, is_whole=True), text=text)

    def find_named_columns(self) -> set[SqlColumn]:
        """Return the columns that all columns named so far are made of."""
        return leaves(self._named_values)

    def influence(
        self, expressions: Iterable[exp.Expr | None], scope: QueryScope, kind: InfluenceKind
    ) -> None:
        """Add the columns of the expressions as influences on the rows."""
        for expression in expressions:
            if expression is not None:
                scope.rows.add(kind, Value(self._inputs(expression, scope, IDENTITY, is_whole=True)))

    def column(self, column: exp.Column, scope: QueryScope) -> SqlValue:
        """Resolve a column, or a field of one."""
        return self.resolve_name([part.name for part in column.parts], column, scope)

    def resolve_name(self, parts: list[str], column: exp.Column, scope: QueryScope) -> SqlValue:
        """Resolve a dotted name that begins with the parts of `column`."""
        value = self._resolve(parts, column, scope)
        self._named_values[value] = None
        return value

    def _resolve(self, parts: list[str], column: exp.Column, scope: QueryScope) -> SqlValue:
        value: SqlValue | None
        if self.bound and fold(parts[0]) in self.bound:
            value, fields = self.bound[fold(parts[0])], parts[1:]
        elif len(parts) == 1:
            return self._resolve_unqualified(column, parts[0], scope)
        elif (qualified := scope.find_qualified(parts)) is None:
            value, fields = self._resolve_unqualified(column, parts[0], scope), parts[1:]
        else:
            source, name, fields = qualified
            if is_pseudo_column(name, [source.relation], self._platform):
                return UNTRACED
            value = source.relation.find(name)
            if value is None and source.relation.base is not None:
                value = source.relation.base.assume(name)
            if value is None:
                self._note(notes.MISSING_COLUMNS, ".".join(parts))
                return UNTRACED
        for field in fields:
            value = field_of(value, field)
        return value

    def _resolve_unqualified(self, column: exp.Column, name: str, scope: QueryScope) -> SqlValue:
        relations = [source.relation for inner in scope.chain() for source in inner.sources.values()]
        if is_pseudo_column(name, relations, self._platform):
            return UNTRACED
        is_other = is_keyword(column, name, self._platform) or fold(name) in self._variables
        if is_other and not any(relation.knows(name) for relation in relations):
            return UNTRACED
        row = self._whole_row(name, scope)
        if row is not None:
            return row
        value = scope.find_unqualified(name)
        if value is not None:
            return value
        self._note(notes.UNKNOWN_TABLE, name)
        return UNTRACED

    def _whole_row(self, name: str, scope: QueryScope) -> SqlValue | None:
        """Return the row of a relation whose name is used as a value, if no column has this name."""
        for inner in scope.chain():
            if name.casefold() in inner.aliases:
                return None
            if any(source.relation.may_have(name) for source in inner.sources.values()):
                return None
            source = inner.find_relation((name.casefold(),))
            if source is not None and source.relation.rest is None:
                return source.relation.row()
        return None

    def _inputs(
        self, expression: exp.Expr, scope: QueryScope, step: Transformation, *, is_whole: bool
    ) -> list[Input[str]]:
        """Return the inputs of an expression, each with its step.

        `is_whole`: as for a function that takes the value as a whole.
        """
        # Iterative: a sum of a thousand terms is nested a thousand levels deep.
        inputs: dict[Input[str], None] = {}
        structures = self.structures
        pending: _Pending = [(expression, step, not is_whole)]
        while pending:
            node, step, passes = pending.pop()
            value: SqlValue
            if isinstance(node, exp.Column | exp.Star):
                if isinstance(node, exp.Star) or isinstance(node.this, exp.Star):
                    value = self._all(node, scope)
                else:
                    value = self.column(node, scope)
            elif type(node) in structures.read_types and structures.reads(node):
                value = structures.read(node, scope)
            elif (entry := dictionary_entry(node)) is not None:
                pending += [(part, compose(step, TRANSFORMATION), False) for part in entry]
                continue
            elif isinstance(node, exp.Exists):
                value, step, passes = self._exists(node, scope), compose(step, CONDITIONAL), False
            elif isinstance(node, exp.Query):
                value = self._query(node, scope)
            elif passes and type(node) in structures.constructor_types and structures.constructs(node):
                value = structures.construct(node, scope)
            elif self.bound and isinstance(node, exp.Identifier):
                value = self.bound.get(fold(node.name), UNTRACED) if _is_variable(node) else UNTRACED
            else:
                parts = self._parts(node, step, scope)
                pending += [(part, inner, passes and of_part) for part, inner, of_part in parts]
                continue
            if value is not UNTRACED:
                inputs[Input(value, step, passes)] = None
        return list(inputs)

    def _query(self, query: exp.Query, scope: QueryScope) -> SqlValue:
        """Return a query's value: its only column, or all of them as one value."""
        relation = self._relation_of(query, scope)
        scope.rows.include(relation.rows)
        if _is_structure(query):
            return relation.row()
        if query.unnest().args.get("for_") is not None:  # T-SQL: FOR JSON, FOR XML
            columns = merge_values(column.value for column in relation.list_known())
            return pass_on(columns, AGGREGATION, self.text(query, scope))
        return merge_values(item.value for item in relation.named)

    def _exists(self, node: exp.Exists, scope: QueryScope) -> SqlValue:
        if not isinstance(node.this, exp.Query):
            return self.trace(node.this, scope)
        relation = self._relation_of(node.this, scope)
        scope.rows.include(relation.rows)
        return Value(Input(value, CONDITIONAL, passes=False) for _, value in relation.rows.deciding())

    def _all(self, node: exp.Column | exp.Star, scope: QueryScope) -> SqlValue:
        if isinstance(node.parent, exp.Count):
            return UNTRACED
        if isinstance(node, exp.Column):
            source = scope.find_relation(tuple(part.name.casefold() for part in node.parts[:-1]))
            sources = [] if source is None else [source]
        else:
            sources = list(scope.sources.values())
        return merge_values(item.value for source in sources for item in source.relation.list_known())

    def _parts(
        self, node: exp.Expr, kind: Transformation, scope: QueryScope
    ) -> Iterator[tuple[exp.Expr, Transformation, bool]]:
        """Yield the parts of an expression with their steps, and whether the value has their structure."""
        known = roles_of(node)
        if known.uniform is not None:  # as most
            step = compose(kind, known.uniform.step)
            for part in node.iter_expressions():
                yield part, step, known.uniform.passes
            return
        for part, role in parts_of(node, known):
            yield part, compose(kind, role.step), role.passes
        if isinstance(node, exp.Window):
            for part in _find_named_windows(node, scope):
                yield part, compose(kind, WINDOW), False


def _is_structure(query: exp.Query) -> bool:
    """Return whether a query is BigQuery's SELECT AS STRUCT."""
    return query.unnest().args.get("kind") == "STRUCT"


def _is_variable(name: exp.Identifier) -> bool:
    """Return whether an identifier in a lambda is a value: not an alias, and no name of a field."""
    return name.arg_key != "alias" and not (
        isinstance(name.parent, exp.PropertyEQ) and name.arg_key == "this"
    )


def _tables(scope: QueryScope) -> frozenset[str]:
    return frozenset(name for inner in scope.chain() for name in inner.sources)


def _find_named_windows(node: exp.Window, scope: QueryScope) -> Iterator[exp.Expr]:
    """Yield the parts of windows that are defined elsewhere: in the clause WINDOW."""
    waiting, seen = [node], set()
    while waiting:
        window = waiting.pop()
        if window is not node:
            yield from (part for part, role in parts_of(window, roles_of(window)) if role.step is WINDOW)
        for name in (window.args.get("alias"), window.this):
            key = fold(name.name) if isinstance(name, exp.Identifier) else ""
            named = [inner.windows[key] for inner in scope.chain() if key in inner.windows]
            if named and key not in seen:
                seen.add(key)
                waiting.append(named[0])
