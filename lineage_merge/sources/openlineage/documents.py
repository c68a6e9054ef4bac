"""OpenLineage event types, their validation, the facets that are read, and owners and tags in them. Pure.

The specification is https://openlineage.io/spec/2-0-2/OpenLineage.json and its facets, described at
https://openlineage.io/docs/spec/facets (`openlineage.schema.json` has the parts that are read). Events with
large facets, such as Spark's logical plan, are reduced before Spark shuffles them.
"""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from functools import cache
from typing import Any, Literal

from lineage_merge.infra.document_decoder import DocumentDecoder
from lineage_merge.infra.json_schema import load_schema
from lineage_merge.model.elements import Problem
from lineage_merge.sources.json_values import as_list, as_mapping, as_text

Document = dict[str, Any]
Kind = Literal["RunEvent", "JobEvent", "DatasetEvent"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def _schema() -> Mapping[str, Any]:
    return load_schema(__package__, "openlineage.schema.json")


@cache
def _decoder(kind: Kind) -> DocumentDecoder:
    return DocumentDecoder({**_schema(), "$ref": f"#/$defs/{kind}"})


@cache
def _facets_read(part: str, group: str = "facets") -> frozenset[str]:
    facets: Mapping[str, Any] = _schema()["$defs"][part]["properties"].get(group, {})
    return frozenset(facets.get("properties", ()))


def kind_of(event: Mapping[str, Any]) -> Kind:
    """Return the event's type by its fields, as the specification distinguishes them."""
    if "run" in event:
        return "RunEvent"
    return "DatasetEvent" if "dataset" in event else "JobEvent"


def check(event: Document, location: str) -> Problem | None:
    """Return why an event is rejected; None if it is valid. `location` is its file and line."""
    error = _decoder(kind_of(event)).error(event)
    if error:
        return Problem("rejected", location, error.path, error.problem)
    try:
        moment(event)
    except ValueError:
        return Problem("rejected", location, "eventTime", "not a valid time")
    return None


def moment(event: Mapping[str, Any]) -> int:
    """Return the event's time in ms since 1970. Without a time zone it is UTC."""
    time = datetime.fromisoformat(event["eventTime"].upper())
    return round(((time if time.tzinfo else time.replace(tzinfo=UTC)) - _EPOCH).total_seconds() * 1000)


def cut_down(event: Document) -> Document:
    """Return the event without unused parts and without facets that the producer deleted."""
    reduced: Document = {
        name: event[name] for name in ("eventTime", "eventType", "producer") if name in event
    }
    for part in ("run", "job", "dataset"):
        if part in event:
            reduced[part] = _part(event[part], part)
    for part in ("inputs", "outputs"):
        if event.get(part):
            reduced[part] = [_part(dataset, "dataset") for dataset in event[part]]
    return reduced


def _part(document: Document, part: str) -> Document:
    reduced: Document = {name: document[name] for name in ("runId", "namespace", "name") if name in document}
    for group in ("facets", "inputFacets", "outputFacets"):
        wanted = _facets_read(part, group)
        facets = {
            name: facet
            for name, facet in (document.get(group) or {}).items()
            if name in wanted and isinstance(facet, dict) and facet and not facet.get("_deleted")
        }
        if facets:
            reduced[group] = facets
    return reduced


_MAX_LENGTH = 300


def owners_of(facets: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names in the `ownership` facet of a job or dataset."""
    stated = as_list(as_mapping(facets.get("ownership")).get("owners"))
    return tuple(sorted({name for owner in stated if (name := text(as_mapping(owner).get("name")))}))


def tags_of(facets: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of a job or dataset."""
    return tuple(sorted({tag for field, tag in _tags(facets) if not field}))


def tags_of_columns(facets: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the tags of each column in the `tags` facet of a dataset."""
    tags_by_field: dict[str, set[str]] = {}
    for field, tag in _tags(facets):
        if field:
            tags_by_field.setdefault(field, set()).add(tag)
    return {field: tuple(sorted(tags)) for field, tags in sorted(tags_by_field.items())}


def sets_of(facets: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return owners and tags as sets of the graph, without unknown ones."""
    sets = {"owners": owners_of(facets), "tags": tags_of(facets)}
    return {name: values for name, values in sets.items() if values}


def _tags(facets: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield column ("" for the whole) and tag: ``pii``, or ``key:value`` if the value adds something.

    Airflow repeats the tag of a DAG as its value.
    """
    for tag in map(as_mapping, as_list(as_mapping(facets.get("tags")).get("tags"))):
        key, value = text(tag.get("key")), text(tag.get("value"))
        if key:
            yield (
                text(tag.get("field")),
                key if value.lower() in ("", "true", key.lower()) else f"{key}:{value}",
            )


def text(value: Any) -> str:
    """Return a text, bounded; "" for anything else."""
    return as_text(value)[:_MAX_LENGTH]
