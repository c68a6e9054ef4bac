"""What a load did. Without Spark: Airflow's side reads it out of a merge's folder."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LoadResult:
    """What a load wrote: elements upserted, requests sent for them, and how long it took.

    After a comparison with the graph (`load.update`) also what it found `unchanged`, retired, gave another
    label, or moved to the vertex that it turned out to be. `changes` and `retirements` are the first of them,
    in words. `dry_run`: nothing was written, the numbers tell what would be, and `refusal` why a real load
    would stop. `way`: over Gremlin alone, or the larger part through Neptune's bulk loader
    (`load.neptune_bulk.bulk_load`). `compared`: with all that the graph has of the DAG, or only what differs
    from what the last load wrote (`load.incremental_diff`). `exported`: what sinks took afterwards, a line
    for each. `all_requests`: those that write elements (`requests`) and all others; `elements_read`:
    elements, ids and numbers in their answers.
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
    way: Literal["gremlin", "bulk"] = "gremlin"
    compared: Literal["in full", "what changed"] = "in full"
    exported: tuple[str, ...] = ()
    all_requests: int = 0
    elements_read: int = 0
