"""Base class of the questions of `Lineage`: the session and the resolution of names."""

from typing import TYPE_CHECKING

from lineage_merge.query.session import Session

if TYPE_CHECKING:
    from lineage_merge.graph_format.elements import Vertex
    from lineage_merge.questions.graph import LineageGraph


class Questions:
    """Questions on the graph of a session."""

    def __init__(self, session: Session) -> None:
        self._session = session

    @property
    def environments(self) -> list[str]:
        """The environments of the graph, sorted."""
        return self._graph.environments()

    def resolve(self, name: str) -> "Vertex":
        """Return the dataset, column or job of a name. Raises `NotFound`, `Ambiguous`."""
        from lineage_merge.questions.names import resolve_any

        with self._session.hints():
            return resolve_any(self._graph, name, self._session.environment, self._session.dag)

    @property
    def _graph(self) -> "LineageGraph":
        return self._session.graph

    def _dataset_or_column(self, name: str) -> "Vertex":
        from lineage_merge.questions.names import resolve_dataset_or_column

        with self._session.hints():
            return resolve_dataset_or_column(self._graph, name, self._session.environment, self._session.dag)
