"""Elements of the graph as a load compares them."""

from typing import NamedTuple

from lineage_merge.graph_format.schema import Row

# Suffix of an edge's interim id while `load.label_replacement` recreates its vertex.
INTERIM = "~"


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
    """An edge of the DAG; `interim`: stored with an interim id (`load.label_replacement`)."""

    id: str
    label: str
    from_id: str
    to_id: str
    properties: Row
    interim: bool
