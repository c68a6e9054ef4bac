"""OpenLineage event types, their validation, and the reduction to the facets that are read. Pure.

The specification is https://openlineage.io/spec/2-0-2/OpenLineage.json and its facets
(`openlineage.schema.json` has the parts that are read). Events with large facets, such as Spark's logical
plan, are reduced before Spark shuffles them.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.elements import Problem

Document = dict[str, Any]
Kind = Literal["RunEvent", "JobEvent", "DatasetEvent"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@cache
def _schema() -> Mapping[str, Any]:
    loaded: Mapping[str, Any] = json.loads(
        files(__package__).joinpath("openlineage.schema.json").read_text(encoding="utf-8")
    )
    return loaded


@cache
def _checker(kind: Kind) -> Checker:
    return Checker({**_schema(), "$ref": f"#/$defs/{kind}"})


@cache
def _facets_read(part: str, group: str = "facets") -> frozenset[str]:
    found: Mapping[str, Any] = _schema()["$defs"][part]["properties"].get(group, {})
    return frozenset(found.get("properties", ()))


def is_event(document: object) -> bool:
    """Return whether a JSON value is intended as an event, valid or not."""
    return isinstance(document, dict) and (
        ("eventTime" in document and not {"run", "job", "dataset"}.isdisjoint(document))
        or {"run", "job"} <= document.keys()
    )


def kind_of(event: Mapping[str, Any]) -> Kind:
    """Return the event's type by its fields, as the specification distinguishes them."""
    if "run" in event:
        return "RunEvent"
    return "DatasetEvent" if "dataset" in event else "JobEvent"


def check(event: Document, location: str) -> Problem | None:
    """Return why an event is rejected; None if it is valid. `location` is its file and line."""
    error = _checker(kind_of(event)).error(event)
    if error:
        return Problem("rejected", location, error.path, error.problem)
    try:
        moment(event)
    except ValueError:
        return Problem("rejected", location, "eventTime", "not a valid time")
    return None


def moment(event: Mapping[str, Any]) -> int:
    """Return the event's time in ms since 1970. Without a time zone it is UTC."""
    found = datetime.fromisoformat(event["eventTime"].upper())
    found = found if found.tzinfo else found.replace(tzinfo=UTC)
    return round((found - _EPOCH).total_seconds() * 1000)


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
            reduced[part] = [_part(each, "dataset") for each in event[part]]
    return reduced


def _part(found: Document, part: str) -> Document:
    reduced: Document = {name: found[name] for name in ("runId", "namespace", "name") if name in found}
    for group in ("facets", "inputFacets", "outputFacets"):
        wanted = _facets_read(part, group)
        facets = {
            name: facet
            for name, facet in (found.get(group) or {}).items()
            if name in wanted and isinstance(facet, dict) and facet and not facet.get("_deleted")
        }
        if facets:
            reduced[group] = facets
    return reduced
