"""Writes a graph as TinkerPop reads it: GraphSON 3, a line per vertex with its incoming edges."""

import json
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from lineage_merge.infra.arrow_tables import decode_columns
from lineage_merge.infra.embedded.file_lock import open_private
from lineage_merge.infra.embedded.graph_tables import GraphTables

_KEYS = frozenset({"id", "label", "from", "to"})


def write_graphson(file: Path, tables: GraphTables) -> None:
    """Write a graph, readable for its owner only."""
    incoming: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for edge in decode_columns(tables.edges).to_pylist():
        properties = {name: values[0] for name, values in _properties(edge)}
        incoming[edge["to"]][edge["label"]].append(
            {"id": edge["id"], "outV": edge["from"], "properties": properties}
        )
    numbers = count()
    with open_private(file, "w") as out:
        for row in decode_columns(tables.vertices).to_pylist():
            vertex = {
                "id": row["id"],
                "label": row["label"],
                "inE": incoming.get(row["id"], {}),
                "properties": {
                    name: [{"id": _long(next(numbers)), "value": value} for value in values]
                    for name, values in _properties(row)
                },
            }
            out.write(json.dumps(vertex, separators=(",", ":")))
            out.write("\n")


def _properties(row: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Yield the properties of an element with their values."""
    for name, value in row.items():
        if value is not None and name not in _KEYS:
            values = value if isinstance(value, list) else [value]
            yield name, [_long(each) if isinstance(each, int) else each for each in values]


def _long(number: int) -> dict[str, Any]:
    return {"@type": "g:Int64", "@value": number}
