"""Resolves names: gives each dataset one id in the merge and in the stored graph.

A merge may know aliases of stored datasets, and the graph may store aliases of the merge's datasets.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from operator import and_, itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS, Row, labels_of
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load import vertex_merge
from lineage_merge.load.graph_state import DagReader, GraphState
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.renames import Renames, find_renames
from lineage_merge.load.stored_elements import StoredVertex


class ResolvedNames(NamedTuple):
    """A merge and the stored graph, with one id per dataset in both.

    `moves`: the canonical id of each duplicate vertex.
    """

    nodes: Rows[Row]
    edges: Rows[Row]
    existing: GraphState
    moves: Mapping[str, str]
    renames: Renames


def resolve_names(merge: MergeOutput, graph: DagReader) -> ResolvedNames:
    """Read the stored graph, and resolve names that the merge or the graph has for the same dataset."""
    environment, dag_name = graph.environment, graph.dag_name
    nodes, edges, engine = merge.nodes, merge.edges, merge.nodes.engine
    canonical_ids, alias_ids = merge.canonical_ids, merge.alias_ids
    existing = graph.read_state(nodes.flat_map(node_id).union(alias_ids))
    renames = find_renames(merge.names, nodes, existing, environment, dag_name)
    canonical_ids |= {change.id: change.canonical_id for change in renames.of_kind("move")}
    stored_under_alias = {}
    if not _new_datasets(nodes, existing).is_empty():
        # A new dataset may be stored under another name. Names that the merge itself joins are resolved
        # already.
        ignored = frozenset((change.id, change.value) for change in renames.of_kind("ignore"))
        aliases = graph.read_aliases(engine)
        stored_aliases = vertex_merge.resolve_stored_aliases(nodes, existing, aliases, ignored, environment)
        stored_under_alias = {
            alias_id: canonical
            for alias_id, canonical in stored_aliases.items()
            if alias_id not in canonical_ids
        }
    if stored_under_alias:
        new_ids = engine.share({alias_id: vertex.id for alias_id, vertex in stored_under_alias.items()})
        nodes = vertex_merge.rename_nodes(nodes, engine.share(stored_under_alias)).cache()
        edges = vertex_merge.rename_edges(edges, new_ids, environment, dag_name).cache()
        existing = graph.read_state(nodes.flat_map(node_id).union(alias_ids))
    moves = _stored_duplicates(canonical_ids, existing)
    if moves:
        shared = engine.share(moves)
        existing = GraphState(
            vertex_merge.remove_moved_vertices(existing.vertices, shared).cache(),
            vertex_merge.move_edges(existing.edges, shared, environment, dag_name).cache(),
        )
    return ResolvedNames(nodes, edges, existing, moves, renames)


def node_id(node: Row) -> Iterable[str]:
    """Return the id of a node, if it has one."""
    return (node["id"],) if node.get("id") else ()


def _new_datasets(nodes: Rows[Row], existing: GraphState) -> Rows[str]:
    """Return the ids of the merge's datasets that are missing in the graph."""
    ids: Rows[tuple[str, bool]] = nodes.flat_map(_dataset_id)
    new = ids.union(existing.vertices.map(lambda vertex: (vertex.id, False))).reduce_by_key(and_)
    return new.filter(itemgetter(1)).map(itemgetter(0))


def _dataset_id(node: Row) -> Iterable[tuple[str, bool]]:
    return ((node["id"], True),) if node.get("label") in DATASET_LABELS and node.get("id") else ()


def _stored_duplicates(canonical_ids: Mapping[str, str], existing: GraphState) -> dict[str, str]:
    """Return the canonical ids of those alias ids for which the graph has a dataset."""
    if not canonical_ids:
        return {}
    alias_ids = existing.vertices.engine.share(frozenset(canonical_ids))
    aliases_stored = existing.vertices.flat_map(partial(_dataset_if_in, alias_ids)).collect()
    return {alias_id: canonical_ids[alias_id] for alias_id in sorted(aliases_stored)}


def _dataset_if_in(ids: Shared[frozenset[str]], vertex: StoredVertex) -> Iterable[str]:
    is_dataset = not set(labels_of(vertex.label)).isdisjoint(DATASET_LABELS)
    return (vertex.id,) if is_dataset and vertex.id in ids.value else ()
