"""Elements of the graph as a load compares them, and what reads them."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.rows import Engine, Rows

# Suffix of an edge's interim id while `load.gremlin.label_replacement` recreates its vertex.
INTERIM = "~"
# Vertices that belong to the loader, not to a merge.
LOADER_LABELS = ("merge_run", "merge_state")


class StoredVertex(NamedTuple):
    """A vertex of the graph.

    `label`: ``A::B`` if it has several (`schema.labels_of`). `properties`: see `load.element_rows`.
    `tagged`: has the DAG's tag. `others`: other DAGs whose tags it has. `built_elsewhere`: a job of another
    DAG writes it, or the dataset whose column it is.
    """

    id: str
    label: str
    properties: Row
    tagged: bool
    others: tuple[str, ...]
    built_elsewhere: bool

    @property
    def shared(self) -> bool:
        """Return whether it has the tag of another DAG."""
        return bool(self.others)


class StoredEdge(NamedTuple):
    """An edge of the DAG; `interim`: stored with an interim id (`load.gremlin.label_replacement`)."""

    id: str
    label: str
    from_id: str
    to_id: str
    properties: Row
    interim: bool


class AliasOf(NamedTuple):
    """An alias of a vertex, as ``namespace|name (rule)``."""

    id: str
    label: str
    alias: str


@dataclass(frozen=True, slots=True)
class GraphState:
    """The stored elements of a DAG."""

    vertices: Rows[StoredVertex]
    edges: Rows[StoredEdge]


class DagReader(Protocol):
    """Reads what a graph stores of a DAG: `gremlin.running_load.LoadTarget`, `folder.state.FolderState`."""

    @property
    def environment(self) -> str: ...

    @property
    def dag_name(self) -> str: ...

    def read_state(self, ids: Rows[str]) -> GraphState:
        """Read the vertices of `ids` and of the DAG, and the DAG's edges."""

    def read_aliases(self, engine: Engine) -> Rows[AliasOf]:
        """Read all aliases of the environment's vertices."""


class Picture(NamedTuple):
    """The stored vertices with a DAG's tag, and the DAG's edges."""

    nodes: Rows[Row]
    edges: Rows[Row]


class PictureTables(NamedTuple):
    """The same as tables of Arrow, nodes sorted by id, edges by target."""

    nodes: Any
    edges: Any
