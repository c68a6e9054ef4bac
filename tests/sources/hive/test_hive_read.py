"""Hive logs as records: selected queries, damage, duplicates."""

import gzip
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lineage_merge import config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Feeds
from lineage_merge.model.errors import ConfigError, SourceMissing
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.preflight import check_sources
from lineage_merge.sources import line_files
from lineage_merge.sources.hive.reader import read_hive
from lineage_merge.sources.hive.translator import job_name
from tests.engine_fixtures import ENGINES, engine_of
from tests.record_reading import (
    comparable,
    counts_of,
    flows_of,
    jobs_of,
    problems_of,
    records_of,
    runs_of,
    writes_of,
)
from tests.s3_fixtures import S3
from tests.sources.hive.hive_lines import copy, document, line, query, with_names

DAY = 86_400
NOON = 1_795_262_400
# What every dataset's id begins with here, without the environment.
NS = "spark_catalog|"


def parsed(log: Any, **more: Any) -> config.Config:
    return CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "hive": {"log": log, **more}})


def read(log: str | Path | Sequence[str], engine: Engine | None = None, **more: Any) -> list[Record]:
    settings = parsed(str(log) if isinstance(log, Path) else log, **more)
    return read_hive(engine or LocalEngine(), settings, dataset_resolver.from_config(settings)).collect()


def log(folder: Path, *made: Mapping[str, Any], name: str = "hive.log") -> Path:
    folder.joinpath(name).write_text("".join(f"{line(each)}\n" for each in made), encoding="utf-8")
    return folder


def load(
    target: str, source: str, at: int, how: str = "overwrite table", partition: str = ""
) -> dict[str, Any]:
    text = f"insert {how} {target} {partition} select c from {source} -- {at}"
    return document(text, copy(target, source), timestamp=at)


def flow(job: str, source: str, target: str) -> tuple[str, str, str]:
    return (job, NS + source, NS + target)


@pytest.fixture(scope="module", params=ENGINES)
def real(request: pytest.FixtureRequest, data: Path) -> list[Record]:
    """Return the records of the captured log."""
    with engine_of(request) as engine:
        return read(data / "hive" / "hive-lineage.log", engine)


@pytest.fixture(scope="module", params=ENGINES)
def history(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Record]:
    """Return the records of a log of many jobs, each with its own history; newest lines first."""
    old_insert = "insert into table dest select cint from src"
    made = [
        # Three runs of one statement, each with another date in its text.
        *(load("dw.same", "ods.b", NOON + day * DAY) for day in (-1, 0, 1)),
        # Overwritten, added to, overwritten by another statement, added to.
        load("dw.replaced", "ods.old", NOON),
        load("dw.replaced", "ods.added", NOON + 1, "into"),
        load("dw.replaced", "ods.new", NOON + DAY),
        load("dw.replaced", "ods.more", NOON + DAY + 1, "into"),
        # Two statements that fill partitions.
        load("dw.parts", "ods.x", NOON, partition="partition (source='x')"),
        load("dw.parts", "ods.y", NOON + 1, partition="partition (source='y')"),
        load("dw.parts", "ods.x", NOON + DAY, partition="partition (source='x')"),
        load("dw.self", "dw.self", NOON),
        document("insert into dw.constant values (1)", [("PROJECTION", "1", [], ["dw.constant.c"])], NOON),
        document("select c from ods.b", [("PROJECTION", "", ["ods.b.c"], ["c"])], NOON),
        document(old_insert, [("PROJECTION", "", ["default.src.cint"], ["cint"])], NOON),
    ]
    with engine_of(request) as engine:
        return read(log(tmp_path_factory.mktemp("history"), *reversed(made)), engine)


def test_a_real_log_has_its_six_queries(real: list[Record]) -> None:
    assert flows_of(real) == {
        flow("dw.user_orders", "ods.users", "dw.user_orders"),
        flow("dw.user_orders", "ods.orders", "dw.user_orders"),
        flow("dw.city_rank", "ods.users", "dw.city_rank"),
        flow("dw.city_rank", "ods.orders", "dw.city_rank"),
        flow("dw.daily", "ods.orders", "dw.daily"),
        flow("dw.daily+dw.user_orders", "ods.orders", "dw.daily"),
        flow("dw.daily+dw.user_orders", "ods.orders", "dw.user_orders"),
        flow("dw.v_big", "dw.user_orders", "dw.v_big"),
    }
    assert counts_of(real) == {"Hive queries": 6}
    assert problems_of(real) == set()
    assert jobs_of(real)["dw.daily+dw.user_orders"] == {
        "framework": "hive mr",
        "last_run_id": "job_local1915243406_0008",
        "last_run_at": "1795256679586",
        "duration_ms": "1586",
        "status": "succeeded",
    }


def test_names_instead_of_ids_give_the_same_records(real: list[Record], data: Path) -> None:
    assert comparable(read(data / "hive" / "hive-lineage-names.log")) == comparable(real)


def test_duplicate_lines_are_used_once(real: list[Record], data: Path, tmp_path: Path) -> None:
    """Two hooks log each query, an old log is packed, and a file is named twice."""
    for name in ("hive-lineage.log", "hive-lineage-names.log"):
        shutil.copy(data / "hive" / name, tmp_path)
    with gzip.open(tmp_path / "hive.log.2026-11-20.gz", "wb") as packed:
        packed.write((data / "hive" / "hive-lineage.log").read_bytes())

    assert comparable(read([str(tmp_path), str(tmp_path / "hive-lineage.log")])) == comparable(real)


def test_logs_in_s3_are_read(real: list[Record], data: Path, s3: S3) -> None:
    s3.put("logs", "hive/hs2/hive.log", data / "hive" / "hive-lineage.log")

    assert comparable(read(["s3://logs/hive/", "s3://logs/hive/hs2/hive.log"])) == comparable(real)


def test_the_newest_run_of_a_statement_is_used(history: list[Record]) -> None:
    """Whatever dates its text holds, and in whatever order the lines come."""
    assert flows_of(history, "dw.same") == {flow("dw.same", "ods.b", "dw.same")}
    assert jobs_of(history)["dw.same"]["last_run_at"] == str((NOON + DAY) * 1000 + 1000)
    assert runs_of(history)["dw.same"] == 3


def test_the_content_of_a_table_before_it_was_overwritten_is_dropped(history: list[Record]) -> None:
    assert flows_of(history, "dw.replaced") == {
        flow("dw.replaced", "ods.new", "dw.replaced"),
        flow("dw.replaced", "ods.more", "dw.replaced"),
    }


def test_statements_that_fill_partitions_of_one_table_are_all_used(history: list[Record]) -> None:
    assert flows_of(history, "dw.parts") == {
        flow("dw.parts", "ods.x", "dw.parts"),
        flow("dw.parts", "ods.y", "dw.parts"),
    }


def test_a_statement_may_write_what_it_reads(history: list[Record]) -> None:
    assert flows_of(history, "dw.self") == {flow("dw.self", "dw.self", "dw.self")}


def test_what_is_made_of_constants_has_no_source(history: list[Record]) -> None:
    assert flows_of(history, "dw.constant") == set()
    assert ("dw.constant", f"{NS}dw.constant") in writes_of(history)


def test_a_query_that_only_reads_is_counted_and_is_no_job(history: list[Record]) -> None:
    assert counts_of(history) == {"Hive queries": 14}
    named = {"dw.same", "dw.replaced", "dw.parts", "dw.self", "dw.constant", "default.dest"}
    assert set(jobs_of(history)) == named


def test_an_old_insert_keeps_its_tables_and_reports_its_lost_columns(history: list[Record]) -> None:
    job = "default.dest"

    assert flows_of(history, job) == {flow(job, "default.src", "default.dest")}
    assert [row.properties for row in records_of(Feeds, history) if row.job.name == job] == [
        {"write_mode": "append", "column_lineage": "unavailable"}
    ]
    assert {problem[:2] for problem in problems_of(history)} == {("no-columns", "Hive table default.dest")}


def test_runs_and_lookback_are_those_of_other_sources(tmp_path: Path) -> None:
    folder = log(
        tmp_path,
        load("dw.a", "ods.long_ago", NOON - 40 * DAY, "into"),
        load("dw.a", "ods.before", NOON - DAY),
        load("dw.a", "ods.now", NOON),
        load("dw.b", "ods.long_ago", NOON - 40 * DAY),
    )

    def sources(**more: Any) -> set[str]:
        return {source.removeprefix(NS) for _, source, _ in flows_of(read(folder, **more))}

    assert sources() == {"ods.now"}
    assert sources(runs="all", lookback=60) == {"ods.long_ago", "ods.before", "ods.now"}
    assert sources(runs="since 2026-11-21T12:00:00Z") == {"ods.now"}


def test_a_job_is_named_as_configured() -> None:
    one = query(load("dw.b", "ods.x", NOON) | {"user": "etl/host.example@EXAMPLE.COM"})
    other = query(load("DW.B", "ods.y", NOON) | {"user": "ann@EXAMPLE.COM"})

    assert [job_name(each, "target") for each in (one, other)] == ["dw.b", "dw.b"]
    assert [job_name(each, "user") for each in (one, other)] == ["etl", "ann"]
    by_statement = [job_name(each, "statement") for each in (one, other)]
    assert by_statement == [f"dw.b #{one.shape()}", f"dw.b #{other.shape()}"]
    assert one.shape() != other.shape()


def test_only_selected_jobs_are_read(tmp_path: Path) -> None:
    """Here by user: the newest write of each of their tables."""
    made = [
        load("dw.a", "ods.x", NOON) | {"user": "etl@EXAMPLE.COM"},
        load("dw.b", "ods.y", NOON) | {"user": "etl"},
        load("dw.c", "ods.y", NOON) | {"user": "ann"},
    ]

    rows = read(log(tmp_path, *made), job_name_from="user", jobs=["e*"])

    assert flows_of(rows) == {flow("etl", "ods.x", "dw.a"), flow("etl", "ods.y", "dw.b")}
    assert set(jobs_of(rows)) == {"etl"}


def test_damaged_lines_are_counted_and_named_and_affect_no_other(data: Path, tmp_path: Path) -> None:
    text = (data / "hive" / "hive-lineage.log").read_text(encoding="utf-8")
    broken = document("insert into dw.a select 1", copy("dw.a", "ods.b")) | {"edges": 7}
    file = tmp_path / "hive.log"
    file.write_text(f"{line(broken)}\n{line(broken)[:200]}\n{text}", encoding="utf-8")
    packed = tmp_path / "hive.log.1.gz"
    packed.write_bytes(gzip.compress(text.encode())[:1000])

    rows = read(tmp_path)

    assert {problem[:3] for problem in problems_of(rows)} == {
        ("rejected", f"{file}, line 1", "edges"),
        ("rejected", f"{file}, line 2", ""),
        ("rejected", str(packed), ""),
    }
    assert counts_of(rows) == {"Hive queries": 6}


def test_a_query_without_a_time_is_used_with_a_notice(tmp_path: Path) -> None:
    undated = [
        {**load("dw.a", "ods.b", NOON), "timestamp": None},
        {**load("dw.c", "ods.d", NOON), "timestamp": None},
    ]
    file = tmp_path / "lineage.log"
    file.write_text("\n".join([line(each, "") for each in undated] + [line(load("dw.e", "ods.f", NOON))]))

    rows = read(file)

    assert flows_of(rows) == {
        flow("dw.a", "ods.b", "dw.a"),
        flow("dw.c", "ods.d", "dw.c"),
        flow("dw.e", "ods.f", "dw.e"),
    }
    assert problems_of(rows) == {
        (
            "notice",
            "Hive",
            "timestamp",
            "2 queries have no time: each gets the newest time of the others",
        )
    }


def test_a_large_log_is_read_in_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut anywhere, also inside of lineage lines; among other lines and in both forms."""
    noise = "2026-11-21T10:24:31,006  WARN [main] ql.Driver: {nothing} of interest\n\tat a.b.C(D.java:1)\n"
    made = [load(f"dw.t{number}", f"ods.s{number % 7}", NOON + number) for number in range(300)]
    text = "".join(
        noise + line(with_names(each) if index % 2 else each) + "\n" for index, each in enumerate(made)
    )
    file = tmp_path / "hive.log"
    file.write_text(text, encoding="utf-8")
    whole = read(file)

    monkeypatch.setattr(line_files, "SLICE_BYTES", 7001)
    sliced = read(file)

    assert len(line_files.find([str(file)])) > 20
    assert comparable(sliced) == comparable(whole)
    assert flows_of(sliced) == {
        flow(f"dw.t{number}", f"ods.s{number % 7}", f"dw.t{number}") for number in range(300)
    }


def test_a_missing_log_is_reported_before_spark_starts(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match=r"nowhere\.log"):
        check_sources(parsed(str(tmp_path / "nowhere.log")))


@pytest.mark.parametrize(
    ("settings", "key", "message"),
    [
        ({}, "hive", "give log or kafka"),
        ({"log": "x", "warehouse": "hive://host:9083"}, "hive.warehouse", "expected"),
        ({"log": "x", "warehouse": "/user/hive/warehouse"}, "hive.warehouse", "must be a URI"),
        ({"log": "x", "metastore": "jdbc:hive2://h:1"}, "hive.metastore", "not a namespace but a JDBC URL"),
        ({"log": "x", "job_name_from": "hash"}, "hive.job_name_from", "must be target or statement or user"),
        ({"log": "x", "lookback": "0d"}, "hive.lookback", "expected more than 0"),
        ({"log": "x", "runs": "since never"}, "hive.runs", "expected latest, all, since TIME or run ID"),
    ],
)
def test_wrong_settings_are_named(settings: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as error:
        CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "hive": settings})

    assert error.value.key == key
