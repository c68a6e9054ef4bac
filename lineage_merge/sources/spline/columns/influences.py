"""Values that decide on rows: the conditions, groupings and orders of a plan's operations."""

from collections import defaultdict
from collections.abc import Iterator

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


# The grouping columns of operations that apply a function to each group, such as `FlatMapGroupsInPandas`.
# `FlatMapCoGroupsInPandas` of newer versions only has their number: they are the first of each input.
_GROUPS = ("groupingAttributes", "leftGroup", "rightGroup", "leftAttributes", "rightAttributes")
_GROUP_LENGTHS = ("leftGroupingLen", "rightGroupingLen")
# With ALL, Spark names them `Intersect All` and `Except All`.
_SETS = frozenset({"Intersect", "Except"})


def is_filtered_by_right_side(operation: str) -> bool:
    """Return whether the right side of an operation of that name decides on the rows of the left."""
    return operation.removesuffix("All").rstrip() in _SETS


def deciding(plan: PlanColumns) -> dict[InfluenceKind, list[Node]]:
    """Return the values that decide on the target's rows, by kind; without the text of subqueries.

    DISTINCT groups by every column. INTERSECT and EXCEPT filter the rows of their left side by every column
    of the right.
    """
    found: defaultdict[InfluenceKind, list[Node]] = defaultdict(list)
    for operation in plan.bottom_up:
        name = str(plan.operations[operation].get("name"))
        if name in _DECIDING:
            parameter, kind = _DECIDING[name]
            found[kind].extend(plan.parameter(operation, parameter))
        elif name == "Distinct":
            found[InfluenceKind.GROUP_BY].extend(plan.output(operation))
        elif is_filtered_by_right_side(name):
            for child in plan.children.get(operation, ())[1:]:
                found[InfluenceKind.FILTER].extend(plan.output(child))
        else:
            found[InfluenceKind.GROUP_BY].extend(_groups(plan, operation))
    return found


def _groups(plan: PlanColumns, operation: str) -> Iterator[Node]:
    """Return the columns by which an operation groups the rows for a function."""
    for parameter in _GROUPS:
        yield from plan.parameter(operation, parameter)
    for parameter, child in zip(_GROUP_LENGTHS, plan.children.get(operation, ()), strict=False):
        length = plan.params(operation).get(parameter)
        if isinstance(length, int):
            yield from plan.output(child)[:length]
