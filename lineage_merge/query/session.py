"""An open graph with the scope and configuration of queries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.query.result import Scope
from lineage_merge.query.selection import EMBEDDED, GraphSelection

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.questions.graph import LineageGraph

_EMPTY = "the graph is empty"


@dataclass(frozen=True, slots=True)
class Session:
    """An open graph. `is_own`: it is the user's own embedded graph; `moment`: that of a history, as text."""

    graph: "LineageGraph"
    scope: Scope
    config: "Config"
    selection: GraphSelection
    is_own: bool = False
    moment: str = ""

    @property
    def environment(self) -> str | None:
        """The environment; None: all."""
        return self.scope.environment

    @property
    def dag(self) -> str | None:
        """The DAG; None: all."""
        return self.scope.dag

    def empty_hint(self) -> str:
        """Return a note if the graph is the user's own embedded graph, and empty; otherwise ""."""
        from lineage_merge.graph_format.elements import VERTEX_LABELS

        is_empty = self.is_own and not self.graph.search("", VERTEX_LABELS, limit=1)
        return empty_hint() if is_empty else ""

    def empty_note(self, note: str) -> str:
        """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
        from lineage_merge.questions.names import check_scope

        check_scope(self.graph, self.environment, self.dag)
        hint = self.empty_hint()
        return f"{note}; {hint}" if hint else note

    @contextmanager
    def hints(self) -> Iterator[None]:
        """Add to `NotFound` that the graph is empty, if it is."""
        try:
            yield
        except NotFound as error:
            hint = self.empty_hint()
            if hint and hint not in error.message:
                raise NotFound(f"{error.message}; {hint}", error.candidates) from None
            raise


@contextmanager
def open_session(
    selection: GraphSelection, on_progress: ProgressCallback = no_progress, *, all_environments: bool = False
) -> Iterator[Session]:
    """Open a graph. `all_environments`: also those of a history that the configuration does not set.

    Raises `ConfigError`, `GraphError`, `EmbeddedError`, `IntermediateError`, `SourceError`, `NotFound`.
    """
    config, environment = selection.config()
    if selection.as_of:
        only = None if all_environments else environment
        yield _past_session(selection, config, environment, only, on_progress)
        return
    require_graph_file(selection.graph_file, selection.demo)
    from lineage_merge.questions.backends.opening import open_graph

    is_own = selection.is_own_graph and config.gremlin.endpoint == EMBEDDED
    with open_graph(selection.folder or config.gremlin, on_progress, selection.graph_file) as graph:
        yield Session(graph, Scope(environment, selection.dag), config, selection, is_own)


def _past_session(
    selection: GraphSelection,
    config: "Config",
    environment: str | None,
    only: str | None,
    on_progress: ProgressCallback,
) -> Session:
    from lineage_merge.history.moments import parse_moment
    from lineage_merge.questions.past import as_of

    moment = parse_moment(selection.as_of or "")
    location = require_history(selection.history, config, selection.graph_file)
    found = as_of(location, moment, only, on_progress)
    scope = Scope(environment, selection.dag, selection.as_of, tuple(found.merges))
    return Session(found.graph, scope, config, selection, moment=str(moment))


def require_history(location: str, config: "Config", graph_file: Path | None) -> str:
    """Return the location of the history: `--history`, or that of the graph. Raises `ConfigError`."""
    from lineage_merge.history.location import history_location

    if found := location.rstrip("/") or history_location(config, graph_file):
        return found
    raise ConfigError("history.location", "no history is configured. Fix: set the key, or --history LOCATION")


def require_graph_file(graph_file: Path | None, demo: bool) -> None:
    """Raise `ConfigError` if a selected graph to read does not exist, as a file or in a running server."""
    if graph_file is None or graph_file.exists():
        return
    from lineage_merge.infra.embedded import file_lock

    if file_lock.served_at(graph_file):
        return
    if demo:
        raise ConfigError("--demo", "the demo has no graph. Fix: lineage-merge demo")
    raise ConfigError("--graph-file", f"no such file: {graph_file}")


def empty_hint() -> str:
    """Return a note about the user's own graph, which is empty."""
    from lineage_merge.infra.graph_files import demo_graph_file

    if demo_graph_file().exists():
        return f"{_EMPTY}; the demo's lineage: add --demo"
    return f"{_EMPTY}. Fix: lineage-merge run --config FILE"
