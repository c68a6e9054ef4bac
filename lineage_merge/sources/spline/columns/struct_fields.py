"""Struct fields: a field of a struct that the plan itself builds is the value it was built from."""

from lineage_merge.sources.spline.columns.argument_roles import TRANSPARENT
from lineage_merge.sources.spline.columns.documents import PlanColumns

_LONGEST = 1_000  # maximum renames between a struct and its field: more would be a cycle


def value_of_field(plan: PlanColumns, expression: str) -> str:
    """Return what `struct(a, b).b` takes: the attribute or expression b, "" if unknown."""
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
