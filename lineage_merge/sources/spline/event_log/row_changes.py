"""Changes of single rows (MERGE, UPDATE, DELETE) as a query: the values that they assign. Pure.

Assigned values are a row for each clause, above a filter by the conditions, above what is read.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from lineage_merge.sources.spline.columns.plan_text import TextItem
from lineage_merge.sources.spline.documents import ROW_OPERATIONS
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode, nodes

SUBQUERY = re.compile(r"subquery#(\d+)")
UNCHANGED = "null"
_LONG = re.compile(r"#\d+L$")
# Ids of the written columns: those of a plan are smaller.
_FIRST_ID = 1 << 40
# Of operations that are not in the text.
NO_NUMBER = -1


class RowChange(NamedTuple):
    """A change of rows: the name of the operation, and the query with the assigned values."""

    name: str
    rows: PhysicalNode


class Clause(NamedTuple):
    """A condition, and the values of all columns in order (none: rows are deleted)."""

    condition: str
    values: tuple[str, ...]


def select_subqueries(plan: FormattedPlan, root: PhysicalNode) -> FormattedPlan:
    """Return a plan with the subqueries that its operations name: others only find files to be written."""
    texts = (text for node in nodes(root) for text in node.fields.values())
    named = {int(identifier) for text in texts for identifier in SUBQUERY.findall(text)}
    kept = {identifier: tree for identifier, tree in plan.subqueries.items() if identifier in named}
    return FormattedPlan(root, kept, plan.is_cut)


def find_changed(
    columns: Iterable[TextItem], values: Iterable[str], own: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values of a clause without those that are the same column of the target."""
    pairs = zip(columns, values, strict=True)
    return tuple(
        UNCHANGED if column.name in own and _strip_mark(own[column.name]) == _strip_mark(value) else value
        for column, value in pairs
    )


def make_change(
    mode: str, below: PhysicalNode, columns: Sequence[TextItem], clauses: Iterable[Clause]
) -> RowChange:
    found = list(clauses)
    conditions = list(dict.fromkeys(clause.condition for clause in found if clause.condition))
    if conditions:
        text = " AND ".join(f"({condition})" for condition in conditions)
        below = PhysicalNode(NO_NUMBER, "Filter", fields={"Condition": text}, children=[below])
    assigned = [clause.values for clause in found if clause.values] or [(UNCHANGED,) * len(columns)]
    rows = ", ".join(f"[{', '.join(values)}]" for values in assigned)
    output = ", ".join(f"{column.name}#{_FIRST_ID + place}" for place, column in enumerate(columns))
    fields = {"Arguments": f"[{rows}], [{output}]"}
    return RowChange(ROW_OPERATIONS[mode], PhysicalNode(NO_NUMBER, "Expand", fields=fields, children=[below]))


def _strip_mark(column: str) -> str:
    """Return a column without the mark of a long."""
    return column.removesuffix("L") if _LONG.search(column) else column
