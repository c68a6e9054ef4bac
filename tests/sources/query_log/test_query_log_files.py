"""Files of query logs: the documented one, Parquet, invalid input; what `init` and `doctor` say of them."""

import json
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet as parquet
import pytest

from lineage_merge.infra.engine.rows import Engine
from lineage_merge.infra.storage import find_files
from lineage_merge.model.errors import ConfigError, SourceError
from lineage_merge.sources.query_log import doctor
from lineage_merge.sources.query_log.discovery import QueryLogDiscovery
from lineage_merge.sources.registry import QUERY_LOG
from tests.s3_fixtures import S3
from tests.sources.query_log.log_reading import NAMESPACE, read_entries, read_log
from tests.sources.query_log.redshift_history import History

SNOWFLAKE = "snowflake://org-account"


def statements(folder: Path, *documents: dict[str, Any] | str) -> dict[str, Any]:
    """Write a file; return its entry in the configuration."""
    lines = [each if isinstance(each, str) else json.dumps(each) for each in documents]
    (folder / "log.jsonl").write_text("\n".join(lines))
    return {
        "format": "statements",
        "path": str(folder),
        "dialect": "snowflake",
        "namespace": SNOWFLAKE,
        "search_path": ["PUBLIC"],
    }


def statement(number: int, text: str, **more: Any) -> dict[str, Any]:
    return {
        "id": str(number),
        "session": "s",
        "statement": text,
        "started": f"2026-11-02T06:00:{number:02}Z",
        "database": "DW",
        **more,
    }


def test_a_file_of_statements_of_another_warehouse(engine: Engine, tmp_path: Path) -> None:
    entry = statements(
        tmp_path,
        {"table": "DW.PUBLIC.DAILY", "columns": [{"name": "DAY"}, {"name": "TOTAL"}]},
        statement(1, "use schema DW.RAW"),
        statement(2, "create temporary table t as select day, amount from sales where kind = 'secret'"),
        statement(
            3, "insert into DW.PUBLIC.DAILY select day, sum(amount) from t group by day", label="nightly"
        ),
        statement(4, "insert into other select 1 from sales", outcome="failed"),
    )

    found = read_entries(engine, [entry])

    assert found.feeds == {f"nightly: {SNOWFLAKE}/DW.RAW.SALES > {SNOWFLAKE}/DW.PUBLIC.DAILY"}
    assert {each.split(" > ")[1] for each in found.columns} == {
        f"{SNOWFLAKE}/DW.PUBLIC.DAILY#DAY IDENTITY",
        f"{SNOWFLAKE}/DW.PUBLIC.DAILY#TOTAL AGGREGATION",
    }
    assert found.jobs["nightly"]["last_run_id"] == "s"


def test_a_broken_line_is_rejected_with_line_and_field(engine: Engine, tmp_path: Path) -> None:
    entry = statements(
        tmp_path,
        "{broken",
        {"id": "1", "session": "s", "statement": "select 1"},
        statement(2, "select 1", started="yesterday"),
        statement(3, "insert into a.t select a from a.s"),
    )

    found = read_entries(engine, [entry])

    file = f"{tmp_path}/log.jsonl"
    rejected = {(document, field) for kind, document, field, _ in found.problems if kind == "rejected"}
    assert rejected >= {(f"{file}, line 1", ""), (f"{file}, line 3", "started")}
    assert {document for document, _ in rejected} == {f"{file}, line {line}" for line in (1, 2, 3)}
    assert len(found.feeds) == 1


def test_an_unknown_dialect_is_reported_before_anything_is_read(tmp_path: Path) -> None:
    entry = statements(tmp_path, statement(1, "insert into a.t select a from a.s"))
    logs = QUERY_LOG.parse([{**entry, "dialect": "klingon"}])

    with pytest.raises(ConfigError, match=r"query_log\[0\].dialect: unknown dialect klingon"):
        doctor.preflight(logs)


def test_parquet_and_overlapping_exports_are_the_same_statements(engine: Engine, tmp_path: Path) -> None:
    history = History()
    history.session(1).run("insert into mart.t (a) select b from raw.s")
    history.session(1).run("insert into mart.t (a) select c from raw.s")
    folder = history.write(tmp_path / "history")
    expected = read_log(engine, folder)
    for view, rows in history.rows.items():
        parquet.write_table(pyarrow.Table.from_pylist(rows), folder / view / "again.parquet")

    found = read_log(engine, folder)

    assert found.columns == expected.columns
    assert found.runs == expected.runs == {"mart.t #": 1}
    assert len(found.jobs) == 1


def test_files_in_s3(engine: Engine, tmp_path: Path, s3: S3) -> None:
    history = History()
    history.session(1).run("insert into mart.t (a) select b from raw.s")
    location = s3.put_folder("bucket", "exports/history", history.write(tmp_path / "history"))
    assert read_log(engine, location).feeds == {"mart.t #: raw.s > mart.t"}


def test_a_view_without_a_column_is_reported_once(engine: Engine, tmp_path: Path) -> None:
    history = History()
    for _ in range(3):
        history.session(1).run("insert into mart.t (a) select b from raw.s")
    folder = history.write(tmp_path / "history")
    file = folder / "sys_transaction_history" / "000.csv"
    file.write_text(file.read_text().replace("status", "state"))

    found = read_log(engine, folder)

    assert ("rejected", f"{file}, row 1", "status", "missing column") in found.problems
    ((log,),) = (QUERY_LOG.parse([{"format": "redshift", "path": str(folder), "namespace": NAMESPACE}]),)
    messages = [(each.state, each.message) for each in doctor.CHECKS[0].examine((log,))]
    assert ("warning", f"{file}: status: missing column") in messages


def test_a_folder_without_the_history_is_one_clear_line(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "sys_load_detail").mkdir()
    (tmp_path / "sys_load_detail" / "0.csv").write_text("query_id,file_name\n")
    with pytest.raises(SourceError, match="no files of sys_query_history found"):
        read_log(engine, tmp_path)


@pytest.mark.parametrize(
    ("entry", "key"),
    [
        ({"format": "redshift"}, "query_log[0]"),
        ({"format": "redshift", "path": "p", "cluster": "c"}, "query_log[0]"),
        ({"format": "redshift", "cluster": "c"}, "query_log[0].database"),
        ({"format": "statements", "path": "p"}, "query_log[0]"),
        ({"format": "athena", "path": "p"}, "query_log[0].path"),
    ],
)
def test_settings_that_name_no_log_are_rejected(entry: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigError) as error:
        QUERY_LOG.parse([{"namespace": NAMESPACE, **entry}])
    assert key in error.value.message


def test_init_finds_an_export(tmp_path: Path) -> None:
    history = History()
    history.session(1).run("insert into mart.t (a) select b from raw.s")
    files = find_files(str(history.write(tmp_path / "exports")))
    discovery = QueryLogDiscovery()

    found = discovery.search(files, files).input

    assert found is not None
    assert discovery.settings(found, tmp_path, {"redshift": NAMESPACE}) == [
        {"path": "exports", "format": "redshift", "namespace": NAMESPACE}
    ]
    assert set(discovery.own_files(files)) == {each.location for each in files}
