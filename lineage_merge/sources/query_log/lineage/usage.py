"""Usage: which datasets and columns statements read, and their elements. Pure."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlglot import Dialect

from lineage_merge.column_lineage.scripts.elements import column_of
from lineage_merge.column_lineage.scripts.script import Reader
from lineage_merge.column_lineage.scripts.shapes import Shape, Shapes
from lineage_merge.column_lineage.scripts.statements import Unread
from lineage_merge.column_lineage.scripts.syntax import Script
from lineage_merge.column_lineage.scripts.variables import Variables
from lineage_merge.model.elements import (
    FIELD,
    Authority,
    Column,
    Dataset,
    Element,
    Reference,
    Scalar,
    field_path,
)
from lineage_merge.sources.query_log.lineage.column_names import column_names
from lineage_merge.sources.query_log.lineage.interpretation import Warehouse, parse_statements
from lineage_merge.sources.query_log.lineage.names import NO_DATASET, LoggedTables
from lineage_merge.sources.query_log.statements.facts import query_of_cursor
from lineage_merge.sources.query_log.statements.reads import CountedReads


class Usage(NamedTuple):
    """How often something was read, when last (ms since 1970), and the readers; `name`: of a column."""

    number: int
    last: int
    readers: frozenset[str]
    name: str = ""


class DatasetUsage(NamedTuple):
    """The reads of a dataset, and of its columns by folded name; `shape`: all of its columns, if known."""

    reference: Reference
    reads: Usage
    columns: Mapping[str, Usage]
    shape: Shape | None = None


class DatasetReads(NamedTuple):
    """What a statement reads: columns (paths of fields, too) by the keys of datasets.

    `references`: the datasets of keys. `unread`: why it is unknown.
    """

    columns: Mapping[str, set[str]]
    references: Mapping[str, Reference]
    unread: str = ""


def reads_of(counted: CountedReads, warehouse: Warehouse, shapes: Shapes) -> DatasetReads:
    """Return what a statement reads, other than the tables that it writes."""
    key = counted.key
    datasets = LoggedTables(
        warehouse.namespace,
        warehouse.resolve_id,
        warehouse.catalog,
        key.database,
        key.search_path,
        dict(key.renamed),
        key.local,
        skips_system=True,
    )
    names = column_names(key.renamed_columns, datasets)
    if names is not None:
        shapes = names.restore(shapes)
    statements = parse_statements(query_of_cursor(counted.reads.text), warehouse.dialect)
    for statement in statements:
        if isinstance(statement.tree, Unread) and statement.tree.is_broken:
            return DatasetReads({}, {}, statement.tree.why)
    lineage = Reader(Dialect.get_or_raise(warehouse.dialect), datasets).read(
        Script("", statements, Variables()), shapes
    )
    if rejected := next((note.message for note in lineage.notes if note.kind == "rejected"), ""):
        return DatasetReads({}, {}, rejected)
    written = {write.target for write in lineage.writes} | {created.key for created in lineage.created}
    columns: dict[str, set[str]] = {
        dataset: set()
        for dataset in lineage.read
        if dataset not in written and not dataset.startswith(NO_DATASET) and _is_table(dataset, datasets)
    }
    for dataset, column in lineage.read_columns:
        if dataset in columns:
            current = column if names is None else names.find(dataset, column)
            columns[dataset].update(_list_structures(current))
    return DatasetReads(columns, datasets.references)


def _is_table(dataset: str, datasets: LoggedTables) -> bool:
    """Return whether a dataset is a table, and not the files of a COPY."""
    return dataset in datasets.external or bool(datasets.references[dataset].namespace)


def _list_structures(column: str) -> Iterator[str]:
    """Yield a column; of a field the structures around it, too."""
    names = column.split(FIELD)
    for number in range(1, len(names) + 1):
        yield field_path(*names[:number])


def usage_of(
    counted: CountedReads, dataset_reads: DatasetReads, shapes: Shapes
) -> Iterator[tuple[str, DatasetUsage]]:
    """Yield the usage by a statement, by the keys of datasets."""
    reads = Usage(counted.reads.number, counted.reads.last, counted.reads.readers)
    for key, names in dataset_reads.columns.items():
        shape = shapes.get(key)
        columns = {name.casefold(): reads._replace(name=name) for name in names}
        complete = shape if shape is not None and shape.complete else None
        yield key, DatasetUsage(dataset_reads.references[key], reads, columns, complete)


def merge_usage(one: DatasetUsage, other: DatasetUsage) -> DatasetUsage:
    """Return the usage of a dataset by both."""
    columns = dict(one.columns)
    for name, usage in other.columns.items():
        known = columns.get(name)
        columns[name] = usage if known is None else _sum(known, usage)
    reference = min(one.reference, other.reference)
    return DatasetUsage(reference, _sum(one.reads, other.reads), columns, one.shape or other.shape)


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        one.number + other.number,
        max(one.last, other.last),
        one.readers | other.readers,
        min(one.name, other.name),
    )


def elements_of(usage: DatasetUsage) -> Iterator[Element]:
    """Yield a dataset and its columns with their usage; also the columns that were not read."""
    yield Dataset(usage.reference, Authority.READER, None, _properties(usage.reads), _sets(usage.reads))
    for position, column in enumerate(usage.shape.columns if usage.shape is not None else ()):
        known = column_of(usage.reference, column, position)
        yield Column(known.ref, known.name, Authority.CATALOG, known.properties)
    for column_usage in usage.columns.values():
        yield Column(
            usage.reference,
            column_usage.name,
            Authority.READER,
            _properties(column_usage),
            _sets(column_usage),
        )


def _properties(usage: Usage) -> dict[str, Scalar]:
    reads: dict[str, Scalar] = {"read_count": usage.number}
    return {**reads, "last_read_at": usage.last} if usage.last else reads


def _sets(usage: Usage) -> dict[str, tuple[str, ...]]:
    # Also without readers: then earlier ones are removed.
    return {"readers": tuple(sorted(usage.readers))}
