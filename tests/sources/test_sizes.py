"""Input sizes of the sources, by listing: totals, and the errors of reading."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import list_files
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.errors import SourceDenied, SourceError, SourceMissing, SourceUnreachable
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.registry import SOURCES, list_configured
from lineage_merge.sources.source import Source
from lineage_merge.sources.spline import arango_queries
from tests.arango_fixtures import ArangoServer
from tests.s3_fixtures import S3
from tests.spline_documents import SplineDatabase

TOPIC = {"servers": "localhost:1", "topic": "t", "landing": "/landing"}


def parsed(**sources: Any) -> Config:
    given = {"dag_name": "d", "environment": "dev", **sources}
    return CONFIGURATION.parse(given, needs_source=False)


def size(**sources: Any) -> int | None:
    """Return the size of the only source of a configuration."""
    ((source, settings),) = list_configured(parsed(**sources))
    found: int | None = source.size(settings)
    return found


def stored(*files: Path) -> int:
    return sum(file.stat().st_size for file in files)


def outcome(call: Callable[[], object]) -> tuple[type[SourceError], str]:
    with pytest.raises(SourceError) as raised:
        call()
    return type(raised.value), raised.value.message


def read(**sources: Any) -> None:
    """Read the only source of a configuration."""
    found = parsed(**sources)
    ((source, _),) = list_configured(found)
    source.read(LocalEngine(), found, from_config(found)).collect()


def test_each_source_has_a_size_without_importing_spark() -> None:
    assert [source.name for source in SOURCES if type(source).size is Source.size] == []
    program = (
        "import sys\n"
        "from lineage_merge.sources.registry import SOURCES\n"
        "for source in SOURCES:\n"
        "    try: source.size(())\n"
        "    except AttributeError: pass\n"
        "print([name for name in sys.modules if name.partition('.')[0] in ('pyspark', 'py4j')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_all_files_of_dbt_count_and_run_results_need_not_exist(data: Path) -> None:
    folder = data / "dbt" / "duckdb_v12"
    project = {"manifest": str(folder / "manifest.json"), "namespace": "duckdb://x"}
    more = {"catalog": str(folder / "catalog.json")}

    assert size(dbt=[project]) == stored(folder / "manifest.json")
    assert size(dbt=[{**project, **more, "run_results": str(folder / "nowhere.json")}, project]) == (
        2 * stored(folder / "manifest.json") + stored(folder / "catalog.json")
    )


def test_run_results_of_dbt_count(tmp_path: Path) -> None:
    manifest, results = tmp_path / "manifest.json", tmp_path / "run_results.json.gz"
    manifest.write_text("{}")
    results.write_bytes(b"packed as it is")

    project = {"manifest": str(manifest), "namespace": "duckdb://x", "run_results": str(results)}
    assert size(dbt=[project]) == 2 + 15

    several = {**project, "run_results": [str(results), str(results)], "sources": str(results)}
    assert size(dbt=[several]) == 2 + 3 * 15


def test_files_of_sql_count_with_those_of_the_schema_and_no_others(tmp_path: Path) -> None:
    for name in ("etl/a.sql", "etl/deep/b.sql", "etl/readme.md", "ddl/c.sql"):
        tmp_path.joinpath(name).parent.mkdir(parents=True, exist_ok=True)
        tmp_path.joinpath(name).write_text(f"select 1 -- {name}")
    folder = {"path": str(tmp_path / "etl"), "dialect": "hive", "schema": [str(tmp_path / "ddl")]}

    expected = stored(*(tmp_path / name for name in ("etl/a.sql", "etl/deep/b.sql", "ddl/c.sql")))

    assert size(sql=[folder]) == expected


def test_logs_and_events_count_as_they_are_stored_and_each_file_once(data: Path) -> None:
    logs = [data / "hive" / name for name in ("hive-lineage.log", "hive-lineage-names.log")]
    assert size(hive={"log": [str(data / "hive"), str(logs[0])]}) == stored(*logs)
    events = data / "openlineage" / "events"
    assert size(openlineage={"events": str(events)}) == sum(file.size for file in list_files(str(events)))
    agent = data / "agent" / "tpch.jsonl.gz"
    assert size(spline={"agent": str(agent)}) == stored(agent)


def test_only_files_of_collections_count_of_an_export(tmp_path: Path) -> None:
    database = SplineDatabase()
    database.plan("job", reads=["s3://raw/a"], writes="s3://out/a", at=1)
    folder = database.write(tmp_path)
    files = [file for file in folder.rglob("*") if file.is_file()]
    (folder / "notes.txt").write_text("no collection")

    assert size(spline={"export": str(folder)}) == stored(*files)


@pytest.mark.parametrize(
    "source",
    [
        {"openlineage": {"kafka": TOPIC}},
        {"openlineage": {"kafka": TOPIC, "events": "/nowhere"}},
        {"hive": {"kafka": TOPIC}},
        {"spline": {"kafka": TOPIC}},
        {"spline": {"kafka": TOPIC, "agent": "/nowhere"}},
    ],
)
def test_the_size_of_a_topic_is_unknown(source: dict[str, Any]) -> None:
    assert size(**source) is None


def test_a_database_has_about_the_size_of_its_documents(
    arango: ArangoServer, monkeypatch: pytest.MonkeyPatch, data: Path
) -> None:
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", arango.password)
    capture = data / "spline" / "tpch"
    server = {
        "hosts": arango.url,
        "database": arango.database("tpch", capture),
        "username": arango.username,
        "password_env": "SPLINE_TEST_PASSWORD",
    }
    exported = size(spline={"export": str(capture)})
    assert exported

    found = size(spline={"arango": server})

    assert found
    assert 0.85 * exported < found < 1.15 * exported


def test_a_catalog_counts_by_its_wanted_databases(s3: S3) -> None:
    client: Any = boto3.client("glue")
    for name in ("tickit_raw", "tickit_mart", "finance"):
        client.create_database(DatabaseInput={"Name": name})
    client.close()

    every, some, none = (
        size(glue=[{"region": "us-east-1", "databases": globs}])
        for globs in (["*"], ["tickit_*"], ["nothing"])
    )

    assert every
    assert (some, none) == (every * 2 // 3, 0)


def of_dbt(manifest: object, **more: object) -> dict[str, Any]:
    entry = {"manifest": manifest, "namespace": "duckdb://x", **more}
    return {"dbt": [{name: str(value) for name, value in entry.items()}]}


def test_files_that_cannot_be_listed_are_the_errors_of_reading(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    (tmp_path / "bad").symlink_to(missing)
    file = tmp_path / "file.txt"
    file.write_text("{}")
    for source in (
        of_dbt(missing / "manifest.json"),
        of_dbt(tmp_path),
        of_dbt(file / "manifest.json"),
        {"sql": [{"path": str(missing), "dialect": "hive"}]},
        {"sql": [{"path": str(tmp_path / "bad"), "dialect": "hive"}]},
        {"hive": {"log": str(missing)}},
        {"openlineage": {"events": [str(file), str(missing)]}},
    ):
        expected = outcome(lambda source=source: read(**source))  # type: ignore[misc]
        assert outcome(lambda source=source: size(**source)) == expected  # type: ignore[misc]
        assert expected[0] is SourceMissing


def test_artifacts_beside_the_manifest_that_are_a_folder_count_as_missing(data: Path, tmp_path: Path) -> None:
    manifest = data / "dbt" / "duckdb_v12" / "manifest.json"
    for name in ("catalog", "run_results", "sources"):
        assert size(**of_dbt(manifest, **{name: tmp_path})) == stored(manifest)


def test_objects_that_cannot_be_listed_are_the_errors_of_reading(s3: S3) -> None:
    s3.put("bucket", "there.json", json.dumps({}))
    for location in ("s3://bucket/missing.json", "s3://no-bucket/manifest.json", "s3://bucket"):
        expected = outcome(lambda location=location: read(**of_dbt(location)))  # type: ignore[misc]
        assert outcome(lambda location=location: size(**of_dbt(location))) == expected  # type: ignore[misc]
    assert size(**of_dbt("s3://bucket/there.json")) == 2

    s3.refuse_strangers()

    kind, message = outcome(lambda: size(**of_dbt("s3://bucket/there.json")))
    assert (kind, message) == outcome(lambda: read(**of_dbt("s3://bucket/there.json")))
    assert kind is SourceDenied


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"database": "missing"}, SourceMissing),
        ({"password_env": "SPLINE_WRONG_PASSWORD"}, SourceDenied),
        ({"hosts": "http://127.0.0.1:9"}, SourceUnreachable),
    ],
)
def test_a_server_that_does_not_answer_is_the_error_of_reading(
    arango: ArangoServer, monkeypatch: pytest.MonkeyPatch, changed: dict[str, str], kind: type[SourceError]
) -> None:
    monkeypatch.setenv("SPLINE_TEST_PASSWORD", arango.password)
    monkeypatch.setenv("SPLINE_WRONG_PASSWORD", "wrong")
    database = SplineDatabase()
    database.plan("job", reads=["s3://raw/a"], writes="s3://out/a", at=1)
    server = {
        "hosts": arango.url,
        "database": arango.database("spline", database.collections),
        "username": arango.username,
        "password_env": "SPLINE_TEST_PASSWORD",
        **changed,
    }
    settings = parsed(spline={"arango": server}).sources["spline"]
    assert settings
    assert settings.arango
    place = settings.arango

    assert outcome(lambda: size(spline={"arango": server})) == outcome(lambda: spline_overview(place))
    assert outcome(lambda: size(spline={"arango": server}))[0] is kind


def spline_overview(place: Any) -> None:
    """What reading a database begins with."""
    arango_queries.overview(place)
