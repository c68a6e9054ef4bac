"""DataHub aspects of dashboards and their charts: exposures of dbt, and dashboards of BI tools.

DataHub's impact analysis of columns ends at charts: their `inputFields` are the columns that they show.
"""

from collections.abc import Iterator, Mapping

from datahub.emitter.mcp import MetadataChangeProposalWrapper
from datahub.metadata import schema_classes as classes
from datahub.specific.chart import ChartPatchBuilder
from datahub.specific.dashboard import DashboardPatchBuilder

from lineage_merge.exporters.datahub.fields import (
    NO_USER,
    FieldPaths,
    add_owners_and_tags,
    aspects,
    custom_properties,
    data_type,
)
from lineage_merge.exporters.datahub.names import Names
from lineage_merge.exporters.graph_batches import DatasetLineage
from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.infra.batches import gather
from lineage_merge.model.elements import dataset_of, structures_of
from lineage_merge.naming.jobs import unique_id_of

Proposal = MetadataChangeProposalWrapper | classes.MetadataChangeProposalClass

_KINDS = classes.ChartTypeClass
# Words in the types of visuals of all tools, and DataHub's types of charts.
_CHART_TYPES = {
    "histogram": _KINDS.HISTOGRAM,
    "box": _KINDS.BOX_PLOT,
    "word": _KINDS.WORD_CLOUD,
    "pie": _KINDS.PIE,
    "scatter": _KINDS.SCATTER,
    "bubble": _KINDS.SCATTER,
    "area": _KINDS.AREA,
    "line": _KINDS.LINE,
    "bar": _KINDS.BAR,
    "table": _KINDS.TABLE,
    "insight": _KINDS.TEXT,
    "handlebars": _KINDS.TEXT,
}
_NEVER = classes.ChangeAuditStampsClass(
    created=classes.AuditStampClass(time=0, actor=NO_USER),
    lastModified=classes.AuditStampClass(time=0, actor=NO_USER),
)


def dashboard_urns(names: Names, dashboard: DatasetLineage) -> list[str]:
    """Return the URNs of an exposure: that of its tool, or those that DataHub's dbt source gives it."""
    vertex = dashboard.schema.dataset
    if names.is_of_tool(vertex.id):
        return [names.dashboard(vertex.id)]
    # dbt's unique id is stored only in the job name.
    return [names.exposure(unique_id) for unique_id in _unique_ids(dashboard)]


def chart_urns(names: Names, dashboard: DatasetLineage) -> list[str]:
    """Return the URNs of the charts of a dashboard."""
    return [names.chart(visual) for visual in _visuals(dashboard)]


def export_dashboard(
    names: Names, dashboard: DatasetLineage, columns: Mapping[str, Vertex]
) -> Iterator[Proposal]:
    """Yield the charts of a dashboard, and then itself. `columns`: the source columns by id."""
    vertex = dashboard.schema.dataset
    paths = FieldPaths(columns.values())
    # Fields are below their visual; what a visual is filtered by is of the visual itself.
    edges = gather(
        ((*structures_of(edge.to_id), edge.to_id)[0], edge) for edge in dashboard.flow.column_feeds
    )
    for visual in _visuals(dashboard):
        yield from _export_chart(names, vertex, visual, edges.get(visual.id, []), columns, paths)
    for urn in dashboard_urns(names, dashboard):
        info = classes.DashboardInfoClass(
            title=vertex.name,
            description=vertex.properties.get("description", ""),
            customProperties=custom_properties(vertex),
            lastModified=_NEVER,
            charts=chart_urns(names, dashboard),
            datasets=[names.dataset(source) for source in dashboard.flow.sources],
            dashboardUrl=vertex.properties.get("url"),
        )
        yield from aspects(urn, [info, classes.StatusClass(removed=False)])
        patch = DashboardPatchBuilder(urn)
        add_owners_and_tags(names, patch, vertex)
        yield from patch.build()


def _unique_ids(dashboard: DatasetLineage) -> list[str]:
    return sorted({unique_id_of(feed.job) for feed in dashboard.flow.feeds})


def _visuals(dashboard: DatasetLineage) -> list[Vertex]:
    return [column for column in dashboard.schema.columns if not structures_of(column.id)]


def _export_chart(
    names: Names,
    dashboard: Vertex,
    visual: Vertex,
    edges: list[Edge],
    columns: Mapping[str, Vertex],
    paths: FieldPaths,
) -> Iterator[Proposal]:
    urn = names.chart(visual)
    title = visual.properties.get("title") or visual.name
    kind = str(visual.properties.get("visual_type", ""))
    info = classes.ChartInfoClass(
        title=str(title),
        description=str(visual.properties.get("description", "")),
        customProperties={
            key: str(visual.properties[key]) for key in ("sheet", "visual_type") if key in visual.properties
        },
        lastModified=_NEVER,
        chartUrl=dashboard.properties.get("url"),
        inputs=[names.dataset(source) for source in sorted({dataset_of(edge.from_id) for edge in edges})],
        type=next((chart for word, chart in _CHART_TYPES.items() if word in kind.lower()), None),
    )
    fields = classes.InputFieldsClass(fields=list(_input_fields(names, edges, columns, paths)))
    yield from aspects(urn, [info, fields, classes.StatusClass(removed=False)])
    patch = ChartPatchBuilder(urn)
    add_owners_and_tags(names, patch, visual)
    yield from patch.build()


def _input_fields(
    names: Names, edges: list[Edge], columns: Mapping[str, Vertex], paths: FieldPaths
) -> Iterator[classes.InputFieldClass]:
    """Yield the columns that a chart depends on, each once, with what the chart makes of it."""
    for source, of_source in sorted(gather((edge.from_id, edge) for edge in edges).items()):
        if source not in columns:
            continue
        column = columns[source]
        path, written = paths.build_path(column), str(column.properties.get("data_type", ""))
        expressions = sorted({str(edge.properties.get("expression", "")) for edge in of_source} - {""})
        yield classes.InputFieldClass(
            schemaFieldUrn=names.column(column, path),
            schemaField=classes.SchemaFieldClass(
                fieldPath=path,
                type=data_type(written),
                nativeDataType=written,
                description=" | ".join(expressions) or None,
                nullable=True,  # unknown
            ),
        )
