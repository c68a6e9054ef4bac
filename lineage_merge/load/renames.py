"""Names that a merge resolves to other datasets than the graph, as the configuration or a catalog changed.

A rule, a default or a catalog resolves a name to a dataset, and the graph keeps which (`aliases`, and in
`resolved_names` for which DAG). A merge that resolves the name to another dataset, or to itself again,
corrects that in one load:

* Where a rule replaces a name for every DAG, the vertex of that name is moved (`load.vertex_merge`).
* Otherwise the DAG's own edges are removed that the merge has at the new dataset: they are the same facts.
  Edges and tags of other DAGs stay unchanged.
* The name is removed from the vertex that had it as an alias, unless another DAG asserts it too.

A name that the merge does not read stays resolved as it was.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from operator import itemgetter
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Compared
from lineage_merge.load.graph_state import GraphState, StoredVertex, dataset_of_end
from lineage_merge.merge.resolved_names import ALIAS, EVERYWHERE, OWN, IdentityRow
from lineage_merge.model.elements import JobKey, decode, edge_id, encode

Kind = Literal["move", "edges", "remove", "ignore"]


class Change(NamedTuple):
    """What is to be done about a vertex (`id`).

    `move`: it is moved to `means`. `edges`: edges of the DAG go that the merge has at `means`. `remove`: a
    `value` of a `property`. `ignore`: an alias (`value`) of it says nothing of a name that this merge knows.
    """

    kind: Kind
    id: str
    means: str | None = None
    property: str | None = None
    value: str | None = None


@dataclass(frozen=True, slots=True)
class Renames:
    """The changes: usually none."""

    changes: tuple[Change, ...] = ()

    def of_kind(self, kind: Kind) -> list[Change]:
        """The changes of one kind, in an order that is always the same."""
        return [change for change in self.changes if change.kind == kind]


@dataclass(frozen=True, slots=True)
class Stored:
    """A name that the graph has at a vertex: as an `alias`, and as a value of `resolved_names`.

    `resolved` is "" where a source knows the alias, not the configuration. `elsewhere`: another DAG says the
    same, or may.
    """

    id: str
    alias: str
    resolved: str = ""
    elsewhere: bool = False


@dataclass(slots=True)
class Name:
    """All that is known of one name of a dataset, which is the id of its own vertex.

    `means`: the ids that the merge resolves it to, with how it knows (`merge.resolved_names`). `in_merge`:
    the merge has a node of that id. `is_stored`, `is_tagged`: so has the graph, and with the DAG's tag.
    """

    id: str
    means: dict[str, set[str]] = field(default_factory=dict)
    stored: list[Stored] = field(default_factory=list)
    in_merge: bool = False
    is_stored: bool = False
    is_tagged: bool = False

    def changes(self) -> Iterator[Change]:
        """What follows for the graph."""
        others = sorted(self.means.keys() - {self.id})
        known = {how for hows in self.means.values() for how in hows}
        if len(others) == len(self.means) == 1 and known == {EVERYWHERE} and not self.in_merge:
            if self.is_stored:
                yield Change("move", self.id, others[0])
        elif self.is_tagged:
            yield from (Change("edges", self.id, each) for each in others)
        for each in self.stored:
            yield from self._of_stored(each)

    def _of_stored(self, stored: Stored) -> Iterator[Change]:
        # A location that no rule knows may still have a name that another source knows.
        means = {each for each, hows in self.means.items() if stored.resolved or ALIAS in hows}
        is_own = bool(stored.resolved) and OWN in self.means.get(self.id, ())
        if is_own and not stored.elsewhere:
            yield Change("ignore", stored.id, value=stored.alias)
        if not means or stored.id in means:
            return
        yield from (Change("edges", stored.id, each) for each in sorted(means))
        if stored.resolved:
            yield Change("remove", stored.id, property="resolved_names", value=stored.resolved)
        if not stored.elsewhere:
            yield Change("remove", stored.id, property="aliases", value=stored.alias)


def stored_names(
    identifier: str, resolved: list[str], aliases: list[str], shared: bool, environment: str, dag_name: str
) -> Iterator[tuple[str, Stored]]:
    """Yield the names that a vertex of the DAG holds, each with the id of its own vertex.

    Of `resolved_names` those of the DAG; of `aliases` those that no DAG's configuration is known for.
    """
    own = f"{encode(dag_name)}|"
    by_dag = [value.split("|", 1) for value in resolved if value.count("|") == 3]
    configured = {_alias(rest) for _, rest in by_dag}
    for value in resolved:
        if value.startswith(own) and value.count("|") == 3:
            rest = value.removeprefix(own)
            elsewhere = any(dag != encode(dag_name) and other == rest for dag, other in by_dag)
            name = f"{encode(environment)}|{rest.split('|', 1)[1]}"
            yield name, Stored(identifier, _alias(rest), value, elsewhere)
    for alias in aliases:
        named = alias.rpartition(" (")[0]
        if alias not in configured and "|" in named:
            parts = map(encode, (environment, *named.split("|", 1)))
            yield "|".join(parts), Stored(identifier, alias, elsewhere=shared)


def _alias(resolved: str) -> str:
    """`aliases`' text of a rule, a namespace and a name."""
    rule, namespace, name = map(decode, resolved.split("|"))
    return f"{namespace}|{name} ({rule})"


def find_renames(
    identities: Rows[IdentityRow],
    nodes: Rows[Row],
    existing: GraphState,
    environment: str,
    dag_name: str,
) -> Renames:
    """Return the changes that follow from the names of a merge."""
    resolved: Rows[tuple[str, _Fact]] = identities.map(_means)
    facts = resolved.union(
        nodes.flat_map(_in_merge), existing.vertices.flat_map(partial(_of_vertex, environment, dag_name))
    )
    changes = set(facts.group(itemgetter(0), _decide).collect())
    targets = {change.means or "" for change in changes if change.kind == "move"}
    if targets:
        # A dataset that was left out as temporary takes nothing over.
        wanted = nodes.engine.share(targets)
        known = set(nodes.flat_map(partial(_id_if_wanted, wanted)).collect())
        changes = {change for change in changes if change.kind != "move" or change.means in known}
    return Renames(tuple(sorted(changes, key=_order)))


# What is known of a name: what it resolves to, what the graph has of it, whether the merge has a node of it
# (True), whether the graph has (a vertex's tag).
_Fact = IdentityRow | Stored | StoredVertex | bool


def _means(identity: IdentityRow) -> tuple[str, _Fact]:
    return identity.alias_id, identity


def _in_merge(node: Row) -> Iterable[tuple[str, _Fact]]:
    return ((node["id"], True),) if node.get("label") in DATASET_LABELS and node.get("id") else ()


def _of_vertex(environment: str, dag_name: str, vertex: StoredVertex) -> Iterator[tuple[str, _Fact]]:
    if vertex.label not in DATASET_LABELS:
        return
    yield vertex.id, vertex._replace(held={})
    if vertex.tagged:
        resolved, aliases = (vertex.held.get(name, []) for name in ("resolved_names", "aliases"))
        yield from stored_names(vertex.id, resolved, aliases, vertex.shared, environment, dag_name)


def _decide(identifier: str, facts: list[tuple[str, _Fact]]) -> Iterator[Change]:
    name = Name(identifier)
    for _, fact in facts:
        match fact:
            case IdentityRow():
                name.means.setdefault(fact.canonical_id, set()).add(fact.known_by)
            case Stored():
                name.stored.append(fact)
            case StoredVertex():
                name.is_stored = True
                name.is_tagged = name.is_tagged or fact.tagged
            case _:
                name.in_merge = True
    return name.changes()


def _id_if_wanted(wanted: Shared[set[str]], node: Row) -> Iterable[str]:
    return (node["id"],) if node.get("id") in wanted.value else ()


def _order(change: Change) -> tuple[str, ...]:
    return tuple(value or "" for value in change)


def replaced_edges(
    edges: Rows[Compared], renames: Renames, environment: str, dag_name: str
) -> frozenset[str]:
    """Return the id of each absent edge that the merge has at the dataset that one of its ends means now.

    `edges` as `load.diff` compared them.
    """
    images: dict[str, set[str]] = {}
    for change in renames.of_kind("edges"):
        images.setdefault(change.id, set()).add(change.means or "")
    if not images:
        return frozenset()
    shared = edges.engine.share({dataset: sorted(means) for dataset, means in images.items()})
    found = edges.flat_map(partial(_at_images, shared, environment, dag_name))
    return frozenset(found.group(itemgetter(0), _replaced).collect())


def _at_images(
    images: Shared[Mapping[str, list[str]]], environment: str, dag_name: str, edge: Compared
) -> Iterator[tuple[str, str | None]]:
    """Yield the id of an edge that the merge has; of an absent one each that it would have, with its own."""
    row = edge.row
    if edge.change != "absent":
        if row.get("id"):
            yield row["id"], None
        return
    starts, ends = (_ends_at(images.value, row, end) for end in ("from", "to"))
    job = JobKey(row["job_type"], row["job_name"]) if "job_name" in row else None
    for start, end in product(starts, ends):
        identifier = edge_id(environment, dag_name, job, start, row["label"], end)
        if identifier != row["id"]:
            yield identifier, row["id"]


def _ends_at(images: Mapping[str, list[str]], edge: Row, end: str) -> list[str]:
    """Return an end of an edge (a dataset, or a column of it), and those in its place at each image."""
    dataset = dataset_of_end(edge, end)
    rest = edge[end][len(dataset) :]
    return [edge[end], *(image + rest for image in images.get(dataset, ()))]


def _replaced(_id: str, found: list[tuple[str, str | None]]) -> Iterable[str]:
    replaced = {old for _, old in found if old}
    return replaced if any(old is None for _, old in found) else ()
