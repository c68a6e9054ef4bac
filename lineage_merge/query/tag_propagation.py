"""Tags that columns and datasets carry, their own and those inherited along column lineage."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal

from lineage_merge.config.propagation import Propagation
from lineage_merge.query.elements import Edge, Vertex
from lineage_merge.query.graph import LineageGraph

# What ended a tag: a transformation, `influences`, a function, a dataset, or `clear`.
StopKind = Literal["transformation", "influences", "function", "dataset", "cleared"]


@dataclass(frozen=True, slots=True)
class Carrier:
    """A column or dataset that carries a tag.

    `origin`: the nearest column or dataset that has the tag. `path`: the edges of a shortest path from there,
    `feeds_column`, `influences` or `feeds`; empty if the element or its dataset has the tag. `by_rows`: a
    dataset whose rows a tagged column determines; other datasets carry the tag as a whole, and so do their
    columns.
    """

    id: str
    tag: str
    origin: str
    by_rows: bool = False
    path: tuple[Edge, ...] = field(default=(), repr=False)

    @property
    def own(self) -> bool:
        """Whether the element or its dataset has the tag; otherwise it is inherited."""
        return not self.path


@dataclass(frozen=True, slots=True)
class Stop:
    """A column or dataset that does not carry a tag only because of `propagation`.

    `reason`: a transformation, a glob on functions or datasets, or the reason of `clear`. `path` ends with
    the edge to the element; it is empty if its own tag is cleared.
    """

    id: str
    tag: str
    origin: str
    kind: StopKind
    reason: str
    path: tuple[Edge, ...] = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class PropagatedTags:
    """Carriers and stops, each by tag and id. `vertices`: the elements of both and of paths, and their datasets."""

    carriers: tuple[Carrier, ...] = ()
    stops: tuple[Stop, ...] = ()
    vertices: Mapping[str, Vertex] = field(default_factory=dict)


def propagate(
    graph: LineageGraph,
    tags: Collection[str] | None,
    propagation: Mapping[str, Propagation],
    environment: str | None = None,
    dag: str | None = None,
) -> PropagatedTags:
    """Return what carries these tags (None: all tags of the graph), and where they stop.

    `propagation`: settings by tag, `*` for tags without settings.
    """
    raise NotImplementedError
