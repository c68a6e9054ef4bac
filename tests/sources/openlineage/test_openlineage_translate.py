"""Translation of combined runs, without Spark."""

import itertools
from typing import Any

import pytest

from lineage_merge.model.elements import (
    Alias,
    Assertion,
    Authority,
    Column,
    Dataset,
    Element,
    Feeds,
    FeedsColumn,
    Influences,
    Job,
    JobKey,
    Reference,
    Writes,
)
from lineage_merge.sources.openlineage import translator as translating
from lineage_merge.sources.openlineage.datasets import reference
from lineage_merge.sources.openlineage.documents import check, cut_down
from lineage_merge.sources.openlineage.jobs import JobRun, job_of
from lineage_merge.sources.openlineage.runs import Run, combine_events
from lineage_merge.sources.openlineage.translator import assertions
from tests.sources.openlineage.made_events import (
    AIRFLOW,
    DBT,
    SPARK,
    Event,
    dataset,
    event,
    job_type,
    of_spark,
)

LAKE, MART = "s3://lake|sales", "s3://mart|sales"
JOB = JobKey("openlineage", "job")


def elements(*events: Event) -> list[Element]:
    """Return the elements of the first target of one run."""
    run = combine_events(events)
    return list(translating.translate(run, translating.targets(run)[0]))


def of(kind: type, found: list[Element]) -> list[Any]:
    return [each for each in found if isinstance(each, kind)]


def with_facets(**facets: Any) -> list[Element]:
    """What a run gives that reads the lake and writes the mart with facets."""
    return elements(event("COMPLETE", "06:01", inputs=[LAKE], outputs=[dataset(MART, facets)]))


def test_the_events_of_a_run_are_combined_in_any_order() -> None:
    schema = {"schema": {"fields": [{"name": "a", "type": "string"}]}}
    events = [
        event("START", "06:00", inputs=[LAKE], job_facets=job_type("FLINK")),
        event(
            "RUNNING",
            "06:01",
            inputs=["s3://lake|users"],
            outputs=[dataset(MART, {"schema": {"fields": []}})],
        ),
        event("COMPLETE", "06:05", outputs=[dataset(MART, rows=7)]),
        event("OTHER", "06:06", outputs=[dataset(MART, schema)]),
    ]
    expected = Run(
        run_id="01a1fd70-0000-7000-8000-000000000001",
        job={"namespace": "tests", "name": "job", "facets": job_type("FLINK")},
        facets={},
        producer="https://example.com/producer",
        inputs={("s3://lake", "sales"): dataset(LAKE), ("s3://lake", "users"): dataset("s3://lake|users")},
        outputs={("s3://mart", "sales"): dataset(MART, schema, rows=7)},
        at=1793512800000 + 5 * 60_000,
        failed=False,
        duration_ms=5 * 60_000,
        began_at=1793512800000,
    )

    for order in itertools.permutations([*events, events[2]]):
        assert combine_events(order) == expected


@pytest.mark.parametrize(
    ("kinds", "ended", "failed"),
    [
        (["START"], False, False),
        (["START", "RUNNING"], False, False),
        (["START", "FAIL"], True, True),
        (["START", "ABORT"], True, True),
        (["START", "FAIL", "COMPLETE"], True, True),
        (["START", "ABORT", "COMPLETE"], True, True),
        (["START", "COMPLETE", "FAIL"], True, True),
        (["START", "COMPLETE", "RUNNING"], True, False),
        (["COMPLETE"], True, False),
    ],
)
def test_a_run_that_reported_a_failure_failed_whatever_follows(
    kinds: list[str], ended: bool, failed: bool
) -> None:
    run = combine_events([event(kind, f"06:0{minute}") for minute, kind in enumerate(kinds)])

    assert (run.at is not None, run.failed) == (ended, failed)


def test_a_stream_ends_at_its_last_report() -> None:
    facets = job_type("FLINK", "JOB", "STREAMING")
    run = combine_events(
        [event("START", "06:00", job_facets=facets), event("RUNNING", "06:09", job_facets=facets)]
    )

    assert (run.at, run.failed, run.duration_ms) == (1793512800000 + 540_000, False, 540_000)


SQL = job_type("SPARK", "SQL_JOB")


@pytest.mark.parametrize(
    ("event", "job"),
    [
        pytest.param(
            event(
                "START",
                "06:00",
                "daily_load.execute_insert",
                "r1",
                job_facets=SQL,
                run_facets=of_spark("Daily Load", "app-7", "daily_load"),
            ),
            JobRun(JobKey("spark", "Daily Load"), "Daily Load", "app-7", "app-7", "spark 4.0.1"),
            id="an action of a Spark application, by the application's own name",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "load.execute_insert",
                "r1",
                job_facets=SQL,
                run_facets={"parent": {"run": {"runId": "p1"}, "job": {"namespace": "n", "name": "load"}}},
            ),
            JobRun(JobKey("spark", "load"), "load", "p1", "p1"),
            id="an action that names its application as parent only",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "load.execute_insert",
                "r1",
                producer=SPARK,
                run_facets={
                    "parent": {"run": {"runId": "p1"}, "job": {"namespace": "n", "name": "dag.task"}}
                },
            ),
            JobRun(JobKey("spark", "load"), "load", "r1", "r1"),
            id="an older action, whose parent is Airflow's task",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "load",
                "r1",
                job_facets=job_type("SPARK", "APPLICATION"),
                run_facets={
                    "parent": {"run": {"runId": "p1"}, "job": {"namespace": "n", "name": "dag.task"}}
                },
            ),
            JobRun(JobKey("spark", "load"), "load", "r1", "r1"),
            id="an application that Airflow started",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "etl.execute_insert",
                "r1",
                job_facets=SQL,
                run_facets=of_spark("nativespark-etl-jr_0123456789abcdef", "spark-app-1", "etl"),
            ),
            JobRun(
                JobKey("spark", "etl"),
                "nativespark-etl-jr_0123456789abcdef",
                "spark-app-1",
                "jr_0123456789abcdef",
                "spark 4.0.1",
            ),
            id="on Glue",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "dev.public.tickit.stg_sales.build.run",
                "r1",
                producer=DBT,
                job_facets=job_type("DBT", "MODEL") | {"dbt_node": {"unique_id": "model.tickit.stg_sales"}},
                run_facets={"dbt_run": {"invocation_id": "i1", "project_name": "tickit"}},
            ),
            JobRun(
                JobKey("dbt", "model.tickit.stg_sales"),
                "dev.public.tickit.stg_sales.build.run",
                "r1",
                "i1",
                "",
                "tickit",
            ),
            id="dbt's model by its unique id",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "dev.public.pkg.days.build.run",
                "r1",
                producer=DBT,
                job_facets=job_type("DBT", "MODEL") | {"dbt_node": {"unique_id": "model.pkg.days"}},
                run_facets={"dbt_run": {"invocation_id": "i1", "project_name": "tickit"}},
            ),
            JobRun(
                JobKey("dbt", "tickit/model.pkg.days"),
                "dev.public.pkg.days.build.run",
                "r1",
                "i1",
                "",
                "tickit",
            ),
            id="dbt's model of a package that the project installs",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "dev.public.tickit.stg_sales",
                "r1",
                producer=DBT,
                job_facets=job_type("DBT", "MODEL"),
                outputs=["redshift://wh:5439|dev.public.stg_sales"],
            ),
            JobRun(JobKey("dbt", "model.tickit.stg_sales"), "dev.public.tickit.stg_sales", "r1", "r1"),
            id="an older event of dbt's model",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "dev.snaps.tickit.users.snapshot",
                "r1",
                producer=DBT,
                job_facets=job_type("DBT", "SNAPSHOT"),
                outputs=["redshift://wh:5439|dev.snaps.users"],
            ),
            JobRun(JobKey("dbt", "snapshot.tickit.users"), "dev.snaps.tickit.users.snapshot", "r1", "r1"),
            id="an older event of dbt's snapshot",
        ),
        pytest.param(
            event("START", "06:00", "dbt-run-tickit", "r1", producer=DBT, job_facets=job_type("DBT", "JOB")),
            JobRun(JobKey("dbt", "dbt-run-tickit"), "dbt-run-tickit", "r1", "r1"),
            id="dbt's invocation",
        ),
        pytest.param(
            event(
                "START",
                "06:00",
                "daily.load.copy",
                "r1",
                producer=AIRFLOW,
                run_facets={"airflow": {"dagRun": {"run_id": "scheduled__2026-11-01"}}},
            ),
            JobRun(
                JobKey("airflow", "daily.load.copy"),
                "daily.load.copy",
                "tests scheduled__2026-11-01 daily.load.copy",
                "scheduled__2026-11-01",
            ),
            id="Airflow's task",
        ),
        pytest.param(
            event("START", "06:00", "q", "r1", job_facets=job_type("GREAT_EXPECTATIONS")),
            JobRun(JobKey("great_expectations", "q"), "q", "r1", "r1"),
            id="an unknown integration",
        ),
        pytest.param(
            event("START", "06:00", "q", "r1"),
            JobRun(JobKey("openlineage", "q"), "q", "r1", "r1"),
            id="an unknown producer",
        ),
    ],
)
def test_a_runs_job_is_named_as_other_sources_name_it(event: Event, job: JobRun) -> None:
    assert job_of(combine_events([event])) == job


def test_every_input_feeds_every_target_of_its_run() -> None:
    run = combine_events(
        [event("COMPLETE", "06:01", inputs=[LAKE, "s3://lake|users"], outputs=[MART, "s3://mart|x"])]
    )

    assert translating.targets(run) == [("s3://mart", "sales"), ("s3://mart", "x")]
    for key, name in (("sales", "s3://mart/sales"), ("x", "s3://mart/x")):
        found = list(translating.translate(run, ("s3://mart", key), 3))
        target = Reference("", name, "job")
        assert of(Writes, found) == [Writes(JOB, target)]
        assert of(Feeds, found) == [
            Feeds(JOB, Reference("", source, "job"), target, {"sequence": 3})
            for source in ("s3://lake/sales", "s3://lake/users")
        ]
        assert of(Job, found) == [Job(JOB)]


@pytest.mark.parametrize(
    ("facets", "rows", "inputs", "is_write"),
    [
        ({"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}, None, [], False),
        ({"lifecycleStateChange": {"lifecycleStateChange": "DROP"}}, None, [], False),
        ({"lifecycleStateChange": {"lifecycleStateChange": "TRUNCATE"}}, 0, [], False),
        ({"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}, 2, [], True),
        ({"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}, None, [LAKE], True),
        ({"lifecycleStateChange": {"lifecycleStateChange": "OVERWRITE"}}, None, [], True),
        ({}, None, [], True),
    ],
)
def test_a_table_that_is_only_defined_is_not_written(
    facets: dict[str, Any], rows: int | None, inputs: list[str], is_write: bool
) -> None:
    run = combine_events([event("COMPLETE", "06:01", inputs=inputs, outputs=[dataset(MART, facets, rows)])])

    assert bool(translating.targets(run)) == is_write


@pytest.mark.parametrize(
    ("command", "query", "is_write"),
    [
        ("atomic_create_table_as_select.db_t", None, True),
        ("create_hive_table_as_select_command.db_t", None, True),
        ("execute_save_into_data_source_command.t", None, True),
        ("create_table.db_t", None, False),
        ("create_table.db_t", "create table db.t (select_as int) using iceberg", False),
        ("query.db_t", "create table db.t using iceberg as (with c as (select 1) select * from c)", True),
    ],
)
def test_a_table_that_is_created_with_rows_is_written_without_known_inputs(
    command: str, query: str | None, is_write: bool
) -> None:
    created = {"lifecycleStateChange": {"lifecycleStateChange": "CREATE"}}
    made = event(
        "COMPLETE",
        "06:01",
        job=f"app.{command}",
        outputs=[dataset(MART, created)],
        producer=SPARK,
        run_facets=of_spark("app"),
        job_facets={**job_type("SPARK", "SQL_JOB"), **({"sql": {"query": query}} if query else {})},
    )

    assert bool(translating.targets(combine_events([made]))) == is_write


@pytest.mark.parametrize(
    ("producer", "change", "mode"),
    [
        (SPARK, "OVERWRITE", "overwrite"),
        (SPARK, "CREATE", "overwrite"),
        (SPARK, "", "append"),
        (AIRFLOW, "OVERWRITE", "overwrite"),
        (AIRFLOW, "", ""),
    ],
)
def test_the_mode_of_a_write_is_known_if_the_producer_reports_it(
    producer: str, change: str, mode: str
) -> None:
    facets = {"lifecycleStateChange": {"lifecycleStateChange": change}} if change else {}
    run = combine_events(
        [event("COMPLETE", "06:01", producer=producer, inputs=[LAKE], outputs=[dataset(MART, facets)])]
    )

    assert translating.write_mode(run, ("s3://mart", "sales")) == mode


@pytest.mark.parametrize(
    ("namespace", "name", "expected"),
    [
        (
            "s3a://lake",
            "temporary/redshift/public.sales/0f7d",
            ("", "s3a://lake/temporary/redshift/public.sales/0f7d"),
        ),
        ("s3://lake/", "/a/b=1/", ("", "s3://lake/a/b=1/")),
        ("file", "/data/a", ("", "file:/data/a")),
        ("hdfs://nn:8020", "/data/a", ("", "hdfs://nn:8020/data/a")),
        ("abfss://box@account.dfs.core.windows.net", "a", ("", "abfss://box@account.dfs.core.windows.net/a")),
        ("", "s3://lake/a", ("", "s3://lake/a")),
        ("jdbc:postgresql://db:5432/dev", "public.a", ("", "jdbc:postgresql://db:5432/dev:public.a")),
        ("redshift://wh:5439", "dev.public.a", ("redshift://wh:5439", "dev.public.a")),
        ("file:/user/hive/warehouse", "db.a", ("file:/user/hive/warehouse", "db.a")),
        ("kafka://broker:9092", "topic", ("kafka://broker:9092", "topic")),
        ("bigquery", "p.d.t", ("bigquery", "p.d.t")),
    ],
)
def test_rules_see_a_path_as_it_was_written(namespace: str, name: str, expected: tuple[str, str]) -> None:
    found = reference(namespace, name, "job")

    assert (found.namespace, found.name) == expected
    assert found.application == ("" if found.namespace else "job")


PATH = "s3://lake|db.db/sales"
PATH_REF = Reference("", "s3://lake/db.db/sales", "job")
GLUE = {"namespace": "arn:aws:glue:us-east-1:111122223333", "name": "table/db/sales", "type": "TABLE"}
HIVE = {"namespace": "hive://metastore:9083", "name": "db.sales", "type": "TABLE"}


@pytest.mark.parametrize(
    ("address", "facets", "aliases"),
    [
        pytest.param(
            PATH,
            {"symlinks": {"identifiers": [GLUE]}},
            {(Reference(GLUE["namespace"], "table/db/sales"), PATH_REF, "catalog-table")},
            id="a table of Glue",
        ),
        pytest.param(
            PATH,
            {
                "symlinks": {"identifiers": [HIVE]},
                "catalog": {"framework": "hive", "name": "default", "source": "spark"},
            },
            {
                (Reference(HIVE["namespace"], "db.sales"), PATH_REF, "catalog-table"),
                (Reference("spark_catalog", "db.sales"), PATH_REF, "catalog-table"),
            },
            id="a table of Spark's session catalog",
        ),
        pytest.param(
            PATH,
            {
                "symlinks": {
                    "identifiers": [{"namespace": "s3://lake", "name": "db.sales", "type": "TABLE"}]
                },
                "catalog": {"framework": "iceberg", "name": "ice", "source": "spark"},
            },
            {
                (Reference("ice", "db.sales"), PATH_REF, "catalog-table"),
                (Reference("s3://lake", "db.sales"), PATH_REF, "catalog-table"),
            },
            id="a table of an Iceberg catalog that is named by its bucket",
        ),
        pytest.param(
            "file|/wh/db.db/sales",
            {"symlinks": {"identifiers": [{"namespace": "file:/wh", "name": "db.sales", "type": "TABLE"}]}},
            {
                (
                    Reference("file:/wh", "db.sales"),
                    Reference("", "file:/wh/db.db/sales", "job"),
                    "catalog-table",
                ),
                (
                    Reference("spark_catalog", "db.sales"),
                    Reference("", "file:/wh/db.db/sales", "job"),
                    "catalog-table",
                ),
            },
            id="a table at the place that Spark's session catalog gives it",
        ),
        pytest.param(
            "file|/elsewhere/sales",
            {"symlinks": {"identifiers": [{"namespace": "file:/wh", "name": "db.sales", "type": "TABLE"}]}},
            {
                (
                    Reference("file:/wh", "db.sales"),
                    Reference("", "file:/elsewhere/sales", "job"),
                    "catalog-table",
                )
            },
            id="a table at a place of its own",
        ),
        pytest.param(
            "hive://metastore:9083|db.sales",
            {"symlinks": {"identifiers": [{"namespace": "s3://lake", "name": "sales", "type": "LOCATION"}]}},
            {
                (
                    Reference("hive://metastore:9083", "db.sales"),
                    Reference("", "s3://lake/sales", ""),
                    "catalog-table",
                )
            },
            id="a table with its path",
        ),
        pytest.param(
            "awsathena://athena.us-east-1.amazonaws.com|AwsDataCatalog.db.sales",
            {"symlinks": {"identifiers": [GLUE]}},
            set(),
            id="two names of a table without a path",
        ),
        pytest.param(
            "redshift://wh:5439|dev.public.sales",
            {
                "symlinks": {
                    "identifiers": [
                        {"namespace": "redshift://alias:5439", "name": "dev.public.sales", "type": "TABLE"}
                    ]
                }
            },
            {
                (
                    Reference("redshift://alias:5439", "dev.public.sales"),
                    Reference("redshift://wh:5439", "dev.public.sales"),
                    "openlineage-symlink",
                )
            },
            id="two addresses of a warehouse",
        ),
    ],
)
def test_symlinks_are_aliases_and_a_path_takes_precedence(
    address: str, facets: dict[str, Any], aliases: set[tuple[Reference, Reference, str]]
) -> None:
    found = elements(event("COMPLETE", "06:01", outputs=[dataset(address, facets)]))

    assert {(each.ref, each.of, each.rule) for each in of(Alias, found)} == aliases


def test_a_table_of_a_catalog_is_called_by_its_name() -> None:
    found = with_facets(symlinks={"identifiers": [GLUE]})

    target = Reference("", "s3://mart/sales", "job")
    names = {"qualified_name": "db.sales", "name": "sales"}
    assert Dataset(target, Authority.BUILDER, "table", names) in found


def test_a_dataset_has_columns_with_types_places_and_descriptions() -> None:
    struct = {
        "name": "s",
        "type": "struct",
        "fields": [{"name": "x", "type": "long"}, {"name": "y", "type": "string"}],
    }
    items = {"name": "l", "type": "array", "fields": [{"name": "_element", "type": "integer"}]}
    pairs = {
        "name": "m",
        "type": "map",
        "fields": [{"name": "key", "type": "string"}, {"name": "value", "type": "short"}],
    }
    first = {"name": "a", "type": "integer", "description": " the first ", "ordinal_position": 4}
    fields = [first, struct, items, pairs, {"name": "z"}]
    facets = {
        "schema": {"fields": fields},
        "documentation": {"description": "all sales"},
        "datasetType": {"datasetType": "view"},
        "storage": {"storageLayer": "iceberg", "fileFormat": "parquet"},
    }
    found = elements(event("COMPLETE", "06:01", producer=SPARK, outputs=[dataset(MART, facets)]))

    target = Reference("", "s3://mart/sales", "job")
    properties = {"description": "all sales", "format": "iceberg"}
    assert of(Dataset, found) == [Dataset(target, Authority.BUILDER, "view", properties)]
    assert [(each.name, dict(each.properties)) for each in of(Column, found)] == [
        ("a", {"position": 3, "data_type": "int", "description": "the first"}),
        ("s", {"position": 1, "data_type": "struct<x:bigint,y:string>"}),
        ("l", {"position": 2, "data_type": "array<int>"}),
        ("m", {"position": 3, "data_type": "map<string,smallint>"}),
        ("z", {"position": 4}),
    ]


def made_of(field: str, *transformations: tuple[str, str | None, str]) -> dict[str, Any]:
    keys = ("type", "subtype", "description")
    listed = [dict(zip(keys, each, strict=True)) for each in transformations]
    return {"namespace": "s3://lake", "name": "sales", "field": field, "transformations": listed}


def flows(found: list[Element]) -> set[tuple[str, str, tuple[str, ...], str]]:
    return {
        (f.source_column, f.target_column, f.transformations, f.expression) for f in of(FeedsColumn, found)
    }


def influences(found: list[Element]) -> set[tuple[str, tuple[str, ...]]]:
    return {(each.source_column, each.transformations) for each in of(Influences, found)}


def test_column_lineage_separates_values_from_influences() -> None:
    fields = {
        "net": {
            "inputFields": [
                made_of("price", ("DIRECT", "TRANSFORMATION", "price - fee")),
                made_of("fee", ("DIRECT", "TRANSFORMATION", "price - fee"), ("INDIRECT", "CONDITIONAL", "")),
                made_of("day", ("INDIRECT", "WINDOW", ""), ("INDIRECT", "FILTER", "")),
                made_of("id", ("INDIRECT", "JOIN", ""), ("INDIRECT", "GROUP_BY", "")),
            ]
        },
        "total": {
            "inputFields": [
                made_of("price", ("DIRECT", "aggregation", "")),
                made_of("id", ("INDIRECT", "JOIN", "")),
            ]
        },
        "unknown": {
            "inputFields": [made_of("price", ("DIRECT", None, "")), made_of("fee", ("DIRECT", "MADE_UP", ""))]
        },
    }
    whole = [
        made_of("day", ("INDIRECT", "SORT", "")),
        made_of("price", ("DIRECT", "AGGREGATION", "")),
        made_of("fee", ("INDIRECT", "FILTER", ""), ("DIRECT", "IDENTITY", "")),
    ]
    found = with_facets(columnLineage={"fields": fields, "dataset": whole})

    assert flows(found) == {
        ("price", "net", ("TRANSFORMATION",), "price - fee"),
        ("fee", "net", ("CONDITIONAL", "TRANSFORMATION"), "price - fee"),
        ("day", "net", ("WINDOW",), ""),
        ("price", "total", ("AGGREGATION",), ""),
        ("price", "unknown", (), ""),
        ("fee", "unknown", (), ""),
    }
    assert influences(found) == {
        ("day", ("FILTER",)),
        ("id", ("GROUP_BY", "JOIN")),
        ("id", ("JOIN",)),
        ("day", ("SORT",)),
        ("price", ()),
        ("fee", ("FILTER",)),
    }


def test_older_column_lineage_has_one_type_per_field() -> None:
    plain = {"namespace": "s3://lake", "name": "sales", "field": "a"}
    fields = {
        "same": {"inputFields": [plain], "transformationType": "IDENTITY", "transformationDescription": ""},
        "hidden": {
            "inputFields": [plain],
            "transformationType": "MASKED",
            "transformationDescription": "sha2(a)",
        },
        "made": {"inputFields": [plain], "transformationDescription": "a + 1"},
    }
    found = with_facets(columnLineage={"fields": fields})

    assert flows(found) == {
        ("a", "same", ("IDENTITY",), ""),
        ("a", "hidden", ("TRANSFORMATION",), "sha2(a)"),
        ("a", "made", (), "a + 1"),
    }


def test_a_dataset_that_only_the_column_lineage_names_feeds_the_target() -> None:
    fields = {"a": {"inputFields": [{"namespace": "s3://lake", "name": "lost", "field": "a"}]}}
    found = with_facets(columnLineage={"fields": fields})

    assert {each.source.name for each in of(Feeds, found)} == {"s3://lake/sales", "s3://lake/lost"}


def with_governance() -> list[Element]:
    """A run whose job and target have owners and tags."""
    ownership = {"owners": [{"name": "team:sales", "type": "MAINTAINER"}, {"name": " "}, 7]}
    tags = [
        {"key": "pii", "value": "true", "source": "CONFIG", "field": "email"},
        {"key": "domain", "value": "sales"},
        {"key": "gold"},
        {"value": "no key"},
    ]
    job = {"ownership": {"owners": [{"name": "etl@example.com"}]}, "tags": {"tags": [{"key": "nightly"}]}}
    output = dataset(MART, {"ownership": ownership, "tags": {"tags": tags}})
    return elements(event("COMPLETE", "06:01", inputs=[LAKE], outputs=[output], job_facets=job))


def test_owners_and_tags_of_jobs_datasets_and_columns() -> None:
    found = with_governance()
    mart = reference("s3://mart", "sales", "job")
    assert [(each.ref, dict(each.sets)) for each in of(Dataset, found) if each.sets] == [
        (mart, {"owners": ("team:sales",), "tags": ("domain:sales", "gold")})
    ]
    assert [dict(each.sets) for each in of(Job, found)] == [
        {"owners": ("etl@example.com",), "tags": ("nightly",)}
    ]
    assert [(each.ref, each.name, dict(each.sets)) for each in of(Column, found)] == [
        (mart, "email", {"tags": ("pii",)})
    ]


@pytest.mark.parametrize("facet", ["", 7, [], {"owners": 1}, {"tags": [[]]}, {"assertions": {"a": 1}}])
def test_malformed_facets_of_owners_tags_and_quality_are_ignored(facet: Any) -> None:
    names = ("ownership", "tags", "dataQualityAssertions")
    damaged = event(
        "COMPLETE",
        "06:01",
        inputs=[{**dataset(LAKE), "inputFacets": {"dataQualityAssertions": facet}}],
        outputs=[dataset(MART, dict.fromkeys(names, facet))],
        job_facets=dict.fromkeys(names, facet),
    )
    assert check(damaged, "events:1") is None
    run = combine_events([cut_down(damaged)])
    assert list(assertions(run)) == []
    assert of(Feeds, list(translating.translate(run, translating.targets(run)[0])))


def test_assertions_about_inputs_and_outputs_with_their_outcome() -> None:
    checks = [
        {"assertion": "not_null", "success": True, "column": "email"},
        {"assertion": "positive", "success": False, "column": "sum(amount)", "severity": "warn"},
        {"assertion": "row_count", "success": False, "expected": "> 10", "actual": "7"},
        {"assertion": "unknown outcome"},
    ]
    of_input = {**dataset(LAKE), "inputFacets": {"dataQualityAssertions": {"assertions": checks}}}
    of_output = dataset(MART, {"dataQualityAssertions": {"assertions": checks[:1]}})
    run = combine_events([event("COMPLETE", "06:01", inputs=[of_input], outputs=[of_output])])
    found = list(assertions(run))
    assert {
        (each.target.name, each.column, each.properties["assertion_type"], each.properties["status"])
        for each in found
        if isinstance(each, Assertion)
    } == {
        ("s3://lake/sales", "email", "not_null", "passed"),
        ("s3://lake/sales", "", "positive", "warned"),
        ("s3://lake/sales", "", "row_count", "failed"),
        ("s3://mart/sales", "email", "not_null", "passed"),
    }
    assert len({each.key for each in found if isinstance(each, Assertion)}) == len(found)
    assert "> 10" not in repr(found)


def test_a_run_that_has_not_ended_has_no_assertions() -> None:
    checked = dataset(LAKE, {"dataQualityAssertions": {"assertions": [{"assertion": "a", "success": True}]}})
    assert list(assertions(combine_events([event("START", "06:01", inputs=[checked])]))) == []
