"""Plans of one line for each operation: Spark's simple form, and the tree beside a plan that is cut. Pure.

They have no results of aggregates: columns that only these name are unknown.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.spline.columns.plan_text import lists, split_top
from lineage_merge.sources.spline.event_log.formatted_plan import (
    BEGIN,
    SUBQUERY_ID,
    FormattedPlan,
    PhysicalNode,
    nodes,
    strip_subqueries,
)

_LINE = re.compile(r"^(?P<indent>[ :]*(?:[+:]- )?)(?:\*\(\d+\) |\* )?(?P<rest>[A-Z=].*)$")
_NAME = re.compile(r"(?:== \w+ Plan ==|Execute \w+|Subquery \S+|FileScan \w+|Scan \w+|\w+)")
_OPERATION = re.compile(rf"^(?P<name>{_NAME.pattern})(?P<arguments>.*)$", re.DOTALL)
_FILES = re.compile(
    r"^ ?(?P<table>[^\s\[]*)\[(?P<columns>[^\]]*)\].*? Location: "
    r"(?P<location>\w+(?:\(\d+ paths?\))? ?\[[^\]]*\])(?:.*? ReadSchema: (?P<schema>struct<.*))?$",
    re.DOTALL,
)
_SCAN = re.compile(r"^ ?(?P<table>[^\s\[]*) ?\[(?P<columns>[^\]]*)\](?P<rest>.*)$", re.DOTALL)
_KEYED = re.compile(r"(?P<key>keys|functions|orderBy|output)=\[")
_PLAN_ID = re.compile(r"\[(?:plan_id|id)=#?\d+\]$")
_CUT = "... "


def parse_simple_plan(text: str) -> FormattedPlan | None:
    """Parse the text of a plan in the simple form, None for another form."""
    _, found, rest = text.partition(BEGIN)
    tree = _nest((len(line["indent"]), line["rest"]) for line in _read_lines(rest)) if found else None
    return _make_plan(tree) if tree else None


def complete_plan(plan: FormattedPlan | None, info: Mapping[str, Any]) -> FormattedPlan | None:
    """Return a plan whose text is cut with the operations of the tree beside it, its `sparkPlanInfo`."""
    tree = _nest(_read_info(info))
    whole = _make_plan(tree) if tree else None
    if whole is None or plan is None:
        return whole or plan
    cut, known = [*nodes(plan.root)], [*nodes(whole.root)]
    # The last section ends somewhere.
    last = max((node.number for node in cut if node.fields), default=0)
    for node, other in zip(known, cut, strict=False):
        if node.name.split(" ")[0] != other.name.split(" ")[0]:
            break
        if other.fields and other.number != last:
            node.fields, node.name, node.title = other.fields, other.name, other.title
    return FormattedPlan(whole.root, plan.subqueries | whole.subqueries)


def _read_lines(text: str) -> Iterator[re.Match[str]]:
    return (line for line in map(_LINE.match, text.strip("\n").split("\n")) if line)


def _read_info(info: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    waiting = [(0, info)]
    while waiting:
        depth, node = waiting.pop()
        text = str(node.get("simpleString") or node.get("nodeName") or "")
        location = (node.get("metadata") or {}).get("Location")
        if location and "Location: " in text:
            before, _, after = text.partition(" Location: ")
            schema = (node.get("metadata") or {}).get("ReadSchema") or after.partition("ReadSchema: ")[2]
            text = f"{before} Location: {location}, ReadSchema: {schema}"
        yield depth, text
        waiting.extend((depth + 1, child) for child in reversed(node.get("children") or ()))


def _nest(lines: Iterator[tuple[int, str]]) -> PhysicalNode | None:
    """Return the tree of operations with their depths."""
    stack: list[tuple[int, PhysicalNode]] = []
    root: PhysicalNode | None = None
    for number, (depth, text) in enumerate(lines, 1):
        operation = _OPERATION.match(text)
        if operation is None:
            continue
        arguments = strip_subqueries(operation["arguments"]).strip()
        node = _convert(number, operation["name"], arguments)
        while stack and stack[-1][0] >= depth:
            stack.pop()
        if stack:
            stack[-1][1].children.append(node)
        root = root or node
        stack.append((depth, node))
    return root


def _make_plan(root: PhysicalNode) -> FormattedPlan:
    """Return a plan, with the subqueries apart that are children of operations."""
    plan = FormattedPlan(root)
    exchanges: dict[str, int] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        identifier = _PLAN_ID.search(node.fields.get("Arguments", ""))
        if identifier and node.name == "ReusedExchange" and identifier[0] in exchanges:
            node.title = f"Reuses operator id: {exchanges[identifier[0]]}"
        elif identifier:
            exchanges[identifier[0]] = node.number
        waiting.extend(reversed(node.children))
        for child in [child for child in node.children if child.name.startswith("Subquery ")]:
            node.children.remove(child)
            named = SUBQUERY_ID.search(child.name)
            if named and child.children:
                plan.subqueries.setdefault(int(named["id"]), child.children[0])
    return plan


def _convert(number: int, name: str, arguments: str) -> PhysicalNode:
    if name.startswith("== "):
        return PhysicalNode(0, name.strip("= "))
    if name.startswith("FileScan"):
        return _convert_scan(number, name, arguments)
    if name.startswith(("BatchScan", "Scan")):
        scan = _SCAN.match(arguments)
        fields = {"Output": f"[{scan['columns']}]", "": scan["rest"].strip()} if scan else {}
        table = scan["table"] if scan else arguments
        return PhysicalNode(number, f"{name} {table}".strip(), fields=fields)
    if name.endswith("Join") or name == "CartesianProduct":
        return PhysicalNode(number, name, fields=_as_join(arguments))
    fields = dict(_FIELDS.get(name, _as_arguments)(arguments))
    return PhysicalNode(number, name, fields=fields)


def _convert_scan(number: int, name: str, arguments: str) -> PhysicalNode:
    files = _FILES.match(arguments)
    title = " ".join(filter(None, (name.removeprefix("File"), files["table"] if files else "")))
    if files is None:
        return PhysicalNode(number, title)
    fields = {"Output": f"[{files['columns']}]", "Location": files["location"]}
    if files["schema"] and _CUT not in files["schema"]:
        fields["ReadSchema"] = files["schema"]
    return PhysicalNode(number, title, fields=fields)


def _as_arguments(arguments: str) -> Mapping[str, str]:
    return {"Arguments": arguments}


def _as_output(arguments: str) -> Mapping[str, str]:
    return {"Output": arguments}


def _as_first_list(arguments: str) -> Mapping[str, str]:
    return {"Output": f"[{next(iter(lists(arguments)), '')}]", "Arguments": arguments}


def _as_condition(arguments: str) -> Mapping[str, str]:
    return {"Condition": arguments}


def _as_join(arguments: str) -> dict[str, str]:
    """Return the fields of ``[a#1], [b#2], Inner, BuildRight, (condition), false`` in any order."""
    parts = split_top(arguments)
    keys = [part for part in parts if part.startswith("[")]
    conditions = [part for part in parts if "#" in part and part not in keys]
    kinds = [
        part
        for part in parts
        if part[:1].isupper() and not part.startswith("Build") and part not in conditions
    ]
    existence = next((part for part in parts if part.startswith("ExistenceJoin")), "")
    fields = {"Join type": existence or (kinds[0] if kinds else "Inner")}
    fields["Join condition"] = next((part for part in conditions if part != existence), "None")
    return fields | dict(zip(("Left keys", "Right keys"), keys, strict=False))


def _as_aggregate(arguments: str) -> Mapping[str, str]:
    """Return keys and functions; `(keys=[a#1], functions=[sum(b#2)])` has no results."""
    keyed = _read_keyed(arguments)
    return {"Keys": f"[{keyed.get('keys', '')}]", "Functions": f"[{keyed.get('functions', '')}]"}


def _as_first_rows(arguments: str) -> Mapping[str, str]:
    keyed = _read_keyed(arguments)
    return {"Arguments": f"0, [{keyed.get('orderBy', '')}], [{keyed.get('output', '')}]"}


def _read_keyed(arguments: str) -> dict[str, str]:
    inside = lists(arguments[1:-1]) if arguments.startswith("(") else []
    return dict(zip((matched["key"] for matched in _KEYED.finditer(arguments)), inside, strict=False))


_FIELDS: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "Project": _as_output,
    **dict.fromkeys(("InMemoryTableScan", "ReusedExchange", "LocalTableScan"), _as_first_list),
    "Filter": _as_condition,
    **dict.fromkeys(("HashAggregate", "ObjectHashAggregate", "SortAggregate"), _as_aggregate),
    "TakeOrderedAndProject": _as_first_rows,
}
