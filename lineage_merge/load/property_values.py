"""The values of nodes and edges in one form, whether a merge or the graph has them.

An element that the graph holds unchanged is found by comparing the two: equal values need no closer
comparison.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from lineage_merge.graph_format.schema import EDGE_PROPERTIES, NODE_PROPERTIES, SETS, Row

_OF_VERTEX = frozenset({"environment", *(item.name for item in NODE_PROPERTIES)})
_OF_EDGE = frozenset(item.name for item in EDGE_PROPERTIES)
_ALL = _OF_VERTEX | _OF_EDGE
_KEYS = frozenset({"environment", "dag_name"})


def node_values(row: Mapping[str, Any]) -> Row:
    """Return what a merge knows of a node: its environment and properties, sets as sorted lists."""
    values: Row = {}
    for name, value in row.items():
        if value is None or name not in _OF_VERTEX:
            continue
        if name not in SETS:
            values[name] = value
        elif value:
            values[name] = sorted(value)
    return values


def edge_values(row: Mapping[str, Any]) -> Row:
    """Return what a merge knows of an edge: its properties."""
    return {name: value for name, value in row.items() if value is not None and name in _OF_EDGE}


def vertex_held(values: Mapping[str, list[Any]]) -> Row:
    """Return what the graph holds of a vertex (`value_map`), without its tags.

    Of a property that has one value the first, in the order of texts; sets as sorted texts.
    """
    held: Row = {}
    for name, there in values.items():
        if there and name != "dag_name":
            held[name] = sorted(map(str, there)) if name in SETS else _first(there)
    return held


def _first(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else min(values, key=str)


def edge_held(values: Mapping[str, Any]) -> Row:
    """Return what the graph holds of an edge, without its environment and DAG."""
    return {name: value for name, value in values.items() if name not in _KEYS}


def values_to_write(row: Mapping[str, Any], keys: Collection[str], names: Iterable[str] | None = None) -> Row:
    """Return the keys of a row and the properties of these `names` (None: all), as `requests` takes them."""
    chosen = _ALL if names is None else frozenset(names)
    found: Row = {}
    for name, value in row.items():
        if value is not None and (name in chosen or name in keys):
            found[name] = sorted(value) if name in SETS and isinstance(value, list | tuple) else value
    return found
