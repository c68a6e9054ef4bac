"""Structures in expressions: constructors, access to fields, functions of arrays with lambdas."""

from collections.abc import Callable, Container, Iterator, Sequence
from typing import Protocol

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.roles import LambdaRoles, lambda_roles
from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.scope import NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.sql_values import (
    UNTRACED,
    Columns,
    SqlValue,
    Text,
    change_fields,
    field_of,
    find_fields,
    merge_values,
    pass_on,
    structure,
)
from lineage_merge.column_lineage.sql.struct_types import StructTypes, fields_of_schema, names_in
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import Input, Value

TRANSFORMATION, CONDITIONAL = Transformation.TRANSFORMATION, Transformation.CONDITIONAL

# Platforms where `a['b']` is a path into a structure; elsewhere, the key of a map.
_PATHS_IN_BRACKETS = frozenset({"duckdb", "redshift", "snowflake"})
# Platforms whose structures without names have the fields f1, f2, ...
_NUMBERED = frozenset({"postgres", "redshift"})
_WITHOUT_NAMES = frozenset({"athena", "presto", "trino"})
_ROWS = frozenset({"row", "object"})
_CHANGES = frozenset({"struct_insert", "struct_update"})
_ZIPS = frozenset({"arrays_zip", "list_zip", "zip"})


class _Expressions(Protocol):
    """What is needed of the reader of expressions; `bound` are the variables of lambdas (folded)."""

    bound: dict[str, SqlValue]

    def trace(self, expression: exp.Expr, scope: QueryScope) -> SqlValue: ...
    def opaque(
        self, expression: exp.Expr, scope: QueryScope, step: Transformation, text: Text
    ) -> SqlValue: ...
    def resolve_name(self, parts: list[str], column: exp.Column, scope: QueryScope) -> SqlValue: ...
    def text(self, expression: exp.Expr, scope: QueryScope) -> Text: ...


class Structures:
    """Reads the structures in the expressions of one model or statement."""

    def __init__(self, dialect: Dialect, values: _Expressions, types: StructTypes) -> None:
        self._platform = platform_of(dialect)
        self._values = values
        self._types = types
        self._readers: dict[type[exp.Expr], Callable[[exp.Expr, QueryScope], SqlValue]] = {
            exp.Dot: self._dot,
            exp.Bracket: self._bracket,
            exp.JSONExtract: self._path,
            exp.StructExtract: self._extract,
            exp.GetExtract: self._extract,
            exp.Transform: self._lambdas,
            exp.ArrayFilter: self._lambdas,
            exp.ArraySort: self._lambdas,
            exp.ArrayAny: self._lambdas,
            exp.ArrayAll: self._lambdas,
            exp.Exists: self._lambdas,
            exp.Reduce: self._lambdas,
            exp.Anonymous: self._lambdas,
            exp.Comprehension: self._comprehension,
        }
        self._constructors: dict[type[exp.Expr], Callable[[exp.Expr, QueryScope], SqlValue]] = {
            exp.Struct: self._struct,
            exp.StarMap: self._struct,
            exp.ObjectInsert: self._insert,
            exp.FromJson: self._parse_json,
            exp.JSONObject: self._struct,
            exp.ArraysZip: self._zip,
            exp.Cast: self._cast,
            exp.TryCast: self._cast,
            exp.Anonymous: self._construct_by_name,
        }

        # The types of nodes that `reads` and `constructs` may accept.
        self.read_types: Container[type[exp.Expr]] = self._readers.keys()
        self.constructor_types: Container[type[exp.Expr]] = self._constructors.keys()

    # ---- access

    def reads(self, node: exp.Expr) -> bool:
        """Return whether a value is part of a structure, or the result of a function with lambdas."""
        kind = type(node)
        if kind not in self._readers:
            return False
        if kind is exp.JSONExtract:
            return bool(node.args.get("variant_extract")) or self._platform == "snowflake"
        if kind is exp.Dot:
            return isinstance(node.expression, exp.Identifier)
        has_lambda = any(isinstance(part, exp.Lambda) for part in node.iter_expressions())
        return has_lambda or self._readers[kind] != self._lambdas

    def read(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        """Return the value of a node that `reads` accepts."""
        value = self._readers[type(node)](node, scope)
        if value is UNTRACED or find_fields(value) is not None:
            return value
        read: SqlValue = Value((Input(value),), text=self._values.text(node, scope))
        read.is_reading = True
        return read

    def _dot(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        names: list[str] = []
        base = node
        while isinstance(base, exp.Dot):
            names.insert(0, base.expression.name)
            base = base.this
        if isinstance(base, exp.Column):
            return self._values.resolve_name([*(part.name for part in base.parts), *names], base, scope)
        value = self._values.trace(base, scope)
        for name in names:
            value = field_of(value, name)
        return value

    def _bracket(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        base, index = node.this, node.expressions[0] if len(node.expressions) == 1 else None
        key = index.name if isinstance(index, exp.Literal) and index.is_string else None
        if key is not None and isinstance(base, exp.VarMap | exp.Map):
            values = [value for name, value in _entries(base) if name == key]
            if values:
                return self._pass_on(
                    merge_values(self._values.trace(value, scope) for value in values), node, scope
                )
        value = self._values.trace(base, scope)
        if key is not None and (self._platform in _PATHS_IN_BRACKETS or self._types.is_structure(value)):
            return field_of(value, key)
        text = self._values.text(node, scope)
        return merge_values(
            [
                self._pass_on(value, node, scope),
                *(self._values.opaque(part, scope, TRANSFORMATION, text) for part in node.expressions),
            ]
        )

    def _path(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        value = self._values.trace(node.this, scope)
        path = node.expression
        for step in path.expressions if isinstance(path, exp.JSONPath) else ():
            if isinstance(step, exp.JSONPathKey) and isinstance(step.this, str):
                value = field_of(value, step.this)
            elif not isinstance(step, exp.JSONPathRoot):
                value = self._pass_on(value, node, scope)
        return value if isinstance(path, exp.JSONPath) else self._pass_on(value, node, scope)

    def _extract(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        value = self._values.trace(node.this, scope)
        key = node.expression
        if isinstance(key, exp.Literal) and key.is_string:
            return field_of(value, key.name)
        return self._pass_on(value, node, scope)

    def _pass_on(self, value: SqlValue, node: exp.Expr, scope: QueryScope) -> SqlValue:
        return pass_on(value, TRANSFORMATION, self._values.text(node, scope))

    # ---- lambdas

    def _lambdas(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        arguments = list(node.iter_expressions())
        roles = lambda_roles(node.name if isinstance(node, exp.Anonymous) else node.key) or _OF_UNKNOWN
        values = [self._values.trace(part, scope) for part in arguments if not isinstance(part, exp.Lambda)]
        [body, *others] = [part for part in arguments if isinstance(part, exp.Lambda)]
        if roles.result == "reduced":
            return self._pass_on(self._reduce(body, others, values, scope), node, scope)
        variables = [variable.name for variable in body.expressions]
        numbers = [int(number) - 1 for number in roles.variables]
        elements = [values[at] if at < len(values) else UNTRACED for at in numbers]
        bound = self._bind(variables, elements)
        text = self._values.text(node, scope)
        if roles.result in ("selected", "sorted"):
            first = values[0] if values else UNTRACED
            conditions = self._read_with(
                bound, lambda: self._values.opaque(body.this, scope, CONDITIONAL, text)
            )
            return merge_values([self._pass_on(first, node, scope), conditions])
        if roles.result == "tested":
            return self._read_with(bound, lambda: self._values.opaque(body.this, scope, TRANSFORMATION, text))
        result = self._read_with(bound, lambda: self._values.trace(body.this, scope))
        return self._pass_on(result, node, scope)

    def _reduce(
        self, body: exp.Expr, finish: Sequence[exp.Expr], values: list[SqlValue], scope: QueryScope
    ) -> SqlValue:
        variables = [variable.name for variable in body.expressions]
        array, initial = values[0], values[1] if len(values) > 1 else values[0]
        bound = self._bind(variables, [initial, array])
        result = self._read_with(bound, lambda: self._values.trace(body.this, scope))
        for last in finish:
            inner = self._bind([variable.name for variable in last.expressions], [result])
            result = self._read_with(inner, lambda last=last: self._values.trace(last.this, scope))  # type: ignore[misc]
        return result

    def _comprehension(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        variable, condition = node.expression, node.args.get("condition")
        bound = self._bind([variable.name], [self._values.trace(node.args["iterator"], scope)])
        text = self._values.text(node, scope)

        def read() -> SqlValue:
            result = self._pass_on(self._values.trace(node.this, scope), node, scope)
            if condition is None:
                return result
            return merge_values([result, self._values.opaque(condition, scope, CONDITIONAL, text)])

        return self._read_with(bound, read)

    def _bind(self, variables: list[str], elements: list[SqlValue]) -> dict[str, SqlValue]:
        own = {fold(name): UNTRACED for name in variables}
        own.update(zip(map(fold, variables), elements, strict=False))
        return {**self._values.bound, **own}

    def _read_with(self, bound: dict[str, SqlValue], read: Callable[[], SqlValue]) -> SqlValue:
        around, self._values.bound = self._values.bound, bound
        try:
            return read()
        finally:
            self._values.bound = around

    # ---- constructors

    def constructs(self, node: exp.Expr) -> bool:
        """Return whether the value is a structure that the expression builds."""
        kind = type(node)
        if kind not in self._constructors:
            return False
        if kind is exp.Anonymous:
            return node.name.lower() in _ROWS | _CHANGES | _ZIPS
        if kind in (exp.Cast, exp.TryCast):
            return names_in(node.args["to"]) is not None
        if kind is exp.JSONObject:
            return self._platform == "snowflake"
        return kind is not exp.FromJson or isinstance(node.expression, exp.Literal)

    def construct(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        """Return the value of a node that `constructs` accepts."""
        return self._constructors[type(node)](node, scope)

    def _struct(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        parts = [node.this] if isinstance(node, exp.StarMap) else node.expressions
        fields: Columns = []
        rows: list[SqlValue] = []
        for position, part in enumerate(parts, 1):
            if isinstance(part, exp.Star) or (
                isinstance(part, exp.Column) and isinstance(part.this, exp.Star)
            ):
                rows += self._rows(part, scope)
            elif isinstance(part, exp.PropertyEQ | exp.JSONKeyValue | exp.Alias):
                is_alias = isinstance(part, exp.Alias)
                name, value = (part.alias, part.this) if is_alias else (part.this.name, part.expression)
                fields.append((name, self._values.trace(value, scope)))
            else:
                fields.append((self._generate_name(part, position, node), self._values.trace(part, scope)))
        if not rows:
            return structure(fields)
        known = list(filter(None, map(find_fields, rows)))
        listed = [field for row in known for field in row.columns]
        return structure(
            [*listed, *fields],
            lambda name: merge_values(field_of(row, name) for row in rows),
            closed=all(row.closed for row in known),
        )

    def _generate_name(self, part: exp.Expr, position: int, node: exp.Expr) -> str:
        if self._platform in _NUMBERED:
            return f"f{position}"
        if self._platform in _WITHOUT_NAMES or isinstance(node, exp.Anonymous):
            return ""
        if isinstance(part, exp.Dot):
            return str(part.expression.name)
        return part.name if isinstance(part, exp.Column) else ""

    def _rows(self, part: exp.Expr, scope: QueryScope) -> list[SqlValue]:
        """Return the rows of ``*``, or the structure of ``address.*``."""
        if isinstance(part, exp.Star):
            return [source.relation.row() for source in scope.sources.values() if not source.hidden]
        names = part.parts[:-1] if isinstance(part, exp.Column) else []
        path = tuple(fold(name.name) for name in names)
        source = next((relation for inner in scope.chain() if (relation := inner.find_relation(path))), None)
        return [] if source is None else [source.relation.row()]

    def _insert(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        base = self._values.trace(node.this, scope)
        key, value = node.args["key"], self._values.trace(node.args["value"], scope)
        if isinstance(key, exp.Literal):
            return change_fields(base, [(key.name, value)])
        return merge_values([base, value])

    def _parse_json(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        text = self._values.text(node, scope)
        value = self._values.opaque(node.this, scope, TRANSFORMATION, text)
        fields = fields_of_schema(node.expression.name)
        return value if fields is None else structure([(name, value) for name in fields])

    def _zip(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        fields: Columns = []
        for position, part in enumerate(node.expressions):
            name = part.name if isinstance(part, exp.Column) else str(position)
            fields.append((name, self._pass_on(self._values.trace(part, scope), node, scope)))
        return structure(fields)

    def _cast(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        value = self._values.trace(node.this, scope)
        names = names_in(node.args["to"]) or []
        # `STRUCT<x INT64>(a)`
        is_typed = self._platform == "bigquery" and isinstance(node.this, exp.Struct)
        known = self._types.fields(value)
        is_built = find_fields(value) is not None
        folded = [fold(name) for name in names]
        if (
            known is None
            or len(known) != len(names)
            or (not is_built and [fold(name) for name, _ in known] == folded)
        ):
            step = Transformation.IDENTITY if is_typed else TRANSFORMATION
            return pass_on(value, step, self._values.text(node, scope))
        values = (inner if is_typed else self._pass_on(inner, node, scope) for _, inner in known)
        return structure(list(zip(names, values, strict=True)))

    def _construct_by_name(self, node: exp.Expr, scope: QueryScope) -> SqlValue:
        name = node.name.lower()
        if name in _ZIPS:
            return self._zip(node, scope)
        if name == "object":
            pairs = zip(node.expressions[::2], node.expressions[1::2], strict=False)
            return structure([(key.name, self._values.trace(value, scope)) for key, value in pairs])
        if name == "row":
            return self._struct(node, scope)
        base, *fields = node.expressions
        set_fields = [
            (part.this.name, self._values.trace(part.expression, scope))
            for part in fields
            if isinstance(part, exp.PropertyEQ)
        ]
        return change_fields(self._values.trace(base, scope), set_fields)

    # ---- rows of arrays

    def is_structure(self, expression: exp.Expr, scope: QueryScope) -> bool:
        """Return whether a value is known to be a structure, not an array of them."""
        return self._types.is_structure(self._values.trace(expression, scope))

    def star(self, value: SqlValue) -> Relation | None:
        """Return the columns of ``address.*`` or ``inline(items)``; None if its fields are unknown."""
        fields = self._types.fields(value)
        return None if fields is None else Relation([NamedColumn(*field) for field in fields])


_OF_UNKNOWN = LambdaRoles("computed", ("1",))


def _entries(entries: exp.Expr) -> Iterator[tuple[str, exp.Expr]]:
    keys, values = entries.args.get("keys"), entries.args.get("values")
    if isinstance(keys, exp.Array) and isinstance(values, exp.Array):
        for key, value in zip(keys.expressions, values.expressions, strict=False):
            if isinstance(key, exp.Literal):
                yield key.name, value
