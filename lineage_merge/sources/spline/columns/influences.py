"""Values that decide on rows: the conditions, groupings and orders of a plan's operations."""

from collections import defaultdict

from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.value_graph import Node

# The deciding parameters of each operation, and their kind.
_DECIDING = {
    "Filter": ("condition", InfluenceKind.FILTER),
    "Join": ("condition", InfluenceKind.JOIN),
    "LateralJoin": ("condition", InfluenceKind.JOIN),
    "AsOfJoin": ("asOfCondition", InfluenceKind.JOIN),
    "Aggregate": ("groupingExpressions", InfluenceKind.GROUP_BY),
    "Deduplicate": ("keys", InfluenceKind.GROUP_BY),
    "Sort": ("order", InfluenceKind.SORT),
}


def deciding(plan: PlanColumns) -> dict[InfluenceKind, list[Node]]:
    """Return the values that decide on the target's rows, by kind; without the text of subqueries.

    DISTINCT groups by every column; INTERSECT and EXCEPT join their sides by every column.
    """
    found: defaultdict[InfluenceKind, list[Node]] = defaultdict(list)
    for operation in plan.bottom_up:
        name = str(plan.operations[operation].get("name"))
        if name in _DECIDING:
            parameter, kind = _DECIDING[name]
            found[kind].extend(plan.parameter(operation, parameter))
        elif name == "Distinct":
            found[InfluenceKind.GROUP_BY].extend(plan.output(operation))
        elif name in ("Intersect", "Except"):
            for child in plan.children.get(operation, ()):
                found[InfluenceKind.JOIN].extend(plan.output(child))
    return found
