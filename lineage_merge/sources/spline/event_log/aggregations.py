"""Aggregates, whose stages are operations of their own, and those of Python functions. Pure."""

import re
from collections.abc import Mapping, Sequence

from lineage_merge.sources.spline.columns.plan_text import (
    TextItem,
    column_references,
    lists,
    split_top,
)
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.plan_builder import Output, PlanBuilder

_STAGE = re.compile(r"^(?:partial|merge)_")
_FILTER_OF_AGGREGATE = re.compile(r" FILTER \(WHERE .*\)$", re.DOTALL)
# The result of a Python function under a second id: `mean(a#1)#2#3 AS m#4`.
_REPEATED_ID = re.compile(r"(\)#\d+L?)#\d+L?")


def aggregate(plan: PlanBuilder, node: PhysicalNode, seen: Output) -> Output:
    functions = split_top(node.list_of("Functions"))
    results = plan.list_columns(node, "Results")
    if functions and all(map(_STAGE.match, functions)):
        return _partial(plan, functions, results, seen)
    scope = dict(seen.scope)
    made = plan.list_items(node, node.list_of("Aggregate Attributes"))
    # Above a branch that is used again, functions name the ids of the branch that it replaces.
    by_position = list(seen.aggregated.values()) if len(seen.aggregated) == len(functions) else []
    for position, (function, item) in enumerate(zip(functions, made, strict=False)):
        known = seen.aggregated.get(_strip_filter(function))
        if known is None and by_position and not _is_visible(plan, function, scope):
            known = by_position[position]
        value = {"__exprId": known} if known else plan.parts.add_expression(function, scope)
        scope[item.id] = plan.parts.add_attribute(item.id, item.name, value)
    keys = plan.list_items(node, node.list_of("Keys"))
    grouping = [plan.parts.add_expression(item.expression or item.text, scope) for item in keys]
    for item in keys:
        if item.expression:
            value = plan.parts.add_expression(item.expression, scope)
            scope[item.id] = plan.parts.add_attribute(item.id, item.name, value)
    params: Document = {"groupingExpressions": grouping} if grouping else {}
    operation = plan.add_operation("Aggregate", [seen], params)
    if "Results" in node.fields:
        columns = plan.compute(results, Output("", [], {}), scope)
    else:
        columns = [(0, plan.parts.add_attribute(0, "", None)) for _ in (*keys, *functions)]
        plan.problems.append(("no-columns", node.name, "this form of a plan has no results of aggregates"))
    plan.finish(operation, columns)
    return Output(operation, columns, scope | dict(columns))


def _is_visible(plan: PlanBuilder, text: str, scope: Mapping[int, str]) -> bool:
    return all(column.id in scope for column in column_references(text))


def _partial(
    plan: PlanBuilder, functions: Sequence[str], results: Sequence[TextItem], seen: Output
) -> Output:
    """Return the buffers of an aggregation: only its last stage has a result."""
    aggregated = dict(seen.aggregated)
    for function in functions:
        if function.startswith("partial_"):
            text = function.removeprefix("partial_")
            value = plan.parts.add_expression(text, seen.scope)
            aggregated.setdefault(_strip_filter(text), value["__exprId"])
    columns = [(item.id, seen.scope[item.id]) for item in results if item.id in seen.scope]
    return Output(seen.operation, columns, seen.scope, aggregated)


def aggregate_in_pandas(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    parts = lists(node.fields.get("Arguments", ""))
    if len(parts) != 3:
        return plan.lose_columns(node, below)
    seen, scope = below[0], dict(below[0].scope)
    for text in split_top(parts[1]):
        function, _, identifier = text.rpartition("#")
        value = plan.parts.add_expression(function, scope)
        scope[int(identifier)] = plan.parts.add_attribute(int(identifier), function, value)
    keys = [
        plan.parts.add_expression(item.expression or item.text, scope)
        for item in plan.list_items(node, parts[0])
    ]
    operation = plan.add_operation("Aggregate", below, {"groupingExpressions": keys})
    columns = plan.compute(
        plan.list_items(node, _REPEATED_ID.sub(r"\1", parts[2])), Output("", [], {}), scope
    )
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def _strip_filter(function: str) -> str:
    return _FILTER_OF_AGGREGATE.sub("", function)
