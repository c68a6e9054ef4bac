"""Translation of exports into elements: data sets, dashboards, their charts, and their lineage. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from lineage_merge.column_lineage.derive import derive_flows
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.column_lineage.value_graph import SourceColumn, Value, leaves
from lineage_merge.model.elements import (
    Count,
    Element,
    Feeds,
    Problem,
    Reference,
    field_path,
)
from lineage_merge.naming import redact
from lineage_merge.sources.dashboard_elements import (
    describe_dashboard,
    describe_field,
    describe_visual,
    translate_influences,
)
from lineage_merge.sources.data_set_elements import Asset, job_of
from lineage_merge.sources.data_source import DataSource
from lineage_merge.sources.json_values import as_mapping, as_text
from lineage_merge.sources.settings import matches_globs
from lineage_merge.sources.superset.charts import ChartLineage, list_fields, read_chart
from lineage_merge.sources.superset.data_sets import JOB_TYPE, DataSet, read_data_set, translate_data_set
from lineage_merge.sources.superset.databases import read_database
from lineage_merge.sources.superset.documents import Export, Located
from lineage_merge.sources.superset.layout import PlacedChart, find_damages, place_charts, read_filters
from lineage_merge.sources.superset.settings import Superset


@dataclass(frozen=True, slots=True)
class DashboardFacts:
    """What the API knows of a dashboard beside its export. `published_at`: ms since 1970, 0 if unknown."""

    url: str = ""
    published_at: int = 0
    owners: tuple[str, ...] = ()


def translate_export(
    export: Export,
    settings: Superset,
    resolve_id: Callable[[Reference], str],
    facts: Mapping[str, DashboardFacts] = {},
) -> Iterator[Element]:
    """Yield the elements of an export; `facts`: of dashboards by UUID."""
    yield from export.problems
    by_number: dict[int, DataSet] = {}
    data_sets = {
        uuid: _read_data_set(uuid, document, export, settings, by_number)
        for uuid, document in export.documents["data_set"].items()
    }
    numbers = export.server.data_sets.items()
    by_number.update((number, data_sets[uuid]) for number, uuid in numbers if uuid in data_sets)
    tables: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for data_set in data_sets.values():
        if not data_set.is_virtual and not data_set.source.problem:
            tables[resolve_id(data_set.table)].update(dict.fromkeys(data_set.physical))
    for data_set in by_number.values():
        tables[resolve_id(data_set.reference)].update(dict.fromkeys(data_set.columns))
    known = {key: tuple(names) for key, names in tables.items()}
    for data_set in data_sets.values():
        yield from translate_data_set(data_set, resolve_id, known, export.server.rules)
    for uuid, document in export.documents["dashboard"].items():
        if _is_selected(settings, uuid, document):
            found = facts.get(uuid, DashboardFacts())
            yield from _Dashboard(uuid, document, export, data_sets, settings, found).translate()


def _read_data_set(
    uuid: str, document: Located, export: Export, settings: Superset, others: Mapping[int, DataSet]
) -> DataSet:
    database = export.find("database", document.body.get("database_uuid"))
    source = (
        read_database(database.body, settings.databases)
        if database is not None
        else DataSource(problem="its database is not in the export")
    )
    return read_data_set(document, Reference(settings.namespace, f"dataset/{uuid}"), source, others)


def _is_selected(settings: Superset, uuid: str, document: Located) -> bool:
    names = (as_text(document.body.get(key)) for key in ("slug", "dashboard_title"))
    return matches_globs(settings.dashboards, uuid, *names)


class _Dashboard:
    def __init__(
        self,
        uuid: str,
        document: Located,
        export: Export,
        data_sets: Mapping[str, DataSet],
        settings: Superset,
        facts: DashboardFacts,
    ) -> None:
        self._reference = Reference(settings.namespace, f"dashboard/{uuid}")
        self._asset = Asset(
            self._reference, as_text(document.body.get("dashboard_title")) or self._reference.name
        )
        self._document = document
        self._export = export
        self._data_sets = data_sets
        self._job = job_of(JOB_TYPE, self._reference)
        self._filters = list(read_filters(as_mapping(document.body.get("metadata"))))
        self._facts = facts
        path = f"/superset/dashboard/{redact(as_text(document.body.get('slug'))) or uuid}/"
        self._url = f"{settings.url}{facts.url or path}" if settings.url else ""
        # What feeds the dashboard, by the key of its values.
        self._sources: dict[str, Reference] = {}

    def translate(self) -> Iterator[Element]:
        body = self._document.body
        placed = place_charts(as_mapping(body.get("position")))
        yield Count("Superset charts", len(placed))
        yield describe_dashboard(
            self._asset,
            self._url,
            description=as_text(body.get("description")),
            published_at=self._facts.published_at,
            owners=self._facts.owners,
        )
        for name in find_damages(as_mapping(body.get("position"))):
            message = "places no known chart: it may be deleted, or the layout is damaged"
            yield Problem("no-columns", self._document.location, redact(f"position.{name}"), message)
        for position, chart in enumerate(placed):
            yield from self._translate_chart(chart, position)
        for key in sorted(self._sources):
            yield Feeds(self._job, self._sources[key], self._reference)

    def _problem(self, chart: PlacedChart, title: str, message: str) -> Problem:
        field = f"{chart.tab}.{chart.uuid}" if chart.tab else chart.uuid
        return Problem("no-columns", self._document.location, field, redact(f"chart {title} {message}"))

    def _translate_chart(self, chart: PlacedChart, position: int) -> Iterator[Element]:
        document = self._export.find("chart", chart.uuid)
        if document is None:
            yield self._problem(chart, chart.title or chart.uuid, "is not in the export")
            return
        body = document.body
        kind = as_text(body.get("viz_type"))
        title = chart.title or as_text(body.get("slice_name"))
        yield describe_visual(self._asset, chart.uuid, title, kind, chart.tab, position)
        data_set = self._data_sets.get(as_text(body.get("dataset_uuid")).lower())
        if data_set is None:
            yield self._problem(chart, title, "has a data set that is not in the export")
            return
        lineage = read_chart({**as_mapping(body.get("params")), "viz_type": kind}, data_set)
        for at, name in enumerate(lineage.fields):
            label = lineage.titles.get(name, "")
            names = (title or kind, label or name)
            yield describe_field(self._asset, (chart.uuid, name), names, at, label)
        yield from self._lineage(chart, data_set, lineage)
        for finding in lineage.findings:
            yield self._problem(chart, title, finding)
        if lineage.unknown_keys:
            yield Count("keys of charts with an unknown role", len(lineage.unknown_keys))
            keys = ", ".join(lineage.unknown_keys)
            yield self._problem(chart, title, f"({kind}) names columns by keys with an unknown role: {keys}")

    def _lineage(self, chart: PlacedChart, data_set: DataSet, lineage: ChartLineage) -> Iterator[Element]:
        references = {data_set.key: data_set.reference, **lineage.tables}
        self._sources.setdefault(data_set.key, data_set.reference)
        self._sources.update(lineage.tables)
        values = [(field_path(chart.uuid, name), value) for name, value in list_fields(lineage)]
        flows = derive_flows(values)
        yield from lineage_elements(flows, (), self._job, self._reference, references.__getitem__)
        deciding: defaultdict[SourceColumn[str], set[str]] = defaultdict(set)
        for kind, value in lineage.deciding:
            for column in leaves([value]):
                deciding[column].add(kind.value)
        for column in self._filtering(chart, data_set, lineage):
            deciding[column].add("FILTER")
        yield from translate_influences(
            self._job, self._reference, chart.uuid, deciding, references.__getitem__
        )

    def _filtering(
        self, chart: PlacedChart, data_set: DataSet, lineage: ChartLineage
    ) -> Iterator[SourceColumn[str]]:
        """Yield the columns by which the filters of the dashboard select rows of a chart."""
        own = as_text(data_set.body.get("uuid")).lower()
        for one in self._filters:
            if not one.covers(chart):
                continue
            if one.is_of_time:
                yield from leaves(lineage.times)
            for target, name in one.targets:
                # Data sets of other charts are filtered by their columns of the same name.
                if (found := data_set.find_column(name)) is not None:
                    yield from leaves([Value(columns=(SourceColumn(data_set.key, found),))])
                elif target == own:
                    lineage.findings[f"is filtered by a column that its data set lost: {redact(name)}"] = None
