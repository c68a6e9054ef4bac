"""Corrections of names that a merge resolves to other datasets than the graph does.

A rule, a default or a catalog resolves a name to a dataset. The graph stores the result in `aliases` and, per
DAG, in `resolved_names`. If a merge resolves the name to another dataset, or to itself again, one load
corrects the graph:

* If a rule replaces the name for every DAG, the vertex of that name is moved (`load.resolve_names`).
* Otherwise the DAG's own edges that the merge has at the new dataset are removed. Edges and tags of other
  DAGs stay unchanged.
* The name is removed from the vertex that had it as an alias, unless another DAG resolves it to that vertex
  too.

Names that the merge does not read stay unchanged.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Change
from lineage_merge.load.element_rows import dataset_of_end, job_of
from lineage_merge.load.graph_state import GraphState, StoredVertex
from lineage_merge.merge.alias_resolution import ALIAS, EVERYWHERE, OWN, IdentityRow
from lineage_merge.model.elements import decode, edge_id, encode

Kind = Literal["move", "edges", "remove", "ignore"]


class NameCorrection(NamedTuple):
    """A correction of a vertex (`id`).

    `move`: move it to `canonical_id`. `edges`: remove edges of the DAG that the merge has at `canonical_id`.
    `remove`: remove a `value` of a `property`. `ignore`: do not follow its alias `value`, because the merge
    resolves that name differently.
    """

    kind: Kind
    id: str
    canonical_id: str = ""
    property: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Renames:
    """All corrections, usually none."""

    changes: tuple[NameCorrection, ...] = ()

    def select_kind(self, kind: Kind) -> list[NameCorrection]:
        """Return the changes of one kind, in a stable order."""
        return [change for change in self.changes if change.kind == kind]


@dataclass(frozen=True, slots=True)
class StoredName:
    """A name of a stored vertex: an `alias`, and a value of `resolved_names`.

    `resolved`: "" if the alias comes from a source and not from the configuration. `elsewhere`: another DAG
    resolves, or may resolve, the name to the same vertex.
    """

    id: str
    alias: str
    resolved: str = ""
    elsewhere: bool = False


@dataclass(slots=True)
class Name:
    """A name of a dataset (the id of the vertex of that name), incoming and stored.

    `resolves_to`: the ids that the merge resolves it to, with the reasons (`merge.alias_resolution`).
    `in_merge`: the merge has a node of that id. `is_stored`, `is_tagged`: the graph has the vertex, with the
    DAG's tag.
    """

    id: str
    resolves_to: dict[str, set[str]] = field(default_factory=dict)
    stored: list[StoredName] = field(default_factory=list)
    in_merge: bool = False
    is_stored: bool = False
    is_tagged: bool = False

    def changes(self) -> Iterator[NameCorrection]:
        """Yield the corrections of the graph."""
        others = sorted(self.resolves_to.keys() - {self.id})
        reasons = {how for hows in self.resolves_to.values() for how in hows}
        if len(others) == len(self.resolves_to) == 1 and reasons == {EVERYWHERE} and not self.in_merge:
            if self.is_stored:
                yield NameCorrection("move", self.id, others[0])
        elif self.is_tagged:
            yield from (NameCorrection("edges", self.id, other) for other in others)
        for vertex in self.stored:
            yield from self._list_changes(vertex)

    def _list_changes(self, stored: StoredName) -> Iterator[NameCorrection]:
        # A location without a rule may still have a name from another source.
        targets = {target for target, hows in self.resolves_to.items() if stored.resolved or ALIAS in hows}
        is_own = bool(stored.resolved) and OWN in self.resolves_to.get(self.id, ())
        if is_own and not stored.elsewhere:
            yield NameCorrection("ignore", stored.id, value=stored.alias)
        if not targets or stored.id in targets:
            return
        yield from (NameCorrection("edges", stored.id, target) for target in sorted(targets))
        if stored.resolved:
            yield NameCorrection("remove", stored.id, property="resolved_names", value=stored.resolved)
        if not stored.elsewhere:
            yield NameCorrection("remove", stored.id, property="aliases", value=stored.alias)


def list_stored_names(
    identifier: str, resolved: list[str], aliases: list[str], shared: bool, environment: str, dag_name: str
) -> Iterator[tuple[str, StoredName]]:
    """Yield the names of a vertex of the DAG, each with the id of the vertex of that name.

    These are the DAG's `resolved_names`, and `aliases` that come from no DAG's configuration.
    """
    own = f"{encode(dag_name)}|"
    by_dag = [value.split("|", 1) for value in resolved if value.count("|") == 3]
    configured = {_alias(rest) for _, rest in by_dag}
    for value in resolved:
        if value.startswith(own) and value.count("|") == 3:
            rest = value.removeprefix(own)
            elsewhere = any(dag != encode(dag_name) and other == rest for dag, other in by_dag)
            name = f"{encode(environment)}|{rest.split('|', 1)[1]}"
            yield name, StoredName(identifier, _alias(rest), value, elsewhere)
    for alias in aliases:
        named = alias.rpartition(" (")[0]
        if alias not in configured and "|" in named:
            parts = map(encode, (environment, *named.split("|", 1)))
            yield "|".join(parts), StoredName(identifier, alias, elsewhere=shared)


def _alias(resolved: str) -> str:
    """Return the text in `aliases` for an encoded rule, namespace and name."""
    rule, namespace, name = map(decode, resolved.split("|"))
    return f"{namespace}|{name} ({rule})"


def find_renames(
    identities: Rows[IdentityRow], nodes: Rows[Row], existing: GraphState, environment: str, dag_name: str
) -> Renames:
    """Return the corrections that follow from the names of a merge."""
    resolved: Rows[tuple[str, _Fact]] = identities.map(lambda identity: (identity.alias_id, identity))
    datasets = nodes.filter(lambda node: bool(node.get("label") in DATASET_LABELS and node.get("id")))
    in_merge: Rows[tuple[str, _Fact]] = datasets.map(lambda node: (node["id"], True))
    stored = existing.vertices.flat_map(partial(_read_vertex, environment, dag_name))
    facts = resolved.union(in_merge, stored)
    changes = set(facts.group(itemgetter(0), _decide).collect())
    targets = {change.canonical_id for change in changes if change.kind == "move"}
    if targets:
        # A temporary dataset that was omitted from the merge cannot be the target of a move.
        shared = nodes.engine.share(targets)
        known = set(
            nodes.map(lambda node: node.get("id")).filter(lambda node_id: node_id in shared.value).collect()
        )
        changes = {change for change in changes if change.kind != "move" or change.canonical_id in known}
    return Renames(tuple(sorted(changes)))


# A fact about a name: what it resolves to, its stored names, its stored vertex, or that the merge has its
# node (True).
_Fact = IdentityRow | StoredName | StoredVertex | bool


def _read_vertex(environment: str, dag_name: str, vertex: StoredVertex) -> Iterator[tuple[str, _Fact]]:
    if vertex.label not in DATASET_LABELS:
        return
    yield vertex.id, vertex._replace(properties={})
    if vertex.tagged:
        resolved, aliases = (vertex.properties.get(name, []) for name in ("resolved_names", "aliases"))
        yield from list_stored_names(vertex.id, resolved, aliases, vertex.shared, environment, dag_name)


def _decide(identifier: str, facts: list[tuple[str, _Fact]]) -> Iterator[NameCorrection]:
    name = Name(identifier)
    for _, fact in facts:
        match fact:
            case IdentityRow():
                name.resolves_to.setdefault(fact.canonical_id, set()).add(fact.known_by)
            case StoredName():
                name.stored.append(fact)
            case StoredVertex():
                name.is_stored = True
                name.is_tagged = name.is_tagged or fact.tagged
            case _:
                name.in_merge = True
    return name.changes()


def find_replaced_edges(
    edges: Rows[Change], renames: Renames, environment: str, dag_name: str
) -> frozenset[str]:
    """Return the ids of unmatched edges that the merge has at the dataset that an end now resolves to.

    `edges`: as compared by `load.diff`.
    """
    canonical_ids: dict[str, set[str]] = {}
    for change in renames.select_kind("edges"):
        canonical_ids.setdefault(change.id, set()).add(change.canonical_id)
    if not canonical_ids:
        return frozenset()
    shared = edges.engine.share({dataset: sorted(ids) for dataset, ids in canonical_ids.items()})
    replacements = edges.flat_map(partial(_replacement_ids, shared, environment, dag_name))
    return frozenset(replacements.group(itemgetter(0), _list_replaced).collect())


def _replacement_ids(
    canonical_ids: Shared[Mapping[str, list[str]]], environment: str, dag_name: str, edge: Change
) -> Iterator[tuple[str, str | None]]:
    """Yield the id of an incoming edge; of an unmatched edge each id it may have now, with its stored id."""
    row = edge.row
    if edge.kind != "unmatched":
        if row.get("id"):
            yield row["id"], None
        return
    starts, ends = (_candidate_ends(canonical_ids.value, row, end) for end in ("from", "to"))
    for start, end in product(starts, ends):
        identifier = edge_id(environment, dag_name, job_of(row), start, row["label"], end)
        if identifier != row["id"]:
            yield identifier, row["id"]


def _candidate_ends(canonical_ids: Mapping[str, list[str]], edge: Row, end: str) -> list[str]:
    """Return an end of an edge (a dataset or column) and its equivalents at the canonical datasets."""
    dataset = dataset_of_end(edge, end)
    suffix = edge[end][len(dataset) :]
    return [edge[end], *(canonical + suffix for canonical in canonical_ids.get(dataset, ()))]


def _list_replaced(_id: str, replacements: list[tuple[str, str | None]]) -> Iterable[str]:
    replaced = {old for _, old in replacements if old}
    return replaced if any(old is None for _, old in replacements) else ()
