"""Loads of drawn merges into a real graph: repeated loads change nothing, nor elements of other DAGs."""

from collections.abc import Iterable
from functools import reduce
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from hypothesis import given

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint, open_client
from lineage_merge.load.gremlin.upserts import bytecode, edge_upsert, vertex_upserts
from lineage_merge.load.load_plan import MergeOutput
from lineage_merge.load.result import LoadResult
from lineage_merge.load.server.update import update
from lineage_merge.merge import join
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.identity_rules import Rules
from lineage_merge.model.elements import Alias, Element, Job
from tests.graph_reading import whole
from tests.made_merges import ALL, merge_of_rows
from tests.properties.drawn import examples
from tests.properties.elements import elements, placed

pytestmark = pytest.mark.jvm

Row = dict[str, Any]
Graph = tuple[dict[str, Any], dict[str, Any]]
# All runs of a job were later than what it does not write any more.
LATER_RUNS = 9


def drawn(count: int) -> list[Element]:
    """So many lists of elements together, each under names of its own."""
    found: list[list[Element]] = []

    @examples(count)
    @given(elements())
    def collect(elements: list[Element]) -> None:
        # Which name is another's is asked of the graph too, and is a matter of its own.
        found.append([each for each in elements if not isinstance(each, Alias)])

    collect()
    by_number = ([placed(each, f"q{number:04}q") for each in some] for number, some in enumerate(found))
    return reduce(lambda one, other: one + other, by_number)


def rows_of(elements: Iterable[Element], environment: str, dag_name: str) -> join.Graph:
    return join.merge_locally(DatasetResolver(environment, Rules()).records(elements), environment, dag_name)


def load(engine: Engine, url: str, rows: join.Graph) -> LoadResult:
    jobs = [(row["job_type"], row["name"]) for row in rows.nodes if row["label"] == "job"]
    made: MergeOutput = merge_of_rows(
        engine, rows.nodes, rows.edges, runs=[(*each, LATER_RUNS) for each in jobs], coverage=ALL
    )
    whose = rows.nodes[0]["environment"], rows.nodes[0]["dag_name"]
    return update(made, Endpoint(url), *whose, allow_retire=True)


def half_loaded(url: str, rows: join.Graph) -> None:
    """What a load leaves that was killed while it wrote edges."""
    vertices = [each for row in rows.nodes for each in vertex_upserts(row)]
    edges = [edge_upsert(row) for row in rows.edges[: len(rows.edges) // 2]]
    with open_client(Endpoint(url), 1) as client:
        for upserts in (vertices, edges):
            for start in range(0, len(upserts), 30):
                client.submit(bytecode(upserts[start : start + 30])).all().result()


def edges_of_dag(graph: Graph, dag_name: str) -> dict[str, Any]:
    return {key: each for key, each in graph[1].items() if each[3]["dag_name"] == dag_name}


def flows(graph: Graph, dag_name: str) -> set[str]:
    """The edges of a DAG as texts, with its name left out."""
    return {
        str((start, label, end, sorted(values.items()))).replace(dag_name, "DAG")
        for start, label, end, values in edges_of_dag(graph, dag_name).values()
    }


def test_killed_repeated_and_retiring_loads_touch_only_their_own_elements(
    gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    engine = LocalEngine()
    elements = drawn(12)
    daily, nightly, prod = (
        rows_of(elements, *whose) for whose in (("dev", "daily"), ("dev", "nightly"), ("prod", "daily"))
    )
    half_loaded(gremlin_url, daily)
    load(engine, gremlin_url, daily)
    load(engine, gremlin_url, nightly)
    load(engine, gremlin_url, prod)

    full = whole(gremlin)
    assert flows(full, "nightly") == flows((full[0], _of(full[1], "dev|")), "daily")
    assert set(edges_of_dag(full, "nightly")) == {row["id"] for row in nightly.edges}
    assert {row["id"] for rows in (daily, nightly, prod) for row in rows.nodes} == set(full[0])

    again = load(engine, gremlin_url, daily)
    assert (again.nodes, again.edges, again.retired_edges) == (0, 0, 0)
    assert whole(gremlin) == full

    # Every second thing that the DAG did is done no more; its jobs run on.
    remaining = [each for number, each in enumerate(elements) if number % 2 or isinstance(each, Job)]
    retired = load(engine, gremlin_url, rows_of(remaining, "dev", "daily"))
    assert retired.retired_edges > 0
    left = whole(gremlin)
    assert edges_of_dag(left, "nightly") == edges_of_dag(full, "nightly")
    assert _of(left[1], "prod|") == _of(full[1], "prod|")
    for key, (label, values) in full[0].items():
        if key.startswith("prod|"):
            assert left[0][key] == (label, values)
        elif "nightly" in values["dag_name"]:
            assert "nightly" in left[0][key][1]["dag_name"], key
    ends = {end for start, _, target, _ in left[1].values() for end in (start, target)}
    assert ends <= set(left[0])


def _of(edges: dict[str, Any], environment: str) -> dict[str, Any]:
    return {key: each for key, each in edges.items() if each[0].startswith(environment)}
