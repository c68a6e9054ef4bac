"""The DAGs whose events `capture_openlineage.py` records: operators between Glue and dbt, and checks.

PostgreSQL stands in for Redshift: the host and the port of the connections are those of a cluster, and only
the client's connection leads elsewhere (`PGPORT`; `RedshiftSQLHook.get_conn`). COPY is left out.
"""

# mypy: disable-error-code="import-not-found,import-untyped"

from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.amazon.aws.hooks.redshift_sql import RedshiftSQLHook
from airflow.providers.amazon.aws.operators.glue import GlueJobOperator
from airflow.providers.amazon.aws.operators.redshift_data import RedshiftDataOperator
from airflow.providers.amazon.aws.transfers.s3_to_redshift import S3ToRedshiftOperator
from airflow.providers.common.sql.operators.sql import (
    SQLCheckOperator,
    SQLColumnCheckOperator,
    SQLExecuteQueryOperator,
    SQLTableCheckOperator,
)
from airflow.providers.postgres.hooks.postgres import PostgresHook

try:
    from airflow.providers.standard.operators.python import PythonOperator
    from airflow.sdk import DAG, Asset, TaskGroup, get_current_context
except ImportError:
    from airflow import DAG
    from airflow.datasets import Dataset as Asset
    from airflow.operators.python import PythonOperator, get_current_context
    from airflow.utils.task_group import TaskGroup

try:
    DAG("slas", default_args={"sla": timedelta(hours=1)})
    from airflow.models import SlaMiss  # noqa: F401 - Airflow 3 has none

    SLA: dict[str, Any] = {"sla": timedelta(hours=2)}
except ImportError:
    SLA = {}

WAREHOUSE = "warehouse"
TOP_EVENTS = """
drop table if exists marts.top_events;
create table marts.top_events as
select e.eventname, sum(s.pricepaid) as total, count(*) as sales
from public.sales s
join public.event e on e.eventid = s.eventid
where s.qtysold > 0
group by e.eventname
"""
# Two tables in one task: what feeds one does not feed the other.
TWO_TABLES = [
    "insert into marts.buyers (buyerid, paid) select buyerid, pricepaid - commission from sales",
    "insert into marts.venues select eventid, upper(eventname) from event",
]
AMBIGUOUS = """
create table marts.sold as
select eventname, pricepaid from public.sales join public.event on sales.eventid = event.eventid
"""


def connect(_hook: Any) -> Any:
    import psycopg2

    return psycopg2.connect(host="127.0.0.1", user="airflow", dbname="dev")


RedshiftSQLHook.get_conn = connect
run = RedshiftSQLHook.run


def without_copy(hook: Any, sql: Any, *args: Any, **options: Any) -> Any:
    if isinstance(sql, str):
        return None if is_left_out(sql) else run(hook, sql, *args, **options)
    return run(hook, [each for each in sql if not is_left_out(each)], *args, **options)


def is_left_out(statement: str) -> bool:
    return statement.strip().upper().startswith(("COPY", "BEGIN", "COMMIT"))


RedshiftSQLHook.run = without_copy


def query_by_hook() -> None:
    hook = PostgresHook(postgres_conn_id=WAREHOUSE)
    hook.run("delete from marts.daily")
    hook.run(
        "insert into marts.daily (day, total) select saledate, sum(pricepaid) from public.sales group by 1"
    )


def fail_once() -> None:
    instance = get_current_context()["ti"]
    if instance.try_number < 2:
        raise ValueError("the first attempt fails")


with DAG(
    "tickit_tasks",
    schedule=None,
    start_date=datetime(2026, 1, 1, tzinfo=UTC),
    default_args={"owner": "analytics, data-platform"},
    tags=["tickit"],
):
    glue = GlueJobOperator(
        task_id="ingest",
        job_name="tickit_sales_ingest",
        script_location="s3://tickit-scripts/ingest.py",
        iam_role_name="glue",
        s3_bucket="tickit-scripts",
        job_poll_interval=1,
    )
    copy = S3ToRedshiftOperator(
        task_id="copy_sales",
        s3_bucket="tickit-lake",
        s3_key="sales_dl/",
        schema="public",
        table="sales",
        redshift_conn_id="redshift_default",
        method="REPLACE",
        **SLA,
    )
    copy_each = S3ToRedshiftOperator.partial(
        task_id="copy_each",
        s3_bucket="tickit-lake",
        schema="public",
        redshift_conn_id="redshift_default",
        table="event",
    ).expand(s3_key=["event_a/", "event_b/"])
    with TaskGroup("marts") as marts:
        SQLExecuteQueryOperator(
            task_id="top_events", conn_id=WAREHOUSE, sql=TOP_EVENTS, split_statements=True
        )
        SQLExecuteQueryOperator(task_id="two_tables", conn_id=WAREHOUSE, sql=TWO_TABLES)
        SQLExecuteQueryOperator(task_id="sold", conn_id=WAREHOUSE, sql=AMBIGUOUS)
        RedshiftDataOperator(
            task_id="data_api",
            database="dev",
            cluster_identifier="tickit-wh",
            sql="insert into marts.copied select * from public.sales",
            wait_for_completion=False,
        )
        PythonOperator(task_id="by_hook", python_callable=query_by_hook)
    with TaskGroup("checks") as checks:
        SQLColumnCheckOperator(
            task_id="columns",
            conn_id=WAREHOUSE,
            table="marts.top_events",
            column_mapping={
                "eventname": {"null_check": {"equal_to": 0}, "unique_check": {"equal_to": 0}},
                "total": {"min": {"geq_to": 0}},
            },
        )
        SQLTableCheckOperator(
            task_id="rows",
            conn_id=WAREHOUSE,
            table="marts.top_events",
            checks={
                "has_rows": {"check_statement": "count(*) > 0"},
                "sane_total": {"check_statement": "total < 1000000"},
            },
        )
        SQLCheckOperator(task_id="any", conn_id=WAREHOUSE, sql="select count(*) from marts.buyers")
    export = PythonOperator(
        task_id="export",
        python_callable=fail_once,
        retries=2,
        retry_delay=timedelta(seconds=0),
        inlets=[Asset("postgres://tickit-db:5432/dev/marts/top_events")],
        outlets=[Asset("s3://tickit-exports/top_events"), Asset("report")],
    )
    glue >> copy >> copy_each >> marts >> checks >> export

with DAG("tickit_failing", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=UTC)):
    SQLColumnCheckOperator(
        task_id="columns",
        conn_id=WAREHOUSE,
        table="marts.top_events",
        column_mapping={"total": {"max": {"less_than": 0}, "min": {"geq_to": 0}}},
    )
    SQLTableCheckOperator(
        task_id="rows",
        conn_id=WAREHOUSE,
        table="marts.top_events",
        checks={
            "is_empty": {"check_statement": "count(*) = 0"},
            "has_rows": {"check_statement": "count(*) > 0"},
        },
    )
    SQLExecuteQueryOperator(
        task_id="broken", conn_id=WAREHOUSE, sql="insert into marts.buyers select * from public.no_table"
    )
