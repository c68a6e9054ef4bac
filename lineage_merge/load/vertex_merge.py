"""Two vertices that turn out to be one dataset: the loser's tags, edges and columns go to the winner.

Everything is there twice before anything is taken away, so that a move may be cut off at any
point and made again.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource, __
from gremlin_python.process.traversal import P

from lineage_merge.graph_format.labels import one_label
from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.graph_state import (
    AliasOf,
    GraphState,
    StoredEdge,
    StoredVertex,
    dataset_of,
    end_is_column,
)
from lineage_merge.load.gremlin import upserts
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import GremlinExecutor, open_executor, send
from lineage_merge.load.gremlin.upserts import Upsert
from lineage_merge.load.snapshot import Edge, Snapshot, take
from lineage_merge.model.elements import JobKey, edge_id, encode
from lineage_merge.model.errors import GraphRejected

_ATTEMPTS = 5
# What a vertex is called belongs to its identity, and that is the winner's.
_IDENTITY = frozenset({"name", "namespace", "qualified_name", "location"})
# Nor does the format of its own files, such as those of a temporary directory, apply to the other vertex.
_OF_VERTEX = _IDENTITY | {"format"}


def move(endpoint: Endpoint, pairs: Iterable[tuple[str, str]]) -> int:
    """Move (loser, winner) vertices by id; how many losers there were.

    The winners must be in the graph. Raises GraphUnreachable and GraphRejected.
    """
    moved = 0
    with open_executor(endpoint) as ask:
        for loser, winner in pairs:
            moved += _move(endpoint, ask, loser, winner)
    return moved


def taking_out(g: GraphTraversalSource, vertex: str, edge_count: int, dags: list[str]) -> GraphTraversal:
    """Drop a vertex, if it has no more edges and no other tags than were moved."""
    others = __.values("dag_name").is_(P.without(dags))
    return g.V(vertex).where(__.both_e().count().is_(edge_count)).not_(others).drop()


def _move(endpoint: Endpoint, ask: GremlinExecutor, loser: str, winner: str) -> int:
    for attempt in range(_ATTEMPTS):
        found = take(ask, loser)
        if found is None:
            return 1 if attempt else 0
        # Each DAG has an edge of its own to a column.
        hanging = [edge.to_id for edge in found.edges if edge.label == "has_column" and edge.from_id == loser]
        hanging = [column for column in hanging if column.startswith(f"{loser}|")]
        columns = [column for each in sorted(set(hanging)) if (column := take(ask, each))]
        new_ids = {loser: winner, **{each.id: winner + each.id[len(loser) :] for each in columns}}
        _copy(endpoint, ask, [found, *columns], new_ids)
        for column in columns:
            ask(partial(taking_out, vertex=column.id, edge_count=column.edge_count, dags=column.dags))
        left = found.edge_count - len(hanging)
        ask(partial(taking_out, vertex=loser, edge_count=left, dags=found.dags))
    if take(ask, loser) is None:
        return 1
    raise GraphRejected(f"{loser}: it was not moved to {winner}: others kept writing to it")


def _copy(endpoint: Endpoint, ask: GremlinExecutor, found: list[Snapshot], new_ids: dict[str, str]) -> None:
    def vertices() -> Iterator[Upsert]:
        for each in found:
            there = take(ask, new_ids[each.id])
            known = frozenset(there.values) if there else frozenset()
            label = one_label(there.label if there else each.label)
            identity = frozenset() if each.label == "column" else _OF_VERTEX
            yield each.upsert(new_ids[each.id], label, known | identity)

    edges = {edge.id: edge for edge in chain.from_iterable(each.edges for each in found)}
    # A dataset does not feed itself because it had two names.
    anew = (_of(edge, new_ids) for edge in edges.values())
    kept = (edge for edge in anew if edge.from_id != edge.to_id)
    send(endpoint, upserts.batches(vertices()))
    send(endpoint, upserts.batches(edge.upsert() for edge in kept))


def _of(edge: Edge, new_ids: dict[str, str]) -> Edge:
    start, end = new_ids.get(edge.from_id, edge.from_id), new_ids.get(edge.to_id, edge.to_id)
    held = edge.properties
    job = JobKey(held["job_type"], held["job_name"]) if "job_name" in held else None
    identifier = edge_id(held["environment"], held["dag_name"], job, start, edge.label, end)
    return Edge(identifier, edge.label, start, end, held)


# The same on what was read: what a merge is compared with is the graph after the moves.


class Renamed(NamedTuple):
    """The id of the vertex that a name belongs to, and its label where that matters."""

    id: str
    label: str = ""


DatasetResolver = Shared[Mapping[str, Renamed]]


def moved_edges(
    edges: Rows[StoredEdge], names: DatasetResolver, environment: str, dag_name: str
) -> Rows[StoredEdge]:
    """Return existing edges as they will be."""
    moved = edges.flat_map(partial(_moved_edge, names, environment, dag_name))
    return moved.group(_edge_key, _first_edge)


def _moved_edge(
    names: DatasetResolver, environment: str, dag_name: str, edge: StoredEdge
) -> Iterator[StoredEdge]:
    start, end = (
        _renamed_end(names.value, edge.label, name, identifier)
        for name, identifier in (("from", edge.from_id), ("to", edge.to_id))
    )
    if (start, end) == (edge.from_id, edge.to_id):
        yield edge
    elif start != end:
        job = JobKey(edge.held["job_type"], edge.held["job_name"]) if "job_name" in edge.held else None
        identifier = edge_id(environment, dag_name, job, start, edge.label, end)
        yield edge._replace(id=identifier, from_id=start, to_id=end)


def _edge_key(edge: StoredEdge) -> tuple[str, bool]:
    return edge.id, edge.interim


def _first_edge(_key: tuple[str, bool], edges: list[StoredEdge]) -> Iterable[StoredEdge]:
    return (min(edges, key=_held_text),)


def _held_text(edge: StoredEdge) -> str:
    return repr(sorted(edge.held.items()))


def moved_vertices(vertices: Rows[StoredVertex], names: DatasetResolver) -> Rows[StoredVertex]:
    """Return existing vertices without those that are moved and their columns."""
    return vertices.filter(partial(_stays, names))


def _stays(names: DatasetResolver, vertex: StoredVertex) -> bool:
    return dataset_of(vertex.id, vertex.label == "column") not in names.value


def renamed_nodes(nodes: Rows[Row], names: DatasetResolver) -> Rows[Row]:
    """Return the nodes of a merge that has datasets by a name that the graph knows another vertex by.

    Such a node's own name is left out; where the merge has the other one too, that one takes precedence.
    """
    return nodes.map(partial(_renamed_node, names)).group(_node_key, _combined_node)


def _renamed_node(names: DatasetResolver, node: Row) -> tuple[bool, Row]:
    """Return whether a node keeps its id, and the node."""
    is_column = node["label"] == "column"
    dataset = dataset_of(node["id"], is_column)
    renamed = names.value.get(dataset)
    if renamed is None:
        return True, node
    identifier = renamed.id + node["id"][len(dataset) :]
    if is_column:
        return False, {**node, "id": identifier}
    values = {name: value for name, value in node.items() if name not in _IDENTITY}
    return False, {**values, "id": identifier, "label": renamed.label}


def _node_key(node: tuple[bool, Row]) -> str:
    identifier: str = node[1]["id"]
    return identifier


def _combined_node(_id: str, nodes: list[tuple[bool, Row]]) -> Iterable[Row]:
    if len(nodes) == 1:
        return (nodes[0][1],)
    values: Row = {}
    for name in {name for _, node in nodes for name in node}:
        known = [(is_own, node[name]) for is_own, node in nodes if node.get(name) is not None]
        if known:
            values[name] = max(known)[1]
    return (values,)


def renamed_edges(edges: Rows[Row], names: DatasetResolver) -> Rows[Row]:
    """Return the merge's edges likewise."""
    return edges.flat_map(partial(_renamed_edge, names)).group(itemgetter("id"), _first_row)


def _renamed_edge(names: DatasetResolver, edge: Row) -> Iterator[Row]:
    start, end = (_renamed_end(names.value, edge["label"], name, edge[name]) for name in ("from", "to"))
    if (start, end) == (edge["from"], edge["to"]):
        yield edge
    elif start != end:
        job = JobKey(edge["job_type"], edge["job_name"]) if edge.get("job_name") is not None else None
        identifier = edge_id(edge["environment"], edge["dag_name"], job, start, edge["label"], end)
        yield {**edge, "id": identifier, "from": start, "to": end}


def _first_row(_id: str, rows: list[Row]) -> Iterable[Row]:
    return (min(rows, key=_row_text),) if len(rows) > 1 else rows


def _row_text(row: Row) -> str:
    return repr(sorted(row.items()))


def _renamed_end(names: Mapping[str, Renamed], label: str, end: str, identifier: str) -> str:
    dataset = dataset_of(identifier, end_is_column(label, end))
    renamed = names.get(dataset)
    return renamed.id + identifier[len(dataset) :] if renamed else identifier


_ALIAS = re.compile(r"(.*) \([^()]*\)")


def named_by_the_graph(
    nodes: Rows[Row],
    existing: GraphState,
    aliases: Rows[AliasOf],
    ignored: frozenset[tuple[str, str]],
    environment: str,
) -> dict[str, Renamed]:
    """Return the datasets of a merge that the graph has under another id, which `aliases` name.

    `ignored` are aliases (a vertex's id and the text) that are not followed. Nor is a name that several
    vertices claim.
    """
    facts: Rows[tuple[str, _NameFact]] = nodes.flat_map(_own_name)
    stored = existing.vertices.map(_stored_name)
    others = aliases.flat_map(partial(_alias_name, environment, ignored))
    return dict(facts.union(stored, others).group(itemgetter(0), _follow).collect())


# A vertex that has the name as an alias; a dataset of the merge of that name (its id); the graph has a vertex
# (True).
_NameFact = Renamed | str | bool


def _own_name(node: Row) -> Iterable[tuple[str, _NameFact]]:
    prefix = f"{node['environment']}|"
    if node["label"] in DATASET_LABELS and node["id"].startswith(prefix):
        yield node["id"], node["id"]


def _stored_name(vertex: StoredVertex) -> tuple[str, _NameFact]:
    return vertex.id, True


def _alias_name(
    environment: str, ignored: frozenset[tuple[str, str]], alias: AliasOf
) -> Iterator[tuple[str, _NameFact]]:
    named = _ALIAS.fullmatch(alias.alias)
    if named and "|" in named[1] and (alias.id, alias.alias) not in ignored:
        namespace, _, name = named[1].partition("|")
        yield "|".join((environment, encode(namespace), encode(name))), Renamed(alias.id, alias.label)


def _follow(name: str, facts: list[tuple[str, _NameFact]]) -> Iterator[tuple[str, Renamed]]:
    named = {fact for _, fact in facts if isinstance(fact, Renamed)}
    is_missing = any(fact == name for _, fact in facts) and not any(fact is True for _, fact in facts)
    if is_missing and len(named) == 1:
        (renamed,) = named
        if renamed.id != name:
            yield name, renamed
