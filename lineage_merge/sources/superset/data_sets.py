"""Data sets of Superset: their columns and metrics, and what these are computed from. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from lineage_merge.column_lineage.value_graph import SourceColumn, Value
from lineage_merge.model.elements import Element, Job, Reference
from lineage_merge.sources.custom_sql import Columns, QueryTable, read_query
from lineage_merge.sources.data_set_elements import (
    Asset,
    ColumnDescription,
    DataSetLineage,
    job_of,
    key_of,
    translate_lineage,
)
from lineage_merge.sources.data_source import DataSource
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.superset.data_set_calls import resolve_table, write_call
from lineage_merge.sources.superset.documents import Document, Located
from lineage_merge.sources.superset.server_facts import RowRule
from lineage_merge.sources.superset.sql import (
    VIRTUAL,
    name_table,
    quote_columns,
    read_expression,
    read_tables,
    read_virtual,
)
from lineage_merge.sources.superset.template_values import Unrenderable
from lineage_merge.sources.superset.templates import render

JOB_TYPE = "superset"
# The table of a rule of row level security in a query of it.
_RULED = "superset_ruled_table"


@dataclass(slots=True)
class DataSet:
    """A data set. `columns` are values by name, of which `calculated` have expressions; metrics have, too."""

    reference: Reference
    location: str
    body: Document
    source: DataSource
    columns: dict[str, Document] = field(default_factory=dict)
    metrics: dict[str, Document] = field(default_factory=dict)
    # Data sets of the server by number; exports do not have them.
    others: "Mapping[int, DataSet]" = field(default_factory=dict, repr=False)

    @property
    def key(self) -> str:
        """What values name it by."""
        return key_of(self.reference)

    @property
    def is_virtual(self) -> bool:
        """Return whether it is a query."""
        return bool(as_text(self.body.get("sql")))

    @property
    def alias(self) -> str:
        """What its table is called in queries."""
        return VIRTUAL if self.is_virtual else as_text(self.body.get("table_name"))

    @property
    def table(self) -> Reference:
        """The table that it is."""
        catalog, schema, table = (as_text(self.body.get(key)) for key in ("catalog", "schema", "table_name"))
        return self.source.reference(name_table(catalog, schema, table))

    @property
    def physical(self) -> tuple[str, ...]:
        """The names of the columns that are not calculated."""
        return tuple(name for name, column in self.columns.items() if not as_text(column.get("expression")))

    def find_column(self, name: str) -> str | None:
        """Return a column's name as the data set spells it, None if it has no such column."""
        if name in self.columns:
            return name
        folded = name.casefold()
        return next((each for each in self.columns if each.casefold() == folded), None)

    def find_metric(self, name: str) -> str | None:
        """Return the expression of a saved metric."""
        metric = self.metrics.get(name)
        return None if metric is None else as_text(metric.get("expression"))

    def render(self, text: str) -> str:
        """Return SQL without templates. Raises `Unrenderable`."""
        return self._render(text, self.others)

    def _render(self, text: str, others: "Mapping[int, DataSet]") -> str:
        parameters = as_mapping(self.body.get("template_params"))
        return render(text, parameters, self.find_metric, lambda given: write_call(given, others))

    def write_metrics(self, table: str, columns: Sequence[str]) -> str:
        """Return a query of columns (none: all) and all metrics. Raises `Unrenderable`."""
        dialect = self.source.dialect
        groups = quote_columns(columns or tuple(self.columns), dialect)
        labels = quote_columns(tuple(self.metrics), dialect)
        # Metrics that name data sets could name each other.
        metrics = [
            f"{self._render(self.find_metric(name) or 'NULL', {})} AS {label}"
            for name, label in zip(self.metrics, labels, strict=True)
        ]
        grouped = ", ".join(groups)
        return f"SELECT {', '.join((*groups, *metrics))} FROM {table} GROUP BY {grouped}"  # noqa: S608 (never run)


def read_data_set(
    document: Located, reference: Reference, source: DataSource, others: Mapping[int, DataSet] = {}
) -> DataSet:
    """Return a data set with its columns and metrics; `others`: those of the server by number."""
    data_set = DataSet(reference, document.location, document.body, source, others=others)
    for column in map(as_mapping, as_list(document.body.get("columns"))):
        if name := as_text(column.get("column_name")):
            data_set.columns.setdefault(name, column)
    for metric in map(as_mapping, as_list(document.body.get("metrics"))):
        if name := as_text(metric.get("metric_name")):
            data_set.metrics.setdefault(name, metric)
    return data_set


class _Reader:
    """Reads what a data set is computed from."""

    def __init__(
        self,
        data_set: DataSet,
        resolve_id: Callable[[Reference], str],
        tables: Mapping[str, Sequence[str]],
        rules: Sequence[RowRule],
    ) -> None:
        self._rules = rules
        self._data_set = data_set
        self._resolve_id = resolve_id
        self._tables = tables
        self._lineage = DataSetLineage()

    def read(self) -> DataSetLineage:
        self._lineage.columns = self._read_columns()
        if not self._data_set.source.problem:
            for rule in self._rules:
                self._read_rule(rule)
        return self._lineage

    def _key(self, reference: Reference) -> str:
        reference = resolve_table(reference, self._data_set.others)
        key = self._resolve_id(reference)
        self._lineage.reads.setdefault(key, reference)
        return key

    def _read_columns(self) -> list[tuple[str, Columns]]:
        data_set = self._data_set
        values = dict(zip(data_set.physical, self._read_physical(), strict=True))
        columns: list[tuple[str, Columns]] = []
        for name, column in data_set.columns.items():
            value = values.get(name)
            columns.append((name, self._calculate(name, column, values) if value is None else value))
        return columns

    def _calculate(self, name: str, column: Document, values: Mapping[str, Columns]) -> Columns:
        field_name = f"columns.{name}"
        try:
            text = self._data_set.render(as_text(column.get("expression")))
        except Unrenderable as error:
            self._lineage.problems.append(("no-columns", field_name, f"has an expression that {error}"))
            return Value()
        source = self._data_set.source

        def key(table: str) -> str:
            return self._key(source.reference(table))

        read = read_expression(text, source.dialect, self._data_set.alias, values, key)
        if read.problem:
            self._lineage.problems.append(("no-columns", field_name, read.problem))
        for lost in read.lost:
            if self._data_set.find_column(lost) is None:
                message = f"has an expression with a column that the data set lost: {lost}"
                self._lineage.problems.append(("no-columns", field_name, message))
        return read.value

    def _read_physical(self) -> Sequence[Columns]:
        data_set, names = self._data_set, self._data_set.physical
        unknown = [Value[str]() for _ in names]
        if data_set.source.problem:
            self._lineage.problems.append(("not-joined", "database_uuid", data_set.source.problem))
            return unknown
        if data_set.is_virtual:
            read = self._read_query()
            self._lineage.rows.include(read.rows)
            self._lineage.problems += (("no-columns", "sql", problem) for problem in read.problems)
            return read.values or unknown
        key = self._key(data_set.table)
        return [Value(columns=(SourceColumn(key, name),)) for name in names]

    def _read_rule(self, rule: RowRule) -> None:
        """Add the columns of a row level security rule of this data set, or of a table of it."""
        data_set = self._data_set
        is_own = rule.uuid == as_text(data_set.body.get("uuid")).lower()
        if not is_own and not (data_set.is_virtual and self._is_read(rule)):
            return
        try:
            clause = data_set.render(rule.clause)
            query = data_set.render(as_text(data_set.body.get("sql"))).strip().rstrip(";")
        except Unrenderable as error:
            problem = f"has a row level security rule ({rule.name}) with a template that {error}"
            self._lineage.problems.append(("no-columns", "", problem))
            return
        is_query = is_own and data_set.is_virtual
        name = VIRTUAL if is_query else rule.table
        alias = f" AS {name}" if name.isidentifier() else ""
        table = f"(\n{query}\n)" if is_query else _RULED
        statement = f"SELECT 1 AS one FROM {table}{alias} WHERE (\n{clause}\n)"  # noqa: S608 (never run)
        read = read_query(statement, (), data_set.source, partial(self._key_of_rule, rule), self._tables)
        self._lineage.rows.include(read.rows)
        for problem in read.problems:
            text = f"has a row level security rule ({rule.name}), which {problem}"
            self._lineage.problems.append(("no-columns", "", text))

    def _is_read(self, rule: RowRule) -> bool:
        """Return whether a rule is of a table that a virtual data set reads: Superset applies it there."""
        if rule.is_virtual or rule.database != as_text(self._data_set.body.get("database_uuid")).lower():
            return False
        return self._resolve_id(self._table_of(rule)) in self._lineage.reads

    def _table_of(self, rule: RowRule) -> Reference:
        return self._data_set.source.reference(name_table(rule.catalog, rule.schema, rule.table))

    def _key_of_rule(self, rule: RowRule, reference: Reference) -> str:
        is_table = reference.name.lower().endswith(_RULED)
        return self._key(self._table_of(rule) if is_table else reference)

    def _read_query(self) -> QueryTable:
        data_set, text = self._data_set, as_text(self._data_set.body.get("sql"))
        try:
            rendered = data_set.render(text)
        except Unrenderable as error:
            has_tables = read_tables(text, data_set.source, self._key)
            known = "only its tables are known" if has_tables else "its tables are unknown"
            return QueryTable((), problems=[f"is a query with a template that {error}: {known}"])
        return read_virtual(rendered, data_set.physical, data_set.source, self._key, self._tables)


def translate_data_set(
    data_set: DataSet,
    resolve_id: Callable[[Reference], str],
    tables: Mapping[str, Sequence[str]],
    rules: Sequence[RowRule] = (),
) -> Iterator[Element]:
    """Yield the elements of a data set; `tables`: known columns of tables by id; `rules` of the server."""
    reference = data_set.reference
    job = Job(
        job_of(JOB_TYPE, reference), properties={"framework": "Superset", "project": reference.namespace}
    )
    asset = Asset(reference, as_text(data_set.body.get("table_name")) or reference.name)
    description = as_text(data_set.body.get("description"))
    described = {
        name: ColumnDescription(as_text(column.get("type")).lower(), as_text(column.get("description")))
        for name, column in data_set.columns.items()
    }
    lineage = _Reader(data_set, resolve_id, tables, rules).read()
    yield from translate_lineage(asset, job, description, lineage, described, data_set.location)
