"""Names that PostgreSQL and Redshift give to columns without an alias: `max`, `int4`, ``?column?``.

By `FigureColname` of PostgreSQL 15. Redshift's are those of the results in its documentation, which differ:
`nvl(a, b)` is named `coalesce`.
"""

from typing import NamedTuple

from sqlglot import exp

from lineage_merge.column_lineage.sql.parsing import get_written_name

_NAMES_OF_TYPES = """
BIGINT:int8 BOOLEAN:bool CHAR:bpchar DATE:date DECIMAL:numeric DOUBLE:float8 FLOAT:float4 INT:int4
INTERVAL:interval JSON:json JSONB:jsonb SMALLINT:int2 TEXT:text TIME:time TIMESTAMP:timestamp
TIMESTAMPTZ:timestamptz UUID:uuid VARCHAR:varchar
"""
_TYPES = {exp.DType[kind]: name for kind, name in (pair.split(":") for pair in _NAMES_OF_TYPES.split())}
# Operators and literals: they are named ``?column?``.
_UNNAMED: tuple[type[exp.Expr], ...] = tuple(
    getattr(exp, name)
    for name in """
    Add And Between DPipe Div EQ GT GTE ILike In Is JSONExtract JSONExtractScalar LT LTE Like Literal Mod
    Mul NEQ Neg Not Null Or Pow RegexpLike Sub
    """.split()
)
# What surrounds a function without changing the name.
_AROUND = (exp.Filter, exp.IgnoreNulls, exp.Paren, exp.RespectNulls, exp.Window, exp.WithinGroup)
_TRIMS = {"": "btrim", "BOTH": "btrim", "LEADING": "ltrim", "TRAILING": "rtrim"}
# Syntax without the usual parentheses.
_OF_POSTGRES: dict[type[exp.Expr], str] = {
    exp.Array: "array",
    exp.AtTimeZone: "timezone",
    exp.CurrentDate: "current_date",
    exp.CurrentTimestamp: "current_timestamp",
    exp.CurrentUser: "current_user",
    exp.Exists: "exists",
    exp.GroupConcat: "string_agg",
    exp.Overlay: "overlay",
    exp.StrPosition: "position",
    exp.Substring: "substring",
}
_OF_REDSHIFT: dict[type[exp.Expr], str] = {
    exp.ApproxDistinct: "count",
    exp.CurrentDate: "date",
    exp.GroupConcat: "listagg",
    exp.StrPosition: "position",
    exp.Substring: "substring",
}
# Functions of Redshift whose results have their name in the documentation, and `row_number`.
_OWN_NAMES_IN_REDSHIFT = """
abs add_months any_value array array_concat array_flatten ascii avg bit_and bit_or bool_and bool_or btrim
cbrt ceil ceiling charindex checksum coalesce concat cos cot count crc32 cume_dist date_cmp
date_part_year date_trunc degrees first_value floor fnv_hash getbit greatest initcap is_array
json_array_length json_extract_array_element_text json_extract_path_text json_parse json_serialize
json_typeof last_day last_value len length listagg ln lower lpad ltrim max md5 median min mod next_day
ntile octet_length percent_rank percentile_cont percentile_disc pi position quote_ident radians rank
ratio_to_report repeat replace reverse round row_number rpad rtrim sign sin size soundex split_to_array
sqrt stddev strpos strtol subarray substring sum tan to_char to_date to_hex to_number to_timestamp
translate trunc upper
"""
_FUNCTIONS_OF_REDSHIFT = {
    **{name: name for name in _OWN_NAMES_IN_REDSHIFT.split()},
    "dateadd": "date_add",
    "datediff": "date_diff",
    "nvl": "coalesce",
}


class _Name(NamedTuple):
    """A name; a surrounding cast or CASE replaces a `weak` one. `?column?` is "" and weak."""

    text: str
    weak: bool = False


_NO_NAME = _Name("", weak=True)


def postgres_name(expression: exp.Expr, *, is_redshift: bool) -> str:
    """Return the name of an expression in a select list; "" if it is unknown."""
    name = _name(expression, is_redshift)
    return "" if name is None else name.text or "?column?"


def _name(node: exp.Expr, is_redshift: bool) -> _Name | None:
    while isinstance(node, _AROUND):
        node = node.this
    if isinstance(node, exp.Column):
        return None if isinstance(node.this, exp.Star) else _Name(node.name)
    if isinstance(node, exp.Cast) and not get_written_name(node):
        return _cast(node, is_redshift)
    if isinstance(node, exp.Case):
        return _case(node.args.get("default"), is_redshift)
    if isinstance(node, exp.Trim):
        return _Name(_TRIMS[(node.args.get("position") or "").upper()])
    if not is_redshift and isinstance(node, exp.Query | exp.Bracket | exp.Collate):
        return _inner(node)
    written = get_written_name(node)
    if is_redshift:
        if isinstance(node, exp.Nullif):  # a CASE
            return _case(node.this, is_redshift)
        if isinstance(node, exp.DecodeCase):
            return _case(node.expressions[-1] if len(node.expressions) % 2 == 0 else None, is_redshift)
        name = _FUNCTIONS_OF_REDSHIFT.get(written, "") if written else _OF_REDSHIFT.get(type(node), "")
    else:
        name = written or _OF_POSTGRES.get(type(node), "")
    if name:
        return _Name(name)
    return _NO_NAME if isinstance(node, _UNNAMED) and not written else None


def _cast(cast: exp.Cast, is_redshift: bool) -> _Name | None:
    value = _name(cast.this, is_redshift)
    if value is None or not value.weak:
        return value
    # The parser makes TEXT of Redshift VARCHAR(MAX).
    is_text = any(expression.name.upper() == "MAX" for expression in cast.to.expressions)
    name = None if is_text else _TYPES.get(cast.to.this)
    return None if name is None else _Name(name, weak=True)


def _case(default: exp.Expr | None, is_redshift: bool) -> _Name | None:
    value = _NO_NAME if default is None else _name(default, is_redshift)
    return _Name("case", weak=True) if value is not None and value.weak else value


def _inner(node: exp.Expr) -> _Name | None:
    """Return the name of an element of an array, or of the only column of a subquery."""
    if not isinstance(node, exp.Query):
        return _name(node.this, is_redshift=False)
    query = node.unnest()
    if not isinstance(query, exp.Select) or len(query.expressions) != 1:
        return None
    column = query.expressions[0]
    if isinstance(column, exp.Alias):
        return _Name(column.alias)
    name = _name(column, is_redshift=False)
    return None if name is None else _Name(name.text or "?column?")
