"""Entries of dbt's semantic layer: columns of semantic models, and what metrics are computed from. Pure.

A semantic model's entities, dimensions and measures are its columns. A metric, and each metric of a saved
query, is a column too, so column lineage continues to the exposures' inputs. Of filters, which are templates
of MetricFlow, only the names of dimensions and entities are read.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lineage_merge.sources.dbt.metadata import NOTHING, Metadata, read_column
from lineage_merge.sources.json_values import as_list, as_mapping, as_text

# {{ Dimension('order__country') }}, {{ TimeDimension('order__ordered_at', 'day') }}, {{ Entity('customer') }}
_FILTERED = re.compile(r"\b(?:Dimension|TimeDimension|Entity)\s*\(\s*['\"](\w+)['\"]")
# Of entities: those that identify a row of the semantic model.
_KEYS = ("primary", "unique", "natural")


class Item(NamedTuple):
    """A column of a semantic model: its SQL, and for a measure how it is aggregated ("" for others).

    `is_key`: an entity that identifies the rows, by which filters name the dimensions.
    """

    name: str
    expression: str
    aggregation: str = ""
    description: str = ""
    metadata: Metadata = NOTHING
    is_key: bool = False


class Input(NamedTuple):
    """What a metric is computed from: a `measure` of a semantic model, or another `metric`."""

    kind: str
    name: str


class Semantics(NamedTuple):
    """The columns of an entry: `items` of a semantic model on `relation`, or the `inputs` of metrics.

    `columns` maps each column of a metric or saved query to its inputs; `metric_type` and `expression` say
    how the metric combines them. `filters` are dimensions and entities as filters name them, such as
    ``order__country``.
    """

    items: tuple[Item, ...] = ()
    relation: str = ""
    columns: Mapping[str, tuple[Input, ...]] = {}
    metric_type: str = ""
    expression: str = ""
    filters: tuple[str, ...] = ()
    primary_entity: str = ""


def semantics_of(kind: str, entry: Mapping[str, Any]) -> Semantics:
    """Return the columns of a semantic model, metric or saved query."""
    if kind == "semantic_model":
        relation = as_text(as_mapping(entry.get("node_relation")).get("relation_name"))
        primary = as_text(entry.get("primary_entity"))
        return Semantics(tuple(_items(entry)), relation, primary_entity=primary)
    if kind == "metric":
        metric_type, parameters = as_text(entry.get("type")), as_mapping(entry.get("type_params"))
        inputs = tuple(dict.fromkeys(_inputs(metric_type, parameters)))
        expression = as_text(parameters.get("expr"))
        if metric_type == "ratio" and len(inputs) == 2:
            expression = " / ".join(input_.name for input_ in inputs)
        filters = _filters(entry.get("filter"), *_filters_of_inputs(parameters))
        columns = {as_text(entry.get("name")): inputs}
        return Semantics((), "", columns, metric_type, expression, filters)
    query = as_mapping(entry.get("query_params"))
    columns = {name: (Input("metric", name),) for name in map(as_text, as_list(query.get("metrics"))) if name}
    return Semantics((), "", columns, filters=_filters(query.get("where")))


def _filters(*values: Any) -> tuple[str, ...]:
    """Return the names of dimensions and entities in filters, without duplicates."""
    templates = [
        as_text(as_mapping(condition).get("where_sql_template"))
        for value in values
        for condition in as_list(as_mapping(value).get("where_filters"))
    ]
    return tuple(dict.fromkeys(name for text in templates for name in _FILTERED.findall(text)))


def _filters_of_inputs(parameters: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the filters of a metric's direct inputs."""
    conversion = as_mapping(parameters.get("conversion_type_params"))
    cumulative = as_mapping(parameters.get("cumulative_type_params"))
    for value in (
        *(parameters.get(name) for name in ("measure", "numerator", "denominator")),
        *(conversion.get(name) for name in ("base_measure", "conversion_measure")),
        cumulative.get("metric"),
        *as_list(parameters.get("metrics")),
    ):
        yield as_mapping(value).get("filter")


def _items(entry: Mapping[str, Any]) -> Iterator[Item]:
    for section in ("entities", "dimensions", "measures"):
        for item in map(as_mapping, as_list(entry.get(section))):
            name = as_text(item.get("name"))
            if name:
                yield Item(
                    name,
                    as_text(item.get("expr")) or name,
                    as_text(item.get("agg")) if section == "measures" else "",
                    as_text(item.get("description")),
                    read_column(item),
                    section == "entities" and as_text(item.get("type")).lower() in _KEYS,
                )


def _inputs(metric_type: str, parameters: Mapping[str, Any]) -> Iterator[Input]:
    """Yield the direct inputs; `input_measures` also has those of other metrics."""
    conversion = as_mapping(parameters.get("conversion_type_params"))
    cumulative = as_mapping(parameters.get("cumulative_type_params"))
    for kind, value in (
        ("measure", parameters.get("measure")),
        ("metric", parameters.get("numerator")),
        ("metric", parameters.get("denominator")),
        ("metric", cumulative.get("metric")),
        ("measure", conversion.get("base_measure")),
        ("measure", conversion.get("conversion_measure")),
        *(("metric", metric) for metric in as_list(parameters.get("metrics"))),
    ):
        name = as_text(value) or as_text(as_mapping(value).get("name"))
        if name:
            yield Input(kind, name)
