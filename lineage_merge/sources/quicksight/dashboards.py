"""Translation of dashboards and analyses into elements: visuals, their fields, and their lineage. Pure.

A visual is a column of the dashboard, a field of it a field of that column. What decides on the rows of a
visual, such as a filter, feeds the visual itself (FILTER, SORT): an influence would be one on all visuals.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lineage_merge.column_lineage.derive import derive_flows
from lineage_merge.column_lineage.roles import CONDITION, VALUE
from lineage_merge.column_lineage.transformations import InfluenceKind, lineage_elements
from lineage_merge.column_lineage.value_graph import SourceColumn, leaves
from lineage_merge.model.elements import (
    FIELD,
    Column,
    Count,
    Element,
    Feeds,
    Problem,
    Reference,
    field_path,
)
from lineage_merge.sources.dashboard_elements import (
    describe_dashboard,
    describe_field,
    describe_visual,
    translate_influences,
)
from lineage_merge.sources.data_set_elements import Asset, job_of, key_of
from lineage_merge.sources.quicksight.assets import JOB_TYPE, asset_url
from lineage_merge.sources.quicksight.columns import LOST, PARAMETER, DefinitionColumns
from lineage_merge.sources.quicksight.expressions import Columns, compute
from lineage_merge.sources.quicksight.filters import FilterGroup, read_defaults, read_filters
from lineage_merge.sources.quicksight.visuals import Document, Field, Visual, read_visuals

_MAX_NAME = 100


@dataclass(frozen=True, slots=True)
class Dashboard:
    """A described dashboard or analysis. `published_at`: ms since 1970, 0 if unknown."""

    reference: Reference
    name: str
    definition: Document
    location: str
    description: str = ""
    published_at: int = 0
    owners: tuple[str, ...] = ()

    @property
    def asset(self) -> Asset:
        """The dashboard and its name."""
        return Asset(self.reference, self.name)


def translate_dashboard(
    dashboard: Dashboard, known: Mapping[Reference, tuple[str, ...]]
) -> Iterator[Element]:
    """Yield the elements of a dashboard; `known`: the columns of data sets that are described."""
    visuals = list(read_visuals(dashboard.definition))
    yield Count("QuickSight visuals", len(visuals))
    yield describe_dashboard(
        dashboard.asset,
        asset_url(dashboard.reference),
        description=dashboard.description,
        published_at=dashboard.published_at,
        owners=dashboard.owners,
    )
    for position, visual in enumerate(visuals):
        yield from _describe_visual(dashboard.asset, visual, position)
    lineage = _Lineage(dashboard, visuals, known)
    yield from lineage.edges()
    yield from lineage.problems()


def _describe_visual(dashboard: Asset, visual: Visual, position: int) -> Iterator[Column[Reference]]:
    name = visual.title or visual.kind
    yield describe_visual(dashboard, visual.id, visual.title, visual.kind, visual.sheet, position)
    for at, named in enumerate(visual.fields.values()):
        label = visual.labels.get(named.id, "")
        yield describe_field(dashboard, (visual.id, named.id), (name, _name_of(visual, named)), at, label)


def _name_of(visual: Visual, named: Field) -> str:
    if label := visual.labels.get(named.id):
        return label
    return named.column.name if named.column else " ".join(named.expression.split())[:_MAX_NAME]


class _Lineage:
    """The lineage of the visuals of one dashboard."""

    def __init__(
        self, dashboard: Dashboard, visuals: Sequence[Visual], known: Mapping[Reference, tuple[str, ...]]
    ) -> None:
        self._dashboard = dashboard
        self._visuals = {visual.id: visual for visual in visuals}
        self._columns = DefinitionColumns(dashboard.definition, known)
        self._known = known
        self._used: set[str] = set()
        # By visual: the parameters that it depends on, and what refers to nothing, by how it is used.
        self._parameters: defaultdict[str, set[str]] = defaultdict(set)
        self._lost: defaultdict[str, dict[tuple[str, str], None]] = defaultdict(dict)

    def edges(self) -> Iterator[Element]:
        """Yield the edges to visuals and their fields, and then those of the data sets that are used."""
        job, target = job_of(JOB_TYPE, self._dashboard.reference), self._dashboard.reference
        references = {key_of(reference): reference for reference in self._columns.references.values()}
        values = [pair for visual in self._visuals.values() for pair in self._values(visual)]
        flows = (
            flow
            for flow in derive_flows(values)
            if self._is_column(flow.target_column.partition(FIELD)[0], flow.source, flow.column, "shows")
        )
        yield from lineage_elements(flows, (), job, target, references.__getitem__)
        for visual, deciding in self._deciding().items():
            yield from translate_influences(job, target, visual, deciding, references.__getitem__)
        for key in sorted(self._used):
            yield Feeds(job, references[key], target)

    def _is_column(self, visual: str, source: str, name: str, verb: str) -> bool:
        """Return whether a source of values is a column of a data set; remember it, or what it is."""
        if source == PARAMETER:
            self._parameters[visual].add(name)
        elif source == LOST:
            self._lost[visual][verb, name] = None
        else:
            self._used.add(source)
            return True
        return False

    def _values(self, visual: Visual) -> Iterator[tuple[str, Columns]]:
        """Yield the fields of a visual with their values, and what else it shows as the visual's own."""
        for named in visual.fields.values():
            yield field_path(visual.id, named.id), self._columns.field(named, visual.data_sets)
        for used in visual.uses:
            if used.use == "shown" and used.column is not None:
                # Never IDENTITY: a field of the visual is no field of the column.
                yield visual.id, compute(self._columns.value(used.column), VALUE, "", "")
            elif used.use == "condition":
                value = self._columns.expression(used.expression, visual.data_sets, visual.id)
                yield visual.id, compute(value, CONDITION, "", "")

    def _deciding(self) -> dict[str, dict[SourceColumn[str], set[str]]]:
        """Return the columns that decide on the rows of each visual, with the kinds of influence."""
        groups = list(read_filters(self._dashboard.definition))
        defaults = read_defaults(self._dashboard.definition)
        found: dict[str, dict[SourceColumn[str], set[str]]] = {}
        for visual in self._visuals.values():
            deciding: defaultdict[SourceColumn[str], set[str]] = defaultdict(set)
            values = [(InfluenceKind.SORT, "is sorted by", value) for value in self._sorting(visual)]
            filters = [
                value for group in groups if group.covers(visual) for value in self._filters(visual, group)
            ]
            values += [(InfluenceKind.FILTER, "is filtered by", value) for value in filters]
            self._add(visual, deciding, values)
            columns = [one for name in sorted(self._parameters[visual.id]) for one in defaults.get(name, ())]
            of_defaults = [
                (InfluenceKind.FILTER, "has a parameter with", self._columns.value(column))
                for column in columns
            ]
            self._add(visual, deciding, of_defaults)
            found[visual.id] = deciding
        return found

    def _add(
        self,
        visual: Visual,
        deciding: dict[SourceColumn[str], set[str]],
        values: Sequence[tuple[InfluenceKind, str, Columns]],
    ) -> None:
        for kind, verb, value in values:
            for column in leaves([value]):
                if self._is_column(visual.id, column.source, column.column, verb):
                    deciding[column].add(kind.value)

    def _sorting(self, visual: Visual) -> Iterator[Columns]:
        for identifier in dict.fromkeys(visual.sorting):
            if identifier in visual.fields:
                yield self._columns.field(visual.fields[identifier], visual.data_sets)
        for used in visual.uses:
            if used.use == "sort" and used.column is not None:
                yield self._columns.value(used.column)

    def _filters(self, visual: Visual, group: FilterGroup) -> Iterator[Columns]:
        own = set(group.columns)
        applied = list(group.columns_for(visual.data_sets))
        for column in applied:
            if column in own or self._columns.has(column):
                yield self._columns.value(column)
        if applied:
            self._parameters[visual.id].update(group.parameters)
            for data_set, text in group.expressions:
                yield self._columns.expression(text, [data_set], "FilterGroups")

    def problems(self) -> Iterator[Problem]:
        """Yield what could not be traced: after the edges."""
        for visual_id, lost in self._lost.items():
            visual = self._visuals[visual_id]
            for verb, name in lost:
                message = f"visual {visual.title or visual.id} {verb} a column that its data set lost: {name}"
                yield Problem("no-columns", self._dashboard.location, f"{visual.sheet}.{visual.id}", message)
        for name, problem in self._columns.unreadable.items():
            message = f"has an expression that cannot be read: {problem}"
            yield Problem("no-columns", self._dashboard.location, name, message)
        for identifier, reference in self._columns.references.items():
            if key_of(reference) in self._used and reference not in self._known:
                message = f"the data set {identifier} is not described: names of its columns are not checked"
                yield Problem("notice", self._dashboard.location, reference.name, message)
