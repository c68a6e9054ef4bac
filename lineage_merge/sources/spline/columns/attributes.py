"""The graph of values of a plan's attributes and expressions.

An attribute keeps its id through the operations that it passes. Operations that create attributes without
recording their inputs are matched by position: a CTE's output (`CTERelationRef`), the rows of an `Expand`,
the columns below an old `View`. INTERSECT and EXCEPT pass on the attributes of their left side: the right
side only decides which rows remain (`lineage`). The columns of a JDBC query are those of its tables.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import groupby

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence, Transformation
from lineage_merge.column_lineage.value_graph import Node, SourceColumn, Value, ValueGraph
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.argument_roles import SUBQUERIES, UNION
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.nested_values import NestedValues

_GROUPING_ID = "spark_grouping_id"
_MERGE_CLAUSES = frozenset(
    {"matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions"}
)


@dataclass(slots=True)
class QueryRead:
    """What a JDBC query contributes besides its values in the graph.

    `rows`: what decides on its rows. `columns` are the used columns of each table, `problems` what could not
    be traced.
    """

    rows: Rows[Reference] = field(default_factory=Rows)
    columns: Mapping[Reference, tuple[str, ...]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


class Attributes:
    """The values of a plan, without the text of subqueries.

    `graph` has all values; `queries` are the reads whose columns are those of a query; `generated` maps
    attributes that use only some arguments of a generator to it.
    """

    def __init__(self, plan: PlanColumns) -> None:
        """Build the graph."""
        self._plan = plan
        self.graph = ValueGraph()
        for attribute in plan.attributes:
            self.graph[attribute].is_named = True
        self._nested = NestedValues(plan, self.graph)
        self.queries: dict[str, QueryRead] = {}
        self.generated: dict[Node, Node] = {}
        self._add_expressions()
        self._add_attributes()
        for operation in plan.bottom_up:
            if operation in plan.reads:
                self._read(operation)
            elif special := _OPERATIONS.get(str(plan.operations[operation].get("name"))):
                special(self, operation)

    def is_lost(self, operation: str) -> bool:
        """Return whether an operation creates attributes of unknown origin."""
        new = self._plan.produced.get(operation, ())
        return not all(map(self.is_known, new))

    def is_known(self, attribute: Node) -> bool:
        """Return whether the origin of an attribute is known."""
        value = self.graph[attribute]
        return bool(value.columns or value.inputs or value.is_constant)

    def _add_expressions(self) -> None:
        plan = self._plan
        for expression, document in plan.expressions.items():
            name = plan.class_name(expression)
            if name in SUBQUERIES:
                continue
            if not name and document.get("name") == UNION:
                name = UNION
            arguments = plan.arguments.get(expression, ())
            if name == UNION:
                self._add_union(expression, arguments)
            elif arguments:
                self._nested.add(expression, name, arguments)

    def _add_union(self, node: Node, values: tuple[Node, ...]) -> None:
        """Add the columns of the inputs: the fields of structs have the names of the first."""
        plan = self._plan
        for value in values:
            self._nested.add_renamed(node, value, plan.type_id(value), plan.type_id(values[0]))

    def _add_attributes(self) -> None:
        plan = self._plan
        for attribute, document in plan.attributes.items():
            computed = plan.computed_by.get(attribute, ())
            for expression in computed:
                self.graph.add(attribute, expression)
            # The agent omits the expressions of some operations (MERGE INTO).
            for value in () if computed else plan.derives_from.get(attribute, ()):
                if other := plan.attributes.get(value):
                    is_same = all(other.get(name) == document.get(name) for name in ("name", "dataType"))
                    step = Transformation.IDENTITY if is_same else Transformation.TRANSFORMATION
                    self.graph.add(attribute, value, step)

    # Reads

    def _read(self, operation: str) -> None:
        plan, graph = self._plan, self.graph
        if plan.queries(operation):
            self.queries[operation] = self._read_query(operation)
            return
        stored = set(plan.list_stored(operation))
        for attribute in plan.output(operation):
            if attribute not in stored:
                graph[attribute].is_constant = True
            elif name := plan.name(attribute):
                graph[attribute].columns = tuple(SourceColumn(read, name) for read in plan.reads[operation])

    def _read_query(self, operation: str) -> QueryRead:
        """Add the inputs of a read's attributes, as columns of the query's tables."""
        plan, graph = self._plan, self.graph
        queries, attributes = plan.queries(operation), plan.output(operation)
        # Unreadable queries are reported where their tables are determined.
        if len(queries) != 1 or queries[0] is None:
            return QueryRead()
        lineage = queries[0].columns([plan.name(column) for column in attributes])
        tables = {Reference("", uri, plan.application): names for uri, names in lineage.columns.items()}
        read = QueryRead(columns=tables, problems=lineage.problems)

        def column(flow: ColumnFlow[str] | Influence[str]) -> Value[Reference]:
            value = graph[f"{operation}/{flow.source}|{flow.column}"]
            value.columns = (SourceColumn(Reference("", flow.source, plan.application), flow.column),)
            return value

        for attribute, flows in zip(attributes, lineage.flows, strict=True):
            value = graph[attribute]
            if flows is None:
                continue
            value.is_constant = True
            for expression, of_expression in groupby(flows, key=lambda flow: flow.expression):
                computed: Value[Reference] = Value(text=expression)
                for flow in of_expression:
                    for step in flow.transformations:
                        (value if step is Transformation.IDENTITY else computed).add(column(flow), step)
                if computed.inputs:
                    value.add(computed)
        for influence in lineage.influences:
            for kind in influence.kinds:
                read.rows.add(kind, column(influence))
        return read

    # Operations that create attributes

    def _new_attributes(self, operation: str) -> list[tuple[int, str]]:
        """Return attributes with positions that neither a child outputs nor an expression computes."""
        below = self._plan.outputs_below(operation)
        return [
            (position, attribute)
            for position, attribute in enumerate(self._plan.output(operation))
            if attribute not in below and not self._plan.computed_by.get(attribute)
        ]

    def _cte_reference(self, operation: str) -> None:
        cte = self._plan.params(operation).get("cteId")
        for position, attribute in enumerate(self._plan.output(operation)):
            self.graph.add(attribute, cte_column(cte, position))

    def _cte_definition(self, operation: str) -> None:
        self._match_by_position(operation)
        cte = self._plan.params(operation).get("id")
        for position, value in enumerate(self._plan.output(operation)):
            self.graph.add(cte_column(cte, position), value)

    def _match_by_position(self, operation: str) -> None:
        if len(self._plan.children.get(operation, ())) == 1:
            self._union(operation)

    def _union(self, operation: str) -> None:
        """Add each new column as made of those of all inputs at its position.

        A union's if no expression records it (producer API 1).
        """
        below = [self._plan.output(child) for child in self._plan.children.get(operation, ())]
        if all(len(columns) == len(self._plan.output(operation)) for columns in below):
            for position, attribute in self._new_attributes(operation):
                if not self.graph[attribute].inputs:
                    self._add_union(attribute, tuple(columns[position] for columns in below))

    def _expand(self, operation: str) -> None:
        plan = self._plan
        new = self._new_attributes(operation)
        at_position = dict(new)
        for use in plan.uses.get(operation, ()):
            if len(use.path) == 3 and use.path[0] == "projections":
                attribute = at_position.get(int(use.path[2]))
                if attribute and use.value != attribute:
                    self.graph.add(attribute, use.value)
        for index, (_, attribute) in enumerate(new):
            if plan.name(attribute) == _GROUPING_ID:
                self._grouping(attribute, [grouped for _, grouped in new[:index]])

    def _grouping(self, grouping_id: str, grouped: list[str]) -> None:
        """Add `grouping(column)`: a bit of the grouping id that depends on this column only."""
        plan, graph = self._plan, self.graph
        graph[grouping_id].is_constant = True
        for attribute in grouped:
            graph.add(grouping_id, attribute, Transformation.CONDITIONAL)
        for expression in plan.expressions:
            arguments = plan.arguments.get(expression, ())
            is_shift = plan.class_name(expression) == "ShiftRight"
            if not is_shift or len(arguments) != 2 or arguments[0] != grouping_id:
                continue
            bit = (plan.expressions.get(arguments[1]) or {}).get("value")
            if isinstance(bit, int) and 0 <= bit < len(grouped):
                graph[expression].inputs = []
                graph.add(expression, grouped[len(grouped) - 1 - bit], Transformation.CONDITIONAL)

    def _generate(self, operation: str) -> None:
        """Add a generator: columns of `stack(n, a, b, c, d)` have separate arguments."""
        plan = self._plan
        generator = next(iter(plan.parameter(operation, "generator")), "")
        if generator not in plan.expressions:
            return
        below = plan.outputs_below(operation)
        new = [attribute for attribute in plan.output(operation) if attribute not in below]
        if plan.class_name(generator) != "Stack":
            if self._nested.generate(generator, new):
                self.generated.update(dict.fromkeys(new, generator))
            return
        arguments = plan.arguments.get(generator, ())
        rows = (plan.expressions.get(arguments[0]) or {}).get("value") if arguments else None
        if not isinstance(rows, int) or rows < 1:
            return
        columns = -(-(len(arguments) - 1) // rows)
        if len(new) != columns:
            return
        for position, attribute in enumerate(new):
            self.graph[attribute].inputs = []
            self.generated[attribute] = generator
            for argument in arguments[1 + position :: columns]:
                self.graph.add(attribute, argument, Transformation.TRANSFORMATION)

    def _merge_rows(self, operation: str) -> None:
        """Add Iceberg's and Delta's MERGE: each `Keep` has a condition and a value for every column."""
        output = self._plan.output(operation)
        for use in self._plan.uses.get(operation, ()):
            values = self._plan.arguments.get(use.value, ())
            if use.path[:1] and use.path[0] in _MERGE_CLAUSES and len(values) == len(output) + 1:
                for attribute, value in zip(output, values[1:], strict=True):
                    if attribute != value and not self._plan.computed_by.get(attribute):
                        self.graph.add(attribute, value)


_OPERATIONS: Mapping[str, Callable[[Attributes, str], None]] = {
    "CTERelationRef": Attributes._cte_reference,
    "CTERelationDef": Attributes._cte_definition,
    "Expand": Attributes._expand,
    "Generate": Attributes._generate,
    "MergeRows": Attributes._merge_rows,
    "Union": Attributes._union,
    # They output one row per input row with the same columns, under new attributes in some versions of Spark.
    "View": Attributes._match_by_position,
    "SubqueryAlias": Attributes._match_by_position,
}


def cte_column(cte: object, position: int) -> Node:
    """Return the node of a CTE's column, shared by the plan and subqueries' text."""
    return f"cte/{cte}/{position}"
