"""Results of loads and removals. Does not import Spark: Airflow reads them from a merge's folder."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

Effect = Literal["none", "runs", "lineage"]
# Called with ``"nodes"`` or ``"edges"``, the written partitions, and all.
WriteProgress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class LoadResult:
    """The result of a load: upserted elements, requests that wrote them, and duration.

    A load that compared with the graph also counts elements that were `unchanged`, retired, relabelled or
    moved to their canonical vertex. `changes` and `retirements`: the first of them as text.
    `dry_run`: nothing was written, the counts are those of a real load, and `refusal` is why it would stop.
    `mode`: over Gremlin only, mostly in bulk (`load.neptune_bulk`), or into a folder (`load.folder`);
    `mode_reason`: why, if the bulk loader is configured. `compared`: with all stored elements of the DAG, or
    only with differences from the last load. `exported`: a line per exporter that ran after the load.
    `all_requests`: writing (`requests`) and other requests. `elements_read`: elements, ids and numbers in
    their responses. `added`: elements that are new, of `nodes` and `edges`. `effect`: nothing was written,
    only properties of jobs and assertions (`runs`), or more. `moves`: (id, new id) of the moved datasets.
    """

    nodes: int
    edges: int
    requests: int
    seconds: float
    unchanged: int = 0
    retired_nodes: int = 0
    retired_edges: int = 0
    relabelled: int = 0
    moved: int = 0
    changes: tuple[str, ...] = ()
    retirements: tuple[str, ...] = ()
    dry_run: bool = False
    refusal: str = ""
    mode: Literal["gremlin", "bulk", "folder"] = "gremlin"
    mode_reason: str = ""
    compared: Literal["full", "changes"] = "full"
    exported: tuple[str, ...] = ()
    all_requests: int = 0
    elements_read: int = 0
    added: int = 0
    effect: Effect = "lineage"
    moves: tuple[tuple[str, str], ...] = ()

    @property
    def counts(self) -> dict[str, int]:
        """The counts of a load in logs, metrics and spans; a dry run writes nothing."""
        wrote = 0 if self.dry_run else 1
        return {
            "vertices_written": self.nodes * wrote,
            "edges_written": self.edges * wrote,
            "elements_unchanged": self.unchanged,
            "vertices_retired": self.retired_nodes * wrote,
            "edges_retired": self.retired_edges * wrote,
            "datasets_moved": self.moved * wrote,
            "requests": self.requests * wrote,
        }


class ChangedIds(NamedTuple):
    """The ids of the vertices and edges that a load may have written or deleted."""

    vertices: frozenset[str]
    edges: frozenset[str]


class LoadChanges(NamedTuple):
    """What a load changed of its DAG, whose lineage in the graph it found as `before` and left as `after`.

    Both: see `load.merge_run.LastLoad.edition`; "": unknown.
    """

    ids: ChangedIds
    before: str
    after: str


ChangedCallback = Callable[[LoadChanges], None]


def ignore_changed(_: LoadChanges) -> None:
    """Do nothing with what a load changed."""


@dataclass(frozen=True, slots=True)
class Removed:
    """Numbers of removed edges, of dropped vertices, and of vertices that only lost the tag.

    Vertices are a lower bound: the effect of a request whose response was lost is not counted.
    """

    edges: int
    dropped: int
    untagged: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """A DAG of an environment, or one `job` of it (by name, of any type)."""

    environment: str
    dag_name: str
    job: str = ""
