"""Exports, manifests, catalogs and Glue: on disk and on an S3 server that can refuse."""

import json
from datetime import UTC, datetime
from pathlib import Path
from shutil import copytree
from typing import Any

import boto3
import pytest

from lineage_merge import config
from lineage_merge.infra.embedded import java
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.doctor import machine
from lineage_merge.sources.diagnosis import Diagnosis
from tests.doctor.diagnosing import examine
from tests.s3_fixtures import S3

NAMESPACE = "redshift://wh.us-east-1:5439"


def parsed(**settings: Any) -> config.Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", **settings}, needs_source=False)


def dbt(manifest: str | Path, **more: Any) -> list[Diagnosis]:
    project = {"manifest": str(manifest), "namespace": NAMESPACE, **more}
    return examine("dbt", parsed(dbt=[project]))


def export(folder: str | Path) -> Diagnosis:
    (found,) = examine("Spline export", parsed(spline={"export": str(folder)}))
    return found


def test_captured_manifests_catalogs_and_exports_pass(data: Path, s3: S3, tmp_path: Path) -> None:
    project = data / "dbt" / "duckdb_v12"
    document = json.loads((project / "manifest.json").read_text("utf-8"))
    document["metadata"]["generated_at"] = datetime.now(UTC).isoformat()
    (tmp_path / "manifest.json").write_text(json.dumps(document), "utf-8")
    manifest = s3.put("artifacts", "manifest.json", tmp_path / "manifest.json")

    findings = [*dbt(manifest, catalog=str(project / "catalog.json")), export(data / "spline" / "tpch")]

    assert [(each.check, each.state) for each in findings] == [
        ("dbt manifest", "ok"),
        ("dbt catalog", "ok"),
        ("Spline export", "ok"),
    ]
    assert export(s3.put_folder("exports", "spline", data / "spline" / "tpch")).state == "ok"


def test_a_manifest_that_no_task_uploads_is_a_warning_with_its_fix(data: Path, tmp_path: Path) -> None:
    metadata = {
        "dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json",
        "generated_at": "2031-01-01T00:00:00Z",
        "invocation_id": "later",
    }
    file = tmp_path / "run_results.json"
    file.write_text(json.dumps({"metadata": metadata, "args": {"which": "build"}, "results": []}))
    first, second, _ = dbt(data / "dbt" / "duckdb_v12" / "manifest.json", run_results=str(file))
    assert (first.state, second.check, second.state) == ("ok", "dbt manifest", "warning")
    assert "older than the run results" in second.message
    assert second.fix.startswith("upload target/manifest.json after each dbt run")


def test_a_manifest_of_another_project_than_the_configured_one_fails(data: Path) -> None:
    (found,) = dbt(data / "dbt" / "duckdb_v12" / "manifest.json", project="other_shop")
    assert (found.state, found.fix) == ("failed", "correct dbt[].manifest, or dbt[].project")
    assert "but dbt[].project is other_shop" in found.message


@pytest.mark.parametrize(
    ("command", "state"), [("build", "ok"), ("generate", "warning"), (None, "warning"), ("", "failed")]
)
def test_run_results_of_a_build_pass_and_missing_ones_warn(
    data: Path, tmp_path: Path, command: str | None, state: str
) -> None:
    file = tmp_path / "run_results.json"
    metadata = {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"}
    if command is not None:
        file.write_text(
            json.dumps({"metadata": metadata if command else {}, "args": {"which": command}, "results": []})
        )

    _, found = dbt(data / "dbt" / "duckdb_v12" / "manifest.json", run_results=str(file))

    assert (found.check, found.state) == ("dbt run results", state)


def test_results_of_tests_and_of_freshness_pass_beside_those_of_a_build(data: Path) -> None:
    shop = data / "dbt" / "shop_v12"
    results = [str(shop / f"run_results_{each}.json") for each in ("run", "test")]
    found = dbt(shop / "manifest.json", run_results=results, sources=str(shop / "sources.json"))
    assert [(each.check, each.state) for each in found] == [
        ("dbt manifest", "ok"),
        ("dbt run results", "ok"),
        ("dbt run results", "ok"),
        ("dbt source freshness", "ok"),
    ]
    assert [each.message.rpartition(": ")[2] for each in found[1:]] == [
        "6 runs",
        "0 runs, 12 tests",
        "2 sources",
    ]


def test_a_missing_catalog_or_freshness_warns_and_a_broken_one_fails(data: Path, tmp_path: Path) -> None:
    manifest = data / "dbt" / "duckdb_v12" / "manifest.json"
    missing, broken = str(tmp_path / "missing.json"), tmp_path / "broken.json"
    broken.write_text("{}")
    for key in ("catalog", "sources"):
        assert [each.state for each in dbt(manifest, **{key: missing})] == ["ok", "warning"]
        assert [each.state for each in dbt(manifest, **{key: str(broken)})] == ["ok", "failed"]


def test_a_manifest_of_an_unknown_version_fails_with_the_supported_versions(
    data: Path, tmp_path: Path
) -> None:
    document = json.loads((data / "dbt" / "duckdb_v12" / "manifest.json").read_text())
    document["metadata"]["dbt_schema_version"] = "https://schemas.getdbt.com/dbt/manifest/v99.json"
    (tmp_path / "manifest.json").write_text(json.dumps(document))

    (found,) = dbt(tmp_path / "manifest.json")

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "v99.json" in found.message
    assert "v1 to v12" in found.message


def test_invalid_entries_of_a_manifest_are_a_warning(data: Path, tmp_path: Path) -> None:
    document = json.loads((data / "dbt" / "duckdb_v12" / "manifest.json").read_text())
    unique_id = next(iter(document["nodes"]))
    document["nodes"][unique_id]["name"] = 7
    (tmp_path / "manifest.json").write_text(json.dumps(document))

    (found,) = dbt(tmp_path / "manifest.json")

    assert found.state == "warning"
    assert f"1 invalid, first nodes.{unique_id}.name" in found.message


@pytest.mark.parametrize(
    ("location", "message", "fix"),
    [
        ("s3://no-such-bucket/manifest.json", "no such bucket", "dbt[0].manifest"),
        ("s3://artifacts/absent.json", "no such object", "dbt[0].manifest"),
        ("absent/manifest.json", "no such file", "dbt[0].manifest"),
    ],
)
def test_a_missing_manifest_names_its_key(s3: S3, location: str, message: str, fix: str) -> None:
    s3.put("artifacts", "other.json", "{}")

    (found,) = dbt(location)

    assert found.state == "failed"
    assert message in found.message
    assert fix in found.fix


def test_denied_s3_and_glue_name_the_required_permissions(s3: S3) -> None:
    s3.put("artifacts", "manifest.json", "{}")
    s3.refuse_strangers()

    (manifest,) = dbt("s3://artifacts/manifest.json")
    (catalog,) = examine("Glue catalog", parsed(glue=[{"region": "us-east-1"}]))
    folder = export("s3://artifacts/spline")

    assert [each.state for each in (manifest, catalog, folder)] == ["failed"] * 3
    assert manifest.fix == folder.fix == "check AWS_PROFILE and AWS_ACCESS_KEY_ID"
    assert "glue:GetTables" in catalog.fix


def test_an_export_without_a_required_collection_fails(data: Path, tmp_path: Path) -> None:
    for file in (data / "spline" / "tpch").iterdir():
        if file.name != "operation.jsonl":
            (tmp_path / file.name).write_bytes(file.read_bytes())

    found = export(tmp_path)

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "operation is missing" in found.message


def test_an_export_of_spline_0_7_passes_with_its_limits(data: Path) -> None:
    found = export(data / "spline_0_7")

    assert found.state == "ok"
    assert "3 databases" in found.message
    assert "no failed writes and no labels" in found.message


def test_labels_for_an_export_of_spline_0_7_are_a_warning_with_a_hint(data: Path) -> None:
    settings = {"export": str(data / "spline_0_7"), "labels": {"airflow.dag_id": "daily"}}

    (found,) = examine("Spline export", parsed(spline=settings))

    assert found.state == "warning"
    assert "spline.applications" in found.fix


def test_an_export_of_spline_0_5_fails_by_its_version(data: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    copytree(data / "spline_0_7" / "tickit_sales_load", folder)
    (folder / "dbVersion.jsonl").write_text('{"_key": "1", "version": "0.5.3", "status": "current"}\n')

    found = export(folder)

    assert (found.state, found.exit_code) == ("failed", 3)
    assert "0.5 and older" in found.message


def test_an_export_with_invalid_documents_is_a_warning(data: Path, tmp_path: Path) -> None:
    for file in (data / "spline" / "tpch").iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "operation.jsonl").write_text('{"_key": "p:1", "_belongsTo": 7}\n')

    found = export(tmp_path)

    assert found.state == "warning"
    assert "operation/p:1" in found.message


def test_glue_counts_matching_databases_and_warns_of_none(s3: S3) -> None:
    client: Any = boto3.client("glue")
    client.create_database(DatabaseInput={"Name": "tickit"})
    client.close()

    one_of_two = {"region": "us-east-1", "databases": ["tickit", "absent"]}
    catalogs = [{"region": "us-east-1"}, {"region": "us-east-1", "databases": ["tikcit*"]}, one_of_two]
    findings = examine("Glue catalog", parsed(glue=catalogs))

    assert [each.state for each in findings] == ["ok", "warning", "warning", "ok"]


def test_credentials_are_reported_only_by_their_source(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI-secret")
    with_s3 = parsed(spline={"export": "s3://exports/spline"})

    (found,) = machine.examine_aws(with_s3)
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    (none,) = machine.examine_aws(with_s3)

    assert (found.state, found.message) == ("ok", "from env, region us-east-1")
    assert (none.state, none.exit_code) == ("failed", 3)
    assert list(machine.examine_aws(parsed(spline={"export": "exports"}))) == []


def test_another_artifact_of_dbt_is_named_with_one_fix(data: Path) -> None:
    (found,) = dbt(data / "dbt" / "duckdb_v12" / "catalog.json")

    assert found.message.endswith("is not a dbt manifest, but a dbt catalog")
    assert found.fix == "give it as dbt[].catalog"


def test_a_missing_export_is_a_folder_to_create(tmp_path: Path) -> None:
    assert export(tmp_path / "absent").fix == "correct spline.export, or create the folder"


def test_a_misspelt_export_has_one_fix(tmp_path: Path, data: Path) -> None:
    copytree(data / "spline" / "tpch", tmp_path / "exports")

    found = export(tmp_path / "export")

    assert found.message.endswith(f"did you mean {tmp_path}/exports?")
    assert found.fix == f"give {tmp_path}/exports"


def test_missing_credentials_of_s3_have_the_fix_of_the_credentials_check(
    s3: S3, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)  # it has the credentials of earlier tests
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)

    (found,) = dbt("s3://artifacts/manifest.json")

    assert found.message == "s3://artifacts/manifest.json: no AWS credentials found"
    assert found.fix == "attach a role, run aws sso login, or set AWS_PROFILE"


def test_a_source_without_checks_has_its_preflight_check(tmp_path: Path) -> None:
    of = parsed(sql=[{"path": str(tmp_path / "sql"), "dialect": "spark"}])

    (missing,) = examine("SQL files", of)
    (tmp_path / "sql").mkdir()
    (tmp_path / "sql" / "load.sql").write_text("INSERT INTO a SELECT * FROM b")
    (present,) = examine("SQL files", of)

    assert (missing.state, missing.exit_code) == ("failed", 3)
    assert missing.fix == "correct sql, or create the input"
    assert (present.state, present.message) == ("ok", "the input exists")


def test_a_missing_sql_parser_is_reported_with_what_it_costs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_version", lambda package: None if package == "sqlglot" else "3.5")
    monkeypatch.setattr(java, "find_java", lambda: "/usr/bin/java")
    project = {"manifest": "target/manifest.json", "namespace": NAMESPACE}

    by_dbt, by_none = (
        next(each for each in machine.examine(config) if each.check == "SQL parser")
        for config in (parsed(dbt=[project]), parsed())
    )

    assert by_dbt.state == "warning"
    assert by_dbt.message == "sqlglot is not installed: no column lineage of dbt models"
    assert by_none.state == "skipped"
