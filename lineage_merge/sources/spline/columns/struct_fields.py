"""A field of a structure that the plan has put together itself is the value that was put there."""

from lineage_merge.sources.spline.columns.argument_roles import TRANSPARENT
from lineage_merge.sources.spline.columns.documents import PlanColumns

_LONGEST = 1_000  # renames between a structure and its field; more would be a circle


def value_of_field(plan: PlanColumns, expression: str) -> str:
    """What `struct(a, b).b` takes of the structure: the attribute or expression b, "" where unknown."""
    ordinal = plan.params(expression).get("ordinal")
    arguments = plan.arguments.get(expression, ())
    if plan.class_name(expression) != "GetStructField" or not isinstance(ordinal, int) or not arguments:
        return ""
    node = arguments[0]
    for _ in range(_LONGEST):
        if plan.class_name(node) == "CreateNamedStruct":
            # Name, value, name, value.
            values = plan.arguments.get(node, ())[1::2]
            return values[ordinal] if 0 <= ordinal < len(values) else ""
        if node in plan.attributes:
            below = plan.computed_by.get(node, ())
        else:
            below = plan.arguments.get(node, ()) if plan.class_name(node) in TRANSPARENT else ()
        if len(below) != 1:
            return ""
        node = below[0]
    return ""
