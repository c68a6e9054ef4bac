"""The facet `lineage`: which inputs feed which output, in place of all inputs to all outputs. Pure.

On the job (`entries`), or as first proposed on the run (`lineage`); https://openlineage.io/spec/facets.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.openlineage.documents import Document

DatasetKey = tuple[str, str]
# The facet of an output by which it has only these inputs: set here, for the translation of a run.
FACET = "lineage"


def add_explicit_lineage(
    job_facets: Mapping[str, Any], run_facets: Mapping[str, Any], outputs: Mapping[DatasetKey, Document]
) -> Mapping[DatasetKey, Document]:
    """Return the outputs with the inputs and columns that the facet has of each.

    An output that it does not list has no input; one that only it lists is added.
    """
    entries = dict(_find_entries(job_facets, run_facets))
    if not entries:
        return outputs
    keys = sorted({*outputs, *entries})
    return {key: _with_entry(key, outputs.get(key, {}), entries.get(key, {})) for key in keys}


def list_explicit_inputs(output: Document) -> list[DatasetKey] | None:
    """Return the datasets that feed an output by the facet; None if it has none."""
    facet = as_mapping(output.get("facets")).get(FACET)
    return None if facet is None else [_key(entry) for entry in _datasets(as_mapping(facet).get("inputs"))]


def _find_entries(
    job_facets: Mapping[str, Any], run_facets: Mapping[str, Any]
) -> Iterator[tuple[DatasetKey, Mapping[str, Any]]]:
    listed = as_list(as_mapping(job_facets.get(FACET)).get("entries"))
    # What was observed in a run replaces what the job declares.
    listed += as_list(as_mapping(run_facets.get(FACET)).get("lineage"))
    for entry in _datasets(listed):
        yield _key(entry), entry


def _datasets(entries: Any) -> Iterator[Mapping[str, Any]]:
    """Yield the entries that are datasets: a job as an end is no data flow between datasets."""
    for entry in map(as_mapping, as_list(entries)):
        is_dataset = as_text(entry.get("type")).upper() in ("", "DATASET")
        if is_dataset and as_text(entry.get("namespace")) and as_text(entry.get("name")):
            yield entry


def _key(entry: Mapping[str, Any]) -> DatasetKey:
    return as_text(entry.get("namespace")), as_text(entry.get("name"))


def _with_entry(key: DatasetKey, output: Document, entry: Mapping[str, Any]) -> Document:
    facets = {**as_mapping(output.get("facets")), FACET: {"inputs": as_list(entry.get("inputs"))}}
    fields = {
        name: {"inputFields": inputs}
        for name, field in as_mapping(entry.get("fields")).items()
        if (inputs := _list_columns(as_mapping(field).get("inputs")))
    }
    rows = _list_columns(entry.get("inputs"))
    if fields or rows:
        facets["columnLineage"] = {"fields": fields, "dataset": rows}
    return {"namespace": key[0], "name": key[1], **output, "facets": facets}


def _list_columns(inputs: Any) -> list[Mapping[str, Any]]:
    return [each for each in _datasets(inputs) if as_text(each.get("field"))]
