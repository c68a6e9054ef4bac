"""Reads what the graph stores of one environment and DAG, as node and edge rows in partitions."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any, NamedTuple

from lineage_merge.graph_format.schema import RUN_LABELS, Row, one_label
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.load import merge_run, merge_state
from lineage_merge.load.graph_state import edges_from, tagged_ids, vertex_ids
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import by_request, open_executor
from lineage_merge.load.property_values import stored_edge_values, stored_first_seen, stored_vertex_values
from lineage_merge.load.snapshot import INTERIM, vertices_by_id

_LOADER_LABELS = (merge_run.LABEL, merge_state.LABEL)


class Picture(NamedTuple):
    """The stored vertices with a DAG's tag, and the DAG's edges."""

    nodes: Rows[Row]
    edges: Rows[Row]


def read_picture(engine: Engine, endpoint: Endpoint, environment: str, dag_name: str) -> Picture:
    """Read all elements of a DAG. Raises GraphUnreachable and GraphRejected, from the engine's workers.

    The rows have all stored properties, and those of vertices the DAG's tag only.
    """
    no_ids: Rows[str] = engine.empty()
    ids = vertex_ids(no_ids, endpoint, environment, dag_name)
    found = ids.map_partitions(partial(_fetch, endpoint, dag_name)).cache()
    return Picture(found.filter(lambda row: "from" not in row), found.filter(lambda row: "from" in row))


def read_runs(engine: Engine, endpoint: Endpoint, environment: str, dag_name: str) -> Rows[Row]:
    """Read the vertices of a DAG that have properties of their newest run. Errors as in `read_picture`."""
    labels = engine.rows(sorted(RUN_LABELS), 1)
    ids = labels.flat_map(partial(_tagged_of_label, endpoint, environment, dag_name))
    return ids.repartition(engine.parallelism).map_partitions(partial(_fetch_vertices, endpoint, dag_name))


def _tagged_of_label(endpoint: Endpoint, environment: str, dag_name: str, label: str) -> list[str]:
    with open_executor(endpoint) as execute:
        query = partial(tagged_ids, environment=environment, dag_name=dag_name, label=label)
        return [*dict.fromkeys(execute(query))]


def _fetch(endpoint: Endpoint, dag_name: str, ids: Iterable[str]) -> Iterator[Row]:
    with open_executor(endpoint) as execute:
        for batch in by_request(ids):
            for vertex in execute(partial(vertices_by_id, ids=batch)):
                if vertex["label"] not in _LOADER_LABELS:
                    yield _node(vertex, dag_name)
            edges = {
                _edge_id(each): each for each in execute(partial(edges_from, ids=batch, dag_name=dag_name))
            }
            for edge in edges.values():
                yield _edge(edge, dag_name)


def _fetch_vertices(endpoint: Endpoint, dag_name: str, ids: Iterable[str]) -> Iterator[Row]:
    with open_executor(endpoint) as execute:
        for batch in by_request(ids):
            for vertex in execute(partial(vertices_by_id, ids=batch)):
                yield _node(vertex, dag_name)


def _node(vertex: dict[str, Any], dag_name: str) -> Row:
    values = stored_vertex_values(vertex["properties"]) | stored_first_seen(vertex["properties"])
    return {"id": vertex["id"], "label": one_label(vertex["label"]), "dag_name": dag_name, **values}


def _edge(edge: dict[str, Any], dag_name: str) -> Row:
    ends = {"id": _edge_id(edge), "label": edge["label"], "from": edge["from"], "to": edge["to"]}
    values = stored_edge_values(edge["properties"]) | stored_first_seen(edge["properties"])
    return {**ends, "dag_name": dag_name, **values}


def _edge_id(edge: dict[str, Any]) -> str:
    identifier: str = edge["id"]
    return identifier.removesuffix(INTERIM)
