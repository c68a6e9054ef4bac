"""The query that a semantic model stands for: its entities, dimensions and aggregated measures.

Needs sqlglot (the extra `columns`).
"""

from sqlglot import Dialect, exp
from sqlglot.errors import SqlglotError

from lineage_merge.sources.dbt.semantic_layer import Item, Semantics

# Aggregations of MetricFlow whose name is not that of a function; others are called by their name.
_FUNCTIONS = {"average": "avg", "sum_boolean": "sum", "count_distinct": "count"}


def query(semantics: Semantics, dialect: Dialect) -> exp.Select:
    """Return the query. Raises `SqlglotError` if the name of its relation cannot be parsed.

    An expression that cannot be parsed becomes NULL: the column has no lineage.
    """
    columns = [exp.alias_(_value(item, dialect), item.name, quoted=True) for item in semantics.items]
    relation = exp.to_table(semantics.relation, dialect=dialect)
    return exp.select(*columns, copy=False).from_(relation, copy=False)


def _value(item: Item, dialect: Dialect) -> exp.Expr:
    try:
        value: exp.Expr = exp.maybe_parse(item.expression, dialect=dialect)
    except SqlglotError:
        return exp.null()
    if not item.aggregation:
        return value
    function = _FUNCTIONS.get(item.aggregation.lower(), item.aggregation)
    called: exp.Expr = exp.func(function, value, dialect=dialect)
    return called
