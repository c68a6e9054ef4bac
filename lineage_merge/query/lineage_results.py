"""Answers that consist of edges: upstream, downstream, paths."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.query.records import EDGE_COLUMNS, edge_record
from lineage_merge.questions.graph import Direction
from lineage_merge.questions.result import Record, Result

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rich.console import RenderableType


@dataclass(frozen=True, kw_only=True, repr=False)
class _EdgesResult(Result):
    """An answer with a record per edge."""

    columns = EDGE_COLUMNS

    def records(self) -> Iterator[Record]:
        """Yield the edges."""
        return (edge_record(self.graph, each) for each in self.graph.edges)

    def csv_tables(self) -> "Iterable[RenderableType]":
        """Return a row per edge, also if there is none."""
        from lineage_merge.questions.formats.table import edge_table

        return [edge_table(self.graph)]


@dataclass(frozen=True, kw_only=True, repr=False)
class LineageResult(_EdgesResult):
    """The lineage upstream or downstream of `start` within `depth` hops (None: unlimited)."""

    start: Vertex
    depth: int | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the start and the depth."""
        return {"of": self.start.id, "depth": self.depth}

    @property
    def roots(self) -> Sequence[str]:
        """The start."""
        return [self.start.id]

    @property
    def direction(self) -> Direction:
        """The direction from the start."""
        return "up" if self.question == "upstream" else "down"


@dataclass(frozen=True, kw_only=True, repr=False)
class PathResult(_EdgesResult):
    """All paths from `start` to `end` of at most `depth` hops (None: unlimited)."""

    start: Vertex
    end: Vertex
    depth: int | None = None

    def parameters(self) -> dict[str, Any]:
        """Return the ends and the depth."""
        return {"start": self.start.id, "end": self.end.id, "depth": self.depth}

    @property
    def roots(self) -> Sequence[str]:
        """The start."""
        return [self.start.id]
