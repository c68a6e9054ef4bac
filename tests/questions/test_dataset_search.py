"""Search of datasets by tag, owner and failed runs: a dbt project behind a server, in a folder, in memory."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.cli.completion_reading import Location, read_values
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.graph_format.folder_index import write_folder_index
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.query import Lineage
from lineage_merge.questions.backends.folder import read_folder
from lineage_merge.questions.backends.gremlin import GremlinGraph, open_gremlin, with_value
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.graph import LineageGraph
from tests.command_line import in_process
from tests.dbt_shop import PROJECT, TABLES, TESTS, graph
from tests.lineage_made import MadeLineage
from tests.snapshots import write_graph


@pytest.fixture(scope="module")
def shop() -> MadeLineage:
    """The project `shop` after a failed run of a model, beside a dataset of another DAG and environment."""
    found = graph()
    nodes = {row["id"]: row | {"dag_name": [row["dag_name"]]} for row in found.nodes}
    made = MadeLineage(nodes, {row["id"]: row for row in found.edges})
    made.nodes["dev|daily|dbt|model.shop.days"]["status"] = "failed"
    made.flow("a > b", dag="nightly", environment="prod", job="copy")
    made.nodes["prod|nightly|spark|copy"]["status"] = "succeeded"
    made.columns("a.email > b.email", dag="nightly", environment="prod", job="copy")
    made.nodes["prod|redshift://wh:5439|b|email"]["tags"] = ["PII"]
    return made


@pytest.fixture(scope="module")
def folder(shop: MadeLineage, tmp_path_factory: pytest.TempPathFactory) -> str:
    return shop.folder(tmp_path_factory.mktemp("shop") / "lineage")


@pytest.fixture(scope="module")
def file(shop: MadeLineage, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_graph(tmp_path_factory.mktemp("graph") / "graph", shop.nodes.values(), shop.edges.values())


@pytest.fixture(scope="module")
def url(file: Path) -> Iterator[str]:
    with EmbeddedServer(file) as server:
        yield server.url


@pytest.fixture(params=[pytest.param("server", marks=pytest.mark.jvm), "folder", "index", "memory"])
def backend(request: pytest.FixtureRequest) -> Iterator[LineageGraph]:
    if request.param == "server":
        with open_gremlin(Endpoint(request.getfixturevalue("url"))) as opened:
            yield opened
    elif request.param == "folder":
        yield read_folder(request.getfixturevalue("folder"))
    elif request.param == "index":
        write_folder_index(request.getfixturevalue("folder"), at_least=0)
        yield read_folder(request.getfixturevalue("folder"))
    else:
        made: MadeLineage = request.getfixturevalue("shop")
        yield InMemory(map(vertex_of_row, made.nodes.values()), map(edge_of_row, made.edges.values()))


def names(
    graph: LineageGraph,
    search: str = "",
    environment: str | None = None,
    dag: str | None = None,
    **conditions: Any,
) -> set[str]:
    found = Lineage.of_graph(graph, environment=environment, dag=dag).datasets(search, **conditions)
    assert set(found.graph.vertices) == {each.id for each in found.datasets}
    return {each.id.removeprefix(TABLES).removeprefix(PROJECT) for each in found.datasets}


def test_datasets_with_a_tag_have_it_themselves_or_on_a_column(backend: LineageGraph) -> None:
    assert names(backend, tags=("staging",)) == {"main.stg_customers", "main.stg_orders"}
    with_pii = {"main_raw.raw_customers", "main.stg_customers", "main.customers_v1"}
    assert names(backend, "", "dev", tags=("pii",)) == with_pii
    assert names(backend, tags=("pii",)) == {*with_pii, "prod|redshift://wh:5439|b"}
    assert names(backend, tags=("pii", "staging")) == {"main.stg_customers"}
    assert names(backend, "raw_", tags=("pii",)) == {"main_raw.raw_customers"}
    assert names(backend, "", None, "nightly", tags=("pii",)) == {"prod|redshift://wh:5439|b"}
    assert names(backend, tags=("pi",)) == set()


def test_tagged_columns_are_the_reason(backend: LineageGraph) -> None:
    found = Lineage.of_graph(backend, environment="dev").datasets("main.", tags=["pii"]).found
    assert found.tagged_columns == {
        f"{TABLES}main.customers_v1": (f"{TABLES}main.customers_v1|email",),
        f"{TABLES}main.stg_customers": (f"{TABLES}main.stg_customers|email",),
    }


def test_datasets_with_and_without_owners(backend: LineageGraph) -> None:
    assert names(backend, owners=("Finance@example.com",)) == {
        "main.customers_v1",
        "main.customers_v2",
        "main.days",
        "main.orders",
        "metric.revenue",
    }
    assert names(backend, owners=("finance@example.com", "@data")) == {
        "main.customers_v1",
        "main.customers_v2",
    }
    assert names(backend, "", "dev", without_owner=True) == {
        "main.stg_orders",
        "metric.double_revenue",
        "metric.orders",
        "metric.revenue_per_order",
        "metric.revenue_to_date",
        "saved_query.monthly_revenue",
    }
    assert names(backend, tags=("staging",), without_owner=True) == {"main.stg_orders"}


def test_failed_datasets_have_a_failed_job_or_check_but_no_warning(backend: LineageGraph) -> None:
    found = Lineage.of_graph(backend).datasets(failed=True).found
    reasons = {
        dataset.removeprefix(TABLES): {each.id.removeprefix(TESTS) for each in failures}
        for dataset, failures in found.failures.items()
    }
    unknown_customers = "test.shop.no_orders_of_unknown_customers"
    assert reasons == {
        "main.days": {"dev|daily|dbt|model.shop.days"},
        "main.orders": {"unit_test.shop.orders.only_paid_orders"},
        "main.stg_customers": {unknown_customers},
        "main.stg_orders": {
            unknown_customers,
            "test.shop.accepted_values_stg_orders_status__paid__returned.442f4b4d6d",
            "test.shop.positive_stg_orders_amount.009e0f2d06",
            "test.shop.relationships_stg_orders_customer_id__customer_id__ref_stg_customers_.430bf21500",
        },
        "main_raw.raw_customers": {"source.shop.crm.customers|freshness"},
    }
    assert {each.id.removeprefix(TABLES) for each in found.datasets} == set(reasons)
    assert names(backend, "", "prod", failed=True) == set()


def test_the_limit_counts_what_meets_the_conditions(backend: LineageGraph) -> None:
    found = Lineage.of_graph(backend).datasets(without_owner=True, limit=2)
    assert [each.id for each in found.datasets] == [
        f"{PROJECT}metric.double_revenue",
        f"{PROJECT}metric.orders",
    ]


def test_columns_are_added_on_request(backend: LineageGraph) -> None:
    found = Lineage.of_graph(backend).datasets("customers_v1", tags=["pii"], columns=True)
    assert set(found.graph.vertices) == {
        f"{TABLES}main.customers_v1{column}" for column in ("", "|customer_id", "|email")
    }


@pytest.mark.jvm
def test_requests_do_not_grow_with_the_answer(url: str) -> None:
    requests = 0
    with open_gremlin(Endpoint(url)) as opened:

        def counting(ask: Callable[..., Any]) -> list[Any]:
            nonlocal requests
            requests += 1
            return opened._execute(ask)

        lineage = Lineage.of_graph(GremlinGraph(counting))
        found = lineage.datasets(tags=["pii"], owners=["crm@example.com"], failed=True)
    assert [each.name for each in found.datasets] == ["raw_customers"]
    # Two for the tag, one for the owner, three for failures, one for the datasets.
    assert requests == 7


@pytest.mark.jvm
def test_the_command_shows_owners_tags_and_reasons(folder: str, url: str) -> None:
    for arguments in (("--failed",), ("--tag", "pii", "--owner", "crm@example.com"), ("--without-owner",)):
        of_folder = in_process("datasets", *arguments, "--folder", folder)
        assert of_folder.code == 0, of_folder.err
        assert in_process("datasets", *arguments, "--gremlin-endpoint", url) == of_folder
    output = json.loads(in_process("datasets", "--tag", "pii", "--json", "--folder", folder).out)
    assert output["tagged_columns"][f"{TABLES}main.customers_v1"] == [f"{TABLES}main.customers_v1|email"]
    output = json.loads(in_process("datasets", "--failed", "--json", "--folder", folder).out)
    (failure,) = output["failures"][f"{TABLES}main.orders"]
    assert (failure["label"], failure["name"], failure["status"]) == (
        "assertion",
        "only_paid_orders",
        "error",
    )
    nothing = in_process("datasets", "--tag", "none", "--folder", folder)
    assert (nothing.code, nothing.out, nothing.err) == (0, "", "no matching dataset\n")
    both = in_process("datasets", "--owner", "a", "--without-owner", "--folder", folder)
    assert both.code == 2
    assert "--owner and --without-owner exclude each other" in both.err


@pytest.mark.jvm
def test_tags_and_owners_are_completed_from_every_place(file: Path, folder: str, url: str) -> None:
    places = (Location(graph_file=file), Location(folder=Path(folder)), Location(gremlin={"endpoint": url}))
    for place in places:
        later = time.monotonic() + 1000
        assert read_values(place, "tags", "", later) == [
            "PII",
            "contact",
            "crm",
            "finance",
            "location",
            "pii",
            "staging",
            "weekly",
        ]
        assert read_values(place, "tags", "s", later) == ["staging"]
        assert read_values(place, "owners", "crm", later) == ["crm-import@example.com", "crm@example.com"]


@pytest.mark.jvm
def test_the_traversal_conforms_to_neptunes_grammar(url: str) -> None:
    from lineage_merge.infra.traversal_source import source
    from lineage_merge.load.gremlin.connection import open_client
    from tests.gremlin_text import passes_the_grammar

    with open_client(Endpoint(url), 1) as client:
        asked = with_value(source(), "tags", ("pii", "it's"), ["column"], "dev", "daily")
        assert len(passes_the_grammar(client, asked)) == 3
