"""Data sets: their columns as values of the tables that they read. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from graphlib import CycleError, TopologicalSorter
from typing import Any

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.transformations import InfluenceKind
from lineage_merge.column_lineage.value_graph import Input, SourceColumn, Value
from lineage_merge.model.elements import ProblemKind, Reference
from lineage_merge.model.errors import NamingError
from lineage_merge.naming import name_uri
from lineage_merge.sources.custom_sql import read_query
from lineage_merge.sources.data_set_elements import DataSetLineage
from lineage_merge.sources.data_source import quote_table
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.assets import reference_of_arn
from lineage_merge.sources.quicksight.data_sources import DataSources
from lineage_merge.sources.quicksight.tables import Document, Steps, Table

# Of row level security: they name who sees rows, in the rule of each, and not which rows.
_PRINCIPALS = frozenset({"username", "groupname", "userarn", "grouparn"})


@dataclass(frozen=True, slots=True)
class Catalog:
    """What is known of other assets: data sources, and names of columns.

    `data_sets`: the columns of data sets by reference; `tables`: those of tables by id, as far as data sets
    name them. `resolve_id` returns the id of a table. `files` returns the files that a manifest in S3 lists.
    """

    sources: DataSources = field(default_factory=DataSources)
    data_sets: Mapping[Reference, tuple[str, ...]] = field(default_factory=dict)
    tables: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    resolve_id: Callable[[Reference], str] = "|".join
    list_files: Callable[[str], Sequence[str]] = lambda _manifest: ()


def read_data_set(document: Document, catalog: Catalog) -> DataSetLineage:
    """Return the lineage of a described data set; its problems each with a kind and the path of a field."""
    return _Reader(document, catalog).read()


class _Reader:
    def __init__(self, document: Document, catalog: Catalog) -> None:
        self._document = document
        self._catalog = catalog
        self._lineage = DataSetLineage()

    def read(self) -> DataSetLineage:
        preparation = as_mapping(self._document.get("DataPrepConfiguration"))
        table = (
            self._read_steps(preparation)
            if preparation.get("TransformStepMap")
            else self._read_logical_tables()
        )
        self._lineage.columns = list(table.columns.items())
        self._lineage.rows = Rows(of=[table.rows])
        self._secure_rows(table)
        return self._lineage

    def _note(self, kind: ProblemKind, path: str, message: str) -> None:
        self._lineage.problems.append((kind, path, message))

    def _steps(self, path: str) -> Steps:
        return Steps(lambda message: self._note("no-columns", path, message))

    def _key(self, reference: Reference) -> str:
        key = self._catalog.resolve_id(reference)
        self._lineage.reads.setdefault(key, reference)
        return key

    # What a data set reads

    def _physical(self, identifier: str) -> Table:
        path = f"PhysicalTableMap.{identifier}"
        described = as_mapping(as_mapping(self._document.get("PhysicalTableMap")).get(identifier))
        kind, written = next(iter(described.items()), ("", None))
        table = as_mapping(written)
        names = [
            as_text(as_mapping(column).get("Name"))
            for column in (*as_list(table.get("InputColumns")), *as_list(table.get("Columns")))
        ]
        match kind:
            case "RelationalTable":
                return self._relational(table, names, path)
            case "CustomSql":
                return self._query(table, names, path)
            case "S3Source":
                return self._files(table, names, path)
        what = f"reads {kind or 'a table that is not described'}, which has no known address"
        self._note("not-joined", path, what)
        return Table({name: Value() for name in names})

    def _relational(self, table: Document, names: Iterable[str], path: str) -> Table:
        source = self._catalog.sources.find(as_text(table.get("DataSourceArn")))
        if source.problem or not source.address:
            self._note("not-joined", path, source.problem or "reads a table of a data source without tables")
            return Table({name: Value() for name in names})
        return self._table(source.reference(name_of_table(table)), names)

    def _table(self, reference: Reference, names: Iterable[str]) -> Table:
        key = self._key(reference)
        return Table({name: Value(columns=(SourceColumn(key, name),)) for name in names})

    def _query(self, table: Document, names: Sequence[str], path: str) -> Table:
        source = self._catalog.sources.find(as_text(table.get("DataSourceArn")))
        if source.problem or not source.address:
            self._note("not-joined", path, source.problem or "has a query of a data source without tables")
            return Table({name: Value() for name in names})
        read = read_query(as_text(table.get("SqlQuery")), names, source, self._key, self._catalog.tables)
        for problem in read.problems:
            self._note("no-columns", f"{path}.SqlQuery", problem)
        return Table(dict(zip(names, read.values, strict=True)), read.rows)

    def _files(self, table: Document, names: Sequence[str], path: str) -> Table:
        source = self._catalog.sources.find(as_text(table.get("DataSourceArn")))
        files = self._catalog.list_files(source.manifest) if source.manifest else ()
        keys = [self._key(Reference("", file)) for file in files if _is_address(file)]
        if not keys:
            problem = source.problem or f"reads files of a manifest that cannot be read: {source.manifest}"
            self._note("not-joined", path, problem)
        columns = {
            name: Value(Input(Value(columns=(SourceColumn(key, name),))) for key in dict.fromkeys(keys))
            for name in names
        }
        return Table(columns)

    def _data_set(self, arn: str, given: Any = None) -> Table:
        reference = reference_of_arn(arn)
        if reference is None:
            self._note("not-joined", "DataSetArn", "reads a data set without an ARN")
            return Table()
        known = self._catalog.data_sets.get(reference)
        listed = [as_text(as_mapping(column).get("Name")) for column in as_list(given)]
        table = self._table(reference, listed or known or ())
        if known is None and not listed:
            key = self._key(reference)
            table.add = lambda name: Value(columns=(SourceColumn(key, name),))
        return table

    # Logical tables, and steps of the new kind

    def _read_logical_tables(self) -> Table:
        logical = as_mapping(self._document.get("LogicalTableMap"))
        if not logical:
            physical = [self._physical(key) for key in as_mapping(self._document.get("PhysicalTableMap"))]
            return physical[-1] if physical else Table()
        sources = {key: as_mapping(as_mapping(table).get("Source")) for key, table in logical.items()}
        joins = {key: as_mapping(source.get("JoinInstruction")) for key, source in sources.items()}
        needed = {key: _operands(join) for key, join in joins.items()}
        tables: dict[str, Table] = {}
        for key in self._in_order(needed, "LogicalTableMap"):
            path, source = f"LogicalTableMap.{key}", sources[key]
            steps = self._steps(path)
            if joins[key]:
                operands = [
                    (name, as_text(as_mapping(logical.get(name)).get("Alias")), tables.get(name, Table()))
                    for name in needed[key]
                ]
                table = steps.join(operands, joins[key])
            elif source.get("DataSetArn"):
                table = self._data_set(as_text(source.get("DataSetArn")))
            else:
                table = self._physical(as_text(source.get("PhysicalTableId")))
            for transform in as_list(as_mapping(logical[key]).get("DataTransforms")):
                for operation, written in as_mapping(transform).items():
                    table = steps.transform(table, operation, as_mapping(written))
            tables[key] = table
        return self._last(tables, {name for names in needed.values() for name in names})

    def _read_steps(self, preparation: Document) -> Table:
        steps_by_id = as_mapping(preparation.get("TransformStepMap"))
        sources = as_mapping(preparation.get("SourceTableMap"))
        steps = {key: _operation_of(step) for key, step in steps_by_id.items()}
        needed = {key: _sources_of(written) for key, (_, written) in steps.items()}
        tables: dict[str, Table] = {}
        for key in self._in_order(needed, "DataPrepConfiguration.TransformStepMap"):
            operation, written = steps[key]
            reader = self._steps(f"DataPrepConfiguration.TransformStepMap.{key}")
            inputs = [tables.get(name, Table()) for name in needed[key]]
            if operation == "ImportTableStep":
                source_id = as_text(as_mapping(written.get("Source")).get("SourceTableId"))
                source = as_mapping(sources.get(source_id))
                tables[key] = self._import_table(source)
            elif operation == "JoinStep" and len(inputs) == 2:
                aliases = [
                    as_text(steps[name][1].get("Alias")) if name in steps else "" for name in needed[key]
                ]
                operands = list(zip(needed[key], aliases, inputs, strict=True))
                tables[key] = reader.join(operands, written)
            elif operation == "AppendStep":
                tables[key] = reader.append(inputs, written)
            else:
                tables[key] = reader.transform(inputs[0] if inputs else Table(), operation, written)
        for destination in as_mapping(preparation.get("DestinationTableMap")).values():
            source = as_mapping(as_mapping(destination).get("Source"))
            if (found := tables.get(as_text(source.get("TransformOperationId")))) is not None:
                return found
        return self._last(tables, {name for names in needed.values() for name in names})

    def _import_table(self, source: Document) -> Table:
        if parent := as_mapping(source.get("DataSet")):
            return self._data_set(as_text(parent.get("DataSetArn")), parent.get("InputColumns"))
        return self._physical(as_text(source.get("PhysicalTableId")))

    def _in_order(self, needed: Mapping[str, Sequence[str]], path: str) -> Iterator[str]:
        """Yield tables after those that they need."""
        known = {key: [name for name in names if name in needed] for key, names in needed.items()}
        for key, names in needed.items():
            for name in names:
                if name not in needed:
                    self._note("no-columns", f"{path}.{key}", f"reads a table that does not exist: {name}")
        try:
            yield from TopologicalSorter(known).static_order()
        except CycleError:
            self._note("no-columns", path, "has tables that read each other in a circle")

    def _last(self, tables: Mapping[str, Table], read: set[str]) -> Table:
        last = [table for key, table in tables.items() if key not in read]
        return last[-1] if last else Table()

    # Row level security

    def _secure_rows(self, table: Table) -> None:
        semantic = as_mapping(as_mapping(self._document.get("SemanticModelConfiguration")).get("TableMap"))
        configured = [
            as_mapping(as_mapping(one).get("RowLevelPermissionConfiguration")) for one in semantic.values()
        ]
        data_sets = [self._document.get("RowLevelPermissionDataSet")]
        data_sets += [one.get("RowLevelPermissionDataSet") for one in configured]
        for permission in map(as_mapping, data_sets):
            if permission.get("Status") != "DISABLED" and (arn := as_text(permission.get("Arn"))):
                self._secure_by(arn, table)
        tags = [self._document.get("RowLevelPermissionTagConfiguration")]
        tags += [one.get("TagConfiguration") for one in configured]
        for configuration in map(as_mapping, tags):
            if configuration.get("Status") == "DISABLED":
                continue
            for rule in as_list(configuration.get("TagRules")):
                name = as_text(as_mapping(rule).get("ColumnName"))
                steps = self._steps("RowLevelPermissionTagConfiguration")
                self._lineage.rows.add(InfluenceKind.FILTER, steps.column(table, name))

    def _secure_by(self, arn: str, table: Table) -> None:
        """Add the columns of a data set of rules: those of its names in this one are compared."""
        for name, value in self._data_set(arn).columns.items():
            self._lineage.rows.add(InfluenceKind.FILTER, value)
            if name.casefold() not in _PRINCIPALS and (own := table.find(name, True)) is not None:
                self._lineage.rows.add(InfluenceKind.FILTER, own)


def name_of_table(table: Document) -> str:
    """Return the name of a relational table as SQL has it, in quotes."""
    return quote_table(as_text(table.get(part)) for part in ("Catalog", "Schema", "Name"))


def _operands(join: Document) -> list[str]:
    return [as_text(join.get(side)) for side in ("LeftOperand", "RightOperand")] if join else []


def _operation_of(step: Any) -> tuple[str, Document]:
    operation, written = next(iter(as_mapping(step).items()), ("", None))
    return operation, as_mapping(written)


def _sources_of(step: Document) -> list[str]:
    keys = ("Source", "LeftOperand", "RightOperand", "FirstSource", "SecondSource")
    sources = (step.get(key) for key in keys)
    names = (as_text(as_mapping(source).get("TransformOperationId")) for source in sources)
    return [name for name in names if name]


def _is_address(file: str) -> bool:
    try:
        name_uri(file)
    except NamingError:
        return False
    return True
