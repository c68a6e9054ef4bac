"""The values of a node or edge as JSON text: how they travel between Spark, its Python workers and the graph.

Wide rows and maps of lists cost Spark more, each time they pass between the JVM and Python, than
everything else that a load does with them. One text costs little; and as the text of what a merge
tells is written like that of what the graph holds, elements that are just so are found by comparing
texts, where they lie. Other texts say nothing: such an element is read and compared value by value.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.graph.schema import EDGE_PROPERTIES, NODE_PROPERTIES, SETS

if TYPE_CHECKING:
    from pyspark import RDD

Values = dict[str, Any]

_OF_VERTEX = ("environment", *(item.name for item in NODE_PROPERTIES))
_OF_EDGE = tuple(item.name for item in EDGE_PROPERTIES)
_KEYS = frozenset({"environment", "dag_name"})
_write = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), default=str).encode


def node_text() -> Column:
    """What a node tells (its environment, and the properties that it knows), as a column of node rows."""
    known = [
        F.when(F.size(item.name) > 0, F.sort_array(item.name)).alias(item.name)
        if item.many
        else F.col(item.name)
        for item in NODE_PROPERTIES
    ]
    return _text(["environment", *known])


def edge_text() -> Column:
    """What an edge tells, likewise."""
    return _text(list(_OF_EDGE))


def _text(values: list[Any]) -> Column:
    return F.to_json(F.struct(*values), {"ignoreNullFields": "true"})


def vertex_held(values: Mapping[str, list[Any]]) -> str:
    """What the graph holds of a vertex (`value_map`), without its tags.

    Of a property that has one value the first, in the order of texts; sets as sorted texts.
    """
    held: Values = {}
    for name in _OF_VERTEX:
        there = values.get(name)
        if there:
            held[name] = sorted(map(str, there)) if name in SETS else _first(there)
    for name in sorted(values.keys() - held.keys() - _KEYS):
        if values[name]:
            held[name] = _first(values[name])
    return _write(held)


def _first(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else min(values, key=str)


def edge_held(values: Mapping[str, Any]) -> str:
    """What the graph holds of an edge, without its environment and DAG."""
    held = {name: values[name] for name in _OF_EDGE if name in values}
    for name in sorted(values.keys() - held.keys() - _KEYS):
        held[name] = values[name]
    return _write(held)


def read(text: str) -> Values:
    """The values of a text."""
    values: Values = json.loads(text)
    return values


def one(name: str) -> Column:
    """A value of a property that has one, out of the column `held`; null where there is none."""
    return F.get_json_object("held", f"$.{name}")


def told(rows: DataFrame) -> "RDD[Values]":
    """What is to be written of rows of keys, `text`, and `told`: which of it (null: all)."""
    return rows.rdd.mapPartitions(_told)


def _told(rows: Iterable[Any]) -> Iterator[Values]:
    keys: tuple[str, ...] = ()
    for row in rows:
        keys = keys or tuple(row.__fields__[:-2])
        *values, names, text = row
        known = json.loads(text)
        if names is not None:
            known = {name: known[name] for name in names if name in known}
        known.update(zip(keys, values, strict=True))
        yield known
