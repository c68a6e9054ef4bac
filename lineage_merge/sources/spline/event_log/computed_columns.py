"""Operations that add columns: windows, generators, the rows of an `Expand`, Python functions. Pure."""

import re

from lineage_merge.sources.spline.columns.plan_text import lists, split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.document_parts import GROUPING_ID
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.plan_builder import Column, Output, PlanBuilder

_STACK = re.compile(r"^stack\((?P<rows>\d+), (?P<values>.*)\)$", re.DOTALL)
_CLASSES = {"explode": "Explode", "posexplode": "PosExplode", "inline": "Inline"}
_UNFOLDING = re.compile(rf"^(?P<name>{'|'.join(_CLASSES)})\((?P<value>.*)\)$", re.DOTALL)


def compute_windows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    operation = plan.add_operation("Window", below)
    inside = next(iter(lists(node.fields.get("Arguments", ""))), "")
    columns = [*seen.columns, *plan.compute(plan.list_items(node, inside), seen, seen.scope)]
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def generate_rows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    arguments = node.fields.get("Arguments", "")
    generator = split_top(arguments)[0] if arguments else ""
    parts = lists(arguments.removeprefix(generator))
    if not parts:
        return plan.read_unknown(node, below)
    known = dict(seen.columns)
    # A logical plan lists the columns that are not kept, by position.
    kept = [item.id for item in plan.list_items(node, parts[-2])] if len(parts) > 1 else list(known)
    made = plan.list_items(node, parts[-1])
    stack = _STACK.match(generator)
    values = split_top(stack["values"]) if stack else []
    is_stack = bool(stack and made and len(values) == int(stack["rows"]) * len(made))
    call = _UNFOLDING.match(generator)
    params: Document = {}
    if call is not None:
        whole = plan.parts.add_value(call["value"], seen.scope)
        params["generator"] = plan.parts.add_function(call["name"], [whole], _CLASSES[call["name"]])
    new: list[Column] = []
    for position, item in enumerate(made):
        text = f"stack({', '.join(values[position :: len(made)])})" if is_stack else generator
        value = params.get("generator") or plan.parts.add_expression(text, seen.scope, generator)
        new.append((item.id, plan.parts.add_attribute(item.id, item.name, value)))
    operation = plan.add_operation("Generate", below, params)
    columns = [*((identifier, known[identifier]) for identifier in kept if identifier in known), *new]
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def expand_rows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    parts = lists(node.fields.get("Arguments", ""))
    if len(parts) != 2:
        return plan.read_unknown(node, below)
    rows = [split_top(row) for row in lists(parts[0])]
    columns: list[Column] = []
    new: list[Column] = []
    known = dict(seen.columns)
    for position, item in enumerate(plan.list_items(node, parts[1])):
        texts = [row[position] for row in rows if position < len(row)]
        if item.name == GROUPING_ID:
            grouped = plan.parts.grouped[item.id] = [attribute for _, attribute in new]
            value = plan.parts.add_conditional(grouped)
            columns.append((item.id, plan.parts.add_attribute(item.id, item.name, value)))
            continue
        if item.id in known and all(text == item.text for text in texts):
            columns.append((item.id, known[item.id]))
            continue
        children = [plan.parts.add_expression(text, seen.scope) for text in dict.fromkeys(texts)]
        value = plan.parts.add_union(children)
        new.append((item.id, plan.parts.add_attribute(item.id, item.name, value)))
        columns.append(new[-1])
    operation = plan.add_operation("Expand", below)
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def evaluate_functions(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    """Add the results of Python functions, by position."""
    seen = below[0]
    parts = lists(node.fields.get("Arguments", ""))
    if len(parts) < 2:
        return plan.read_unknown(node, below)
    operation = plan.add_operation(node.name, below)
    new: list[Column] = []
    for text, item in zip(split_top(parts[0]), plan.list_items(node, parts[1]), strict=False):
        value = plan.parts.add_expression(text.rpartition("#")[0], seen.scope)
        new.append((item.id, plan.parts.add_attribute(item.id, item.name, value)))
    columns = [*seen.columns, *new]
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)
