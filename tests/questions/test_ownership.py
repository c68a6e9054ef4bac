"""Owners, tests and effects of a change: in memory, in a folder, on a server."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from lineage_merge.graph_format.elements import Vertex, edge_of_row, vertex_of_row
from lineage_merge.infra.embedded import EmbeddedServer
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.model.errors import QueryError
from lineage_merge.questions.backends.in_memory import InMemory
from lineage_merge.questions.backends.opening import open_graph
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.impact import impact_as_json, make_affected_row
from lineage_merge.questions.ownership import ownership
from lineage_merge.questions.traversal.dependents import Dependents, dependents, find_affected_tests
from lineage_merge.questions.traversal.effects import Change
from tests import dbt_shop
from tests.dbt_shop import PROJECT, TABLES
from tests.lineage_made import MadeLineage, at, col


def owned_pipeline() -> MadeLineage:
    """``raw`` is copied completely into ``copy``; ``mart`` has columns of it, and two dashboards.

    ::

        raw -> copy (all columns)             ingest, owned by platform
        copy.email -> hashed.email_hash       hash
        copy.id -> mart.customers (count), copy.age -> mart.is_adult (case), copy.country filters mart
        mart -> report!, hashed -> other!
    """
    made = MadeLineage()
    made.dataset("raw", "daily", owners=["import@example.com"])
    made.dataset("copy", "daily", owners=["lake@example.com"])
    made.dataset("hashed", "daily")
    made.dataset("mart", "marts", owners=["marts@example.com", "@data"])
    made.flow("raw > copy", job="ingest").flow("copy > hashed", job="hash")
    made.flow("copy > mart", job="build", dag="marts")
    made.flow("mart > report!", job="exposure.report", dag="marts").flow(
        "hashed > other!", job="exposure.other"
    )
    made.dataset(
        "report!", "marts", owners=["ceo@example.com"], exposure_type="dashboard", url="https://bi/7"
    )
    for name in ("id", "email", "age", "country"):
        made.columns(f"raw.{name} > copy.{name}", job="ingest", transformation="IDENTITY")
    made.columns(
        "copy.email > hashed.email_hash", job="hash", transformation="TRANSFORMATION", expression="md5(email)"
    )
    of_mart = {"job": "build", "dag": "marts"}
    made.columns("copy.id > mart.customers", **of_mart, transformation="AGGREGATION", expression="count(id)")
    made.columns("copy.age > mart.is_adult", **of_mart, transformation="CONDITIONAL", expression="age > 17")
    made.columns("copy.country > mart", **of_mart, transformation="FILTER")
    made.nodes["dev|daily|spark|ingest"]["owners"] = ["platform@example.com"]
    made.nodes[col("hashed", "email_hash")]["owners"] = ["privacy@example.com"]
    return made


def dbt_lineage() -> MadeLineage:
    """The dbt project `shop`."""
    found = dbt_shop.graph()
    nodes, edges = (
        {row["id"]: {key: value for key, value in row.items() if value is not None} for row in rows}
        for rows in (found.nodes, found.edges)
    )
    for row in nodes.values():
        row["dag_name"] = [row["dag_name"]]
    return MadeLineage(nodes, edges)


def in_memory(made: MadeLineage) -> InMemory:
    return InMemory(map(vertex_of_row, made.nodes.values()), map(edge_of_row, made.edges.values()))


@pytest.fixture(scope="module")
def pipeline() -> InMemory:
    return in_memory(owned_pipeline())


@pytest.fixture(scope="module")
def shop() -> InMemory:
    return in_memory(dbt_lineage())


def vertex(graph: LineageGraph, identifier: str) -> Vertex:
    (found,) = graph.vertices([identifier])
    return found


def short(identifier: str) -> str:
    for prefix in (TABLES, PROJECT):
        identifier = identifier.removeprefix(prefix)
    return identifier.removeprefix("dev|redshift://wh:5439|").rpartition("spark|")[2]


def owner_rows(found: Dependents) -> set[tuple[str, int, frozenset[str]]]:
    """Owner, distance and the affected elements."""
    return {
        (each.owner, each.distance, frozenset(short(element.vertex.id) for element in each.affected))
        for each in ownership(found).owners
    }


def effects(found: Dependents) -> set[tuple[str, str]]:
    return {(short(each.vertex.id), each.effect.value) for each in found.elements if each.effect}


def test_owners_of_a_column_are_those_of_what_depends_on_this_column(pipeline: InMemory) -> None:
    assert owner_rows(dependents(pipeline, vertex(pipeline, col("raw", "email")))) == {
        ("lake@example.com", 1, frozenset({"copy", "copy|email"})),
        ("platform@example.com", 1, frozenset({"ingest", "copy", "copy|email"})),
        ("privacy@example.com", 2, frozenset({"hashed|email_hash"})),
    }


def test_owners_of_a_dataset_are_those_of_everything_downstream(pipeline: InMemory) -> None:
    found = ownership(dependents(pipeline, vertex(pipeline, at("copy"))))
    rows = [(each.owner, each.distance, each.nearest, each.dags) for each in found.owners]
    assert rows == [
        ("@data", 1, ("mart",), ("marts",)),
        ("marts@example.com", 1, ("mart",), ("marts",)),
        ("privacy@example.com", 1, ("hashed#email_hash",), ("daily",)),
        ("ceo@example.com", 2, ("report!",), ("marts",)),
    ]
    assert found.owners[0].counts == {"dataset": 1, "column": 2, "job": 1, "exposure": 0}
    # The owner of its only column is responsible for `hashed`; the dashboard on it has no owner.
    assert [(each.vertex.name, each.distance) for each in found.without_owner] == [("other!", 2)]


def test_owners_of_a_job_begin_with_what_it_writes(pipeline: InMemory) -> None:
    found = ownership(dependents(pipeline, vertex(pipeline, "dev|daily|spark|ingest")))
    assert {(each.owner, each.distance) for each in found.owners} == {
        ("lake@example.com", 0),
        ("@data", 1),
        ("marts@example.com", 1),
        ("privacy@example.com", 1),
        ("ceo@example.com", 2),
    }


@pytest.mark.parametrize(
    ("depth", "expected"),
    [
        (1, {"copy", "copy|country", "ingest"}),
        (2, {"copy", "copy|country", "ingest", "mart", "build"}),
        (3, {"copy", "copy|country", "ingest", "mart", "build", "report!"}),
    ],
)
def test_the_depth_limits_influences_and_exposures(
    pipeline: InMemory, depth: int, expected: set[str]
) -> None:
    found = dependents(pipeline, vertex(pipeline, col("raw", "country")), depth=depth)
    assert {short(each.vertex.id) for each in found.elements} == expected
    assert max(each.distance for each in found.elements) == depth


def test_the_owners_within_a_dag(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, at("copy")), dag="daily")
    assert {each.owner for each in ownership(found).owners} == {"privacy@example.com"}


def test_a_dropped_column_breaks_its_readers_and_copies(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, col("raw", "age")), change=Change.DROP)
    assert effects(found) == {
        ("copy", "breaks"),
        ("copy|age", "breaks"),
        ("ingest", "breaks"),
        ("mart", "breaks"),
        ("mart|is_adult", "breaks"),
        ("build", "breaks"),
        ("report!", "depends"),
    }


def test_a_renamed_column_breaks_the_first_reader_that_names_it(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, col("raw", "email")), change=Change.RENAME)
    # All columns of raw are copied, so the copy has the new name, and the hash does not find the old one.
    assert effects(found) == {
        ("copy", "changes"),
        ("copy|email", "changes"),
        ("ingest", "changes"),
        ("hashed", "breaks"),
        ("hashed|email_hash", "breaks"),
        ("hash", "breaks"),
        ("other!", "depends"),
    }


def test_a_copy_of_some_columns_names_them() -> None:
    made = owned_pipeline().columns("raw.left_out > other", job="x", transformation="FILTER")
    graph = in_memory(made)
    found = dependents(graph, vertex(graph, col("raw", "email")), change=Change.RENAME)
    assert {("copy|email", "breaks"), ("hashed|email_hash", "depends")} <= effects(found)


def test_another_type_is_inherited_and_a_count_accepts_it(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, col("raw", "id")), change=Change.RETYPE)
    assert effects(found) == {
        ("copy", "changes"),
        ("copy|id", "changes"),
        ("ingest", "changes"),
        ("mart", "unaffected"),
        ("mart|customers", "unaffected"),
        ("build", "unaffected"),
        ("report!", "unaffected"),
    }


def test_a_renamed_dataset_breaks_its_readers_only(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, at("raw")), change=Change.RENAME)
    broken = {name for name, effect in effects(found) if effect == "breaks"}
    assert broken == {"copy", "ingest", *(f"copy|{name}" for name in ("id", "email", "age", "country"))}
    assert {effect for _, effect in effects(found)} == {"breaks", "depends"}


def test_a_dropped_job_leaves_its_targets_without_a_writer(pipeline: InMemory) -> None:
    found = dependents(pipeline, vertex(pipeline, "dev|daily|spark|hash"), change=Change.DROP)
    assert effects(found) == {("hashed", "breaks"), ("hashed|email_hash", "breaks"), ("other!", "depends")}


@pytest.mark.parametrize(
    ("identifier", "change"),
    [
        (at("raw"), Change.RETYPE),
        ("dev|daily|spark|hash", Change.RENAME),
        ("dev|daily|spark|hash", Change.RETYPE),
    ],
)
def test_only_columns_have_a_type_and_jobs_no_name_that_is_read(
    pipeline: InMemory, identifier: str, change: Change
) -> None:
    with pytest.raises(QueryError, match="not a"):
        dependents(pipeline, vertex(pipeline, identifier), change=change)


def test_a_cycle_ends() -> None:
    made = MadeLineage().flow("a > b > a").columns("a.x > b.x", transformation="IDENTITY")
    made.columns("b.x > a.x", transformation="IDENTITY")
    graph = in_memory(made)
    found = dependents(graph, vertex(graph, col("a", "x")), change=Change.RENAME)
    assert {("b|x", "changes")} <= effects(found)
    assert {(short(each.vertex.id), each.distance) for each in found.select_kind("column")} == {("b|x", 1)}


def test_tests_of_a_column_and_of_its_datasets_are_affected(shop: InMemory) -> None:
    found = dependents(shop, vertex(shop, f"{TABLES}main_raw.raw_customers|email"), change=Change.RETYPE)
    affected = {
        (each.vertex.name, each.distance, each.effect.value if each.effect else "")
        for each in find_affected_tests(shop, found)
    }
    # not_null accepts any type; a test that reads the dataset may use the column. The freshness check of
    # raw_customers reads another column.
    assert affected == {
        ("every_customer_has_an_email", 1, "unaffected"),
        ("no_orders_of_unknown_customers", 1, "changes"),
    }


def test_a_relationship_test_is_affected_from_both_sides(shop: InMemory) -> None:
    other = vertex(shop, f"{TABLES}main.stg_customers|customer_id")
    found = find_affected_tests(shop, dependents(shop, other, change=Change.DROP))
    of = {each.vertex.name.partition("_stg")[0]: each.effect.value for each in found if each.effect}
    assert {("relationships", "breaks"), ("unique", "breaks"), ("not_null", "breaks")} <= set(of.items())


def test_owners_in_a_dbt_project_reach_the_dashboard(shop: InMemory) -> None:
    found = dependents(shop, vertex(shop, f"{TABLES}main_raw.raw_orders|amount"))
    assert {(each.owner, each.distance) for each in ownership(found).owners} == {
        ("finance@example.com", 2),
        ("data-science", 3),
        ("semantics@example.com", 3),
        ("finance-metrics@example.com", 4),
        ("ada@example.com", 6),
    }
    assert {short(each.vertex.id) for each in ownership(found).without_owner} == {
        "main.stg_orders",
        "metric.revenue_to_date",
        "metric.double_revenue",
        "metric.revenue_per_order",
        "saved_query.monthly_revenue",
    }


def test_columns_have_the_expression_that_uses_the_changed_one(shop: InMemory) -> None:
    found = dependents(shop, vertex(shop, f"{TABLES}main.orders|amount"), depth=1)
    uses = {
        (short(each.vertex.id), edge.properties["transformation"], edge.properties["expression"])
        for each in found.select_kind("column")
        for edge in each.uses
    }
    assert uses == {
        ("semantic_model.orders|discounted", "AGGREGATION", "sum(amount * 0.9)"),
        ("semantic_model.orders|is_large", "TRANSFORMATION", "amount > 100"),
        ("semantic_model.orders|revenue", "AGGREGATION", "sum(amount)"),
    }


CHANGED = (
    (at("copy"), Change.DROP),
    (at("raw"), Change.RENAME),
    (col("raw", "email"), Change.RENAME),
    (col("raw", "id"), Change.RETYPE),
    (col("raw", "country"), None),
    ("dev|daily|spark|ingest", Change.DROP),
    (f"{TABLES}main_raw.raw_customers", Change.DROP),
    (f"{TABLES}main_raw.raw_orders|amount", Change.RETYPE),
    (f"{TABLES}main.stg_orders|status", Change.RENAME),
)


def both() -> MadeLineage:
    first, second = owned_pipeline(), dbt_lineage()
    return MadeLineage(first.nodes | second.nodes, first.edges | second.edges)


@pytest.fixture(scope="module")
def backends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[LineageGraph]]:
    made = both()
    folder = Path(made.folder(tmp_path_factory.mktemp("both")))
    with EmbeddedServer(None) as server:
        made.load(server.url)
        with open_graph(folder) as of_folder, open_graph(Endpoint(server.url)) as of_server:
            yield [in_memory(made), of_folder, of_server]


@pytest.mark.jvm
@pytest.mark.parametrize(("identifier", "change"), CHANGED)
def test_all_backends_give_the_same_answers(
    backends: list[LineageGraph], identifier: str, change: Change | None
) -> None:
    answers = []
    for graph in backends:
        found = dependents(graph, vertex(graph, identifier), change=change)
        of_impact = impact_as_json(found, find_affected_tests(graph, found))
        owners = ownership(found)
        without_owner = [make_affected_row(element) for element in owners.without_owner]
        answers.append((of_impact, owners.owners, without_owner))
    assert answers[0] == answers[1] == answers[2]
    assert answers[0][1]
