"""Charts: their fields, and what decides on their rows, as values of the columns of a data set. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.column_lineage.value_graph import Input, SourceColumn, Value
from lineage_merge.model.elements import Reference
from lineage_merge.naming import redact
from lineage_merge.sources.custom_sql import Columns
from lineage_merge.sources.json_values import as_mapping, as_text
from lineage_merge.sources.superset.data_sets import DataSet
from lineage_merge.sources.superset.documents import Document
from lineage_merge.sources.superset.form_data import Use, find_malformed, find_unknown, read_uses
from lineage_merge.sources.superset.sql import Expression, read_expression
from lineage_merge.sources.superset.template_values import Unrenderable

_GRAINS = {
    "PT1S": "second",
    "PT1M": "minute",
    "PT1H": "hour",
    "P1D": "day",
    "P1W": "week",
    "P1M": "month",
    "P3M": "quarter",
    "P1Y": "year",
}
_DECIDING = {"filter": InfluenceKind.FILTER, "sort": InfluenceKind.SORT}
_MAX_NAME = 100
_MAX_FINDING = 300


@dataclass(slots=True)
class ChartLineage:
    """Fields by id with their values, and what decides on the rows.

    `titles`: of fields whose data set has names for people. `times`: the columns that a time range filters.
    `findings`: what refers to nothing or is unknown, each once. `tables`: what expressions read beside it.
    """

    fields: dict[str, list[Columns]] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    deciding: list[tuple[InfluenceKind, Columns]] = field(default_factory=list)
    times: list[Columns] = field(default_factory=list)
    findings: dict[str, None] = field(default_factory=dict)
    unknown_keys: tuple[str, ...] = ()
    tables: dict[str, Reference] = field(default_factory=dict)


def read_chart(params: Document, data_set: DataSet) -> ChartLineage:
    """Return the lineage of a chart of a data set."""
    return _Reader(params, data_set).read()


class _Reader:
    def __init__(self, params: Document, data_set: DataSet) -> None:
        self._params = params
        self._data_set = data_set
        self._lineage = ChartLineage()
        self._columns: dict[str, Columns] = {
            name: Value(columns=(SourceColumn(data_set.key, name),)) for name in data_set.columns
        }

    def read(self) -> ChartLineage:
        lineage = self._lineage
        uses = list(read_uses(self._params, self._is_column))
        # Orders may name fields by their labels.
        for use in sorted(uses, key=lambda use: use.role in ("filter", "sort", "time")):
            if use.role in ("column", "metric"):
                self._add_field(use)
                continue
            value = self._deciding_value(use)
            if value is None:
                continue
            if use.role == "time":
                lineage.times.append(value)
                continue
            lineage.deciding.append((_DECIDING[use.role], value))
            if use.key.startswith("granularity"):
                lineage.times.append(value)
        if self._params.get("deck_slices"):
            self._note("draws other charts, which are not read as its own: deck_slices")
        for key in find_malformed(self._params):
            self._note(f"names columns in an unknown form: {key}")
        lineage.unknown_keys = tuple(find_unknown(self._params, self._is_known))
        return lineage

    def _is_column(self, name: str) -> bool:
        return self._data_set.find_column(name) is not None

    def _is_known(self, name: str) -> bool:
        return name in self._data_set.columns or name in self._data_set.metrics

    def _note(self, finding: str) -> None:
        self._lineage.findings[redact(finding[:_MAX_FINDING])] = None

    # Fields

    def _add_field(self, use: Use) -> None:
        if use.role == "metric":
            name, value = self._metric(use.value)
            if use.key == "percent_metrics":
                name = f"%{name}"
            documents = self._data_set.metrics
        else:
            name, value = self._dimension(use)
            documents = self._data_set.columns
        self._lineage.fields.setdefault(name, []).append(value)
        title = as_text(documents.get(name, {}).get("verbose_name"))
        if title and title != name:
            self._lineage.titles[name] = title

    def _dimension(self, use: Use) -> tuple[str, Columns]:
        grain = as_text(self._params.get("time_grain_sqla"))
        if isinstance(use.value, str):
            name = self._data_set.find_column(use.value) or use.value
            has_grain = grain and (self._is_time_axis(use, name) or self._is_looked_up(name))
            value = self._column(use.value, "shows")
            return name, _truncate(value, name, grain) if has_grain else value
        written = as_mapping(use.value)
        text = as_text(written.get("sqlExpression"))
        if self._is_column(text):  # a column that is written as an expression, with a unit of time
            value, name = self._column(text, "shows"), text
        else:
            value, name = self._expression(text), _short(text)
        own_grain = as_text(written.get("timeGrain"))
        if own_grain:
            value = _truncate(value, name, own_grain)
        return as_text(written.get("label")) or name, value

    def _is_time_axis(self, use: Use, name: str) -> bool:
        return use.key == "x_axis" and bool(self._data_set.columns.get(name, {}).get("is_dttm"))

    def _is_looked_up(self, name: str) -> bool:
        return as_mapping(self._params.get("temporal_columns_lookup")).get(name) is True

    def _metric(self, metric: Any) -> tuple[str, Columns]:
        if isinstance(metric, str):
            expression = self._data_set.find_metric(metric)
            if expression is None:
                self._note(f"shows a metric that its data set lost: {metric}")
                return metric, Value()
            return metric, self._expression(expression)
        written = as_mapping(metric)
        label = as_text(written.get("label"))
        if as_text(written.get("expressionType")) == "SQL" or "aggregate" not in written:
            text = as_text(written.get("sqlExpression"))
            return label or _short(text), self._expression(text)
        column = as_mapping(written.get("column"))
        name = as_text(column.get("column_name"))
        function = as_text(written.get("aggregate")).upper()
        value = self._column(name, "shows")
        written_name = f"COUNT(DISTINCT {name})" if function == "COUNT_DISTINCT" else f"{function}({name})"
        aggregated = Value([Input(value, Transformation.AGGREGATION)], text=written_name)
        return label or f"{function}({name})", aggregated

    # What decides on rows

    def _deciding_value(self, use: Use) -> Columns | None:
        verb = "is sorted by" if use.role == "sort" else "is filtered by"
        if isinstance(use.value, Mapping):
            if as_text(use.value.get("expressionType")) == "SQL" and "aggregate" not in use.value:
                return self._expression(as_text(use.value.get("sqlExpression")))
            return self._metric(use.value)[1]
        if self._is_column(use.value):
            return self._column(use.value, verb)
        if use.value in self._lineage.fields:
            return Value(map(Input, self._lineage.fields[use.value]))
        if (expression := self._data_set.find_metric(use.value)) is not None:
            return self._expression(expression)
        self._note(f"{verb} a column that its data set lost: {use.value}")
        return None

    # Values

    def _column(self, name: str, verb: str) -> Columns:
        found = self._data_set.find_column(name)
        if found is None:
            self._note(f"{verb} a column that its data set lost: {name}")
            return Value()
        return self._columns[found]

    def _expression(self, text: str) -> Columns:
        try:
            read = self._read(self._data_set.render(text))
        except Unrenderable as error:
            self._note(f"has an expression that {error}")
            return Value()
        if read.problem:
            self._note(f"{read.problem} ({_short(text)})")
        for lost in read.lost:
            if self._data_set.find_column(lost) is None:
                self._note(f"has an expression with a column that its data set lost: {lost}")
        return read.value

    def _read(self, text: str) -> Expression:
        source = self._data_set.source

        def key(table: str) -> str:
            reference = source.reference(table)
            identifier = f"{reference.namespace}|{reference.name}"
            self._lineage.tables[identifier] = reference
            return identifier

        return read_expression(text, source.dialect, self._data_set.alias, self._columns, key)


def _truncate(value: Columns, name: str, grain: str) -> Columns:
    text = f"DATE_TRUNC('{_GRAINS.get(grain, grain)}', {name})"
    return Value([Input(value, Transformation.TRANSFORMATION)], text=text)


def _short(text: str) -> str:
    return redact(" ".join(text.split())[:_MAX_NAME])


def list_fields(lineage: ChartLineage) -> Iterator[tuple[str, Columns]]:
    """Yield the fields with their values."""
    for name, values in lineage.fields.items():
        for value in values:
            yield name, value
