"""Compares a merge with what the graph holds. No connection.

Each node and edge of the merge gets a `change` and the names of the properties to write, which are those that
differ.

An edge belongs to one job of one DAG, so each property that `graph_format.schema` declares is its merge's:
one that the merge asserts no longer is removed (`cleared`). Of a job's vertex that holds for what describes
its newest run, where the merge describes a run. A dataset and its columns belong to every source and DAG that
knows them: there a property of which the merge knows nothing is left alone, and so is, everywhere, one that
is not declared.

A dataset may be known to several DAGs that tell its properties differently. Whoever builds it
(a job that writes it, a catalog that knows where it lies) has the word. Where nobody who tells
builds it, the greatest value stays, so that two DAGs never rewrite each other's values.

Most elements of most merges are new, or equal in the graph (`load.property_values`); only the others are
compared value by value.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from lineage_merge.graph_format.labels import labels_of
from lineage_merge.graph_format.schema import (
    EDGE_KEYS,
    EDGE_PROPERTIES,
    LONGS,
    NODE_KEYS,
    NODE_PROPERTIES,
    Row,
)
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import property_values
from lineage_merge.load.graph_state import GraphState, StoredEdge, StoredVertex, dataset_of

# `newer`: a job that the graph knows from a later run; it and its edges are left as they are.
# `absent`: an edge of which the merge says nothing; `unmatched`: a vertex with the DAG's tag, likewise.
Change = Literal["new", "changed", "label", "newer", "same", "absent", "unmatched"]
# Changes that nothing is written for.
UNWRITTEN = ("same", "newer", "absent", "unmatched")

Word = Literal["mine", "theirs", "nobody's"]

_SINGLES = tuple(item.name for item in NODE_PROPERTIES if not item.many)
_SETS = tuple(item.name for item in NODE_PROPERTIES if item.many)
# A change of these alone is no reason to write an edge.
_NO_REASON = frozenset({"sequence"})
# What describes the newest run of a job, together with `last_run_at`.
_OF_RUN = ("last_run_id", "duration_ms", "rows_written", "status")
_NO_DATASETS = frozenset({"column", "job", "operation"})

# What later steps read of elements for which nothing is written.
_OF_NODES = (*NODE_KEYS, "name", "job_type", "job_name", "project", "described_at", "last_run_at")
_OF_EDGES = (*EDGE_KEYS, "job_type", "job_name")
# Vertices that no merge has.
_OWN_LABELS = ("merge_run", "merge_state")


class Compared(NamedTuple):
    """A node or edge of the merge, or of the graph alone, and how the two differ.

    `row`: what is known of it, of one that is not written only its keys and what later steps read; its label
    is the one that it shall have, `old_label` the one that the graph has of a vertex. `to_write`: the names
    of the properties to write (None: all), `cleared`: of those to remove. The row of an `unmatched` vertex
    has `id`, `label` and, of a job, `project` with the job's type, since dbt and SQL files may call theirs
    alike.
    """

    change: Change
    row: Row
    to_write: tuple[str, ...] | None = None
    cleared: tuple[str, ...] = ()
    old_label: str | None = None
    others: tuple[str, ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether there is something to write."""
        return self.change not in UNWRITTEN


@dataclass(frozen=True, slots=True)
class Held:
    """What the graph holds of a vertex: values are texts.

    `tagged` by the DAG; `shared` with another.
    """

    label: str
    tagged: bool
    shared: bool
    properties: Mapping[str, list[str]] = field(default_factory=dict)
    built_elsewhere: bool = False


def compare_nodes(nodes: Rows[Row], edges: Rows[Row], existing: GraphState) -> Rows[Compared]:
    """Compare the nodes of a merge with the vertices of the graph; others of the DAG are `unmatched`.

    Of the merge's `edges` those count that say which datasets it builds.
    """
    items: Rows[tuple[str, Row | StoredVertex | None]] = nodes.map(_node_of_dataset)
    grouped = items.union(existing.vertices.map(_vertex_of_dataset), edges.flat_map(_built_dataset))
    return grouped.group(itemgetter(0), _compare_dataset)


def _node_of_dataset(node: Row) -> tuple[str, Row | StoredVertex | None]:
    return dataset_of(node.get("id") or "", node.get("label") == "column"), node


def _vertex_of_dataset(vertex: StoredVertex) -> tuple[str, Row | StoredVertex | None]:
    return dataset_of(vertex.id, vertex.label == "column"), vertex


def _built_dataset(edge: Row) -> Iterable[tuple[str, Row | StoredVertex | None]]:
    return ((edge["to"], None),) if edge.get("label") == "writes" and edge.get("to") else ()


def _compare_dataset(_dataset: str, items: list[tuple[str, Row | StoredVertex | None]]) -> Iterator[Compared]:
    builds = any(item is None for _, item in items)
    stored = {item.id: item for _, item in items if isinstance(item, StoredVertex)}
    known: set[str] = set()
    for _, node in items:
        if isinstance(node, dict):
            identifier = node.get("id") or ""
            known.add(identifier)
            yield compared_node(node, stored.get(identifier), builds)
    for vertex in stored.values():
        if vertex.tagged and vertex.label not in _OWN_LABELS and vertex.id not in known:
            yield Compared("unmatched", _unmatched(vertex), others=vertex.others)


def _unmatched(vertex: StoredVertex) -> Row:
    row: Row = {"id": vertex.id, "label": vertex.label}
    if "project" in vertex.held:
        types = [str(vertex.held["job_type"])] if "job_type" in vertex.held else []
        row["project"] = " ".join([*types, str(vertex.held["project"])])
    return row


def compared_node(node: Row, stored: StoredVertex | None, builds: bool) -> Compared:
    """Compare a node with the vertex of its id; `builds`: the merge has a job that writes it."""
    if stored is None:
        return Compared("new", node)
    values = property_values.node_values(node)
    if stored.tagged and stored.label == node["label"] and stored.held == values:
        return Compared("same", _part(node, _OF_NODES), old_label=stored.label, others=stored.others)
    held = Held(stored.label, stored.tagged, stored.shared, _texts(stored.held), stored.built_elsewhere)
    change, to_write, cleared, label = node_change({**values, "label": node["label"]}, held, builds)
    row = {**(_part(node, _OF_NODES) if change in UNWRITTEN else node), "label": label}
    return Compared(change, row, tuple(to_write), tuple(cleared), stored.label, stored.others)


def unchanged_node(node: Row) -> Compared:
    """Return a node that the graph has as the merge has it."""
    return Compared("same", _part(node, _OF_NODES))


def unchanged_edge(edge: Row) -> Compared:
    """Return an edge that the graph has as the merge has it."""
    return Compared("same", _part(edge, _OF_EDGES))


def compare_edges(edges: Rows[Row], existing: GraphState) -> Rows[Compared]:
    """Compare the edges of a merge with those of the graph; those that only the graph has are `absent`."""
    items: Rows[tuple[str, Row | StoredEdge]] = edges.map(_edge_by_id)
    return items.union(existing.edges.map(_stored_by_id)).group(itemgetter(0), _compare_edge)


def _edge_by_id(edge: Row) -> tuple[str, Row | StoredEdge]:
    return edge.get("id") or "", edge


def _stored_by_id(edge: StoredEdge) -> tuple[str, Row | StoredEdge]:
    return edge.id, edge


def _compare_edge(_id: str, items: list[tuple[str, Row | StoredEdge]]) -> Iterator[Compared]:
    stored = [item for _, item in items if isinstance(item, StoredEdge)]
    # One whose id was not corrected is written whole: the graph may have nothing under its own id.
    there = next((edge for edge in stored if edge.interim), stored[0] if stored else None)
    is_known = False
    for _, edge in items:
        if isinstance(edge, dict):
            is_known = True
            yield compared_edge(edge, there)
    if there and not is_known:
        yield absent_edge(there)


def compared_edge(edge: Row, stored: StoredEdge | None) -> Compared:
    """Compare an edge with that of the graph of its id."""
    if stored is None:
        return Compared("new", edge)
    if stored.interim:
        return Compared("changed", edge)
    values = property_values.edge_values(edge)
    if stored.held == values:
        return Compared("same", _part(edge, _OF_EDGES))
    change, to_write, cleared = edge_change(values, _texts(stored.held))
    row = _part(edge, _OF_EDGES) if change in UNWRITTEN else edge
    return Compared(change, row, tuple(to_write), tuple(cleared))


def absent_edge(stored: StoredEdge) -> Compared:
    """Return an edge that the merge does not have."""
    row = {"id": stored.id, "label": stored.label, "from": stored.from_id, "to": stored.to_id}
    return Compared("absent", row | _part(stored.held, ("job_type", "job_name")))


def _part(row: Mapping[str, Any], names: Iterable[str]) -> Row:
    return {name: row[name] for name in names if row.get(name) is not None}


def node_change(
    node: Mapping[str, Any], held: Held, builds: bool
) -> tuple[Change, list[str], list[str], str]:
    """Return how a node of the merge, of which `node` is what is known, differs: the change, what to write,
    what to remove, and the label that the vertex shall have. `builds`: the merge has a job that writes it.
    """
    known = [name for name in (*_SINGLES, *_SETS) if name in node]
    is_job = node["label"] == "job"
    ran_since = _number(held, "last_run_at") > node.get("last_run_at", 0)
    if is_job and "described_at" in node:
        # A manifest may be newer than the graph's and its run results, if there are any, older.
        if _number(held, "described_at") > node["described_at"]:
            return "newer", [], [], node["label"]
        if ran_since:
            known = [name for name in known if name not in (*_OF_RUN, "last_run_at")]
    elif is_job and ran_since:
        return "newer", [], [], node["label"]
    word = _word(node, held, builds)
    told = [name for name in known if _differs(name, node[name], held, word)]
    cleared: list[str] = []
    if is_job and "last_run_at" in node and not ran_since:
        of_earlier = (*_OF_RUN, "framework")
        cleared = [name for name in of_earlier if name not in node and name in held.properties]
    order = "described_at" if "described_at" in node else "last_run_at"
    if is_job and told and order in node and order not in told:
        told.append(order)  # with it the graph itself refuses to go back in time
    label = _label(node["label"], labels_of(held.label), word)
    if label != held.label:
        return "label", told, cleared, label
    tagged = held.tagged and "environment" in held.properties
    return ("same" if tagged and not told and not cleared else "changed"), told, cleared, label


def edge_change(
    edge: Mapping[str, Any], held: Mapping[str, list[str]]
) -> tuple[Change, list[str], list[str]]:
    """How what is known of an edge of the merge differs: the change, what to write, and what to remove."""
    known = [item.name for item in EDGE_PROPERTIES if item.name in edge]
    told = [name for name in known if held.get(name) != [str(edge[name])]]
    cleared = [item.name for item in EDGE_PROPERTIES if item.name not in edge and item.name in held]
    if _NO_REASON.issuperset([*told, *cleared]):
        return "same", told, []
    return "changed", told, cleared


def _label(incoming: str, stored: tuple[str, ...], word: Word) -> str:
    """Return the one label of a vertex that has one, or several."""
    if word == "mine":
        return incoming
    if word == "nobody's":
        return max(incoming, *stored)
    return max([each for each in stored if each != incoming] or stored)


def _word(node: Mapping[str, Any], held: Held, builds: bool) -> Word:
    """Whose word counts."""
    if not held.shared or node["label"] in ("job", "operation"):
        return "mine"
    if node["label"] == "column":
        mine, theirs = builds, held.built_elsewhere
    else:
        # That a path is a file is only what the path looks like; a catalog knows more.
        mine = (builds and node["label"] != "file") or "location" in node
        theirs = (held.built_elsewhere and held.label != "file") or "location" in held.properties
    if mine:
        return "mine"
    return "theirs" if theirs else "nobody's"


def _differs(name: str, value: Any, held: Held, word: Word) -> bool:
    there = held.properties.get(name)
    if name in _SETS:
        return not set(map(str, value)) <= set(there or ())
    if not there:
        return True
    old = int(there[0]) if name in LONGS else there[0]
    return bool(value != old if word == "mine" else word == "nobody's" and value > old)


def _number(held: Held, name: str) -> int:
    there = held.properties.get(name)
    return int(there[0]) if there else 0


def _texts(held: Row) -> dict[str, list[str]]:
    """Row as text, whatever their type and cardinality: what is compared is whether they differ."""
    return {
        name: list(map(str, value)) if isinstance(value, list) else [str(value)]
        for name, value in held.items()
    }
