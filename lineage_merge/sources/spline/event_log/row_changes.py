"""Changes of single rows (MERGE, UPDATE, DELETE) as a query: the values that they assign. Pure.

Iceberg writes files again, with the columns that stay as they are; Delta has commands with the clauses. Both
become assigned values, a row for each clause, above a filter by the conditions, above what is read.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from lineage_merge.column_lineage.pseudo_columns import ICEBERG
from lineage_merge.sources.spline.columns.plan_text import TextItem, column_references, items, split_top
from lineage_merge.sources.spline.documents import ROW_OPERATIONS
from lineage_merge.sources.spline.event_log.formatted_plan import FormattedPlan, PhysicalNode

_INSTRUCTION = re.compile(r"^(?P<name>keep|discard)\((?P<arguments>.*)\)$", re.DOTALL)
_NOT_DELETED = re.compile(r"^NOT \((?P<condition>.*) <=> true\)$", re.DOTALL)
_SUBQUERY = re.compile(r"subquery#(\d+)")
_LONG = re.compile(r"#\d+L$")
_UNCHANGED = "null"
# Ids of the written columns: those of a plan are smaller.
_FIRST_ID = 1 << 40
_ROOT = -1
_CLAUSES = re.compile(r"^\[(?:Update|Delete|Insert) \[")
_CLAUSE = re.compile(
    r"\w+ \[(?:condition: (?P<condition>.*?))?(?:, )?(?:actions: \[(?P<actions>`.*)\])?\]", re.DOTALL
)
_ACTION = re.compile(r"`(?P<column>[^`]*)` = (?P<value>.+)$", re.DOTALL)
_DELTA = re.compile(r"^Delta\[version=-?\d+, (?P<path>[^\]]+)\]$")


class RowChange(NamedTuple):
    """A change of rows: the name of the operation, and the query with the assigned values."""

    name: str
    rows: PhysicalNode


class _Clause(NamedTuple):
    """A condition, and the values of all columns in order (none: rows are deleted)."""

    condition: str
    values: tuple[str, ...]


def read_replaced_rows(node: PhysicalNode) -> RowChange | None:
    """Return the change behind a `ReplaceData` of Iceberg; None for a form that is not known."""
    columns = items(node.list_of("Input"))[0]
    chain = [*_chain(node)]
    merge = next((below for below in chain if below.name == "MergeRows"), None)
    if merge is not None:
        return _merge(merge, columns)
    scan = chain[-1]
    own = _own_columns(scan)
    if not own or scan.children or not columns:
        return None
    computing = [below for below in chain if below.name == "Project" and _list_computed(below)]
    if len(computing) == 1:
        return _update(computing[0], columns, own)
    deleting = [below for below in chain if below.name == "Filter"]
    matched = _NOT_DELETED.match(deleting[0].fields.get("Condition", "")) if len(deleting) == 1 else None
    if computing or matched is None:
        return None
    return _make_change("delete", scan, columns, [_Clause(_strip_brackets(matched["condition"]), ())])


def read_delta_update(node: PhysicalNode) -> tuple[RowChange, str] | None:
    """Return the change of an `UpdateCommand` of Delta, and the path of its table."""
    command = next((child for child in node.children if child.name == "UpdateCommand"), node)
    arguments = split_top(command.fields.get("Arguments", ""))
    relation = _leaf(command)
    paths = [*filter(None, map(_DELTA.match, arguments))]
    lists = [argument for argument in arguments if argument.startswith("[")]
    if relation.name != "LogicalRelation" or len(paths) != 1 or len(lists) != 1:
        return None
    output = next((part for part in split_top(relation.fields.get("Arguments", "")) if part[0] == "["), "")
    columns, more = items(output[1:-1])
    values = split_top(lists[0][1:-1])
    is_last = arguments[-1] == lists[0]
    condition = "" if is_last else arguments[-1]
    if more or len(values) != len(columns) or _SUBQUERY.search(" ".join(arguments)):
        return None
    fields = {"Output": output, "Location": f"TahoeBatchFileIndex [{paths[0]['path']}]"}
    scan = PhysicalNode(relation.number, "Scan delta", fields=fields)
    own = {column.name: column.text for column in columns}
    clause = _Clause(condition, _find_changed(columns, values, own))
    return _make_change("update", scan, columns, [clause]), paths[0]["path"]


@dataclass(frozen=True, slots=True)
class DeltaMerge:
    """A `MergeIntoCommand` of Delta: the `path` of its target, the condition of ON, and the clauses.

    `names` are the columns of the target, `assigned` the values of each clause by column, `columns` all
    columns in the text.
    """

    path: str
    condition: str
    names: tuple[str, ...]
    conditions: tuple[str, ...]
    assigned: tuple[Mapping[str, str], ...]
    columns: Mapping[int, str]

    def join(self, plan: FormattedPlan, source: PhysicalNode, output: Collection[int]) -> PhysicalNode | None:
        """Return the assigned values above the join of the target with a query; None if that is no source.

        `output` are the ids of the query's columns.
        """
        others = {identifier: text for identifier, text in self.columns.items() if identifier not in output}
        own = {text.rpartition("#")[0].strip("`"): text for text in others.values()}
        is_whole = len(own) == len(others) and own.keys() <= set(self.names)
        if not is_whole or any(self._is_target(node) for node in _nodes(plan.root)):
            return None
        fields = {
            "Output": f"[{', '.join(others.values())}]",
            "Location": f"TahoeBatchFileIndex [{self.path}]",
        }
        target = PhysicalNode(_ROOT, "Scan delta", fields=fields)
        fields = {"Join type": "FullOuter", "Join condition": self.condition}
        joined = PhysicalNode(_ROOT, "SortMergeJoin FullOuter", fields=fields, children=[target, source])
        columns = [TextItem(0, name, "", name) for name in self.names]
        clauses = [
            _Clause(
                condition, _find_changed(columns, (values.get(name, _UNCHANGED) for name in self.names), own)
            )
            for condition, values in zip(self.conditions, self.assigned, strict=True)
        ]
        return _make_change("merge", joined, columns, clauses).rows

    def _is_target(self, node: PhysicalNode) -> bool:
        return self.path.partition(":")[2].strip("/") in node.fields.get("Location", "")


def read_delta_merge(node: PhysicalNode) -> DeltaMerge | None:
    """Return a MERGE of Delta; None for a form that is not known."""
    command = next((child for child in node.children if child.name == "MergeIntoCommand"), node)
    text = command.fields.get("Arguments", "")
    arguments = split_top(text)
    paths = [*filter(None, map(_DELTA.match, arguments))]
    conditions = [argument for argument in arguments if argument.startswith("(")]
    if len(paths) != 1 or not conditions or _SUBQUERY.search(text) or "more fields" in text:
        return None
    found: list[tuple[str, dict[str, str]]] = []
    for part in arguments:
        if not _CLAUSES.match(part):
            continue
        for clause in split_top(part[1:-1]):
            matched = _CLAUSE.fullmatch(clause)
            actions = [*map(_ACTION.match, split_top(matched["actions"] or ""))] if matched else [None]
            if matched is None or not all(actions):
                return None
            values = {action["column"]: action["value"] for action in actions if action}
            found.append((matched["condition"] or "", values))
    names = tuple(dict.fromkeys(name for _, values in found for name in values))
    texts = (text for condition, values in found for text in (condition, *values.values()))
    columns = {
        column.id: f"{column.name}#{column.id}"
        for text in (conditions[0], *texts)
        for column in column_references(text)
    }
    if not names:
        return None
    assigned = tuple(values for _, values in found)
    deciding = tuple(condition for condition, _ in found)
    return DeltaMerge(paths[0]["path"], conditions[0], names, deciding, assigned, columns)


def select_subqueries(plan: FormattedPlan, root: PhysicalNode) -> FormattedPlan:
    """Return a plan with the subqueries that its operations name: others only find files to be written."""
    texts = (text for node in _nodes(root) for text in node.fields.values())
    named = {int(identifier) for text in texts for identifier in _SUBQUERY.findall(text)}
    kept = {identifier: tree for identifier, tree in plan.subqueries.items() if identifier in named}
    return FormattedPlan(root, kept, plan.is_cut)


def _nodes(root: PhysicalNode) -> Iterator[PhysicalNode]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting.extend(node.children)


def _chain(node: PhysicalNode) -> Iterator[PhysicalNode]:
    """Yield the operations below, as long as there is one."""
    while len(node.children) == 1:
        node = node.children[0]
        yield node


def _leaf(node: PhysicalNode) -> PhysicalNode:
    return [node, *_chain(node)][-1]


def _own_columns(scan: PhysicalNode) -> dict[str, str]:
    """Return the columns of a target that is read with the places of its rows, by name."""
    listed = items(scan.list_of("Output"))[0]
    names = {column.name for column in listed}
    is_target = scan.name.startswith("BatchScan") and "_file" in names
    return {column.name: column.text for column in listed if column.name not in ICEBERG} if is_target else {}


def _list_computed(project: PhysicalNode) -> list[TextItem]:
    return [column for column in items(project.list_of("Output"))[0] if column.expression]


def _update(project: PhysicalNode, columns: Sequence[TextItem], own: Mapping[str, str]) -> RowChange | None:
    known = {column.name: column for column in items(project.list_of("Output"))[0]}
    conditions: dict[str, None] = {}
    values: list[str] = []
    for column in columns:
        computed = known.get(column.name)
        if computed is None:
            return None
        if not computed.expression:
            values.append(_UNCHANGED)
            continue
        condition, value = _split_if(computed.expression, own.get(column.name, ""))
        conditions[condition] = None
        values.append(value)
    if len(conditions) != 1:
        return None
    clause = _Clause(next(iter(conditions)), tuple(values))
    return _make_change("update", project.children[0], columns, [clause])


def _split_if(text: str, own: str) -> tuple[str, str]:
    """Return condition and value of ``if (condition) value else own``, "" as that of another value."""
    ending = f" else {own}"
    if not (text.startswith("if (") and own and text.endswith(ending)):
        return "", text
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return text[len("if (") : position], text[position + 2 : -len(ending)]
    return "", text


def _merge(node: PhysicalNode, columns: Sequence[TextItem]) -> RowChange | None:
    lists = [part for part in split_top(node.fields.get("Arguments", "")) if part.startswith("[")]
    if len(lists) < 2 or len(node.children) != 1:
        return None
    *clauses, output = lists
    made, more = items(output[1:-1])
    targets = [own for below in _nodes(node) if (own := _own_columns(below))]
    if more or len(targets) != 1:
        return None
    places = {column.name: place for place, column in enumerate(made)}
    if not all(column.name in places for column in columns):
        return None
    read: list[_Clause] = []
    for text in (text for part in clauses for text in split_top(part[1:-1])):
        instruction = _INSTRUCTION.match(text)
        if instruction is None:
            return None
        condition, *values = split_top(instruction["arguments"])
        condition = "" if condition == "true" else condition
        if instruction["name"] == "discard":
            read.append(_Clause(condition, ()))
            continue
        if len(values) != len(made):
            return None
        ordered = [values[places[column.name]] for column in columns]
        changed = _find_changed(columns, ordered, targets[0])
        if any(value != _UNCHANGED for value in changed):
            read.append(_Clause(condition, changed))
    return _make_change("merge", node.children[0], columns, read)


def _find_changed(
    columns: Iterable[TextItem], values: Iterable[str], own: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values of a clause without those that are the same column of the target."""
    pairs = zip(columns, values, strict=True)
    return tuple(
        _UNCHANGED if column.name in own and _strip_mark(own[column.name]) == _strip_mark(value) else value
        for column, value in pairs
    )


def _strip_mark(column: str) -> str:
    """Return a column without the mark of a long."""
    return column.removesuffix("L") if _LONG.search(column) else column


def _make_change(
    mode: str, below: PhysicalNode, columns: Sequence[TextItem], clauses: Iterable[_Clause]
) -> RowChange:
    found = list(clauses)
    conditions = list(dict.fromkeys(clause.condition for clause in found if clause.condition))
    if conditions:
        text = " AND ".join(f"({condition})" for condition in conditions)
        below = PhysicalNode(_ROOT, "Filter", fields={"Condition": text}, children=[below])
    assigned = [clause.values for clause in found if clause.values] or [(_UNCHANGED,) * len(columns)]
    rows = ", ".join(f"[{', '.join(values)}]" for values in assigned)
    output = ", ".join(f"{column.name}#{_FIRST_ID + place}" for place, column in enumerate(columns))
    fields = {"Arguments": f"[{rows}], [{output}]"}
    return RowChange(ROW_OPERATIONS[mode], PhysicalNode(_ROOT, "Expand", fields=fields, children=[below]))


def _strip_brackets(text: str) -> str:
    """Return a condition without the brackets around it."""
    return text[1:-1] if text.startswith("(") and text.endswith(")") else text
