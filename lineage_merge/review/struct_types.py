"""Differences between the types of two versions of a structure. Pure."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from lineage_merge.column_lineage.data_types import fields_of

_MAX_DEPTH = 50


class FieldDifference(NamedTuple):
    """A field, as ``address.city``, and its types; "": it has none before or after."""

    path: str
    before: str
    after: str


def field_differences(before: str, after: str, name: str) -> list[FieldDifference] | None:
    """Return the innermost fields of a column that differ; None unless both types are structures."""
    if _fields(before) is None or _fields(after) is None:
        return None
    return [*_differences(before, after, name, 0)]


def _differences(before: str, after: str, path: str, depth: int) -> Iterator[FieldDifference]:
    old, new = _fields(before), _fields(after)
    if old is None or new is None or depth > _MAX_DEPTH:
        if " ".join(before.lower().split()) != " ".join(after.lower().split()):
            yield FieldDifference(path, before, after)
        return
    for key, (name, data_type) in old.items():
        if key in new:
            yield from _differences(data_type, new[key][1], f"{path}.{name}", depth + 1)
        else:
            yield FieldDifference(f"{path}.{name}", data_type, "")
    for key, (name, data_type) in new.items():
        if key not in old:
            yield FieldDifference(f"{path}.{name}", "", data_type)


def _fields(data_type: str) -> Mapping[str, tuple[str, str]] | None:
    """Return names and types by lower-case name, of an array those of its elements; None: no structure."""
    fields = fields_of(data_type, of_maps=False)
    if fields is None or not all(name for name, _ in fields):
        return None
    return {name.lower(): (name, inner) for name, inner in fields}
