"""Translation of a manifest: datasets, jobs and flows, with collapsed ephemeral models."""

import json
import random
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lineage_merge.model.elements import (
    Authority,
    Dataset,
    DatasetLabel,
    Element,
    Feeds,
    Job,
    JobKey,
    Problem,
    Reference,
    Writes,
)
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.translator import translate

DATA = Path(__file__).parents[2] / "data" / "dbt"
HOST = "redshift://tickit-wh.us-east-1:5439"
WHERE = "target/manifest.json"
Flow = tuple[str, tuple[str, ...], str]


def elements(content: dict[str, Any]) -> list[Element]:
    manifest, problems = read_manifest(WHERE, json.dumps(content))
    return [*problems, *translate(manifest, HOST, WHERE)]


def captured(name: str) -> list[Element]:
    return elements(json.loads((DATA / name / "manifest.json").read_text("utf-8")))


def document(*nodes: dict[str, Any], **sections: Any) -> dict[str, Any]:
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "dbt_version": "1.11.16",
        "generated_at": "2026-11-21T09:44:02.385452Z",
        "invocation_id": "run-1",
        "project_name": "shop",
    }
    by_id = {f"{node['resource_type']}.shop.{node['name']}": node for node in nodes}
    return {"metadata": metadata, "nodes": by_id} | sections


def node(name: str, *parents: str, materialized: str = "table", **fields: Any) -> dict[str, Any]:
    return {
        "resource_type": "model",
        "name": name,
        "package_name": "shop",
        "database": "dev",
        "schema": "public",
        "config": {"materialized": materialized},
        "depends_on": {"nodes": list(parents)},
    } | fields


def ephemeral(name: str, *parents: str) -> dict[str, Any]:
    return node(name, *parents, materialized="ephemeral")


def source(name: str, **fields: Any) -> dict[str, Any]:
    return {"name": name, "source_name": "raw", "database": "dev", "schema": "raw"} | fields


def flows(found: Iterable[Element]) -> set[Flow]:
    """(from, via, to) by name, each required to come once."""
    listed = [
        (element.source.name, tuple(element.sets.get("via", ())), element.target.name)
        for element in found
        if isinstance(element, Feeds)
    ]
    assert len(listed) == len(set(listed))
    return set(listed)


def datasets(found: Iterable[Element]) -> dict[str, Dataset[Reference]]:
    return {element.ref.name: element for element in found if isinstance(element, Dataset)}


def problems(found: Iterable[Element]) -> list[Problem]:
    return [element for element in found if isinstance(element, Problem)]


def tickit(database: str, raw: str) -> tuple[dict[str, DatasetLabel], set[Flow]]:
    """The TICKIT project by hand, from its models' SQL: labels by name, and flows."""
    marts, staging = f"{database}.tickit_marts", f"{database}.tickit_staging"
    labels: dict[str, DatasetLabel] = {
        f"{database}.{raw}.sales": "table",
        f"{database}.{raw}.event": "table",
        f"{database}.{raw}.date": "table",
        f"{database}.{raw}.users": "table",
        f"{staging}.stg_sales": "view",
        f"{staging}.stg_event": "view",
        f"{staging}.stg_date": "view",
        f"{staging}.stg_users": "view",
        f"{marts}.fct_sales": "table",
        f"{marts}.dim_people": "table",
        f"{marts}.top_events_by_sales": "table",
        f"{database}.tickit_ref.category_map": "seed",
        f"{database}.snapshots.users_snapshot": "snapshot",
        "sales_dashboard": "exposure",
    }
    folded = ("int_sales_enriched",)
    expected: set[Flow] = {
        (f"{database}.{raw}.sales", (), f"{staging}.stg_sales"),
        (f"{database}.{raw}.event", (), f"{staging}.stg_event"),
        (f"{database}.{raw}.date", (), f"{staging}.stg_date"),
        (f"{database}.{raw}.users", (), f"{staging}.stg_users"),
        (f"{staging}.stg_sales", folded, f"{marts}.fct_sales"),
        (f"{staging}.stg_event", folded, f"{marts}.fct_sales"),
        (f"{staging}.stg_date", folded, f"{marts}.fct_sales"),
        (f"{staging}.stg_sales", folded, f"{marts}.top_events_by_sales"),
        (f"{staging}.stg_event", folded, f"{marts}.top_events_by_sales"),
        (f"{staging}.stg_date", folded, f"{marts}.top_events_by_sales"),
        (f"{database}.tickit_ref.category_map", (), f"{marts}.top_events_by_sales"),
        (f"{staging}.stg_users", (), f"{marts}.dim_people"),
        (f"{marts}.fct_sales", (), f"{marts}.dim_people"),
        (f"{staging}.stg_users", (), f"{database}.snapshots.users_snapshot"),
        (f"{marts}.top_events_by_sales", (), "sales_dashboard"),
        (f"{marts}.fct_sales", (), "sales_dashboard"),
    }
    return labels, expected


@pytest.mark.parametrize(
    ("capture", "database", "raw"),
    [
        ("redshift_v12", "dev", "public"),
        ("duckdb_v12", "tickit_dbt111", "tickit_raw"),
        ("duckdb_v9", "tickit_dbt15", "tickit_raw"),
    ],
)
def test_the_tickit_project_becomes_what_its_models_do(capture: str, database: str, raw: str) -> None:
    labels, expected = tickit(database, raw)

    found = captured(capture)

    assert flows(found) == expected
    assert {name: dataset.label for name, dataset in datasets(found).items()} == labels
    assert problems(found) == []


def test_the_jobs_of_the_redshift_manifest_have_properties_and_write_their_relations() -> None:
    found = captured("redshift_v12")

    jobs = {element.key.name: element for element in found if isinstance(element, Job)}
    writes = {(w.job.name, w.target.name) for w in found if isinstance(w, Writes)}
    built = {
        ("model.tickit.stg_sales", "dev.tickit_staging.stg_sales"),
        ("model.tickit.stg_event", "dev.tickit_staging.stg_event"),
        ("model.tickit.stg_date", "dev.tickit_staging.stg_date"),
        ("model.tickit.stg_users", "dev.tickit_staging.stg_users"),
        ("model.tickit.fct_sales", "dev.tickit_marts.fct_sales"),
        ("model.tickit.people", "dev.tickit_marts.dim_people"),
        ("model.tickit.top_events_by_sales", "dev.tickit_marts.top_events_by_sales"),
        ("seed.tickit.category_map", "dev.tickit_ref.category_map"),
        ("snapshot.tickit.users_snapshot", "dev.snapshots.users_snapshot"),
    }
    assert writes == built
    assert set(jobs) == {job for job, _ in built}
    assert jobs["model.tickit.people"] == Job(
        JobKey("dbt", "model.tickit.people"),
        at=1795254242385,
        properties={
            "framework": "dbt 1.11.16",
            "project": "tickit",
            "described_at": 1795254242385,
        },
    )


def test_description_tags_and_authority_of_the_redshift_manifest() -> None:
    found = datasets(captured("redshift_v12"))

    assert found["dev.tickit_marts.top_events_by_sales"] == Dataset(
        Reference(HOST, "dev.tickit_marts.top_events_by_sales"),
        Authority.BUILDER,
        "table",
        properties={
            "description": "Top 10 events by sales",
            "file_path": "models/marts/top_events_by_sales.sql",
            "materialization": "table",
            "access": "protected",
        },
        sets={"tags": ("mart",), "owners": (), "constraints": ()},
    )
    assert found["dev.public.sales"] == Dataset(
        Reference(HOST, "dev.public.sales"),
        Authority.READER,
        "table",
        properties={"file_path": "models/staging/sources.yml"},
        sets={"tags": (), "owners": (), "constraints": ()},
    )
    assert found["sales_dashboard"] == Dataset(
        Reference("dbt://tickit", "sales_dashboard"),
        Authority.BUILDER,
        "exposure",
        properties={
            "file_path": "models/marts/schema.yml",
            "exposure_type": "dashboard",
            "url": "https://bi.example.com/1",
            "maturity": "high",
        },
        sets={"tags": (), "owners": ("data@example.com",), "constraints": ()},
    )


@pytest.mark.parametrize("capture", ["redshift_v12", "duckdb_v9"])
def test_the_order_of_a_manifest_does_not_matter(capture: str) -> None:
    content = json.loads((DATA / capture / "manifest.json").read_text("utf-8"))
    expected = {repr(element) for element in elements(content)}
    shuffle = random.Random(3).shuffle

    for section in ("nodes", "sources", "exposures"):
        entries = list(content[section].items())
        shuffle(entries)
        content[section] = dict(entries)
        for entry in content[section].values():
            shuffle(entry.get("depends_on", {}).get("nodes", []))

    assert {repr(element) for element in elements(content)} == expected


@pytest.mark.parametrize(
    ("materialized", "label"),
    [
        ("table", "table"),
        ("incremental", "table"),
        ("view", "view"),
        ("materialized_view", "view"),
        ("dynamic_table", "table"),
        ("streaming_table", "table"),
        ("vault_insert_by_period", "table"),
    ],
)
def test_the_materialization_decides_the_label(materialized: str, label: str) -> None:
    (dataset,) = datasets(elements(document(node("a", materialized=materialized)))).values()

    assert (dataset.label, dataset.authority) == (label, Authority.BUILDER)


def test_a_model_without_config_is_a_view_as_dbt_would_build_it() -> None:
    found = datasets(elements(document(node("a", config=None))))

    assert found["dev.public.a"].label == "view"


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"alias": "dim_people"}, "dev.public.dim_people"),
        ({"alias": None}, "dev.public.people"),
        ({"alias": ""}, "dev.public.people"),
        ({"alias": "people_v2", "version": 2}, "dev.public.people_v2"),
        ({"database": None}, "public.people"),
        ({"database": ""}, "public.people"),
        ({"alias": "Dim_People"}, "dev.public.Dim_People"),
        ({"alias": '"Dim People"'}, "dev.public.Dim People"),
        ({"database": "`my-project`", "schema": "[dbo]"}, "my-project.dbo.people"),
        ({"schema": '"a"."b"'}, "dev.a.b.people"),
        ({"alias": '"say ""hi"""'}, 'dev.public.say "hi"'),
        ({"alias": 'a"b'}, 'dev.public.a"b'),
        ({"alias": "a|b%c"}, "dev.public.a|b%c"),
        ({"alias": "客户表"}, "dev.public.客户表"),
    ],
)
def test_a_relation_is_named_by_database_schema_and_alias(fields: dict[str, Any], name: str) -> None:
    assert set(datasets(elements(document(node("people", **fields))))) == {name}


def test_a_source_is_named_by_its_identifier_else_by_its_name() -> None:
    sources = {
        "source.shop.raw.dates": source("dates", identifier="date"),
        "source.shop.raw.users": source("users", alias="never"),
        "source.shop.raw.hive": source("hive", database=None),
    }

    found = datasets(elements(document(sources=sources)))

    assert set(found) == {"dev.raw.date", "dev.raw.users", "raw.hive"}


def test_tags_of_the_node_and_of_its_config_come_together_and_a_blank_description_not_at_all() -> None:
    config = {"materialized": "table", "tags": "nightly"}
    found = datasets(
        elements(document(node("a", tags=["pii", "core", "pii"], config=config, description=" ")))
    )

    assert found["dev.public.a"].sets["tags"] == ("core", "nightly", "pii")
    assert found["dev.public.a"].properties == {"materialization": "table"}


def test_a_chain_of_ephemerals_is_named_in_the_order_that_the_data_flows() -> None:
    found = elements(
        document(
            node("raw"),
            ephemeral("z_first", "model.shop.raw"),
            ephemeral("m_second", "model.shop.z_first"),
            ephemeral("a_third", "model.shop.m_second"),
            node("mart", "model.shop.a_third"),
        )
    )

    assert flows(found) == {("dev.public.raw", ("z_first", "m_second", "a_third"), "dev.public.mart")}
    assert set(datasets(found)) == {"dev.public.raw", "dev.public.mart"}
    assert {e.key.name for e in found if isinstance(e, Job)} == {"model.shop.raw", "model.shop.mart"}


def test_via_names_only_what_lies_between_these_two() -> None:
    found = elements(
        document(
            node("a"),
            node("b"),
            ephemeral("only_a", "model.shop.a"),
            ephemeral("both", "model.shop.only_a", "model.shop.b"),
            ephemeral("constants"),
            node("mart", "model.shop.both", "model.shop.constants", "model.shop.b"),
        )
    )

    assert flows(found) == {
        ("dev.public.a", ("only_a", "both"), "dev.public.mart"),
        ("dev.public.b", ("both",), "dev.public.mart"),
        ("dev.public.b", (), "dev.public.mart"),
    }


def test_ephemerals_that_fan_out_and_in_many_times_take_no_time() -> None:
    layers: list[dict[str, Any]] = [node("raw")]
    below = ["model.shop.raw"]
    for depth in range(300):
        layers += [ephemeral(f"left_{depth}", *below), ephemeral(f"right_{depth}", *below)]
        below = [f"model.shop.left_{depth}", f"model.shop.right_{depth}"]

    (flow,) = flows(elements(document(*layers, node("mart", *below))))

    assert (flow[0], flow[2], len(flow[1])) == ("dev.public.raw", "dev.public.mart", 600)


def test_cyclic_ephemerals_do_not_hang_and_preserve_flows() -> None:
    found = elements(
        document(
            node("raw"),
            ephemeral("a", "model.shop.b", "model.shop.raw"),
            ephemeral("b", "model.shop.a"),
            ephemeral("self", "model.shop.self"),
            node("mart", "model.shop.b", "model.shop.self"),
        )
    )

    assert flows(found) == {("dev.public.raw", ("a", "b"), "dev.public.mart")}


def test_a_dependency_named_twice_is_one_flow() -> None:
    found = elements(document(node("a"), node("b", "model.shop.a", "model.shop.a")))

    assert flows(found) == {("dev.public.a", (), "dev.public.b")}


def test_flows_come_from_child_map_where_depends_on_is_missing() -> None:
    found = elements(
        document(
            node("a"),
            ephemeral("e") | {"depends_on": {}},
            node("b", "model.shop.e"),
            child_map={"model.shop.a": ["model.shop.e", "test.shop.t"]},
        )
    )

    assert flows(found) == {("dev.public.a", ("e",), "dev.public.b")}
    assert problems(found) == []


def test_an_exposure_is_fed_through_saved_queries_metrics_and_semantic_models() -> None:
    found = elements(
        document(
            node("orders", "source.shop.raw.o"),
            node("days"),
            sources={"source.shop.raw.o": source("o")},
            semantic_models={
                "semantic_model.shop.sm": {"name": "sm", "depends_on": {"nodes": ["model.shop.orders"]}}
            },
            metrics={
                "metric.shop.revenue": {
                    "name": "revenue",
                    "depends_on": {"nodes": ["semantic_model.shop.sm", "model.shop.days"]},
                },
                "metric.shop.unused": {"name": "unused", "depends_on": {"nodes": ["model.shop.orders"]}},
            },
            saved_queries={
                "saved_query.shop.q": {"name": "q", "depends_on": {"nodes": ["metric.shop.revenue"]}}
            },
            exposures={
                "exposure.shop.board": {
                    "name": "board",
                    "depends_on": {"nodes": ["saved_query.shop.q", "source.shop.raw.o"]},
                }
            },
        )
    )

    assert flows(found) == {
        ("dev.raw.o", (), "dev.public.orders"),
        ("dev.public.orders", (), "semantic_model.sm"),
        ("semantic_model.sm", (), "metric.revenue"),
        ("dev.public.days", (), "metric.revenue"),
        ("dev.public.orders", (), "metric.unused"),
        ("metric.revenue", (), "saved_query.q"),
        ("saved_query.q", (), "board"),
        ("dev.raw.o", (), "board"),
    }
    assert {(name, each.label) for name, each in datasets(found).items()} == {
        ("dev.raw.o", "table"),
        ("dev.public.orders", "table"),
        ("dev.public.days", "table"),
        ("semantic_model.sm", "semantic_model"),
        ("metric.revenue", "metric"),
        ("metric.unused", "metric"),
        ("saved_query.q", "saved_query"),
        ("board", "exposure"),
    }
    jobs = {element.job for element in found if isinstance(element, Feeds) and element.target.name == "board"}
    assert jobs == {JobKey("dbt", "exposure.shop.board")}
    assert "exposure.shop.board" not in {e.key.name for e in found if isinstance(e, Job)}
    assert "board" not in {e.target.name for e in found if isinstance(e, Writes)}


def test_a_function_passes_on_what_it_reads() -> None:
    functions = {"function.shop.f": {"name": "f", "depends_on": {"nodes": ["model.shop.rates"]}}}
    found = elements(document(node("rates"), node("mart", "function.shop.f"), functions=functions))

    assert flows(found) == {("dev.public.rates", ("f",), "dev.public.mart")}
    assert problems(found) == []


def test_disabled_nodes_are_left_out_and_their_dependents_reported() -> None:
    off = {"enabled": False}
    found = elements(
        document(
            node("off", config=off),
            node("a", "model.shop.off", "model.shop.old", "model.shop.deleted", "test.shop.t"),
            disabled={"model.shop.old": [node("old")]},
            sources={"source.shop.raw.s": source("s", config=off)},
            exposures={"exposure.shop.e": {"name": "e", "config": off}},
        )
    )

    assert set(datasets(found)) == {"dev.public.a"}
    assert flows(found) == set()
    place = ("not-joined", f"{WHERE}: model.shop.a", "nodes.model.shop.a.depends_on.nodes")
    assert {(p.kind, p.document, p.field) for p in problems(found)} == {place}
    assert [p.message for p in problems(found)] == [
        "model.shop.a depends on model.shop.off, which is disabled",
        "model.shop.a depends on model.shop.old, which is disabled",
        "model.shop.a depends on model.shop.deleted, which is not in the manifest",
    ]


def test_an_ephemeral_that_depends_on_nothing_known_is_reported_once() -> None:
    found = elements(
        document(
            ephemeral("e", "model.other.x"), node("a", "model.shop.e"), node("b", "model.shop.e"), node("c")
        )
    )

    assert [p.document for p in problems(found)] == [f"{WHERE}: model.shop.e"]


def test_dependents_of_a_rejected_node_are_reported_and_the_rest_remains() -> None:
    found = elements(
        document(node("broken", schema=None), node("raw"), node("a", "model.shop.broken", "model.shop.raw"))
    )

    assert flows(found) == {("dev.public.raw", (), "dev.public.a")}
    assert [(p.kind, p.document) for p in problems(found)] == [
        ("rejected", f"{WHERE}: model.shop.broken"),
        ("not-joined", f"{WHERE}: model.shop.a"),
    ]


def test_two_models_that_build_one_relation_both_remain() -> None:
    found = elements(
        document(
            node("x"),
            node("one", "model.shop.x", alias="same"),
            node("two", "model.shop.x", alias="same", materialized="view"),
        )
    )

    labels = {e.label for e in found if isinstance(e, Dataset) and e.ref.name == "dev.public.same"}
    writers = {e.job.name for e in found if isinstance(e, Writes) and e.target.name == "dev.public.same"}
    assert labels == {"table", "view"}
    assert writers == {"model.shop.one", "model.shop.two"}


def test_two_sources_that_are_one_table_are_one_flow() -> None:
    sources = {f"source.shop.{name}.t": source("t") for name in ("raw", "raw_again")}
    found = elements(document(node("a", *sources), sources=sources))

    assert flows(found) == {("dev.raw.t", (), "dev.public.a")}


def test_a_model_of_another_project_is_only_read() -> None:
    # As plugins for several dbt projects bring it in: without paths, with dbt's default config.
    public = node("customers", "model.core.hidden", path="", original_file_path="", materialized="view")
    found = elements(document(public, node("mart", "model.shop.customers")))

    assert datasets(found)["dev.public.customers"].authority is Authority.READER
    assert datasets(found)["dev.public.customers"].label == "table"
    assert {e.job.name for e in found if isinstance(e, Writes)} == {"model.shop.mart"}
    assert flows(found) == {("dev.public.customers", (), "dev.public.mart")}
    assert problems(found) == []


def test_an_installed_package_s_exposure_and_jobs_belong_to_the_root_project() -> None:
    exposures = {"exposure.package.e": {"name": "e", "package_name": "package"}}
    found = elements(document(node("a", package_name="package"), exposures=exposures))

    assert datasets(found)["e"].ref == Reference("dbt://shop", "e")
    assert [e.properties["project"] for e in found if isinstance(e, Job)] == ["shop"]


def test_parallel_ephemerals_are_named_alike_in_whatever_order_they_are_listed() -> None:
    sides = [ephemeral(name, "model.shop.raw") for name in ("left", "right", "middle")]
    ids = [f"model.shop.{side['name']}" for side in sides]
    last, mart = ephemeral("last", *ids), node("mart", "model.shop.last", *ids)

    one = flows(elements(document(node("raw"), *sides, last, mart)))
    for entry in (last, mart):
        entry["depends_on"]["nodes"].reverse()

    assert flows(elements(document(mart, last, *sides, node("raw")))) == one


@st.composite
def projects(draw: st.DrawFn) -> dict[str, tuple[bool, list[str]]]:
    """Models by name: (ephemeral, names of those it reads), circles included."""
    names = [f"m{number}" for number in range(draw(st.integers(1, 9)))]
    return {name: (draw(st.booleans()), draw(st.lists(st.sampled_from(names), max_size=4))) for name in names}


def reachable(edges: set[tuple[str, str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = [start]
    while waiting:
        here = waiting.pop()
        new = {to for at, to in edges if at == here} - found
        found |= new
        waiting.extend(new)
    return found


@settings(max_examples=200, deadline=None, database=None)
@given(projects())
def test_collapsing_ephemerals_preserves_reachability(project: dict[str, tuple[bool, list[str]]]) -> None:
    models = [
        node(
            name,
            *(f"model.shop.{parent}" for parent in parents),
            materialized="ephemeral" if folded else "table",
        )
        for name, (folded, parents) in project.items()
    ]
    before = {(parent, name) for name, (_, parents) in project.items() for parent in parents}
    remaining = {name for name, (folded, _) in project.items() if not folded}

    found = flows(elements(document(*models)))

    after = {(a.removeprefix("dev.public."), b.removeprefix("dev.public.")) for a, _, b in found}
    assert {name for pair in after for name in pair} <= remaining
    for name in remaining:
        assert reachable(after, name) == reachable(before, name) & remaining
    for start, via, end in found:
        inside = {start.removeprefix("dev.public."), *via, end.removeprefix("dev.public.")}
        assert not set(via) & remaining
        for step in via:
            # Each named step is on a path between the two that passes no dataset.
            passing = {(a, b) for a, b in before if {a, b} <= inside}
            assert step in reachable(passing, start.removeprefix("dev.public."))
            assert end.removeprefix("dev.public.") in reachable(passing, step)


@pytest.mark.parametrize(
    ("adapter", "fields", "name"),
    [
        # dbt-clickhouse has no database: a source whose schema is its own name takes `database` for it.
        ("clickhouse", {"database": "events", "relation_name": "`events`.`t`"}, "events.t"),
        ("clickhouse", {"database": "x", "schema": "events", "relation_name": "`events`.`t`"}, "events.t"),
        ("clickhouse", {"database": "", "schema": "events", "relation_name": "`events`.`t`"}, "events.t"),
        ("postgres", {"relation_name": '"dev"."other"."t"'}, "dev.other.t"),
        ("postgres", {"relation_name": '"DEV"."raw"."t"'}, "dev.raw.t"),
        ("oracle", {"relation_name": "raw.t"}, "dev.raw.t"),
        ("snowflake", {"relation_name": "dev.raw.t"}, "dev.raw.t"),
        ("duckdb", {"relation_name": "read_csv('x')"}, "dev.raw.t"),
        ("bigquery", {"relation_name": "`dev`.`raw`.`ga.t`", "identifier": "ga.t"}, "dev.raw.ga.t"),
        ("bigquery", {"relation_name": "`dev.raw.t`"}, "dev.raw.t"),
        ("postgres", {"relation_name": None}, "dev.raw.t"),
    ],
)
def test_the_relation_name_is_right_where_it_contradicts_database_and_schema(
    adapter: str, fields: dict[str, Any], name: str
) -> None:
    content = document(sources={"source.shop.raw.t": source("t", **fields)})
    content["metadata"]["adapter_type"] = adapter

    assert set(datasets(elements(content))) == {name}


@pytest.mark.parametrize("adapter", ["databricks", "spark"])
def test_names_of_databricks_and_spark_are_lower_case(adapter: str) -> None:
    content = document(
        node("Mart", "source.shop.raw.T", schema="Sales"),
        sources={"source.shop.raw.T": source("T", database="Prod")},
    )
    content["metadata"]["adapter_type"] = adapter

    assert flows(elements(content)) == {("prod.raw.t", (), "dev.sales.mart")}
