"""Decides, per dataset with its columns, which `has_column` edges and vertices are stale."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import RUN_LABELS, Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.dataset_ids import dataset_of, dataset_of_end
from lineage_merge.load.diff import Compared
from lineage_merge.load.prune.stale_job_edges import PruneScope, UnmatchedEdge


class StaleColumnEdge(NamedTuple):
    """A `has_column` edge to delete; `replaced`: the merge has it at another dataset."""

    row: Row
    replaced: bool


@dataclass(slots=True)
class DatasetFacts:
    """Facts about one dataset (or another vertex) and its columns.

    `retained`, `affected`: ends of unmatched job edges that are retained and deleted. `unmatched`: vertices
    that the merge does not have, with their label and, of a job or assertion, its project. `columns`:
    unmatched `has_column` edges by id. `replaced`: those of them that the merge has at another dataset.
    `described`: the merge has columns of the dataset.
    """

    id: str
    retained: set[str] = field(default_factory=set)
    affected: set[str] = field(default_factory=set)
    unmatched: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    described: bool = False

    def stale_column_edges(self, scope: PruneScope) -> list[str]:
        """Return the stale `has_column` edges: of deleted datasets, or of those with columns in the merge."""
        is_deleted = self.id in self.unmatched and (scope.everything or bool(self.affected))
        if not self.retained and (self.described or is_deleted):
            return list(self.columns)
        return [
            edge for edge in self.columns if edge in self.replaced and self.columns[edge] not in self.retained
        ]

    def stale_vertices(self, scope: PruneScope) -> Iterator[str]:
        """Yield the unmatched vertices that the DAG no longer needs."""
        needed, affected = set(self.retained), set(self.affected)
        stale = set(self.stale_column_edges(scope))
        for edge, column in self.columns.items():
            (affected if edge in stale else needed).update((self.id, column))
        for vertex, (label, project) in self.unmatched.items():
            in_scope = project in scope.projects if label in RUN_LABELS else scope.everything
            if vertex not in needed and (in_scope or vertex in affected):
                yield vertex


def find_stale_vertices(
    job_edges: Rows[UnmatchedEdge],
    nodes: Rows[Compared],
    edges: Rows[Compared],
    replaced: frozenset[str],
    scope: PruneScope,
) -> Rows[StaleColumnEdge | str]:
    """Return the `has_column` edges and the ids of the vertices to delete.

    `nodes`, `edges`: as compared by `load.diff`, including unmatched elements.
    """
    engine = edges.engine
    described = engine.share(frozenset(edges.flat_map(_dataset_of_unmatched).distinct().collect()))
    facts: Rows[tuple[str, _Fact]] = job_edges.flat_map(_ends)
    facts = facts.union(
        nodes.flat_map(_unmatched), edges.flat_map(partial(_column, described, engine.share(replaced)))
    )
    return facts.group(itemgetter(0), partial(_decide_dataset, scope))


class _Fact(NamedTuple):
    kind: Literal["retained", "affected", "unmatched", "column", "replaced", "described"]
    id: str = ""
    value: str | None = None
    label: str = ""


def _dataset_of_unmatched(edge: Compared) -> Iterable[str]:
    is_unmatched = edge.change == "unmatched" and edge.row["label"] == "has_column"
    return (edge.row["from"],) if is_unmatched else ()


def _ends(edge: UnmatchedEdge) -> Iterator[tuple[str, _Fact]]:
    for end in ("from", "to"):
        yield dataset_of_end(edge.row, end), _Fact("affected" if edge.deleted else "retained", edge.row[end])


def _unmatched(node: Compared) -> Iterator[tuple[str, _Fact]]:
    if node.change == "unmatched":
        identifier, label = node.row["id"], node.row["label"]
        dataset = dataset_of(identifier, label == "column")
        yield dataset, _Fact("unmatched", identifier, node.row.get("project"), label)


def _column(
    described: Shared[frozenset[str]], replaced: Shared[frozenset[str]], edge: Compared
) -> Iterator[tuple[str, _Fact]]:
    row = edge.row
    if row.get("label") != "has_column":
        return
    if edge.change == "unmatched":
        is_replaced = row["id"] in replaced.value
        yield row["from"], _Fact("replaced" if is_replaced else "column", row["id"], row["to"])
    elif row["from"] in described.value:
        yield row["from"], _Fact("described")


def _decide_dataset(
    scope: PruneScope, identifier: str, facts: list[tuple[str, _Fact]]
) -> Iterator[StaleColumnEdge | str]:
    dataset = DatasetFacts(identifier)
    for _, fact in facts:
        match fact.kind:
            case "retained":
                dataset.retained.add(fact.id)
            case "affected":
                dataset.affected.add(fact.id)
            case "unmatched":
                dataset.unmatched[fact.id] = (fact.label, fact.value)
            case "column" | "replaced":
                dataset.columns[fact.id] = fact.value or ""
                if fact.kind == "replaced":
                    dataset.replaced.add(fact.id)
            case _:
                dataset.described = True
    for edge in dataset.stale_column_edges(scope):
        row = {"id": edge, "label": "has_column", "from": identifier, "to": dataset.columns[edge]}
        yield StaleColumnEdge(row, edge in dataset.replaced)
    yield from dataset.stale_vertices(scope)
