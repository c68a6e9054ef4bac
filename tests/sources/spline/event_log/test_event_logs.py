"""Lineage from Spark's event logs. The log of `tests/event_log_recipe.py`."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.storage import StoredFile
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.spline.agent.plans import documents
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.lineage import ColumnLineage, column_lineage
from lineage_merge.sources.spline.event_log.log_files import find_logs, read_lines
from lineage_merge.sources.spline.event_log.messages import LoggedWrite
from lineage_merge.sources.spline.event_log.source import EVENT_LOG
from lineage_merge.sources.spline.event_log.writes import read_writes
from tests import event_log_recipe
from tests.record_reading import flows_of, jobs_of, records_of, rows_of
from tests.sources.spline.columns.lineage_reading import expressions, flows, influences, untraced

LOG = event_log_recipe.FOLDER / "shop.jsonl"


def written(lines: Iterator[tuple[str, bytes]]) -> dict[str, LoggedWrite]:
    """Return the writes of a log by the last part of their target."""
    found = [write for write in read_writes("log", lines) if isinstance(write, LoggedWrite)]
    uris = (str(write.plan["operations"]["write"]["outputSource"]) for write in found)
    return {uri.rpartition("/")[2]: write for uri, write in zip(uris, found, strict=True)}


def columns_of(write: LoggedWrite) -> ColumnLineage:
    parts = documents(write.plan)
    [header] = parts.pop("executionPlan")
    return column_lineage(PlanColumns(header, parts))


@pytest.fixture(scope="module")
def writes() -> dict[str, LoggedWrite]:
    return written(event_log_recipe.lines())


# Of each write, the flows, then what decides on its rows.
CASES = """
# totals
orders.amount -> total AGGREGATION
orders.id -> n AGGREGATION
customers.segment -> segment IDENTITY
~ orders.status FILTER
~ orders.customer JOIN
~ customers.customer JOIN
~ customers.segment GROUP_BY
# newest
orders.id -> id IDENTITY
orders.customer -> rank WINDOW
orders.day -> rank WINDOW
~ orders.customer FILTER
~ orders.day FILTER
# both
orders.id -> id IDENTITY
orders.customer -> id IDENTITY
orders.amount -> amount IDENTITY
# pivot
orders.country -> country IDENTITY
orders.amount -> PAID AGGREGATION
orders.status -> PAID CONDITIONAL
orders.amount -> OPEN AGGREGATION
orders.status -> OPEN CONDITIONAL
~ orders.country GROUP_BY
~ orders.status GROUP_BY
# tags
events.id -> id IDENTITY
events.tags -> tag TRANSFORMATION
events.address.city -> city IDENTITY
# bosses
customers.name -> name IDENTITY
customers.name -> boss IDENTITY
~ customers.customer JOIN
~ customers.manager JOIN
# most
orders.id -> id IDENTITY
orders.amount -> most AGGREGATION
~ orders.customer FILTER
~ customers.customer FILTER
~ customers.segment FILTER
# rollup
orders.country -> country IDENTITY
orders.status -> status IDENTITY
orders.amount -> total AGGREGATION
orders.status -> g CONDITIONAL
~ orders.country GROUP_BY
~ orders.status GROUP_BY
# sales
orders.id -> id IDENTITY
orders.amount -> double_amount TRANSFORMATION
~ orders.country FILTER
# copy
sales.double_amount -> double_amount IDENTITY
# halves
orders.id -> id IDENTITY
orders.amount -> half TRANSFORMATION
# called
orders.status -> called TRANSFORMATION
# odd
orders.status -> x,y TRANSFORMATION
# cheapest
orders.id -> id IDENTITY
~ orders.amount SORT
# taken
orders.id -> id IDENTITY
"""


@pytest.mark.parametrize("case", CASES.split("# ")[1:], ids=lambda case: case.partition("\n")[0])
def test_columns_and_rows_of_a_write(case: str, writes: dict[str, LoggedWrite]) -> None:
    target, *lines = case.strip().split("\n")
    lineage = columns_of(writes[target])

    assert flows(lineage) == {line for line in lines if not line.startswith("~ ")}
    assert influences(lineage) == {line[2:] for line in lines if line.startswith("~ ")}
    assert untraced(lineage) == []


def test_columns_that_a_table_is_partitioned_by_are_unchanged(writes: dict[str, LoggedWrite]) -> None:
    names = ("id", "customer", "amount", "day", "country", "status")
    assert flows(columns_of(writes["by_country"])) == {f"orders.{name} -> {name} IDENTITY" for name in names}


def test_an_expression_is_the_text_of_the_plan_without_ids(writes: dict[str, LoggedWrite]) -> None:
    assert expressions(columns_of(writes["totals"]))["total"] == "sum(amount)"
    assert expressions(columns_of(writes["halves"])) == {"half": "(amount / 2.0)"}


def test_a_write_has_its_outcome_and_its_counts_but_no_message(writes: dict[str, LoggedWrite]) -> None:
    failed, taken = writes["failed"].event, writes["taken"].event

    assert failed["error"] == "SparkException"
    assert "error" not in taken
    assert taken["extra"]["writeMetrics"]["numOutputRows"] == 2
    assert taken["extra"]["glueJobRunId"] == "jr_" + "0a1b" * 16


_ABORTED = "Job aborted due to stage failure: most recent failure: Lost task 0.0 in stage 2.0 (a:1):"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        pytest.param("org.x.SparkException: a row", "SparkException", id="first line"),
        pytest.param("[PATH_ALREADY_EXISTS] Path a", "PATH_ALREADY_EXISTS", id="error class"),
        pytest.param(
            f"{_ABORTED} org.x.SparkException: [A_B] a\n\tat org.x.Y(Y:1)\nCaused by: java.io.IOException: b",
            "IOException",
            id="cause",
        ),
        pytest.param(
            f"{_ABORTED} org.x.PythonException: Traceback:\n  File\nKeyError: 'a row'\n\n\tat org.x",
            "KeyError",
            id="exception of Python",
        ),
        pytest.param("no class at all", "failed", id="unknown"),
    ],
)
def test_a_failed_write_has_the_class_of_its_exception(message: str, name: str) -> None:
    events = [json.loads(line) for line in start(CACHED)]
    events[1]["errorMessage"] = message

    lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]
    [write] = read_writes("log", iter(enumerate_lines(lines)))

    assert isinstance(write, LoggedWrite)
    assert write.event["error"] == name


def test_a_table_has_the_path_that_the_inner_execution_writes(writes: dict[str, LoggedWrite]) -> None:
    write = writes["sales"].plan["operations"]["write"]

    assert write["outputSource"] == "file:/data/sales"
    assert write["params"]["table"]["identifier"] == {
        "catalog": "spark_catalog",
        "database": "default",
        "table": "sales",
    }


def read(tmp_path: Path, **more: Any) -> Any:
    settings = {"logs": str(tmp_path), "lookback": "36500d", **more}
    config = CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "event_log": settings})
    return rows_of(EVENT_LOG.read(LocalEngine(), config, dataset_resolver.from_config(config)))


def test_a_folder_of_logs_is_read_under_the_names_that_an_agent_gives(tmp_path: Path) -> None:
    (tmp_path / "local-1").write_bytes(LOG.read_bytes())

    found = read(tmp_path)

    assert ("shop_daily", "file|/data/in/orders", "file|/data/out/totals") in flows_of(found)
    assert not any(target.endswith("/failed") for _, _, target in flows_of(found))
    assert jobs_of(found)["shop_daily"]["last_run_id"] == "jr_" + "0a1b" * 16
    assert records_of(Problem, found) == []


def test_rolling_files_are_one_log_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    lines = LOG.read_bytes().splitlines(keepends=True)
    (folder / "appstatus_local-1.inprogress").touch()
    (folder / "events_10_local-1").write_bytes(b"".join(lines[20:]))
    (folder / "events_9_local-1").write_bytes(b"".join(lines[:20]))

    [log] = find_logs([str(tmp_path)])

    assert [line for _, line in read_lines(log)] == lines


def test_a_compacted_part_stands_for_those_before_it(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    for name in ("events_1_local-1", "events_2_local-1", "events_2_local-1.compact", "events_3_local-1"):
        (folder / name).write_text(name)

    [log] = find_logs([str(tmp_path)])

    assert [line for _, line in read_lines(log)] == [b"events_2_local-1.compact", b"events_3_local-1"]


def test_a_log_that_has_not_changed_is_not_read_again(tmp_path: Path) -> None:
    logs, cache = tmp_path / "logs", tmp_path / "cache"
    logs.mkdir()
    log = logs / "local-1"
    log.write_bytes(LOG.read_bytes())
    first = read(logs, cache=str(cache))
    # Of the same size: who reads it finds nothing.
    log.write_bytes(b" " * log.stat().st_size)

    assert read(logs, cache=str(cache)) == first
    assert len(list(cache.iterdir())) == 1

    log.write_bytes(LOG.read_bytes() + b"\n")

    assert flows_of(read(logs, cache=str(cache))) == flows_of(first)
    assert len(list(cache.iterdir())) == 2


def test_what_cannot_be_kept_is_a_notice(tmp_path: Path) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "local-1").write_bytes(LOG.read_bytes())
    (tmp_path / "cache").write_text("a file")

    found = read(logs, cache=str(tmp_path / "cache"))

    assert [problem.kind for problem in records_of(Problem, found)] == ["notice"]
    assert flows_of(found)


def test_of_a_log_that_is_still_written_all_that_has_ended_is_read(tmp_path: Path) -> None:
    (tmp_path / "local-1.inprogress").write_bytes(LOG.read_bytes()[:-400])

    [log] = find_logs([str(tmp_path)])
    found = [*read_writes("log", read_lines(log))]

    assert len(found) > 10
    assert not [problem for problem in found if isinstance(problem, Problem)]


def test_a_line_that_is_no_json_is_reported_if_others_follow() -> None:
    lines = LOG.read_bytes().splitlines()
    damaged = lines[3][: len(lines[3]) // 2]

    found = [*read_writes("log", iter([("line 1", damaged), ("line 2", lines[0])]))]

    assert found == [Problem("rejected", "line 1", "", "not JSON")]


def lz4(data: bytes) -> bytes:
    """Return blocks of Spark's lz4 stream."""
    blocks = b""
    for start in range(0, len(data), 1 << 15):
        piece = data[start : start + (1 << 15)]
        packed = pyarrow.Codec("lz4_raw").compress(piece, asbytes=True)
        sizes = len(packed).to_bytes(4, "little") + len(piece).to_bytes(4, "little")
        blocks += b"LZ4Block" + bytes([0x25]) + sizes + bytes(4) + packed
    return blocks + b"LZ4Block" + bytes([0x15]) + bytes(12)


def snappy(data: bytes) -> bytes:
    """Return blocks of Spark's snappy stream."""
    blocks = b"\x82SNAPPY\x00" + (1).to_bytes(4, "big") * 2
    for start in range(0, len(data), 1 << 15):
        packed = pyarrow.Codec("snappy").compress(data[start : start + (1 << 15)], asbytes=True)
        blocks += len(packed).to_bytes(4, "big") + packed
    return blocks


def zstd(data: bytes) -> bytes:
    half = len(data) // 2
    return b"".join(pyarrow.Codec("zstd").compress(part, asbytes=True) for part in (data[:half], data[half:]))


@pytest.mark.parametrize("pack", [lz4, snappy, zstd])
def test_a_compressed_log_has_the_lines_of_the_plain_one(pack: Any, tmp_path: Path) -> None:
    plain = LOG.read_bytes()
    (tmp_path / f"local-1.{pack.__name__}").write_bytes(pack(plain))

    [log] = find_logs([str(tmp_path)])

    assert [line for _, line in read_lines(log)] == plain.splitlines()


@pytest.mark.parametrize("pack", [lz4, snappy, zstd])
def test_a_compressed_log_that_ends_too_early_is_read_up_to_there(pack: Any, tmp_path: Path) -> None:
    plain = LOG.read_bytes()
    packed = pack(plain)
    (tmp_path / f"local-1.{pack.__name__}.inprogress").write_bytes(packed[: len(packed) * 3 // 4])

    [log] = find_logs([str(tmp_path)])
    lines = [line for _, line in read_lines(log)]

    assert lines[:-1] == plain.splitlines()[: len(lines) - 1]
    assert len(lines) > 20


def start(plan: str) -> list[bytes]:
    """Return the lines of an execution with this plan."""
    named = {"executionId": 1, "time": 1, "physicalPlanDescription": plan, "description": "x"}
    sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    events = [{"Event": f"{sql}Start", **named}, {"Event": f"{sql}End", "executionId": 1, "time": 2}]
    return [json.dumps(event, separators=(",", ":")).encode() for event in events]


def problems_of(plan: str) -> list[str]:
    found = read_writes("log", ((f"line {number}", line) for number, line in enumerate(start(plan))))
    return [problem.message for problem in found if isinstance(problem, Problem)]


def test_a_command_that_is_not_supported_is_reported() -> None:
    plan = "Execute InsertIntoElsewhere (1)\n\n\n(1) Execute InsertIntoElsewhere\nInput: []\n"
    assert problems_of(f"== Physical Plan ==\n{plan}") == [
        "a command that is not supported: InsertIntoElsewhere"
    ]


def test_a_plan_in_another_form_is_reported_if_it_writes() -> None:
    simple = "Execute InsertIntoHadoopFsRelationCommand file:/data/out, false, Parquet, [], Overwrite, [a]"
    assert problems_of(simple) == ["its plan has a form that is not read (spark.sql.ui.explainMode)"]
    assert problems_of("LocalTableScan [a#1]") == []


CACHED = """== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand (7)
+- WriteFiles (6)
   +- Union (5)
      :- InMemoryTableScan (1)
      :     +- InMemoryRelation (2)
      :           +- AdaptiveSparkPlan (4)
      :              +- == Initial Plan ==
      :                 Scan csv  (3)
      +- InMemoryTableScan (8)
            +- InMemoryRelation (2)
                  +- AdaptiveSparkPlan (4)
                     +- == Initial Plan ==
                        Scan csv  (3)


(1) InMemoryTableScan
Output [1]: [a#1]

(2) InMemoryRelation
Arguments: [a#1, b#2], CachedRDDBuilder(x)

(3) Scan csv
Output [2]: [a#1, b#2]
Location: InMemoryFileIndex [file:/data/in/s]

(4) AdaptiveSparkPlan
Output [2]: [a#1, b#2]

(5) Union

(6) WriteFiles
Input [1]: [a#1]

(7) Execute InsertIntoHadoopFsRelationCommand
Input: []
Arguments: file:/data/out/t, false, Parquet, [path=/data/out/t], Append, [a]

(8) InMemoryTableScan
Output [1]: [b#2]
"""


def test_a_cached_plan_that_is_used_twice_has_the_columns_of_both_uses() -> None:
    lineage = columns_of(written(iter(enumerate_lines(start(CACHED))))["t"])

    assert flows(lineage) == {"s.a -> a IDENTITY", "s.b -> a IDENTITY"}


def test_a_table_that_an_execution_between_creates_has_its_name() -> None:
    """In Spark 4.1 `saveAsTable` is an execution around CREATE TABLE AS SELECT, which is around the write."""
    outer = "Execute SaveAsV1TableCommand (1)\n   +- SaveAsV1TableCommand (2)\n\n\n(2) SaveAsV1TableCommand\n"
    name = "CreateDataSourceTableAsSelectCommand"
    created = f"Execute {name} (1)\n   +- {name} (2)\n\n\n(2) {name}\nArguments: `c`.`d`.`t`, Append, [a]\n"
    plans = [f"== Physical Plan ==\n{outer}", f"== Physical Plan ==\n{created}", CACHED]
    sql = "org.apache.spark.sql.execution.ui.SparkListenerSQLExecution"
    events: list[dict[str, object]] = [
        {"Event": f"{sql}Start", "executionId": at, "rootExecutionId": 0, "physicalPlanDescription": plan}
        for at, plan in enumerate(plans)
    ]
    events += [{"Event": f"{sql}End", "executionId": at, "time": 2} for at in (2, 1, 0)]
    lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]

    [write] = read_writes("log", iter(enumerate_lines(lines)))

    assert isinstance(write, LoggedWrite)
    table = write.plan["operations"]["write"]["params"]["table"]["identifier"]
    assert table == {"catalog": "c", "database": "d", "table": "t"}


def test_a_version_of_spark_that_is_not_known_is_a_notice() -> None:
    started = b'{"Event":"SparkListenerLogStart","Spark Version":"5.0.1"}'

    assert list(read_writes("log", iter([("log, line 1", started)]))) == [
        Problem("notice", "log", "Spark Version", "Spark 5.0.1 is not known: its log is read as that of 4.1")
    ]


def test_a_plan_that_is_cut_before_its_target_is_reported() -> None:
    cut = CACHED.partition("(7) Execute")[0]

    assert problems_of(f"{cut}... 200 more characters") == [
        "Spark cut the text of its plan (spark.sql.maxPlanStringLength)"
    ]


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_a_plan_whose_text_is_cut_costs_one_write(share: float) -> None:
    """`spark.sql.maxPlanStringLength` cuts a plan anywhere."""
    events = [json.loads(line) for line in LOG.read_bytes().splitlines()]
    for event in events:
        if plan := event.get("physicalPlanDescription"):
            event["physicalPlanDescription"] = f"{plan[: int(len(plan) * share)]}... 9 more characters"
    lines = [json.dumps(event, separators=(",", ":")).encode() for event in events]

    for write in read_writes("log", iter(enumerate_lines(lines))):
        if isinstance(write, LoggedWrite):
            known = flows(columns_of(write))
            target = str(write.plan["operations"]["write"]["outputSource"]).rpartition("/")[2]
            assert known <= flows(columns_of(written(event_log_recipe.lines())[target]))


def test_the_extended_form_has_the_same_columns() -> None:
    plan = """== Parsed Logical Plan ==
Project [a#1]

== Analyzed Logical Plan ==
Project [a#1]

== Optimized Logical Plan ==
InsertIntoHadoopFsRelationCommand file:/data/out/t, false, Parquet, [path=/data/out/t], Overwrite, [k, total]
+- WriteFiles
   +- Aggregate [k#1], [k#1, sum(v#2) AS total#9]
      +- Filter (isnotnull(w#3) AND (w#3 > 5))
         +- Relation [k#1,v#2,w#3] parquet

== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand file:/data/out/t, false, Parquet, [], Overwrite, [k, total]
+- WriteFiles
   +- HashAggregate(keys=[k#1], functions=[sum(v#2)], output=[k#1, total#9])
      +- FileScan parquet [k#1,v#2,w#3] Batched: true, Location: InMemoryFileIndex(1 paths)[file:/data/in/s]
"""
    lineage = columns_of(written(iter(enumerate_lines(start(plan))))["t"])

    assert flows(lineage) == {"s.k -> k IDENTITY", "s.v -> total AGGREGATION"}
    assert influences(lineage) == {"s.w FILTER", "s.k GROUP_BY"}


def test_a_cast_to_the_type_that_a_column_has_changes_nothing() -> None:
    """Spark 3.3 casts what it inserts into a table to the types of the table."""
    plan = """== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand (3)
+- * Project (2)
   +- Scan csv  (1)


(1) Scan csv
Output [2]: [a#1, b#2L]
Location: InMemoryFileIndex [file:/data/in/s]
ReadSchema: struct<a:int,b:bigint>

(2) Project [codegen id : 1]
Output [2]: [cast(a#1 as int) AS a#3, cast(b#2L as int) AS b#4]
Input [2]: [a#1, b#2L]

(3) Execute InsertIntoHadoopFsRelationCommand
Input [2]: [a#3, b#4]
Arguments: file:/data/out/t, false, Parquet, [path=/data/out/t], Append, [a, b]
"""
    lineage = columns_of(written(iter(enumerate_lines(start(plan))))["t"])

    assert flows(lineage) == {"s.a -> a IDENTITY", "s.b -> b TRANSFORMATION"}


def enumerate_lines(lines: list[bytes]) -> list[tuple[str, bytes]]:
    return [(f"line {number}", line) for number, line in enumerate(lines)]


def test_init_recognizes_logs(tmp_path: Path) -> None:
    file = tmp_path / "local-1"
    file.write_bytes(LOG.read_bytes())
    (tmp_path / "other.log").write_text("a line\n")
    discovery = EVENT_LOG.discovery()

    assert discovery.has_documents(StoredFile(str(file), file.stat().st_size))
    assert not discovery.has_documents(StoredFile(str(tmp_path / "other.log"), 7))


TOP = """== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand (4)
+- WriteFiles (3)
   +- TakeOrderedAndProject (2)
      +- Scan csv  (1)


(1) Scan csv
Output [3]: [a#1, b#2, c#3]
Location: InMemoryFileIndex [file:/data/in/s]

(2) TakeOrderedAndProject
Input [3]: [a#1, b#2, c#3]
Arguments: 9, [c#3 ASC NULLS FIRST], [(a#1 + 1) AS x#4, ... 2 more fields]

(3) WriteFiles
Input [3]: [x#4, {rest}]

(4) Execute InsertIntoHadoopFsRelationCommand
Arguments: file:/data/out/t, false, Parquet, [path=/data/out/t], Append, [x, b, c]
"""


def test_a_list_that_spark_cut_is_completed_by_the_columns_that_the_operation_above_gets() -> None:
    write = written(iter(enumerate_lines(start(TOP.format(rest="b#2, c#3")))))["t"]

    assert flows(columns_of(write)) == {"s.a -> x TRANSFORMATION", "s.b -> b IDENTITY", "s.c -> c IDENTITY"}
    assert write.plan["extraInfo"]["problems"] == []


def test_of_a_list_that_spark_cut_columns_that_it_may_have_computed_are_unknown() -> None:
    write = written(iter(enumerate_lines(start(TOP.format(rest="y#5, c#3")))))["t"]

    assert "s.a -> x TRANSFORMATION" in flows(columns_of(write))
    assert not any(" -> b" in flow for flow in flows(columns_of(write)))
    assert [kind for kind, _, _ in write.plan["extraInfo"]["problems"]] == ["no-columns"]


MERGED = """== Physical Plan ==
Execute InsertIntoHadoopFsRelationCommand (3)
+- Project (2)
   +- Scan csv  (1)


(1) Scan csv
Output [1]: [k#1]
Location: InMemoryFileIndex [file:/data/in/s]

(2) Project
Output [1]: [CASE WHEN (k#1 > 1) THEN Subquery subquery#9, [id=#3].avg(v) ELSE Subquery subquery#9, [id=#3].avg(w) END AS x#4]
Input [1]: [k#1]

(3) Execute InsertIntoHadoopFsRelationCommand
Input [1]: [x#4]
Arguments: file:/data/out/t, false, Parquet, [path=/data/out/t], Append, [x]

===== Subqueries =====

Subquery:1 Hosting operator id = 2 Hosting Expression = Subquery subquery#9, [id=#3]
* Project (6)
+- HashAggregate (5)
   +- Scan csv  (4)


(4) Scan csv
Output [2]: [v#5, w#6]
Location: InMemoryFileIndex [file:/data/in/u]

(5) HashAggregate
Input [2]: [v#5, w#6]
Keys: []
Functions [2]: [avg(v#5), avg(w#6)]
Aggregate Attributes [2]: [avg(v#5)#7, avg(w#6)#8]
Results [2]: [avg(v#5)#7 AS avg(v)#10, avg(w#6)#8 AS avg(w)#11]

(6) Project
Output [1]: [named_struct(avg(v), avg(v)#10, avg(w), avg(w)#11) AS mergedValue#12]
Input [2]: [avg(v)#10, avg(w)#11]
"""  # noqa: E501


def test_subqueries_that_spark_made_one_of_have_their_own_columns() -> None:
    lineage = columns_of(written(iter(enumerate_lines(start(MERGED))))["t"])

    assert flows(lineage) == {"s.k -> x CONDITIONAL", "u.v -> x AGGREGATION", "u.w -> x AGGREGATION"}


def test_a_window_is_written_as_in_sql(writes: dict[str, LoggedWrite]) -> None:
    assert expressions(columns_of(writes["newest"]))["rank"] == (
        "row_number() OVER (PARTITION BY customer ORDER BY day DESC)"
    )
