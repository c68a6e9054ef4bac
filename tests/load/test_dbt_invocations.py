"""Loads of a captured dbt project after further invocations: only facts of runs change with every run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from gremlin_python.process.graph_traversal import GraphTraversalSource
from gremlin_python.process.traversal import Cardinality

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.gremlin.remove_dag import remove
from lineage_merge.load.result import LoadResult, Pipeline
from lineage_merge.load.server.update import update
from lineage_merge.merge.report import Report
from lineage_merge.merge.source_completeness import SourceCompleteness
from tests.dbt_shop import DATA, TABLES, TESTS, graph
from tests.graph_reading import whole
from tests.made_merges import ALL, merge_of_rows

pytestmark = pytest.mark.jvm

Load = Callable[..., LoadResult]
Documents = dict[str, dict[str, Any]]

FILES = ("manifest", "catalog", "run_results_build", "run_results_run", "run_results_test", "sources")


@pytest.fixture
def load(engine: Engine, gremlin_url: str, gremlin: GraphTraversalSource, tmp_path: Path) -> Load:
    def loading(
        documents: Documents,
        coverage: SourceCompleteness = ALL,
        report: Report | None = None,
        **options: Any,
    ) -> LoadResult:
        for name, document in documents.items():
            (tmp_path / f"{name}.json").write_text(json.dumps(document), "utf-8")
        found = graph(tmp_path)
        merge = merge_of_rows(engine, found.nodes, found.edges, coverage=coverage)
        return update(replace(merge, report=report), Endpoint(gremlin_url), "dev", "daily", **options)

    return loading


def documents() -> Documents:
    return {name: json.loads((DATA / f"{name}.json").read_text("utf-8")) for name in FILES}


def next_day() -> Documents:
    """The artifacts of the next day: the same project, other runs, and tests with other results."""
    text = json.dumps(documents())
    found: Documents = json.loads(text.replace('"2026-11-23T', '"2026-11-24T'))
    for document in found.values():
        document["metadata"]["invocation_id"] = "next-day"
    for result in found["run_results_test"]["results"]:
        result |= {"status": "pass", "failures": 0}
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def test_the_next_invocation_of_an_unchanged_project_writes_only_jobs_and_assertions(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(documents())
    vertices, edges = whole(gremlin, merge_runs=True)

    again = load(next_day())

    later_vertices, later_edges = whole(gremlin, merge_runs=True)
    assert later_edges == edges
    assert {vertices[each][0] for each in changed(vertices, later_vertices)} == {
        "job",
        "assertion",
        "merge_run",
    }
    kinds = [label for label, _ in vertices.values()]
    assert (again.nodes, again.edges) == (kinds.count("job") + kinds.count("assertion"), 0)
    label, properties = later_vertices[f"{TESTS}test.shop.no_orders_of_unknown_customers"]
    assert label == "assertion"
    assert properties["status"] == ["passed"]
    assert properties["failures"] == [0]
    assert properties["last_run_id"] == ["next-day"]


def test_an_older_invocation_changes_nothing(load: Load, gremlin: GraphTraversalSource) -> None:
    load(next_day())
    before = whole(gremlin)
    load(documents())
    assert whole(gremlin) == before


def test_a_test_that_its_project_no_longer_has_is_retired(load: Load, gremlin: GraphTraversalSource) -> None:
    dropped = "test.shop.no_orders_of_unknown_customers"
    load(documents())
    without = next_day()
    del without["manifest"]["nodes"][dropped]

    load(without, SourceCompleteness(projects={"dbt": False}))
    assert gremlin.V(f"{TESTS}{dropped}").count().next() == 1  # a document was rejected
    load(without)
    assert gremlin.V(f"{TESTS}{dropped}").count().next() == 0
    vertices, edges = whole(gremlin)
    assert {key for key, (label, _) in vertices.items() if label == "assertion"} == {
        row["id"] for row in graph().nodes if row["label"] == "assertion" and row["id"] != f"{TESTS}{dropped}"
    }
    assert {end for start, label, end, _ in edges.values() if label == "checks"} >= {
        f"{TABLES}main.orders",
        f"{TABLES}main.orders|order_id",
    }


def without_tags(found: Documents) -> None:
    """Remove the tag of a column, all owners of a model, and a constraint."""
    nodes = found["manifest"]["nodes"]
    email = nodes["model.shop.stg_customers"]["columns"]["email"]
    email["tags"] = email["config"]["tags"] = []
    nodes["model.shop.stg_customers"]["group"] = nodes["model.shop.stg_customers"]["config"]["group"] = None
    nodes["model.shop.customers.v2"]["constraints"] = []


_WITH_SETS = (
    f"{TABLES}main.stg_customers|email",
    f"{TABLES}main.stg_customers",
    f"{TABLES}main.customers_v2",
)


def sets_of(gremlin: GraphTraversalSource) -> set[tuple[str, str, str]]:
    vertices, _ = whole(gremlin)
    return {
        (each.removeprefix(TABLES), name, value)
        for each in _WITH_SETS
        for name in ("tags", "owners", "constraints")
        for value in vertices[each][1].get(name, ())
    }


REMAINING = {
    ("main.stg_customers", "tags", "staging"),
    ("main.customers_v2", "owners", "finance@example.com"),
    ("main.customers_v2", "owners", "marts@example.com"),
    ("main.customers_v2", "owners", "@data"),
}
DROPPED = {
    ("main.stg_customers|email", "tags", "pii"),
    ("main.stg_customers", "owners", "CRM team"),
    ("main.customers_v2", "constraints", "primary_key (customer_id)"),
}


def test_tags_and_owners_that_the_project_no_longer_has_are_dropped(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(documents())
    assert sets_of(gremlin) == REMAINING | DROPPED
    later = next_day()
    without_tags(later)
    load(later)
    assert sets_of(gremlin) == REMAINING
    again = load(later)
    assert (again.nodes, again.edges) == (0, 0)


SINGLES = ("contract", "deprecation_date", "group", "access", "meta", "file_path", "description")


def singles_of(gremlin: GraphTraversalSource) -> set[tuple[str, str]]:
    vertices, _ = whole(gremlin)
    return {
        (each.removeprefix(TABLES), name)
        for each in (*_WITH_SETS, f"{TABLES}main.customers_v1")
        for name in SINGLES
        if vertices[each][1].get(name)
    }


WITHDRAWN = {
    ("main.customers_v1", "deprecation_date"),
    ("main.customers_v2", "contract"),
    ("main.stg_customers", "group"),
    ("main.customers_v2", "meta"),
}


def test_facts_that_the_project_no_longer_states_are_dropped(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(documents())
    before = singles_of(gremlin)
    assert before >= WITHDRAWN
    later = next_day()
    without_tags(later)
    nodes = later["manifest"]["nodes"]
    nodes["model.shop.customers.v1"]["deprecation_date"] = None
    contract = nodes["model.shop.customers.v2"]["config"]["contract"]
    contract["enforced"] = False
    nodes["model.shop.customers.v2"]["meta"] = nodes["model.shop.customers.v2"]["config"]["meta"] = {}
    load(later)
    assert singles_of(gremlin) == before - WITHDRAWN
    again = load(later)
    assert (again.nodes, again.edges) == (0, 0)


def test_tags_stay_while_a_document_is_rejected_or_another_dag_shares_the_dataset(
    load: Load, gremlin: GraphTraversalSource
) -> None:
    load(documents())
    later = next_day()
    without_tags(later)
    rejected = Report({}, {}, {}, (), (), {"rejected": 1})
    load(later, report=rejected)
    assert sets_of(gremlin) == REMAINING | DROPPED
    for each in _WITH_SETS:
        gremlin.V(each).property(Cardinality.set_, "dag_name", "other").to_list()
    later["manifest"]["metadata"]["generated_at"] = "2026-11-25T00:00:00Z"
    load(later, verify=True)
    assert sets_of(gremlin) == REMAINING | DROPPED


def test_removing_the_dag_removes_its_assertions(
    load: Load, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    load(documents())
    remove(Endpoint(gremlin_url), Pipeline("dev", "daily"))
    assert whole(gremlin) == ({}, {})


def test_removing_a_test_by_its_name_removes_its_assertion(
    load: Load, gremlin: GraphTraversalSource, gremlin_url: str
) -> None:
    load(documents())
    name = "test.shop.no_orders_of_unknown_customers"
    before = whole(gremlin)
    remove(Endpoint(gremlin_url), Pipeline("dev", "daily", name))
    vertices, edges = whole(gremlin)
    assert before[0].keys() - vertices.keys() == {f"{TESTS}{name}"}
    assert {before[1][each][1] for each in before[1].keys() - edges.keys()} == {"checks"}
