"""Merges two vertices of one dataset: moves tags, edges and columns from the duplicate to the canonical one.

Everything is copied before anything is deleted, so that an interrupted move can be repeated.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from operator import itemgetter
from typing import NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P

from lineage_merge.graph_format.schema import DATASET_LABELS, Row, one_label
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.element_rows import dataset_of, dataset_of_node, job_of, renamed_edge
from lineage_merge.load.graph_state import AliasOf, GraphState, VertexSnapshot, take_snapshot
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor, send
from lineage_merge.load.gremlin.upserts import EdgeUpsert, Upsert
from lineage_merge.load.stored_elements import StoredEdge, StoredVertex
from lineage_merge.model.elements import edge_id, encode
from lineage_merge.model.errors import GraphRejected

_ATTEMPTS = 5
# The canonical vertex keeps its own identity.
_IDENTITY = frozenset({"name", "namespace", "qualified_name", "location"})
# The format of the duplicate's files, for example of a temporary directory, does not apply to the canonical
# vertex.
NOT_MOVED = _IDENTITY | {"format"}


def move(endpoint: Endpoint, pairs: Iterable[tuple[str, str]]) -> int:
    """Move (duplicate, canonical) pairs of vertex ids; returns how many duplicates existed.

    The canonical vertices must be in the graph. Raises GraphUnreachable and GraphRejected.
    """
    moved = 0
    with open_executor(endpoint) as execute:
        for duplicate, canonical in pairs:
            moved += _move(endpoint, execute, duplicate, canonical)
    return moved


def drop_if_unchanged(
    g: GraphTraversalSource, vertex: str, edge_count: int, dags: list[str]
) -> GraphTraversal:
    """Drop a vertex, if it has no edges and tags besides the copied ones."""
    others = __.values("dag_name").is_(P.without(dags))
    return g.V(vertex).where(__.both_e().count().is_(edge_count)).not_(others).drop()


def _move(endpoint: Endpoint, execute: GremlinExecutor, duplicate: str, canonical: str) -> int:
    for attempt in range(_ATTEMPTS):
        snapshot = take_snapshot(execute, duplicate)
        if snapshot is None:
            return 1 if attempt else 0
        snapshots = [snapshot, *_columns_below(execute, snapshot)]
        new_ids = {each.id: canonical + each.id[len(duplicate) :] for each in snapshots}
        _copy(endpoint, execute, snapshots, new_ids)
        for each in reversed(snapshots):  # fields before their columns, the dataset last
            # Edges to what was dropped before are gone.
            edge_count = each.edge_count - len(_edges_below(each))
            execute(partial(drop_if_unchanged, vertex=each.id, edge_count=edge_count, dags=each.dags))
    if take_snapshot(execute, duplicate) is None:
        return 1
    raise GraphRejected(f"not moved to {canonical}, concurrent changes: {duplicate}")


def _columns_below(execute: GremlinExecutor, dataset: VertexSnapshot) -> Iterator[VertexSnapshot]:
    """Yield the columns of a dataset, and below them their fields."""
    waiting = [dataset]
    while waiting:
        vertex = waiting.pop(0)
        # Each DAG has its own edge to a column.
        ids = sorted({edge.to_id for edge in _edges_below(vertex)})
        found = [column for identifier in ids if (column := take_snapshot(execute, identifier))]
        yield from found
        waiting += found


def _edges_below(vertex: VertexSnapshot) -> list[EdgeUpsert]:
    """Return the edges to the columns of a dataset, or to the fields of a column."""
    return [
        edge
        for edge in vertex.edges
        if edge.label == "has_column" and edge.from_id == vertex.id and edge.to_id.startswith(f"{vertex.id}|")
    ]


def _copy(
    endpoint: Endpoint, execute: GremlinExecutor, snapshots: list[VertexSnapshot], new_ids: dict[str, str]
) -> None:
    def vertices() -> Iterator[Upsert]:
        for vertex_snapshot in snapshots:
            existing = take_snapshot(execute, new_ids[vertex_snapshot.id])
            known = frozenset(existing.values) if existing else frozenset()
            label = one_label(existing.label if existing else vertex_snapshot.label)
            identity = frozenset() if vertex_snapshot.label == "column" else NOT_MOVED
            yield vertex_snapshot.upsert(new_ids[vertex_snapshot.id], label, known | identity)

    edges = {edge.id: edge for vertex_snapshot in snapshots for edge in vertex_snapshot.edges}
    copies = (_copy_of(edge, new_ids) for edge in edges.values())
    # An edge between duplicate and canonical vertex would become a loop.
    without_loops = (edge for edge in copies if edge.from_id != edge.to_id)
    send(endpoint, upserts.batches(vertices()))
    send(endpoint, upserts.batches(without_loops))


def _copy_of(edge: EdgeUpsert, new_ids: dict[str, str]) -> EdgeUpsert:
    start, end = new_ids.get(edge.from_id, edge.from_id), new_ids.get(edge.to_id, edge.to_id)
    values = dict(edge.properties)
    identifier = edge_id(values["environment"], values["dag_name"], job_of(values), start, edge.label, end)
    return replace(edge, id=identifier, from_id=start, to_id=end)


# The functions below apply the moves to the elements that were read: a merge is compared with the graph as it
# will be after the moves.


class CanonicalVertex(NamedTuple):
    """The id of the canonical vertex of a name, and its label if known."""

    id: str
    label: str = ""


NewIds = Shared[Mapping[str, str]]


def move_edges(edges: Rows[StoredEdge], new_ids: NewIds, environment: str, dag_name: str) -> Rows[StoredEdge]:
    """Return the stored edges as they will be after the moves."""
    moved = edges.flat_map(partial(_moved_edge, new_ids, environment, dag_name))
    return moved.group(lambda edge: (edge.id, edge.interim), _first_edge)


def _moved_edge(new_ids: NewIds, environment: str, dag_name: str, edge: StoredEdge) -> Iterable[StoredEdge]:
    row = {**edge.properties, "id": edge.id, "label": edge.label, "from": edge.from_id, "to": edge.to_id}
    moved = renamed_edge(row, new_ids.value, environment, dag_name)
    return (edge._replace(id=moved["id"], from_id=moved["from"], to_id=moved["to"]),) if moved else ()


def _first_edge(_key: tuple[str, bool], edges: list[StoredEdge]) -> Iterable[StoredEdge]:
    return (min(edges, key=lambda edge: repr(sorted(edge.properties.items()))),)


def remove_moved_vertices(vertices: Rows[StoredVertex], new_ids: NewIds) -> Rows[StoredVertex]:
    """Return the stored vertices without moved ones and their columns."""
    return vertices.filter(
        lambda vertex: dataset_of(vertex.id, vertex.label == "column") not in new_ids.value
    )


def rename_nodes(nodes: Rows[Row], canonical: Shared[Mapping[str, CanonicalVertex]]) -> Rows[Row]:
    """Return the nodes of a merge with the ids of the canonical vertices that the graph has for them.

    The identity properties of a renamed node are dropped. If the merge also has the canonical node, its
    values take precedence.
    """
    return nodes.map(partial(_renamed_node, canonical)).group(lambda node: str(node[1]["id"]), _combined_node)


def _renamed_node(canonical: Shared[Mapping[str, CanonicalVertex]], node: Row) -> tuple[bool, Row]:
    """Return whether a node keeps its id, and the node with its final id."""
    dataset = dataset_of_node(node)
    renamed = canonical.value.get(dataset)
    if renamed is None:
        return True, node
    identifier = renamed.id + node["id"][len(dataset) :]
    if node["label"] == "column":
        return False, {**node, "id": identifier}
    values = {name: value for name, value in node.items() if name not in _IDENTITY}
    return False, {**values, "id": identifier, "label": renamed.label}


def _combined_node(_id: str, nodes: list[tuple[bool, Row]]) -> Iterable[Row]:
    if len(nodes) == 1:
        return (nodes[0][1],)
    values: Row = {}
    for name in {name for _, node in nodes for name in node}:
        known = [(is_own, node[name]) for is_own, node in nodes if node.get(name) is not None]
        if known:
            values[name] = max(known)[1]
    return (values,)


def rename_edges(edges: Rows[Row], new_ids: NewIds, environment: str, dag_name: str) -> Rows[Row]:
    """Return the edges of a merge with the ids of the canonical vertices."""
    renamed = edges.map(lambda edge: renamed_edge(edge, new_ids.value, environment, dag_name))
    return renamed.flat_map(lambda edge: (edge,) if edge else ()).group(itemgetter("id"), _first_row)


def _first_row(_id: str, rows: list[Row]) -> Iterable[Row]:
    return (min(rows, key=lambda row: repr(sorted(row.items()))),) if len(rows) > 1 else rows


_ALIAS = re.compile(r"(.*) \([^()]*\)")


def resolve_stored_aliases(
    nodes: Rows[Row],
    existing: GraphState,
    aliases: Rows[AliasOf],
    ignored: frozenset[tuple[str, str]],
    environment: str,
) -> dict[str, CanonicalVertex]:
    """Return the datasets of a merge that the graph only has under another id, according to `aliases`.

    `ignored`: aliases (vertex id and text) that are not followed. A name that is an alias of several vertices
    is not followed either.
    """
    facts: Rows[tuple[str, _NameFact]] = nodes.flat_map(_own_name)
    stored: Rows[tuple[str, _NameFact]] = existing.vertices.map(lambda vertex: (vertex.id, True))
    others = aliases.flat_map(partial(_alias_name, environment, ignored))
    return dict(facts.union(stored, others).group(itemgetter(0), _follow).collect())


# A fact about a name: a vertex that has it as an alias, the id of a dataset of the merge, or that the graph
# has a vertex of that id (True).
_NameFact = CanonicalVertex | str | bool


def _own_name(node: Row) -> Iterable[tuple[str, _NameFact]]:
    prefix = f"{node['environment']}|"
    if node["label"] in DATASET_LABELS and node["id"].startswith(prefix):
        yield node["id"], node["id"]


def _alias_name(
    environment: str, ignored: frozenset[tuple[str, str]], alias: AliasOf
) -> Iterator[tuple[str, _NameFact]]:
    named = _ALIAS.fullmatch(alias.alias)
    if named and "|" in named[1] and (alias.id, alias.alias) not in ignored:
        namespace, _, name = named[1].partition("|")
        yield "|".join((environment, encode(namespace), encode(name))), CanonicalVertex(alias.id, alias.label)


def _follow(name: str, facts: list[tuple[str, _NameFact]]) -> Iterator[tuple[str, CanonicalVertex]]:
    named = {fact for _, fact in facts if isinstance(fact, CanonicalVertex)}
    is_missing = any(fact == name for _, fact in facts) and not any(fact is True for _, fact in facts)
    if is_missing and len(named) == 1:
        (renamed,) = named
        if renamed.id != name:
            yield name, renamed
