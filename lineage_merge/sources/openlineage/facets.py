"""Owners and tags in the facets of jobs and datasets. Pure.

The specification is https://openlineage.io/docs/spec/facets. A malformed facet is ignored: it carries no
lineage.
"""

from collections.abc import Iterator, Mapping
from typing import Any

_MAX_LENGTH = 300


def owners_of(facets: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names in the `ownership` facet of a job or dataset."""
    stated = listed(mapping(facets.get("ownership")).get("owners"))
    return tuple(sorted({name for each in stated if (name := text(mapping(each).get("name")))}))


def tags_of(facets: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tags of a job or dataset."""
    return tuple(sorted({tag for field, tag in _tags(facets) if not field}))


def tags_of_columns(facets: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the tags of each column in the `tags` facet of a dataset."""
    found: dict[str, set[str]] = {}
    for field, tag in _tags(facets):
        if field:
            found.setdefault(field, set()).add(tag)
    return {field: tuple(sorted(tags)) for field, tags in sorted(found.items())}


def sets_of(facets: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return owners and tags as sets of the graph, without unknown ones."""
    sets = {"owners": owners_of(facets), "tags": tags_of(facets)}
    return {name: values for name, values in sets.items() if values}


def _tags(facets: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield column ("" for the whole) and tag: ``pii``, or ``key:value`` if the value is not true."""
    for each in map(mapping, listed(mapping(facets.get("tags")).get("tags"))):
        key, value = text(each.get("key")), text(each.get("value"))
        if key:
            yield text(each.get("field")), key if value.lower() in ("", "true") else f"{key}:{value}"


def text(value: Any) -> str:
    """Return a text, bounded; "" for anything else."""
    return value.strip()[:_MAX_LENGTH] if isinstance(value, str) else ""


def listed(value: Any) -> list[Any]:
    """Return a list; an empty one for anything else."""
    return value if isinstance(value, list) else []


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object; an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}
