"""Columns of MATCH_RECOGNIZE, and what decides on its rows."""

import re

from sqlglot import exp

from lineage_merge.column_lineage.sql.scope import FromRelation, Item, NamedColumn, QueryScope, Relation
from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import InfluenceKind

_VARIABLE = re.compile(r"[^\W\d]\w*")


def read_row_pattern(
    match: exp.MatchRecognize, relation: Relation, outer: QueryScope, values: Values
) -> Relation:
    """Return the columns of `relation` after MATCH_RECOGNIZE."""
    scope = QueryScope(outer.ctes, outer.outer)
    scope.add("", FromRelation(relation))
    definitions: list[exp.Expr] = match.args.get("define") or []
    variables = {fold(definition.alias) for definition in definitions}
    variables |= {fold(name) for name in _VARIABLE.findall(match.args["pattern"].name)}
    partition = [
        NamedColumn(part.alias_or_name, values.trace(part, scope))
        for part in match.args.get("partition_by") or ()
    ]
    measures = [
        NamedColumn(measure.this.alias_or_name, values.trace(_drop_variables(measure.this, variables), scope))
        for measure in match.args.get("measures") or ()
    ]
    conditions = [_drop_variables(definition.this, variables) for definition in definitions]
    values.influence(conditions, scope, InfluenceKind.FILTER)
    for column in partition:
        scope.rows.add(InfluenceKind.GROUP_BY, column.value)
    order = match.args.get("order")
    values.influence([order], scope, InfluenceKind.SORT)
    rows = match.args.get("rows")
    every = rows is not None and rows.name.upper().startswith("ALL")
    items: list[Item] = [*(relation.items if every else partition), *measures]
    return Relation(items, scope.rows)


def _drop_variables(expression: exp.Expr, variables: set[str]) -> exp.Expr:
    """Return an expression whose columns lack the variables of the pattern: each is a row of the input."""
    expression = expression.copy()
    for column in expression.find_all(exp.Column):
        if fold(column.table) in variables and not column.args.get("db"):
            column.set("table", None)
    return expression
