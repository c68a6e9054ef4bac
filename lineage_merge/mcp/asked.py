"""The open graph as the tools ask it, and forms of values that all answers share."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from lineage_merge.mcp.untrusted_text import escape, shown
from lineage_merge.model.errors import QueryError
from lineage_merge.query.elements import Vertex, values_of
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.interface.lineage import Lineage
from lineage_merge.query.interface.session import Session

# Characters of texts that are read, not used again.
LONG = 600
SHORT = 160


@dataclass(frozen=True, slots=True)
class Asked:
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

    def within(self, environment: str | None = None, dag: str | None = None) -> "Asked":
        """Return the same graph with another scope; None: that of the server."""
        scope = self.session.scope
        scope = scope._replace(environment=environment or scope.environment, dag=dag or scope.dag)
        selection = replace(self.session.selection, environment=scope.environment, dag=scope.dag)
        return Asked(replace(self.session, scope=scope, selection=selection))

    def require_history(self) -> None:
        """Raise `QueryError` if the graph is a folder, of which no history is selected."""
        require_history(self.session.selection.folder, self.session.selection.history)


def require_history(folder: str | None, history: str) -> None:
    """Raise `QueryError` for a folder without history: the default one is that of another graph."""
    if folder and not history:
        raise QueryError("this graph is a folder without history. Fix: start the server with --history")


def texts(values: Iterable[Any] | None) -> list[str]:
    """Return values of the graph, escaped."""
    return [escape(str(each)) for each in values or ()]


def text(value: Any, limit: int = LONG) -> str:
    """Return a text of the graph to read; "" if there is none."""
    return shown(str(value), limit) if value not in (None, "") else ""


def values(vertex: Vertex, key: str) -> list[str]:
    """Return the values of a property, escaped."""
    return texts(values_of(vertex, key))


def moment(milliseconds: int | None) -> str:
    """Return a time as ``2026-11-23T02:48:40Z``; "" if it is unknown."""
    if milliseconds is None:
        return ""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, tz=UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError):
        return ""
