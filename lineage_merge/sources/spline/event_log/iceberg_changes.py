"""Changes of single rows of Iceberg: files that are written again, or deltas of them. Pure.

Files that are written again (copy on write) have the columns that stay as they are; deltas (merge on read)
have rows that are deleted and inserted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from lineage_merge.column_lineage.pseudo_columns import ICEBERG
from lineage_merge.sources.spline.columns.plan_text import TextItem, items, lists, split_top
from lineage_merge.sources.spline.event_log.expression_text import closing_bracket, strip_brackets
from lineage_merge.sources.spline.event_log.formatted_plan import PhysicalNode, nodes
from lineage_merge.sources.spline.event_log.row_changes import (
    NO_NUMBER,
    UNCHANGED,
    Clause,
    RowChange,
    find_changed,
    make_change,
)

_INSTRUCTION = re.compile(r"^(?P<name>keep|discard|split)\((?P<arguments>.*)\)$", re.DOTALL)
_NOT_DELETED = re.compile(r"^NOT \((?P<condition>.*) <=> true\)$", re.DOTALL)
# A column of deltas: what is done with a row, and its values.
_OPERATION = "__row_operation"
_DELETED = "1"
# At the beginning of a condition of SQL: country = 'DE'
_COLUMN = re.compile(r"^(?!NOT\b)[A-Za-z_]\w*(?= )")


def find_target(node: PhysicalNode) -> PhysicalNode | None:
    """Return the scan of the table whose rows change: it reads the places of rows."""
    targets = [below for below in nodes(node) if _list_own_columns(below)]
    return targets[0] if len(targets) == 1 else None


def read_replaced_rows(node: PhysicalNode) -> RowChange | None:
    """Return the change behind a `ReplaceData`; None for a form that is not known."""
    columns = items(node.list_of("Input"))[0]
    target = find_target(node)
    if target is None or not columns:
        return None
    own = _list_own_columns(target)
    for operation in _chain(node):
        if operation.name == "MergeRows":
            return _merge(operation, columns, own)
        if operation.name == "Project" and any(made.expression for made in _list_output(operation)):
            return _update(operation, columns, own)
        deleted = _NOT_DELETED.match(operation.fields.get("Condition", ""))
        if operation.name == "Filter" and deleted:
            clause = Clause(strip_brackets(deleted["condition"]), ())
            return make_change("delete", operation.children[0], columns, [clause])
    return None


def read_deltas(node: PhysicalNode) -> RowChange | None:
    """Return the change behind a `WriteDelta`; None for a form that is not known."""
    target = find_target(node)
    if target is None:
        return None
    own = _list_own_columns(target)
    listed = items(node.list_of("Input"))[0]
    columns = [column for column in listed if column.name not in (*ICEBERG, _OPERATION)]
    columns = columns or [column for column in _list_output(target) if column.name in own]
    for operation in _chain(node):
        if operation.name == "MergeRows":
            return _merge(operation, columns, own)
        if operation.name == "Expand":
            rows, output = lists(operation.fields.get("Arguments", ""))
            places = {column.name: place for place, column in enumerate(items(output)[0])}
            values = [split_top(row) for row in lists(rows)]
        elif operation.name == "Project":
            made = _list_output(operation)
            places = {column.name: place for place, column in enumerate(made)}
            values = [[column.expression or column.text for column in made]]
        else:
            continue
        if _OPERATION in places:
            assigned = [row for row in values if row[places[_OPERATION]] != _DELETED]
            changed = [_find_assigned(columns, row, places, own) for row in assigned]
            name = "update" if assigned else "delete"
            return make_change(name, operation.children[0], columns, [Clause("", row) for row in changed])
    return None


def read_deleted_rows(node: PhysicalNode) -> tuple[RowChange, str] | None:
    """Return the change behind a `DeleteFromTable`, which deletes whole files, and the name of the table."""
    arguments = split_top(node.fields.get("Arguments", ""))
    if len(arguments) < 2 or not arguments[1].startswith("["):
        return None
    conditions = split_top(arguments[1][1:-1])
    ids: dict[str, int] = {}

    def add_id(column: re.Match[str]) -> str:
        return f"{column[0]}#{ids.setdefault(column[0], len(ids) + 1)}"

    clauses = [Clause(_COLUMN.sub(add_id, text), ()) for text in conditions]
    fields = {"Output": f"[{', '.join(f'{name}#{number}' for name, number in ids.items())}]"}
    fields[""] = f"{arguments[0]} [filters="
    scan = PhysicalNode(NO_NUMBER, f"BatchScan {arguments[0]}", fields=fields)
    return make_change("delete", scan, _list_output(scan), clauses), arguments[0]


def _merge(node: PhysicalNode, columns: Sequence[TextItem], own: Mapping[str, str]) -> RowChange | None:
    parts = [part for part in split_top(node.fields.get("Arguments", "")) if part.startswith("[")]
    if len(parts) < 2 or len(node.children) != 1:
        return None
    *clauses, output = parts
    made, more = items(output[1:-1])
    places = {column.name: place for place, column in enumerate(made)}
    if more or not all(column.name in places for column in columns):
        return None
    read: list[Clause] = []
    for text in (text for part in clauses for text in split_top(part[1:-1])):
        instruction = _INSTRUCTION.match(text)
        if instruction is None:
            return None
        condition, *values = split_top(instruction["arguments"])
        condition = "" if condition == "true" else condition
        rows = [values[start : start + len(made)] for start in range(0, len(values), len(made))]
        if rows and len(rows[-1]) != len(made):
            return None
        # Of a row that is split into one to delete and one to insert, the latter.
        kept = [row for row in rows if _OPERATION not in places or row[places[_OPERATION]] != _DELETED]
        if not kept:
            read.append(Clause(condition, ()))
            continue
        changed = _find_assigned(columns, kept[0], places, own)
        if any(value != UNCHANGED for value in changed):
            read.append(Clause(condition, changed))
    return make_change("merge", node.children[0], columns, read)


def _find_assigned(
    columns: Sequence[TextItem], row: Sequence[str], places: Mapping[str, int], own: Mapping[str, str]
) -> tuple[str, ...]:
    """Return the values of the columns in a row, without those that stay as they are."""
    return find_changed(columns, [row[places[column.name]] for column in columns], own)


def _update(project: PhysicalNode, columns: Sequence[TextItem], own: Mapping[str, str]) -> RowChange | None:
    known = {column.name: column for column in _list_output(project)}
    conditions: dict[str, None] = {}
    values: list[str] = []
    for column in columns:
        computed = known.get(column.name)
        if computed is None:
            return None
        if not computed.expression:
            values.append(UNCHANGED)
            continue
        condition, value = _split_if(computed.expression, own.get(column.name, ""))
        conditions[condition] = None
        values.append(value)
    if len(conditions) != 1:
        return None
    clause = Clause(next(iter(conditions)), tuple(values))
    return make_change("update", project.children[0], columns, [clause])


def _split_if(text: str, own: str) -> tuple[str, str]:
    """Return condition and value of ``if (condition) value else own``, "" as that of another value."""
    ending = f" else {own}"
    end = closing_bracket(text, len("if ")) if text.startswith("if (") else -1
    if end < 0 or not own or not text.endswith(ending):
        return "", text
    return text[len("if (") : end], text[end + 2 : -len(ending)]


def _list_output(node: PhysicalNode) -> list[TextItem]:
    return items(node.list_of("Output"))[0]


def _list_own_columns(scan: PhysicalNode) -> dict[str, str]:
    """Return the columns of a target by name, none for another scan."""
    if not scan.name.startswith("BatchScan"):
        return {}
    listed = _list_output(scan)
    is_target = any(column.name == "_file" for column in listed)
    return {column.name: column.text for column in listed if column.name not in ICEBERG} if is_target else {}


def _chain(node: PhysicalNode) -> Iterator[PhysicalNode]:
    """Yield the operations below, as long as there is one."""
    while len(node.children) == 1:
        node = node.children[0]
        yield node
