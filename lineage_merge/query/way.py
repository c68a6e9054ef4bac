"""The whole way from one dataset to another: every path between them, as one small graph."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from gremlin_python.process.graph_traversal import GraphTraversalSource, __
from gremlin_python.process.traversal import P, T

IDS_A_REQUEST = 200


class Hop(NamedTuple):
    """One `feeds` edge: from and to are vertex ids."""

    source: str
    target: str
    job: str
    via: str = ""


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset on the way."""

    id: str
    label: str
    namespace: str
    qualified_name: str
    location: str = ""

    @property
    def title(self) -> str:
        """What a person calls it: a file's path, a table's whole name."""
        if self.label == "file":
            return f"{self.namespace}/{self.qualified_name.lstrip('/')}"
        return self.qualified_name


@dataclass(frozen=True, slots=True)
class Way:
    """All hops that lie on a path from `start` to `end`, and the datasets they join."""

    start: str
    end: str
    hops: tuple[Hop, ...]
    datasets: Mapping[str, Dataset] = field(default_factory=dict)

    def from_(self, dataset: str) -> list[Hop]:
        """The hops that leave a dataset, in order."""
        return sorted(hop for hop in self.hops if hop.source == dataset)


def way(g: GraphTraversalSource, start: str, end: str) -> Way:
    """Every path of `feeds` edges between two dataset ids; no hops where there is none.

    One request a level and 200 datasets, however many paths there are.
    """
    hops: set[Hop] = set()
    seen = {start}
    frontier = [start]
    while frontier:
        found = [hop for ids in _batches(frontier) for hop in _feeds(g, ids)]
        hops.update(found)
        frontier = sorted({hop.target for hop in found} - seen - {end})
        seen.update(frontier)
    kept = on_the_way(hops, start, end)
    ids = {start, end} | {hop.source for hop in kept} | {hop.target for hop in kept}
    datasets = {each.id: each for batch in _batches(sorted(ids)) for each in _datasets(g, batch)}
    return Way(start, end, tuple(sorted(kept)), datasets)


def on_the_way(hops: Iterable[Hop], start: str, end: str) -> set[Hop]:
    """The hops from which `end` can be reached, among those reached from `start`."""
    into: dict[str, list[Hop]] = defaultdict(list)
    for hop in hops:
        into[hop.target].append(hop)
    kept: set[Hop] = set()
    seen = {end}
    frontier = [end]
    while frontier:
        for hop in into[frontier.pop()]:
            kept.add(hop)
            if hop.source not in seen and hop.source != start:
                seen.add(hop.source)
                frontier.append(hop.source)
    return kept


def _feeds(g: GraphTraversalSource, ids: list[str]) -> list[Hop]:
    edges: list[dict[str, Any]] = (
        g.V(*ids)
        .out_e("feeds")
        .project("source", "target", "job", "via")
        .by(__.out_v().id_())
        .by(__.in_v().id_())
        .by(__.values("job_name"))
        .by(__.coalesce(__.values("via"), __.constant("")))
        .to_list()
    )
    return [Hop(**edge) for edge in edges]


def _datasets(g: GraphTraversalSource, ids: list[str]) -> list[Dataset]:
    def optional(key: str) -> Any:
        return __.coalesce(__.values(key), __.constant(""))

    rows: list[dict[str, Any]] = (
        g.V(*ids)
        .where(__.label().is_(P.neq("job")))
        .project("id", "label", "namespace", "qualified_name", "location")
        .by(T.id)
        .by(T.label)
        .by(optional("namespace"))
        .by(optional("qualified_name"))
        .by(optional("location"))
        .to_list()
    )
    return [Dataset(**row) for row in rows]


def _batches(ids: list[str]) -> Iterable[list[str]]:
    return (ids[start : start + IDS_A_REQUEST] for start in range(0, len(ids), IDS_A_REQUEST))
