"""A physical plan as a document of the producer API: operations, attributes, expressions as text. Pure.

Ids of attributes are those of Spark, but an operation that outputs the ids of its first input under another
value (a union) or that repeats those of another part of the plan gives them new ones: they are resolved per
operation.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from lineage_merge.column_lineage.data_types import fields_of
from lineage_merge.sources.spline.columns.plan_text import (
    TextItem,
    column_references,
    items,
    lists,
    split_top,
)
from lineage_merge.sources.spline.columns.plan_text import item as parse_item
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.document_parts import (
    GROUPING_ID,
    DocumentParts,
    split_by_names,
    split_conjuncts,
)
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode

_PASSING = frozenset(
    """
    AQEShuffleRead AdaptiveSparkPlan BroadcastExchange BroadcastQueryStage Coalesce CoalescedRDD CollectLimit
    CollectMetrics ColumnarToRow CustomShuffleReader Exchange GlobalLimit InputAdapter LocalLimit
    PartialMergeLimit RebalancePartitions Repartition RepartitionByExpression ResultQueryStage RowToColumnar
    Sample ShuffleQueryStage StateStoreRestore StateStoreSave SubqueryAlias TableCacheQueryStage View
    WholeStageCodegen
    """.split()
)
_PLANS = ("Initial Plan", "Final Plan", "Current Plan")
_AGGREGATES = frozenset({"Aggregate", "HashAggregate", "ObjectHashAggregate", "SortAggregate"})
_JOIN = re.compile(r"^(?:BroadcastHash|SortMerge|ShuffledHash|BroadcastNestedLoop)?Join\b|^CartesianProduct")
_STAGE = re.compile(r"^(?:partial|merge)_")
_FILTER_OF_AGGREGATE = re.compile(r" FILTER \(WHERE .*\)$", re.DOTALL)
_NOT_NULL = re.compile(r"^isnotnull\((?P<value>.*)\)$", re.DOTALL)
_NOT_EMPTY = re.compile(r"^\(?size\(.*, (?:true|false)\) > 0\)?$", re.DOTALL)
_EXISTENCE = re.compile(r"ExistenceJoin\((?P<name>.*)#(?P<id>\d+)\)")
# Spark's own function for the columns that a table is partitioned by.
_EMPTY_TO_NULL = re.compile(r"^empty2null\((.*)\)$", re.DOTALL)
_STACK = re.compile(r"^stack\((?P<rows>\d+), (?P<values>.*)\)$", re.DOTALL)
_CAST = re.compile(r"^(?:ansi_)?cast\((?P<column>[^\s()]*#(?P<id>\d+)L?) as (?P<type>\w+(?:\(\d+,\d+\))?)\)$")
# The result of a Python function under a second id: `mean(a#1)#2#3 AS m#4`.
_REPEATED_ID = re.compile(r"(\)#\d+L?)#\d+L?")

Column = tuple[int, str]


@dataclass(slots=True)
class Output:
    """What an operation returns: its columns in order, as (id in Spark, attribute).

    `scope`: the attributes of all ids that are known below, also of those that are no longer passed on.
    `aggregated`: the partial functions of an aggregation, by their text.
    """

    operation: str
    columns: list[Column] = field(default_factory=list)
    scope: dict[int, str] = field(default_factory=dict)
    aggregated: dict[str, str] = field(default_factory=dict)


class PlanOperations:
    """Collects the operations of a plan; `problems` are (kind, field, message)."""

    def __init__(self, plan: FormattedPlan, read: Callable[[PhysicalNode], Document | None]) -> None:
        self._plan = plan
        self._read_source = read
        self._outputs: dict[int, Output] = {}
        self._by_number: dict[int, Output] = {}
        self._join_keys: set[int] = set()
        # The columns of an operation as the one above lists them.
        self._expected: dict[int, list[TextItem]] = {}
        self.reads: list[Document] = []
        self.others: dict[str, Document] = {}
        self.parts = DocumentParts()
        self.problems: list[tuple[str, str, str]] = []

    def read(self, root: PhysicalNode) -> Output:
        """Add the operations of a tree and of its subqueries; return what it outputs."""
        for identifier, tree in self._plan.subqueries.items():
            output = self._read_tree(tree)
            if output.columns:
                self.parts.subqueries[identifier] = output.columns[0][1]
        return self._read_tree(root)

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
                self._expected[id(children[0])] = items(node.list_of("Input"))[0]
        for node in reversed(order):
            below = [self._outputs[id(child)] for child in _children(node)]
            output = self._outputs[id(node)] = self._operation(node, below)
            if node.number:
                self._by_number[node.number] = output
        return self._outputs[id(root)]

    def _note_join_keys(self, nodes: Iterable[PhysicalNode]) -> None:
        for node in nodes:
            for key in ("Left keys", "Right keys", "Join condition"):
                self._join_keys.update(column.id for column in column_references(node.fields.get(key, "")))

    def _operation(self, node: PhysicalNode, below: list[Output]) -> Output:
        name = node.name
        if name.startswith("Scan In-memory table") and below:
            return self._read_cached(node, below)
        if not below and not name.startswith("ReusedExchange"):
            return self._read_leaf(node)
        if name in _PASSING or name in _PLANS:
            return below[0]
        if name in _AGGREGATES:
            return self._aggregate(node, below[0])
        if _JOIN.match(name):
            return self._join(node, below)
        handler = _HANDLERS.get(name.split(" ")[0])
        if handler is not None:
            return handler(self, node, below)
        return self._read_unknown(node, below)

    # Parts of a document

    def _add_operation(self, name: str, children: Sequence[Output], params: Document | None = None) -> str:
        identifier = f"op-{len(self.others)}"
        document: Document = {"id": identifier, "name": name}
        document["childIds"] = [child.operation for child in children]
        self.others[identifier] = document | ({"params": params} if params else {})
        return identifier

    def _finish(self, operation: str, columns: Iterable[Column]) -> None:
        output = [attribute for _, attribute in columns]
        if output:
            self.others[operation]["output"] = output

    def _list(self, node: PhysicalNode, key: str) -> list[TextItem]:
        """Return the columns of a list; literals in it may look like separators and columns."""
        text = node.list_of(key)
        listed, _ = items(text)
        expected = self._expected.get(id(node))
        if expected is not None and [item.id for item in listed] != [item.id for item in expected]:
            return split_by_names(text, expected) or [TextItem(i.id, i.name, "", i.text) for i in expected]
        return listed

    def _compute(self, listed: Sequence[TextItem], seen: Output, scope: Mapping[int, str]) -> list[Column]:
        """Return the columns of a list of expressions."""
        columns: list[Column] = []
        known = dict(seen.columns)
        for item in (self._parse_named(item, scope) for item in listed):
            if not item.expression and item.id in known:
                columns.append((item.id, known[item.id]))
            elif not item.expression and item.id in scope:
                columns.append((item.id, scope[item.id]))
            elif item.expression:
                text = _EMPTY_TO_NULL.sub(r"\1", item.expression)
                value = self.parts.add_expression(self._strip_cast(text, scope), scope)
                columns.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
            else:
                columns.append((item.id, self.parts.add_attribute(item.id, item.name, None)))
        return columns

    def _strip_cast(self, text: str, scope: Mapping[int, str]) -> str:
        """Return the text without a cast of a column to the type that it has."""
        matched = _CAST.match(text)
        attribute = scope.get(int(matched["id"])) if matched else None
        is_same = matched and attribute and self.parts.types.get(attribute) == matched["type"]
        return matched["column"] if matched and is_same else text

    def _find(self, known: Mapping[int, str], item: TextItem) -> Column:
        """Return a column of those that are known; else it is one of unknown origin."""
        return item.id, known.get(item.id) or self.parts.add_attribute(item.id, item.name, None)

    def _parse_named(self, item: TextItem, scope: Mapping[int, str]) -> TextItem:
        """Return an item whose text begins with a column's name that looks like an alias."""
        for identifier, attribute in scope.items():
            name = str(self.parts.attributes[attribute]["name"])
            if " AS " in name and item.text.startswith(name):
                rest = item.text[len(name) :].removeprefix("`").removeprefix(f"#{identifier}")
                return parse_item(f"`{identifier}`#{identifier}{rest}")
        return item

    def _output(self, operation: str, columns: list[Column], *below: Output) -> Output:
        scope: dict[int, str] = {}
        for output in below:
            scope |= output.scope
        return Output(operation, columns, scope | dict(columns))

    # Leaves

    def _read_leaf(self, node: PhysicalNode) -> Output:
        listed, _ = items(node.list_of("Output"))
        source = self._read_source(node)
        operation = f"op-read-{len(self.reads)}" if source is not None else f"op-{len(self.others)}"
        is_empty = source is None and node.name.split(" ")[0] in ("LocalTableScan", "Range")
        columns = []
        types = dict(fields_of(node.fields.get("ReadSchema", "")) or ())
        for item in listed:
            constant = self.parts.add_expression("", {}) if is_empty else None
            attribute = self.parts.add_attribute(item.id, item.name, constant)
            self.parts.types[attribute] = types.get(item.name, "")
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

    def _reuse(self, node: PhysicalNode, _: list[Output]) -> Output:
        """Return another branch under other ids, by position."""
        number = re.search(r"operator id: (\d+)", node.title)
        original = self._by_number.get(int(number[1])) if number else None
        listed, _more = items(node.list_of("Output"))
        if original is None:
            return self._read_unknown(node, [])
        pairs = zip(listed, original.columns, strict=False)
        columns = [(item.id, attribute) for item, (_, attribute) in pairs]
        return replace(self._select(node.name, original, columns), aggregated=original.aggregated)

    def _select(self, name: str, seen: Output, columns: list[Column]) -> Output:
        """Return columns of another output."""
        operation = self._add_operation(name, [seen])
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    # Operations

    def _project(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        listed = self._list(node, "Output")
        operation = self._add_operation("Project", below)
        columns = self._compute(listed, seen, seen.scope)
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _filter(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        condition = node.fields.get("Condition", "")
        kept = [part for part in split_conjuncts(condition) if not self._is_invented(part, condition)]
        if not kept:
            return seen
        params = {"condition": self.parts.add_expression(" AND ".join(kept), seen.scope)}
        operation = self._add_operation("Filter", below, params)
        self._finish(operation, seen.columns)
        return Output(operation, seen.columns, seen.scope, seen.aggregated)

    def _is_invented(self, part: str, condition: str) -> bool:
        """Return whether the optimizer added a condition: for another one, a key, or a generator."""
        if _NOT_EMPTY.match(part):
            return True
        matched = _NOT_NULL.match(part)
        if not matched:
            return False
        ids = {column.id for column in column_references(matched["value"])}
        others = [other for other in split_conjuncts(condition) if other != part]
        used = {column.id for other in others for column in column_references(other)}
        return ids <= used | self._join_keys

    def _join(self, node: PhysicalNode, below: list[Output]) -> Output:
        kind = node.fields.get("Join type", "") or " ".join(node.name.split(" ")[1:2])
        scope = {**below[0].scope, **below[-1].scope}
        parts = [*split_top(node.list_of("Left keys")), *split_top(node.list_of("Right keys"))]
        condition = node.fields.get("Join condition", "None")
        parts += [] if condition == "None" else [condition]
        params: Document = {"joinType": kind}
        if parts:
            params["condition"] = self.parts.add_expression(" AND ".join(parts), scope)
        existence = _EXISTENCE.search(kind)
        if existence:
            params["joinType"] = "ExistenceJoin"
        operation = self._add_operation("Join", below, params)
        if kind in ("LeftSemi", "LeftAnti"):
            columns = list(below[0].columns)
        elif existence:
            value = self.parts.add_expression(f"exists({' AND '.join(parts)})", scope)
            attribute = self.parts.add_attribute(int(existence["id"]), existence["name"], value)
            columns = [*below[0].columns, (int(existence["id"]), attribute)]
        else:
            columns = [column for output in below for column in output.columns]
        self._finish(operation, columns)
        return self._output(operation, columns, *below)

    def _aggregate(self, node: PhysicalNode, seen: Output) -> Output:
        functions = split_top(node.list_of("Functions"))
        results = self._list(node, "Results")
        if functions and all(map(_STAGE.match, functions)):
            return self._partial(functions, results, seen)
        scope = dict(seen.scope)
        made, _ = items(node.list_of("Aggregate Attributes"))
        # Above a branch that is used again, functions name the ids of the branch that it replaces.
        by_position = list(seen.aggregated.values()) if len(seen.aggregated) == len(functions) else []
        for position, (function, item) in enumerate(zip(functions, made, strict=False)):
            known = seen.aggregated.get(_strip_filter(function))
            if known is None and by_position and not self._is_visible(function, scope):
                known = by_position[position]
            value = {"__exprId": known} if known else self.parts.add_expression(function, scope)
            scope[item.id] = self.parts.add_attribute(item.id, item.name, value)
        keys = node.list_of("Keys")
        params: Document = {}
        if keys:
            params["groupingExpressions"] = [
                self.parts.add_expression(item.expression or item.text, scope) for item in items(keys)[0]
            ]
        for item in items(keys)[0]:
            if item.expression:
                value = self.parts.add_expression(item.expression, scope)
                scope[item.id] = self.parts.add_attribute(item.id, item.name, value)
        operation = self._add_operation("Aggregate", [seen], params)
        columns = self._compute(results, Output("", [], {}), scope)
        self._finish(operation, columns)
        return Output(operation, columns, scope | dict(columns))

    def _is_visible(self, text: str, scope: Mapping[int, str]) -> bool:
        return all(column.id in scope for column in column_references(text))

    def _partial(self, functions: Sequence[str], results: Sequence[TextItem], seen: Output) -> Output:
        """Return the buffers of an aggregation: only its last stage has a result."""
        aggregated = dict(seen.aggregated)
        for function in functions:
            if function.startswith("partial_"):
                text = function.removeprefix("partial_")
                value = self.parts.add_expression(text, seen.scope)
                aggregated.setdefault(_strip_filter(text), value["__exprId"])
        columns = [(item.id, seen.scope[item.id]) for item in results if item.id in seen.scope]
        return Output(seen.operation, columns, seen.scope, aggregated)

    def _window(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        operation = self._add_operation("Window", below)
        inside = next(iter(lists(node.fields.get("Arguments", ""))), "")
        columns = [*seen.columns, *self._compute(items(inside)[0], seen, seen.scope)]
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _sort(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        arguments = split_top(node.fields.get("Arguments", ""))
        if len(arguments) < 2 or arguments[1] != "true":
            return seen
        return self._sort_by(arguments[0], below, seen.columns)

    def _sort_by(self, order: str, below: list[Output], columns: list[Column]) -> Output:
        seen = below[0]
        params = {"order": [self.parts.add_expression(order, seen.scope)]}
        operation = self._add_operation("Sort", below, params)
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _take(self, node: PhysicalNode, below: list[Output]) -> Output:
        parts = lists(node.fields.get("Arguments", ""))
        seen = below[0]
        if len(parts) != 2:
            return self._read_unknown(node, below)
        sorted_rows = self._sort_by(parts[0], below, seen.columns)
        listed, more = items(parts[1])
        columns = self._compute(listed, seen, seen.scope)
        if more:
            self._note_cut(node, more)
        operation = self._add_operation("Project", [sorted_rows])
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _union(self, node: PhysicalNode, below: list[Output]) -> Output:
        columns: list[Column] = []
        for position, (identifier, attribute) in enumerate(below[0].columns):
            parts = [output.columns[position][1] for output in below if position < len(output.columns)]
            name = self.parts.attributes[attribute]["name"]
            children = [{"__attrId": part} for part in parts]
            value = self.parts.add_union(children)
            columns.append((identifier, self.parts.add_attribute(identifier, name, value)))
        operation = self._add_operation("Union", below)
        self._finish(operation, columns)
        return Output(operation, columns, dict(columns))

    def _generate(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        arguments = node.fields.get("Arguments", "")
        generator = split_top(arguments)[0] if arguments else ""
        parts = lists(arguments.removeprefix(generator))
        if not parts:
            return self._read_unknown(node, below)
        known = dict(seen.columns)
        # A logical plan lists the columns that are not kept, by position.
        kept = [item.id for item in items(parts[-2])[0]] if len(parts) > 1 else list(known)
        made, _ = items(parts[-1])
        stack = _STACK.match(generator)
        values = split_top(stack["values"]) if stack else []
        is_stack = bool(stack and made and len(values) == int(stack["rows"]) * len(made))
        new: list[Column] = []
        for position, item in enumerate(made):
            text = f"stack({', '.join(values[position :: len(made)])})" if is_stack else generator
            value = self.parts.add_expression(text, seen.scope, generator)
            new.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
        operation = self._add_operation("Generate", below)
        columns = [*((identifier, known[identifier]) for identifier in kept if identifier in known), *new]
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _expand(self, node: PhysicalNode, below: list[Output]) -> Output:
        seen = below[0]
        parts = lists(node.fields.get("Arguments", ""))
        if len(parts) != 2:
            return self._read_unknown(node, below)
        rows = [split_top(row) for row in lists(parts[0])]
        columns: list[Column] = []
        new: list[Column] = []
        known = dict(seen.columns)
        for position, item in enumerate(items(parts[1])[0]):
            texts = [row[position] for row in rows if position < len(row)]
            if item.name == GROUPING_ID:
                grouped = self.parts.grouped[item.id] = [attribute for _, attribute in new]
                value = self.parts.add_conditional(grouped)
                columns.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
                continue
            if item.id in known and all(text == item.text for text in texts):
                columns.append((item.id, known[item.id]))
                continue
            children = [self.parts.add_expression(text, seen.scope) for text in dict.fromkeys(texts)]
            value = self.parts.add_union(children)
            new.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
            columns.append(new[-1])
        operation = self._add_operation("Expand", below)
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _evaluate(self, node: PhysicalNode, below: list[Output]) -> Output:
        """Add the results of Python functions, by position."""
        seen = below[0]
        parts = lists(node.fields.get("Arguments", ""))
        if len(parts) < 2:
            return self._read_unknown(node, below)
        operation = self._add_operation(node.name, below)
        new: list[Column] = []
        for text, item in zip(split_top(parts[0]), items(parts[1])[0], strict=False):
            value = self.parts.add_expression(text.rpartition("#")[0], seen.scope)
            new.append((item.id, self.parts.add_attribute(item.id, item.name, value)))
        columns = [*seen.columns, *new]
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _read_cached(self, node: PhysicalNode, below: list[Output]) -> Output:
        """Return a cached plan, perhaps under other ids, by position or as the columns that are read."""
        seen = below[0]
        listed, _ = items(node.list_of("Output"))
        if not listed:
            return seen
        by_name = {self.parts.attributes[attribute]["name"]: attribute for _, attribute in seen.columns}
        known = {item.id: by_name[item.name] for item in listed if item.name in by_name} | dict(seen.columns)
        return self._select(node.name, seen, [self._find(known, item) for item in listed])

    def _select_written(self, node: PhysicalNode, below: list[Output]) -> Output:
        """Return the written columns: those that the operation below does not show are unknown."""
        known = dict(below[0].columns)
        columns = [self._find(known, item) for item in items(node.list_of("Input"))[0]]
        return self._select(node.name, below[0], columns) if columns else below[0]

    def _aggregate_in_pandas(self, node: PhysicalNode, below: list[Output]) -> Output:
        parts = lists(node.fields.get("Arguments", ""))
        if len(parts) != 3:
            return self._lose_columns(node, below)
        seen, scope = below[0], dict(below[0].scope)
        for text in split_top(parts[1]):
            function, _, identifier = text.rpartition("#")
            value = self.parts.add_expression(function, scope)
            scope[int(identifier)] = self.parts.add_attribute(int(identifier), function, value)
        keys = [self.parts.add_expression(item.expression or item.text, scope) for item in items(parts[0])[0]]
        operation = self._add_operation("Aggregate", below, {"groupingExpressions": keys})
        columns = self._compute(items(_REPEATED_ID.sub(r"\1", parts[2]))[0], Output("", [], {}), scope)
        self._finish(operation, columns)
        return self._output(operation, columns, seen)

    def _pass_relation(self, _: PhysicalNode, below: list[Output]) -> Output:
        return below[0]

    def _lose_columns(self, node: PhysicalNode, below: list[Output]) -> Output:
        """Add columns of a function over whole rows: their origin is unknown."""
        operation = self._add_operation(node.name, below)
        listed, _ = items(node.list_of("Output"))
        columns = [self._find({}, item) for item in listed]
        self._finish(operation, columns)
        return self._output(operation, columns, *below)

    def _read_unknown(self, node: PhysicalNode, below: list[Output]) -> Output:
        listed, _ = items(node.list_of("Output"))
        known = {identifier: attribute for output in below for identifier, attribute in output.columns}
        if not listed and below:
            return below[0]
        if not all(item.id in known for item in listed):
            self.problems.append(("no-columns", node.name, "an operation that is unknown: it loses columns"))
        operation = self._add_operation(node.name, below)
        columns = [self._find(known, item) for item in listed]
        self._finish(operation, columns)
        return self._output(operation, columns, *below)

    def _note_cut(self, node: PhysicalNode, more: int) -> None:
        what = f"Spark left out {more} of its columns (spark.sql.debug.maxToStringFields)"
        self.problems.append(("no-columns", node.name, what))


def _children(node: PhysicalNode) -> list[PhysicalNode]:
    """Return the inputs of a node; of a plan in several versions only the initial one."""
    plans = [child for child in node.children if child.name in _PLANS]
    if len(plans) > 1:
        return [next((plan for plan in plans if plan.name == "Initial Plan"), plans[0])]
    return node.children


def _strip_filter(function: str) -> str:
    return _FILTER_OF_AGGREGATE.sub("", function)


_Handler = Callable[[PlanOperations, PhysicalNode, list[Output]], Output]
_HANDLERS: Mapping[str, _Handler] = {
    "Project": PlanOperations._project,
    "Filter": PlanOperations._filter,
    "Sort": PlanOperations._sort,
    "TakeOrderedAndProject": PlanOperations._take,
    "Window": PlanOperations._window,
    "Union": PlanOperations._union,
    "Generate": PlanOperations._generate,
    "Expand": PlanOperations._expand,
    "ReusedExchange": PlanOperations._reuse,
    "InMemoryTableScan": PlanOperations._read_cached,
    "InMemoryRelation": PlanOperations._pass_relation,
    "WriteFiles": PlanOperations._select_written,
    "AggregateInPandas": PlanOperations._aggregate_in_pandas,
    **dict.fromkeys(("BatchEvalPython", "ArrowEvalPython"), PlanOperations._evaluate),
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
        PlanOperations._lose_columns,
    ),
}
