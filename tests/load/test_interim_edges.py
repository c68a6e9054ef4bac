"""Edges with interim ids, left by a load that was killed while it replaced a vertex."""

import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.graph_state import INTERIM
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.server.update import update
from tests.load.changing_pipeline import after, before, graph, restore
from tests.made_merges import Made, dataset

pytestmark = pytest.mark.jvm


@pytest.mark.parametrize("own_too", [False, True], ids=["before their own", "beside their own"])
def test_edges_of_a_killed_load_get_their_final_ids_and_the_properties_of_the_next_merge(
    engine: Engine, gremlin_url: str, own_too: bool
) -> None:
    server = Endpoint(gremlin_url)
    restore(server, ({}, {}))
    update(before().merge(engine), server, "dev", "d")
    vertices, edges = graph(server)
    update(after().merge(engine), server, "dev", "d")
    right = graph(server)
    interim = {f"{key}{INTERIM}": edge for key, edge in edges.items()}

    restore(server, (vertices, interim | (edges if own_too else {})))
    update(after().merge(engine), server, "dev", "d")

    assert graph(server) == right


def test_the_next_load_repairs_interim_edges_of_another_dag(engine: Engine, gremlin_url: str) -> None:
    server = Endpoint(gremlin_url)
    restore(server, ({}, {}))
    other = Made("other").job("spark", "j", {"x": ["view_or_table"]})
    update(other.merge(engine), server, "dev", "other")
    update(after().merge(engine), server, "dev", "d")
    right = graph(server)
    vertices, edges = graph(server)
    vertices["dev|d|merge_run"][1]["load_token"] = ["the killed one"]
    replaced = dataset("view_or_table")
    of_other = {key for key, edge in edges.items() if replaced in edge[:3] and edge[3]["dag_name"] == "other"}

    restore(server, (vertices, {key + INTERIM * (key in of_other): edge for key, edge in edges.items()}))
    update(after().merge(engine), server, "dev", "d")

    assert of_other
    assert graph(server) == right
