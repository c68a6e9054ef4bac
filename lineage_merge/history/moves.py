"""Renames datasets of an entry that later merges moved to other ids, as their loads did. Pure."""

from collections.abc import Iterable, Iterator, Mapping

from lineage_merge.graph_format.schema import Row
from lineage_merge.history.layout import Scope
from lineage_merge.model.elements import JobKey, edge_id


def renamed(
    nodes: Mapping[str, Row], edges: Iterable[Row], ids: Mapping[str, str], scope: Scope
) -> tuple[dict[str, Row], list[Row]]:
    """Return nodes by id, and edges, with the new ids of datasets; a node of the new id takes precedence."""
    moved: dict[str, Row] = {}
    for identifier, row in nodes.items():
        new = _new_id(ids, identifier, row["label"] == "column")
        if new == identifier or new not in nodes:
            moved[new] = {**row, "id": new}
    return moved, [each for edge in edges for each in _renamed_edge(edge, ids, scope)]


def _renamed_edge(edge: Row, ids: Mapping[str, str], scope: Scope) -> Iterator[Row]:
    from lineage_merge.load.graph_state import end_is_column

    start, end = (
        _new_id(ids, edge[name], end_is_column(edge["label"], name, edge[name])) for name in ("from", "to")
    )
    if (start, end) == (edge["from"], edge["to"]):
        yield edge
    elif start != end:  # as in the graph: an edge between the two would become a loop
        job = JobKey(edge["job_type"], edge["job_name"]) if edge.get("job_name") is not None else None
        identifier = edge_id(*scope, job, start, edge["label"], end)
        yield {**edge, "id": identifier, "from": start, "to": end}


def _new_id(ids: Mapping[str, str], identifier: str, is_column: bool) -> str:
    dataset = identifier.rpartition("|")[0] if is_column else identifier
    return ids[dataset] + identifier[len(dataset) :] if dataset in ids else identifier
