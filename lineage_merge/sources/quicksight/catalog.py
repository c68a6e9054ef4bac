"""What the documents of a location say about each other, gathered before they are translated. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.elements import Reference
from lineage_merge.sources.data_source import DataSource
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.assets import find_namespace, reference_of_arn
from lineage_merge.sources.quicksight.data_sets import Catalog, name_of_table, read_data_set
from lineage_merge.sources.quicksight.data_sources import DataSources, read_data_source
from lineage_merge.sources.quicksight.documents import Asset, DashboardFacts, read_facts


class SourceFact(NamedTuple):
    """A data source."""

    id: str
    document: Mapping[str, Any]


class TableFact(NamedTuple):
    """Columns of a table, by the ARN of its data source and its name as SQL has it."""

    source: str
    name: str
    columns: tuple[str, ...]


class ColumnsFact(NamedTuple):
    """The columns of a data set. `document`: if they depend on those of other data sets, its description."""

    id: str
    arn: str
    columns: tuple[str, ...]
    document: Mapping[str, Any] | None = None


class NamespaceFact(NamedTuple):
    """The account and region of an asset."""

    namespace: str


Fact = SourceFact | TableFact | ColumnsFact | NamespaceFact | DashboardFacts
_NOTHING = Catalog()


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of a location: its namespace, and that of its assets."""

    namespace: str
    catalog: Catalog
    dashboards: Mapping[str, DashboardFacts] = field(default_factory=dict)

    def reference(self, arn: str, name: str) -> Reference:
        """Return the dataset of an asset by its ARN, or else by its name."""
        return reference_of_arn(arn) or Reference(self.namespace, name)


def gather_facts(asset: Asset) -> Iterator[Fact]:
    """Yield what a document says about others."""
    if namespace := find_namespace(asset.body):
        yield NamespaceFact(namespace)
    match asset.kind:
        case "facts":
            yield from read_facts(asset.body)
        case "data_source":
            yield SourceFact(as_text(asset.body.get("DataSourceId")), asset.body)
        case "data_set":
            yield from _describe_tables(asset.body)
            yield _columns_of(asset.body)


def _describe_tables(document: Mapping[str, Any]) -> Iterator[TableFact]:
    for physical in as_mapping(document.get("PhysicalTableMap")).values():
        table = as_mapping(as_mapping(physical).get("RelationalTable"))
        names = (as_text(as_mapping(one).get("Name")) for one in as_list(table.get("InputColumns")))
        if table:
            source = as_text(table.get("DataSourceArn"))
            yield TableFact(source, name_of_table(table), tuple(name for name in names if name))


def _columns_of(document: Mapping[str, Any]) -> ColumnsFact:
    identifier, arn = as_text(document.get("DataSetId")), as_text(document.get("Arn"))
    output = [as_text(as_mapping(one).get("Name")) for one in as_list(document.get("OutputColumns"))]
    if output:
        return ColumnsFact(identifier, arn, tuple(output))
    lineage = read_data_set(document, _NOTHING)
    # Without the columns of the data sets that it reads, only those that it names are known.
    depends = any(reference.name.startswith("dataset/") for reference in lineage.reads.values())
    names = tuple(name for name, _ in lineage.columns)
    return ColumnsFact(identifier, arn, names, document if depends else None)


def combine_facts(
    facts: Iterable[Fact],
    configured: Mapping[str, str],
    resolve_id: Callable[[Reference], str],
    list_files: Callable[[str], Sequence[str]],
) -> Known:
    """Return what all documents of a location say. `configured`: namespaces of data sources."""
    by_kind: dict[type, list[Any]] = {}
    for fact in facts:
        by_kind.setdefault(type(fact), []).append(fact)
    namespace = min((fact.namespace for fact in by_kind.get(NamespaceFact, ())), default="")
    sources = DataSources(dict(_sources(by_kind.get(SourceFact, ()), namespace)), configured)
    columns: dict[Reference, tuple[str, ...]] = {}
    open_sets: dict[Reference, Mapping[str, Any]] = {}
    for fact in by_kind.get(ColumnsFact, ()):
        reference = reference_of_arn(fact.arn) or Reference(namespace, f"dataset/{fact.id}")
        columns[reference] = fact.columns
        if fact.document is not None:
            open_sets[reference] = fact.document
    _complete(columns, open_sets)
    tables: dict[str, dict[str, None]] = {}
    for fact in by_kind.get(TableFact, ()):
        source = sources.find(fact.source)
        if source.address and not source.problem:
            known = tables.setdefault(resolve_id(source.reference(fact.name)), {})
            known.update(dict.fromkeys(fact.columns))
    catalog = Catalog(
        sources, columns, {key: tuple(names) for key, names in tables.items()}, resolve_id, list_files
    )
    return Known(namespace, catalog, _dashboards(by_kind.get(DashboardFacts, ())))


def _sources(facts: Iterable[SourceFact], namespace: str) -> Iterator[tuple[str, DataSource]]:
    for identifier, document in facts:
        arn = as_text(document.get("Arn")) or f"{namespace}:datasource/{identifier}"
        yield identifier, read_data_source({**document, "Arn": arn})


def _complete(
    columns: dict[Reference, tuple[str, ...]], open_sets: Mapping[Reference, Mapping[str, Any]]
) -> None:
    """Add the columns that data sets have of other data sets, as deep as they read each other."""
    for _ in open_sets:
        catalog = Catalog(data_sets=dict(columns))
        before = dict(columns)
        for reference, document in open_sets.items():
            columns[reference] = tuple(name for name, _ in read_data_set(document, catalog).columns)
        if columns == before:
            return


def _dashboards(facts: Iterable[DashboardFacts]) -> dict[str, DashboardFacts]:
    found: dict[str, DashboardFacts] = {}
    for fact in facts:
        known = found.get(fact.id, DashboardFacts(fact.id))
        found[fact.id] = DashboardFacts(
            fact.id,
            max(known.published_at, fact.published_at),
            max(known.description, fact.description),
            tuple(sorted({*known.owners, *fact.owners})),
        )
    return found
