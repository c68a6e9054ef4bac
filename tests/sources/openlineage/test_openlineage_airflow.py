"""Events of Airflow's own provider: of real runs (`tests/airflow/capture_openlineage.py`), and made ones."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.orchestration import read_sources
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.airflow_tasks import dataset_of_asset
from tests.sources.openlineage.made_events import (
    AIRFLOW,
    Event,
    dataset,
    event,
    job_type,
    of_spark,
    write_lines,
)

WAREHOUSE = "redshift://tickit-wh.us-east-1:5439"
SALES, EVENT = f"{WAREHOUSE}|dev.public.sales", f"{WAREHOUSE}|dev.public.event"
MARTS = f"{WAREHOUSE}|dev.marts."
TASK = job_type("AIRFLOW", "TASK")
Rows = list[dict[str, Any]]


def rows_of(events: Path, **merge: Any) -> tuple[list[Any], Rows]:
    settings = {"dag_name": "daily", "environment": "dev", "openlineage": {"events": str(events)}}
    report, elements = read_sources.merge(CONFIGURATION.parse({**settings, "merge": merge}))
    return list(report.problems), elements.collect()


def merged(folder: Path, *events: Event, **merge: Any) -> Rows:
    write_lines(folder / "events.jsonl", events)
    problems, rows = rows_of(folder, **merge)
    assert not [each for each in problems if each.kind == "rejected"]
    return rows


def short(identifier: str) -> str:
    return identifier.partition("|")[2]


def feeds(rows: Rows) -> set[tuple[str, str, str, str | None]]:
    """Job, source, target, write mode."""
    return {
        (row["job_name"], short(row["from"]), short(row["to"]), row.get("write_mode"))
        for row in rows
        if row["label"] == "feeds"
    }


def jobs(rows: Rows) -> dict[str, dict[str, Any]]:
    return {row["name"]: row for row in rows if row["label"] == "job"}


def columns(rows: Rows, label: str, job: str) -> set[tuple[str, str, str | None]]:
    return {
        (short(row["from"]), short(row["to"]).removeprefix(MARTS), row.get("transformation"))
        for row in rows
        if row["label"] == label and row["job_name"] == job
    }


def checked(rows: Rows) -> set[tuple[str, str, str, str]]:
    """Job, what it checks, name, status."""
    assertions = {row["id"]: row for row in rows if row["label"] == "assertion"}
    return {
        (
            row["job_name"],
            short(row["to"]),
            assertions[row["from"]]["name"],
            assertions[row["from"]]["status"],
        )
        for row in rows
        if row["label"] == "checks"
    }


OF_BOTH = {
    ("tickit_tasks.copy_sales", "s3://tickit-lake|sales_dl", SALES, "overwrite"),
    ("tickit_tasks.copy_each", "s3://tickit-lake|event_a", EVENT, None),
    ("tickit_tasks.copy_each", "s3://tickit-lake|event_b", EVENT, None),
    ("tickit_tasks.marts.top_events", SALES, f"{MARTS}top_events", "overwrite"),
    ("tickit_tasks.marts.top_events", EVENT, f"{MARTS}top_events", "overwrite"),
    ("tickit_tasks.marts.two_tables", SALES, f"{MARTS}buyers", "append"),
    ("tickit_tasks.marts.two_tables", EVENT, f"{MARTS}venues", "append"),
    ("tickit_tasks.marts.sold", SALES, f"{MARTS}sold", "overwrite"),
    ("tickit_tasks.marts.sold", EVENT, f"{MARTS}sold", "overwrite"),
    (
        "tickit_tasks.export",
        "postgres://tickit-db:5432|dev.marts.top_events",
        "s3://tickit-exports|top_events",
        None,
    ),
}
# The hooks of the newer providers report queries.
BY_HOOK = {("tickit_tasks.marts.by_hook", SALES, f"{MARTS}daily", "append")}


@pytest.fixture(scope="module", params=["2_11", "3_0"])
def captured(request: pytest.FixtureRequest, data: Path) -> tuple[str, list[Any], Rows]:
    problems, rows = rows_of(data / f"openlineage/airflow/airflow_{request.param}.jsonl.gz")
    return request.param, problems, rows


def test_each_task_stands_between_what_it_reads_and_writes(captured: tuple[str, list[Any], Rows]) -> None:
    version, problems, rows = captured
    assert feeds(rows) == (OF_BOTH | BY_HOOK if version == "2_11" else OF_BOTH)
    assert not [each for each in problems if each.kind in ("rejected", "no-columns")]


def test_columns_are_those_of_the_statement(captured: tuple[str, list[Any], Rows]) -> None:
    """The provider takes `eventname` for one of the first table, and gives all columns to each output."""
    _, _, rows = captured
    assert columns(rows, "feeds_column", "tickit_tasks.marts.sold") == {
        (f"{EVENT}|eventname", "sold|eventname", "IDENTITY"),
        (f"{SALES}|pricepaid", "sold|pricepaid", "IDENTITY"),
    }
    assert columns(rows, "feeds_column", "tickit_tasks.marts.two_tables") == {
        (f"{SALES}|buyerid", "buyers|buyerid", "IDENTITY"),
        (f"{SALES}|pricepaid", "buyers|paid", "TRANSFORMATION"),
        (f"{SALES}|commission", "buyers|paid", "TRANSFORMATION"),
        (f"{EVENT}|eventid", "venues|eventid", "IDENTITY"),
        (f"{EVENT}|eventname", "venues|eventname", "TRANSFORMATION"),
    }
    assert columns(rows, "influences", "tickit_tasks.marts.top_events") == {
        (f"{EVENT}|eventid", "top_events", "JOIN"),
        (f"{SALES}|eventid", "top_events", "JOIN"),
        (f"{SALES}|qtysold", "top_events", "FILTER"),
        (f"{EVENT}|eventname", "top_events", "GROUP_BY"),
    }


def test_a_job_is_the_task_with_owners_tags_and_state(captured: tuple[str, list[Any], Rows]) -> None:
    version, _, rows = captured
    found = jobs(rows)
    assert found.keys() == {job for job, *_ in feeds(rows)}
    for job in found.values():
        assert job["owners"] == ["analytics", "data-platform"]
        assert job["tags"] == ["tickit"]
        assert job["status"] == "succeeded"
        assert job["last_run_id"].startswith("manual__2026-11-26")
        assert job["duration_ms"] > 0
    with_sla = {name: job["sla_ms"] for name, job in found.items() if job.get("sla_ms")}
    assert with_sla == ({"tickit_tasks.copy_sales": 7_200_000} if version == "2_11" else {})


def test_checks_are_assertions_with_their_outcome(data: Path) -> None:
    _, rows = rows_of(data / "openlineage/airflow/airflow_2_11.jsonl.gz")
    top = f"{MARTS}top_events"
    assert checked(rows) == {
        ("tickit_tasks.checks.columns", f"{top}|eventname", "null_check eventname", "passed"),
        ("tickit_tasks.checks.columns", f"{top}|eventname", "unique_check eventname", "passed"),
        ("tickit_tasks.checks.columns", f"{top}|total", "min total", "passed"),
        ("tickit_tasks.checks.rows", top, "has_rows", "passed"),
        ("tickit_tasks.checks.rows", top, "sane_total", "passed"),
        ("tickit_tasks.checks.any", f"{MARTS}buyers", "tickit_tasks.checks.any", "passed"),
        ("tickit_failing.columns", f"{top}|total", "max total", "failed"),
        ("tickit_failing.columns", f"{top}|total", "min total", "passed"),
        ("tickit_failing.rows", top, "is_empty", "failed"),
        ("tickit_failing.rows", top, "has_rows", "passed"),
    }


def test_sql_of_an_unknown_warehouse_is_reported(data: Path) -> None:
    problems, _ = rows_of(data / "openlineage/airflow/airflow_2_11.jsonl.gz")
    assert [each.document for each in problems if each.kind == "not-joined"] == [
        "Airflow task tickit_tasks.marts.data_api"
    ]


def test_the_data_apis_warehouse_is_the_only_configured_one(data: Path) -> None:
    """The event of the operator has the database, that of its query the statement, none the cluster."""
    events = data / "openlineage/airflow/airflow_2_11.jsonl.gz"
    problems, rows = rows_of(events, default_schemas={WAREHOUSE: "dev.public"})
    assert feeds(rows) - OF_BOTH - BY_HOOK == {
        ("tickit_tasks.marts.data_api", SALES, f"{MARTS}copied", "append")
    }
    assert not [each for each in problems if each.kind == "not-joined"]
    assert jobs(rows)["tickit_tasks.marts.data_api"]["owners"] == ["analytics", "data-platform"]
    (copied,) = (row for row in rows if row["id"] == f"dev|{MARTS}copied")
    assert copied["aliases"] == ["redshift-data-api|dev.marts.copied (redshift-data-api)"]


OTHER = "redshift://other-wh.us-east-1:5439"
TWO = {WAREHOUSE: "dev.public", OTHER: "dev.public"}


def test_of_several_warehouses_a_rule_for_the_task_names_the_data_apis(data: Path) -> None:
    events = data / "openlineage/airflow/airflow_2_11.jsonl.gz"
    problems, rows = rows_of(events, default_schemas=TWO)
    (problem,) = (each for each in problems if each.kind == "not-joined")
    assert problem.document == "Airflow task tickit_tasks.marts.data_api"
    assert feeds(rows) == OF_BOTH | BY_HOOK
    rule = json.loads(problem.message.partition("add to merge.rules: ")[2])
    assert rule["application"] == "tickit_tasks.marts.data_api"
    rule["dataset"] = rule["dataset"].replace("cluster.region:5439", "tickit-wh.us-east-1:5439")
    problems, rows = rows_of(events, default_schemas=TWO, rules=[rule])
    assert not [each for each in problems if each.kind == "not-joined"]
    assert feeds(rows) >= {("tickit_tasks.marts.data_api", SALES, f"{MARTS}copied", "append")}


# ---- made events: what the captures do not have


def task(kind: str, at: str, run: str, name: str = "dag.load", **more: Any) -> Event:
    """An event of a task's attempt; `attempt`, `retries`, `map_index`, `task`: of its facet `airflow`."""
    facet = {
        "dagRun": {"run_id": more.pop("dag_run", "scheduled__1")},
        "task": {"retries": more.pop("retries", 0), **more.pop("task", {})},
        "taskInstance": {"try_number": more.pop("attempt", 1), "map_index": more.pop("map_index", None)},
    }
    parent = {"run": {"runId": f"of-{facet['dagRun']['run_id']}"}, "job": {"name": "dag"}}
    more.setdefault("job_facets", TASK)
    return event(
        kind, at, name, run, run_facets={"airflow": facet, "parent": parent}, producer=AIRFLOW, **more
    )


def test_an_attempt_that_is_tried_again_is_no_failure(tmp_path: Path) -> None:
    reads: dict[str, Any] = {"inputs": ["s3://in|a"], "outputs": ["s3://out|t"], "retries": 1}
    rows = merged(
        tmp_path,
        task("FAIL", "06:00", "r1", **reads),
        task("COMPLETE", "06:05", "r2", attempt=2, **reads),
    )
    assert jobs(rows)["dag.load"]["status"] == "succeeded"
    assert feeds(rows) == {("dag.load", "s3://in|a", "s3://out|t", None)}


def test_the_last_attempt_decides(tmp_path: Path) -> None:
    reads: dict[str, Any] = {"inputs": ["s3://in|a"], "outputs": ["s3://out|t"], "retries": 1}
    rows = merged(
        tmp_path,
        task("COMPLETE", "01T06:00", "r1", **reads),
        task("FAIL", "02T06:00", "r2", dag_run="scheduled__2", **reads),
        task("FAIL", "02T06:05", "r3", dag_run="scheduled__2", attempt=2, **reads),
    )
    assert jobs(rows)["dag.load"]["status"] == "failed"
    assert jobs(rows)["dag.load"]["last_run_id"] == "scheduled__2"
    assert feeds(rows) == {("dag.load", "s3://in|a", "s3://out|t", None)}


def test_a_start_is_no_success(tmp_path: Path) -> None:
    rows = merged(tmp_path, task("START", "06:00", "r1", inputs=["s3://in|a"], outputs=["s3://out|t"]))
    assert rows == []


def test_mapped_instances_are_one_run_and_none_replaces_another(tmp_path: Path) -> None:
    """The third one fails while the first one runs, which does not make that one fail."""
    events = [
        task("START", "06:00", "r0", map_index=0),
        task("COMPLETE", "06:09", "r0", map_index=0, inputs=["s3://in|0"], outputs=["s3://out|t"]),
        task("COMPLETE", "06:05", "r1", map_index=1, inputs=["s3://in|1"], outputs=["s3://out|t"]),
        task("START", "06:02", "r2", map_index=2),
        task("FAIL", "06:07", "r2", map_index=2, inputs=["s3://in|2"], outputs=["s3://out|t"]),
        task("COMPLETE", "01T05:00", "old", dag_run="before", inputs=["s3://in|old"], outputs=["s3://out|t"]),
    ]
    rows = merged(tmp_path, *events)
    assert {source for _, source, *_ in feeds(rows)} == {"s3://in|0", "s3://in|1"}
    assert jobs(rows)["dag.load"]["status"] == "failed"


def test_two_tasks_of_a_dag_run_that_write_one_dataset_stay_apart(tmp_path: Path) -> None:
    rows = merged(
        tmp_path,
        task("START", "06:00", "r1", "dag.one"),
        task("COMPLETE", "06:09", "r1", "dag.one", inputs=["s3://in|1"], outputs=["s3://out|t"]),
        task("FAIL", "06:05", "r2", "dag.two", inputs=["s3://in|2"], outputs=["s3://out|t"]),
    )
    assert feeds(rows) == {("dag.one", "s3://in|1", "s3://out|t", None)}
    assert jobs(rows)["dag.one"]["status"] == "succeeded"


ASSETS: dict[str, Any] = {
    "inlets": "[{'uri': 's3://in/a', 'extra': None}]",
    "outlets": [{"uri": "s3://out/t", "extra": {}}, {"uri": "report"}],
}


def test_assets_are_lineage_only_without_other_datasets(tmp_path: Path) -> None:
    rows = merged(
        tmp_path,
        task("COMPLETE", "06:00", "r1", "dag.assets", task=ASSETS),
        task("COMPLETE", "06:01", "r2", "dag.own", task=ASSETS, inputs=["s3://in|b"], outputs=["s3://out|u"]),
    )
    assert feeds(rows) == {
        ("dag.assets", "s3://in|a", "s3://out|t", None),
        ("dag.own", "s3://in|b", "s3://out|u", None),
    }


def test_assets_of_a_task_do_not_repeat_what_its_spark_job_reports(tmp_path: Path) -> None:
    application = {"parent": {"run": {"runId": "r1"}, "job": {"name": "dag.glue"}}}
    action = {**of_spark("etl", "app-1"), "parent": {"run": {"runId": "app"}, "job": {"name": "etl"}}}
    rows = merged(
        tmp_path,
        task("COMPLETE", "06:10", "r1", "dag.glue", task=ASSETS),
        event(
            "COMPLETE",
            "06:09",
            "etl",
            "app",
            run_facets=application,
            job_facets=job_type("SPARK", "APPLICATION"),
        ),
        event(
            "COMPLETE",
            "06:05",
            "etl.execute_insert",
            "a1",
            inputs=["s3://in|a"],
            outputs=["s3://out|t"],
            run_facets=action,
            job_facets=job_type("SPARK", "SQL_JOB"),
        ),
    )
    assert {job for job, *_ in feeds(rows)} == {"etl"}


@pytest.mark.parametrize(
    "outlets", ["[", "[{'uri': f()}]", "[" * 5000, 7, [None], [{"uri": "s3://[bad/x"}], "x"]
)
def test_malformed_assets_are_ignored(tmp_path: Path, outlets: Any) -> None:
    assert merged(tmp_path, task("COMPLETE", "06:00", "r1", task={"outlets": outlets})) == []


@pytest.mark.parametrize(
    ("uri", "key"),
    [
        ("s3://bucket/some%20folder/x/", ("s3://bucket", "some folder/x")),
        ("file:///data/x", ("file", "/data/x")),
        ("gcs://bucket/x", ("gs://bucket", "x")),
        ("postgres://host:5432/db/schema/table", ("postgres://host:5432", "db.schema.table")),
        ("bigquery://project/dataset/table", ("bigquery", "project.dataset.table")),
        ("report", None),
        ("s3://bucket", None),
        ("lineage-merge://graph/daily", None),
    ],
)
def test_the_dataset_of_an_asset(uri: str, key: tuple[str, str] | None) -> None:
    assert dataset_of_asset(uri) == key


def sql(query: str, *inputs: str | Event, outputs: tuple[str | Event, ...] = (f"{MARTS}t",)) -> Event:
    facets = {**TASK, "sql": {"query": query}}
    return task("COMPLETE", "06:00", "r1", inputs=inputs, outputs=outputs, job_facets=facets)


def test_a_column_of_an_unknown_dataset_does_not_reject_the_event(tmp_path: Path) -> None:
    """openlineage-sql leaves the name empty for columns of a comma join."""
    field = {"namespace": WAREHOUSE, "name": "", "field": "a"}
    lineage = {"columnLineage": {"fields": {"a": {"inputFields": [field]}}}}
    rows = merged(
        tmp_path, task("COMPLETE", "06:00", "r1", inputs=[SALES], outputs=[dataset(f"{MARTS}t", lineage)])
    )
    assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", None)}


def test_a_table_that_the_provider_left_out_is_completed_by_the_events_names(tmp_path: Path) -> None:
    """openlineage-sql finds no table in a common table expression before INSERT."""
    query = "with c as (select a from public.x) insert into marts.t (b) select a from c"
    rows = merged(tmp_path, sql(query))
    assert feeds(rows) == {("dag.load", f"{WAREHOUSE}|dev.public.x", f"{MARTS}t", "append")}
    assert columns(rows, "feeds_column", "dag.load") == {
        (f"{WAREHOUSE}|dev.public.x|a", "t|b", "IDENTITY"),
    }


def test_names_without_a_schema_are_in_that_of_the_others(tmp_path: Path) -> None:
    query = "insert into marts.t select s.a from sales s join y on y.i = s.i"
    rows = merged(tmp_path, sql(query, SALES))
    assert {source for _, source, *_ in feeds(rows)} == {SALES, f"{WAREHOUSE}|dev.public.y"}


def test_a_temporary_table_is_no_dataset(tmp_path: Path) -> None:
    query = "create temp table s as select a from public.sales; insert into marts.t (b) select a from s"
    rows = merged(tmp_path, sql(query, SALES))
    assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", "append")}
    assert columns(rows, "feeds_column", "dag.load") == {(f"{SALES}|a", "t|b", "IDENTITY")}


@pytest.mark.parametrize(
    "query", ["insert into", "select 1", "call marts.fill()", "insert into other.u select 1"]
)
def test_without_a_statement_that_writes_the_output_the_event_counts(tmp_path: Path, query: str) -> None:
    rows = merged(tmp_path, sql(query, SALES))
    assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", None)}


def data_api(query: str, **facets: Any) -> list[Event]:
    """A task of the Data API's operator and its query, as the provider sends them."""
    of_task = {"operator_class": "RedshiftDataOperator", **facets}
    parent = {"run": {"runId": "t1"}, "job": {"name": "dag.load"}, "root": {"run": {"runId": "d1"}}}
    return [
        task("COMPLETE", "06:00", "t1", task=of_task),
        event(
            "COMPLETE",
            "06:01",
            "dag.load.query.1",
            "q1",
            run_facets={"parent": parent},
            job_facets={**job_type("AIRFLOW", "QUERY"), "sql": {"query": query}},
            producer=AIRFLOW,
        ),
    ]


ONE = {"default_schemas": {WAREHOUSE: "dev.public"}}


def test_statements_of_the_data_api_have_columns_and_paths(tmp_path: Path) -> None:
    query = """
        create temp table s as select eventid, pricepaid * 2 as paid from sales where qtysold > 1;
        insert into marts.totals (event, paid) select eventid, sum(paid) from s group by eventid;
        copy marts.raw from 's3://lake/raw/' iam_role default;
        unload ('select event from marts.totals') to 's3://out/totals/' iam_role default
    """
    rows = merged(tmp_path, *data_api(query, database="dev"), **ONE)
    assert feeds(rows) == {
        ("dag.load", SALES, f"{MARTS}totals", "append"),
        ("dag.load", "s3://lake|raw", f"{MARTS}raw", "append"),
        ("dag.load", f"{MARTS}totals", "s3://out|totals", "overwrite"),
    }
    assert columns(rows, "feeds_column", "dag.load") == {
        (f"{SALES}|eventid", "totals|event", "IDENTITY"),
        (f"{SALES}|pricepaid", "totals|paid", "AGGREGATION"),
        (f"{MARTS}totals|event", "s3://out|totals|event", "IDENTITY"),
    }


@pytest.mark.parametrize("name", ["sales", "public.sales", "dev.public.sales"])
def test_names_in_the_data_api_are_completed(tmp_path: Path, name: str) -> None:
    """Without a schema it is `public`, the end of Redshift's search path; some providers send no database."""
    for database in ({"database": "dev"}, {}):
        rows = merged(tmp_path, *data_api(f"insert into marts.t select a from {name}", **database), **ONE)
        assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", "append")}


def test_assets_of_a_task_with_the_data_api_name_its_warehouse(tmp_path: Path) -> None:
    asset = {"uri": "redshift://other-wh.us-east-1:5439/dev/marts/t"}
    events = data_api("insert into marts.t (b) select a from public.x", database="dev", outlets=[asset])
    rows = merged(tmp_path, *events, **ONE)
    assert feeds(rows) == {("dag.load", f"{OTHER}|dev.public.x", f"{OTHER}|dev.marts.t", "append")}
    assert columns(rows, "feeds_column", "dag.load") == {
        (f"{OTHER}|dev.public.x|a", f"{OTHER}|dev.marts.t|b", "IDENTITY")
    }


def test_assets_count_where_the_warehouse_is_unknown(tmp_path: Path) -> None:
    assets = {"inlets": [{"uri": "s3://in/a"}], "outlets": [{"uri": "s3://out/t"}]}
    rows = merged(tmp_path, *data_api("unload ('select a from public.x') to 's3://out/t'", **assets))
    assert feeds(rows) == {("dag.load", "s3://in|a", "s3://out|t", None)}


def test_sql_that_cannot_be_read_is_no_matter_of_the_warehouse(tmp_path: Path) -> None:
    write_lines(tmp_path / "events.jsonl", data_api("insert into", database="dev"))
    problems, rows = rows_of(tmp_path, **ONE)
    assert rows == []
    assert ["cannot parse it" in each.message for each in problems if each.kind == "not-joined"] == [True]


def test_a_hook_whose_warehouse_nothing_names_is_reported(tmp_path: Path) -> None:
    events = data_api("insert into marts.t select a from public.x", operator_class="PythonOperator")
    write_lines(tmp_path / "events.jsonl", events)
    problems, rows = rows_of(tmp_path, **ONE)
    assert rows == []
    assert ["Fix: if it is" in each.message for each in problems if each.kind == "not-joined"] == [True]


def test_a_failed_query_of_the_data_api_writes_nothing(tmp_path: Path) -> None:
    done, query = data_api("insert into marts.t select a from public.x", database="dev")
    rows = merged(tmp_path, {**done, "eventType": "FAIL"}, {**query, "eventType": "FAIL"}, **ONE)
    assert feeds(rows) == set()


def test_a_check_that_could_not_run_is_an_error(tmp_path: Path) -> None:
    facet = {"operator_class": "SQLColumnCheckOperator", "column_mapping": {"a": {"min": {"geq_to": 0}}}}
    rows = merged(tmp_path, task("FAIL", "06:00", "r1", inputs=[SALES], task=facet))
    assert checked(rows) == {("dag.load", f"{SALES}|a", "min a", "error")}


def test_the_default_owner_is_none(tmp_path: Path) -> None:
    facets = {**TASK, "ownership": {"owners": [{"name": "airflow"}]}}
    rows = merged(
        tmp_path, task("COMPLETE", "06:00", "r1", inputs=[SALES], outputs=["s3://out|t"], job_facets=facets)
    )
    assert jobs(rows)["dag.load"].get("owners") is None


# ---- attempts and states: what the end of a DAG run says of its tasks

IN_OUT: dict[str, Any] = {"inputs": ["s3://in|a"], "outputs": ["s3://out|t"]}
FED = {("dag.load", "s3://in|a", "s3://out|t", None)}


def dag_end(kind: str, at: str, **states: str) -> Event:
    facets = {
        "airflowState": {"dagRunState": "any", "tasksState": states, "tasksDuration": {}},
        "airflowDagRun": {"dag": {"dag_id": "dag"}, "dagRun": {"run_id": "scheduled__1"}},
    }
    dag = job_type("AIRFLOW", "DAG")
    return event(kind, at, "dag", "of-scheduled__1", run_facets=facets, job_facets=dag, producer=AIRFLOW)


def before() -> Event:
    return task("COMPLETE", "01T05:00", "r0", dag_run="scheduled__0", **IN_OUT)


@pytest.mark.parametrize(
    ("events", "status"),
    [
        pytest.param(
            [task("COMPLETE", "06:01", "r1", **IN_OUT), dag_end("COMPLETE", "06:10", load="skipped")],
            None,
            id="a skipped task sends COMPLETE",
        ),
        pytest.param(
            [task("FAIL", "06:01", "r1", **IN_OUT), task("COMPLETE", "06:05", "r1")],
            "succeeded",
            id="a person marks a failed task",
        ),
        pytest.param(
            [before(), task("COMPLETE", "06:01", "r1", **IN_OUT), task("FAIL", "06:05", "r1")],
            "failed",
            id="a person marks a successful task",
        ),
        pytest.param(
            [
                task("FAIL", "06:01", "r1", retries=1, **IN_OUT),
                task("FAIL", "06:02", "r2", attempt=2, retries=1, **IN_OUT),
                task("COMPLETE", "06:30", "r3", attempt=3, retries=1, **IN_OUT),
            ],
            "succeeded",
            id="a task is cleared after its last retry",
        ),
        pytest.param(
            [
                before(),
                task("FAIL", "06:01", "r1", retries=3, **IN_OUT),
                dag_end("FAIL", "06:10", load="failed"),
            ],
            "failed",
            id="an exception ends a task that has retries",
        ),
        pytest.param(
            [before(), task("START", "06:01", "r1", **IN_OUT), dag_end("FAIL", "06:10", load="failed")],
            "failed",
            id="a killed worker sends no end",
        ),
        pytest.param(
            [task("START", "06:01", "r1", **IN_OUT), dag_end("COMPLETE", "06:10", load="success")],
            "succeeded",
            id="the end was lost",
        ),
        pytest.param(
            [task("START", "06:15", "r1", **IN_OUT), dag_end("FAIL", "06:10", load="failed"), before()],
            "succeeded",
            id="a task that was cleared runs again",
        ),
    ],
)
def test_the_state_of_a_task_is_that_of_its_last_attempt(
    tmp_path: Path, events: list[Event], status: str | None
) -> None:
    rows = merged(tmp_path, *events)
    assert {name: job["status"] for name, job in jobs(rows).items()} == (
        {"dag.load": status} if status else {}
    )
    assert feeds(rows) == (FED if status else set())


def test_an_instance_that_was_cleared_replaces_only_its_own_attempt(tmp_path: Path) -> None:
    def instance(run: str, at: str, source: str, index: int, attempt: int = 1) -> Event:
        data: dict[str, Any] = {"inputs": [f"s3://in|{source}"], "outputs": ["s3://out|t"]}
        return task("COMPLETE", at, run, map_index=index, attempt=attempt, **data)

    again = instance("a2", "07:00", "new", 0, attempt=2)
    again["run"]["facets"]["parent"]["run"]["runId"] = "dag-run-after-clearing"
    rows = merged(tmp_path, instance("a1", "06:00", "old", 0), instance("b1", "06:01", "b", 1), again)
    assert {source for _, source, *_ in feeds(rows)} == {"s3://in|new", "s3://in|b"}


def test_queries_belong_to_the_dag_run_of_their_task(tmp_path: Path) -> None:
    """The root of a DAG that another one triggered is the other one's run."""
    events = []
    for number, table in enumerate(("old", "sales"), 1):
        query = data_api(f"insert into marts.t select a from public.{table}")[1]
        query["run"]["runId"], query["inputs"] = f"q{number}", [dataset(f"{WAREHOUSE}|dev.public.{table}")]
        query["run"]["facets"]["parent"]["run"]["runId"] = f"t{number}"
        query["outputs"], query["eventTime"] = [dataset(f"{MARTS}t")], f"2026-11-0{number}T06:01:00Z"
        events += [query, task("COMPLETE", f"0{number}T06:00", f"t{number}", dag_run=f"run-{number}")]
    rows = merged(tmp_path, *events)
    assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", "append")}
    assert jobs(rows)["dag.load"]["last_run_id"] == "run-2"


# ---- what providers write differently


def test_a_schema_that_the_provider_does_not_know_is_completed(tmp_path: Path) -> None:
    """Operators without a schema write Python's None."""
    copied = task(
        "COMPLETE", "06:00", "r1", "dag.copy", inputs=["s3://in|a/"], outputs=[f"{WAREHOUSE}|dev.None.sales"]
    )
    read = sql("insert into marts.t (b) select a from sales", f"{WAREHOUSE}|dev.None.sales")
    snowflake = task(
        "COMPLETE", "06:00", "r3", "dag.s", inputs=["snowflake://a|DB.NONE.S"], outputs=["s3://o|t"]
    )
    settings = {"default_schemas": {WAREHOUSE: "dev.public", "snowflake://a": "DB.PUBLIC"}}
    rows = merged(tmp_path, copied, {**read, "run": {**read["run"], "runId": "r2"}}, snowflake, **settings)
    assert feeds(rows) == {
        ("dag.copy", "s3://in|a", SALES, None),
        ("dag.load", SALES, f"{MARTS}t", "append"),
        ("dag.s", "snowflake://a|DB.PUBLIC.S", "s3://o|t", None),
    }
    assert columns(rows, "feeds_column", "dag.load") == {(f"{SALES}|a", "t|b", "IDENTITY")}


def test_tables_of_athena_are_their_location(tmp_path: Path) -> None:
    """Its operator calls the path a table, and writes the results of a statement too."""

    def table(name: str, column: str) -> Event:
        location = {"namespace": "s3://lake", "name": f"/db/{name}/", "type": "TABLE"}
        schema = {"fields": [{"name": column, "type": "int"}]}
        facets = {"symlinks": {"identifiers": [location]}, "schema": schema}
        return dataset(f"awsathena://athena.us-east-1.amazonaws.com|AwsDataCatalog.db.{name}", facets)

    query = "create table db.t as select a as b from db.source"
    rows = merged(
        tmp_path, sql(query, table("source", "a"), outputs=(table("t", "b"), "s3://results|/athena/"))
    )
    assert {edge[1:3] for edge in feeds(rows)} == {
        ("s3://lake|db/source", "s3://lake|db/t"),
        ("s3://lake|db/source", "s3://results|athena"),
    }
    assert columns(rows, "feeds_column", "dag.load") == {
        ("s3://lake|db/source|a", "s3://lake|db/t|b", "IDENTITY")
    }


def test_outputs_that_the_provider_left_out_are_those_of_the_statements(tmp_path: Path) -> None:
    query = """
        insert into marts.t (a) select a from public.sales;
        with c as (select a from public.sales) insert into marts.u (a) select a from c;
        unload ('select a from public.sales') to 's3://out/unloaded/' iam_role default
    """
    rows = merged(tmp_path, sql(query, SALES))
    assert {target for _, _, target, _ in feeds(rows)} == {f"{MARTS}t", f"{MARTS}u", "s3://out|unloaded"}
    rows = merged(tmp_path, sql(query.rpartition(";")[2], SALES, outputs=()))
    assert feeds(rows) == {("dag.load", SALES, "s3://out|unloaded", "overwrite")}


def test_a_table_that_the_script_renames_is_no_output(tmp_path: Path) -> None:
    query = """
        create table marts.t_new as select a from public.sales; drop table if exists marts.t;
        alter table marts.t_new rename to t
    """
    rows = merged(tmp_path, sql(query, SALES, outputs=(f"{MARTS}t_new", f"{MARTS}t")))
    assert feeds(rows) == {("dag.load", SALES, f"{MARTS}t", "overwrite")}


def test_a_path_with_a_slash_at_its_end_is_that_of_the_event(tmp_path: Path) -> None:
    query = """
        copy marts.t from 's3://in/p/' iam_role default; insert into marts.u (a) select a from public.sales;
        unload ('select a from public.event') to 's3://out/p/' iam_role default
    """
    rows = merged(
        tmp_path, sql(query, SALES, EVENT, "s3://in|p", outputs=(f"{MARTS}t", f"{MARTS}u", "s3://out|p"))
    )
    assert {(source, target) for _, source, target, _ in feeds(rows)} == {
        ("s3://in|p", f"{MARTS}t"),
        (SALES, f"{MARTS}u"),
        (EVENT, "s3://out|p"),
    }


def test_a_table_that_the_script_makes_and_drops_is_no_output(tmp_path: Path) -> None:
    query = """
        create table marts.x as select a from public.sales;
        insert into marts.t (a) select a from marts.x; drop table marts.x
    """
    rows = merged(tmp_path, sql(query, SALES, f"{MARTS}x", outputs=(f"{MARTS}t", f"{MARTS}x")))
    assert {(source, target) for _, source, target, _ in feeds(rows)} == {(SALES, f"{MARTS}t")}


@pytest.mark.parametrize(
    ("source", "target", "query"),
    [
        pytest.param(
            "bigquery|shop-prod-284710.raw.sales",
            "bigquery|shop-prod-284710.marts.t",
            "insert into `shop-prod-284710.marts.t` select a from shop-prod-284710.raw.sales where a > 7",
            id="projects with numbers",
        ),
        pytest.param(
            SALES,
            f"{WAREHOUSE}|dev.marts.2024",
            """create table marts."2024" as select a from public.sales where a = 'x'""",
            id="a table that is a number",
        ),
        pytest.param(
            SALES,
            f"{MARTS}t",
            "drop table marts.t; -- it's old\ncreate table marts.t as select a from public.sales where a='x'",
            id="comments with quotes",
        ),
    ],
)
def test_names_and_comments_are_not_values(tmp_path: Path, source: str, target: str, query: str) -> None:
    rows = merged(tmp_path, sql(query, source, outputs=(target,)))
    assert {(source_id, target_id) for _, source_id, target_id, _ in feeds(rows)} == {(source, target)}


def test_an_input_that_no_statement_names_feeds_each_output(tmp_path: Path) -> None:
    """The code of a task adds it (`emit_query_lineage`)."""
    query = "insert into marts.t (a) select a from public.sales; select 1 from public.event"
    rows = merged(tmp_path, sql(query, SALES, EVENT, "s3://in|a"))
    assert {source for _, source, *_ in feeds(rows)} == {SALES, "s3://in|a"}


@pytest.mark.parametrize("scheme", ["snowflake", "awsathena"])
def test_assets_or_the_query_name_the_warehouse_of_a_hook(tmp_path: Path, scheme: str) -> None:
    wanted = f"{scheme}://host|db.s.x", f"{scheme}://host|db.s.t"
    by_asset = data_api(
        "insert into s.t select a from s.x",
        operator_class="PythonOperator",
        outlets=[{"uri": f"{scheme}://host/db/s/t"}],
    )
    by_query = data_api("insert into db.s.t select a from db.s.x", operator_class="PythonOperator")
    by_query[1]["run"]["facets"]["externalQuery"] = {"externalQueryId": "1", "source": f"{scheme}://host"}
    for events in (by_asset, by_query):
        rows = merged(tmp_path, *events)
        assert {tuple(map(str.lower, edge[1:3])) for edge in feeds(rows)} == {wanted}


def test_tags_of_older_providers_are_those_of_the_dag(tmp_path: Path) -> None:
    loaded = task("COMPLETE", "06:00", "r1", **IN_OUT)
    loaded["run"]["facets"]["airflow"]["dag"] = {"tags": "['tickit', 'daily']"}
    assert jobs(merged(tmp_path, loaded))["dag.load"]["tags"] == ["daily", "tickit"]


def check_names(rows: Rows) -> set[tuple[str, str]]:
    return {(row["name"], row["status"]) for row in rows if row["label"] == "assertion"}


def test_checks_in_facets_replace_those_of_the_operator(tmp_path: Path) -> None:
    """Since common-sql 2.0; a branch that a task takes is no check."""
    column = {"assertion": "min", "success": True, "column": "total", "name": "total.min"}
    branch = {**column, "name": "branch", "severity": "info", "success": False}
    facets = {"dataQualityAssertions": {"assertions": [column, branch]}}
    mapping = {"total": {"min": {"geq_to": 0, "success": True}}}
    operator = {"operator_class": "SQLColumnCheckOperator", "column_mapping": mapping}
    rows = merged(tmp_path, task("COMPLETE", "06:00", "r1", inputs=[dataset(SALES, facets)], task=operator))
    assert check_names(rows) == {("total.min", "passed")}


def test_tests_of_a_run_are_those_of_its_only_input(tmp_path: Path) -> None:
    tests = [
        {"name": "any", "type": "expression_is_true", "status": "fail", "severity": "error"},
        {"name": "own", "type": "min", "status": "pass", "params": {"tested_table": "public.Sales"}},
        {"name": "other", "type": "min", "status": "pass", "params": {"tested_table": "public.event"}},
    ]
    event = task("FAIL", "06:00", "r1", inputs=[SALES], task={"operator_class": "SQLCheckOperator"})
    event["run"]["facets"]["test"] = {"tests": tests}
    assert check_names(merged(tmp_path, event)) == {("any", "failed"), ("own", "passed")}


def test_a_copied_column_has_no_expression(tmp_path: Path) -> None:
    """`RedshiftToS3Operator` describes it as "identical"."""
    field = {
        "inputFields": [{"namespace": WAREHOUSE, "name": "dev.public.sales", "field": "a"}],
        "transformationType": "IDENTITY",
        "transformationDescription": "identical",
    }
    copied = dataset("s3://out|t", {"columnLineage": {"fields": {"a": field}}})
    rows = merged(tmp_path, task("COMPLETE", "06:00", "r1", inputs=[SALES], outputs=[copied]))
    assert [row.get("expression") for row in rows if row["label"] == "feeds_column"] == [None]
