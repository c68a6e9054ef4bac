"""The graph of values of a plan's attributes and expressions.

An attribute keeps its id through the operations that it passes. Operations that create attributes without
recording their inputs are matched by position: a CTE's output (`CTERelationRef`), the rows of an `Expand`,
the columns below an old `View`. INTERSECT and EXCEPT pass on the attributes of their left side: the right
side only decides which rows remain (`influences.deciding`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.argument_roles import SUBQUERIES, UNION, steps
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.parts import follow_parts
from lineage_merge.sources.spline.columns.query_reads import QueryRead, read_query
from lineage_merge.sources.spline.columns.stored_columns import stored_columns
from lineage_merge.sources.spline.columns.value_graph import Node, SourceColumn, ValueGraph

_GROUPING_ID = "spark_grouping_id"
_MERGE_CLAUSES = frozenset(
    {"matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"}
)
# Operations that output one row per input row with the same columns, under new attributes in some versions of
# Spark.
_BY_POSITION = ("View", "SubqueryAlias")


@dataclass(slots=True)
class Attributes:
    """The result of `build`.

    `graph` has all values; `queries` are the reads whose columns are those of a query; `generated` maps
    attributes that use only some arguments of a generator to it.
    """

    graph: ValueGraph
    queries: dict[str, QueryRead] = field(default_factory=dict)
    generated: dict[Node, Node] = field(default_factory=dict)

    def is_lost(self, plan: PlanColumns, operation: str) -> bool:
        """Return whether an operation creates attributes of unknown origin."""
        graph = self.graph
        new = plan.produced.get(operation, ())
        return any(each not in graph.columns and each not in graph.inputs for each in new)


def cte_column(cte: object, position: int) -> Node:
    """Return the node of a CTE's column, shared by the plan and subqueries' text."""
    return f"cte/{cte}/{position}"


def build(plan: PlanColumns, application: str = "") -> Attributes:
    """Build the graph of values of a plan, without the text of subqueries."""
    attributes = Attributes(ValueGraph())
    _expressions(plan, attributes.graph)
    _attributes(plan, attributes.graph)
    for operation in plan.bottom_up:
        document = plan.operations[operation]
        if document.get("type") == "Read":
            if plan.queries(operation):
                attributes.queries[operation] = read_query(plan, attributes.graph, operation, application)
            else:
                _read(plan, attributes.graph, operation, application)
            continue
        special = _OPERATIONS.get(str(document.get("name")))
        if special:
            special(plan, attributes, operation)
    follow_parts(plan, attributes.graph)
    return attributes


def _expressions(plan: PlanColumns, graph: ValueGraph) -> None:
    for expression, document in plan.expressions.items():
        name = plan.class_name(expression)
        if name in SUBQUERIES:
            continue
        if not name and document.get("name") == UNION:
            name = UNION
        arguments = plan.arguments.get(expression, ())
        for argument, step in zip(arguments, steps(name, len(arguments)), strict=True):
            graph.add(expression, argument, step)


def _attributes(plan: PlanColumns, graph: ValueGraph) -> None:
    for attribute, document in plan.attributes.items():
        computed = plan.computed_by.get(attribute, ())
        for expression in computed:
            graph.add(attribute, expression)
        if computed:
            continue
        # The agent omits the expressions of some operations (MERGE INTO).
        for value in plan.derives_from.get(attribute, ()):
            other = plan.attributes.get(value)
            if other is None:
                continue
            same = (other.get("name"), other.get("dataType")) == (
                document.get("name"),
                document.get("dataType"),
            )
            graph.add(attribute, value, Transformation.IDENTITY if same else Transformation.TRANSFORMATION)


def _read(plan: PlanColumns, graph: ValueGraph, operation: str, application: str) -> None:
    sources = [
        Reference("", str(uri), application) for uri in plan.operations[operation].get("inputSources") or ()
    ]
    stored = set(stored_columns(plan, operation))
    for attribute in plan.output(operation):
        if attribute not in stored:
            graph.inputs[attribute] = []  # it has no origin, and is not unknown
        elif name := plan.name(attribute):
            graph.columns[attribute] = tuple(SourceColumn(source, name) for source in sources)


def _new_attributes(plan: PlanColumns, operation: str) -> list[tuple[int, str]]:
    """Return attributes with positions that neither a child outputs nor an expression computes."""
    below = {each for child in plan.children.get(operation, ()) for each in plan.output(child)}
    return [
        (position, each)
        for position, each in enumerate(plan.output(operation))
        if each not in below and not plan.computed_by.get(each)
    ]


def _cte_reference(plan: PlanColumns, found: Attributes, operation: str) -> None:
    cte = plan.params(operation).get("cteId")
    for position, attribute in enumerate(plan.output(operation)):
        found.graph.add(attribute, cte_column(cte, position))


def _cte_definition(plan: PlanColumns, found: Attributes, operation: str) -> None:
    _by_position(plan, found, operation)
    cte = plan.params(operation).get("id")
    for position, value in enumerate(plan.output(operation)):
        found.graph.add(cte_column(cte, position), value)


def _by_position(plan: PlanColumns, found: Attributes, operation: str) -> None:
    children = plan.children.get(operation, ())
    if len(children) != 1:
        return
    below = plan.output(children[0])
    if len(below) == len(plan.output(operation)):
        for position, attribute in _new_attributes(plan, operation):
            if attribute not in found.graph.inputs:
                found.graph.add(attribute, below[position])


def _expand(plan: PlanColumns, found: Attributes, operation: str) -> None:
    new = _new_attributes(plan, operation)
    at_position = dict(new)
    for use in plan.uses.get(operation, ()):
        if len(use.path) == 3 and use.path[0] == "projections":
            attribute = at_position.get(int(use.path[2]))
            if attribute and use.value != attribute:
                found.graph.add(attribute, use.value)
    names = [(each, str((plan.attributes.get(each) or {}).get("name"))) for _, each in new]
    for index, (attribute, name) in enumerate(names):
        if name == _GROUPING_ID:
            _grouping(plan, found.graph, attribute, [each for each, _ in names[:index]])


def _grouping(plan: PlanColumns, graph: ValueGraph, grouping_id: str, grouped: list[str]) -> None:
    """Add `grouping(column)`: a bit of the grouping id that depends on this column only."""
    graph.inputs[grouping_id] = []
    for attribute in grouped:
        graph.add(grouping_id, attribute, Transformation.CONDITIONAL)
    for expression in plan.expressions:
        arguments = plan.arguments.get(expression, ())
        if (
            plan.class_name(expression) != "ShiftRight"
            or arguments[:1] != (grouping_id,)
            or len(arguments) != 2
        ):
            continue
        bit = (plan.expressions.get(arguments[1]) or {}).get("value")
        if isinstance(bit, int) and 0 <= bit < len(grouped):
            graph.inputs[expression] = []
            graph.add(expression, grouped[len(grouped) - 1 - bit], Transformation.CONDITIONAL)


def _generate(plan: PlanColumns, found: Attributes, operation: str) -> None:
    """Add a generator: columns of `stack(n, a, b, c, d)` have separate arguments, others use all."""
    generator = next(iter(plan.parameter(operation, "generator")), "")
    if generator not in plan.expressions or plan.class_name(generator) != "Stack":
        return
    arguments = plan.arguments.get(generator, ())
    rows = (plan.expressions.get(arguments[0]) or {}).get("value") if arguments else None
    if not isinstance(rows, int) or rows < 1:
        return
    columns = -(-(len(arguments) - 1) // rows)
    below = {each for child in plan.children.get(operation, ()) for each in plan.output(child)}
    new = [each for each in plan.output(operation) if each not in below]
    if len(new) != columns:
        return
    for position, attribute in enumerate(new):
        found.graph.inputs[attribute] = []
        found.generated[attribute] = generator
        for argument in arguments[1 + position :: columns]:
            found.graph.add(attribute, argument, Transformation.TRANSFORMATION)


def _union(plan: PlanColumns, found: Attributes, operation: str) -> None:
    """Add each column of a union as made of all sides, if no expression records it (producer API 1)."""
    below = [plan.output(child) for child in plan.children.get(operation, ())]
    if all(len(each) == len(plan.output(operation)) for each in below):
        for position, attribute in _new_attributes(plan, operation):
            if attribute not in found.graph.inputs:
                for each in below:
                    found.graph.add(attribute, each[position])


def _rows(plan: PlanColumns, found: Attributes, operation: str) -> None:
    """Add Iceberg's and Delta's MERGE: each `Keep` has a condition and a value for every column."""
    output = plan.output(operation)
    for use in plan.uses.get(operation, ()):
        values = plan.arguments.get(use.value, ())
        if use.path[:1] and use.path[0] in _MERGE_CLAUSES and len(values) == len(output) + 1:
            for attribute, value in zip(output, values[1:], strict=True):
                if attribute != value and not plan.computed_by.get(attribute):
                    found.graph.add(attribute, value)


_Operation = Callable[[PlanColumns, Attributes, str], None]

_OPERATIONS: Mapping[str, _Operation] = {
    "CTERelationRef": _cte_reference,
    "CTERelationDef": _cte_definition,
    "Expand": _expand,
    "Generate": _generate,
    "MergeRows": _rows,
    "Union": _union,
    **dict.fromkeys(_BY_POSITION, _by_position),
}
