"""The open graph that a tool reads, with the scope of its call."""

from dataclasses import dataclass, replace

from lineage_merge.model.errors import QueryError
from lineage_merge.query.lineage import Lineage
from lineage_merge.query.session import Session
from lineage_merge.questions.graph import LineageGraph


@dataclass(frozen=True, slots=True)
class ToolGraph:
    """An open graph with the scope of one call."""

    session: Session

    @property
    def lineage(self) -> Lineage:
        """The questions."""
        return Lineage(self.session)

    @property
    def graph(self) -> LineageGraph:
        """The graph."""
        return self.session.graph

    @property
    def environment(self) -> str | None:
        """The environment; None: all."""
        return self.session.environment

    @property
    def dag(self) -> str | None:
        """The DAG; None: all."""
        return self.session.dag

    def within(self, environment: str | None = None, dag: str | None = None) -> "ToolGraph":
        """Return the same graph with another scope; None: that of the server."""
        scope = self.session.scope
        scope = scope._replace(environment=environment or scope.environment, dag=dag or scope.dag)
        selection = replace(self.session.selection, environment=scope.environment, dag=scope.dag)
        return ToolGraph(replace(self.session, scope=scope, selection=selection))

    def require_history(self) -> None:
        """Raise `QueryError` if the graph is a folder, of which no history is selected."""
        require_history(self.session.selection.folder, self.session.selection.history)


def require_history(folder: str | None, history: str) -> None:
    """Raise `QueryError` for a folder without history: the default one is that of another graph."""
    if folder and not history:
        raise QueryError("this graph is a folder without history. Fix: start the server with --history")
