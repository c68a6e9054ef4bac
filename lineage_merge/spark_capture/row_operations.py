"""Row-level operations (MERGE, UPDATE, DELETE) of analyzed plans: what they assign, by what conditions. Pure.

The analyzer rewrites those of DataSource V2 (Iceberg): `ReplaceData` and `WriteDelta` write all rows of
files, or their changes, with the unchanged columns among them. Delta and Hudi have commands with the clauses.
Both become one query: the assigned values, above a filter by the conditions, above the join of both sides.
A value that is copied from the same column of the target is not assigned.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lineage_merge.infra.batches import batched
from lineage_merge.sources.spline.documents import ROW_OPERATIONS
from lineage_merge.spark_capture.plan_tree import (
    Json,
    PlanNode,
    bottom_up,
    build_tree,
    expression_id,
    is_plain_column,
)

RowOperationMode = Literal["merge", "update", "delete"]
# The field of a query's root that is its row operation.
ROW_OPERATION = "rowOperation"
# Expressions that do not change their argument.
_SAME = frozenset({"Alias", "AssertNotNull", "KnownNotNull", "KnownNullable"})
_DELETED = "1"  # `RowDeltaUtils.DELETE_OPERATION`
_OPERATION = "__row_operation"
_EXPRESSIONS = "org.apache.spark.sql.catalyst.expressions"


@dataclass(frozen=True, slots=True)
class RowOperation:
    """A row-level operation.

    `columns` are the target's, as attributes; `values` what is assigned to each, a tree for each clause that
    assigns it. `relation` is a read of the target, `query` the plan whose rows the values and the
    `conditions` refer to.
    """

    mode: RowOperationMode
    relation: PlanNode
    query: PlanNode
    columns: Sequence[Json]
    values: Sequence[Sequence[PlanNode]]
    conditions: Sequence[PlanNode]

    @property
    def tree(self) -> PlanNode:
        """Return the operation as a query whose root, with the field `ROW_OPERATION`, has the values."""
        query = self.query
        if self.conditions:
            query = PlanNode("Filter", {"condition": list(self.conditions)}, [query])
        return PlanNode(ROW_OPERATIONS[self.mode], {ROW_OPERATION: self}, [query])


def row_operation(command: PlanNode) -> RowOperation | None:
    """Return the row-level operation of a command; None if it is none."""
    reader = _READERS.get(command.name)
    if reader:
        return reader(command)
    # Hudi's commands contain Spark's.
    fields = (tree for field in command.fields if (tree := _operation_in(command, field)))
    return next((operation for tree in fields if (operation := _READERS[tree.name](tree))), None)


def _operation_in(command: PlanNode, field: str) -> PlanNode | None:
    value = command.fields[field]
    is_operation = isinstance(value, list) and value and isinstance(value[0], dict)
    name = str(value[0].get("class", "")).rpartition(".")[2] if is_operation else ""
    return command.tree(field) if name in ROW_OPERATIONS.values() else None


class _Assigned(NamedTuple):
    column: str
    value: PlanNode


class _Target:
    """The target of an operation: its columns, and the values that are copies of them."""

    def __init__(self, plan: PlanNode) -> None:
        """Take a read of the target: a relation, at most below projections and aliases."""
        self.relation = bottom_up(plan)[0]
        self.columns: list[Json] = list(_output(self.relation))
        self._ids = {
            expression_id(attribute): str(attribute["name"])
            for node in bottom_up(plan)
            for attribute in _output(node)
        }

    def evolve(self, columns: Iterable[Json]) -> None:
        """Add columns that the operation adds to the table: fields of a schema."""
        known = {str(column["name"]).casefold() for column in self.columns}
        for column in columns:
            if str(column["name"]).casefold() not in known:
                fields = {"name": column["name"], "dataType": column.get("type")}
                self.columns.append({**fields, "exprId": {"id": -len(self.columns)}})

    def operation(
        self,
        mode: RowOperationMode,
        query: PlanNode,
        assigned: Iterable[_Assigned],
        conditions: Sequence[PlanNode],
    ) -> RowOperation:
        """Return the operation, without the assignments that only copy, and those of metadata columns."""
        values: defaultdict[str, list[PlanNode]] = defaultdict(list)
        for column, value in assigned:
            if changed := self._find_changed(value, (column.casefold(),)):
                values[column.casefold()].append(changed)
        ordered = [values[str(column["name"]).casefold()] for column in self.columns]
        deciding = [condition for condition in conditions if condition.name != "Literal"]
        return RowOperation(mode, self.relation, query, self.columns, ordered, deciding)

    def _find_changed(self, value: PlanNode, path: tuple[str, ...]) -> PlanNode | None:
        """Return a value without the fields that are copies of the same fields; None if it is a copy."""
        if self._path(value) == path:
            return None
        inner = _unwrap(value)
        if inner.name == "If" and len(inner.children) == 3 and inner.children[1].name == "Literal":
            inner = _unwrap(inner.children[2])  # a structure, null where the old one is null
            if self._path(inner) == path:
                return None
        if inner.name != "CreateNamedStruct" or len(inner.children) % 2:
            return value
        changes: list[PlanNode] = []
        for name, field in zip(inner.children[::2], inner.children[1::2], strict=True):
            changed = self._find_changed(field, (*path, str(name.fields.get("value")).casefold()))
            if changed:
                changes += [name, changed]
        if not changes:
            return None
        if changes == inner.children:
            return inner if self._path(_null_checked(value)) == path else value
        return replace(inner, children=changes)

    def _path(self, value: PlanNode) -> tuple[str, ...]:
        """Return the column and the fields of the target that a value is, () if it is something else."""
        value = _unwrap(value)
        if value.name == "GetStructField" and value.fields.get("name"):
            above = self._path(value.children[0])
            return (*above, str(value.fields["name"]).casefold()) if above else ()
        if value.name == "AttributeReference":
            column = self._ids.get(expression_id(value.fields))
            return (column.casefold(),) if column else ()
        return ()


def _null_checked(value: PlanNode) -> PlanNode:
    """Return the value whose null an IF keeps; the expression itself if it is something else."""
    value = _unwrap(value)
    condition = value.children[0] if value.name == "If" else value
    return condition.children[0] if condition.name == "IsNull" else value


def _unwrap(value: PlanNode) -> PlanNode:
    while len(value.children) == 1 and (value.name in _SAME or _is_plain(value)):
        value = value.children[0]
    return value


def _is_plain(cast: PlanNode) -> bool:
    nodes = (cast, *cast.children)
    return is_plain_column([{"class": node.class_name, **node.fields} for node in nodes])


def _output(node: PlanNode) -> Iterator[Json]:
    """Return the attributes that a relation or a projection has under its own ids."""
    for tree in node.fields.get("output" if not node.children else "projectList") or ():
        if tree and "exprId" in tree[0]:
            yield tree[0]


# DataSource V2, as Spark rewrites it


def _find_operation(command: PlanNode) -> RowOperation | None:
    query, table = command.children[0], command.tree("originalTable") or command.tree("table")
    if table is None:
        return None
    target = _Target(table)
    if query.name == "MergeRows":
        return _read_merge(target, query)
    if command.name == "AppendData":  # MERGE with one clause: WHEN NOT MATCHED
        return target.operation("merge", query.children[0], _list_assigned(query), ())
    condition = command.tree("condition")
    is_choice = command.name == "ReplaceData"
    if is_choice and _first(query).get("name") == _OPERATION:
        query = query.children[0]  # Spark 4 marks the rows that `ReplaceData` writes
    if query.name == "Union":
        # The rows that are changed, and the others.
        query = next((side for side in query.children if side.name == "Project"), query.children[0])
    below = query if query.name == "Filter" else query.children[0]
    if query.name == "Filter" or _is_delete(query):
        return target.operation("delete", _skip_filters(below), (), [condition] if condition else ())
    conditions = [condition] if condition and below.name != "Filter" else []
    assigned = _list_expanded(query) if query.name == "Expand" else _list_assigned(query, is_choice=is_choice)
    return target.operation("update", below, assigned, conditions)


def _skip_filters(query: PlanNode) -> PlanNode:
    """Return what is read below the filters of a rewritten DELETE."""
    while query.name == "Filter":
        query = query.children[0]
    return query


def _is_delete(query: PlanNode) -> bool:
    """Return whether a projection is of rows to delete."""
    return _is_deleted(str(_first(query).get("name")), _first(query, -1))


def _first(query: PlanNode, position: int = 0) -> Json:
    """Return a node of the first expression of a projection, by default its root; {} of other operations."""
    first: list[Json] = (query.fields.get("projectList") or [[{}]])[0]
    return first[position]


def _is_deleted(name: str, value: Json) -> bool:
    """Return whether a row is one to delete; `name` and `value` are those of its first column."""
    return name == _OPERATION and value.get("value") == _DELETED


def _list_assigned(query: PlanNode, *, is_choice: bool = False) -> Iterator[_Assigned]:
    """Return the values of a projection; `is_choice`: IF(changed, new, old), as all rows are written."""
    for value in query.trees("projectList"):
        new = _unwrap(value)
        if is_choice and value.name == "Alias" and new.name == "If":
            new = new.children[1]
        yield _Assigned(str(value.fields.get("name")), new)


def _list_expanded(query: PlanNode) -> Iterator[_Assigned]:
    """Return the values of an UPDATE as pairs of rows, one to delete and one to insert."""
    names = [str(attribute["name"]) for (attribute, *_) in query.fields.get("output") or ()]
    projections = query.fields.get("projections") or ()

    for row, projection in enumerate(projections):
        if _is_deleted(names[0], projection[0][0]):
            continue
        for position, name in enumerate(names):
            yield _Assigned(name, _project(query, projection[position], row, position))


def _project(query: PlanNode, tree: list[Json], row: int, position: int) -> PlanNode:
    return build_tree(tree, lambda: query.java.projections().apply(row).apply(position))


_INSTRUCTIONS = ("matchedInstructions", "notMatchedInstructions", "notMatchedBySourceInstructions")


def _read_merge(target: _Target, rows: PlanNode) -> RowOperation:
    """Return a MERGE: each instruction has a condition, and the values of one or of two rows."""
    names = [str(tree[0]["name"]) for tree in rows.fields.get("output") or ()]
    instructions = [instruction for field in _INSTRUCTIONS for instruction in rows.trees(field)]
    conditions = [instruction.children[0] for instruction in instructions]

    new_rows = (
        row
        for instruction in instructions
        # An instruction writes no row, one, or one to delete and one to insert.
        for row in batched(instruction.children[1:], len(names))
        if not _is_deleted(names[0], row[0].fields)
    )
    assigned = (_Assigned(*pair) for row in new_rows for pair in zip(names, row, strict=True))
    return target.operation("merge", rows.children[0], assigned, conditions)


# Commands with clauses


def _merge(
    sides: tuple[str, str], on: str, clauses: Sequence[str]
) -> Callable[[PlanNode], RowOperation | None]:
    """Return the reader of a MERGE; parameters are names of its fields."""

    def read(command: PlanNode) -> RowOperation | None:
        into, using = (command.tree(side) for side in sides)
        condition = command.tree(on)
        if into is None or using is None:
            return None
        target = _Target(into)
        target.evolve((command.fields.get("migratedSchema") or {}).get("fields") or ())
        listed = [clause for field in clauses for clause in command.trees(field)]
        conditions = [
            part for clause in listed for part in clause.children if _assignment(part, target) is None
        ]
        assigned = (
            value for clause in listed for part in clause.children if (value := _assignment(part, target))
        )
        kind = {"object": "org.apache.spark.sql.catalyst.plans.FullOuter$"}
        fields = {"joinType": kind, "condition": [condition] if condition else []}
        join = PlanNode("Join", fields, [into, using])
        return target.operation("merge", join, assigned, conditions)

    return read


def _assignment(part: PlanNode, target: _Target) -> _Assigned | None:
    """Return the assignment that a part of a clause is; None if it is the condition."""
    if part.name == "Assignment":
        return _nest(_find_assigned_path(part.children[0]), part.children[1])
    if part.name == "DeltaMergeAction":
        # The path as text: [address, city].
        path = str(part.fields.get("targetColNameParts")).removeprefix("[").removesuffix("]")
        known = {str(column["name"]).casefold() for column in target.columns}
        return _nest([path] if path.casefold() in known else path.split(", "), part.children[0])
    return None


def _find_assigned_path(key: PlanNode) -> list[str]:
    """Return the column, and the fields below it, that an assignment sets."""
    path: list[str] = []
    while key.name != "AttributeReference" and key.children:
        if key.name == "GetStructField" and key.fields.get("name"):
            path.append(str(key.fields["name"]))
        key = key.children[0]
    return [str(key.fields.get("name")), *reversed(path)]


def _nest(path: list[str], value: PlanNode) -> _Assigned:
    """Return the assignment of a field as one of a structure with only this field."""
    for name in reversed(path[1:]):
        literal = PlanNode(f"{_EXPRESSIONS}.Literal", {"value": name, "dataType": "string"})
        value = PlanNode(f"{_EXPRESSIONS}.CreateNamedStruct", {}, [literal, value])
    return _Assigned(path[0], value)


def _update(command: PlanNode) -> RowOperation | None:
    into, condition = command.tree("table") or command.tree("target"), command.tree("condition")
    if into is None:
        return None
    target = _Target(into)
    assignments = (_assignment(part, target) for part in command.trees("assignments"))
    # Delta's have a value for every column, in order.
    by_position = (
        _Assigned(str(column["name"]), value)
        for column, value in zip(target.columns, command.trees("updateExpressions"), strict=False)
    )
    assigned = [*filter(None, assignments), *by_position]
    return target.operation("update", into, assigned, [condition] if condition else ())


def _delete(command: PlanNode) -> RowOperation | None:
    into, condition = command.tree("table") or command.tree("target"), command.tree("condition")
    if into is None:
        return None
    return _Target(into).operation("delete", into, (), [condition] if condition else ())


_Reader = Callable[[PlanNode], RowOperation | None]
_READERS: Mapping[str, _Reader] = {
    "ReplaceData": _find_operation,
    "WriteDelta": _find_operation,
    "AppendData": _find_operation,
    "MergeIntoTable": _merge(
        ("targetTable", "sourceTable"),
        "mergeCondition",
        ("matchedActions", "notMatchedActions", "notMatchedBySourceActions"),
    ),
    "MergeIntoCommand": _merge(
        ("target", "source"),
        "condition",
        ("matchedClauses", "notMatchedClauses", "notMatchedBySourceClauses"),
    ),
    "UpdateTable": _update,
    "UpdateCommand": _update,
    "DeleteFromTable": _delete,
    "DeleteCommand": _delete,
}
# Of Hudi; they contain Spark's operation.
_CONTAINING = ("MergeIntoHoodieTableCommand", "UpdateHoodieTableCommand", "DeleteHoodieTableCommand")
# Commands that are row-level operations; of `AppendData` only some are.
COMMANDS = frozenset({*_READERS, *_CONTAINING}) - {"AppendData"}
