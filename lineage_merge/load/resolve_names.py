"""Resolves names: gives each dataset one id in the merge and in the stored graph.

A merge may know aliases of stored datasets, and the graph may store aliases of the merge's datasets.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import and_, itemgetter
from typing import NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS, Row, labels_of
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.element_rows import dataset_of, dataset_of_node, rename_edge
from lineage_merge.load.graph_state import AliasOf, DagReader, GraphState, StoredEdge, StoredVertex
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.renames import Renames, find_renames
from lineage_merge.model.elements import encode

# The canonical vertex keeps its own identity.
_IDENTITY = frozenset({"name", "namespace", "qualified_name", "location"})
# The format of the duplicate's files, for example of a temporary directory, does not apply to the canonical
# vertex.
NOT_MOVED = _IDENTITY | {"format"}


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
    canonical_ids |= {change.id: change.canonical_id for change in renames.select_kind("move")}
    stored_under_alias = {}
    if not _new_datasets(nodes, existing).is_empty():
        # A new dataset may be stored under another name. Names that the merge itself joins are resolved
        # already.
        ignored = frozenset((change.id, change.value) for change in renames.select_kind("ignore"))
        aliases = graph.read_aliases(engine)
        stored_aliases = resolve_stored_aliases(nodes, existing, aliases, ignored, environment)
        stored_under_alias = {
            alias_id: canonical
            for alias_id, canonical in stored_aliases.items()
            if alias_id not in canonical_ids
        }
    if stored_under_alias:
        new_ids = engine.share({alias_id: vertex.id for alias_id, vertex in stored_under_alias.items()})
        nodes = rename_nodes(nodes, engine.share(stored_under_alias)).cache()
        edges = rename_edges(edges, new_ids, environment, dag_name).cache()
        existing = graph.read_state(nodes.flat_map(node_id).union(alias_ids))
    moves = _find_duplicates(canonical_ids, existing)
    if moves:
        shared = engine.share(moves)
        existing = GraphState(
            remove_moved_vertices(existing.vertices, shared).cache(),
            move_edges(existing.edges, shared, environment, dag_name).cache(),
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


def _find_duplicates(canonical_ids: Mapping[str, str], existing: GraphState) -> dict[str, str]:
    """Return the canonical ids of those alias ids for which the graph has a dataset."""
    if not canonical_ids:
        return {}
    alias_ids = existing.vertices.engine.share(frozenset(canonical_ids))
    aliases_stored = existing.vertices.flat_map(partial(_dataset_if_in, alias_ids)).collect()
    return {alias_id: canonical_ids[alias_id] for alias_id in sorted(aliases_stored)}


def _dataset_if_in(ids: Shared[frozenset[str]], vertex: StoredVertex) -> Iterable[str]:
    is_dataset = not set(labels_of(vertex.label)).isdisjoint(DATASET_LABELS)
    return (vertex.id,) if is_dataset and vertex.id in ids.value else ()


# The functions below apply the moves to the elements that were read: a merge is compared with the graph as it
# will be after the moves.


class CanonicalVertex(NamedTuple):
    """The id of the canonical vertex of a name, and its label if known."""

    id: str
    label: str = ""


NewIds = Shared[Mapping[str, str]]


def move_edges(edges: Rows[StoredEdge], new_ids: NewIds, environment: str, dag_name: str) -> Rows[StoredEdge]:
    """Return the stored edges as they will be after the moves."""
    moved = edges.flat_map(partial(_move_edge, new_ids, environment, dag_name))
    return moved.group(lambda edge: (edge.id, edge.interim), _first_edge)


def _move_edge(new_ids: NewIds, environment: str, dag_name: str, edge: StoredEdge) -> Iterable[StoredEdge]:
    row = {**edge.properties, "id": edge.id, "label": edge.label, "from": edge.from_id, "to": edge.to_id}
    moved = rename_edge(row, new_ids.value, environment, dag_name)
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
    return nodes.map(partial(_rename_node, canonical)).group(lambda node: str(node[1]["id"]), _combine_node)


def _rename_node(canonical: Shared[Mapping[str, CanonicalVertex]], node: Row) -> tuple[bool, Row]:
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


def _combine_node(_id: str, nodes: list[tuple[bool, Row]]) -> Iterable[Row]:
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
    renamed = edges.map(lambda edge: rename_edge(edge, new_ids.value, environment, dag_name))
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
    identifier = node.get("id") or ""  # a row without one is reported when it is written
    if node.get("label") in DATASET_LABELS and identifier.startswith(f"{node.get('environment')}|"):
        yield identifier, identifier


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
