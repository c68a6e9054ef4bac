"""Columns of functions that return rows: UNNEST, FLATTEN, explode, generate_series; of arrays in FROM."""

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql.platforms import platform_of
from lineage_merge.column_lineage.sql.scope import NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.sql_values import Columns, SqlValue, pass_on
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import Transformation

TRANSFORMATION = Transformation.TRANSFORMATION
_PATHS = (exp.Column, exp.Dot, exp.Bracket)
_EXPLODING = (exp.Explode, exp.ExplodeOuter)
_WITH_POSITION = (exp.Posexplode, exp.PosexplodeOuter)
_SPARK = frozenset({"databricks", "hive", "spark", "spark2"})
# Names of columns without an alias, by the order of the columns.
_POSITION, _ELEMENT = "pos", "col"
_OF_FLATTEN = ("SEQ", "KEY", "PATH", "INDEX", "VALUE", "THIS")


class TableFunctions:
    """Reads the functions in FROM, LATERAL VIEW and select lists of one model or statement."""

    def __init__(self, dialect: Dialect, values: Values) -> None:
        self._platform = platform_of(dialect)
        self._values = values

    def read(
        self, node: exp.Expr, names: list[str], name: str, scope: QueryScope
    ) -> tuple[Relation, list[str]]:
        """Return the columns of an item of FROM with its column names, and all names.

        Of an array these are its elements; of another function, all columns derive from all arguments.
        `name` is the alias of the relation.
        """
        body = node.this if isinstance(node, exp.Lateral | exp.TableFromRows) else node
        if isinstance(body, exp.AtIndex):  # PartiQL: `from t, t.items as i at n`
            names = [body.this.alias, body.expression.name]
            body = body.this.this
        offset = node.args.get("offset")
        if isinstance(offset, exp.Identifier):
            names = [*names, offset.name]
        names = names or self._own_names(body)
        if not names and name and not returns_fields(body):
            names = [name]  # PostgreSQL: the only column has the name of the table
        elements = self._elements(body, scope)
        if not names and (known := self._values.structures.star(elements)) is not None:
            return Relation(known.items, rest=elements), names
        columns = self._columns(body, names, elements, scope)
        return Relation([NamedColumn(*column) for column in columns], rest=elements), names

    def read_selected(self, node: exp.Expr, names: list[str], scope: QueryScope) -> Columns | None:
        """Return the columns of a function in a select list; None: unknown fields of a structure."""
        names = names or self._own_names(node)
        elements = self._elements(node, scope)
        if not names:
            known = self._values.structures.star(elements)
            return None if known is None else [(item.name, item.value) for item in known.named]
        return self._columns(node, names, elements, scope)

    def _own_names(self, body: exp.Expr) -> list[str]:
        """Return the names that a function itself gives to its columns; none of other functions."""
        if isinstance(body, _WITH_POSITION):
            return [_POSITION, _ELEMENT]
        if isinstance(body, _EXPLODING) and self._platform in _SPARK:
            return [_ELEMENT]
        return list(_OF_FLATTEN) if isinstance(body, _EXPLODING) and self._platform == "snowflake" else []

    def _elements(self, body: exp.Expr, scope: QueryScope) -> SqlValue:
        """Return the elements of an array, or any column of another function."""
        if isinstance(body, _PATHS):
            return pass_on(self._values.trace(body, scope), TRANSFORMATION, self._values.text(body, scope))
        if _is_generator(body):
            return self._values.trace(body, scope)
        return self._opaque(body, scope)

    def _opaque(self, body: exp.Expr, scope: QueryScope) -> SqlValue:
        return self._values.opaque(body, scope, TRANSFORMATION, self._values.text(body, scope))

    def _columns(self, body: exp.Expr, names: list[str], elements: SqlValue, scope: QueryScope) -> Columns:
        count = len(names)
        if isinstance(body, _WITH_POSITION):
            [position, *others] = names
            return [(position, self._opaque(body, scope)), *((other, elements) for other in others)]
        if isinstance(body, exp.Unnest) and len(body.expressions) > 1:
            text = self._values.text(body, scope)
            values = [
                pass_on(self._values.trace(part, scope), TRANSFORMATION, text) for part in body.expressions
            ]
            values += [self._opaque(body, scope)] * (count - len(values))
            return list(zip(names, values, strict=False))
        if self._platform == "snowflake" and [fold(name) for name in names] == list(map(fold, _OF_FLATTEN)):
            opaque = self._opaque(body, scope)
            return [(name, elements if name == "VALUE" else opaque) for name in names]
        known = self._values.structures.star(elements) if count > 1 or isinstance(body, exp.Inline) else None
        fields = [] if known is None else [item.value for item in known.named]
        if len(fields) == count:
            return list(zip(names, fields, strict=True))
        if _has_position(body, count):
            return [*((name, elements) for name in names[:-1]), (names[-1], self._opaque(body, scope))]
        return [(name, elements) for name in names]


def _is_generator(node: exp.Expr) -> bool:
    """Return whether a function returns a row for each element of an array, or entry of a map."""
    if isinstance(node, exp.Anonymous):
        return node.name.lower() == "inline_outer"
    return isinstance(node, (*_EXPLODING, *_WITH_POSITION, exp.Inline, exp.Unnest))


def returns_fields(node: exp.Expr) -> bool:
    """Return whether a function in a select list returns several columns."""
    return isinstance(node, (*_WITH_POSITION, exp.Inline)) or (
        isinstance(node, exp.Anonymous) and node.name.lower() == "inline_outer"
    )


def _has_position(body: exp.Expr, count: int) -> bool:
    """Return whether the last of the columns is the element's position: WITH OFFSET, AT."""
    if isinstance(body, exp.Unnest):
        return isinstance(body.args.get("offset"), exp.Identifier) and count > 1
    return isinstance(body, _PATHS) and count > 1
