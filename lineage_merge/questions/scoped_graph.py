"""The graph that a question reads, with its scope and configuration."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import ConfigError, NotFound
from lineage_merge.questions.names import check_scope, resolve_any, resolve_dataset_or_column

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.graph_format.elements import Vertex
    from lineage_merge.history.pictures import ScopedMerge
    from lineage_merge.questions.graph import LineageGraph

_EMPTY = "the graph is empty"
HISTORY_MISSING = "no history is configured. Fix: set the key, or --history LOCATION"


class GraphScope(NamedTuple):
    """What a question covers: an environment and DAG (None: all), as of a moment (None: now).

    `merges`: those of the history that the answer is made of.
    """

    environment: str | None = None
    dag: str | None = None
    as_of: str | None = None
    merges: "tuple[ScopedMerge, ...]" = ()


@dataclass(frozen=True, slots=True)
class ScopedGraph:
    """An open graph. `is_own`: it is the user's own embedded graph; `on_progress`: for long questions."""

    graph: "LineageGraph"
    scope: GraphScope
    config: "Config"
    is_own: bool = False
    on_progress: ProgressCallback = no_progress

    @property
    def environment(self) -> str | None:
        """The environment; None: all."""
        return self.scope.environment

    @property
    def dag(self) -> str | None:
        """The DAG; None: all."""
        return self.scope.dag

    @property
    def history(self) -> str | None:
        """The location of the history of this graph; None: it has none."""
        return None

    @property
    def is_folder(self) -> bool:
        """Whether the graph is a folder of `build`."""
        return False

    def require_history(self) -> str:
        """Return the location of the history. Raises `ConfigError` without one."""
        raise ConfigError("history.location", HISTORY_MISSING)

    def dataset_or_column(self, name: str) -> "Vertex":
        """Return the dataset or column of a name. Raises `NotFound`, `Ambiguous`."""
        with self.hints():
            return resolve_dataset_or_column(self.graph, name, self.environment, self.dag)

    def element(self, name: str) -> "Vertex":
        """Return the dataset, column or job of a name. Raises `NotFound`, `Ambiguous`."""
        with self.hints():
            return resolve_any(self.graph, name, self.environment, self.dag)

    def empty_hint(self) -> str:
        """Return a note if the graph is the user's own embedded graph, and empty; otherwise ""."""
        from lineage_merge.graph_format.elements import VERTEX_LABELS

        is_empty = self.is_own and not self.graph.search("", VERTEX_LABELS, limit=1)
        return empty_hint() if is_empty else ""

    def empty_note(self, note: str) -> str:
        """Return the note of an empty answer. Raises `NotFound` if the environment or DAG is unknown."""
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


def empty_hint() -> str:
    """Return a note about the user's own graph, which is empty."""
    from lineage_merge.infra.graph_files import demo_graph_file

    if demo_graph_file().exists():
        return f"{_EMPTY}; the demo's lineage: add --demo"
    return f"{_EMPTY}. Fix: lineage-merge run --config FILE"
