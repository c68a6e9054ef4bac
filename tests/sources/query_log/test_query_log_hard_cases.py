"""Sessions that are easily misread: every edge and no other. The truth was written before they were read."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.model.elements import FeedsColumn
from tests.record_reading import records_of
from tests.sources.query_log.log_reading import LogLineage, read_log, short
from tests.sources.query_log.redshift_history import History

_LOAD = "insert into core.orders select id, amount from landing.orders"
_FROM_STAGE = "insert into mart.daily select id, amount from stage"
# A statement, or the end of a session.
_NEXT = ""


def catalog() -> History:
    history = History()
    for table in ("landing.orders", "landing.new", "core.orders", "core.stage", "public.stage", "mart.daily"):
        history.columns(table, "id", "amount")
    return history


def read(folder: Path, *texts: str, process: int | None = None) -> LogLineage:
    """Read statements; `process`: of all sessions."""
    history, number = catalog(), 0
    for text in texts:
        if text == _NEXT:
            number += 1
        else:
            history.session(number if process is None else process).run(text)
    return read_log(LocalEngine(), history.write(folder))


def edges(lineage: LogLineage) -> list[str]:
    return sorted({edge.partition(": ")[2] for edge in lineage.feeds})


@pytest.mark.parametrize(
    ("texts", "expected"),
    [
        pytest.param(
            [
                "create table core.stage as select * from landing.new",
                "alter table core.stage rename to stage_old",
                "alter table core.stage_old rename to stage",
            ],
            ["landing.new > core.stage"],
            id="a table that gets its name again",
        ),
        pytest.param(
            2
            * [
                "create table mart.daily_new as select * from landing.orders",
                "alter table mart.daily rename to daily_old",
                "alter table mart.daily_new rename to daily",
                "drop table mart.daily_old",
            ],
            ["landing.orders > mart.daily"],
            id="a table that a loop replaces",
        ),
        pytest.param(
            [f"; {_LOAD};; insert into core.stage select * from landing.new"],
            ["landing.new > core.stage", "landing.orders > core.orders"],
            id="empty statements between others",
        ),
        pytest.param(
            ["create temp table stage as select * from landing.new", "drop table core.stage", _FROM_STAGE],
            ["landing.new > mart.daily"],
            id="a table of another schema is dropped, not the temporary one",
        ),
        pytest.param(
            [
                "create temp table stage (like core.stage)",
                "insert into public.stage select * from landing.new",
            ],
            ["landing.new > public.stage"],
            id="a name with a schema is not that of a temporary table",
        ),
        pytest.param(
            [
                "create temp table stage as select * from landing.new",
                "insert into core.orders select * from pg_temp.stage",
            ],
            ["landing.new > core.orders"],
            id="the schema of temporary tables",
        ),
        pytest.param(
            [
                "create table core.x as select id from core.orders",
                "drop table mart.x",
            ],
            ["core.orders > core.x"],
            id="a table of the same name in another schema is dropped",
        ),
        pytest.param(
            [
                "create temp table st (like core.orders)",
                "insert into st select * from landing.orders",
                "insert into core.orders select * from st",
                "truncate table st",
                "insert into st select * from landing.new",
                "insert into mart.daily select * from st",
                "delete from st",
                "insert into st select * from core.stage",
                "insert into public.stage select * from st",
            ],
            ["core.stage > public.stage", "landing.new > mart.daily", "landing.orders > core.orders"],
            id="an emptied temporary table forgets what was in it",
        ),
        pytest.param(
            [
                "create temp table st (like core.orders)",
                "copy st from 's3://l/a/' iam_role default json 'auto'",
                "copy st from 's3://l/b/' iam_role default json 'auto'",
                "insert into core.orders select * from st",
            ],
            ["s3://l/a > core.orders", "s3://l/b > core.orders"],
            id="loads that differ in their paths only",
        ),
        pytest.param(
            ["set search_path to core", "set search_path to default", _FROM_STAGE],
            ["public.stage > mart.daily"],
            id="the search path is the default again",
        ),
        pytest.param(
            ["set search_path to core", "reset search_path", _FROM_STAGE],
            ["public.stage > mart.daily"],
            id="the search path is reset",
        ),
        pytest.param(
            ["select set_config('search_path', 'core, public', false)", _FROM_STAGE],
            ["core.stage > mart.daily"],
            id="the search path is set by a function",
        ),
        pytest.param(
            [f"begin; {_LOAD}; insert into mart.daily select * from core.orders where id <> ';'; commit;"],
            ["core.orders > mart.daily", "landing.orders > core.orders"],
            id="several statements are logged as one",
        ),
        pytest.param(
            [
                "create or replace view mart.v as select id from landing.orders",
                _NEXT,
                "create or replace view mart.v as select id from landing.new",
            ],
            ["landing.new > mart.v"],
            id="only the newest definition of a view counts",
        ),
        pytest.param(
            [
                (
                    "create external table spectrum.e stored as parquet location 's3://l/e/' as "
                    "select id from core.orders"
                ),
                _NEXT,
                "insert into mart.daily select id, 1 from spectrum.e",
            ],
            ["core.orders > s3://l/e", "s3://l/e > mart.daily"],
            id="an external table that the history creates is its path",
        ),
        pytest.param(
            ["copy core.orders from 'dynamodb://Orders' iam_role default readratio 50"],
            ["dynamodb://Orders// > core.orders"],
            id="a table of DynamoDB",
        ),
        pytest.param(
            ["insert into mart.daily select query_id, user_id from sys_query_history"],
            ["pg_catalog.sys_query_history > mart.daily"],
            id="a system view is in no schema of the search path",
        ),
    ],
)
def test_every_edge_and_no_other(tmp_path: Path, texts: Sequence[str], expected: list[str]) -> None:
    assert edges(read(tmp_path, *texts)) == expected


def test_a_process_that_creates_a_temporary_table_again_is_another_session(tmp_path: Path) -> None:
    other = "create temp table other as select id from landing.orders"
    texts = ["create temp table stage as select * from landing.new", other, _FROM_STAGE, other, _FROM_STAGE]
    assert edges(read(tmp_path, *texts, process=1)) == [
        "landing.new > mart.daily",
        "public.stage > mart.daily",
    ]


def test_a_procedure_that_runs_as_its_owner_is_in_the_session_of_its_caller(tmp_path: Path) -> None:
    history = catalog()
    caller = history.session(1, "ana")
    caller.run("create local temp table stage (id int, amount int) on commit preserve rows")
    caller.run("insert into stage select * from landing.new")
    # It changes a temporary table only: its transaction may not be listed.
    history.rows["sys_transaction_history"].pop()
    with caller.call("call core.load()"):
        caller.user = "owner"
        caller.run("insert into core.orders select * from stage")
    history.session(1, "bob").run(_FROM_STAGE)
    for row in history.rows["sys_query_history"]:
        row["user_id"] = {"ana": 100, "owner": 101, "bob": 102}[row["username"]]
    assert read_log(LocalEngine(), history.write(tmp_path)).feeds == {
        "core.load: landing.new > core.orders",
        "mart.daily #: public.stage > mart.daily",
    }


def test_statements_in_any_case_are_one_job(tmp_path: Path) -> None:
    lineage = read(tmp_path, _LOAD, _LOAD.upper())
    assert (lineage.feeds, len(lineage.jobs)) == ({"core.orders #: landing.orders > core.orders"}, 1)


def test_files_that_a_hook_of_dbt_writes_are_lineage(tmp_path: Path) -> None:
    comment = '/* {"app": "dbt", "node_id": "operation.shop.export"} */ '
    unload = "unload ('select id from core.orders') to 's3://l/out/' iam_role default"
    assert edges(read(tmp_path, comment + unload, comment + _LOAD)) == ["core.orders > s3://l/out"]


def test_the_search_path_of_a_transaction_ends_with_it(tmp_path: Path) -> None:
    history = catalog()
    session = history.session(1)
    with session.transaction():
        session.run("set local search_path to core")
        session.run(_FROM_STAGE)
    session.run("insert into core.orders select * from stage")
    assert edges(read_log(LocalEngine(), history.write(tmp_path))) == [
        "core.stage > mart.daily",
        "public.stage > core.orders",
    ]


def test_a_renamed_column_has_its_last_name_in_lineage_and_usage(tmp_path: Path) -> None:
    history = catalog()
    history.columns("mart.x", "total")
    history.session(1).run("create table mart.x as select amount from core.orders")
    history.session(2).run("insert into mart.daily (amount) select amount from mart.x")
    history.session(3).run("alter table mart.x rename column amount to total")
    lineage = read_log(LocalEngine(), history.write(tmp_path))
    assert lineage.columns == {
        "core.orders#amount > mart.x#total IDENTITY",
        "mart.x#total > mart.daily#amount IDENTITY",
    }
    assert lineage.reads == {"core.orders": 1, "core.orders#amount": 1, "mart.x": 1, "mart.x#total": 1}


_KEYS = "credentials 'aws_access_key_id=AKIAX;aws_secret_access_key=a/b+c;token=abc=='"


def test_rows_of_files_without_columns_are_marked_behind_temporary_tables(tmp_path: Path) -> None:
    lineage = read(
        tmp_path,
        "create temp table raw (id int, amount int)",
        "copy raw from 's3://l/text/' iam_role default csv",
        "create temp table checked as select r.id, n.amount from raw r join landing.new n on n.id = r.id",
        "copy checked from 's3://l/json/' iam_role default json 'auto'",
        "insert into core.orders (id, amount) select id, amount from checked",
    )
    assert lineage.via["s3://l/text > core.orders"] == ["checked", "raw"]
    assert lineage.without_columns == {"s3://l/text > core.orders"}


def test_options_after_keys_are_read_and_columns_pass_through_a_temporary_table(tmp_path: Path) -> None:
    lineage = read(
        tmp_path,
        "CREATE TABLE #o (LIKE core.orders INCLUDING DEFAULTS)",
        f"COPY #o FROM 's3://l/o/' {_KEYS} FORMAT AS PARQUET",
        "DELETE FROM core.orders USING #o WHERE core.orders.id = #o.id",
        "INSERT INTO core.orders SELECT * FROM #o",
        f"UNLOAD ($$ select id from core.orders $$) TO 's3://l/out/' {_KEYS} HEADER",
    )
    assert lineage.columns == {
        "s3://l/o#id > core.orders#id IDENTITY",
        "s3://l/o#amount > core.orders#amount IDENTITY",
        "core.orders#id > s3://l/out#id IDENTITY",
    }
    assert "AKIAX" not in repr(lineage.records)
    assumed = {short(record.target) for record in records_of(FeedsColumn, lineage.records) if record.assumed}
    assert assumed == {"core.orders"}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("copy core.orders from 's3://l/hosts' iam_role default ssh", "not-joined"),
        ("copy core.orders from 's3://l/o/' iam_role default json 'noshred'", "no-columns"),
        ("insert into core.orders default values", None),
    ],
)
def test_what_has_no_lineage_is_in_the_report_once(tmp_path: Path, text: str, kind: str | None) -> None:
    lineage = read(tmp_path, text)
    assert lineage.columns == set()
    assert [each[0] for each in lineage.problems] == ([kind] if kind else [])


def test_unload_writes_to_the_folder_of_its_files(tmp_path: Path) -> None:
    history = catalog()
    session = history.session(1)
    for path, file in (
        ("s3://l/out/orders_", "s3://l/out/orders_0000_part_00.parquet"),
        ("s3://l/by_id/", "s3://l/by_id/id=1/0000_part_00.parquet"),
        ("s3://l/orders", "s3://l/orders0000_part_00.parquet"),
    ):
        session.run(f"unload ('select id from core.orders') to '{path}' iam_role default", written=[file])
    # It only reads in the warehouse: its transaction may not be listed.
    history.rows["sys_transaction_history"].clear()
    session.run("insert into core.orders values (1, 2)")
    assert edges(read_log(LocalEngine(), history.write(tmp_path))) == [
        "core.orders > s3://l/by_id",
        "core.orders > s3://l/orders",
        "core.orders > s3://l/out",
    ]


def test_texts_with_escaped_line_breaks(tmp_path: Path) -> None:
    history = catalog()
    history.session(1).run(
        r"-- daily\ninsert into core.orders\r\n\tselect id, amount -- cents\nfrom landing.orders"
    )
    history.session(2).run(
        r"unload ('select id\nfrom core.orders where id <> \'\'') to 's3://l/out/' iam_role default"
    )
    assert edges(read_log(LocalEngine(), history.write(tmp_path))) == [
        "core.orders > s3://l/out",
        "landing.orders > core.orders",
    ]


def test_pieces_of_a_text_without_the_blanks_at_their_ends(tmp_path: Path) -> None:
    history = catalog()
    numbers = ", ".join(map(str, range(1000, 1650)))
    begin = f"insert into core.orders select id, case when id in ({numbers}) then 1 end".ljust(8000)
    history.session(1).run(f"{begin}from landing.orders")
    for row in history.rows["sys_query_text"]:
        row["text"] = row["text"].rstrip()
    assert edges(read_log(LocalEngine(), history.write(tmp_path))) == ["landing.orders > core.orders"]


@pytest.mark.parametrize("has_transactions", [True, False])
def test_statements_without_a_transaction_do_not_share_one(tmp_path: Path, has_transactions: bool) -> None:
    history = catalog()
    session = history.session(1)
    session.run(_LOAD)
    session.run("select nothing", status="failed")
    for row in history.rows["sys_query_history"]:
        row["transaction_id"] = -1
    if not has_transactions:
        del history.rows["sys_transaction_history"]
    assert edges(read_log(LocalEngine(), history.write(tmp_path))) == ["landing.orders > core.orders"]


def test_statements_of_one_second_are_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    history = catalog()
    history._queries = 8  # identifiers of one and of two digits
    session = history.session(1)
    session.run("create temp table stage as select * from landing.new")
    session.run(_FROM_STAGE)
    session.run("insert into mart.x select id from core.orders")
    session.run("alter table mart.x rename to y")
    with session.call("call core.load()"):
        session.run(_LOAD)
    session.run("insert into public.stage select * from core.orders")
    for row in history.rows["sys_query_history"]:
        row["start_time"] = row["end_time"] = "2026-11-02 06:00:00"
    assert read_log(LocalEngine(), history.write(tmp_path)).feeds == {
        "mart.daily #: landing.new > mart.daily",
        "mart.y #: core.orders > mart.y",
        "core.load: landing.orders > core.orders",
        "public.stage #: core.orders > public.stage",
    }


# ---- other warehouses


@pytest.mark.parametrize(
    ("dialect", "texts", "expected"),
    [
        pytest.param(
            "snowflake",
            [
                "create or replace table public.new as select id from public.src",
                "alter table public.daily swap with public.new",
                "drop table public.new",
            ],
            ["public.src > public.daily"],
            id="a swap with a table of the session",
        ),
        pytest.param(
            "snowflake",
            [
                "create table public.copy clone public.src",
                "copy into public.t from 's3://l/in/' file_format = (type = csv)",
                "copy into 's3://l/out/' from (select id from public.t)",
            ],
            ["public.src > public.copy", "s3://l/in > public.t", "public.t > s3://l/out"],
            id="clones and COPY INTO",
        ),
        pytest.param(
            "snowflake",
            2
            * [
                "create or replace table public.t as select id from public.src",
                "alter table public.t swap with public.live",
            ],
            ["public.src > public.live"],
            id="a loop of swaps",
        ),
        pytest.param(
            "snowflake",
            ["begin insert into public.t select id from public.src; delete from public.t; end"],
            ["public.src > public.t"],
            id="a block",
        ),
        pytest.param(
            "postgres",
            ["insert into a.t select id from a.src", "alter table a.t set schema b"],
            ["a.src > b.t"],
            id="a table in another schema",
        ),
        pytest.param(
            "athena",
            [
                "create table db.x with (external_location = 's3://l/x/') as select a from db.src",
                "insert into db.y (a) select a from db.x",
            ],
            ["db.src > s3://l/x", "s3://l/x > db.y"],
            id="the path of a table that a query creates",
        ),
    ],
)
def test_statements_of_other_warehouses(
    tmp_path: Path, dialect: str, texts: Sequence[str], expected: list[str]
) -> None:
    namespace = {"athena": "awsathena://athena.x.amazonaws.com", "postgres": "postgres://host:5432"}
    rows = [
        {
            "id": str(at),
            "session": "s",
            "statement": text,
            "started": f"2026-11-02T06:00:0{at}Z",
            "database": "dw",
        }
        for at, text in enumerate(texts)
    ]
    (tmp_path / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    at = namespace.get(dialect, "snowflake://org-account")
    lineage = read_log(LocalEngine(), tmp_path, format="statements", dialect=dialect, namespace=at)
    assert {edge.lower().replace(f"{at}/dw.", "") for edge in edges(lineage)} == set(expected)


def test_a_statement_that_is_not_understood_is_in_the_report(tmp_path: Path) -> None:
    row = {
        "id": "1",
        "session": "s",
        "statement": "copy into public.t from @stage/x",
        "started": "2026-11-02T06:00:00Z",
    }
    (tmp_path / "log.jsonl").write_text(json.dumps(row))
    lineage = read_log(
        LocalEngine(), tmp_path, format="statements", dialect="snowflake", namespace="snowflake://org-account"
    )
    assert (lineage.feeds, [each[0] for each in lineage.problems]) == (set(), ["not-joined"])


def test_sessions_of_one_process_are_runs_of_their_own(tmp_path: Path) -> None:
    history = catalog()
    history.session(7, "one").run(_LOAD, label="nightly")
    history.session(7, "two").run(_LOAD, label="nightly")
    lineage = read_log(LocalEngine(), history.write(tmp_path))
    assert lineage.runs == {"nightly": 2}
    assert lineage.jobs["nightly"]["duration_ms"] == "1000"


def test_what_follows_a_call_in_its_text_is_not_of_the_procedure(tmp_path: Path) -> None:
    assert read(tmp_path, f"call etl.load(); {_LOAD}").feeds == {
        "core.orders #: landing.orders > core.orders"
    }


def test_the_time_of_a_text_with_several_statements_counts_once(tmp_path: Path) -> None:
    history = catalog()
    history.session(1).run(
        f"{_LOAD}; {_FROM_STAGE}; insert into core.stage select * from landing.new", label="load"
    )
    lineage = read_log(LocalEngine(), history.write(tmp_path))
    assert lineage.jobs["load"]["duration_ms"] == "1000"


def test_each_round_of_a_loop_of_swaps_is_a_run_of_one_job(tmp_path: Path) -> None:
    loop = ["create table mart.t as select id from landing.orders", "alter table mart.t swap with mart.daily"]
    lineage = read(tmp_path, *loop, *loop, *loop)
    assert lineage.runs == {"mart.daily #": 3}
