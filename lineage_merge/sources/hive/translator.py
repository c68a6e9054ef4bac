"""Translation of a Hive query into elements: datasets, columns, edges and the job. Pure."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.derive import Rows, derive_flows, derive_influences
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.column_lineage.value_graph import SourceColumn, Value
from lineage_merge.model.elements import (
    Alias,
    Authority,
    Column,
    Dataset,
    DatasetLabel,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Scalar,
    Writes,
    field_path,
)
from lineage_merge.sources.hive.expressions import find_named_sources, influences, is_rename, transformations
from lineage_merge.sources.hive.query import Edge, Field, Query
from lineage_merge.sources.hive.settings import Hive
from lineage_merge.sources.hive.statement import Table
from lineage_merge.sources.hive.structures import parts_of
from lineage_merge.sources.hive.syntax_tree import readable

JOB_TYPE = "hive"
# Name of the rule on vertices and in reports: a table is stored at its default path in Hive's warehouse.
WAREHOUSE_RULE = "hive-warehouse"
_DEFAULT_DATABASE = "default"


@dataclass(frozen=True, slots=True)
class Tables:
    """The namespace of Hive's tables, and their warehouse ("": unknown)."""

    namespace: str
    warehouse: str = ""

    def reference(self, table: Table) -> Reference | None:
        """Return the table by name, or a directory by path; None if the path's file system is unknown."""
        if table.database:
            return Reference(self.namespace, str(table))
        if ":/" in table.name:
            return Reference("", table.name)
        scheme, separator, rest = self.warehouse.partition("://")
        return Reference("", f"{scheme}://{rest.partition('/')[0]}{table.name}") if separator else None

    def path(self, table: Table) -> Reference | None:
        """Return the table's path in the warehouse; None if unknown."""
        if not (self.warehouse and table.database):
            return None
        folder = "" if table.database == _DEFAULT_DATABASE else f"{table.database}.db/"
        return Reference("", f"{self.warehouse.rstrip('/')}/{folder}{table.name}")


def tables(settings: Hive) -> Tables:
    """Return the table names of a configuration."""
    return Tables(settings.namespace, settings.warehouse)


def job_name(query: Query, job_name_from: str) -> str:
    """Return the job of a query, the same for all its runs: its targets, its targets and shape, or its user.

    The text is not used: it contains another date each day. Users are named without host and realm.
    """
    targets = "+".join(str(table) for table in query.targets)
    if job_name_from == "statement":
        return f"{targets} #{query.shape()}"
    user = query.user.partition("@")[0].partition("/")[0]
    return user if job_name_from == "user" and user else targets


def framework(query: Query) -> str:
    """Return ``hive tez``."""
    return f"{JOB_TYPE} {query.engine}".strip()


def translate(query: Query, wanted: Collection[Table], job: JobKey, names: Tables) -> Iterator[Element]:
    """Translate one query into elements, limited to the `wanted` targets."""
    yield Job(job, properties={"framework": framework(query)})
    for target in query.targets:
        if target not in wanted:
            continue
        output = names.reference(target)
        if output is None:
            what = "directory without a file system: set hive.warehouse, whose file system is used then"
            yield Problem("not-joined", target.name, "", what)
            continue
        yield from _translate_target(query, target, output, job, names)


def _translate_target(
    query: Query, target: Table, output: Reference, job: JobKey, names: Tables
) -> Iterator[Element]:
    write = query.statement.write_of(target)
    yield from _describe(target, output, Authority.BUILDER, names, is_view=write.is_view)
    yield Writes(job, output)
    sources: set[Table] = set()
    # Each column once, in document order, even if several edges name it.
    written: dict[str, None] = {}
    read: dict[Field, None] = {}
    edges: list[tuple[Edge, list[str]]] = []
    for edge in query.edges:
        columns = list(dict.fromkeys(field.column for field in edge.targets if field.table == target))
        if columns:
            sources.update(field.table for field in edge.sources)
            columns = [column for column in columns if column]
            written.update(dict.fromkeys(columns))
            read.update(dict.fromkeys(field for field in edge.sources if field.column))
            edges.append((edge, columns))
    yield from _lineage(edges, output, job, names)
    for column in written:
        yield Column(output, column, Authority.BUILDER)
    for field in read:
        yield Column(_reference(field, names), field.column, Authority.READER)
    properties: dict[str, Scalar] = {"write_mode": write.mode} if write.mode else {}
    if target in query.columns_lost:
        properties["column_lineage"] = "unavailable"
        what = "the log does not name the written columns (Hive 1 does not for INSERT)"
        yield Problem("no-columns", f"Hive table {target}", "", what)
    for source in sorted(sources):
        ref = Reference(names.namespace, str(source))
        yield from _describe(source, ref, Authority.CATALOG, names)
        yield Feeds(job, ref, output, properties)


def _describe(
    table: Table, ref: Reference, authority: Authority, names: Tables, *, is_view: bool = False
) -> Iterator[Element]:
    if not table.database:
        yield Dataset(ref, authority)
        return
    label: DatasetLabel = "view" if is_view else "table"
    yield Dataset(ref, authority, label, {"name": table.name, "qualified_name": str(table)})
    path = names.path(table)
    if path and not is_view:
        yield Alias(ref, path, WAREHOUSE_RULE, assumed=True)


def _lineage(
    edges: Sequence[tuple[Edge, list[str]]], output: Reference, job: JobKey, names: Tables
) -> Iterator[Element]:
    """Yield the lineage of a written table: of edges with the columns of it that they lead to."""
    targets: defaultdict[str, Value[Reference]] = defaultdict(Value)
    rows: Rows[Reference] = Rows()

    def source_column(field: Field) -> Value[Reference]:
        return Value(columns=(SourceColumn(_reference(field, names), field.column),))

    for edge, columns in edges:
        if edge.kind == "PREDICATE":
            for source, kinds in influences(edge).items():
                for kind in kinds:
                    rows.add(kind, source_column(source))
            continue
        for path, part in _parts(edge):
            text = "" if is_rename(part) else " ".join(readable(part.expression).split())
            value: Value[Reference] = Value(text=text)
            for source, steps in transformations(part).items():
                for step in steps:
                    value.add(source_column(source), step)
            for column in columns:
                targets[field_path(column, path) if path else column].add(value)
    flows, deciding = derive_flows(list(targets.items())), derive_influences(rows)
    yield from lineage_elements(flows, deciding, job, output, lambda source: source)


def _parts(edge: Edge) -> Iterator[tuple[str, Edge]]:
    """Yield the fields that an edge fills by `field_path`, and "" for the targets, each with an edge."""
    left = set(edge.sources)
    for path, expression in parts_of(edge.expression):
        sources = find_named_sources(replace(edge, expression=expression))
        left -= set(sources)
        if sources:
            yield path, replace(edge, sources=sources, expression=expression)
    remaining = tuple(source for source in edge.sources if source in left)
    if remaining:
        yield "", replace(edge, sources=remaining)


def _reference(field: Field, names: Tables) -> Reference:
    return Reference(names.namespace, str(field.table))
