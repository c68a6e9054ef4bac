"""Decided dataset by dataset, with its columns: which `has_column` edges and which vertices are gone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Rows, Shared
from lineage_merge.load.diff import Compared
from lineage_merge.load.graph_state import dataset_of, dataset_of_end
from lineage_merge.load.prune.scope import Scope
from lineage_merge.load.prune.stale_job_edges import AbsentEdge


class LostColumn(NamedTuple):
    """A `has_column` edge that is to be deleted; `replaced`: the merge has it at another dataset."""

    row: Row
    replaced: bool


@dataclass(slots=True)
class DatasetFacts:
    """What is known of one dataset (or another vertex) and its columns.

    `kept` and `touched` are ends of absent edges of jobs, those that stay and those that are gone.
    `stray` are vertices that the merge does not tell, with their label and, of a job, its project.
    `columns` are absent `has_column` edges, by id, `replaced` those of them that the merge has at another
    dataset. `described`: the merge has columns of it.
    """

    id: str
    kept: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    stray: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    described: bool = False

    def lost_columns(self, scope: Scope) -> list[str]:
        """The `has_column` edges that are gone: of datasets that the merge knows wholly, or that go."""
        goes = self.id in self.stray and (scope.everything or bool(self.touched))
        if not self.kept and (self.described or goes):
            return list(self.columns)
        return [
            edge for edge in self.columns if edge in self.replaced and self.columns[edge] not in self.kept
        ]

    def lost_vertices(self, scope: Scope) -> Iterator[str]:
        """The stray vertices that nothing of the DAG needs any more."""
        needed, touched = set(self.kept), set(self.touched)
        lost = set(self.lost_columns(scope))
        for edge, column in self.columns.items():
            (touched if edge in lost else needed).update((self.id, column))
        for vertex, (label, project) in self.stray.items():
            wanted = project in scope.projects if label == "job" else scope.everything
            if vertex not in needed and (wanted or vertex in touched):
                yield vertex


def lost_of_datasets(
    of_jobs: Rows[AbsentEdge],
    nodes: Rows[Compared],
    edges: Rows[Compared],
    replaced: frozenset[str],
    scope: Scope,
) -> Rows[LostColumn | str]:
    """Return the `has_column` edges that are to be deleted, and the ids of the vertices.

    `nodes` and `edges` as `load.diff` compared them, `nodes` with those that the merge does not have.
    """
    engine = edges.engine
    described = engine.share(frozenset(edges.flat_map(_described_if_absent).distinct().collect()))
    facts: Rows[tuple[str, _Fact]] = of_jobs.flat_map(_ends)
    facts = facts.union(
        nodes.flat_map(_unmatched), edges.flat_map(partial(_column, described, engine.share(replaced)))
    )
    return facts.group(itemgetter(0), partial(_decide_dataset, scope))


class _Fact(NamedTuple):
    kind: Literal["kept", "touched", "stray", "column", "replaced", "described"]
    id: str = ""
    value: str | None = None
    label: str = ""


def _described_if_absent(edge: Compared) -> Iterable[str]:
    is_absent = edge.change == "absent" and edge.row["label"] == "has_column"
    return (edge.row["from"],) if is_absent else ()


def _ends(edge: AbsentEdge) -> Iterator[tuple[str, _Fact]]:
    for end in ("from", "to"):
        yield dataset_of_end(edge.row, end), _Fact("touched" if edge.deleted else "kept", edge.row[end])


def _unmatched(node: Compared) -> Iterator[tuple[str, _Fact]]:
    if node.change == "unmatched":
        identifier, label = node.row["id"], node.row["label"]
        dataset = dataset_of(identifier, label == "column")
        yield dataset, _Fact("stray", identifier, node.row.get("project"), label)


def _column(
    described: Shared[frozenset[str]], replaced: Shared[frozenset[str]], edge: Compared
) -> Iterator[tuple[str, _Fact]]:
    row = edge.row
    if row.get("label") != "has_column":
        return
    if edge.change == "absent":
        is_replaced = row["id"] in replaced.value
        yield row["from"], _Fact("replaced" if is_replaced else "column", row["id"], row["to"])
    elif row["from"] in described.value:
        yield row["from"], _Fact("described")


def _decide_dataset(
    scope: Scope, identifier: str, facts: list[tuple[str, _Fact]]
) -> Iterator[LostColumn | str]:
    dataset = DatasetFacts(identifier)
    for _, fact in facts:
        match fact.kind:
            case "kept":
                dataset.kept.add(fact.id)
            case "touched":
                dataset.touched.add(fact.id)
            case "stray":
                dataset.stray[fact.id] = (fact.label, fact.value)
            case "column" | "replaced":
                dataset.columns[fact.id] = fact.value or ""
                if fact.kind == "replaced":
                    dataset.replaced.add(fact.id)
            case _:
                dataset.described = True
    for edge in dataset.lost_columns(scope):
        row = {"id": edge, "label": "has_column", "from": identifier, "to": dataset.columns[edge]}
        yield LostColumn(row, edge in dataset.replaced)
    yield from dataset.lost_vertices(scope)
