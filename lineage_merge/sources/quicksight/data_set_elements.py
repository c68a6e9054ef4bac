"""Translation of a data set into elements: the view, its columns, and what they are computed from. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.column_lineage.derive import derive_flows, derive_influences
from lineage_merge.column_lineage.transformations import lineage_elements
from lineage_merge.model.elements import (
    Authority,
    Column,
    Count,
    Dataset,
    Element,
    Feeds,
    Job,
    Problem,
    Reference,
    Writes,
    column_properties,
)
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.assets import job_of
from lineage_merge.sources.quicksight.data_sets import Catalog, read_data_set


def translate_data_set(
    document: Mapping[str, Any], reference: Reference, catalog: Catalog, location: str
) -> Iterator[Element]:
    """Yield the elements of a data set. Fields that are not read are reported."""
    job = job_of(reference)
    lineage = read_data_set(document, catalog)
    yield Count("QuickSight data sets", 1)
    yield Job(job, properties={"framework": "QuickSight", "project": reference.namespace})
    name = as_text(document.get("Name")) or as_text(document.get("DataSetId"))
    yield Dataset(reference, Authority.BUILDER, "view", {"name": name})
    yield Writes(job, reference)
    described = {
        as_text(column.get("Name")): column
        for column in map(as_mapping, as_list(document.get("OutputColumns")))
    }
    for position, (column, _) in enumerate(lineage.columns):
        output = described.get(column, {})
        kind, description = as_text(output.get("Type")).lower(), as_text(output.get("Description"))
        properties = column_properties(kind, description, position)
        yield Column(reference, column, Authority.BUILDER, properties)
    for key in sorted(lineage.reads):
        yield Feeds(job, lineage.reads[key], reference)
    yield from lineage_elements(
        derive_flows(lineage.columns),
        derive_influences(lineage.rows),
        job,
        reference,
        lineage.reads.__getitem__,
    )
    for kind_of_problem, field, message in lineage.problems:
        yield Problem(kind_of_problem, location, field, message)
