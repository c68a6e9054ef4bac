"""Parsing of manifests: versions, old forms, and messages about malformed ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.dbt.manifest import read_manifest

DATA = Path(__file__).parents[2] / "data" / "dbt"
WHERE = "s3://artifacts/manifest.json"


def version_url(version: object) -> str:
    return f"https://schemas.getdbt.com/dbt/manifest/v{version}.json"


def document(**sections: Any) -> dict[str, Any]:
    metadata = {
        "dbt_schema_version": version_url(12),
        "dbt_version": "1.11.16",
        "generated_at": "2026-11-21T09:44:02.385452Z",
        "invocation_id": "run-1",
        "project_name": "shop",
    }
    return {"metadata": metadata, "nodes": {}, "sources": {}} | sections


def model(name: str, *parents: str, **fields: Any) -> dict[str, Any]:
    return {
        "resource_type": "model",
        "name": name,
        "alias": name,
        "package_name": "shop",
        "database": "dev",
        "schema": "public",
        "config": {"materialized": "table"},
        "depends_on": {"nodes": list(parents)},
    } | fields


def read(content: Any) -> Any:
    return read_manifest(WHERE, json.dumps(content))


# A manifest as dbt 0.19 wrote it, by the published schema of v1.
V1_MODEL = {
    "raw_sql": "select * from {{ source('raw', 'orders') }}",
    "compiled": True,
    "compiled_sql": "select * from raw.orders",
    "resource_type": "model",
    "depends_on": {"macros": [], "nodes": ["source.shop.raw.orders"]},
    "config": {
        "enabled": True,
        "materialized": "incremental",
        "persist_docs": {},
        "vars": {},
        "quoting": {},
        "column_types": {},
        "alias": None,
        "schema": None,
        "database": None,
        "tags": "nightly",
        "full_refresh": None,
    },
    "database": None,
    "schema": "analytics",
    "fqn": ["shop", "orders"],
    "unique_id": "model.shop.orders",
    "package_name": "shop",
    "root_path": "/usr/app",
    "path": "orders.sql",
    "original_file_path": "models/orders.sql",
    "name": "orders",
    "alias": "orders",
    "checksum": {"name": "sha256", "checksum": "ab"},
    "tags": ["core", "nightly"],
    "refs": [],
    "sources": [["raw", "orders"]],
    "description": "",
    "columns": {},
    "meta": {},
    "docs": {"show": True},
    "patch_path": None,
    "deferred": False,
    "unrendered_config": {"materialized": "incremental"},
}
V1 = {
    "metadata": {
        "dbt_schema_version": version_url(1),
        "dbt_version": "0.19.1",
        "generated_at": "2021-06-16T08:34:18.410075Z",
        "invocation_id": "e8b6c2f7",
        "env": {},
        "project_id": "fb54f3c5992b96d001bb16e8e92d968d",
        "user_id": None,
        "send_anonymous_usage_stats": False,
        "adapter_type": "spark",
    },
    "nodes": {"model.shop.orders": V1_MODEL},
    "sources": {
        "source.shop.raw.orders": {
            "fqn": ["shop", "raw", "orders"],
            "database": None,
            "schema": "raw",
            "unique_id": "source.shop.raw.orders",
            "package_name": "shop",
            "root_path": "/usr/app",
            "path": "models/sources.yml",
            "original_file_path": "models/sources.yml",
            "name": "orders",
            "source_name": "raw",
            "source_description": "",
            "loader": "",
            "identifier": "orders_2020",
            "resource_type": "source",
            "config": {"enabled": True},
        }
    },
    "macros": {},
    "docs": {},
    "exposures": {
        "exposure.shop.weekly": {
            "fqn": ["shop", "weekly"],
            "unique_id": "exposure.shop.weekly",
            "package_name": "shop",
            "root_path": "/usr/app",
            "path": "exposures.yml",
            "original_file_path": "models/exposures.yml",
            "name": "weekly",
            "type": "dashboard",
            "owner": {"email": "a@example.com", "name": None},
            "resource_type": "exposure",
            "depends_on": {"macros": [], "nodes": ["model.shop.orders"]},
        }
    },
    "selectors": {},
    "disabled": [V1_MODEL | {"unique_id": "model.shop.old", "name": "old"}],
    "parent_map": {},
    "child_map": {},
}


def test_a_manifest_of_version_1_is_read_with_its_list_of_disabled_nodes_and_a_single_tag() -> None:
    manifest, problems = read(V1)

    assert problems == []
    assert manifest.dbt_version == "0.19.1"
    assert manifest.generated_at == 1623832458410
    assert set(manifest.nodes) == {"model.shop.orders", "source.shop.raw.orders", "exposure.shop.weekly"}
    orders = manifest.nodes["model.shop.orders"]
    assert (orders.database, orders.schema, orders.identifier) == ("", "analytics", "orders")
    assert orders.tags == ("core", "nightly")
    assert orders.parents == ("source.shop.raw.orders",)
    assert manifest.nodes["source.shop.raw.orders"].identifier == "orders_2020"
    assert manifest.left_out == {"model.shop.old": "is disabled"}


def test_the_project_of_a_manifest_without_project_name_is_the_package_whose_hash_it_has() -> None:
    # dbt before 1.6: the MD5 of "shop", among nodes of two packages.
    metadata = {
        "dbt_schema_version": version_url(9),
        "generated_at": "2021-06-16T08:34:18Z",
        "project_id": "fb54f3c5992b96d001bb16e8e92d968d",
    }
    nodes = {"model.a.x": model("x", package_name="a"), "model.shop.y": model("y")}

    assert read(document(metadata=metadata, nodes=nodes))[0].project == "shop"
    assert read(document(metadata=metadata | {"project_id": None}, nodes=nodes))[0].project == ""


def test_the_real_manifest_of_dbt_1_5_has_its_project() -> None:
    manifest, problems = read_manifest(WHERE, (DATA / "duckdb_v9/manifest.json").read_text("utf-8"))

    assert (manifest.project, manifest.dbt_version, problems) == ("tickit", "1.5.12", [])


@pytest.mark.parametrize("version", [*range(1, 13), 20])
def test_each_supported_version_is_read(version: int) -> None:
    content = document(nodes={"model.shop.a": model("a")})
    content["metadata"]["dbt_schema_version"] = version_url(version)

    manifest, problems = read(content)

    assert set(manifest.nodes) == {"model.shop.a"}
    assert problems == []


@pytest.mark.parametrize(
    "value",
    [
        version_url(0),
        version_url(13),
        version_url(19),
        version_url(21),
        version_url(99999),
        version_url("12.1"),
        "https://schemas.getdbt.com/dbt/unknown/v1.json",
        "v12",
        12,
    ],
)
def test_an_unsupported_version_is_named_with_what_is_supported(value: object) -> None:
    content = document()
    content["metadata"]["dbt_schema_version"] = value

    with pytest.raises(DocumentError) as caught:
        read(content)

    assert caught.value.field == "metadata.dbt_schema_version"
    assert str(value) in caught.value.message
    assert "v1 to v12 and v20" in caught.value.message
    assert caught.value.message.startswith(WHERE)


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("", ""),
        ('{"metadata": {"dbt_schema_version": "https', ""),
        ("[" * 100_000, ""),
        ("[]", ""),
        ("null", ""),
        ("{}", "metadata"),
        ('{"metadata": []}', "metadata"),
        ('{"metadata": {}}', "metadata.dbt_schema_version"),
        (json.dumps({"metadata": {"dbt_schema_version": version_url(12)}}), "nodes"),
        (json.dumps(document(nodes=[])), "nodes"),
        (json.dumps(document(sources="none")), "sources"),
        (json.dumps(document(metadata=document()["metadata"] | {"dbt_version": 1})), "metadata.dbt_version"),
        (
            json.dumps(document(metadata=document()["metadata"] | {"generated_at": "yesterday"})),
            "metadata.generated_at",
        ),
    ],
)
def test_an_invalid_manifest_is_rejected_with_its_location_and_field(text: str, field: str) -> None:
    with pytest.raises(DocumentError) as caught:
        read_manifest(WHERE, text)

    assert (caught.value.document, caught.value.field) == (WHERE, field)
    assert "\n" not in caught.value.message


def test_a_truncated_file_is_rejected_with_the_line_where_it_ends() -> None:
    text = (DATA / "redshift_v12/manifest.json").read_text("utf-8")

    with pytest.raises(DocumentError, match=r"not valid JSON: .* \(line 1, column \d+\)"):
        read_manifest(WHERE, text[: len(text) // 2])


def test_a_byte_order_mark_does_no_harm() -> None:
    manifest, _ = read_manifest(WHERE, "\ufeff" + json.dumps(document(nodes={"model.shop.a": model("a")})))

    assert set(manifest.nodes) == {"model.shop.a"}


@pytest.mark.parametrize(
    ("broken", "field"),
    [
        ([], "nodes.model.shop.b"),
        ({}, "nodes.model.shop.b.resource_type"),
        (model("b") | {"name": 7}, "nodes.model.shop.b.name"),
        (model("b") | {"name": ""}, "nodes.model.shop.b.name"),
        ({"resource_type": "model", "name": "b"}, "nodes.model.shop.b.schema"),
        (model("b", schema=None), "nodes.model.shop.b.schema"),
        (model("b", database=["dev"]), "nodes.model.shop.b.database"),
        (model("b", depends_on=["model.shop.a"]), "nodes.model.shop.b.depends_on"),
        (model("b", depends_on={"nodes": [{"id": 1}]}), "nodes.model.shop.b.depends_on.nodes[0]"),
        (model("b", depends_on={"nodes": ["x", None]}), "nodes.model.shop.b.depends_on.nodes[1]"),
        (model("b", config="table"), "nodes.model.shop.b.config"),
        (model("b", config={"materialized": 1}), "nodes.model.shop.b.config.materialized"),
        (model("b", config={"enabled": ["no"]}), "nodes.model.shop.b.config.enabled"),
        (model("b", tags=[1]), "nodes.model.shop.b.tags[0]"),
    ],
)
def test_a_broken_node_is_named_and_the_others_stay(broken: object, field: str) -> None:
    nodes = {"model.shop.a": model("a"), "model.shop.b": broken, "model.shop.c": model("c", "model.shop.b")}

    manifest, problems = read(document(nodes=nodes))

    assert set(manifest.nodes) == {"model.shop.a", "model.shop.c"}
    assert manifest.left_out == {"model.shop.b": "was rejected"}
    assert [(p.kind, p.document, p.field) for p in problems] == [
        ("rejected", f"{WHERE}: model.shop.b", field)
    ]
    assert problems[0].message


@pytest.mark.parametrize("text", ["True and True", "True or False", "None"])
def test_an_entry_whose_enabled_was_rendered_to_text_stays_as_dbt_takes_it_for_true(text: str) -> None:
    # Older dbt: `enabled: "{{ var('a', true) }} and {{ var('b', true) }}"` in a package's sources.yml.
    nodes = {"model.shop.a": model("a", config={"enabled": text})}
    entry = {
        "name": "t",
        "source_name": "raw",
        "database": "dev",
        "schema": "raw",
        "config": {"enabled": text},
    }

    manifest, problems = read(document(nodes=nodes, sources={"source.shop.raw.t": entry}))

    assert set(manifest.nodes) == {"model.shop.a", "source.shop.raw.t"}
    assert problems == []


def test_broken_sources_exposures_and_metrics_are_named_too() -> None:
    content = document(
        sources={"source.shop.raw.x": {"name": "x"}},
        exposures={"exposure.shop.e": {"name": "e", "depends_on": {"nodes": "model.shop.a"}}},
        metrics={"metric.shop.m": None},
    )

    manifest, problems = read(content)

    assert manifest.nodes == {}
    assert {problem.field for problem in problems} == {
        "sources.source.shop.raw.x.schema",
        "exposures.exposure.shop.e.depends_on.nodes",
        "metrics.metric.shop.m",
    }


def test_tests_analyses_and_operations_are_left_out_whatever_they_hold() -> None:
    kinds = ["test", "analysis", "operation", "sql operation", "rpc"]
    nodes: dict[str, Any] = {f"{kind}.shop.x": {"resource_type": kind, "name": 1} for kind in kinds}

    manifest, problems = read(document(nodes=nodes | {"model.shop.a": model("a")}))

    assert set(manifest.nodes) == {"model.shop.a"}
    assert problems == []


def test_sections_that_old_or_small_manifests_lack_are_no_problem() -> None:
    content = document(nodes={"model.shop.a": {"resource_type": "model", "name": "a", "schema": "s"}})
    del content["sources"]

    manifest, problems = read(content | {"exposures": None, "disabled": None, "parent_map": None})

    assert manifest.nodes["model.shop.a"].identifier == "a"
    assert problems == []


def test_disabled_nodes_of_newer_manifests_are_known_by_id_unless_another_version_of_them_is_enabled() -> (
    None
):
    disabled = {"model.shop.old": [model("old"), model("old")], "model.shop.a": [model("a")]}

    manifest, _ = read(document(nodes={"model.shop.a": model("a")}, disabled=disabled))

    assert set(manifest.nodes) == {"model.shop.a"}
    assert manifest.left_out == {"model.shop.old": "is disabled"}


def test_a_time_without_a_zone_is_utc_and_nanoseconds_are_cut() -> None:
    content = document()
    content["metadata"]["generated_at"] = "1970-01-01T00:00:01.234567890"

    assert read(content)[0].generated_at == 1234


def test_a_manifest_without_its_time_is_read_with_a_notice() -> None:
    content = document(nodes={"model.shop.a": model("a")})
    del content["metadata"]["generated_at"]

    manifest, problems = read(content)

    assert set(manifest.nodes) == {"model.shop.a"}
    assert [(problem.kind, problem.field) for problem in problems] == [("notice", "metadata.generated_at")]


@pytest.mark.parametrize(
    "depends_on", [{"depends_on": None}, {"depends_on": {"macros": []}}, {"depends_on": {"nodes": []}}]
)
@pytest.mark.parametrize(
    "maps",
    [
        {"parent_map": {"model.shop.b": ["model.shop.a"]}},
        {"child_map": {"model.shop.a": ["model.shop.b", "test.shop.t"], "model.shop.b": None}},
        {
            "parent_map": {"model.shop.b": ["model.shop.a", "model.shop.a"]},
            "child_map": {"model.shop.a": ["model.shop.b"]},
        },
    ],
)
def test_the_maps_stand_in_for_a_missing_depends_on(depends_on: Any, maps: Any) -> None:
    nodes = {"model.shop.a": model("a"), "model.shop.b": model("b", **depends_on)}

    manifest, problems = read(document(nodes=nodes, **maps))

    assert manifest.nodes["model.shop.b"].parents == ("model.shop.a",)
    assert manifest.nodes["model.shop.a"].parents == ()
    assert problems == []


def test_a_broken_entry_of_a_map_is_named_and_the_node_stays() -> None:
    nodes = {"model.shop.b": model("b")}

    manifest, problems = read(document(nodes=nodes, parent_map={"model.shop.b": ["model.shop.a", 3]}))

    assert manifest.nodes["model.shop.b"].parents == ()
    assert problems == [
        Problem("rejected", f"{WHERE}: model.shop.b", "parent_map.model.shop.b[1]", problems[0].message)
    ]


def test_code_and_columns_named_like_fields_do_not_disturb_reading() -> None:
    # Entries are thinned out while the JSON is parsed: a column or a tag may be called anything.
    columns = {"unique_id": {"name": "unique_id"}, "resource_type": {"name": "resource_type"}}
    node = model("a", "model.shop.b", unique_id="model.shop.a", columns=columns, raw_code="select 1")
    node["config"]["meta"] = {"unique_id": "x", "resource_type": "y", "z": 1}

    manifest, problems = read(document(nodes={"model.shop.a": node, "model.shop.b": model("b")}))

    assert manifest.nodes["model.shop.a"].parents == ("model.shop.b",)
    assert problems == []
