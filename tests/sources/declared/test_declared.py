"""Declared lineage: what files say, what is wrong with them, and what tools know better."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from lineage_merge.sources.declared.reader import read_declared
from tests.record_reading import comparable

PARTNER = """\
by: ann@example.com
lineage:
  - from: sftp://partner.example.com|out/orders
    to: s3://raw/orders
    why: the partner's job copies the file every night
    until: {until}
    columns: {{order_id: id, total: [price, qty], address.city: city}}
  - from: s3://raw/orders#order_id
    to: s3://lake/orders#id
    why: a macro
    by: bob@example.com
datasets:
  - dataset: sftp://partner.example.com|out/orders
    label: file
    description: orders of the partner's shop
    tags: [external]
    columns: {{id: {{description: number of the order, tags: [pii]}}}}
"""
TODAY = datetime.now(UTC).date()
# What a tool says: SQL that loads the lake from the raw files.
LOAD = "CREATE TABLE `lake`.`orders` AS SELECT order_id AS id FROM `raw`.`orders`;"


def config(path: Path, **others: Any) -> Any:
    return CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "declared": [str(path)], **others})


def merged(path: Path, **others: Any) -> tuple[list[dict[str, Any]], Report]:
    report_and_rows = merge(config(path, **others))
    return report_and_rows.elements.collect(), report_and_rows.report


def partner(folder: Path, until: str = "2999-01-01") -> Path:
    file = folder / "partners.yml"
    file.write_text(PARTNER.format(until=until))
    return file


def ends(rows: list[dict[str, Any]], label: str) -> set[tuple[str, str]]:
    return {
        (row["from"].split("|", 2)[2], row["to"].split("|", 2)[2]) for row in rows if row["label"] == label
    }


def findings(report: Report) -> list[Problem]:
    return [problem for problem in report.problems if problem.kind in ("rejected", "skipped", "notice")]


def test_edges_of_datasets_and_columns(tmp_path: Path) -> None:
    rows, _ = merged(partner(tmp_path))
    assert ends(rows, "feeds") == {("out/orders", "orders"), ("orders", "orders")}
    assert {(source.rpartition("|")[2], target) for source, target in ends(rows, "feeds_column")} == {
        ("id", "orders|order_id"),
        ("price", "orders|total"),
        ("qty", "orders|total"),
        ("city", "orders|address|city"),
        ("order_id", "orders|id"),
    }


def test_an_edge_says_who_declares_it_until_when_and_why(tmp_path: Path) -> None:
    rows, _ = merged(partner(tmp_path))
    said = {(row["job_type"], row["declared"]) for row in rows if row["label"] == "feeds"}
    assert said == {
        ("declared", "by ann@example.com until 2999-01-01: the partner's job copies the file every night"),
        ("declared", "by bob@example.com: a macro"),
    }
    owners = {row["name"]: row["owners"] for row in rows if row["label"] == "job"}
    assert owners == {
        "partners/s3://raw/orders": ["ann@example.com"],
        "partners/s3://lake/orders": ["bob@example.com"],
    }


def test_what_no_tool_describes_has_a_label_a_description_and_tags(tmp_path: Path) -> None:
    rows, _ = merged(partner(tmp_path))
    (dataset,) = [row for row in rows if row["id"].startswith("dev|sftp") and row["id"].count("|") == 2]
    assert (dataset["label"], dataset["description"], dataset["tags"]) == (
        "file",
        "orders of the partner's shop",
        ["external"],
    )
    (column,) = [row for row in rows if row["id"].startswith("dev|sftp") and row["id"].endswith("|id")]
    assert (column["description"], column["tags"]) == ("number of the order", ["pii"])


def test_a_declaration_counts_on_its_last_day_and_is_reported_after_it(tmp_path: Path) -> None:
    rows, report = merged(partner(tmp_path, str(TODAY)))
    assert len(ends(rows, "feeds")) == 2
    assert not findings(report)
    yesterday = TODAY - timedelta(days=1)
    rows, report = merged(partner(tmp_path, str(yesterday)))
    assert ends(rows, "feeds") == {("orders", "orders")}
    (problem,) = findings(report)
    assert problem[:3] == ("skipped", f"{tmp_path}/partners.yml:3", "lineage[0]")
    assert problem.message.endswith(f"s3://raw/orders: the declaration expired on {yesterday}")


@pytest.mark.parametrize(
    ("text", "line", "field", "message"),
    [
        ("from: orders, to: s3://a/b, why: x, by: ann", 2, "lineage[0].from", "found orders"),
        ("from: s3://a/b, to: s3://a|, why: x, by: ann", 3, "lineage[0].to", "found s3://a|"),
        ("from: s3://a/b, to: s3://a/c, by: ann", 2, "lineage[0].why", "is missing"),
        ("from: s3://a/b, to: s3://a/c, why: x", 2, "lineage[0].by", "missing"),
        ("from: s3://a/b#c, to: s3://a/c, why: x, by: ann", 2, "lineage[0]", "both be columns"),
        (
            "from: s3://a/b, to: s3://a/c, why: x, by: a, until: 2026-02-30",
            6,
            "lineage[0].until",
            "not a day",
        ),
        ("linage: []", 1, "linage", "did you mean lineage?"),
        ("by: [", 1, "", "expected"),
        ("", 0, "", "must be an object"),
    ],
)
def test_a_file_that_is_wrong_is_rejected_with_the_line(
    tmp_path: Path, text: str, line: int, field: str, message: str
) -> None:
    file = tmp_path / "wrong.yml"
    is_edge = text.startswith("from")
    file.write_text("lineage:\n  - " + text.replace(", ", "\n    ") if is_edge else text)
    partner(tmp_path)
    rows, report = merged(tmp_path)
    (problem,) = findings(report)
    assert (problem.kind, problem.field) == ("rejected", field)
    assert problem.document == (f"{file}:{line}" if line else str(file))
    assert message in problem.message
    # The other file is read.
    assert len(ends(rows, "feeds")) == 2


def test_a_location_without_files_is_an_error_before_anything_is_read(tmp_path: Path) -> None:
    with pytest.raises(SourceMissing, match="no files found"):
        merged(tmp_path)


# Beside tools


def beside_sql(folder: Path, declared: str) -> tuple[list[dict[str, Any]], Report]:
    (folder / "etl").mkdir()
    (folder / "etl" / "load.sql").write_text(LOAD)
    file = folder / "known.yml"
    file.write_text(declared)
    namespace = "hive://metastore:9083"
    sql = {"path": str(folder / "etl"), "dialect": "spark", "namespace": namespace}
    return merged(file, sql=[sql])


KNOWN = """\
by: ann
lineage:
  - {{from: "hive://metastore:9083|raw.orders", to: "hive://metastore:9083|lake.orders", why: known{columns}}}
"""


def test_the_word_of_a_tool_counts_and_the_declaration_is_reported(tmp_path: Path) -> None:
    rows, report = beside_sql(tmp_path, KNOWN.format(columns=", columns: {id: order_id}"))
    assert {row["job_type"] for row in rows if "job_type" in row} == {"sql"}
    notices = [problem.message for problem in findings(report)]
    ends_of_edge = "hive://metastore:9083|raw.orders to hive://metastore:9083|lake.orders"
    assert notices == [f"a tool reports {ends_of_edge}: the declaration is no longer needed"]


def test_a_column_that_no_tool_reports_stays_declared(tmp_path: Path) -> None:
    rows, _ = beside_sql(tmp_path, KNOWN.format(columns=", columns: {checksum: order_id}"))
    declared = {
        (row["label"], row["to"].rpartition("|")[2])
        for row in rows
        if row.get("job_type") == "declared" and row["label"] != "job"
    }
    assert ("feeds_column", "checksum") in declared
    assert "feeds" not in {label for label, _ in declared}
    # Its job says who declares it.
    (job,) = [row for row in rows if row["label"] == "job" and row["job_type"] == "declared"]
    assert job["owners"] == ["ann"]
    assert ("writes", "lake.orders") in declared


def test_every_engine_reads_the_same(tmp_path: Path, engine: Engine) -> None:
    partner(tmp_path, "2020-01-01")
    settings = config(tmp_path)
    read_by = [
        read_declared(each, settings, from_config(settings)).collect() for each in (engine, LocalEngine())
    ]
    assert comparable(read_by[0]) == comparable(read_by[1])
