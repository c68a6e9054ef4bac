"""What a load that was killed may have left of other DAGs, set right by the next load of its own.

Where `load.replace` makes a vertex anew, edges of every DAG have interim ids for a moment. Each DAG's own
load would find its own again, but theirs may not come, and until then they are other edges than before.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

from gremlin_python.process.graph_traversal import GraphTraversal, GraphTraversalSource
from gremlin_python.process.traversal import TextP
from pyspark.sql import DataFrame

from lineage_merge.load.connection import Endpoint
from lineage_merge.load.existing import wanted
from lineage_merge.load.held import INTERIM, project_edges
from lineage_merge.load.replace import settle_interim
from lineage_merge.load.sending import asking, by_request
from lineage_merge.load.snapshot import Edge


def settle(nodes: DataFrame, endpoint: Endpoint, environment: str, dag_name: str) -> None:
    """Give edges their own ids that hang on `nodes` (by `id`) or on vertices of the DAG.

    It looks at all of them, so it is for when the last load did not end. Raises GraphUnreachable and
    GraphRejected, from Spark's workers.
    """

    def of_some(rows: Iterable[Any]) -> Iterator[int]:
        settled = 0
        with asking(endpoint) as ask:
            for ids in by_request(row.id for row in rows):
                # Both ends of an edge may be among them.
                found = {each["id"]: each for each in ask(partial(interim_edges, ids=ids))}
                edges = [Edge.of(each) for each in found.values()]
                if edges:
                    settle_interim(endpoint, ask, edges)
                settled += len(edges)
        yield settled

    wanted(nodes, endpoint, environment, dag_name).rdd.mapPartitions(of_some).collect()


def interim_edges(g: GraphTraversalSource, ids: list[str]) -> GraphTraversal:
    """The edges at these vertices whose ids have still to be set right, of whichever DAG."""
    return project_edges(g.V(*ids).both_e().has_id(TextP.ending_with(INTERIM)))
