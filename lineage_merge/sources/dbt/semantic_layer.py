"""Entries of dbt's semantic layer: columns of semantic models, and what metrics are computed from. Pure.

A semantic model's entities, dimensions and measures are its columns. A metric, and each metric of a saved
query, is a column too, so column lineage continues to the exposures' inputs. Filters of metrics are not read.
"""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from lineage_merge.sources.dbt.metadata import NOTHING, Metadata, of_column


class Item(NamedTuple):
    """A column of a semantic model: its SQL, and for a measure how it is aggregated ("" for others)."""

    name: str
    expression: str
    aggregation: str = ""
    description: str = ""
    metadata: Metadata = NOTHING


class Input(NamedTuple):
    """What a metric is computed from: a `measure` of a semantic model, or another `metric`."""

    kind: str
    name: str


class Semantics(NamedTuple):
    """The columns of an entry: `items` of a semantic model on `relation`, or the `inputs` of metrics.

    `columns` maps each column of a metric or saved query to its inputs; `metric_type` and `expression` say
    how the metric combines them.
    """

    items: tuple[Item, ...] = ()
    relation: str = ""
    columns: Mapping[str, tuple[Input, ...]] = {}
    metric_type: str = ""
    expression: str = ""


def semantics_of(kind: str, entry: Mapping[str, Any]) -> Semantics:
    """Return the columns of a semantic model, metric or saved query."""
    if kind == "semantic_model":
        relation = _text(_mapping(entry.get("node_relation")).get("relation_name"))
        return Semantics(tuple(_items(entry)), relation)
    if kind == "metric":
        metric_type, parameters = _text(entry.get("type")), _mapping(entry.get("type_params"))
        inputs = tuple(dict.fromkeys(_inputs(metric_type, parameters)))
        expression = _text(parameters.get("expr"))
        if metric_type == "ratio" and len(inputs) == 2:
            expression = " / ".join(each.name for each in inputs)
        return Semantics((), "", {_text(entry.get("name")): inputs}, metric_type, expression)
    names = _list(_mapping(entry.get("query_params")).get("metrics"))
    return Semantics((), "", {name: (Input("metric", name),) for name in map(_text, names) if name})


def _items(entry: Mapping[str, Any]) -> Iterator[Item]:
    for section in ("entities", "dimensions", "measures"):
        for each in map(_mapping, _list(entry.get(section))):
            name = _text(each.get("name"))
            if name:
                yield Item(
                    name,
                    _text(each.get("expr")) or name,
                    _text(each.get("agg")) if section == "measures" else "",
                    _text(each.get("description")),
                    of_column(each),
                )


def _inputs(metric_type: str, parameters: Mapping[str, Any]) -> Iterator[Input]:
    """Yield the direct inputs; `input_measures` also has those of other metrics."""
    conversion = _mapping(parameters.get("conversion_type_params"))
    cumulative = _mapping(parameters.get("cumulative_type_params"))
    for kind, value in (
        ("measure", parameters.get("measure")),
        ("metric", parameters.get("numerator")),
        ("metric", parameters.get("denominator")),
        ("metric", cumulative.get("metric")),
        ("measure", conversion.get("base_measure")),
        ("measure", conversion.get("conversion_measure")),
        *(("metric", each) for each in _list(parameters.get("metrics"))),
    ):
        name = _text(value) or _text(_mapping(value).get("name"))
        if name:
            yield Input(kind, name)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
