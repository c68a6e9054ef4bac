"""Reviews whose graph is behind a Gremlin endpoint give the findings of the same graph in memory."""

from collections.abc import Iterator

import pytest

from lineage_merge.graph_format.elements import Edge, Vertex
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.review.assessment import review_dbt
from tests.lineage_made import MadeLineage
from tests.review.dbt_pull_requests.versions import document, file_of, scope
from tests.review.test_review_dbt import merged
from tests.review.test_review_history import rows_of

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def graph() -> Iterator[LineageGraph]:
    found = merged()
    elements = [*found.everything(), *found.everything(labels=("assertion", "checks", "references"))]
    made = MadeLineage()
    for each in elements:
        if isinstance(each, Vertex):
            made.nodes[each.id] = rows_of(each, each.dags[0])
        elif isinstance(each, Edge):
            made.edges[each.id] = rows_of(each, str(each.properties["dag_name"]))
    with EmbeddedServer(None) as server:
        made.load(server.url)
        with open_graph(Endpoint(server.url)) as opened:
            yield opened


@pytest.mark.parametrize("name", ["drop", "moved_model", "filter"])
def test_the_findings_are_those_of_the_graph_in_memory(graph: LineageGraph, name: str) -> None:
    files = file_of(document("base")), file_of(document(name))
    found, expected = (review_dbt(*files, scope(), each) for each in (graph, merged()))
    assert found.summary == expected.summary
    for one, other in zip(found.findings, expected.findings, strict=True):
        assert one.finding == other.finding
        assert {(each.vertex.id, each.effect) for each in one.affected} == {
            (each.vertex.id, each.effect) for each in other.affected
        }
        assert (one.owners, one.dags) == (other.owners, other.dags)
        assert {each.vertex.id for each in one.tests} == {each.vertex.id for each in other.tests}


def test_only_what_is_downstream_is_requested(graph: LineageGraph, monkeypatch: pytest.MonkeyPatch) -> None:
    def whole(*_: object) -> None:
        raise AssertionError("the whole graph is read")

    monkeypatch.setattr(graph, "everything", whole)
    files = file_of(document("base")), file_of(document("drop"))
    assert review_dbt(*files, scope(), graph).summary == "1 breaking"
