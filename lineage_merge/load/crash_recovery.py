"""Repairs edges that a killed load left with interim ids.

While `load.label_replacement` recreates a vertex, edges of all DAGs have interim ids for a moment. Each DAG's
next load repairs its own edges, but may be a long time coming, so the next load of the killed load's DAG
repairs all of them.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import TextP

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.graph_state import vertex_ids
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import INTERIM, project_edges
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.label_replacement import replace_interim_edges
from lineage_merge.load.snapshot import Edge


def repair_interim_edges(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> None:
    """Replace interim ids of the edges at vertices of these ids or of the DAG.

    Reads all of these vertices' edges, so it only runs if the last load did not end. Raises GraphUnreachable
    and GraphRejected, from the engine's workers.
    """
    vertex_ids(ids, endpoint, environment, dag_name).map_partitions(partial(_repair, endpoint)).collect()


def _repair(endpoint: Endpoint, vertices: Iterable[str]) -> Iterator[int]:
    repaired = 0
    with open_executor(endpoint) as execute:
        for ids in by_request(vertices):
            # Both ends of an edge may be in the batch.
            found = {each["id"]: each for each in execute(partial(interim_edges, ids=ids))}
            edges = [Edge.of(each) for each in found.values()]
            if edges:
                replace_interim_edges(endpoint, execute, edges)
            repaired += len(edges)
    yield repaired


def interim_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """Return the edges with interim ids at these vertices, of all DAGs."""
    return project_edges(g.V(*ids).both_e().has_id(TextP.ending_with(INTERIM)))
