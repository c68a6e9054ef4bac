"""Near misses of a whole environment: also of datasets that different DAGs write and read."""

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from lineage_merge.graph_format.elements import Edge
from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.near_misses.collection import Details, NearMisses
from lineage_merge.merge.near_misses.collection import find_near_misses as of_rows
from lineage_merge.merge.report import Dismissed, NearMiss
from lineage_merge.questions.graph import LineageGraph

if TYPE_CHECKING:
    from lineage_merge.config import Config


def read_near_misses(graph: LineageGraph, config: "Config") -> NearMisses:
    """Return the near misses of `config.environment`; fixes are changes of this configuration.

    Reads the edges between datasets and their jobs, and the columns of similar datasets.
    """
    edges = graph.everything(config.environment, None, ("feeds", "writes"))
    rows = LocalEngine().rows(_row(edge) for edge in edges if isinstance(edge, Edge))
    return of_rows(rows, config, partial(_details_of, graph))


def read_near_misses_of(
    graph: LineageGraph, config: "Config", environments: Iterable[str]
) -> list[NearMiss | Dismissed]:
    """Return the near misses of these environments, dismissed ones at the end."""
    runs = [
        read_near_misses(graph, replace(config, environment=environment))
        for environment in sorted(environments)
    ]
    return [pair for run in runs for pair in run.found] + [pair for run in runs for pair in run.dismissed]


def _row(edge: Edge) -> Row:
    return {
        "label": edge.label,
        "from": edge.from_id,
        "to": edge.to_id,
        "job_type": edge.properties.get("job_type", ""),
        "job_name": edge.job,
    }


def _details_of(graph: LineageGraph, ids: frozenset[str], others: frozenset[str]) -> Details:
    details = Details()
    for edge in graph.edges_from(sorted(ids), ("has_column",)):
        details.add(_row(edge))
    for vertex in graph.vertices(sorted(ids | others)):
        names = {
            name: vertex.properties[name]
            for name in ("qualified_name", "resolved_names")
            if name in vertex.properties
        }
        details.add({"label": vertex.label, "id": vertex.id, **names})
    return details
