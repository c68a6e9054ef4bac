"""Names that Spark gives to columns without an alias: the text of the resolved expression.

By `toPrettySQL` and `ResolveAliases` of Spark 3.5: `max(amount)`, `(a * b)`, and `a` for `CAST(a AS INT)`.
The text depends on types where Spark replaces an expression while it resolves them: `d + 1` of a date is
`date_add(d, 1)`. Columns of type INTERVAL are not considered.
"""

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from sqlglot import exp

from lineage_merge.column_lineage.sql.parsing import get_written_name

# Kinds of values: "number" is "integer" or "decimal", "" is unknown.
_NUMBERS = frozenset({"integer", "decimal", "number"})


def _table(*rows: tuple[str, str]) -> Mapping[str, str]:
    return {name: value for value, names in rows for name in names.split()}


# Functions whose name is followed by all their arguments, by the number of arguments.
FUNCTIONS = _table(
    ("0", "current_date current_timestamp dense_rank now percent_rank rank row_number"),
    (
        "1",
        """
        abs any_value approx_count_distinct array_distinct array_max array_min ascii avg base64
        bool_and bool_or cardinality ceil ceiling char_length character_length collect_list
        collect_set count_if crc32 day dayofmonth dayofweek dayofyear every exp first floor hex
        hour last last_day lcase len length ln lower ltrim map_keys map_values max md5 mean median
        min minute month ntile quarter reverse rtrim second sha sha1 size some soundex sqrt std
        stddev stddev_pop stddev_samp sum to_date to_timestamp trim typeof ucase upper var_pop
        var_samp variance weekofyear year
        """,
    ),
    (
        "2",
        """
        add_months array_contains array_join bround corr covar_pop covar_samp date_add date_diff
        datediff element_at ifnull instr left levenshtein max_by min_by mod nullif nvl pmod pow
        power repeat right round sha2
        """,
    ),
    ("3", "lpad nvl2 replace rpad split_part substr substring substring_index translate"),
    ("any", "array coalesce concat concat_ws count greatest hash least xxhash64"),
)
# Names that Spark writes in capitals.
_CAPITALS = frozenset({"ceil", "dense_rank", "exp", "floor", "percent_rank", "power", "rank", "sqrt"})
_RANKING = frozenset({"dense_rank", "ntile", "percent_rank", "rank", "row_number"})
_RESULTS = _table(
    (
        "integer",
        """
        approx_count_distinct char_length count count_if date_diff datediff day dayofmonth
        dayofweek dayofyear dense_rank hour instr length minute month ntile quarter rank
        row_number second size weekofyear year
        """,
    ),
    ("number", "abs avg mean median round stddev sum"),
    ("string", "concat concat_ws lower lpad replace rpad substr substring trim upper"),
    ("time", "add_months current_date current_timestamp date_add last_day now to_date to_timestamp"),
)
# Functions whose result has the type of their arguments.
_OF_ARGUMENTS = frozenset({"coalesce", "greatest", "ifnull", "least", "max", "min", "nvl"})
_KINDS_OF_TYPES = _table(
    ("integer", "tinyint byte smallint short int integer bigint long"),
    ("decimal", "decimal dec numeric float real double"),
    ("string", "string varchar char"),
    ("boolean", "boolean"),
    ("time", "date timestamp timestamp_ntz timestamp_ltz"),
)
_OPERATORS: dict[type[exp.Expr], str] = {
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "div",
    exp.EQ: "=",
    exp.NullSafeEQ: "<=>",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.BitwiseAnd: "&",
    exp.BitwiseOr: "|",
}
_UNCHANGED_TYPES = "BIGINT BINARY BOOLEAN DATE DECIMAL DOUBLE FLOAT INT SMALLINT TINYINT"
_TYPES = {
    **{exp.DType[name]: name for name in _UNCHANGED_TYPES.split()},
    **{exp.DType[name]: "STRING" for name in "CHAR TEXT VARCHAR".split()},
    exp.DType.TIMESTAMPTZ: "TIMESTAMP",
}


class ResolvedColumn(NamedTuple):
    """A column without its table: its name and the fields inside it, and its type, "" if unknown."""

    path: tuple[str, ...]
    data_type: str


class _Value(NamedTuple):
    text: str
    kind: str = ""


class _UnknownNameError(Exception):
    """The text that Spark gives to an expression is unknown."""


def spark_name(expression: exp.Expr, resolve: Callable[[exp.Column], ResolvedColumn | None]) -> str:
    """Return the name of an expression in a select list; "" if it is unknown.

    `resolve` returns None for a name whose meaning is unknown.
    """
    try:
        return _Namer(resolve).name(expression)
    except _UnknownNameError:
        return ""


class _Namer:
    """Writes expressions as Spark does."""

    def __init__(self, resolve: Callable[[exp.Column], ResolvedColumn | None]) -> None:
        self._resolve = resolve

    def name(self, expression: exp.Expr) -> str:
        """Return the name. Raises `_UnknownNameError`."""
        expression = expression.unnest()
        function = get_written_name(expression)
        if isinstance(expression, exp.Cast) and (not function or function in _KINDS_OF_TYPES):
            value = expression.this.unnest()
            # A cast of a column has the column's name, but not the cast of a field.
            if isinstance(value, exp.Column) and len(path := self._column(value).path) == 1:
                return path[0]
        return self._value(expression).text

    def _value(self, node: exp.Expr) -> _Value:
        function = get_written_name(node)
        if function:
            return self._function(node, function)
        match node:
            case exp.Paren():
                return self._value(node.this)
            case exp.Column():
                column = self._column(node)
                return _Value(".".join(column.path), _kind_of_type(column.data_type))
            case exp.Literal():
                return _literal(node)
            case exp.Boolean():
                return _Value("true" if node.this else "false", "boolean")
            case exp.Null():
                return _Value("NULL")
            case exp.Neg():
                value = self._value(node.this)
                is_number = isinstance(node.this, exp.Literal)
                return _Value(f"-{value.text}" if is_number else f"(- {value.text})", value.kind)
            case exp.TryCast():
                return self._cast(node)
            case exp.And() | exp.Or():
                return self._connect(node)
            case exp.NEQ():
                return _negate(self._compare("=", node.this, node.expression).text)
            case exp.Not():
                return self._not(node.this)
            case exp.Is(expression=exp.Null()):
                return self._is_null(node, negated=bool(node.args.get("negate")))
            case exp.In() if node.expressions and not node.args.get("query"):
                text = f"({self._value(node.this).text} IN ({self._list(node.expressions)}))"
                return _negate(text) if node.args.get("negate") else _Value(text, "boolean")
            case exp.Like():
                text = f"{self._value(node.this).text} LIKE {self._value(node.expression).text}"
                return _negate(text) if node.args.get("negate") else _Value(text, "boolean")
            case exp.DPipe():
                return _Value(f"concat({self._list([node.this, node.expression])})", "string")
            case exp.Bracket() if len(node.expressions) == 1:
                return _Value(f"{self._value(node.this).text}[{self._list(node.expressions)}]")
            case exp.Dot(expression=exp.Identifier()) if isinstance(
                node.this, exp.Bracket | exp.Dot | exp.Func
            ):
                return _Value(f"{self._value(node.this).text}.{node.expression.name}")
            case exp.Case():
                return self._case(node)
            case exp.Filter():
                condition = self._value(node.expression.this).text
                value = self._value(node.this)
                return _Value(f"{value.text} FILTER (WHERE {condition})", value.kind)
            case exp.Window():
                return self._window(node)
            case exp.CurrentDate() if not node.this:
                return _Value("current_date()", "time")
            case exp.TsOrDsToDate():  # added by the parser: a function without a written name
                return self._value(node.this)
        operator = _OPERATORS.get(type(node))
        if operator is None:
            raise _UnknownNameError
        return self._compare(operator, node.this, node.expression)

    def _list(self, nodes: Iterable[exp.Expr]) -> str:
        return ", ".join(self._value(node).text for node in nodes)

    def _column(self, column: exp.Column) -> ResolvedColumn:
        resolved_column = None if isinstance(column.this, exp.Star) else self._resolve(column)
        if resolved_column is None:
            raise _UnknownNameError
        return resolved_column

    # ---- operators

    def _compare(self, operator: str, left_node: exp.Expr, right_node: exp.Expr) -> _Value:
        left, right = self._value(left_node), self._value(right_node)
        literals = [
            (node, other) for node, other in ((left_node, right), (right_node, left)) if _is_number(node)
        ]
        if operator in ("=", "<=>"):
            # `flag = 1` of a boolean is `flag`.
            if any(
                Decimal(node.name) in (0, 1) and other.kind in ("", "boolean") for node, other in literals
            ):
                raise _UnknownNameError
            kind = "boolean"
        elif operator in ("<", "<=", ">", ">="):
            # `a > 1.5` of an integer is `(a > 1)`.
            if any("." in node.name and other.kind not in ("decimal", "string") for node, other in literals):
                raise _UnknownNameError
            kind = "boolean"
        else:
            # `d + 1` of a date is `date_add(d, 1)`.
            if operator in "+-" and not {left.kind, right.kind} <= {*_NUMBERS, "string"}:
                raise _UnknownNameError
            kind = "number"
        return _Value(f"({left.text} {operator} {right.text})", kind)

    def _connect(self, node: exp.Expr) -> _Value:
        """Write a chain of AND or OR, of which Spark makes a balanced tree."""
        parts: list[exp.Expr] = []
        left: exp.Expr = node
        while type(left) is type(node):
            parts.append(left.expression)
            left = left.this
        texts = [self._value(part).text for part in (left, *reversed(parts))]
        return _Value(_balance("AND" if isinstance(node, exp.And) else "OR", texts), "boolean")

    def _not(self, node: exp.Expr) -> _Value:
        if isinstance(node, exp.Is) and isinstance(node.expression, exp.Null):
            return self._is_null(node, negated=True)
        return _negate(self._value(node).text)

    def _is_null(self, node: exp.Is, *, negated: bool) -> _Value:
        return _Value(f"({self._value(node.this).text} IS {'NOT ' if negated else ''}NULL)", "boolean")

    def _cast(self, cast: exp.TryCast) -> _Value:
        to = cast.to
        name = _TYPES.get(to.this)
        # The parser makes casts of literals such as 10L and 1.5D.
        if name is None or _is_number(cast.this) or to.args.get("nested"):
            raise _UnknownNameError
        if name == "DECIMAL":
            sizes = [expression.name for expression in to.expressions] or ["10"]
            name = f"DECIMAL({sizes[0]},{sizes[1] if len(sizes) > 1 else '0'})"
        function = "TRY_CAST" if cast.args.get("safe") else "CAST"
        return _Value(f"{function}({self._value(cast.this).text} AS {name})", _kind_of_type(name))

    def _case(self, case: exp.Case) -> _Value:
        text = "CASE"
        kinds: set[str] = set()
        results = [branch.args["true"] for branch in case.args["ifs"]]
        for branch, result in zip(case.args["ifs"], results, strict=True):
            condition = (
                self._value(branch.this) if case.this is None else self._compare("=", case.this, branch.this)
            )
            value = self._value(result)
            text += f" WHEN {condition.text} THEN {value.text}"
            kinds.add(value.kind)
        default = case.args.get("default")
        if default is not None:
            value = self._value(default)
            text += f" ELSE {value.text}"
            kinds.add(value.kind)
        return _Value(f"{text} END", _common(kinds))

    # ---- functions

    def _function(self, node: exp.Expr, name: str) -> _Value:
        if name == "if" and isinstance(node, exp.If):
            parts = [self._value(part) for part in (node.this, node.args["true"], node.args["false"])]
            text = ", ".join(part.text for part in parts)
            return _Value(f"(IF({text}))", _common({part.kind for part in parts[1:]}))
        arity = FUNCTIONS.get(name)
        arguments = list(_arguments(node))
        distinct = ""
        if len(arguments) == 1 and isinstance(arguments[0], exp.Distinct):
            distinct, arguments = "DISTINCT ", arguments[0].expressions
        if arity is None or (arity != "any" and len(arguments) != int(arity)):
            raise _UnknownNameError
        if name == "count" and [type(argument) for argument in arguments] == [exp.Star]:
            return _Value("count(1)", "integer")
        values = [self._value(argument) for argument in arguments]
        shown = name.upper() if name in _CAPITALS else name
        kind = _common({value.kind for value in values}) if name in _OF_ARGUMENTS else _RESULTS.get(name, "")
        return _Value(f"{shown}({distinct}{', '.join(value.text for value in values)})", kind)

    def _window(self, window: exp.Window) -> _Value:
        function = window.this.this if isinstance(window.this, exp.Filter) else window.this
        if window.args.get("alias") or not get_written_name(function):  # a named window
            raise _UnknownNameError
        value = self._value(window.this)
        order = window.args.get("order")
        parts = []
        if window.args.get("partition_by"):
            parts.append(f"PARTITION BY {self._list(window.args['partition_by'])}")
        if order is not None:
            parts.append(
                f"ORDER BY {', '.join(self._write_order(expression) for expression in order.expressions)}"
            )
        parts.append(_frame(window, get_written_name(function)))
        return _Value(f"{value.text} OVER ({' '.join(parts)})", value.kind)

    def _write_order(self, ordered: exp.Expr) -> str:
        direction = "DESC" if ordered.args.get("desc") else "ASC"
        nulls = "FIRST" if ordered.args.get("nulls_first") else "LAST"
        return f"{self._value(ordered.this).text} {direction} NULLS {nulls}"


def _frame(window: exp.Window, function: str) -> str:
    spec = window.args.get("spec")
    if spec is None:
        if function in _RANKING:
            return "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        if window.args.get("order") is not None:
            return "RANGE BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
        return "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING"
    ends = []
    for end in ("start", "end"):
        bound = spec.args.get(end)
        side = (spec.args.get(f"{end}_side") or "").upper()
        if isinstance(bound, exp.Literal) and spec.args["kind"].upper() == "ROWS" and bound.is_int:
            bound = bound.name
        if not isinstance(bound, str):
            raise _UnknownNameError
        ends.append(f"{bound.upper()} {side}".strip())
    return f"{spec.args['kind'].upper()} BETWEEN {ends[0]} AND {ends[1]}"


def _arguments(function: exp.Expr) -> Iterable[exp.Expr]:
    """Yield the arguments of a function, without the types and units that the parser adds."""
    if isinstance(function, exp.Anonymous):
        yield from function.expressions
        return
    for name in function.arg_types:
        value = function.args.get(name)
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, exp.Expr) and name != "unit" and not isinstance(part, exp.DataType):
                yield part


def _literal(node: exp.Literal) -> _Value:
    text = node.name
    if node.is_string:
        # The parser has unescaped the text.
        if not text.isprintable() or any(character in text for character in "'\"\\"):
            raise _UnknownNameError
        return _Value(text, "string")
    if not text.replace(".", "", 1).isdecimal() or str(Decimal(text)) != text:
        raise _UnknownNameError
    return _Value(text, "decimal" if "." in text else "integer")


def _is_number(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and not node.is_string


def _balance(operator: str, texts: list[str]) -> str:
    if len(texts) == 1:
        return texts[0]
    middle = (len(texts) - 1) // 2 + 1
    return f"({_balance(operator, texts[:middle])} {operator} {_balance(operator, texts[middle:])})"


def _negate(text: str) -> _Value:
    return _Value(f"(NOT {text})", "boolean")


def _common(kinds: set[str]) -> str:
    """Return the kind of a value that has one of these kinds."""
    if len(kinds) == 1:
        return next(iter(kinds))
    return "number" if kinds and kinds <= _NUMBERS else ""


def _kind_of_type(data_type: str) -> str:
    return _KINDS_OF_TYPES.get(data_type.partition("(")[0].strip().lower(), "")
