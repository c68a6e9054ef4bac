"""Translation of a data set into elements: the view, its columns, and what they are computed from. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.model.elements import Count, Element, Job, Reference
from lineage_merge.sources.data_set_elements import Asset, ColumnDescription, job_of, translate_lineage
from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.quicksight.assets import JOB_TYPE
from lineage_merge.sources.quicksight.data_sets import Catalog, read_data_set


def translate_data_set(
    document: Mapping[str, Any], reference: Reference, catalog: Catalog, location: str
) -> Iterator[Element]:
    """Yield the elements of a data set. Fields that are not read are reported."""
    yield Count("QuickSight data sets", 1)
    properties = {"framework": "QuickSight", "project": reference.namespace}
    job = Job(job_of(JOB_TYPE, reference), properties=properties)
    name = as_text(document.get("Name")) or as_text(document.get("DataSetId"))
    described = {
        as_text(column.get("Name")): ColumnDescription(
            as_text(column.get("Type")).lower(), as_text(column.get("Description"))
        )
        for column in map(as_mapping, as_list(document.get("OutputColumns")))
    }
    lineage = read_data_set(document, catalog)
    yield from translate_lineage(Asset(reference, name), job, "", lineage, described, location)
