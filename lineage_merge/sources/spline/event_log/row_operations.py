"""Operations that pass rows on: projections, filters, joins, sorts, unions, cached and reused plans. Pure."""

import re
from dataclasses import replace

from lineage_merge.sources.spline.columns.plan_text import column_references, lists, split_top
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.event_log.document_parts import split_conjuncts
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode
from lineage_merge.sources.spline.event_log.plan_builder import Column, Output, PlanBuilder

_NOT_NULL = re.compile(r"^isnotnull\((?P<value>.*)\)$", re.DOTALL)
_NOT_EMPTY = re.compile(r"^\(?size\(.*, (?:true|false)\) > 0\)?$", re.DOTALL)
_EXISTENCE = re.compile(r"ExistenceJoin\((?P<name>.*)#(?P<id>\d+)\)")


def reuse_branch(plan: PlanBuilder, node: PhysicalNode, _: list[Output]) -> Output:
    """Return another branch under other ids, by position."""
    number = re.search(r"operator id: (\d+)", node.title)
    original = plan.by_number.get(int(number[1])) if number else None
    listed = plan.list_items(node, node.list_of("Output"))
    if original is None:
        return plan.read_unknown(node, [])
    pairs = zip(listed, original.columns, strict=False)
    columns = [(item.id, attribute) for item, (_, attribute) in pairs]
    return replace(plan.select(node.name, original, columns), aggregated=original.aggregated)


def project(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    listed = plan.list_columns(node, "Output")
    operation = plan.add_operation("Project", below)
    columns = plan.compute(listed, seen, seen.scope)
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def filter_rows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    condition = node.fields.get("Condition", "")
    kept = [part for part in split_conjuncts(condition) if not _is_invented(plan, part, condition)]
    if not kept:
        return seen
    params = {"condition": plan.parts.add_expression(" AND ".join(kept), seen.scope)}
    operation = plan.add_operation("Filter", below, params)
    plan.finish(operation, seen.columns)
    return Output(operation, seen.columns, seen.scope, seen.aggregated)


def _is_invented(plan: PlanBuilder, part: str, condition: str) -> bool:
    """Return whether the optimizer added a condition: for another one, a key, or a generator."""
    if _NOT_EMPTY.match(part):
        return True
    matched = _NOT_NULL.match(part)
    if not matched:
        return False
    ids = {column.id for column in column_references(matched["value"])}
    others = [other for other in split_conjuncts(condition) if other != part]
    used = {column.id for other in others for column in column_references(other)}
    return ids <= used | plan.join_keys


def join_rows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    kind = node.fields.get("Join type", "") or " ".join(node.name.split(" ")[1:2])
    scope = {**below[0].scope, **below[-1].scope}
    parts = [*split_top(node.list_of("Left keys")), *split_top(node.list_of("Right keys"))]
    condition = node.fields.get("Join condition", "None")
    parts += [] if condition == "None" else [condition]
    params: Document = {"joinType": kind}
    # A join that only says whether there are rows decides where its column does.
    existence = _EXISTENCE.search(kind)
    if parts and not existence:
        params["condition"] = plan.parts.add_expression(" AND ".join(parts), scope)
    operation = plan.add_operation("Join", below, params)
    if kind in ("LeftSemi", "LeftAnti"):
        columns = list(below[0].columns)
    elif existence:
        value = plan.parts.add_expression(f"exists({' AND '.join(parts)})", scope)
        attribute = plan.parts.add_attribute(int(existence["id"]), existence["name"], value)
        columns = [*below[0].columns, (int(existence["id"]), attribute)]
    else:
        columns = [column for output in below for column in output.columns]
    plan.finish(operation, columns)
    return plan.output(operation, columns, *below)


def sort_rows(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    seen = below[0]
    arguments = split_top(node.fields.get("Arguments", ""))
    if len(arguments) < 2 or arguments[1] != "true":
        return seen
    return _sort_by(plan, arguments[0], below, seen.columns)


def _sort_by(plan: PlanBuilder, order: str, below: list[Output], columns: list[Column]) -> Output:
    seen = below[0]
    params = {"order": [plan.parts.add_expression(order, seen.scope)]}
    operation = plan.add_operation("Sort", below, params)
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def take_first(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    parts = lists(node.fields.get("Arguments", ""))
    seen = below[0]
    if len(parts) != 2:
        return plan.read_unknown(node, below)
    sorted_rows = _sort_by(plan, parts[0], below, seen.columns)
    columns = plan.compute(plan.list_items(node, parts[1], seen.scope), seen, seen.scope)
    operation = plan.add_operation("Project", [sorted_rows])
    plan.finish(operation, columns)
    return plan.output(operation, columns, seen)


def unite(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    columns: list[Column] = []
    for position, (identifier, attribute) in enumerate(below[0].columns):
        parts = [output.columns[position][1] for output in below if position < len(output.columns)]
        name = plan.parts.attributes[attribute]["name"]
        children = [{"__attrId": part} for part in parts]
        value = plan.parts.add_union(children)
        columns.append((identifier, plan.parts.add_attribute(identifier, name, value)))
    operation = plan.add_operation("Union", below)
    plan.finish(operation, columns)
    return Output(operation, columns, dict(columns))


def read_cached(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    """Return a cached plan, perhaps under other ids, by position or as the columns that are read."""
    seen = below[0]
    listed = plan.list_items(node, node.list_of("Output"))
    if not listed:
        return seen
    by_name = {plan.parts.attributes[attribute]["name"]: attribute for _, attribute in seen.columns}
    known = {item.id: by_name[item.name] for item in listed if item.name in by_name} | dict(seen.columns)
    return plan.select(node.name, seen, [plan.find(known, item) for item in listed])


def select_written(plan: PlanBuilder, node: PhysicalNode, below: list[Output]) -> Output:
    """Return the written columns: those that the operation below does not show are unknown."""
    known = dict(below[0].columns)
    columns = [plan.find(known, item) for item in plan.list_items(node, node.list_of("Input"))]
    return plan.select(node.name, below[0], columns) if columns else below[0]
