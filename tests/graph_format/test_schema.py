import re
from importlib.resources import files
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from lineage_merge.graph_format.json_schemas import (
    SNAPSHOT_COLUMNS,
    edge_schema,
    node_schema,
    schema_files,
    snapshot_columns,
)
from lineage_merge.graph_format.schema import (
    EDGE_LABELS,
    EDGE_PROPERTIES,
    NODE_LABELS,
    NODE_PROPERTIES,
    Label,
    Property,
)
from lineage_merge.infra.json_schema import Checker

FILE: dict[str, Any] = {
    "id": "dev|s3://tickit-raw|sales",
    "label": "file",
    "environment": "dev",
    "dag_name": "tickit_daily",
    "name": "sales",
    "namespace": "s3://tickit-raw",
    "qualified_name": "sales",
    "format": "csv",
    "aliases": ["dev|glue|table/tickit/sales (catalog)"],
}
JOB: dict[str, Any] = {
    "id": "dev|tickit_daily|spark|tickit_sales_ingest",
    "label": "job",
    "environment": "dev",
    "dag_name": "tickit_daily",
    "name": "tickit_sales_ingest",
    "job_type": "spark",
    "last_run_at": 1_760_000_000_000,
}
FEEDS: dict[str, Any] = {
    "id": "0123456789abcdef0123",
    "label": "feeds",
    "from": "dev|s3://tickit-raw|sales",
    "to": "dev|s3://tickit-lake|sales",
    "environment": "dev",
    "dag_name": "tickit_daily",
    "job_type": "spark",
    "job_name": "tickit_sales_ingest",
    "write_mode": "overwrite",
}
WRITES = {key: value for key, value in FEEDS.items() if key != "write_mode"} | {
    "label": "writes",
    "from": JOB["id"],
}

nodes = Checker(node_schema())
edges = Checker(edge_schema())


@pytest.mark.parametrize("name", sorted(schema_files()))
def test_the_published_schemas_are_the_ones_that_are_used(name: str) -> None:
    """`python -m lineage_merge.graph_format.json_schemas` writes them again."""
    published = files("lineage_merge.graph_format").joinpath(name).read_text(encoding="utf-8")

    assert published == schema_files()[name]


def test_the_columns_of_a_snapshot_are_those_of_the_graph_model() -> None:
    assert SNAPSHOT_COLUMNS.read_text(encoding="utf-8") == snapshot_columns()


@pytest.mark.parametrize("schema", [node_schema(), edge_schema()], ids=["node", "edge"])
def test_the_schemas_are_valid_draft_2020_12(schema: dict[str, Any]) -> None:
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("node", [FILE, JOB], ids=lambda node: node["label"])
def test_nodes_of_the_design_fit(node: dict[str, Any]) -> None:
    assert nodes.error(node) is None


@pytest.mark.parametrize("edge", [FEEDS, WRITES], ids=lambda edge: edge["label"])
def test_edges_of_the_design_fit(edge: dict[str, Any]) -> None:
    assert edges.error(edge) is None


@pytest.mark.parametrize(
    ("checker", "good", "change", "path", "problem"),
    [
        (nodes, FILE, {"label": "folder"}, "label", "must be file or table or view"),
        (nodes, FILE, {"id": ""}, "id", "is empty"),
        (nodes, FILE, {"name": None}, "name", "must be a string, not null"),
        (nodes, FILE, {"color": "red"}, "color", "is not allowed here"),
        (nodes, FILE, {"job_type": "spark"}, "job_type", "is not allowed here"),
        (nodes, FILE, {"aliases": "one"}, "aliases", "must be a list, not a string"),
        (nodes, FILE, {"aliases": ["a", "a"]}, "aliases", "has duplicate values"),
        (nodes, FILE, {"aliases": ["a", 1]}, "aliases[1]", "must be a string, not an integer"),
        (nodes, JOB, {"location": "s3://b/x"}, "location", "is not allowed here"),
        (nodes, JOB, {"last_run_at": "yesterday"}, "last_run_at", "must be an integer"),
        (nodes, JOB, {"last_run_at": 1.5}, "last_run_at", "must be an integer"),
        (edges, FEEDS, {"label": "reads"}, "label", "must be feeds or "),
        (edges, WRITES, {"via": "x"}, "via", "is not allowed here"),
        (edges, FEEDS, {"write_mode": 1}, "write_mode", "must be a string"),
    ],
)
def test_what_does_not_fit_is_named_by_its_field(
    checker: Checker, good: dict[str, Any], change: dict[str, Any], path: str, problem: str
) -> None:
    error = checker.error(good | change)

    assert error is not None
    assert error.path == path
    assert error.problem.startswith(problem)


@pytest.mark.parametrize(
    ("checker", "good", "key"),
    [
        *((nodes, FILE, key) for key in ("id", "label", "environment", "dag_name", "name")),
        *((edges, FEEDS, key) for key in ("id", "label", "environment", "dag_name", "from", "to")),
        *((edges, FEEDS, key) for key in ("job_type", "job_name")),
    ],
)
def test_a_missing_key_is_named(checker: Checker, good: dict[str, Any], key: str) -> None:
    without = {name: value for name, value in good.items() if name != key}

    assert checker.error(without) == (key, "is missing")


@pytest.mark.parametrize(
    ("labels", "properties"),
    [(NODE_LABELS, NODE_PROPERTIES), (EDGE_LABELS, EDGE_PROPERTIES)],
    ids=["nodes", "edges"],
)
def test_labels_and_properties_are_declared_for_each_other(
    labels: tuple[Label, ...], properties: tuple[Property, ...]
) -> None:
    names = [declared.name for declared in properties]

    assert len(names) == len(set(names))
    assert {name for label in labels for name in label.properties} == set(names)
    # Neptune's bulk loader and Gremlin both want plain names.
    assert all(re.fullmatch("[a-z][a-z_]*", name) for name in [*names, *(label.name for label in labels)])


def test_edges_have_no_sets() -> None:
    assert not [declared.name for declared in EDGE_PROPERTIES if declared.many]
