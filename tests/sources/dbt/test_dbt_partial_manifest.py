"""Manifests that are compiled in part, those of another project, and older catalogs."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Column, Element, Job, JobKey, Problem, UnreadColumns
from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.settings import DbtProject
from tests.dbt_column_project import Project

NAMESPACE = "redshift://wh.eu-west-1:5439"


def written(folder: Path, made: Project, **more: Any) -> DbtProject:
    """Write a manifest, and return its settings; `more`: artefacts as JSON, or settings as text."""
    metadata = {**made.metadata, "project_name": "p", "generated_at": "2026-03-02T05:00:00Z"}
    document = {"metadata": metadata, "nodes": made.nodes, "sources": made.sources}
    files = {"manifest": document} | {key: value for key, value in more.items() if isinstance(value, dict)}
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content), "utf-8")
    settings: dict[str, Any] = {key: value for key, value in more.items() if isinstance(value, str)}
    paths: dict[str, Any] = {name: str(folder / f"{name}.json") for name in files}
    if "run_results" in paths:
        paths["run_results"] = (paths["run_results"],)
    return DbtProject(**paths, namespace=NAMESPACE, **settings)


def unread(found: list[Element]) -> set[str]:
    return {each.job.name for each in found if isinstance(each, UnreadColumns)}


def notices(found: list[Element]) -> list[str]:
    return [each.message for each in found if isinstance(each, Problem) and each.kind == "notice"]


def test_models_without_compiled_sql_and_what_depends_on_their_columns_are_named(tmp_path: Path) -> None:
    project = Project("redshift").source("t", "a b")
    project.model("lost", None, "source.raw.t")
    project.model("all_of_it", "select * from db.mart.lost", "model.lost")
    project.model("beyond", "select * from db.mart.all_of_it", "model.all_of_it")
    project.model("some", "select a + 1 as a from db.mart.lost", "model.lost")
    project.model("either", "select a from db.mart.lost, db.mart.all_of_it", "model.lost", "model.all_of_it")
    project.model("apart", "select b from db.raw.t", "source.raw.t")

    found = list(elements(written(tmp_path, project)))

    assert unread(found) == {f"model.p.{name}" for name in ("lost", "all_of_it", "beyond", "either")}
    [notice] = notices(found)
    assert "lacks compiled SQL of 4 of 6 models, or of what they read" in notice
    assert "Fix: run dbt compile" in notice


def test_code_that_is_no_sql_or_cannot_be_parsed_is_no_partial_manifest(tmp_path: Path) -> None:
    project = Project("redshift").source("t", "a").model("broken", "select ((", "source.raw.t")
    project.model("script", "def model(dbt, session): ...", "source.raw.t", language="python")
    found = list(elements(written(tmp_path, project)))
    assert (unread(found), notices(found)) == (set(), [])


def catalog(at: str, invocation: str = "docs", **tables: str) -> dict[str, Any]:
    return {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/catalog/v1.json",
            "generated_at": at,
            "invocation_id": invocation,
        },
        "nodes": {
            f"model.p.{name}": {
                "columns": {
                    column: {"name": column, "type": "INT", "index": index}
                    for index, column in enumerate(columns.split())
                }
            }
            for name, columns in tables.items()
        },
        "sources": {},
    }


def columns(found: list[Element], table: str) -> list[str]:
    return [each.name for each in found if isinstance(each, Column) and each.ref.name == f"db.mart.{table}"]


@pytest.mark.parametrize(
    ("at", "materialized", "expected"),
    [
        ("2026-03-01T05:00:00Z", "table", ["id", "net"]),
        ("2026-03-01T05:00:00Z", "view", ["id", "net"]),
        # Its rows may be older than its SQL.
        ("2026-03-01T05:00:00Z", "incremental", ["id", "gross", "net"]),
        # What the warehouse has after the manifest was written, such as a column that a hook adds.
        ("2026-03-02T06:00:00Z", "table", ["id", "gross", "net"]),
    ],
)
def test_columns_of_a_catalog_that_is_older_than_the_manifest_are_not_those_of_its_sql(
    tmp_path: Path, at: str, materialized: str, expected: list[str]
) -> None:
    project = Project("redshift").source("t", "id gross")
    config = {"materialized": materialized}
    project.model("m", "select id, gross as net from db.raw.t", "source.raw.t", config=config)
    found = list(elements(written(tmp_path, project, catalog=catalog(at, m="id gross"))))
    assert columns(found, "m") == expected
    reported = [each for each in notices(found) if "catalog is older than the manifest" in each]
    assert [each.rpartition(": ")[2] for each in reported] == (["gross"] if expected == ["id", "net"] else [])


def test_an_older_catalog_has_the_columns_that_no_sql_determines(tmp_path: Path) -> None:
    project = Project("redshift").source("t").model("m", "select * from db.raw.t", "source.raw.t")
    older = catalog("2026-03-01T05:00:00Z", m="id gross")
    assert columns(list(elements(written(tmp_path, project, catalog=older))), "m") == ["id", "gross"]


def test_the_manifest_of_another_project_than_the_configured_one_is_rejected(tmp_path: Path) -> None:
    project = Project("redshift").model("m", "select 1 as a")
    with pytest.raises(DocumentError) as raised:
        list(elements(written(tmp_path, project, project="shop")))
    assert "metadata.project_name: is p, but dbt[].project is shop" in str(raised.value)
    assert list(elements(written(tmp_path, project, project="p")))


def test_when_a_model_was_skipped_is_a_fact_of_its_job_beside_its_last_run(tmp_path: Path) -> None:
    results = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json",
            "generated_at": "2026-03-02T05:30:00Z",
        },
        "results": [
            {"unique_id": f"model.p.{name}", "status": status, "timing": []}
            for name, status in (("m", "skipped"), ("removed", "skipped"), ("n", "no-op"))
        ],
        "args": {"which": "build"},
    }
    project = Project("redshift").model("m", "select 1 as a").model("n", "select 1 as a")
    found = list(elements(written(tmp_path, project, run_results=results)))
    skipped = [each for each in found if isinstance(each, Job) and "skipped_at" in each.properties]
    assert [(each.key, dict(each.properties)) for each in skipped] == [
        (JobKey("dbt", "model.p.m"), {"skipped_at": 1772429400000})
    ]
