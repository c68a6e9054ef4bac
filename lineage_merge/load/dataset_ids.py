"""Which dataset an element belongs to, and edges of datasets with new ids. Pure."""

from collections.abc import Mapping
from typing import Any

from lineage_merge.graph_format.schema import Row
from lineage_merge.model.elements import JobKey, edge_id

# Edges that end at a dataset or at a column.
_TO_EITHER = frozenset({"checks", "references"})
# In an id: `model.elements.column_id`.
_COLUMN_SEPARATORS = 3


def dataset_of(identifier: str, is_column: bool) -> str:
    """Return the dataset that an id belongs to: itself, or the dataset of a column."""
    dataset, separator, _ = identifier.rpartition("|")
    return dataset if is_column and separator else identifier


def dataset_of_node(node: Row) -> str:
    """Return the dataset that a node belongs to: itself, or the dataset of a column; "" without an id."""
    return dataset_of(node.get("id") or "", node.get("label") == "column")


def dataset_of_end(edge: Row, end: str) -> str:
    """Return the dataset at an end (``from``, ``to``) of an edge, or the dataset of the column there."""
    identifier = edge.get(end) or ""
    return dataset_of(identifier, _end_is_column(edge.get("label") or "", end, identifier))


def _end_is_column(label: str, end: str, identifier: str) -> bool:
    if end == "from":
        return label in ("feeds_column", "influences")
    if label in _TO_EITHER:
        return identifier.count("|") == _COLUMN_SEPARATORS
    return label in ("feeds_column", "has_column")


def job_of(edge: Mapping[str, Any]) -> JobKey | None:
    """Return the job of an edge; None for `has_column`."""
    name = edge.get("job_name")
    return None if name is None else JobKey(edge.get("job_type") or "", name)


def renamed_edge(edge: Row, new_ids: Mapping[str, str], environment: str, dag_name: str) -> Row | None:
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
