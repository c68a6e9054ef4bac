"""The question `owners`: owners of everything that depends on a dataset, column or job."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from lineage_merge.model.elements import dataset_of
from lineage_merge.questions.fields import (
    JSON_ONLY,
    NOT_FOR_TOOLS,
    Counts,
    Element,
    ElementId,
    Label,
    Name,
    Shown,
    row_as_json,
    row_of,
)
from lineage_merge.questions.impact import make_affected_row, some_names
from lineage_merge.questions.question import DEPTH, ELEMENT, ElementName, Question, ToolText
from lineage_merge.questions.result import RowsResult
from lineage_merge.questions.scoped_graph import ScopedGraph
from lineage_merge.questions.traversal.dependents import Dependent, Dependents, Kind, dependents

KINDS: tuple[Kind, ...] = ("dataset", "column", "job", "exposure")


@dataclass(frozen=True, slots=True)
class OwnerOf:
    """An owner and the affected elements, the nearest first.

    `owner`: an e-mail address or a name; "": one element without an owner.
    """

    owner: str
    affected: tuple[Dependent, ...]

    @property
    def distance(self) -> int:
        """The distance of the nearest element."""
        return self.affected[0].distance

    @property
    def counts(self) -> dict[str, int]:
        """The numbers of affected elements by kind."""
        counts = Counter(element.kind for element in self.affected)
        return {kind: counts[kind] for kind in KINDS}

    @property
    def nearest(self) -> tuple[str, ...]:
        """The titles of the nearest datasets and exposures; of other elements if there are none."""
        elements = [
            element for element in self.affected if element.kind in ("dataset", "exposure")
        ] or self.affected
        return tuple(element.vertex.title for element in elements if element.distance == elements[0].distance)

    @property
    def dags(self) -> tuple[str, ...]:
        """The DAGs of the elements."""
        return tuple(sorted({dag for element in self.affected for dag in element.vertex.dags}))


@dataclass(frozen=True, slots=True)
class Ownership:
    """Owners, the nearest first, and the affected datasets and exposures without one."""

    owners: tuple[OwnerOf, ...]
    without_owner: tuple[Dependent, ...]


def ownership(dependents: Dependents) -> Ownership:
    """Return the owners of the elements that depend on the changed one.

    A column belongs to its own owners and to those of its dataset, a dataset to its owners and to those of
    the affected jobs that write it, a job without owners to those of the affected datasets that it writes.
    """
    responsible = _responsible(dependents.elements)
    by_owner: Mapping[str, list[Dependent]] = defaultdict(list)
    for element in dependents.elements:
        for owner in responsible[element.vertex.id]:
            by_owner[owner].append(element)
    rows = [OwnerOf(owner, tuple(affected)) for owner, affected in by_owner.items()]
    owned = {identifier for identifier, owners in responsible.items() if owners}
    # A dataset of which an affected column has an owner needs no other.
    owned |= {
        dataset_of(element.vertex.id)
        for element in dependents.select_kind("column")
        if element.vertex.id in owned
    }
    ownable = (element for element in dependents.elements if element.kind in ("dataset", "exposure"))
    return Ownership(
        tuple(sorted(rows, key=lambda row: (row.distance, row.owner))),
        tuple(element for element in ownable if element.vertex.id not in owned),
    )


def _responsible(elements: Iterable[Dependent]) -> dict[str, set[str]]:
    """Return the owners of elements by id, as `ownership` assigns them."""
    elements = tuple(elements)
    own = {element.vertex.id: set(element.vertex.properties.get("owners", ())) for element in elements}
    outputs: Mapping[str, set[str]] = defaultdict(set)
    for element in elements:
        for job in element.jobs if element.kind == "dataset" else ():
            outputs[job] |= own[element.vertex.id]
    responsible: dict[str, set[str]] = {}
    for element in elements:
        owners = own[element.vertex.id].union(*(own.get(job, ()) for job in element.jobs))
        if element.kind == "column":
            owners |= own.get(dataset_of(element.vertex.id), set())
        responsible[element.vertex.id] = owners or outputs.get(element.vertex.id, set())
    return responsible


_COUNT = Shown(on=("frame", "tool"))


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRow:
    """An owner; without `owner`: one element that has none."""

    owner: Label | None
    distance: int
    counts: Annotated[Counts, JSON_ONLY]
    datasets: Annotated[int, _COUNT] = 0
    columns: Annotated[int, _COUNT] = 0
    jobs: Annotated[int, _COUNT] = 0
    exposures: Annotated[int, _COUNT] = 0
    nearest: tuple[Name, ...]
    dags: tuple[Label, ...]
    affected: Annotated[tuple[ElementId, ...], NOT_FOR_TOOLS]

    @property
    def name(self) -> str:
        """The owner, for a table."""
        return self.owner or "(none)"

    @property
    def nearest_names(self) -> str:
        return some_names(self.nearest)


@dataclass(frozen=True, kw_only=True, repr=False)
class OwnersResult(RowsResult):
    """The owners of what depends on `changed`."""

    row_type = OwnerRow
    table = (
        "name: owner, distance: hops, datasets, columns, jobs, exposures, nearest_names: nearest, dags: DAGs"
    )

    changed: Annotated[Element, Shown(name="of")]
    ownership: Ownership
    depth: Annotated[int | None, JSON_ONLY] = None

    @property
    def items(self) -> Sequence[OwnerOf]:
        """The owners, the nearest first, then what has no owner."""
        without_owner = (OwnerOf("", (element,)) for element in self.ownership.without_owner)
        return [*self.ownership.owners, *without_owner]

    @property
    def roots(self) -> Sequence[str]:
        return [self.changed.id]

    def row(self, item: OwnerOf) -> OwnerRow:
        affected = tuple(element.vertex.id for element in item.affected)
        counts = {f"{kind}s": number for kind, number in item.counts.items()}
        return row_of(OwnerRow, item, owner=item.owner or None, affected=affected, **counts)

    def fields(self) -> dict[str, Any]:
        """Return the owners, and the elements without one."""
        return {
            "owners": [row_as_json(self.row(owner)) for owner in self.ownership.owners],
            "without_owner": [row_as_json(make_affected_row(item)) for item in self.ownership.without_owner],
        }


@dataclass(frozen=True, slots=True)
class OwnersQuestion(Question[OwnersResult]):
    """List the owners of everything that a change of a dataset, column or job affects, the nearest first.

    Each owner has the shortest distance in hops, the affected elements, the names of the nearest ones, and
    their DAGs. Affected datasets and exposures without an owner are listed last.
    """

    question = "owners"
    short_help = "List the owners of everything that a change affects."
    examples = (
        "lineage-merge owners s3://tickit-raw/sales",
        "lineage-merge owners s3://tickit-raw/sales#pricepaid --depth 2",
        "lineage-merge owners tickit_sales_ingest --format csv",
    )
    tool = ToolText(
        "Owners of what a change affects",
        "The owners of everything that depends on an element: people to ask or to inform.",
    )

    name: Annotated[ElementName, ELEMENT]
    _: KW_ONLY
    depth: Annotated[int | None, DEPTH] = None

    def answer(self, graph: ScopedGraph) -> OwnersResult:
        changed = graph.element(self.name)
        affected = dependents(graph.graph, changed, depth=self.depth, dag=graph.dag)
        owners = ownership(affected)
        note = ""
        if not affected.elements:
            note = f"nothing depends on {changed.title}"
        elif owners.without_owner:
            note = f"affected datasets and exposures without an owner: {len(owners.without_owner):,}"
        return OwnersResult(
            question=self.question,
            scope=graph.scope,
            graph=affected.impact.subgraph,
            note=note,
            changed=changed,
            ownership=owners,
            depth=self.depth,
        )
