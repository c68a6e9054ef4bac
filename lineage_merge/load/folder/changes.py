"""Makes the planned changes of a load in a draft of the graph, in the order of `server.write_changes`."""

from collections.abc import Iterable
from operator import attrgetter

from lineage_merge.graph_format.schema import COUNTED, EDGE_KEYS, NODE_KEYS, SETS, Row
from lineage_merge.load.diff import Change, get_first_seen
from lineage_merge.load.element_rows import job_of, row_to_write
from lineage_merge.load.folder.draft import TAGS, Draft, drop_values
from lineage_merge.load.load_plan import LoadPlan
from lineage_merge.load.resolve_names import NOT_MOVED
from lineage_merge.model.elements import edge_id

_KEYS = ("id", "label", "from", "to")


def make_changes(plan: LoadPlan, draft: Draft, dag_name: str, now: int) -> None:
    """Write all differences, then delete. Raises `GraphRejected` and `IntermediateError`.

    `now`: `first_seen` of new elements.
    """
    compared, deletions = plan.comparison, plan.deletions
    nodes, edges = (
        rows.filter(attrgetter("is_written")).collect() for rows in (compared.nodes, compared.edges)
    )
    draft.vertices.prefetch(node.row.get("id") or "" for node in nodes)
    draft.edges.prefetch(edge.row.get("id") or "" for edge in edges)
    for node in nodes:
        _write_node(draft, node, now)
    for duplicate, canonical in compared.moves.items():
        _move(draft, duplicate, canonical)
    for edge in edges:
        row = row_to_write(edge.row, EDGE_KEYS, edge.to_write, get_first_seen(edge, now))
        draft.write_edge(row)
    _clear(draft, nodes, edges, dag_name)
    for identifier in deletions.edges.collect():
        draft.edges.delete(identifier)
    draft.untag(deletions.vertices.collect(), dag_name)
    for removal in compared.renames.select_kind("remove"):
        if vertex := draft.vertices.get(removal.id):
            drop_values(vertex, removal.property, [removal.value])


def _write_node(draft: Draft, node: Change, now: int) -> None:
    row = row_to_write(node.row, NODE_KEYS, node.to_write, get_first_seen(node, now))
    draft.write_vertex(row)
    if node.kind == "label" and (vertex := draft.vertices.get(row["id"])):
        vertex["label"] = row["label"]


def _clear(draft: Draft, nodes: Iterable[Change], edges: Iterable[Change], dag_name: str) -> None:
    """Remove properties, and values of properties, that the merge no longer has.

    Values stay if a dataset of another DAG was moved to the vertex, but for those of whichever DAG counts.
    """
    for table, elements in ((draft.vertices, nodes), (draft.edges, edges)):
        for element in elements:
            if not (element.cleared or element.dropped):
                continue
            if row := table.get(element.row["id"]):
                for name in element.cleared:
                    row.pop(name, None)
                is_shared = any(tag != dag_name for tag in row.get(TAGS) or ())
                for name, values in element.dropped:
                    if name in COUNTED or not is_shared:
                        drop_values(row, name, values)


def _move(draft: Draft, duplicate: str, canonical: str) -> None:
    """Merge a duplicate and its columns into the canonical vertex and its columns."""
    moved = draft.vertices.get(duplicate)
    if moved is None:
        return
    found = {duplicate}
    last = {duplicate}
    while last := _columns(draft, last) - found:  # and the fields of columns
        found |= last
    new_ids = {old: canonical + old[len(duplicate) :] for old in sorted(found)}
    for old, new in new_ids.items():
        if row := draft.vertices.get(old):
            _merge_vertex(draft, row, new)
    for edge in draft.edges_at(new_ids):
        draft.edges.delete(edge["id"])
        start: str = new_ids.get(edge["from"]) or edge["from"]
        end: str = new_ids.get(edge["to"]) or edge["to"]
        if start != end:  # an edge between duplicate and canonical vertex would become a loop
            scope = edge["environment"], edge["dag_name"]
            identifier = edge_id(*scope, job_of(edge), start, edge["label"], end)
            if identifier not in draft.edges:
                draft.edges.add({**edge, "id": identifier, "from": start, "to": end})
    for old in new_ids:
        draft.vertices.delete(old)


def _columns(draft: Draft, owners: set[str]) -> set[str]:
    edges = draft.edges.rows_with(("from",), owners)
    return {
        edge["to"]
        for edge in edges
        if edge["label"] == "has_column" and edge["to"].startswith(f"{edge['from']}|")
    }


def _merge_vertex(draft: Draft, row: Row, identifier: str) -> None:
    """Add to a vertex what only its duplicate has, and the duplicate's values of sets."""
    target = draft.vertices.get(identifier)
    if target is None:
        target = draft.vertices.add({"id": identifier, "label": row["label"]})
    omitted = frozenset() if row["label"] == "column" else NOT_MOVED
    for name, value in row.items():
        if name in SETS and value:
            target[name] = [*(target.get(name) or ()), *value]
        elif name not in (*_KEYS, *omitted) and target.get(name) is None:
            target[name] = value
