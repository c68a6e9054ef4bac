"""Translation of the column lineage facet into `lineage_merge.model.elements`. Pure.

Since 1-1-0 each input field has `transformations`; before, the output field had one type for all of them
(https://openlineage.io/docs/spec/facets/dataset-facets/column_lineage_facet).
"""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation
from lineage_merge.model.elements import Element, FeedsColumn, Influences, JobKey, Reference
from lineage_merge.sources.openlineage.datasets import reference

_INFLUENCES = frozenset(each.value for each in InfluenceKind)
_DIRECT = frozenset(
    each.name for each in (Transformation.IDENTITY, Transformation.TRANSFORMATION, Transformation.AGGREGATION)
)
_STEERING = frozenset((Transformation.CONDITIONAL.name, Transformation.WINDOW.name))


def sources(facet: Mapping[str, Any], application: str) -> set[Reference]:
    """Return the datasets whose columns are direct or indirect inputs."""
    per_field = (
        (output_field.get("inputFields") or ()) for output_field in (facet.get("fields") or {}).values()
    )
    fields = [*(each for several in per_field for each in several), *(facet.get("dataset") or ())]
    return {reference(field["namespace"], field["name"], application) for field in fields}


def column_elements(facet: Mapping[str, Any], job: JobKey, target: Reference) -> Iterator[Element]:
    """Yield the edges to the target's columns, and those of columns that decide its rows, without duplicates.

    Older events repeat the columns that decide rows for each output column.
    """
    return iter(dict.fromkeys(_column_elements(facet, job, target)))


def _column_elements(facet: Mapping[str, Any], job: JobKey, target: Reference) -> Iterator[Element]:
    for column, output_field in (facet.get("fields") or {}).items():
        for field in output_field.get("inputFields") or ():
            yield from _column_edges(field, column, output_field, job, target)
    for each in facet.get("dataset") or ():
        source = reference(each["namespace"], each["name"], target.application)
        # For a computed indirect input, the facet says how it is computed, not what it decides.
        kinds = _named(each, _INFLUENCES)
        yield Influences(job, source, each["field"], target, kinds)


def _column_edges(
    found: Mapping[str, Any], column: str, output_field: Mapping[str, Any], job: JobKey, target: Reference
) -> Iterator[Element]:
    source = reference(found["namespace"], found["name"], target.application)
    transformations = found.get("transformations") or ()
    if not transformations:
        text = str(output_field.get("transformationDescription") or "")
        yield FeedsColumn(job, source, found["field"], target, column, _legacy_subtypes(output_field), text)
        return
    kinds = _named(found, _INFLUENCES)
    if kinds:
        yield Influences(job, source, found["field"], target, kinds)
    flows = [
        transformation for transformation in transformations if _subtype(transformation) not in _INFLUENCES
    ]
    if flows:
        how = _named(found, _DIRECT | _STEERING)
        texts = dict.fromkeys(str(flow.get("description") or "").strip() for flow in flows)
        expression = " | ".join(text for text in texts if text)
        yield FeedsColumn(job, source, found["field"], target, column, how, expression)


def _named(found: Mapping[str, Any], wanted: frozenset[str]) -> tuple[str, ...]:
    """Return the known subtypes; missing or unknown ones are not guessed."""
    subtypes = {_subtype(transformation) for transformation in found.get("transformations") or ()}
    return tuple(sorted(subtypes & wanted))


def _subtype(transformation: Mapping[str, Any]) -> str:
    return str(transformation.get("subtype") or "").strip().upper()


def _legacy_subtypes(output_field: Mapping[str, Any]) -> tuple[str, ...]:
    match str(output_field.get("transformationType") or "").strip().upper():
        case "IDENTITY":
            return (Transformation.IDENTITY.name,)
        case "MASKED":
            return (Transformation.TRANSFORMATION.name,)
    return ()
