"""A week of a made-up team, in the shapes of Redshift's system views: every edge and no other.

The truth below is written by hand of the statements, before they were read.
"""

from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Reference, Writes
from lineage_merge.orchestration.configuration import CONFIGURATION
from tests.record_reading import records_of
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_log
from tests.sources.query_log.redshift_history import History

PATHS = """{"jsonpaths": ["$['id']", "$['customer']['id']", "$.amount", "$.state"]}"""
DBT = (
    '/* {"app": "dbt", "dbt_version": "1.8.0", "profile_name": "dw", "target_name": "prod", '
    '"node_id": "model.shop.orders_daily"} */ '
)


def week(folder: Path) -> Path:
    """Write the history of 12 sessions."""
    paths = folder / "orders.jsonpaths"
    history = History()
    history.columns("landing.orders", "order_id", "customer_id", "amount", "status")
    history.columns("landing.clicks", "click_id", "customer_id", "url varchar")
    history.columns("landing.returns", "order_id", "reason varchar")
    history.columns("core.orders", "order_id", "customer_id", "amount")
    history.columns("core.customers", "customer_id", "email varchar", "country varchar")
    history.columns("core.orders_archive", "order_id", "customer_id", "amount")
    history.columns("mart.daily", "order_id", "total")
    history.columns("mart.value", "customer_id", "country varchar", "value")
    history.columns("spectrum.events", "event_id", "customer_id", "kind varchar")
    history.external("spectrum.events", "s3://lake/events/")

    # 1: two loads of Airflow's S3ToRedshiftOperator; the folder of each day is a partition
    loader = history.session(11)
    with loader.transaction():
        for day in (1, 2):
            loader.run(
                "COPY landing.orders (order_id, customer_id, amount, status) FROM "
                f"'s3://landing/orders/day=2026-11-0{day}/' CREDENTIALS 'aws_iam_role=arn:aws:iam::1:role/r' "
                f"FORMAT AS JSON 'file://{paths}' GZIP TIMEFORMAT 'auto'",
                files=[f"s3://landing/orders/day=2026-11-0{day}/part-0000{n}.json.gz" for n in (0, 1)],
                loaded=40 + day,
            )
    # 2: a manifest, and Parquet by name
    manifests = history.session(12)
    manifests.run(
        "copy landing.clicks from 's3://landing/manifests/clicks.manifest' iam_role 'arn:aws:iam::1:role/r' "
        "manifest format as parquet",
        files=["s3://landing/clicks/a/part-00000.parquet", "s3://landing/clicks/a/part-00001.parquet"],
        loaded=7,
    )
    manifests.run(
        "copy landing.returns from 's3://landing/manifests/returns.manifest' "
        "iam_role 'arn:aws:iam::1:role/r' manifest csv"
    )
    # 3: a procedure with a temporary table; it calls another one. Each day.
    for _ in range(3):
        procedures = history.session(13)
        procedures.run("set search_path to core, landing")
        with procedures.call("CALL core.load_orders('2026-11-01', 'secret@example.com')"):
            procedures.run("drop table if exists stage")
            procedures.run(
                "create temp table stage as select order_id, customer_id, amount from landing.orders "
                "where status = 'paid'"
            )
            procedures.run("delete from core.orders using stage where core.orders.order_id = stage.order_id")
            procedures.run("insert into core.orders select order_id, customer_id, amount from stage")
            with procedures.call("call core.archive()"):
                procedures.run("alter table core.orders_archive append from landing.old_orders")
    # 4: another session's table of the same name, made of something else
    analyst = history.session(14, "ana")
    analyst.run("create temporary table stage as select customer_id, country from core.customers")
    analyst.run("create table mart.countries as select country, count(*) as n from stage group by 1")
    # 5: a temporary table that no session has created under this name: a table of the search path
    plain = history.session(15, "bob")
    plain.run("SET search_path TO 'mart', public")
    plain.run("insert into value select c.customer_id, c.country, 0 from core.customers c")
    plain.run("select * from mart.value where country = 'DE'")
    # 6: rolled back
    undone = history.session(16)
    with undone.transaction(commit=False):
        undone.run("insert into core.customers select 1, 'a@b.c', 'DE' from landing.clicks")
        undone.run("create table mart.never as select * from core.orders")
    # 7: failed
    history.session(17).run(
        "insert into mart.daily select order_id, nothing from core.orders", status="failed"
    )
    # 8: a swap of tables
    swap = history.session(18)
    swap.run("create table mart.daily_new (like mart.daily)")
    swap.run("insert into mart.daily_new select order_id, sum(amount) from core.orders group by order_id")
    with swap.transaction():
        swap.run("alter table mart.daily rename to daily_old")
        swap.run("alter table mart.daily_new rename to daily")
    swap.run("drop table mart.daily_old")
    # 9: dbt's own swap: it is the model
    dbt = history.session(19, "dbt")
    with dbt.transaction():
        dbt.run(
            DBT + 'create table "dw"."mart"."orders_daily__dbt_tmp" as (select * from "dw"."core"."orders")'
        )
        dbt.run(DBT + 'alter table "dw"."mart"."orders_daily" rename to "orders_daily__dbt_backup"')
        dbt.run(DBT + 'alter table "dw"."mart"."orders_daily__dbt_tmp" rename to "orders_daily"')
    dbt.run(DBT + 'drop table if exists "dw"."mart"."orders_daily__dbt_backup" cascade')
    # 10: UNLOAD, which a Spark job reads; a long statement
    unload = history.session(20)
    filler = ", ".join(f"'{n}'" for n in range(1200))
    unload.run(
        "unload ('select customer_id, value from mart.value where country in (''DE'', ''FR'')') "
        "to 's3://lake/customer_value/' iam_role 'arn:aws:iam::1:role/r' format parquet allowoverwrite",
        unloaded=99,
    )
    unload.run(
        f"create table mart.wide as select customer_id, case when email in ({filler}) then country end as c "
        "from core.customers"
    )
    # 11: a labelled report: staging tables that are dropped again
    report = history.session(21)
    report.run("set query_group to 'nightly report'", label="nightly report")
    report.run(
        "create table mart.tmp_value as select customer_id, value from mart.value", label="nightly report"
    )
    report.run("insert into mart.tmp_value select customer_id, 1 from landing.clicks", label="nightly report")
    report.run(
        "create table mart.report as select customer_id, sum(value) as value from mart.tmp_value "
        "group by customer_id",
        label="nightly report",
    )
    report.run("drop table mart.tmp_value", label="nightly report")
    # 12: a task of Airflow; Spectrum; MERGE; what cannot be read
    task = history.session(22)
    task.run(
        """/* {"dag_id": "shop", "task_id": "merge_customers"} */ merge into core.customers
        using spectrum.events
        on core.customers.customer_id = spectrum.events.customer_id
        when matched then update set country = spectrum.events.kind
        when not matched then insert values (spectrum.events.customer_id, 'x', spectrum.events.kind)"""
    )
    for number in range(3):
        task.run(
            f"insert into mart.broken selekt {number} frm core.orders "
            f"wher mail = 'me{number}@example.com' ((("
        )
    assert len(history.rows["sys_query_history"]) >= 60
    paths.write_text(PATHS)
    return history.write(folder / "history")


@pytest.fixture(scope="module")
def lineage(tmp_path_factory: pytest.TempPathFactory) -> LogLineage:
    return read_log(LocalEngine(), week(tmp_path_factory.mktemp("week")))


FEEDS = {
    "landing.orders #: s3://landing/orders > landing.orders",
    "landing.clicks #: s3://landing/clicks/a > landing.clicks",
    "core.load_orders: landing.orders > core.orders",
    "core.archive: landing.old_orders > core.orders_archive",
    "mart.countries #: core.customers > mart.countries",
    "mart.value #: core.customers > mart.value",
    "mart.daily #: core.orders > mart.daily",
    "s3://lake/customer_value #: mart.value > s3://lake/customer_value",
    "mart.wide #: core.customers > mart.wide",
    "nightly report: mart.value > mart.report",
    "nightly report: landing.clicks > mart.report",
    "shop.merge_customers: s3://lake/events > core.customers",
}
COLUMNS = {
    "s3://landing/orders#id > landing.orders#order_id IDENTITY",
    "s3://landing/orders#customer.id > landing.orders#customer_id IDENTITY",
    "s3://landing/orders#amount > landing.orders#amount IDENTITY",
    "s3://landing/orders#state > landing.orders#status IDENTITY",
    "s3://landing/clicks/a#click_id > landing.clicks#click_id IDENTITY",
    "s3://landing/clicks/a#customer_id > landing.clicks#customer_id IDENTITY",
    "s3://landing/clicks/a#url > landing.clicks#url IDENTITY",
    "landing.orders#order_id > core.orders#order_id IDENTITY",
    "landing.orders#customer_id > core.orders#customer_id IDENTITY",
    "landing.orders#amount > core.orders#amount IDENTITY",
    "landing.old_orders#order_id > core.orders_archive#order_id IDENTITY",
    "landing.old_orders#customer_id > core.orders_archive#customer_id IDENTITY",
    "landing.old_orders#amount > core.orders_archive#amount IDENTITY",
    "core.customers#country > mart.countries#country IDENTITY",
    "core.customers#customer_id > mart.value#customer_id IDENTITY",
    "core.customers#country > mart.value#country IDENTITY",
    "core.orders#order_id > mart.daily#order_id IDENTITY",
    "core.orders#amount > mart.daily#total AGGREGATION",
    "mart.value#customer_id > s3://lake/customer_value#customer_id IDENTITY",
    "mart.value#value > s3://lake/customer_value#value IDENTITY",
    "core.customers#customer_id > mart.wide#customer_id IDENTITY",
    "core.customers#email > mart.wide#c CONDITIONAL",
    "core.customers#country > mart.wide#c TRANSFORMATION",
    "mart.value#customer_id > mart.report#customer_id IDENTITY",
    "landing.clicks#customer_id > mart.report#customer_id IDENTITY",
    "mart.value#value > mart.report#value AGGREGATION",
    "s3://lake/events#kind > core.customers#country IDENTITY",
    "s3://lake/events#customer_id > core.customers#customer_id IDENTITY",
}
INFLUENCES = {
    "landing.orders#status > core.orders FILTER",
    "landing.orders#order_id > core.orders FILTER",
    "core.customers#country > mart.countries GROUP_BY",
    "core.orders#order_id > mart.daily GROUP_BY",
    "mart.value#country > s3://lake/customer_value FILTER",
    "mart.value#customer_id > mart.report GROUP_BY",
    "landing.clicks#customer_id > mart.report GROUP_BY",
    "s3://lake/events#customer_id > core.customers JOIN",
}


# COPY reads files, which no log observes; tables that are temporary, or dropped again, are no datasets.
READS = {
    "landing.orders": 3,
    "landing.orders#order_id": 3,
    "landing.orders#customer_id": 3,
    "landing.orders#amount": 3,
    "landing.orders#status": 3,
    "landing.old_orders": 3,
    "landing.old_orders#order_id": 3,
    "landing.old_orders#customer_id": 3,
    "landing.old_orders#amount": 3,
    "landing.clicks": 1,
    "landing.clicks#customer_id": 1,
    "core.customers": 3,
    "core.customers#customer_id": 3,
    "core.customers#country": 3,
    "core.customers#email": 1,
    "core.orders": 2,
    "core.orders#order_id": 2,
    "core.orders#amount": 2,
    "core.orders#customer_id": 1,
    "mart.value": 3,
    "mart.value#customer_id": 3,
    "mart.value#country": 2,
    "mart.value#value": 3,
    "s3://lake/events": 1,
    "s3://lake/events#customer_id": 1,
    "s3://lake/events#kind": 1,
}


def test_every_read_and_no_other(lineage: LogLineage) -> None:
    assert lineage.reads == READS
    assert set(lineage.observed) == {NAMESPACE}


def test_every_feed_and_no_other(lineage: LogLineage) -> None:
    assert lineage.feeds == FEEDS
    assert lineage.writes == {
        (job, edge.split(" > ")[1]) for job, edge in (each.split(": ", 1) for each in FEEDS)
    }


def test_every_column_and_no_other(lineage: LogLineage) -> None:
    assert lineage.columns == COLUMNS
    assert lineage.influences == INFLUENCES


def test_temporary_tables_of_one_name_are_tables_of_their_sessions(lineage: LogLineage) -> None:
    assert lineage.via == {
        "landing.orders > core.orders": ["stage"],
        "core.customers > mart.countries": ["stage"],
        "mart.value > mart.report": ["tmp_value"],
        "landing.clicks > mart.report": ["tmp_value"],
    }


@pytest.mark.parametrize("read", ["s3a://lake/customer_value", "s3://lake/customer_value/*.parquet"])
def test_a_spark_job_reads_what_was_unloaded(lineage: LogLineage, read: str) -> None:
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "spline": {"export": "nowhere"}})
    dataset = dataset_resolver.from_config(config).resolve_id(Reference("", read, "spark job"))
    assert dataset in {each.target for each in records_of(Writes, lineage.records)}


def test_jobs_have_their_newest_run(lineage: LogLineage) -> None:
    jobs = lineage.jobs
    assert set(jobs) == {each.split(": ", 1)[0] for each in FEEDS} | {"model.shop.orders_daily"}
    assert jobs["landing.orders #"]["rows_written"] == "42"
    assert jobs["s3://lake/customer_value #"]["rows_written"] == "99"
    assert jobs["core.load_orders"]["duration_ms"] == "7000"
    assert lineage.runs["core.load_orders"] == 3
    assert lineage.runs["landing.orders #"] == 2
    assert "model.shop.orders_daily" not in lineage.runs


def test_what_cannot_be_read_is_reported_by_its_number_without_literals(lineage: LogLineage) -> None:
    (broken,) = [each for each in lineage.problems if "ran 3 times" in each[3]]
    assert broken[0] == "skipped"
    assert "mart.broken" in broken[3]
    assert not [each for each in lineage.problems if "example.com" in each[3]]
    assert [each[0] for each in lineage.problems if "by manifest" in each[3]] == ["not-joined"]


def test_no_literal_leaves_the_reader(lineage: LogLineage) -> None:
    text = repr(lineage.records)
    assert not [
        each for each in ("example.com", "paid", "FR", "1199", "iam::", "2026-11-01'") if each in text
    ]
