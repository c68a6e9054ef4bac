"""Tables inside of a data set, and what the steps of its preparation make of them. Pure.

Both kinds of data sets have the same steps under other names: logical tables with transforms, and
preparation steps (`DataPrepConfiguration`).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.roles import CONDITION, VALUE
from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.column_lineage.value_graph import Input, Value
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.expressions import (
    Columns,
    Expression,
    ExpressionError,
    Names,
    aggregate,
    compute,
    parse_expression,
)

Document = Mapping[str, Any]
# Takes a message about a step.
Note = Callable[[str], None]


@dataclass(slots=True)
class Table:
    """The columns of a table, and what decides on its rows.

    `add`: makes a column of a table whose columns are not known. `sides`: the tables that were joined, by id.
    """

    columns: dict[str, Columns] = field(default_factory=dict)
    rows: Rows[str] = field(default_factory=Rows)
    add: Callable[[str], Columns] | None = None
    sides: Mapping[str, "Table"] = field(default_factory=dict)

    def find(self, name: str, in_any_case: bool) -> Columns | None:
        """Return the value of a column, None if there is none."""
        if (known := self.columns.get(name)) is not None:
            return known
        side, dot, column = name.partition(".")
        if dot and side in self.sides:
            return self.sides[side].find(column, in_any_case)
        if not in_any_case:
            return None
        folded = name.casefold()
        found = next((value for key, value in self.columns.items() if key.casefold() == folded), None)
        if found is None and self.add is not None:
            found = self.columns[name] = self.add(name)
        return found

    def with_columns(self, columns: dict[str, Columns]) -> "Table":
        """Return the table with other columns."""
        return Table(columns, self.rows, self.add, self.sides)


class Steps:
    """Applies steps to tables; `note` takes what does not fit together."""

    def __init__(self, note: Note) -> None:
        self._note = note

    def names(self, table: Table) -> Names:
        """Return what names in the expressions of a table mean."""
        return Names(table.find, self._lose, lambda _: Value())

    def _lose(self, name: str) -> Columns:
        self._note(f"names a column that does not exist: {name}")
        return Value()

    def column(self, table: Table, name: str) -> Columns:
        """Return a column by its name; without an origin if there is none."""
        return self.names(table).resolve(name)

    def expression(self, text: Any, table: Table) -> Expression:
        """Return the value of an expression; without an origin if it cannot be read."""
        try:
            return parse_expression(as_text(text), self.names(table))
        except ExpressionError as error:
            self._note(f"has an expression that cannot be read: {error}")
            return Expression()

    def transform(self, table: Table, operation: str, written: Document) -> Table:
        """Return what a transform, or a step with one source, makes of a table."""
        match operation.removesuffix("Operation").removesuffix("Step"):
            case "Project":
                names = [as_text(name) for name in as_list(written.get("ProjectedColumns"))]
                return table.with_columns({name: self.column(table, name) for name in names})
            case "Filter":
                return self._filter(table, [written])
            case "Filters":
                return self._filter(table, _objects(written.get("FilterOperations")))
            case "CreateColumns":
                return self._create(table, _objects(written.get("Columns")))
            case "RenameColumn":
                return self._rename(table, [written])
            case "RenameColumns":
                return self._rename(table, _objects(written.get("RenameColumnOperations")))
            case "CastColumnType":
                return self._cast(table, [written])
            case "CastColumnTypes":
                return self._cast(table, _objects(written.get("CastColumnTypeOperations")))
            case "Aggregate":
                return self._aggregate(table, written)
            case "Pivot":
                return self._pivot(table, written)
            case "Unpivot":
                return self._unpivot(table, written)
            case "TagColumn" | "UntagColumn" | "OverrideDatasetParameter" | "ImportTable":
                return table
        self._note(f"has an unknown step: {operation}")
        return table

    def _filter(self, table: Table, filters: Iterable[Document]) -> Table:
        rows = Rows(of=[table.rows])
        for condition in filters:
            if text := condition.get("ConditionExpression"):
                rows.add(InfluenceKind.FILTER, self.expression(text, table))
            for name in _column_names(condition):
                rows.add(InfluenceKind.FILTER, self.column(table, name))
        return Table(table.columns, rows, table.add, table.sides)

    def _create(self, table: Table, created: Iterable[Document]) -> Table:
        # Columns of one step may refer to each other, in any order.
        columns = dict(table.columns)
        wider = table.with_columns(columns)
        targets = [(column, Expression()) for column in created]
        columns.update((as_text(column.get("ColumnName")), target) for column, target in targets)
        for column, target in targets:
            name = as_text(column.get("ColumnName"))
            before, names = table.columns.get(name), self.names(wider)
            if before is not None:  # a column that replaces another one
                names = names._replace(find=_find_before(name, before, wider))
            try:
                parse_expression(as_text(column.get("Expression")), names, target)
            except ExpressionError as error:
                self._note(f"has an expression that cannot be read: column {name}: {error}")
        return wider

    def _rename(self, table: Table, renames: Iterable[Document]) -> Table:
        names = {as_text(one.get("ColumnName")): as_text(one.get("NewColumnName")) for one in renames}
        for name in names:
            self.column(table, name)  # of a table whose columns are not known
        return table.with_columns({names.get(name, name): value for name, value in table.columns.items()})

    def _cast(self, table: Table, casts: Iterable[Document]) -> Table:
        columns = dict(table.columns)
        for one in casts:
            name, kind = as_text(one.get("ColumnName")), as_text(one.get("NewColumnType")).lower()
            columns[name] = compute(self.column(table, name), VALUE, "cast(", f" as {kind})")
        return table.with_columns(columns)

    def _aggregate(self, table: Table, written: Document) -> Table:
        grouped, rows = self._group(table, written)
        for one in _objects(written.get("Aggregations")):
            grouped[as_text(one.get("NewColumnName"))] = self._aggregate_column(table, one)
        return Table(grouped, rows)

    def _group(self, table: Table, written: Document) -> tuple[dict[str, Columns], Rows[str]]:
        names = [as_text(name) for name in as_list(written.get("GroupByColumnNames"))]
        columns = {name: self.column(table, name) for name in names}
        rows = Rows(of=[table.rows])
        rows.add(InfluenceKind.GROUP_BY, *columns.values())
        return columns, rows

    def _aggregate_column(self, table: Table, written: Document) -> Columns:
        function = as_mapping(written.get("AggregationFunction"))
        simple, listing = as_mapping(function.get("SimpleAggregation")), function.get("ListAggregation")
        name = as_text((simple or as_mapping(listing)).get("InputColumnName"))
        called = as_text(simple.get("FunctionType")) or "listagg"
        return aggregate(self.column(table, name), called) if name else Value()

    def _pivot(self, table: Table, written: Document) -> Table:
        columns, rows = self._group(table, written)
        configured = as_mapping(written.get("PivotConfiguration"))
        label = self.column(table, as_text(configured.get("LabelColumnName")))
        values = as_mapping(written.get("ValueColumnConfiguration"))
        for one in _objects(configured.get("PivotedLabels")):
            value = self._aggregate_column(table, values)
            value.inputs.append(Input(label, CONDITION.step, passes=False))
            columns[as_text(one.get("NewColumnName"))] = value
        return Table(columns, rows)

    def _unpivot(self, table: Table, written: Document) -> Table:
        names = [as_text(one.get("ColumnName")) for one in _objects(written.get("ColumnsToUnpivot"))]
        values = [self.column(table, name) for name in names]
        columns = {name: value for name, value in table.columns.items() if name not in names}
        columns[as_text(written.get("UnpivotedLabelColumnName"))] = Value()
        columns[as_text(written.get("UnpivotedValueColumnName"))] = Value(map(Input, values))
        return table.with_columns(columns)

    def join(self, operands: Sequence[tuple[str, str, Table]], written: Document) -> Table:
        """Return the join of two tables, each with its id and its alias."""
        columns: dict[str, Columns] = {}
        for (_, alias, table), side in zip(operands, ("Left", "Right"), strict=True):
            properties = as_mapping(written.get(f"{side}OperandProperties"))
            overrides = {
                as_text(one.get("SourceColumnName")): as_text(one.get("OutputColumnName"))
                for one in _objects(properties.get("OutputColumnNameOverrides"))
            }
            for name, value in table.columns.items():
                shown = overrides.get(name, name)
                columns[f"{shown}[{alias}]" if shown in columns else shown] = value
        rows = Rows(of=[table.rows for _, _, table in operands])
        sides = {key: side for _, _, table in operands for key, side in table.sides.items()}
        sides |= {key: table for identifier, alias, table in operands for key in (alias, identifier) if key}
        add = next((table.add for _, _, table in operands if table.add is not None), None)
        joined = Table(columns, rows, add, sides)
        if clause := written.get("OnClause"):
            rows.add(InfluenceKind.JOIN, self.expression(clause, joined))
        return joined

    def append(self, tables: Sequence[Table], written: Document) -> Table:
        """Return the rows of two tables, by the names of columns."""
        listed = [as_text(one.get("ColumnName")) for one in _objects(written.get("AppendedColumns"))]
        names = listed or list(dict.fromkeys(name for table in tables for name in table.columns))
        found = {name: [table.find(name, True) for table in tables] for name in names}
        columns: dict[str, Columns] = {
            name: Value(Input(value) for value in values if value is not None)
            for name, values in found.items()
        }
        return Table(columns, Rows(of=[table.rows for table in tables]))


def _find_before(name: str, before: Columns, table: Table) -> Callable[[str, bool], Columns | None]:
    return lambda wanted, in_any_case: before if wanted == name else table.find(wanted, in_any_case)


def _objects(value: Any) -> list[Document]:
    return [entry for entry in as_list(value) if isinstance(entry, Mapping)]


def _column_names(condition: Document) -> Iterator[str]:
    """Yield the columns that the condition of a filter names."""
    for kind in condition.values():
        if isinstance(kind, Mapping) and (name := as_text(kind.get("ColumnName"))):
            yield name
