"""A physical plan as a document of the producer API: its trees are read from the leaves up. Pure."""

import re
from collections.abc import Callable, Iterable, Mapping

from lineage_merge.column_lineage.data_types import fields_of
from lineage_merge.sources.spline.columns.plan_text import column_references, items
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.aggregations import aggregate, aggregate_in_pandas
from lineage_merge.sources.spline.event_log.computed_columns import (
    compute_windows,
    evaluate_functions,
    expand_rows,
    generate_rows,
)
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode
from lineage_merge.sources.spline.event_log.plan_builder import Output, PlanBuilder
from lineage_merge.sources.spline.event_log.row_operations import (
    filter_rows,
    join_rows,
    project,
    read_cached,
    reuse_branch,
    select_written,
    sort_rows,
    take_first,
    unite,
)

_PASSING = frozenset(
    """
    AQEShuffleRead AdaptiveSparkPlan BroadcastExchange BroadcastQueryStage Coalesce CoalescedRDD CollectLimit
    CollectMetrics ColumnarToRow CustomShuffleReader Exchange GlobalLimit InMemoryRelation InputAdapter
    LocalLimit PartialMergeLimit RebalancePartitions Repartition RepartitionByExpression ResultQueryStage
    RowToColumnar Sample ShuffleQueryStage StateStoreRestore StateStoreSave SubqueryAlias TableCacheQueryStage
    View WholeStageCodegen
    """.split()
)
# The rows of a batch of a stream, for the function that gets them.
_BATCH = "SQLExecutionRDD"
_PLANS = ("Initial Plan", "Final Plan", "Current Plan")
_AGGREGATES = frozenset({"Aggregate", "HashAggregate", "ObjectHashAggregate", "SortAggregate"})
_JOIN = re.compile(r"^(?:BroadcastHash|SortMerge|ShuffledHash|BroadcastNestedLoop)?Join\b|^CartesianProduct")


class PlanOperations(PlanBuilder):
    """Reads the operations of a plan; `read_source` returns the source of a leaf, None without one.

    `batch` is the plan behind the rows of a stream's batch, which a plan reads as an RDD.
    """

    def __init__(
        self,
        plan: FormattedPlan,
        read_source: Callable[[PhysicalNode], Document | None],
        batch: FormattedPlan | None = None,
    ) -> None:
        super().__init__()
        self._plan = plan
        self._read_source = read_source
        self._batch = batch
        self._outputs: dict[int, Output] = {}
        self._batch_rows: Output | None = None

    def read(self, root: PhysicalNode) -> Output:
        """Add the operations of a tree and of its subqueries; return what it outputs."""
        if self._batch is not None:
            self._read_subqueries(self._batch)
            self._batch_rows = self._read_tree(self._batch.root)
            self.by_number = {}
        self._read_subqueries(self._plan)
        return self._read_tree(root)

    def _read_subqueries(self, plan: FormattedPlan) -> None:
        for identifier, tree in plan.subqueries.items():
            output = self._read_tree(tree)
            if output.columns:
                self.parts.add_subquery(identifier, output.columns[0][1])

    def _read_tree(self, root: PhysicalNode) -> Output:
        order: list[PhysicalNode] = []
        waiting = [root]
        while waiting:
            node = waiting.pop()
            order.append(node)
            waiting.extend(_children(node))
        self._note_join_keys(order)
        for node in order:
            children = _children(node)
            if len(children) == 1 and "Input" in node.fields:
                self.expected[id(children[0])] = items(node.list_of("Input"))[0]
        for node in reversed(order):
            below = [self._outputs[id(child)] for child in _children(node)]
            output = self._outputs[id(node)] = self._operation(node, below)
            if node.number:
                self.by_number[node.number] = output
        return self._outputs[id(root)]

    def _note_join_keys(self, nodes: Iterable[PhysicalNode]) -> None:
        for node in nodes:
            for key in ("Left keys", "Right keys", "Join condition"):
                self.join_keys.update(column.id for column in column_references(node.fields.get(key, "")))

    def _operation(self, node: PhysicalNode, below: list[Output]) -> Output:
        name = node.name
        if name.startswith("Scan In-memory table") and below:
            return read_cached(self, node, below)
        if self._batch_rows is not None and _BATCH in node.fields.get("Arguments", ""):
            return read_cached(self, node, [self._batch_rows])
        if not below and not name.startswith("ReusedExchange"):
            return self._read_leaf(node)
        if name in _PASSING or name in _PLANS:
            return below[0]
        if name in _AGGREGATES:
            return aggregate(self, node, below[0])
        if _JOIN.match(name):
            return join_rows(self, node, below)
        handler = _HANDLERS.get(name.split(" ")[0])
        if handler is not None:
            return handler(self, node, below)
        return self.read_unknown(node, below)

    def _read_leaf(self, node: PhysicalNode) -> Output:
        listed, _ = items(node.list_of("Output"))
        source = self._read_source(node)
        operation = f"op-read-{len(self.reads)}" if source is not None else f"op-{len(self.others)}"
        is_empty = source is None and node.name.split(" ")[0] in ("LocalTableScan", "Range")
        columns = []
        types = dict(fields_of(node.fields.get("ReadSchema", "")) or ())
        for item in listed:
            if is_empty:
                constant = self.parts.add_expression("", {})
                attribute = self.parts.add_attribute(item.id, item.name, constant)
            else:
                attribute = self.parts.add_column(item.id, item.name, types.get(item.name, ""))
            columns.append((item.id, attribute))
        output = [attribute for _, attribute in columns]
        document: Document = {"id": operation, "name": node.name, "childIds": []}
        if output:
            document["output"] = output
        if source is not None:
            self.reads.append({**document, **source})
        else:
            self.others[operation] = document
        return Output(operation, columns, dict(columns))


def _children(node: PhysicalNode) -> list[PhysicalNode]:
    """Return the inputs of a node; of a plan in several versions only the initial one."""
    plans = [child for child in node.children if child.name in _PLANS]
    if len(plans) > 1:
        return [next((plan for plan in plans if plan.name == "Initial Plan"), plans[0])]
    return node.children


def _lose_columns(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    return plan.lose_columns(node, below)


_Handler = Callable[[PlanBuilder, PhysicalNode, list[Output]], Output]
_HANDLERS: Mapping[str, _Handler] = {
    "Project": project,
    "Filter": filter_rows,
    "Sort": sort_rows,
    "TakeOrderedAndProject": take_first,
    "Window": compute_windows,
    "Union": unite,
    "Generate": generate_rows,
    "Expand": expand_rows,
    "ReusedExchange": reuse_branch,
    "InMemoryTableScan": read_cached,
    "WriteFiles": select_written,
    "AggregateInPandas": aggregate_in_pandas,
    **dict.fromkeys(("BatchEvalPython", "ArrowEvalPython"), evaluate_functions),
    **dict.fromkeys(
        (
            "MapInPandas",
            "MapInArrow",
            "PythonMapInArrow",
            "FlatMapGroupsInPandas",
            "FlatMapCoGroupsInPandas",
            "DeserializeToObject",
            "SerializeFromObject",
            "MapElements",
            "MapPartitions",
        ),
        _lose_columns,
    ),
}
