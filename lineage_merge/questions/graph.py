"""Interface of a graph that can be queried, independent of its backend: Gremlin endpoint, files, memory."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, Protocol

from lineage_merge.graph_format.elements import Edge, Vertex

Direction = Literal["up", "down"]


class LineageGraph(Protocol):
    """Queries on a graph. `environment` and `dag` None: any. The order of lists is undefined.

    Raises `GraphError` if the graph is unreachable or rejects a request.
    """

    def environments(self) -> list[str]:
        """Return the environments of the graph, sorted."""

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        """Return the vertices of these ids, without duplicates; missing ones are omitted."""

    def find_named(
        self, text: str, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> list[Vertex]:
        """Return the vertices whose `id`, `name`, `qualified_name` or `location` is `text`."""

    def search(
        self,
        text: str,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        limit: int | None = None,
    ) -> list[Vertex]:
        """Return vertices whose `name`, `qualified_name` or `namespace` contains `text` ("": all), by id.

        `text` is searched as given, lowercase, uppercase and capitalized.
        """

    def with_value(
        self,
        key: str,
        values: Sequence[str],
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """Return the ids of vertices whose property `key` is, or as a set contains, one of `values`."""

    def edges_from(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """Return the outgoing edges of these vertices."""

    def edges_to(self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None) -> list[Edge]:
        """Return the incoming edges of these vertices."""

    def reach(
        self,
        ids: Iterable[str],
        labels: Sequence[str],
        direction: Direction,
        depth: int | None = None,
        dag: str | None = None,
    ) -> set[str]:
        """Return the ids reachable over these edges within `depth` hops (None: unlimited).

        The start ids are included only if a cycle leads back to them. `has_column` leads from columns to
        their fields in both directions.
        """

    def edges_below(
        self, ids: Iterable[str], labels: Sequence[str], dag: str | None = None, ends: Sequence[str] = ()
    ) -> list[Edge]:
        """Return the edges over which `reach` goes downstream from these ids, at any depth.

        `ends`: labels of edges from the same vertices that are not followed.
        """

    def find_tagged(
        self,
        labels: Sequence[str],
        environment: str | None = None,
        dag: str | None = None,
        tags: Sequence[str] | None = None,
    ) -> list[Vertex]:
        """Return the vertices with one of these tags (None: any) in their property `tags`."""

    def feeds_without_columns(self, ids: Iterable[str], dag: str | None = None) -> list[Edge]:
        """Return the outgoing `feeds` edges of these datasets whose job has no known column lineage.

        Its column lineage into the target is unavailable, or there is none from any source.
        """

    def ids(self, labels: Sequence[str], environment: str | None = None, dag: str | None = None) -> set[str]:
        """Return the ids of all vertices with these labels."""

    def pairs(
        self, labels: Sequence[str], environment: str | None = None, dag: str | None = None
    ) -> set[tuple[str, str]]:
        """Return (from, to) of all edges with these labels."""

    def find_without_consumer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """Return the ids of datasets that a job (of `dag`) writes and that feed no other dataset."""

    def find_without_producer(self, environment: str | None = None, dag: str | None = None) -> set[str]:
        """Return the ids of datasets that a job (of `dag`) reads and that no job writes or feeds."""

    def everything(
        self, environment: str | None = None, dag: str | None = None, labels: Sequence[str] | None = None
    ) -> Iterator[Vertex | Edge]:
        """Yield vertices, then edges, with these labels. None: `elements.VERTEX_LABELS` and `EDGE_LABELS`."""


def case_variants(text: str) -> tuple[str, ...]:
    """Return the text as given, lowercase, uppercase and capitalized, without duplicates.

    Gremlin's text predicates are case-sensitive, and Neptune has no others.
    """
    return tuple(dict.fromkeys((text, text.lower(), text.upper(), text.capitalize())))
