"""Freshness, tests and causes: equal answers of all backends, in few requests."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.executor import open_executor
from lineage_merge.query import Lineage
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.listing import JobOrder
from lineage_merge.questions.traversal.causes import diagnose
from lineage_merge.questions.traversal.checks import all_checks, checks_upstream
from lineage_merge.questions.traversal.staleness import Expectations, freshness
from tests.lineage_made import at, col
from tests.questions.test_round_trips import Counted
from tests.runs_made import HOUR, MadeRuns

pytestmark = pytest.mark.jvm

NOW = 100 * HOUR
DEPTH = 150


def made() -> MadeRuns:
    """A chain of 150 datasets of two DAGs, with runs, tests and a freshness check of each kind."""
    found = MadeRuns().chain(
        " > ".join(f"t{n:03}" for n in range(DEPTH)), *(60 + n // 10 for n in range(1, DEPTH))
    )
    found.loaded("t000", 20, "failed").columns("t147.x > t148.x", job="to_t148")
    found.columns("t148.x > t149.x", job="to_t149")
    found.ran("to_t149", 75).ran("to_t100", 90, "failed", rows_written=7, owners=["data@example.com"])
    found.check("unique_x", "t148.x", "failed", 80, failures=3, severity="error")
    found.check("rows", "t149", "passed", 80, severity="warn")
    found.flow("t149 > mart > report!", job="night", dag="nightly").ran("night", 40, dag="nightly")
    found.dataset("unknown", "nightly")
    return found


def one(graph: LineageGraph, identifier: str) -> Vertex:
    (found,) = graph.vertices([identifier])
    return found


def freshness_of_all(graph: LineageGraph) -> Any:
    return freshness(graph, Expectations(NOW, 24 * HOUR), environment="dev")


def freshness_of_a_dag(graph: LineageGraph) -> Any:
    return freshness(graph, Expectations(NOW), environment="dev", dag="nightly")


def freshness_of_a_mart(graph: LineageGraph) -> Any:
    return freshness(graph, Expectations(NOW), one(graph, at("mart")))


def checks_of_all(graph: LineageGraph) -> Any:
    return all_checks(graph, "dev", "daily").checks


def checks_of_a_mart(graph: LineageGraph) -> Any:
    return checks_upstream(graph, one(graph, at("mart"))).checks


def checks_of_a_column(graph: LineageGraph) -> Any:
    return checks_upstream(graph, one(graph, col("t149", "x"))).checks


def causes_of_a_report(graph: LineageGraph) -> Any:
    return diagnose(graph, one(graph, at("report!")), Expectations(NOW, 24 * HOUR)).causes


def causes_of_a_column(graph: LineageGraph) -> Any:
    return diagnose(graph, one(graph, col("t149", "x")), Expectations(NOW)).causes


def jobs_by(order: JobOrder) -> Callable[[LineageGraph], Any]:
    return lambda graph: Lineage.of_graph(graph).jobs(since=60 * HOUR, order=order, limit=20).jobs


QUESTIONS: dict[str, tuple[Callable[[LineageGraph], Any], int, int]] = {
    # The question, the number of its results, and the most requests.
    "freshness": (freshness_of_all, 153, 16),
    "freshness of a DAG": (freshness_of_a_dag, 4, 16),
    "freshness of a mart": (freshness_of_a_mart, 151, 8),
    "tests": (checks_of_all, 3, 4),
    "tests of a mart": (checks_of_a_mart, 3, 7),
    "tests of a column": (checks_of_a_column, 2, 7),
    "causes": (causes_of_a_report, 152, 15),
    "causes of a column": (causes_of_a_column, 1, 15),
    "jobs by name": (jobs_by("name"), 20, 2),
    "jobs by last run": (jobs_by("last-run"), 20, 2),
    "jobs by rows": (jobs_by("rows"), 20, 2),
}


@pytest.fixture
def server(gremlin: GraphTraversalSource, gremlin_url: str) -> Iterator[Counted]:
    made().load(gremlin_url)
    with open_executor(Endpoint(gremlin_url)) as ask:
        yield Counted(ask)


def test_all_backends_give_equal_answers_in_few_requests(server: Counted, tmp_path: Path) -> None:
    memory = made().graph()
    with open_graph(Path(made().folder(tmp_path))) as folder:
        for name, (question, number, most) in QUESTIONS.items():
            expected = question(memory)
            assert (name, len(expected)) == (name, number)
            server.asked = 0
            assert question(server) == question(folder) == expected, name
            assert server.asked <= most, (name, server.asked)
