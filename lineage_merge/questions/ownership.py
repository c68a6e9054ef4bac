"""Owners of everything that depends on a dataset, column or job."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lineage_merge.graph_format.elements import dataset_of
from lineage_merge.questions.dependents import Dependent, Dependents, Kind

KINDS: tuple[Kind, ...] = ("dataset", "column", "job", "exposure")


@dataclass(frozen=True, slots=True)
class OwnerOf:
    """An owner and the affected elements, the nearest first. `owner`: an e-mail address or a name."""

    owner: str
    affected: tuple[Dependent, ...]

    @property
    def distance(self) -> int:
        """The distance of the nearest element."""
        return self.affected[0].distance

    @property
    def counts(self) -> dict[Kind, int]:
        """The numbers of affected elements by kind."""
        counted = Counter(each.kind for each in self.affected)
        return {kind: counted[kind] for kind in KINDS}

    @property
    def nearest(self) -> tuple[str, ...]:
        """The titles of the nearest datasets and exposures; of other elements if there are none."""
        shown = [each for each in self.affected if each.kind in ("dataset", "exposure")] or self.affected
        return tuple(each.vertex.title for each in shown if each.distance == shown[0].distance)

    @property
    def dags(self) -> tuple[str, ...]:
        """The DAGs of the elements."""
        return dags_of(self.affected)


@dataclass(frozen=True, slots=True)
class Ownership:
    """Owners, the nearest first, and the affected datasets and exposures without one."""

    owners: tuple[OwnerOf, ...]
    without_owner: tuple[Dependent, ...]


def dags_of(elements: Iterable[Dependent]) -> tuple[str, ...]:
    """Return the DAGs of elements, sorted."""
    return tuple(sorted({dag for each in elements for dag in each.vertex.dags}))


def ownership(dependents: Dependents) -> Ownership:
    """Return the owners of the elements that depend on the changed one.

    A column belongs to its own owners and to those of its dataset, a dataset to its owners and to those of
    the affected jobs that write it, a job without owners to those of the affected datasets that it writes.
    """
    responsible = _responsible(dependents.elements)
    by_owner: Mapping[str, list[Dependent]] = defaultdict(list)
    for each in dependents.elements:
        for owner in responsible[each.vertex.id]:
            by_owner[owner].append(each)
    rows = [OwnerOf(owner, tuple(affected)) for owner, affected in by_owner.items()]
    owned = {each for each, owners in responsible.items() if owners}
    # A dataset of which an affected column has an owner needs no other.
    owned |= {dataset_of(each.vertex.id) for each in dependents.of_kind("column") if each.vertex.id in owned}
    ownable = (each for each in dependents.elements if each.kind in ("dataset", "exposure"))
    return Ownership(
        tuple(sorted(rows, key=lambda each: (each.distance, each.owner))),
        tuple(each for each in ownable if each.vertex.id not in owned),
    )


def _responsible(elements: Iterable[Dependent]) -> dict[str, set[str]]:
    """Return the owners of elements by id, as `ownership` assigns them."""
    elements = tuple(elements)
    own = {each.vertex.id: set(each.vertex.properties.get("owners", ())) for each in elements}
    outputs: Mapping[str, set[str]] = defaultdict(set)
    for each in elements:
        for job in each.jobs if each.kind == "dataset" else ():
            outputs[job] |= own[each.vertex.id]
    found: dict[str, set[str]] = {}
    for each in elements:
        owners = own[each.vertex.id].union(*(own.get(job, ()) for job in each.jobs))
        if each.kind == "column":
            owners |= own.get(dataset_of(each.vertex.id), set())
        found[each.vertex.id] = owners or outputs.get(each.vertex.id, set())
    return found
