"""What a load that was killed may have left of other DAGs, set right by the next load of its own.

Where `load.label_replacement` makes a vertex anew, edges of every DAG have interim ids for a moment. Each
DAG's own load would find its own again, but theirs may not come, and until then they are other edges than
before.
"""

from collections.abc import Iterable, Iterator
from functools import partial

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import TextP

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.load.graph_state import wanted
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.element_reads import INTERIM, project_edges
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.label_replacement import settle_interim
from lineage_merge.load.snapshot import Edge


def settle(ids: Rows[str], endpoint: Endpoint, environment: str, dag_name: str) -> None:
    """Give edges their own ids that hang on vertices of these ids or of the DAG.

    It reads all of them, so it is for when the last load did not end. Raises GraphUnreachable and
    GraphRejected, from the engine's workers.
    """
    wanted(ids, endpoint, environment, dag_name).map_partitions(partial(_settle, endpoint)).collect()


def _settle(endpoint: Endpoint, vertices: Iterable[str]) -> Iterator[int]:
    settled = 0
    with open_executor(endpoint) as ask:
        for ids in by_request(vertices):
            # Both ends of an edge may be among them.
            found = {each["id"]: each for each in ask(partial(interim_edges, ids=ids))}
            edges = [Edge.of(each) for each in found.values()]
            if edges:
                settle_interim(endpoint, ask, edges)
            settled += len(edges)
    yield settled


def interim_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """The edges at these vertices whose ids have still to be set right, of whichever DAG."""
    return project_edges(g.V(*ids).both_e().has_id(TextP.ending_with(INTERIM)))
