"""Policies on a pipeline with expected violations, and on the corrected pipeline, on all backends."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.config import Propagation
from lineage_merge.config.propagation import Cleared
from lineage_merge.graph_format.elements import Vertex, edge_of_row, vertex_of_row
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.policies import PolicyCheck, check_policies
from tests.dbt_shop import graph as shop_graph
from tests.lineage_made import MadeLineage, at, col
from tests.policy_pipeline import POLICIES, corrected, layers, parsed, violating
from tests.runs_made import HOUR, MadeRuns

# By policy: title, message, datasets of the path.
EXPECTED = {
    (
        "no-pii-in-marts",
        "wh.marts.customers#mail",
        "carries pii of s3://lake/customers#email",
        "customers|email > wh.staging.customers|email > wh.marts.customers|mail",
    ),
    (
        "no-pii-in-exports",
        "s3://export/daily#email",
        "carries pii of wh.staging.sales#email",
        "wh.staging.sales|email > daily|email",
    ),
    ("no-secrets-in-staging", "wh.staging.sales#token", "has the tag secret", ""),
    (
        "marts-read-no-raw",
        "wh.marts.churn",
        "reads s3://lake/customers of layer raw through 1 without a layer",
        "customers > wh.tmp.view > wh.marts.churn",
    ),
    (
        "staging-reads-no-mart",
        "wh.staging.back",
        "reads wh.marts.churn of layer mart",
        "wh.marts.churn > wh.staging.back",
    ),
    (
        "raw-reads-nothing",
        "s3://lake/cycle",
        "reads wh.staging.back of layer staging",
        "wh.staging.back > cycle",
    ),
    ("marts-are-owned", "wh.marts.churn", "has no description", ""),
    ("staging-is-tested", "wh.staging.customers", "has no test", ""),
    ("raw-is-fresh", "s3://lake/cycle", "has no freshness or tag raw", ""),
    (
        "revenue-is-fed-by-sales",
        "wh.marts.revenue",
        "is not fed by s3a://lake/sales/; it reads wh.staging.sales",
        "",
    ),
    (
        "marts-are-fed-by-the-lake",
        "wh.marts.orphan",
        "is not fed by s3://lake/*; it reads wh.tmp.local",
        "",
    ),
    ("forecast-has-a-contract", "wh.marts.forecast", "is missing in the graph", ""),
}


def short(identifier: str) -> str:
    return identifier.split("|", 2)[2]


def found(check: PolicyCheck) -> set[tuple[str, str, str, str]]:
    return {
        (
            result.policy.name,
            each.title,
            each.message,
            " > ".join(
                [*(short(edge.from_id) for edge in each.path[:1]), *(short(e.to_id) for e in each.path)]
            ),
        )
        for result in check.results
        for each in result.violations
    }


def in_memory(made: MadeLineage) -> InMemory:
    return InMemory(map(vertex_of_row, made.nodes.values()), map(edge_of_row, made.edges.values()))


def checked(
    made: MadeLineage, policies: list[dict[str, Any]] | None = None, dag: str | None = None
) -> PolicyCheck:
    return check_policies(in_memory(made), parsed(policies), layers=layers(), environment="dev", dag=dag)


@contextmanager
def opened(backend: str, made: MadeLineage, folder: Path) -> Iterator[LineageGraph]:
    if backend == "memory":
        yield in_memory(made)
        return
    with open_graph(Path(made.folder(folder / "lineage"))) as graph:
        yield graph


@pytest.fixture(scope="module")
def violating_url() -> Iterator[str]:
    with EmbeddedServer(None) as server:
        violating().load(server.url)
        yield server.url


def all_of(graph: LineageGraph) -> PolicyCheck:
    return check_policies(graph, parsed(), layers=layers(), environment="dev")


@pytest.mark.parametrize("backend", ["memory", "folder"])
def test_twelve_policies_are_violated_with_their_paths(backend: str, tmp_path: Path) -> None:
    assert len(POLICIES) == len({each[0] for each in EXPECTED}) == 12
    with opened(backend, violating(), tmp_path) as graph:
        check = all_of(graph)
    assert found(check) == EXPECTED
    assert (check.count("error"), check.count("warning"), check.failed) == (11, 1, True)


@pytest.mark.jvm
def test_a_server_returns_the_results_of_a_folder(violating_url: str, tmp_path: Path) -> None:
    with open_graph(Endpoint(violating_url)) as graph:
        check = all_of(graph)
    with opened("folder", violating(), tmp_path) as graph:
        expected = all_of(graph)
    assert found(check) == EXPECTED
    assert check.results == expected.results
    assert check.subgraph.vertices.keys() == expected.subgraph.vertices.keys()


@pytest.mark.parametrize("backend", ["memory", "folder"])
def test_the_corrected_pipeline_violates_none(backend: str, tmp_path: Path) -> None:
    with opened(backend, corrected(), tmp_path) as graph:
        check = all_of(graph)
    assert found(check) == set()
    assert not check.failed
    assert {each.policy.name: each.notes for each in check.results if each.notes} == {}
    assert all(each.checked for each in check.results)


def test_paths_have_jobs_and_expressions() -> None:
    check = checked(violating(), POLICIES[:1])
    (violation,) = check.results[0].violations
    assert [(each.properties["transformation"], each.job) for each in violation.path] == [
        ("IDENTITY", "load"),
        ("TRANSFORMATION", "load"),
    ]
    assert violation.path[1].properties["expression"] == "lower(email)"
    ends = {end for each in violation.path for end in (each.from_id, each.to_id)}
    assert ends <= check.subgraph.vertices.keys()


def test_a_tag_that_a_job_without_column_lineage_carries_violates_for_the_dataset() -> None:
    made = MadeLineage().flow("wh.staging.a > wh.marts.b").columns("wh.staging.a.email > wh.staging.c.email")
    made.nodes[col("wh.staging.a", "email")]["tags"] = ["pii"]
    made.columns("wh.other.x > wh.marts.b.x", job="another")
    assert found(checked(made, POLICIES[:1])) == {
        (
            "no-pii-in-marts",
            "wh.marts.b",
            "carries pii of wh.staging.a#email, because column lineage is unknown",
            "wh.staging.a > wh.marts.b",
        )
    }


def test_propagation_decides_what_carries_a_tag() -> None:
    policies = parsed(POLICIES[:1])
    settings = {"pii": Propagation(stop_at_functions=("lower",))}
    check = check_policies(in_memory(violating()), policies, propagation=settings, environment="dev")
    assert found(check) == set()


def test_a_tagged_dataset_is_reported_once_and_its_columns_only_if_named() -> None:
    made = MadeLineage().flow("wh.staging.a > wh.marts.b")
    made.columns("wh.staging.a.x > wh.marts.b.x").columns("wh.staging.a.y > wh.marts.b.y")
    made.dataset("wh.marts.b", "daily", tags=["pii"])
    policy = {"name": "a", "tag": "pii"}
    assert found(checked(made, [policy | {"must_not_reach": "*.marts.*"}])) == {
        ("a", "wh.marts.b", "has the tag pii", "")
    }
    assert found(checked(made, [policy | {"must_not_reach": "*.marts.*#Y"}])) == {
        ("a", "wh.marts.b#y", "has the tag pii", "")
    }


@pytest.mark.parametrize(
    ("policy", "notes"),
    [
        ({"datasets": ["*.nowhere.*"], "must_have": "owner"}, {"no dataset matches *.nowhere.*"}),
        (
            {"tag": "gdpr", "must_not_reach": ["*.nothing", "*.marts.*"]},
            {"no column or dataset has the tag gdpr", "no dataset matches *.nothing"},
        ),
        (
            {"datasets": "wh.marts.*", "must_be_fed_by": "s3://lake/*", "except": ["*.orphan", "*.old"]},
            {"except: *.old matches no checked dataset"},
        ),
    ],
)
def test_parts_that_match_nothing_are_notes(policy: dict[str, Any], notes: set[str]) -> None:
    (result,) = checked(violating(), [{"name": "a"} | policy]).results
    assert (set(result.notes), result.violations) == (notes, ())


def test_a_layer_without_datasets_is_a_note() -> None:
    made = MadeLineage().flow("wh.staging.a > wh.marts.b")
    (result,) = checked(made, [POLICIES[3]]).results
    assert (result.checked, result.notes) == (1, ("layer raw has no datasets",))


def test_a_missing_dataset_is_suggested_and_belongs_to_no_single_dag() -> None:
    policy = [{"name": "a", "datasets": ["wh.marts.revenu", "wh.marts.x*"], "must_have": "owner"}]
    (result,) = checked(violating(), policy).results
    (violation,) = result.violations
    assert violation.element_id == ""
    assert "did you mean wh.marts.revenue or " in violation.fix
    assert result.notes == ("no dataset matches wh.marts.x*",)
    (of_dag,) = checked(violating(), policy, dag="daily").results
    assert of_dag.violations == ()
    assert "no dataset of DAG daily matches wh.marts.revenu" in of_dag.notes


def test_an_exception_accepts_a_violation() -> None:
    for policy in POLICIES:
        (before,) = checked(violating(), [policy]).results
        titles = [each.title for each in before.violations if each.element_id]
        known = policy.get("except", [])
        more = [*([known] if isinstance(known, str) else known), *titles]
        if titles:
            assert found(checked(violating(), [policy | {"except": more}])) == set(), policy["name"]


def test_a_dag_restricts_the_datasets_and_not_the_lineage() -> None:
    made = MadeLineage().flow("s3://lake|sales > wh.staging.a", dag="ingest")
    made.flow("wh.staging.a > wh.marts.b", dag="marts").flow("wh.staging.c > wh.marts.d", dag="other")
    policy = [{"name": "fed", "datasets": "*.marts.*", "must_be_fed_by": "s3://lake/sales"}]
    assert {each[1] for each in found(checked(made, policy))} == {"wh.marts.d"}
    assert found(checked(made, policy, dag="marts")) == set()
    assert {each[1] for each in found(checked(made, policy, dag="other"))} == {"wh.marts.d"}


def test_other_environments_are_not_checked() -> None:
    made = violating()
    made.flow("s3://lake|customers > wh.marts.prod_only", environment="prod")
    titles = {each[1] for each in found(checked(made))}
    assert "wh.marts.prod_only" not in titles


def test_a_layer_in_between_hides_a_read_and_each_read_is_reported_once() -> None:
    made = MadeLineage()
    for name in ("a", "b"):
        made.dataset(f"s3://lake|{name}", "daily", label="file")
    made.flow("s3://lake|a > wh.tmp.one > wh.tmp.two > wh.marts.m").flow("s3://lake|a > wh.tmp.two")
    made.flow("wh.tmp.two > wh.tmp.one")  # a cycle
    made.flow("s3://lake|b > wh.staging.s > wh.marts.m")
    assert {(title, path) for _, title, _, path in found(checked(made, [POLICIES[3]]))} == {
        ("wh.marts.m", "a > wh.tmp.two > wh.marts.m")
    }


def test_requirements_on_a_dbt_project() -> None:
    made = shop_graph()
    graph = InMemory(map(vertex_of_row, made.nodes), map(edge_of_row, made.edges))
    policies: list[dict[str, Any]] = [
        {"name": "described", "datasets": "shop.main.*", "must_have": ["owner", "description", "test"]},
        {"name": "fresh", "datasets": "shop.main_raw.*", "must_have": "freshness"},
        {"name": "contract", "datasets": "shop.main.*", "must_have": "contract"},
        {"name": "semantics", "datasets": "*", "must_have": "test", "except": "shop.*"},
    ]
    check = check_policies(graph, parsed(policies), environment="dev")
    assert {each[:3] for each in found(check)} == {
        ("described", "shop.main.orders", "has no description"),
        ("described", "shop.main.days", "has no description or test"),
        ("described", "shop.main.stg_orders", "has no owner or description"),
        ("described", "shop.main.customers_v1", "has no description or test"),
        ("described", "shop.main.customers_v2", "has no description or test"),
        ("contract", "shop.main.orders", "has no contract"),
        ("contract", "shop.main.days", "has no contract"),
        ("contract", "shop.main.stg_orders", "has no contract"),
        ("contract", "shop.main.stg_customers", "has no contract"),
    }
    files = {each.title: each.file_path for each in check.results[0].violations}
    assert files["shop.main.orders"] == "models/marts/orders.sql"
    assert [each.checked for each in check.results] == [6, 3, 6, 9]


def test_datasets_have_to_be_updated_within_a_duration() -> None:
    made = MadeRuns().chain("raw > wh.marts.old", 50).chain("raw > wh.marts.recent", 80)
    made.chain("raw > wh.marts.broken", 90).ran("to_wh.marts.broken", 90, "failed")
    made.chain("raw > wh.marts.long_broken", 40).ran("to_wh.marts.long_broken", 40, "failed")
    made.flow("wh.marts.old > wh.marts.view > wh.marts.board!").flow("raw > wh.marts.never", job="never")
    made.chain("raw > wh.marts.accepted", 1)
    made.nodes[at("wh.marts.view")]["label"] = "view"
    policies: list[dict[str, Any]] = [
        {
            "name": "marts-are-fresh",
            "datasets": ["wh.marts.*", "wh.marts.missing"],
            "must_be_updated_within": "36h",
            "except": "*.accepted",
        },
        {"name": "warned", "datasets": "wh.marts.old", "must_be_updated_within": "3d"},
    ]
    check = check_policies(made.graph(), parsed(policies), environment="dev", now=100 * HOUR)
    assert {each[:3] for each in found(check)} == {
        ("marts-are-fresh", "wh.marts.old", "was last updated 2 d 2 h ago; the maximum is 1 d 12 h"),
        ("marts-are-fresh", "wh.marts.long_broken", "was last updated 2 d 12 h ago; the maximum is 1 d 12 h"),
        ("marts-are-fresh", "wh.marts.broken", "has no known last update: its newest run failed"),
        (
            "marts-are-fresh",
            "wh.marts.never",
            "has no known last update: no run and no freshness check are known",
        ),
        ("marts-are-fresh", "wh.marts.missing", "is missing in the graph"),
    }
    first, _ = check.results
    assert (first.checked, first.notes) == (
        5,
        ("not checked, without rows of their own: 2 (views, dashboards, metrics)",),
    )


class Read(InMemory):
    """A graph that notes the ids whose vertices are read one more time."""

    read: list[str]

    def vertices(self, ids: Iterable[str]) -> list[Vertex]:
        wanted = list(ids)
        self.read += wanted
        return super().vertices(wanted)


def test_vertices_are_read_once_and_only_columns_of_violations() -> None:
    made = violating()
    # Ten columns that carry the tag where no policy forbids it.
    for number in range(10):
        made.columns(f"s3://lake|customers.email > wh.staging.customers.copy_{number}")
    graph = Read(map(vertex_of_row, made.nodes.values()), map(edge_of_row, made.edges.values()))
    graph.read = []
    policies = [*POLICIES, {"name": "again", "tag": "pii", "must_not_reach": "*.marts.*#mail"}]
    check = check_policies(graph, parsed(policies), layers=layers(), environment="dev")
    assert len(graph.read) == len(set(graph.read))
    shown = {id_ for id_, each in check.subgraph.vertices.items() if each.label == "column"}
    assert set(graph.read) <= shown


def test_an_unknown_tag_is_noted_with_a_similar_one_and_a_cleared_tag_is_known() -> None:
    policies = [
        {"name": "unknown", "tag": "PII", "must_not_reach": "*.marts.*"},
        {"name": "cleared", "tag": "secret", "must_not_reach": "*.marts.*"},
    ]
    cleared = Cleared("*", "*", "replaced every night")
    settings = {"secret": Propagation(clear=(cleared,))}
    check = check_policies(in_memory(violating()), parsed(policies), propagation=settings, environment="dev")
    notes = [each.notes for each in check.results]
    assert notes == [("no column or dataset has the tag PII; did you mean pii?",), ()]
