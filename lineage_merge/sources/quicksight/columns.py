"""Columns of the data sets of a definition, with its calculated fields and parameters, as values. Pure."""

import re
from collections.abc import Iterable, Mapping
from functools import partial

from lineage_merge.column_lineage.roles import VALUE
from lineage_merge.column_lineage.value_graph import SourceColumn, Value
from lineage_merge.model.elements import Reference
from lineage_merge.sources.data_set_elements import key_of
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.assets import reference_of_arn
from lineage_merge.sources.quicksight.expressions import (
    Columns,
    Expression,
    ExpressionError,
    Names,
    aggregate,
    compute,
    parse_expression,
    show_name,
)
from lineage_merge.sources.quicksight.visuals import ColumnName, Document, Field

# Sources of values that are no column of a data set: what does not exist, and parameters. No id begins so.
LOST = "\x1flost"
PARAMETER = "\x1fparameter"
_QUALIFIER = re.compile(r"^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.", re.IGNORECASE)


class DefinitionColumns:
    """The columns and calculated fields of the data sets that a definition declares.

    `references`: the data sets by identifier. `known`: names of their columns, as far as they are described.
    `unreadable`: why calculated fields cannot be read, by name. Fields are read when they are asked for.
    """

    def __init__(self, definition: Document, known: Mapping[Reference, tuple[str, ...]]) -> None:
        self.references: dict[str, Reference] = {}
        self.unreadable: dict[str, str] = {}
        self._columns: dict[str, dict[str, str] | None] = {}
        self._values: dict[ColumnName, Columns] = {}
        self._waiting: list[tuple[ColumnName, str, Expression]] = []
        for declared in map(as_mapping, as_list(definition.get("DataSetIdentifierDeclarations"))):
            identifier = as_text(declared.get("Identifier"))
            reference = reference_of_arn(as_text(declared.get("DataSetArn")))
            if identifier and reference:
                self.references[identifier] = reference
                names = known.get(reference)
                self._columns[identifier] = None if names is None else {name: name for name in names}
        self._calculated = {
            ColumnName(as_text(one.get("DataSetIdentifier")), as_text(one.get("Name"))): as_text(
                one.get("Expression")
            )
            for one in map(as_mapping, as_list(definition.get("CalculatedFields")))
        }
        self._folded = {
            ColumnName(column.data_set, column.name.casefold()): column for column in self._calculated
        }

    def has(self, column: ColumnName) -> bool:
        """Return whether a data set certainly has a column or calculated field of this spelling."""
        return column in self._calculated or column.name in (self._columns.get(column.data_set) or {})

    def value(self, column: ColumnName) -> Columns:
        """Return the value of a column, or of a calculated field."""
        value = self._names(column.data_set).resolve(column.name)
        self._read_waiting()
        return value

    def field(self, named: Field, data_sets: Iterable[str]) -> Columns:
        """Return the value of a field; `data_sets`: those in which its expression finds names."""
        if named.column is None:
            return self.expression(named.expression, data_sets, named.id)
        value = self.value(named.column)
        if named.function:
            return aggregate(value, named.function)
        if named.granularity:
            return compute(value, VALUE, f"truncDate('{named.granularity}', ", ")")
        return value

    def expression(self, text: str, data_sets: Iterable[str], name: str) -> Expression:
        """Return the value of an expression outside of the calculated fields, of one of several data sets."""
        wanted = [*dict.fromkeys((*data_sets, *self.references))]

        def find(named: str, in_any_case: bool) -> Columns | None:
            found = (self._find(data_set, named, in_any_case, certain=True) for data_set in wanted)
            value = next((value for value in found if value is not None), None)
            unknown = (data_set for data_set in wanted if self._columns.get(data_set) is None)
            if value is None and in_any_case and (data_set := next(unknown, "")):
                return self._find(data_set, named, in_any_case)
            return value

        expression = Expression()
        names = self._names(wanted[0] if wanted else "")._replace(find=find)
        self._parse(expression, text, names, name)
        self._read_waiting()
        return expression

    def _names(self, data_set: str) -> Names:
        return Names(
            lambda name, in_any_case: self._find(data_set, name, in_any_case),
            lambda name: _mark(LOST, f"{data_set}.{name}"),
            lambda name: _mark(PARAMETER, name),
        )

    def _find(self, data_set: str, name: str, in_any_case: bool, *, certain: bool = False) -> Columns | None:
        """Return the value of a name of a data set; `certain`: only if it is known to have it."""
        column = ColumnName(data_set, name)
        if in_any_case:
            column = self._folded.get(ColumnName(data_set, name.casefold()), column)
        if column in self._values:
            return self._values[column]
        if (text := self._calculated.get(column)) is not None:
            value = self._values[column] = Expression()
            self._waiting.append((column, text, value))
            return value
        columns = self._columns.get(data_set, {})
        if columns is None:
            is_assumed = in_any_case and not certain
            return self._column(column) if is_assumed else None
        spelt = columns.get(name)
        if spelt is None and in_any_case:
            # The id of a table of the data set may precede the column.
            folded = {name.casefold(), _QUALIFIER.sub("", name).casefold()}
            spelt = next((each for each in columns if each.casefold() in folded), None)
        return None if spelt is None else self._column(ColumnName(data_set, spelt))

    def _column(self, column: ColumnName) -> Columns:
        if column not in self._values:
            self._values[column] = self._source_value(column)
        return self._values[column]

    def _source_value(self, column: ColumnName) -> Columns:
        return Value(columns=(SourceColumn(key_of(self.references[column.data_set]), column.name),))

    def _read_waiting(self) -> None:
        """Read the calculated fields that were asked for, and those that these ask for."""
        while self._waiting:
            column, text, value = self._waiting.pop()
            names = self._names(column.data_set)._replace(find=partial(self._find_beside, column))
            self._parse(value, text, names, column.name)

    def _find_beside(self, own: ColumnName, name: str, in_any_case: bool) -> Columns | None:
        """Return the value of a name in a calculated field, in which its own name is that of a column."""
        if name == own.name and name in (self._columns.get(own.data_set) or {}):
            return self._source_value(own)
        return self._find(own.data_set, name, in_any_case)

    def _parse(self, value: Expression, text: str, names: Names, name: str) -> None:
        try:
            parse_expression(text, names, value)
        except ExpressionError as error:
            self.unreadable[name] = str(error)
            value.inputs = []
            value.parts = [show_name(name)]


def _mark(source: str, name: str) -> Columns:
    return Value(columns=(SourceColumn(source, name),))
