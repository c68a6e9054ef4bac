"""Names of dbt's jobs: two projects, packages or targets never share one."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.naming.jobs import job_name, project_of, unique_id_of
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.reader import read_dbt
from tests.record_reading import jobs_of, writes_of

HOST = "postgres://wh:5432"


@pytest.mark.parametrize(
    ("project", "unique_id", "target", "name"),
    [
        ("tickit", "model.tickit.stg_sales", "", "model.tickit.stg_sales"),
        ("tickit", "model.dbt_utils.days", "", "tickit/model.dbt_utils.days"),
        ("tickit", "model.tickit.m.v2", "", "model.tickit.m.v2"),
        ("tickit", "model.tickit.stg_sales", "prod", "tickit@prod/model.tickit.stg_sales"),
        ("tickit", "exposure.pkg.board", "dev.1", "tickit@dev.1/exposure.pkg.board"),
    ],
)
def test_a_job_is_called_by_its_id_and_by_its_project_where_that_is_another(
    project: str, unique_id: str, target: str, name: str
) -> None:
    assert job_name(project, unique_id, target) == name
    assert (project_of(name), unique_id_of(name)) == (project, unique_id)


def test_a_job_that_is_called_by_what_it_builds_says_its_project_and_id() -> None:
    name = Jobs("tickit", relations={"model.pkg.m": f"{HOST}/dev.a.m"}).key("model.pkg.m").name
    assert name == f"tickit@{HOST}/dev.a.m/model.pkg.m"
    assert (project_of(name), unique_id_of(name)) == ("tickit", "model.pkg.m")


def test_of_a_project_without_a_name_the_id_is_all() -> None:
    assert job_name("", "model.tickit.m") == "model.tickit.m"


def manifest(project: str, *models: str, schema: str = "mart") -> dict[str, Any]:
    """`models` are package and name: ``pkg.m``."""
    nodes = {
        f"model.{model}": {
            "unique_id": f"model.{model}",
            "resource_type": "model",
            "name": model.partition(".")[2],
            "package_name": model.partition(".")[0],
            "database": "db",
            "schema": schema,
            "config": {"materialized": "table"},
            "depends_on": {"nodes": []},
        }
        for model in models
    }
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
        "generated_at": "2026-11-22T14:38:31Z",
        "project_name": project,
    }
    return {"metadata": metadata, "nodes": nodes, "sources": {}}


Read = Callable[..., set[tuple[str, str]]]


@pytest.fixture
def read(engine: Engine, tmp_path: Path) -> Read:
    """(job, table) of what the jobs of several manifests write; each has the manifest and more settings."""

    def reading(*entries: tuple[dict[str, Any], dict[str, str]]) -> set[tuple[str, str]]:
        projects = []
        for index, (content, more) in enumerate(entries):
            file = tmp_path / f"{index}.json"
            file.write_text(json.dumps(content), "utf-8")
            projects.append({"manifest": str(file), "namespace": HOST, **more})
        parsed = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "dbt": projects})
        rows = read_dbt(engine, parsed, from_config(parsed)).collect()
        writes = {(job, target.rpartition("|")[2]) for job, target in writes_of(rows)}
        assert {job for job, _ in writes} == jobs_of(rows).keys()
        return writes

    return reading


def test_two_projects_that_install_one_package_share_no_job(read: Read) -> None:
    a, b = manifest("a", "a.m", "pkg.p", schema="a"), manifest("b", "b.m", "pkg.p", schema="b")
    expected = {
        ("model.a.m", "db.a.m"),
        ("a/model.pkg.p", "db.a.p"),
        ("model.b.m", "db.b.m"),
        ("b/model.pkg.p", "db.b.p"),
    }
    assert read((a, {}), (b, {})) == expected
    assert read((a, {})) | read((b, {})) == expected


def test_two_targets_of_one_project_share_no_job_and_their_order_does_not_count(read: Read) -> None:
    dev, prod = manifest("a", "a.m", "a.n", schema="dev"), manifest("a", "a.m", schema="prod")
    by_name = {("a@dev/model.a.m", "db.dev.m"), ("a@dev/model.a.n", "db.dev.n"), ("model.a.m", "db.prod.m")}
    by_relation = {
        (f"a@{HOST}/db.dev.m/model.a.m", "db.dev.m"),
        (f"a@{HOST}/db.dev.n/model.a.n", "db.dev.n"),
        (f"a@{HOST}/db.prod.m/model.a.m", "db.prod.m"),
    }
    assert read((dev, {"target": "dev"}), (prod, {})) == by_name
    assert read((dev, {}), (prod, {})) == by_relation
    assert read((prod, {}), (dev, {})) == by_relation


def test_one_manifest_twice_and_parts_of_a_project_keep_their_names(read: Read) -> None:
    whole, part = manifest("a", "a.m"), manifest("a", "a.n")
    assert read((whole, {}), (whole, {}), (part, {})) == {
        ("model.a.m", "db.mart.m"),
        ("model.a.n", "db.mart.n"),
    }
