"""Row-level operations of Delta: MERGE, UPDATE and DELETE, whose assignments and conditions are text.

The operation below reads whole rows of the target, and Spline records a column that no clause changes like
one that is copied from another table: that is no lineage. Only an assignment that reads a column is.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.parts import Part
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.column_lineage.value_graph import BuiltValue, Input, Node, Value, ValueGraph
from lineage_merge.model.elements import Reference
from lineage_merge.model.graph_walks import reachable
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.plan_text import (
    ColumnReference,
    column_references,
    readable,
    split_top,
)
from lineage_merge.sources.spline.columns.text_ids import Copies, Occurrence, attributes_by_id
from lineage_merge.sources.spline.columns.written_columns import PlanColumn
from lineage_merge.sources.spline.documents import DELTA_ROW_OPERATIONS, row_level_mode

# DeltaMergeIntoClause.toString: Update [condition: (a#1 > 2), actions: [`a` = b#3, `c` = (c#2 + 1)]]
_CLAUSE = re.compile(
    r"\w+ \[(?:condition: (?P<condition>.*?))?(?:, )?(?:actions: \[(?P<actions>`.*)\])?\]", re.DOTALL
)
# DeltaMergeAction.toString: all columns of the target, also those that keep their value.
_ACTION = re.compile(r"(?:^|, )`(?P<column>[^`]*)` = ")
# A structure of which the statement sets some fields: named_struct(city, x#1, zip, address#3.zip AS zip#55)
_STRUCT = re.compile(r"named_struct\((?P<fields>.*)\)", re.DOTALL)
_FIELD_ALIAS = re.compile(r" AS [^#()]*#\d+L?$")
# An IF that keeps the null of a structure: if (isnull(s#5)) null else named_struct(...)
_NULL_CHECK = re.compile(
    r"if \(+isnull\([^()]*#\d+L?[^()]*\)\)+ null else (?P<value>named_struct\(.*\))", re.DOTALL
)
_FIELD = re.compile(r"[^()]*#(?P<id>\d+)L?(?P<path>(?:\.[^.()]+)*)")
# Variables have ids like columns: lambdafunction((lambda x#9 + 1), lambda x#9, false)
_LAMBDA_VARIABLE = re.compile(r"\blambda [^\s#(),]+#\d+L?")


@dataclass(slots=True)
class RowChanges:
    """What a row-level operation makes of the rows of its target, and what decides on `rows`.

    `columns` are those of the target, `values` the node of each. `rewritten` are datasets that are read only
    because their rows change.
    `problems` are keys of operations, with what could not be traced.
    """

    rows: Rows[Reference] = field(default_factory=Rows)
    columns: tuple[PlanColumn, ...] = ()
    values: tuple[Node, ...] = ()
    rewritten: frozenset[Reference] = frozenset()
    problems: tuple[tuple[str, str], ...] = ()


class _Clause(NamedTuple):
    """A condition and assignments; `visible` are the attributes that they may read."""

    kind: InfluenceKind
    condition: str
    assignments: tuple[tuple[str, str], ...]
    visible: frozenset[str]


class _Statement(NamedTuple):
    """A row-level operation: `operation` has the text, `target` and `source` are its inputs ("": none)."""

    operation: str
    target: str
    source: str
    clauses: tuple[_Clause, ...]


def read_row_changes(plan: PlanColumns, graph: ValueGraph) -> RowChanges | None:
    """Add the assignments of a row-level operation to the graph; None if the write is no such operation."""
    statement = _statement(plan)
    return _Reader(plan, graph, statement).changes() if statement else None


def _statement(plan: PlanColumns) -> _Statement | None:
    mode = DELTA_ROW_OPERATIONS.get(str(plan.operations.get(plan.write, {}).get("name")))
    below = plan.children.get(plan.write, ())
    if not mode or len(below) != 1:
        return None
    if mode == "merge":
        inputs = plan.children.get(below[0], ())
        is_text = isinstance(plan.params(below[0]).get("condition"), str)
        return _merge(plan, below[0], *inputs) if is_text and len(inputs) == 2 else None
    params, target = plan.params(plan.write), below[0]
    columns = plan.output(target)
    values = _texts(params.get("updateExpressions"))
    names = [plan.name(column) for column in columns]
    # One for each column of the target, in order.
    assignments = tuple(zip(names, values, strict=False)) if len(values) == len(names) else ()
    condition = str(params.get("condition") or "")
    clause = _Clause(InfluenceKind.FILTER, condition, assignments, frozenset(columns))
    return _Statement(plan.write, target, "", (clause,))


def _merge(plan: PlanColumns, operation: str, source: str, target: str) -> _Statement:
    params = plan.params(operation)
    of_source, of_target = frozenset(plan.output(source)), frozenset(plan.output(target))
    both = of_source | of_target
    # There is no row of the target to insert from, and none of the source where it has no match.
    visible = {
        "matchedClauses": both,
        "notMatchedClauses": of_source,
        "notMatchedBySourceClauses": of_target,
    }
    clauses = [_Clause(InfluenceKind.JOIN, str(params["condition"]), (), both)]
    for parameter, attributes in visible.items():
        parsed = filter(None, map(parse_delta_clause, _texts(params.get(parameter))))
        clauses += (_Clause(InfluenceKind.FILTER, *clause, attributes) for clause in parsed)
    return _Statement(operation, target, source, tuple(clauses))


def _texts(parameter: object) -> list[str]:
    return [str(value) for value in parameter] if isinstance(parameter, list) else []


def parse_delta_clause(text: str) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    """Return the condition and the assigned columns with their values of a clause of Delta's MERGE.

    None for a text of another form.
    """
    clause = _CLAUSE.fullmatch(text)
    return (clause["condition"] or "", tuple(_assignments(clause["actions"] or ""))) if clause else None


def _assignments(actions: str) -> Iterator[tuple[str, str]]:
    starts = list(_ACTION.finditer(actions))
    ends = (*(action.start() for action in starts[1:]), len(actions))
    for action, end in zip(starts, ends, strict=False):
        yield action["column"], actions[action.end() : end]


def _references(text: str) -> Iterator[ColumnReference]:
    return (
        column
        for column in column_references(_LAMBDA_VARIABLE.sub("", text))
        if not (column.subquery or column.outer)
    )


class _Reader:
    def __init__(self, plan: PlanColumns, graph: ValueGraph, statement: _Statement) -> None:
        self._plan = plan
        self._graph = graph
        self._statement = statement
        self._changes = RowChanges(rewritten=self._find_rewritten())
        self._own = {plan.name(id_).casefold(): id_ for id_ in plan.output(statement.target)}
        self._attributes = attributes_by_id(plan, self._occurrences(), self._copies())
        self._unknown: set[str] = set()

    def changes(self) -> RowChanges:
        """Add the columns of the target and what they are assigned."""
        changes, plan, statement = self._changes, self._plan, self._statement
        columns = {
            plan.name(id_).casefold(): PlanColumn(position, plan.name(id_), plan.data_type(id_))
            for position, id_ in enumerate(plan.output(statement.target))
        }
        for clause in statement.clauses:
            self._influence(clause)
            for name, value in clause.assignments:
                # A column that the operation adds to the table (schema evolution) has no type.
                columns.setdefault(name.casefold(), PlanColumn(len(columns), name, ""))
                self._assign(name, value)
        changes.columns = tuple(columns.values())
        changes.values = tuple(map(self._column, columns))
        if statement.source:
            # Spline derives these from the target's columns, changed or not.
            for attribute in plan.output(statement.operation):
                self._graph[attribute].inputs = []
                self._graph[attribute].is_constant = True
        if self._unknown:
            key = statement.operation.partition("/")[2]
            names = ", ".join(sorted(self._unknown))
            what = f"the text does not say whether {names} is a column of the source or of the target"
            changes.problems = ((key, what),)
        return changes

    def _find_rewritten(self) -> frozenset[Reference]:
        targets, sources = (
            {
                source
                for operation in reachable([side], self._plan.children)
                for source in self._plan.reads.get(operation, ())
            }
            for side in (self._statement.target, self._statement.source)
        )
        written = str(self._plan.operations[self._plan.write].get("outputSource")).rstrip("/")
        return frozenset(target for target in targets - sources if target.name.rstrip("/") == written)

    def _occurrences(self) -> Iterator[Occurrence]:
        for clause in self._statement.clauses:
            for text in (clause.condition, *(value for _, value in clause.assignments)):
                for column in _references(text):
                    yield Occurrence(column.id, column.name, clause.visible)

    def _copies(self) -> Iterator[Copies]:
        """Yield what the agent recorded of the merged columns."""
        plan = self._plan
        copied: defaultdict[str, set[int]] = defaultdict(set)
        for clause in self._statement.clauses:
            for name, value in clause.assignments:
                columns = list(_references(value))
                if len(columns) == 1 and columns[0].step is Transformation.IDENTITY:
                    copied[name.casefold()].add(columns[0].id)
        operation = self._statement.operation
        # The agent 1.0.0 recorded columns of source and target by position, whatever the clauses assign.
        is_exact = row_level_mode(plan.operations[operation]) == "merge"
        for attribute in plan.output(operation) if is_exact else ():
            name = plan.name(attribute).casefold()
            derives = frozenset(plan.derives_from.get(attribute, ()))
            if name in self._own and derives and not plan.computed_by.get(attribute):
                yield Copies(frozenset(copied[name]), derives, self._own[name])

    def _attribute(self, column: ColumnReference) -> Node | None:
        attributes = self._attributes.get(column.id, frozenset())
        if len(attributes) > 1:
            self._unknown.add(column.name)
        return next(iter(attributes)) if len(attributes) == 1 else None

    # Clauses

    def _influence(self, clause: _Clause) -> None:
        columns = list(_references(clause.condition))
        candidates = {column.id: self._attributes.get(column.id, frozenset()) for column in columns}
        for column in columns:
            attributes = candidates[column.id]
            # Where both of two columns are read, it does not matter which is which.
            if sum(candidate == attributes for candidate in candidates.values()) >= len(attributes):
                fields = column.path if len(attributes) == 1 else ()
                values = (self._graph[attribute].field(fields) for attribute in sorted(attributes))
                self._changes.rows.add(clause.kind, *values)
            else:
                self._unknown.add(column.name)

    def _assign(self, name: str, value: str) -> None:
        own = self._own.get(name.casefold())
        for path, part in self._find_changes(value, own, ()):
            columns = list(_references(part))
            target = self._field(name.casefold(), path)
            if not (len(columns) == 1 and columns[0].step is Transformation.IDENTITY):
                computed: Value[Reference] = Value(text=readable(part))
                target.add(computed)
                target = computed
            for column in columns:
                if attribute := self._attribute(column):
                    target.add(self._graph[attribute].field(column.path), column.step)

    def _field(self, name: str, path: tuple[str, ...]) -> Value[Reference]:
        """Return a column of the target, or a field of it."""
        node = self._column(name)
        for field_name in path:
            struct = self._graph[f"{node}.*"]
            if struct.built is None:
                struct.built = BuiltValue("struct", is_listed=True)
                self._graph[node].add(struct)
            node = f"{node}.{field_name.casefold()}"
            value = self._graph[node]
            if all(known.value is not value for _, known in struct.built.parts):
                struct.built.parts.append((Part(field_name), Input(value)))
        return self._graph[node]

    def _find_changes(
        self, value: str, own: Node | None, path: tuple[str, ...]
    ) -> list[tuple[tuple[str, ...], str]]:
        """Return the parts of an assigned value, with their paths; none for the same field of the column."""
        value = _FIELD_ALIAS.sub("", value) if path else value
        checked = _NULL_CHECK.fullmatch(value)
        value = checked["value"] if checked else value
        if own and self._is_itself(value, own, path):
            return []
        copied = self._find_copied(value)
        struct = _STRUCT.fullmatch(value)
        fields = split_top(struct["fields"]) if struct and not copied else []
        if not fields or len(fields) % 2:
            return [(path, copied or value)]
        parts = (
            self._find_changes(part, own, (*path, name))
            for name, part in zip(fields[::2], fields[1::2], strict=True)
        )
        return [part for of_field in parts for part in of_field]

    def _find_copied(self, value: str) -> str:
        """Return the column or field of which a value is a copy, field by field; "" if it is none."""
        struct = _STRUCT.fullmatch(value)
        if not struct:
            return value if _FIELD.fullmatch(value) else ""
        fields = split_top(struct["fields"])
        copies = [self._find_copied(_FIELD_ALIAS.sub("", part)) for part in fields[1::2]]
        whole = copies[0].rpartition(".")[0] if copies else ""
        if not whole or copies != [f"{whole}.{name}" for name in fields[::2]]:
            return ""
        read = _FIELD.fullmatch(whole)
        if not read:
            return ""
        attributes = self._attributes.get(int(read["id"]), frozenset())
        path = read["path"].split(".")[1:]
        known = self._plan.struct_fields(next(iter(attributes)), path) if len(attributes) == 1 else ()
        return whole if len(known) == len(copies) else ""

    def _is_itself(self, value: str, own: Node, path: tuple[str, ...]) -> bool:
        read = _FIELD.fullmatch(value)
        return bool(
            read
            and self._attributes.get(int(read["id"])) == frozenset({own})
            and tuple(read["path"].split(".")[1:]) == path
        )

    def _column(self, name: str) -> Node:
        return f"{self._statement.operation}/{name}"
