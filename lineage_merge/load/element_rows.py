"""Rows of nodes and edges: the dataset that each belongs to, and values in one normal form. Pure.

Elements of a merge and of the graph with equal values are unchanged and need no comparison per property.
"""

from collections.abc import Collection, Container, Iterable, Mapping
from typing import Any

from lineage_merge.graph_format.schema import EDGE_PROPERTIES, FIRST_SEEN, NODE_PROPERTIES, SETS, Row
from lineage_merge.model import elements
from lineage_merge.model.elements import JobKey, edge_id, is_column_id
from lineage_merge.model.errors import IntermediateError

# Ends of edges at columns; None: at a dataset or at a column, which its id shows.
_AT_COLUMNS = {
    ("feeds_column", "from"): True,
    ("feeds_column", "to"): True,
    ("influences", "from"): True,
    **{("has_column", end): None for end in ("from", "to")},
    **{(label, "to"): None for label in ("checks", "references")},
}


def dataset_of(identifier: str, is_column: bool) -> str:
    """Return the dataset that an id belongs to: itself, or the dataset of a column or field."""
    return elements.dataset_of(identifier) if is_column else identifier


def dataset_of_node(node: Row) -> str:
    """Return the dataset that a node belongs to: itself, or the dataset of a column; "" without an id."""
    return dataset_of(node.get("id") or "", node.get("label") == "column")


def dataset_of_end(edge: Row, end: str) -> str:
    """Return the dataset at an end (``from``, ``to``) of an edge, or the dataset of the column there."""
    identifier: str = edge.get(end) or ""
    is_column = _AT_COLUMNS.get((edge.get("label") or "", end), False)
    if is_column is None:
        is_column = is_column_id(identifier)
    return elements.dataset_of(identifier) if is_column else identifier


def job_of(edge: Mapping[str, Any]) -> JobKey | None:
    """Return the job of an edge; None for `has_column`."""
    name = edge.get("job_name")
    return None if name is None else JobKey(edge.get("job_type") or "", name)


def rename_edge(edge: Row, new_ids: Mapping[str, str], environment: str, dag_name: str) -> Row | None:
    """Return an edge with the new ids of datasets, and its own; None if it would become a loop."""
    ends = {}
    for name in ("from", "to"):
        dataset = dataset_of_end(edge, name)
        ends[name] = new_ids.get(dataset, dataset) + edge[name][len(dataset) :]
    start, end = ends["from"], ends["to"]
    if (start, end) == (edge["from"], edge["to"]):
        return edge
    if start == end:
        return None
    return {**edge, **ends, "id": edge_id(environment, dag_name, job_of(edge), start, edge["label"], end)}


VERTEX_NAMES = frozenset({"environment", *(item.name for item in NODE_PROPERTIES)} - {FIRST_SEEN})
EDGE_NAMES = frozenset(item.name for item in EDGE_PROPERTIES if item.name != FIRST_SEEN)
# All properties that are compared.
PROPERTY_NAMES = VERTEX_NAMES | EDGE_NAMES


def node_values(row: Mapping[str, Any]) -> Row:
    """Return the environment and properties of a node that are compared, sets as sorted lists."""
    return select_values(row, VERTEX_NAMES, SETS)


def select_values(row: Mapping[str, Any], names: Container[str], sets: Container[str]) -> Row:
    """Return the known values of these names, those of `sets` as sorted lists, without empty ones."""
    values: Row = {}
    for name, value in row.items():
        if value is None or name not in names:
            continue
        if name not in sets:
            values[name] = value
        elif value:
            values[name] = sorted(value)
    return values


def edge_values(row: Mapping[str, Any]) -> Row:
    """Return the properties of an edge that are compared."""
    return {name: value for name, value in row.items() if value is not None and name in EDGE_NAMES}


def vertex_values(value_map: Mapping[str, list[Any]]) -> Row:
    """Return the properties of a vertex of a server (`value_map`), without its tags.

    Sets are returned as sorted texts; of several values of a single-valued property the smallest text.
    """
    properties: Row = {}
    for name, values in value_map.items():
        if values and name != "dag_name":
            properties[name] = sorted(map(str, values)) if name in SETS else _first(values)
    return properties


def _first(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else min(values, key=str)


def require_keys(kind: str, row: Mapping[str, Any], keys: Iterable[str]) -> None:
    """Raise `IntermediateError` if a key of a row is missing or empty."""
    if not all(map(row.get, keys)):
        missing = next(key for key in keys if not row.get(key))
        raise IntermediateError(f"{kind} {row.get('id') or 'without id'}: {missing} is missing")


def row_to_write(
    row: Mapping[str, Any],
    keys: Collection[str],
    names: Iterable[str] | None = None,
    created_at: int | None = None,
) -> Row:
    """Return the keys of a row and its properties of these `names` (None: all), as `upserts` takes them.

    `created_at`: time of the load, if the element is new.
    """
    selected = PROPERTY_NAMES if names is None else frozenset(names)
    to_write: Row = {} if created_at is None else {FIRST_SEEN: created_at}
    for name, value in row.items():
        if value is not None and (name in selected or name in keys):
            to_write[name] = sorted(value) if name in SETS and isinstance(value, list | tuple) else value
    return to_write
