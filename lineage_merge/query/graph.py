"""A graph that can be asked, wherever it is: behind a Gremlin endpoint, in files, in memory.

Whoever asks uses `LineageGraph` and never knows which of them it is.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

from lineage_merge.query.elements import Edge, Vertex

Direction = Literal["up", "down"]


class LineageGraph(Protocol):
    """What can be asked. `environment` and `dag` None: any. Lists have no promised order.

    Raises `GraphError` where the graph cannot be reached or refuses.
    """

    def environments(self) -> list[str]:
        """The environments that somebody merged into the graph, sorted."""

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """The vertices of these ids, each once; those that are not there are left out."""

    def named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """Whose `id`, `name`, `qualified_name` or `location` is `text`."""

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """Whose `name`, `qualified_name` or `namespace` holds `text`, in order of id. "" is all.

        `text` counts as it is written, in small letters, in capitals, and with one capital.
        """

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """The edges that leave these vertices."""

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """The edges that end at these vertices."""

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """The ids that these edges lead to, in `depth` hops at most (None: to the ends).

        With the ids that it began at only where a cycle leads back to them.
        """

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """The ids of all vertices with these labels."""

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """(from, to) of all edges with these labels."""

    def unread(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """The ids of datasets that a job (of `dag`) writes, and that nothing but themselves is fed by."""

    def unfed(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """The ids of datasets that a job (of `dag`) reads, and that no job writes and nothing feeds."""

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """Vertices, then edges, of these labels. None: `elements.VERTEX_LABELS` and `EDGE_LABELS`."""
