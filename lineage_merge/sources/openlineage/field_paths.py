"""Fields of structures in column lineage: dotted names, as paths where the schema has such a field.

A column may itself be called ``a.b``: so a name is a path only where the schema has no such column. Elements
of arrays and values of maps have no name of their own; openlineage-spark calls them `_element` and `value`.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lineage_merge.model.elements import Reference, field_path
from lineage_merge.sources.openlineage.datasets import reference

Fields = Sequence[Mapping[str, Any]]
_ELEMENT = "_element"


def with_field_paths(
    facet: Mapping[str, Any], target: Fields, sources: Mapping[Reference, Fields], application: str
) -> Mapping[str, Any]:
    """Return a `columnLineage` facet with paths for fields, by the schemas of its target and sources."""
    if not any(map(_has_fields, (target, *sources.values()))):
        return facet

    def name_paths(inputs: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        return [
            {
                **field,
                "field": path_of_name(
                    field["field"], sources.get(reference(field["namespace"], field["name"], application), ())
                ),
            }
            for field in inputs
        ]

    fields = {
        path_of_name(name, target): {**column, "inputFields": name_paths(column.get("inputFields") or ())}
        for name, column in (facet.get("fields") or {}).items()
    }
    return {**facet, "fields": fields, "dataset": name_paths(facet.get("dataset") or ())}


def input_fields(facet: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield all columns that a `columnLineage` facet names as inputs, direct or indirect."""
    for column in (facet.get("fields") or {}).values():
        yield from select_known_fields(column.get("inputFields"))
    yield from select_known_fields(facet.get("dataset"))


def select_known_fields(fields: Iterable[Mapping[str, Any]] | None) -> Iterator[Mapping[str, Any]]:
    """Yield the columns whose dataset the producer knows: openlineage-sql leaves its name empty otherwise."""
    return (field for field in fields or () if field["name"])


def path_of_name(name: str, fields: Fields) -> str:
    """Return ``address.city`` as a path if the schema has this field; otherwise the name as it is."""
    if "." not in name or any(_is_named(field, name) for field in fields):
        return name
    path = _path(name.split("."), fields)
    return field_path(*path) if path else name


def _path(names: Sequence[str], fields: Fields) -> list[str] | None:
    """Return the names of a path without those of elements; a name may contain dots."""
    if not names:
        return []
    for number in range(1, len(names) + 1):
        for field in fields:
            if _is_named(field, ".".join(names[:number])):
                inner = _inner(field)
                left = names[number:]
                while left and left[0] == _ELEMENT:
                    left = left[1:]
                below = _path(left, inner)
                if below is not None:
                    return [str(field["name"]), *below]
    return None


def _inner(field: Mapping[str, Any]) -> Fields:
    """Return the fields of a structure, of the elements of an array, or of the values of a map."""
    inner: Fields = field.get("fields") or ()
    match str(field.get("type") or "").lower():
        case "array" if len(inner) == 1 and _is_named(inner[0], _ELEMENT):
            return _inner(inner[0])
        case "map" if len(inner) == 2:
            return _inner(inner[1])
    return inner


def _is_named(field: Mapping[str, Any], name: str) -> bool:
    return str(field["name"]).lower() == name.lower()


def _has_fields(fields: Fields) -> bool:
    return any(field.get("fields") for field in fields)
