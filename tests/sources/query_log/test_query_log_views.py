"""Definitions of views that are older than the history, from the catalog."""

import csv
import io
import json
import os
import pwd
import shutil
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.sources.query_log.logs import athena, data_api
from lineage_merge.sources.query_log.statements.view_definitions import ViewDefinition, statement_of
from lineage_merge.sources.registry import QUERY_LOG
from tests.record_reading import writes_of
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_log
from tests.sources.query_log.redshift_history import History

_DBT = '/* {"app": "dbt", "target_name": "prod", "node_id": "model.shop.v"} */ '


def history() -> History:
    found = History()
    found.columns("core.orders", "id", "customer_id", "amount", "status varchar")
    found.columns("core.customers", "id", "country varchar")
    found.session(1).run("vacuum")
    return found


def columns_of(lineage: LogLineage) -> dict[str, set[str]]:
    """Return the edges by column of the view, without namespace."""
    found: dict[str, set[str]] = {}
    for edge in lineage.columns:
        source, target = edge.split(" > ")
        found.setdefault(target.split(" ")[0], set()).add(f"{source} {target.split(' ')[1]}")
    return found


def test_late_binding_materialized_and_bound_views(engine: Engine, tmp_path: Path) -> None:
    found = history()
    found.view(
        "mart.paid",
        " SELECT o.id, c.country FROM (core.orders o JOIN core.customers c ON ((o.customer_id = c.id))) "
        "WHERE ((o.status)::text = 'secret'::text);",
    )
    found.view(
        "mart.late",
        "create or replace view late (number, total) as select id, sum(amount) from core.orders group by id "
        "with no schema binding;",
    )
    found.view(
        "mart.daily",
        "CREATE MATERIALIZED VIEW mart.daily BACKUP NO DISTSTYLE KEY DISTKEY(id) SORTKEY(id) AUTO REFRESH "
        "YES AS (SELECT id, country FROM core.customers)",
    )
    lineage = read_log(engine, found.write(tmp_path))
    assert lineage.feeds == {
        "mart.paid #: core.orders > mart.paid",
        "mart.paid #: core.customers > mart.paid",
        "mart.late #: core.orders > mart.late",
        "mart.daily #: core.customers > mart.daily",
    }
    assert columns_of(lineage) == {
        "mart.paid#id": {"core.orders#id IDENTITY"},
        "mart.paid#country": {"core.customers#country IDENTITY"},
        "mart.late#number": {"core.orders#id IDENTITY"},
        "mart.late#total": {"core.orders#amount AGGREGATION"},
        "mart.daily#id": {"core.customers#id IDENTITY"},
        "mart.daily#country": {"core.customers#country IDENTITY"},
    }
    assert not lineage.problems
    assert "secret" not in repr(lineage.records)


def test_a_view_of_the_history_takes_precedence(tmp_path: Path) -> None:
    found = history()
    session = found.session(2)
    session.run("set search_path to mart, core")
    session.run("create or replace view paid as select customer_id from orders")
    session.run("create view late as select id from core.orders", status="failed")
    found.view("mart.paid", " SELECT orders.id FROM core.orders;")
    found.view("mart.late", " SELECT customers.id FROM core.customers;")
    assert read_log(LocalEngine(), found.write(tmp_path)).columns == {
        "core.orders#customer_id > mart.paid#customer_id IDENTITY",
        "core.customers#id > mart.late#id IDENTITY",
    }


def test_the_same_statement_is_the_same_job_in_the_history_and_the_catalog(tmp_path: Path) -> None:
    text = "create view mart.late as select id from core.orders where status = 'a' with no schema binding"
    logged, defined = history(), history()
    logged.session(2).run(text)
    defined.view("mart.late", text.replace("'a'", "'b'"))
    (job, _) = writes_of(read_log(LocalEngine(), logged.write(tmp_path / "logged")).records).pop()
    records = read_log(LocalEngine(), defined.write(tmp_path / "defined")).records
    assert {name for name, _ in writes_of(records)} == {job}


@pytest.mark.parametrize(
    "statement", ['create view "dw"."mart"."v__dbt_tmp" as (', "create view mart.v as ("]
)
def test_views_that_dbt_builds_are_those_of_its_models(tmp_path: Path, statement: str) -> None:
    found = history()
    found.session(2).run(f"{_DBT}{statement} select id from core.orders) with no schema binding")
    found.view("mart.v", f"{statement} select id from core.orders) with no schema binding")
    found.view("mart.w", f"{_DBT}create view mart.w as select id from core.orders with no schema binding")
    assert read_log(LocalEngine(), found.write(tmp_path)).feeds == set()


def test_a_view_reads_the_columns_of_a_late_binding_view(tmp_path: Path) -> None:
    found = history()
    found.view(
        "mart.late", "create view mart.late as select id, amount from core.orders with no schema binding"
    )
    found.view("mart.all", "create view mart.all as select * from mart.late with no schema binding")
    assert (
        "mart.late#amount > mart.all#amount IDENTITY"
        in read_log(LocalEngine(), found.write(tmp_path)).columns
    )


def test_a_definition_that_cannot_be_read_is_reported(tmp_path: Path) -> None:
    found = history()
    found.view("mart.broken", "SELEKT 'me@example.com' frm ((")
    (problem,) = read_log(LocalEngine(), found.write(tmp_path)).problems
    assert problem[0] == "skipped"
    assert "definition of a view: create view" in problem[3]
    assert "example.com" not in problem[3]


def test_of_several_exports_the_last_one_counts(tmp_path: Path) -> None:
    for day, column in (("2026-11-01", "id"), ("2026-11-02", "amount")):
        found = history()
        found.view("mart.v", f" SELECT orders.{column} FROM core.orders;")
        folder = found.write(tmp_path / "export")
        (folder / "pg_views" / day).mkdir()
        (folder / "pg_views" / "000.csv").rename(folder / "pg_views" / day / "000.csv")
    assert read_log(LocalEngine(), tmp_path / "export").columns == {
        "core.orders#amount > mart.v#amount IDENTITY"
    }


@pytest.mark.parametrize(
    ("definition", "statement"),
    [
        ("select 1", 'create view "m"."v""x" as select 1'),
        ('create view "M"."V""x" as select 1', 'create view "M"."V""x" as select 1'),
        ("create view m.old as select 1", 'create view "m"."v""x" as select 1'),
        (
            "-- a\ncreate materialized view v(a) as select 1",
            '-- a\ncreate materialized view "m"."v""x"(a) as select 1',
        ),
    ],
)
def test_a_definition_is_the_statement_that_creates_the_view(definition: str, statement: str) -> None:
    assert statement_of(ViewDefinition("dw", "m", 'v"x', definition)).text == statement


def test_views_of_glue_are_those_of_athena() -> None:
    """The text of ``ViewOriginalText`` is that of Athena and Trino."""
    view = {
        "originalSql": "SELECT id FROM orders",
        "catalog": "awsdatacatalog",
        "schema": "raw",
        "columns": [],
    }
    text = f"/* Presto View: {b64encode(json.dumps(view).encode()).decode()} */"
    table = {"Name": "v", "ViewOriginalText": text, "StorageDescriptor": {"Columns": []}}
    assert list(athena.rows_of_table("mart", table)) == [
        ViewDefinition("awsdatacatalog", "mart", "v", "SELECT id FROM orders", ("raw",))
    ]
    broken = {"Name": "v", "ViewOriginalText": "/* Presto View: e30= */"}
    assert list(athena.rows_of_table("mart", broken)) == []


# ---- PostgreSQL

_BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
_TABLES = """
create schema core; create schema mart;
create table core.orders (id int, customer_id int, amount numeric(10, 2), status varchar(10), at timestamp);
create table core.customers (id int, country varchar(2), "Name" varchar(20));
create table core.returns (order_id int, amount numeric(10, 2));
"""
# Views, and the edges of their columns by hand.
_VIEWS: dict[str, tuple[str, set[str]]] = {
    "plain": (
        "select id, amount from core.orders where status = 'secret'",
        {"orders.id>id", "orders.amount>amount"},
    ),
    "everything": ("select * from core.returns", {"returns.order_id>order_id", "returns.amount>amount"}),
    "joined": (
        (
            "select o.id, c.country as land from core.orders o left join core.customers c "
            "on c.id = o.customer_id"
        ),
        {"orders.id>id", "customers.country>land"},
    ),
    "joined_by_name": ("select * from core.orders join core.returns using (amount)", set()),
    "totals": (
        (
            "select c.country, sum(o.amount) filter (where o.status = 'x') as total, count(*) as n "
            "from core.orders o, core.customers c where o.customer_id = c.id group by c.country "
            "having count(*) > 7"
        ),
        {"customers.country>country", "orders.amount>total", "orders.status>total"},
    ),
    "with_query": (
        (
            "with paid as (select id, amount from core.orders where status in ('a', 'b')) "
            "select p.id as number, p.amount + coalesce(r.amount, 0) as net from paid p "
            "left join core.returns r on r.order_id = p.id"
        ),
        {"orders.id>number", "orders.amount>net", "returns.amount>net"},
    ),
    "both": (
        "select id from core.orders union all select order_id from core.returns",
        {"orders.id>id", "returns.order_id>id"},
    ),
    "newest": (
        "select id, row_number() over (partition by customer_id order by at desc) as place from core.orders",
        {"orders.id>id", "orders.customer_id>place", "orders.at>place"},
    ),
    "words": (
        """select upper("Name") as "Upper Name", case when country = 'DE' then 1 else 0 end as is_german,
        cast(id as varchar(5)) as id from core.customers""",
        {"customers.Name>Upper Name", "customers.country>is_german", "customers.id>id"},
    ),
    "nested": (
        (
            "select s.customer_id, s.total from (select customer_id, max(amount) as total from core.orders "
            "group by customer_id) s where s.customer_id in (select id from core.customers)"
        ),
        {"orders.customer_id>customer_id", "orders.amount>total"},
    ),
    "of_view": (
        "select number, net * 1.19 as gross from mart.with_query",
        {"with_query.number>number", "with_query.net>gross"},
    ),
    "named": ("select distinct id, date_trunc('day', at) from core.orders", {"orders.id>a", "orders.at>b"}),
}
_VIEWS["joined_by_name"] = (
    _VIEWS["joined_by_name"][0],
    {f"orders.{name}>{name}" for name in ("id", "customer_id", "status", "at", "amount")}
    | {"returns.order_id>order_id"},
)


@pytest.fixture
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A PostgreSQL server without a network; the folder of its socket."""
    binaries = _BINARIES[-1].parent
    folder = Path("/tmp") / f"lineage-merge-pg-{os.getpid()}"  # a socket's path has 107 characters
    user = "nobody" if os.geteuid() == 0 else None  # not as root
    folder.mkdir(mode=0o700)
    if user:
        os.chown(folder, pwd.getpwnam(user).pw_uid, -1)

    def run(*command: str) -> None:
        subprocess.run(command, user=user, cwd=folder, check=True, capture_output=True, timeout=60)

    try:
        run(str(binaries / "initdb"), "-D", "data", "-U", "lineage", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-k {folder} -c listen_addresses= -c fsync=off"
        run(str(binaries / "pg_ctl"), "-D", "data", "-w", "-l", "log", "-o", options, "start")
        try:
            yield folder
        finally:
            run(str(binaries / "pg_ctl"), "-D", "data", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)


def _psql(socket: Path, sql: str, *options: str) -> str:
    command = ["psql", "-h", str(socket), "-U", "lineage", "-d", "postgres", "-X", "-v", "ON_ERROR_STOP=1"]
    return subprocess.run(
        [*command, *options, "-c", sql], check=True, capture_output=True, text=True, timeout=60
    ).stdout


@pytest.mark.skipif(not _BINARIES, reason="PostgreSQL's server is not installed")
def test_the_definitions_of_postgresql_are_read(postgres: Path, tmp_path: Path) -> None:
    _psql(postgres, _TABLES)
    for name, (query, _) in _VIEWS.items():
        columns = "(a, b)" if name == "named" else ""
        _psql(postgres, f"create view mart.{name} {columns} as {query}")
    (log,) = QUERY_LOG.parse(
        [{"format": "redshift", "cluster": "c", "database": "dw", "namespace": NAMESPACE}]
    )
    (sql,) = [q.sql for q in data_api.queries(log, datetime.now(UTC)) if q.view == "pg_views"]
    exported = history()
    exported.rows.pop("svv_all_columns")
    exported.database = "postgres"
    exported.columns("core.orders", "id", "customer_id", "amount", "status", "at")
    exported.columns("core.customers", "id", "country", "Name")
    exported.columns("core.returns", "order_id", "amount")
    folder = exported.write(tmp_path)
    (folder / "pg_views").mkdir()
    (folder / "pg_views" / "views.csv").write_text(_psql(postgres, sql, "--csv"))
    assert len(list(csv.DictReader(io.StringIO((folder / "pg_views" / "views.csv").read_text())))) == len(
        _VIEWS
    )

    lineage = read_log(LocalEngine(), folder)

    found: dict[str, set[str]] = {name: set() for name in _VIEWS}
    for edge in lineage.columns:
        source, target = (each.replace("#", ".").split(".", 2)[2] for each in edge.split(" > "))
        view, column = target.rpartition(" ")[0].split(".")
        found[view].add(f"{source}>{column}")
    assert found == {name: edges for name, (_, edges) in _VIEWS.items()}
    assert not lineage.problems
    assert "secret" not in repr(lineage.records)
