"""An open graph with the scope and configuration of queries."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError
from lineage_merge.query.selection import EMBEDDED, GraphSelection
from lineage_merge.questions.scoped_graph import HISTORY_MISSING, GraphScope, ScopedGraph

if TYPE_CHECKING:
    from lineage_merge.config import Config


@dataclass(frozen=True, slots=True)
class Session(ScopedGraph):
    """An open graph with the selection that opened it. `moment`: that of a history, as text."""

    selection: GraphSelection = field(default_factory=GraphSelection)
    moment: str = ""

    @property
    def history(self) -> str | None:
        """The location of the history of this graph; None: it has none."""
        from lineage_merge.history.layout import history_location

        selection = self.selection
        location = selection.history.rstrip("/") or history_location(self.config, selection.graph_file)
        return None if selection.folder else location

    @property
    def is_folder(self) -> bool:
        """Whether the graph is a folder of `build`."""
        return bool(self.selection.folder)

    def with_environment(self, environment: str | None) -> "Session":
        """Return the same graph with another environment; None: the same."""
        if environment is None:
            return self
        scope = self.scope._replace(environment=environment)
        return replace(self, scope=scope, selection=replace(self.selection, environment=environment))

    def require_history(self) -> str:
        """Return the location of the history. Raises `ConfigError` without one."""
        folder = self.selection.folder
        if folder and not self.selection.history:
            # Neither that of the configuration nor that of the embedded graph is one of this lineage.
            raise ConfigError("--folder", f"{folder} has no history. Fix: set --history LOCATION, or omit it")
        return require_history(self.selection.history, self.config, self.selection.graph_file)


@contextmanager
def open_session(
    selection: GraphSelection, on_progress: ProgressCallback = no_progress, *, all_environments: bool = False
) -> Iterator[Session]:
    """Open a graph. `all_environments`: also those of a history that the configuration does not set.

    Raises `ConfigError`, `GraphError`, `EmbeddedError`, `IntermediateError`, `SourceError`, `NotFound`.
    """
    config, environment = selection.config()
    if selection.run:
        from lineage_merge.orchestration.run_lineage import read_run

        scope = GraphScope(environment, selection.dag)
        yield Session(read_run(config, selection.run, on_progress), scope, config, selection=selection)
        return
    if selection.as_of:
        from lineage_merge.history.moments import parse_moment
        from lineage_merge.questions.past import as_of

        moment = parse_moment(selection.as_of)
        location = require_history(selection.history, config, selection.graph_file)
        past = as_of(location, moment, None if all_environments else environment, on_progress)
        scope = GraphScope(environment, selection.dag, selection.as_of, tuple(past.merges))
        yield Session(past.graph, scope, config, selection=selection, moment=str(moment))
        return
    require_graph_file(selection.graph_file, selection.demo)
    from lineage_merge.questions.backends.opening import open_graph

    is_own = selection.is_own_graph and config.gremlin.endpoint == EMBEDDED
    with open_graph(selection.folder or config.gremlin, on_progress, selection.graph_file) as graph:
        scope = GraphScope(environment, selection.dag)
        yield Session(graph, scope, config, is_own, selection=selection)


def session_without_graph(selection: GraphSelection, on_progress: ProgressCallback = no_progress) -> Session:
    """Return a session for questions to the history alone: the graph itself may be unreachable."""
    from lineage_merge.questions.backends.in_memory import InMemory

    config, environment = selection.config()
    scope = GraphScope(environment, selection.dag, selection.as_of)
    return Session(InMemory((), ()), scope, config, selection=selection, on_progress=on_progress)


def require_history(location: str, config: "Config", graph_file: Path | None) -> str:
    """Return the location of the history: `--history`, or that of the graph. Raises `ConfigError`."""
    from lineage_merge.history.layout import history_location

    if history := location.rstrip("/") or history_location(config, graph_file):
        return history
    raise ConfigError("history.location", HISTORY_MISSING)


def require_graph_file(graph_file: Path | None, demo: bool) -> None:
    """Raise `ConfigError` if a selected graph to read does not exist."""
    if graph_file is None or graph_file.exists():
        return
    if demo:
        raise ConfigError("--demo", "the demo has no graph. Fix: lineage-merge demo")
    raise ConfigError("--graph-file", f"no such file: {graph_file}")
