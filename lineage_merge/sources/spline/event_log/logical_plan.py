"""Plans in Spark's extended form (`spark.sql.ui.explainMode`), by their optimized logical plan. Pure.

The logical plan has the expressions, and its relations the ids of the scans in the physical plan below, which
have the paths.
"""

import re
from collections.abc import Callable, Iterable, Mapping

from lineage_merge.sources.spline.columns.plan_text import TextOperation, items, lists, parse_plan, split_top
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode

_SECTION = re.compile(r"^== (?P<name>[A-Z][\w ]*) ==$", re.MULTILINE)
_LOGICAL, _PHYSICAL = "Optimized Logical Plan", "Physical Plan"
_SCAN = re.compile(
    r"FileScan (?P<format>\w+) (?P<table>[^\s\[]*)\[(?P<columns>[^\]]*)\].*? "
    r"Location: (?P<location>\w+(?:\(\d+ paths?\))? ?\[[^\]]*\])"
)
_SUBQUERY = re.compile(r"(?:scalar-subquery|list|exists|lateral-subquery)#(?P<id>\d+) \[[^\]]*\]")
_WRITE = "InsertIntoHadoopFsRelationCommand"


def parse_extended_plan(text: str) -> FormattedPlan | None:
    """Parse the text of a plan, None for another form."""
    starts = list(_SECTION.finditer(text))
    if not starts:
        return None
    ends = (*(start.start() for start in starts[1:]), len(text))
    sections = {start["name"]: text[start.end() : end] for start, end in zip(starts, ends, strict=True)}
    if _LOGICAL not in sections or _PHYSICAL not in sections:
        return None
    operations = parse_plan(sections[_LOGICAL].strip("\n"))
    if not operations:
        return None
    scans = [
        (frozenset(item.id for item in items(scan["columns"])[0]), scan)
        for scan in _SCAN.finditer(sections[_PHYSICAL])
    ]
    subqueries: dict[int, PhysicalNode] = {}
    nodes: dict[int, PhysicalNode] = {}
    for number, operation in reversed([*enumerate(operations, 1)]):
        node = nodes[id(operation)] = _convert(number, operation, scans)
        node.children = [nodes[id(child)] for child in operation.children]
        named = [int(matched["id"]) for matched in _SUBQUERY.finditer(operation.arguments)]
        for identifier, tree in zip(named, operation.subqueries, strict=False):
            subqueries.setdefault(identifier, nodes[id(tree)])
    return FormattedPlan(nodes[id(operations[0])], subqueries)


def _convert(
    number: int, operation: TextOperation, scans: Iterable[tuple[frozenset[int], re.Match[str]]]
) -> PhysicalNode:
    """Return an operation with the fields that the formatted form has."""
    arguments = _SUBQUERY.sub(lambda matched: f"subquery#{matched['id']}", operation.arguments)
    if operation.name == _WRITE:
        return PhysicalNode(number, f"Execute {_WRITE}", fields={"Arguments": arguments})
    if operation.name in ("Relation", "RelationV2", "HiveTableRelation"):
        return _relation(number, arguments, scans)
    fields = _FIELDS.get(operation.name, _as_arguments)(arguments)
    return PhysicalNode(number, operation.name, fields=dict(fields))


def _relation(
    number: int, arguments: str, scans: Iterable[tuple[frozenset[int], re.Match[str]]]
) -> PhysicalNode:
    listed, _ = items(next(iter(lists(arguments)), ""))
    own = {item.id for item in listed}
    output = f"[{', '.join(item.text for item in listed)}]"
    found = next((scan for ids, scan in scans if ids & own), None)
    if found is None:
        return PhysicalNode(number, "Relation", fields={"Output": output})
    name = " ".join(filter(None, ("Scan", found["format"], found["table"])))
    return PhysicalNode(number, name, fields={"Output": output, "Location": found["location"]})


def _as_arguments(arguments: str) -> Mapping[str, str]:
    return {"Arguments": arguments}


def _as_output(arguments: str) -> Mapping[str, str]:
    return {"Output": arguments}


def _as_condition(arguments: str) -> Mapping[str, str]:
    return {"Condition": arguments}


def _as_join(arguments: str) -> Mapping[str, str]:
    kind, _, rest = arguments.partition(", ")
    hint = re.search(r", (?:leftHint|rightHint)=.*$", rest)
    condition = rest[: hint.start()] if hint else rest
    return {"Join type": kind, "Join condition": condition or "None"}


def _as_aggregate(arguments: str) -> Mapping[str, str]:
    parts = lists(arguments)
    keys = parts[0] if len(parts) > 1 else ""
    return {"Keys": f"[{keys}]", "Results": f"[{parts[-1] if parts else ''}]"}


def _as_generate(arguments: str) -> Mapping[str, str]:
    """Return the generator and its columns; columns that are not kept are given by position."""
    parts = split_top(arguments)
    return {"Arguments": f"{parts[0]}, {parts[-1]}"}


_FIELDS: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "Project": _as_output,
    "Filter": _as_condition,
    "Join": _as_join,
    "Aggregate": _as_aggregate,
    "Generate": _as_generate,
}
