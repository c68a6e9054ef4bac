"""Elements of dashboards: the exposure, its visuals as columns, and their fields as fields of these. Pure."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from lineage_merge.column_lineage.value_graph import SourceColumn
from lineage_merge.model.elements import (
    Authority,
    Column,
    Dataset,
    FeedsColumn,
    JobKey,
    Reference,
    Scalar,
    field_path,
)
from lineage_merge.naming import redact
from lineage_merge.sources.data_set_elements import Asset


def describe_dashboard(
    dashboard: Asset,
    url: str,
    *,
    description: str = "",
    published_at: int = 0,
    owners: Sequence[str] = (),
) -> Dataset[Reference]:
    """Return a dashboard, or what the first part of its name says. `published_at`: 0 if unknown."""
    kind = dashboard.reference.name.partition("/")[0]
    properties: dict[str, Scalar] = {
        "name": dashboard.name,
        "title": dashboard.title,
        "exposure_type": kind,
    }
    known: dict[str, Scalar] = {"url": url, "description": description, "published_at": published_at}
    properties |= {key: value for key, value in known.items() if value}
    sets = {"owners": tuple(owners)} if owners else {}
    return Dataset(dashboard.reference, Authority.BUILDER, "exposure", properties, sets)


def describe_visual(
    dashboard: Asset, identifier: str, title: str, kind: str, sheet: str, position: int
) -> Column[Reference]:
    """Return a visual; without a title it is named after its kind."""
    properties: dict[str, Scalar] = {
        "name": title or kind,
        "visual_id": identifier,
        "visual_type": kind,
        "position": position,
        "dataset_title": dashboard.title,
    }
    properties |= {key: value for key, value in {"sheet": sheet, "title": title}.items() if value}
    return Column(dashboard.reference, identifier, Authority.BUILDER, properties)


def describe_field(
    dashboard: Asset, ids: tuple[str, str], names: tuple[str, str], position: int, label: str = ""
) -> Column[Reference]:
    """Return a field of a visual; `ids` and `names` are those of the visual and of the field."""
    visual, name = names
    properties: dict[str, Scalar] = {
        "name": name,
        # One by one: behind a title an address is not known as such.
        "qualified_name": f"{redact(visual)}.{redact(name)}",
        "field_id": ids[1],
        "position": position,
        "dataset_title": dashboard.title,
    }
    if label:
        properties["title"] = label
    return Column(dashboard.reference, field_path(*ids), Authority.BUILDER, properties)


def translate_influences(
    job: JobKey,
    dashboard: Reference,
    visual: str,
    deciding: Mapping[SourceColumn[str], set[str]],
    reference: Callable[[str], Reference],
) -> Iterator[FeedsColumn[Reference]]:
    """Yield the edges of the columns that decide on the rows of a visual, with kinds such as FILTER.

    They lead to the visual: an influence would be one on all visuals of the dashboard.
    """
    for column, kinds in sorted(deciding.items()):
        how = tuple(sorted(kinds))
        yield FeedsColumn(job, reference(column.source), column.column, dashboard, visual, how)
