"""JSON Schemas of one line of node and edge files, which `lineage-merge validate` uses.

``python -m lineage_merge.graph_format.json_schemas`` writes them to this folder, and the columns of snapshots
to that of the embedded graph.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_LABELS,
    EDGE_PROPERTIES,
    NODE_KEYS,
    NODE_LABELS,
    NODE_PROPERTIES,
    Label,
    Property,
)

DRAFT = "https://json-schema.org/draft/2020-12/schema"


def _property_schema(declared: Property) -> dict[str, Any]:
    one: dict[str, Any] = {"type": "integer" if declared.type == "long" else "string"}
    if declared.many:
        one = {"type": "array", "items": one, "uniqueItems": True}
    return {"description": declared.description} | one


def _element_schema(
    title: str,
    keys: Iterable[str],
    declared: Iterable[Property],
    labels: Iterable[Label],
    required: list[str],
) -> dict[str, Any]:
    by_name = {item.name: item for item in declared}
    labels = tuple(labels)
    key_schemas: dict[str, Any] = {key: {"type": "string", "minLength": 1} for key in keys}
    key_schemas["label"] = {"enum": [label.name for label in labels]}
    return {
        "$schema": DRAFT,
        "title": title,
        "type": "object",
        "required": required,
        "properties": key_schemas | {name: _property_schema(item) for name, item in by_name.items()},
        "additionalProperties": False,
        "allOf": [
            {
                "if": {"properties": {"label": {"const": label.name}}, "required": ["label"]},
                "then": {"propertyNames": {"enum": [*keys, *label.properties]}}
                | ({"required": list(label.required)} if label.required else {}),
            }
            for label in labels
        ],
    }


def node_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of one line of a node file."""
    required = [*NODE_KEYS, "name"]
    return _element_schema(
        "A line of a node file of lineage_merge", NODE_KEYS, NODE_PROPERTIES, NODE_LABELS, required
    )


def edge_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of one line of an edge file."""
    return _element_schema(
        "A line of an edge file of lineage_merge", EDGE_KEYS, EDGE_PROPERTIES, EDGE_LABELS, list(EDGE_KEYS)
    )


def schema_files() -> Mapping[str, str]:
    """Return the file names and texts of the JSON Schemas: a line per property and label."""
    return {"node.schema.json": _text(node_schema()), "edge.schema.json": _text(edge_schema())}


def _text(schema: Mapping[str, Any]) -> str:
    parts = (f"  {json.dumps(key)}: {_entries(value)}" for key, value in schema.items())
    return "{\n" + ",\n".join(parts) + "\n}\n"


def _entries(value: Any) -> str:
    if isinstance(value, dict):
        lines = [f"    {json.dumps(key)}: {json.dumps(entry)}" for key, entry in value.items()]
        return "{\n" + ",\n".join(lines) + "\n  }"
    if isinstance(value, list) and isinstance(value[0], dict):
        return "[\n" + ",\n".join(f"    {json.dumps(entry)}" for entry in value) + "\n  ]"
    return json.dumps(value)


def snapshot_columns() -> str:
    """Return the columns of an embedded graph's snapshot, with their types, as JSON."""

    def columns(keys: Iterable[str], declared: Iterable[Property]) -> dict[str, str]:
        types = dict.fromkeys(keys, "string")
        return types | {item.name: "set" if item.many else item.type for item in declared}

    vertices = columns(NODE_KEYS, NODE_PROPERTIES) | {"dag_name": "set"}
    of_edges = columns(EDGE_KEYS, EDGE_PROPERTIES)
    return f'{{"vertices": {json.dumps(vertices)},\n "edges": {json.dumps(of_edges)}}}\n'


SNAPSHOT_COLUMNS = Path(__file__).parents[1] / "infra" / "embedded" / "columns.json"


if __name__ == "__main__":
    for name, text in schema_files().items():
        Path(__file__).with_name(name).write_text(text, encoding="utf-8")
    SNAPSHOT_COLUMNS.write_text(snapshot_columns(), encoding="utf-8")
