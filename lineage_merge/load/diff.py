"""Comparison of a merge with the stored graph. Pure.

Each node and edge of the merge becomes a `Change`: its kind, and the names of the properties that differ and
are to be written.

An edge belongs to one job of one DAG, so its merge owns every property that `graph_format.schema` declares: a
property that the merge no longer has is removed (`cleared`). The same applies to the properties of a job or
assertion that describe its newest run, if the merge describes a run. A dataset and its columns are shared by
all sources and DAGs that know them: properties unknown to the merge stay unchanged. Undeclared properties
always stay unchanged.

Sets grow: values of a set that the merge does not have stay. The exception are `REPLACED_SETS`, such as tags,
of a vertex that only this DAG has: if the merge knows the set, even as empty, its other values are dropped
(`dropped`), unless a document was rejected, which may contain them. The same applies to `PROJECT_FACTS`, such
as a deprecation date, of what a dbt project describes.

If several DAGs have different values for a property of a dataset, the DAG that builds the dataset takes
precedence (one of its jobs writes it, or its catalog knows the location). If none of them builds it, the
greatest value stays, so that two DAGs never overwrite each other's values. Reads are counted of the same
statements by all DAGs: the last merge counts, and `last_read_at` only grows.

Most elements of most merges are new or unchanged (`load.element_rows`); only the others are compared value
by value.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from operator import itemgetter
from typing import Any, Literal, NamedTuple

from lineage_merge.graph_format.schema import (
    COUNTED,
    EDGE_KEYS,
    EDGE_PROPERTIES,
    LONGS,
    NODE_KEYS,
    NODE_PROPERTIES,
    PROJECT_FACTS,
    REPLACED_SETS,
    RUN_LABELS,
    SETS,
    TABLE_FORMATS,
    Row,
    labels_of,
)
from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load import element_rows
from lineage_merge.load.element_rows import dataset_of, dataset_of_node
from lineage_merge.load.graph_state import LOADER_LABELS, GraphState, StoredEdge, StoredVertex
from lineage_merge.model.times import is_later

# `stored_is_newer`: the graph has a later run of this job or assertion; it and its edges stay unchanged.
# `unmatched`: a vertex with the DAG's tag, or an edge of the DAG, that the merge does not have.
ChangeKind = Literal["new", "changed", "label", "stored_is_newer", "unchanged", "unmatched"]
# Changes that cause no write.
UNWRITTEN = ("unchanged", "stored_is_newer", "unmatched")

Precedence = Literal["incoming", "stored", "tie"]

_SINGLES = tuple(item.name for item in NODE_PROPERTIES if not item.many)
_SETS = tuple(item.name for item in NODE_PROPERTIES if item.many)
# A change of only these properties does not cause a write.
_IGNORED_IF_ALONE = frozenset({"sequence"})
# Properties of the newest run of a job or assertion, besides `last_run_at`.
_RUN_PROPERTIES = ("last_run_id", "duration_ms", "rows_written", "status", "failures", "max_loaded_at")

# Properties of unwritten elements that later stages read.
_NODE_SUMMARY = (*NODE_KEYS, "name", "job_type", "job_name", "project", "described_at", "last_run_at")
_EDGE_SUMMARY = (*EDGE_KEYS, "job_type", "job_name")


class Change(NamedTuple):
    """An element of the merge, or of the graph only, and how the two differ.

    `row`: the known properties; of an unwritten element only its keys and what later stages read. Its label
    is the new one, `old_label` that of the stored vertex. `to_write`: names of the properties to write (None:
    all). `cleared`: names of the properties to remove. `dropped`: values of sets to remove. The row of an
    `unmatched` vertex has `id`, `label` and, for a job or assertion, `project` prefixed with the job type,
    because dbt and SQL projects may share a name.
    """

    kind: ChangeKind
    row: Row
    to_write: tuple[str, ...] | None = None
    cleared: tuple[str, ...] = ()
    old_label: str | None = None
    others: tuple[str, ...] = ()
    dropped: tuple[tuple[str, tuple[str, ...]], ...] = ()

    @property
    def is_written(self) -> bool:
        """Return whether the element has to be written."""
        return self.kind not in UNWRITTEN


def get_first_seen(element: Change, now: int) -> int | None:
    """Return the value of `first_seen` of an element that the load creates."""
    return now if element.kind == "new" else None


def compare_nodes(
    nodes: Rows[Row], edges: Rows[Row], existing: GraphState, *, drops_values: bool = True
) -> Rows[Change]:
    """Compare the nodes of a merge with the vertices of the graph; other vertices of the DAG are `unmatched`.

    The `writes` edges among `edges` determine which datasets the merge builds. `drops_values`: the merge
    knows all values of the sets that it has.
    """
    items: Rows[tuple[str, Row | StoredVertex | None]] = nodes.map(lambda node: (dataset_of_node(node), node))
    writes = edges.filter(lambda edge: bool(edge.get("label") == "writes" and edge.get("to")))
    items = items.union(
        existing.vertices.map(lambda vertex: (dataset_of(vertex.id, vertex.label == "column"), vertex)),
        writes.map(lambda edge: (edge["to"], None)),
    )
    return items.group(itemgetter(0), partial(_compare_dataset, drops_values))


def _compare_dataset(
    drops_values: bool, _dataset: str, items: list[tuple[str, Row | StoredVertex | None]]
) -> Iterator[Change]:
    builds = any(item is None for _, item in items)
    stored = {item.id: item for _, item in items if isinstance(item, StoredVertex)}
    known: set[str] = set()
    for _, node in items:
        if isinstance(node, dict):
            identifier = node.get("id") or ""
            known.add(identifier)
            yield compare_node(node, stored.get(identifier), builds, drops_values=drops_values)
    for vertex in stored.values():
        if vertex.tagged and vertex.label not in LOADER_LABELS and vertex.id not in known:
            yield Change("unmatched", _make_unmatched_row(vertex), others=vertex.others)


def _make_unmatched_row(vertex: StoredVertex) -> Row:
    row: Row = {"id": vertex.id, "label": vertex.label}
    if "project" in vertex.properties:
        types = [str(vertex.properties["job_type"])] if "job_type" in vertex.properties else []
        row["project"] = " ".join([*types, str(vertex.properties["project"])])
    return row


def compare_node(
    node: Row, stored: StoredVertex | None, builds: bool, *, drops_values: bool = True
) -> Change:
    """Compare a node with the stored vertex of its id; `builds`: the merge has a job that writes it."""
    if stored is None:
        return Change("new", node)
    values = element_rows.node_values(node)
    if stored.tagged and stored.label == node["label"] and stored.properties == values:
        return Change("unchanged", _subset(node, _NODE_SUMMARY), old_label=stored.label, others=stored.others)
    change, to_write, cleared, label = node_change({**values, "label": node["label"]}, stored, builds)
    dropped = tuple(_list_dropped(node, stored)) if drops_values and change != "stored_is_newer" else ()
    if dropped and change == "unchanged":
        change = "changed"
    row = {**(_subset(node, _NODE_SUMMARY) if change in UNWRITTEN else node), "label": label}
    return Change(change, row, tuple(to_write), tuple(cleared), stored.label, stored.others, dropped)


def _list_dropped(node: Row, stored: StoredVertex) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the stored values that the merge knows without them: of sets, and facts of a dbt project."""
    if stored.shared or not stored.tagged:
        yield from _list_replaced(node, stored, COUNTED)
        return
    if node.get("constraints") is not None:  # a project describes it
        for name in PROJECT_FACTS:
            if node.get(name) is None and (value := stored.properties.get(name)):
                yield name, (str(value),)
    yield from _list_replaced(node, stored, REPLACED_SETS)


def _list_replaced(
    node: Row, stored: StoredVertex, names: Iterable[str]
) -> Iterator[tuple[str, tuple[str, ...]]]:
    for name in names:
        if name in SETS and node.get(name) is not None and (stored_values := stored.properties.get(name)):
            values = sorted(set(stored_values) - set(map(str, node[name])))
            if values:
                yield name, tuple(values)


def keep_node(node: Row) -> Change:
    """Return the comparison of a node that is identical in the graph."""
    return Change("unchanged", _subset(node, _NODE_SUMMARY))


def keep_edge(edge: Row) -> Change:
    """Return the comparison of an edge that is identical in the graph."""
    return Change("unchanged", _subset(edge, _EDGE_SUMMARY))


def compare_edges(edges: Rows[Row], existing: GraphState) -> Rows[Change]:
    """Compare the edges of a merge with those of the graph; edges only in the graph are `unmatched`."""
    items: Rows[tuple[str, Row | StoredEdge]] = edges.map(lambda edge: (edge.get("id") or "", edge))
    return items.union(existing.edges.map(lambda edge: (edge.id, edge))).group(itemgetter(0), _compare_edge)


def _compare_edge(_id: str, items: list[tuple[str, Row | StoredEdge]]) -> Iterator[Change]:
    candidates = [item for _, item in items if isinstance(item, StoredEdge)]
    # An edge with an interim id is written completely: the graph may have none with its final id.
    stored = next((edge for edge in candidates if edge.interim), candidates[0] if candidates else None)
    is_in_merge = False
    for _, edge in items:
        if isinstance(edge, dict):
            is_in_merge = True
            yield compare_edge(edge, stored)
    if stored and not is_in_merge:
        yield leave_edge(stored)


def compare_edge(edge: Row, stored: StoredEdge | None) -> Change:
    """Compare an edge with the stored edge of its id."""
    if stored is None:
        return Change("new", edge)
    if stored.interim:
        return Change("changed", edge)
    values = element_rows.edge_values(edge)
    if stored.properties == values:
        return Change("unchanged", _subset(edge, _EDGE_SUMMARY))
    change, to_write, cleared = edge_change(values, stored.properties)
    row = _subset(edge, _EDGE_SUMMARY) if change in UNWRITTEN else edge
    return Change(change, row, tuple(to_write), tuple(cleared))


def leave_edge(stored: StoredEdge) -> Change:
    """Return the comparison of a stored edge that the merge does not have."""
    row = {"id": stored.id, "label": stored.label, "from": stored.from_id, "to": stored.to_id}
    return Change("unmatched", row | _subset(stored.properties, ("job_type", "job_name", "undeclared")))


def _subset(row: Mapping[str, Any], names: Iterable[str]) -> Row:
    return {name: row[name] for name in names if row.get(name) is not None}


def node_change(
    node: Mapping[str, Any], stored: StoredVertex, builds: bool
) -> tuple[ChangeKind, list[str], list[str], str]:
    """Compare a node with its stored vertex. `builds`: the merge has a job that writes it.

    Returns the change, the names of the properties to write and to remove, and the new label.
    """
    known = [name for name in (*_SINGLES, *_SETS) if name in node]
    is_job = node["label"] in RUN_LABELS
    stored_run_is_newer = is_later(_number(stored, "last_run_at"), node.get("last_run_at", 0))
    if is_job and "described_at" in node:
        # A manifest may be newer than the stored one although its run results are older or missing.
        if is_later(_number(stored, "described_at"), node["described_at"]):
            return "stored_is_newer", [], [], node["label"]
        if stored_run_is_newer:
            known = [name for name in known if name not in (*_RUN_PROPERTIES, "last_run_at")]
    elif is_job and stored_run_is_newer:
        return "stored_is_newer", [], [], node["label"]
    precedence = _precedence(node, stored, builds)
    to_write = [name for name in known if _differs(name, node[name], stored, precedence)]
    cleared: list[str] = []
    if is_job and "last_run_at" in node and not stored_run_is_newer:
        of_earlier_run = (*_RUN_PROPERTIES, "framework")
        cleared = [name for name in of_earlier_run if name not in node and name in stored.properties]
    order = "described_at" if "described_at" in node else "last_run_at"
    if is_job and to_write and order in node and order not in to_write:
        to_write.append(order)  # lets the upsert reject older values (`VertexUpsert.unless_newer`)
    label = _label(node["label"], labels_of(stored.label), precedence)
    if label != stored.label:
        return "label", to_write, cleared, label
    tagged = stored.tagged and "environment" in stored.properties
    return ("unchanged" if tagged and not to_write and not cleared else "changed"), to_write, cleared, label


def edge_change(
    edge: Mapping[str, Any], stored: Mapping[str, Any]
) -> tuple[ChangeKind, list[str], list[str]]:
    """Compare the properties of an edge; returns the change, and the names to write and to remove."""
    known = [item.name for item in EDGE_PROPERTIES if item.name in edge]
    to_write = [name for name in known if name not in stored or str(stored[name]) != str(edge[name])]
    cleared = [item.name for item in EDGE_PROPERTIES if item.name not in edge and item.name in stored]
    if _IGNORED_IF_ALONE.issuperset([*to_write, *cleared]):
        return "unchanged", to_write, []
    return "changed", to_write, cleared


def _label(incoming: str, stored: tuple[str, ...], precedence: Precedence) -> str:
    """Return the one label that a vertex, which may have several, is to have."""
    if precedence == "incoming":
        return incoming
    if precedence == "tie":
        return max(incoming, *stored)
    return max([value for value in stored if value != incoming] or stored)


def _precedence(node: Mapping[str, Any], stored: StoredVertex, builds: bool) -> Precedence:
    """Return which side's values take precedence."""
    if not stored.shared or node["label"] in (*RUN_LABELS, "operation", "query_log"):
        return "incoming"
    if node["label"] == "column":
        incoming_builds, stored_builds = builds, stored.built_elsewhere
    else:
        # The label `file` is only derived from the path; a catalog knows more.
        incoming_builds = (builds and node["label"] != "file") or "location" in node
        stored_builds = (stored.built_elsewhere and stored.label != "file") or "location" in stored.properties
    if incoming_builds:
        return "incoming"
    return "stored" if stored_builds else "tie"


def _differs(name: str, value: Any, stored: StoredVertex, precedence: Precedence) -> bool:
    known = stored.properties.get(name)
    if name in _SETS:
        return not set(map(str, value)) <= set(known or ())
    if known is None:
        return True
    old = int(known) if name in LONGS else str(known)
    if name == "last_read_at":
        return bool(value != old) and not is_later(int(old), value)
    if name in COUNTED:
        return bool(value != old)
    if name == "format" and stored.shared and (old in TABLE_FORMATS) != (value in TABLE_FORMATS):
        return value in TABLE_FORMATS  # another DAG's client may only see the files
    return bool(value != old if precedence == "incoming" else precedence == "tie" and value > old)


def _number(stored: StoredVertex, name: str) -> int:
    return int(stored.properties.get(name) or 0)
