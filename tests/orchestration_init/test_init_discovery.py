"""Search of a folder for sources."""

import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

from lineage_merge.model.errors import SourceMissing
from lineage_merge.orchestration.init import discovery
from lineage_merge.orchestration.init.discovery import search
from lineage_merge.sources.discovery import SourceInput, locate_from

# A file of each source whose files are recognized by their lines.
CAPTURED = {
    "agent": "agent/tickit_sales_load.jsonl.gz",
    "events": "openlineage/events/tickit_sales_load.jsonl.gz",
    "hive": "hive/hive-lineage.log",
}


def read(file: Path) -> str:
    """Return the lines of a file, which may be packed."""
    content = file.read_bytes()
    text = gzip.decompress(content) if file.suffix == ".gz" else content
    return text.decode().rstrip("\n") + "\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_several_databases_are_their_common_folder(folder: Path, data: Path) -> None:
    for name in ("tickit_sales_ingest", "tickit_sales_load"):
        shutil.copytree(data / "spline" / name, folder / "lineage" / "spline" / name)

    assert search(".").inputs == {"spline": SourceInput("export", ("lineage/spline",))}
    assert search(str(folder)).inputs == {
        "spline": SourceInput("export", (str(folder / "lineage" / "spline"),))
    }


def test_one_database_in_the_folder_itself(folder: Path, data: Path) -> None:
    shutil.copytree(data / "spline" / "tickit_sales_load", folder, dirs_exist_ok=True)

    assert search(".").inputs == {"spline": SourceInput("export", (".",))}


def test_an_incomplete_database_does_not_hide_the_complete_one(folder: Path, data: Path) -> None:
    shutil.copytree(data / "spline" / "tickit_sales_load", folder / "b")
    (folder / "a").mkdir()
    (folder / "a" / "executionPlan.json").write_text("[]")

    found = search(".")

    assert found.inputs == {"spline": SourceInput("export", ("b",))}
    assert found.notes == ("a: another export of Spline, not used",)


def test_of_exports_in_several_folders_the_last_is_used(folder: Path, data: Path) -> None:
    for day in ("2026-11-01", "2026-11-02"):
        for name in ("tickit_sales_ingest", "tickit_sales_load"):
            shutil.copytree(data / "spline" / name, folder / day / name)

    found = search(".")

    assert found.inputs == {"spline": SourceInput("export", ("2026-11-02",))}
    assert set(found.notes) == {
        f"2026-11-01/{name}: another export of Spline, not used"
        for name in ("tickit_sales_ingest", "tickit_sales_load")
    }


def test_events_are_found_in_every_form(folder: Path, data: Path) -> None:
    events = gzip.decompress((data / "openlineage" / "events" / "tickit_sales_load.jsonl.gz").read_bytes())
    lines = events.decode().splitlines()
    for name in ("lines", "array", "log", "packed", "other"):
        (folder / name).mkdir()
    (folder / "lines" / "e.jsonl").write_text("\n".join(lines))
    (folder / "array" / "e.json").write_text(f"[{','.join(lines)}]")
    (folder / "log" / "spark.log").write_text(
        "INFO started\n" + "\n".join(f"INFO x: {each}" for each in lines)
    )
    (folder / "packed" / "e.jsonl.gz").write_bytes(gzip.compress(events))
    (folder / "other" / "e.jsonl").write_text('{"a": 1}\n')

    assert search(".").inputs == {"openlineage": SourceInput("events", ("array", "lines", "log", "packed"))}


def test_a_folder_of_events_is_one_location(folder: Path, data: Path) -> None:
    shutil.copytree(data / "openlineage" / "events", folder / "events" / "2026" / "11")

    assert search(".").inputs == {"openlineage": SourceInput("events", ("events/2026/11",))}


def test_folders_are_named_in_place_of_the_files_and_folders_below(folder: Path, data: Path) -> None:
    event = read(data / CAPTURED["events"]).partition("\n")[0]
    for day in ("01", "02"):
        (folder / "events" / "2026" / day).mkdir(parents=True)
        (folder / "events" / "2026" / day / "e.jsonl").write_text(event)
    assert search(".").inputs == {"openlineage": SourceInput("events", ("events/2026",))}

    # Another source's file below the common folder, which is read with all that is below.
    (folder / "events" / "2026" / "hive").mkdir()
    shutil.copy(data / CAPTURED["hive"], folder / "events" / "2026" / "hive" / "hive.log")
    assert search(".").inputs == {
        "openlineage": SourceInput("events", ("events/2026/01", "events/2026/02")),
        "hive": SourceInput("log", ("events/2026/hive",)),
    }


def test_all_files_of_a_mixed_folder_are_found(folder: Path, data: Path) -> None:
    event = read(data / CAPTURED["events"]).partition("\n")[0]
    names = [f"{number}.json" for number in range(6)]
    for name in names:
        (folder / name).write_text(event)
    (folder / "0.json").write_text('{"a": 1}')

    assert search(".").inputs == {"openlineage": SourceInput("events", tuple(names[1:]))}


def test_files_of_statements_are_a_query_log(folder: Path) -> None:
    (folder / "queries").mkdir()
    table = '{"table": "shop.items", "columns": [{"name": "id"}]}\n'
    statement = {
        "id": "1",
        "session": "s",
        "statement": "create table b as select 1",
        "started": "2026-11-01T06:00:00Z",
    }
    (folder / "queries" / "1.jsonl").write_text(table * 80 + json.dumps(statement))

    assert search(".").inputs == {"query_log": SourceInput("path", ("queries",), {"format": "statements"})}


def test_what_is_not_used_is_named_with_what_reads_it(folder: Path, data: Path) -> None:
    shutil.copytree(data / "dbt" / "redshift_v12", folder / "shop" / "target")
    (folder / "shop" / "dbt_project.yml").write_text("name: shop\n")
    for name in ("shop/models", "load/sql/daily", "load/sql"):
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "a.sql").write_text("create table b as select * from a;")
    results = {"metadata": {"dbt_schema_version": "https://schemas.getdbt.com/dbt/run-results/v6.json"}}
    (folder / "shop" / "target" / "run_results_test.json").write_text(json.dumps(results))

    assert search(".").notes == (
        "load/sql: 2 SQL files, not used: --sql load/sql --sql-dialect NAME reads them",
        "shop/target/run_results_test.json: not used: dbt's run results: give them as dbt[].run_results",
    )
    named = {"sql": SourceInput("path", ("load/sql",)), "dbt": SourceInput("manifest", ("shop/target",))}
    assert search(".", named).notes == ()


def test_hive_logs_are_found_among_others(folder: Path, data: Path) -> None:
    shutil.copy(data / "hive" / "hive-lineage.log", folder / "hive-server2.log.2026-11-21")
    (folder / "hive-metastore.log").write_text("2026-11-21T10:00:00 INFO metastore started\n")

    assert search(".").inputs == {"hive": SourceInput("log", ("hive-server2.log.2026-11-21",))}


def test_logs_may_begin_with_other_lines(folder: Path, data: Path) -> None:
    """More of them than the bytes by which other files are recognized."""
    others = "2026-11-21T10:00:00 INFO Executor: finished a task, 5,003 bytes\n" * 1200
    for name, path in CAPTURED.items():
        (folder / f"{name}.log").write_text(others + read(data / path))

    assert search(".").inputs == {
        "spline": SourceInput("agent", ("agent.log",)),
        "openlineage": SourceInput("events", ("events.log",)),
        "hive": SourceInput("log", ("hive.log",)),
    }


def test_a_log_of_several_listeners_is_found_for_each(folder: Path, data: Path) -> None:
    (folder / "driver.log").write_text("".join(read(data / path) for path in reversed(CAPTURED.values())))

    found = search(".").inputs

    assert {key: value.locations for key, value in found.items()} == dict.fromkeys(
        ("spline", "openlineage", "hive"), ("driver.log",)
    )


def test_an_event_may_have_long_fields_before_its_producer(folder: Path, data: Path) -> None:
    event = json.loads(read(data / CAPTURED["events"]).partition("\n")[0])
    event["run"]["facets"] = {"spark_properties": {"properties": {"text": "x" * 100_000}}}
    names = sorted(event, key=lambda name: (name != "eventTime", name == "producer", name == "schemaURL"))
    (folder / "spark.log").write_text(f"INFO x: {json.dumps({name: event[name] for name in names})}\n")

    assert search(".").inputs == {"openlineage": SourceInput("events", ("spark.log",))}


def test_other_manifests_and_packages_are_not_dbt_projects(folder: Path, data: Path) -> None:
    manifest = data / "dbt" / "redshift_v12" / "manifest.json"
    for path in ("target", "dbt_packages/utils/target", ".git/target", "node_modules/target"):
        (folder / path).mkdir(parents=True)
        shutil.copy(manifest, folder / path)
    (folder / "web").mkdir()
    (folder / "web" / "manifest.json").write_text('{"name": "app", "icons": []}')
    (folder / "unload").mkdir()
    (folder / "unload" / "manifest.json").write_text('{"entries": [{"url": "s3://b/k"}]}')

    assert search(".").inputs == {"dbt": SourceInput("manifest", ("target/manifest.json",))}


def test_damaged_files_are_not_sources(folder: Path) -> None:
    (folder / "a.json").write_bytes(b"\xff\xfe{")
    (folder / "b.jsonl.gz").write_bytes(b"no gzip")
    (folder / "c.json").write_text("[" * 100_000)
    (folder / "manifest.json").write_bytes(b"\xff")
    (folder / "link.json").symlink_to(folder / "missing.json")

    assert search(".").inputs == {}


def test_a_large_folder_is_searched_in_part(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(discovery, "MAX_FILES", 3)
    for number in range(5):
        (folder / f"{number}.txt").touch()

    assert search(".").notes == (".: searched 3 files, there are more",)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_named(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / name).mkdir()
        (folder / name / "manifest.json").write_text("{}")
    (folder / "a").chmod(0)
    (folder / "b" / "manifest.json").chmod(0)
    denied = ("./a", "b/manifest.json")
    try:
        assert search(".").notes == tuple(f"{path}: no permission to read it" for path in denied)
    finally:
        (folder / "a").chmod(0o700)


def test_a_file_is_no_folder(folder: Path) -> None:
    (folder / "a.json").write_text("{}")

    with pytest.raises(SourceMissing, match=r"^a\.json: a file, not a folder$"):
        search("a.json")


def test_locations_below_the_file_are_relative(folder: Path) -> None:
    (folder / "link").symlink_to("/usr")

    assert [
        locate_from(each, Path())
        for each in ("./a/../b", str(folder / "c"), "link/d", "/elsewhere/e", "../f", "s3://bucket/g")
    ] == ["b", "c", "link/d", "/elsewhere/e", str(folder.parent / "f"), "s3://bucket/g"]
    assert json.dumps(locate_from("a", None)) == '"a"'
