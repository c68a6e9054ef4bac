"""Methods called on values: ``h.doc.value('/a')`` of T-SQL and Oracle, ``a.upper()`` of DuckDB. Pure.

The parser makes dotted names of all columns before a method, as if they named the schema of a function.
"""

from collections.abc import Iterator

from sqlglot import Dialect, exp

from lineage_merge.column_lineage.sql.platforms import platform_of

# Methods of types, by platform. Elsewhere a name before a function is that of its schema or package.
_TYPES_OF_TSQL = frozenset(
    """
    exist getancestor getdescendant getlevel isdescendantof lat long modify nodes query reparent value
    stasbinary stastext starea stbuffer stcentroid stcontains stdifference stdistance stintersection
    stintersects stlength stunion stwithin stx sty tostring
    """.split()
)
_TYPES_OF_ORACLE = frozenset(
    "existsnode extract getblobval getclobval getnumberval getrootelement getstringval transform".split()
)
_METHODS = {"tsql": _TYPES_OF_TSQL, "fabric": _TYPES_OF_TSQL, "oracle": _TYPES_OF_ORACLE}
_CHAINED = "duckdb"
_SCHEMAS_OF_DUCKDB = frozenset({"information_schema", "main", "pg_catalog", "system", "temp"})
_MAX_PARTS = 4


def restore_receivers(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Return the tree with columns before a method as columns; DuckDB's methods become functions.

    The tree is changed in place.
    """
    platform = platform_of(dialect)
    # The innermost of a chain last: it becomes an argument of those around it.
    for call in list(tree.find_all(exp.Dot)):
        if not isinstance(call.expression, exp.Func):
            continue
        if not _is_name(call.this):
            for node in list(_find_dotted_columns(call.this)):
                node.replace(_column(node))
        elif _is_method(call, platform):
            call.set("this", _column(call.this))
        else:
            continue
        if platform == _CHAINED and isinstance(call.expression, exp.Anonymous):
            arguments = [call.this, *call.expression.expressions]
            function = exp.func(call.expression.name, *arguments, copy=False, dialect=dialect)
            if call is tree:
                tree = function
            else:
                call.replace(function)
    return tree


def _is_name(receiver: exp.Expr) -> bool:
    """Return whether a receiver is a name, with dots or without."""
    while isinstance(receiver, exp.Dot):
        if not isinstance(receiver.expression, exp.Identifier):
            return False
        receiver = receiver.this
    return isinstance(receiver, exp.Identifier)


def _is_method(call: exp.Dot, platform: str) -> bool:
    name = call.expression.name if isinstance(call.expression, exp.Anonymous) else call.expression.key
    if platform == _CHAINED:
        return call.this.name.lower() not in _SCHEMAS_OF_DUCKDB
    return name.lower() in _METHODS.get(platform, ())


def _find_dotted_columns(receiver: exp.Expr) -> Iterator[exp.Expr]:
    """Yield the names in a receiver that were columns: not those of tables, aliases and lambdas."""
    variables = {
        variable.name.casefold() for node in receiver.find_all(exp.Lambda) for variable in node.expressions
    }
    pending = [receiver]
    while pending:
        node = pending.pop()
        if isinstance(node, exp.Identifier | exp.Dot) and _is_name(node):
            if _parts(node)[0].name.casefold() not in variables:
                yield node
            continue
        pending += [part for part in node.iter_expressions() if not _names_something(part)]


def _names_something(part: exp.Expr) -> bool:
    around = part.parent
    return (
        isinstance(part, exp.TableAlias | exp.DataType | exp.Column)
        or part.arg_key == "alias"
        or (part.arg_key == "this" and isinstance(around, exp.Table | exp.PropertyEQ))
        or (part.arg_key in ("db", "catalog") and isinstance(around, exp.Table))
        or (part.arg_key == "expressions" and isinstance(around, exp.Lambda | exp.TableAlias))
        or (part.arg_key == "expression" and isinstance(around, exp.Dot) and isinstance(part, exp.Identifier))
    )


def _parts(name: exp.Expr) -> list[exp.Expr]:
    parts: list[exp.Expr] = []
    while isinstance(name, exp.Dot):
        parts.insert(0, name.expression)
        name = name.this
    return [name, *parts]


def _column(name: exp.Expr) -> exp.Expr:
    """Return a dotted name as a column, with fields inside of it."""
    parts = [part.copy() for part in _parts(name)]
    column: exp.Expr = exp.Column(
        **dict(zip(("this", "table", "db", "catalog"), reversed(parts[:_MAX_PARTS]), strict=False))
    )
    for field in parts[_MAX_PARTS:]:
        column = exp.Dot(this=column, expression=field)
    return column
