"""Columns of subqueries, from the text of their plans.

Spline records no operations for a subquery; its plan is text in `params.plan` of the expression. Columns are
written ``name#id``: a relation defines them, projections and aggregates create new ones, ``outer(name#id)``
is a column of the outer query.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage import pseudo_columns
from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.row_rules import compares_both_sides, influence_of, only_filters
from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.column_lineage.value_graph import Input, Node, SourceColumn, Value, ValueGraph
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.attributes import cte_column
from lineage_merge.sources.spline.columns.plan_text import (
    ColumnReference,
    TextItem,
    TextOperation,
    column_references,
    items,
    lists,
    parse_plan,
    readable,
    split_top,
)
from lineage_merge.sources.spline.naming import CatalogTable, table_from_text

_RELATIONS_V2 = frozenset({"RelationV2", "DataSourceV2Relation"})
_RELATIONS = frozenset({"Relation", "HiveTableRelation"}) | _RELATIONS_V2
_WITH_CONDITIONS = frozenset({"Filter", "Sort", "Deduplicate"})
_GROUPING_ID = "spark_grouping_id"
# Spark's analyzer converts `grouping(column)` to a bit of the grouping id.
_GROUPING = re.compile(rf"shiftright\({_GROUPING_ID}#(?P<id>\d+)L?, (?P<bit>\d+)\)")
_STACK = re.compile(r"stack\((?P<rows>\d+), (?P<values>.*)\)", re.DOTALL)
# A field of Spark's structure of a row's file. The text has no types: a stored copy looks the same.
_FILE_METADATA = re.compile(rf"_metadata#(?P<id>\d+)\.(?:{'|'.join(sorted(pseudo_columns.FILE_FIELDS))})\b")
# Placeholder ids for bits of a grouping id: Spark's ids are smaller.
_FIRST_BIT = 10**18


class _LeftOut(NamedTuple):
    """Columns of a relation that Spark omitted from the text: their ids follow the last one shown."""

    source: Reference | None
    ids: range
    pseudo: frozenset[str] = frozenset()


@dataclass(slots=True)
class _Output:
    """The output of an operation: values `by_id`, and `ids` by position.

    `ids` is shorter than the operation's output if Spark omitted columns from the text; `named` are then
    those of a CTE, by name.
    """

    ids: list[int] = field(default_factory=list)
    by_id: dict[int, Value[Reference]] = field(default_factory=dict)
    left_out: tuple[_LeftOut, ...] = ()
    named: tuple[Mapping[str, Value[Reference]], ...] = ()

    def find_value(self, position: int) -> Value[Reference] | None:
        """Return the value at a position, None if the text does not show it."""
        return self.by_id.get(self.ids[position]) if position < len(self.ids) else None


@dataclass(slots=True)
class TextColumns:
    """Column lineage in the text of a subquery.

    `output` are the values of its columns by position, `tables` the columns shown of each table, `rows` is
    what decides on its rows.
    """

    rows: Rows[Reference] = field(default_factory=Rows)
    output: tuple[Value[Reference] | None, ...] = ()
    tables: dict[Reference, dict[str, None]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownColumns:
    """The columns of the plan that the text of a subquery refers to.

    `outer` are those of the outer query by id, `cte_names` the column names of CTEs, `views` the names and
    nodes of the columns of temporary views.
    """

    outer: Mapping[int, Node]
    cte_names: Mapping[str, tuple[str, ...]]
    views: Mapping[str, tuple[tuple[str, Node], ...]]


def read_subquery(text: str, prefix: str, graph: ValueGraph, known: KnownColumns) -> TextColumns:
    """Add a subquery's columns to the graph; `prefix` separates its nodes from those of other subqueries."""
    file_metadata = {int(column["id"]) for column in _FILE_METADATA.finditer(text)}
    return _Reader(prefix, graph, known, file_metadata).read(parse_plan(text))


class _Reader:
    def __init__(self, prefix: str, graph: ValueGraph, known: KnownColumns, file_metadata: Set[int]) -> None:
        self._file_metadata = file_metadata
        self._prefix = prefix
        self._graph = graph
        self._known = known
        self._found = TextColumns()
        self._outputs: dict[int, _Output] = {}
        self._outer_ids: set[int] = set()
        self._aliases: dict[int, str] = {}
        self._grouped: dict[int, list[Value[Reference]]] = {}
        self._bits: dict[int, Value[Reference]] = {}
        self._outer: defaultdict[int, Value[Reference]] = defaultdict(Value)
        self._subqueries: Iterator[TextOperation] = iter(())
        for identifier, node in known.outer.items():
            self._outer[identifier].add(graph[node])

    def read(self, operations: list[TextOperation]) -> TextColumns:
        for operation in operations:
            if operation.name == "SubqueryAlias":
                self._aliases.update((id(child), operation.arguments) for child in operation.children)
        # Descendants follow their operation: backwards, the inputs of an operation are known.
        for operation in reversed(operations):
            below = [self._outputs[id(child)] for child in operation.children]
            self._subqueries = iter(operation.subqueries)
            seen = _join(below)
            self._outputs[id(operation)] = self._output(operation, below, seen)
            if operation.subqueries:
                for identifier in self._outer_ids & seen.by_id.keys():
                    self._outer[identifier].add(seen.by_id[identifier])
        if operations:
            output = self._outputs[id(operations[0])]
            self._found.output = tuple(output.find_value(position) for position in range(len(output.ids)))
        return self._found

    def _output(self, operation: TextOperation, below: list[_Output], seen: _Output) -> _Output:
        name = operation.name
        if name in _RELATIONS:
            return self._relation(operation)
        if name == "CTERelationRef":
            return self._cte_reference(operation)
        if name == "View":
            return self._view(operation, seen)
        if name == "Union":
            return self._union(below)
        if compares_both_sides(name):
            for side in below:
                self._found.rows.add(InfluenceKind.JOIN, *map(side.by_id.__getitem__, side.ids))
            return below[0] if below else seen
        makes = _MAKES.get(name)
        if makes:
            return makes(self, operation.arguments, seen)
        if name == "CTERelationDef":
            cte = operation.arguments.partition(",")[0].strip()
            for position, identifier in enumerate(seen.ids):
                self._graph[cte_column(cte, position)].add(seen.by_id[identifier])
        elif name == "WithCTE" and below:
            return below[-1]
        elif name == "LateralJoin" and operation.subqueries:
            return _join([seen, self._outputs[id(operation.subqueries[0])]])
        elif name == "Join" and below:
            kind = influence_of(name, operation.arguments)
            self._influence(kind, operation.arguments.partition(", ")[2], seen)
            if only_filters(operation.arguments):
                return below[0]
        elif name == "Distinct":
            self._found.rows.add(InfluenceKind.GROUP_BY, *map(seen.by_id.__getitem__, seen.ids))
        elif name in _WITH_CONDITIONS:
            self._influence(influence_of(name), operation.arguments, seen)
        return seen

    # Sources of columns.

    def _relation(self, operation: TextOperation) -> _Output:
        table, shown = self._table(operation)
        is_stored = table is not None and table.part != "metadata"
        source = Reference(table.catalog, table.name) if table and is_stored else None
        output = _Output()
        for part in shown:
            listed, more = items(part)
            pseudo = _pseudo_columns({item.name for item in listed}, operation, table, is_cut=bool(more))
            for item in listed:
                output.ids.append(item.id)
                own = None if item.name in pseudo else source
                output.by_id[item.id] = self._column(own, item.id, item.name)
            ids = [item.id for item in listed]
            if more and ids and ids == list(range(ids[0], ids[0] + len(ids))):
                hidden = range(listed[-1].id + 1, listed[-1].id + 1 + more)
                output.left_out += (_LeftOut(source, hidden, pseudo),)
            if more:
                break
        return output

    def _table(self, operation: TextOperation) -> tuple[CatalogTable | None, list[str]]:
        """Return the table that a relation reads, None if its text names none, and its column lists."""
        shown = lists(operation.arguments)
        name = operation.arguments.partition("[")[0].strip()
        if operation.name == "HiveTableRelation" and shown:
            # Spark 2 omits the outer bracket.
            inside = operation.arguments if name else shown[0]
            name = split_top(inside)[0]
            shown = lists(inside)
        elif not name:
            # A table of another catalog follows its columns; before Spark 3.1 it is only in the line above.
            after = operation.arguments.rpartition("]")[2].split()
            name = next((word for word in after[:1] if "." in word), self._aliases.get(id(operation), ""))
        names = [item.name for part in shown[:1] for item in items(part)[0]]
        return table_from_text(name, names), shown

    def _column(self, source: Reference | None, identifier: int, name: str) -> Value[Reference]:
        value = self._graph[f"{self._prefix}/column/{source}/{identifier}"]
        if source and identifier not in self._file_metadata:
            value.columns = (SourceColumn(source, name),)
            self._found.tables.setdefault(source, {})[name] = None
        return value

    def _cte_reference(self, operation: TextOperation) -> _Output:
        cte = operation.arguments.partition(",")[0].strip()
        listed, more = items(next(iter(lists(operation.arguments)), ""))
        names = self._known.cte_names.get(cte, ())
        count = max(len(names), len(listed))
        columns = [self._graph[cte_column(cte, position)] for position in range(count)]
        return _output_of(listed, more, names, columns)

    def _view(self, operation: TextOperation, seen: _Output) -> _Output:
        """Return the columns of a temporary view that the plan reads, else those below."""
        inside = operation.arguments.removeprefix("(").removesuffix(")")
        columns = self._known.views.get(split_top(inside)[0].strip("`")) if inside else None
        listed, more = items(next(iter(lists(inside)), ""))
        names = [name for name, _ in columns or ()]
        if columns is None or [item.name for item in listed] != names[: len(names) - more]:
            return seen
        return _output_of(listed, more, names, [self._graph[node] for _, node in columns])

    def _union(self, below: list[_Output]) -> _Output:
        output = _Output()
        for position, identifier in enumerate(below[0].ids if below else ()):
            united: Value[Reference] = Value()
            for branch in below:
                value = branch.find_value(position)
                if value:
                    united.add(value)
            output.ids.append(identifier)
            output.by_id[identifier] = united
        return output

    # Computed columns.

    def _project(self, arguments: str, seen: _Output) -> _Output:
        return self._compute(next(iter(lists(arguments)), ""), seen)

    def _aggregate(self, arguments: str, seen: _Output) -> _Output:
        parts = lists(arguments)
        if len(parts) > 1:
            self._influence(InfluenceKind.GROUP_BY, parts[0], seen)
        return self._compute(parts[-1] if parts else "", seen)

    def _window(self, arguments: str, seen: _Output) -> _Output:
        return _join([seen, self._compute(next(iter(lists(arguments)), ""), seen)])

    def _generate(self, arguments: str, seen: _Output) -> _Output:
        generator = split_top(arguments)[0]
        made = _Output()
        listed = items(lists(arguments)[-1])[0] if lists(arguments) else []
        for item, part in zip(listed, _split_generator(generator, len(listed)), strict=True):
            made.ids.append(item.id)
            value = made.by_id[item.id] = self._value(TextItem(item.id, item.name, part, part), seen)
            value.text = readable(generator)
        return _join([seen, made])

    def _expand(self, arguments: str, seen: _Output) -> _Output:
        parts = lists(arguments)
        if len(parts) != 2:
            return seen
        rows = [split_top(row) for row in lists(parts[0])]
        output = _Output(left_out=seen.left_out, named=seen.named)
        grouped: list[Value[Reference]] = []
        for position, item in enumerate(items(parts[1])[0]):
            output.ids.append(item.id)
            if item.id in seen.by_id:
                output.by_id[item.id] = seen.by_id[item.id]
                continue
            value = output.by_id[item.id] = Value()
            if item.name == _GROUPING_ID:
                self._grouped[item.id] = list(grouped)
                for column in grouped:
                    value.add(column, Transformation.CONDITIONAL)
                continue
            grouped.append(value)
            for row in rows:
                for reference in column_references(row[position]) if position < len(row) else ():
                    self._add(value, reference, seen)
        output.by_id = {**seen.by_id, **output.by_id}
        return output

    def _compute(self, inside: str, seen: _Output) -> _Output:
        listed, more = items(inside)
        output = _Output()
        for item in listed:
            output.ids.append(item.id)
            output.by_id[item.id] = self._value(item, seen)
        if more:
            # Omitted entries may be columns that are only passed on.
            output.by_id = {**seen.by_id, **output.by_id}
            output.left_out, output.named = seen.left_out, seen.named
        return output

    def _value(self, item: TextItem, seen: _Output) -> Value[Reference]:
        if not item.expression:
            passed_on = self._resolve(ColumnReference(item.id, item.name, Transformation.IDENTITY), seen)
            return passed_on or Value()
        value: Value[Reference] = Value(text=readable(item.expression))
        for column in self._column_references(item.expression):
            self._add(value, column, seen)
        if not value.inputs:
            # A generated name that contains " AS " hides the end of the expression.
            for column in column_references(item.text):
                if column.id != item.id:
                    self._add(value, column._replace(step=Transformation.TRANSFORMATION), seen)
        return value

    # Columns in expressions.

    def _column_references(self, expression: str) -> Iterator[ColumnReference]:
        return column_references(_GROUPING.sub(self._bit, expression))

    def _bit(self, matched: re.Match[str]) -> str:
        """Replace `grouping(column)`, which depends on this column only."""
        grouped, bit = self._grouped.get(int(matched["id"]), []), int(matched["bit"])
        if bit >= len(grouped):
            return matched[0]
        value: Value[Reference] = Value()
        value.add(grouped[len(grouped) - 1 - bit], Transformation.CONDITIONAL)
        number = _FIRST_BIT + len(self._bits)
        self._bits[number] = value
        return f"{_GROUPING_ID}#{number}"

    def _influence(self, kind: InfluenceKind, expression: str, seen: _Output) -> None:
        values = (self._resolve(column, seen) for column in self._column_references(expression))
        self._found.rows.add(kind, *filter(None, values))

    def _add(self, computed: Value[Reference], column: ColumnReference, seen: _Output) -> None:
        value = self._resolve(column, seen)
        if value:
            computed.add(value, column.step)

    def _resolve(self, column: ColumnReference, seen: _Output) -> Value[Reference] | None:
        value = self._resolve_column(column, seen)
        return value.field(column.path) if value else None

    def _resolve_column(self, column: ColumnReference, seen: _Output) -> Value[Reference] | None:
        if column.subquery:
            subquery = next(self._subqueries, None)
            if subquery is None or column.name == "exists":
                return None
            output = self._outputs[id(subquery)]
            return self._unite(output) if column.name == "list" else output.find_value(0)
        if column.outer:
            self._outer_ids.add(column.id)
            return self._outer[column.id]
        if column.id in self._bits:
            return self._bits[column.id]
        if column.id in seen.by_id:
            return seen.by_id[column.id]
        for part in seen.left_out:
            if column.id in part.ids:
                source = None if column.name in part.pseudo else part.source
                return self._column(source, column.id, column.name)
        named = [columns[column.name] for columns in seen.named if column.name in columns]
        return named[0] if len(named) == 1 else None

    def _unite(self, output: _Output) -> Value[Reference]:
        """Return all columns of a subquery that IN compares with, as one value."""
        return Value(Input(output.by_id[identifier]) for identifier in output.ids)


def _pseudo_columns(
    names: set[str], operation: TextOperation, table: CatalogTable | None, *, is_cut: bool
) -> frozenset[str]:
    """Return the names of pseudo-columns in a relation of DataSource V2, whose format the text lacks.

    Spark adds all of Iceberg's to a relation, at its end, which may be omitted from the text.
    """
    if operation.name not in _RELATIONS_V2:
        return frozenset()
    is_iceberg = is_cut or names >= pseudo_columns.ICEBERG_TOGETHER
    of_changes = pseudo_columns.ICEBERG_CHANGE if table and table.part == "changes" else ()
    return frozenset(of_changes) | (pseudo_columns.ICEBERG if is_iceberg else frozenset())


def _split_generator(generator: str, columns: int) -> list[str]:
    """Return the inputs of each generator column: `stack(n, a, b, c, d)` has separate ones, else all."""
    matched = _STACK.fullmatch(generator.strip())
    values = split_top(matched["values"]) if matched else []
    if not matched or not columns or len(values) != int(matched["rows"]) * columns:
        return [generator] * columns
    return [f"stack({', '.join(values[position::columns])})" for position in range(columns)]


def _output_of(
    listed: Sequence[TextItem], more: int, names: Sequence[str], values: Sequence[Value[Reference]]
) -> _Output:
    """Return an output whose columns are known by position; `more` are not in the text, and found by name."""
    output = _Output([text_item.id for text_item in listed])
    output.by_id = {item.id: value for item, value in zip(listed, values, strict=False)}
    if more:
        rest = zip(names[len(listed) :], values[len(listed) :], strict=False)
        output.named = (dict(rest),)
    return output


def _join(outputs: Iterable[_Output]) -> _Output:
    parts = list(outputs)
    if len(parts) == 1:
        return parts[0]
    joined = _Output()
    for part in parts:
        joined.ids.extend(part.ids)
        joined.by_id.update(part.by_id)
        joined.left_out += part.left_out
        joined.named += part.named
    return joined


_MAKES: Mapping[str, Callable[[_Reader, str, _Output], _Output]] = {
    "Project": _Reader._project,
    "Aggregate": _Reader._aggregate,
    "Window": _Reader._window,
    "Generate": _Reader._generate,
    "Expand": _Reader._expand,
}
