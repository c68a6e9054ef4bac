"""Tables that are renamed in another session than the one that made them."""

from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from tests.sources.query_log.log_reading import read_log
from tests.sources.query_log.redshift_history import History

_DBT = '/* {"app": "dbt", "node_id": "model.shop.orders"} */ '


def feeds(folder: Path, *statements: str | tuple[str, ...], engine: Engine | None = None) -> list[str]:
    """Return the edges of statements, each or each tuple in a session of its own."""
    history = History()
    history.columns("core.orders", "id", "amount")
    for process, texts in enumerate(statements):
        session = history.session(process)
        for text in (texts,) if isinstance(texts, str) else texts:
            session.run(text)
    lineage = read_log(engine or LocalEngine(), history.write(folder))
    return sorted(edge.partition(": ")[2] for edge in lineage.feeds)


_WRITE = "insert into {} select id, amount from core.orders"


def test_a_write_before_the_rename_is_one_to_the_new_name(engine: Engine, tmp_path: Path) -> None:
    assert feeds(
        tmp_path,
        "create table stage.x (id int, amount int)",
        _WRITE.format("stage.x"),
        "alter table stage.x rename to y",
        "insert into mart.z select id from stage.y",
        engine=engine,
    ) == ["core.orders > stage.y", "stage.y > mart.z"]


def test_a_write_after_the_rename_is_one_to_the_old_name(tmp_path: Path) -> None:
    assert feeds(
        tmp_path,
        "alter table stage.x rename to y",
        "create table stage.x as select id from core.orders",
        "insert into mart.z select id from stage.x",
    ) == ["core.orders > stage.x", "stage.x > mart.z"]


def test_a_table_that_is_renamed_twice_has_its_last_name(tmp_path: Path) -> None:
    assert feeds(
        tmp_path,
        _WRITE.format("stage.a"),
        "alter table stage.a rename to b",
        "insert into mart.z select id from stage.b",
        "alter table stage.b rename to c",
    ) == ["core.orders > stage.c", "stage.c > mart.z"]


@pytest.mark.parametrize(
    "renamed", ["table mart.v", "view mart.v", "materialized view mart.v", "view if exists mart.v"]
)
def test_a_view_that_is_renamed(tmp_path: Path, renamed: str) -> None:
    assert feeds(
        tmp_path,
        "create view mart.v as select id from core.orders",
        "insert into mart.before select id from mart.v",
        f"alter {renamed} rename to w",
        "insert into mart.after select id from mart.w",
        "create view mart.v as select id from core.items",
    ) == ["core.items > mart.v", "core.orders > mart.w", "mart.w > mart.after", "mart.w > mart.before"]


def test_unqualified_names_are_those_of_the_search_path(tmp_path: Path) -> None:
    assert feeds(
        tmp_path,
        ("set search_path to core, mart", _WRITE.format("x").replace("core.", "")),
        _WRITE.format("mart.x"),
        ("set search_path to core, mart", "alter table x rename to y"),
    ) == ["core.orders > core.y", "core.orders > mart.x"]


def test_renames_that_were_undone_are_none(tmp_path: Path) -> None:
    history = History()
    history.session(1).run(_WRITE.format("stage.x"))
    with (session := history.session(2)).transaction(commit=False):
        session.run("alter table stage.x rename to y")
    session.run("alter table stage.x rename to z", status="failed")
    assert {edge.partition(": ")[2] for edge in read_log(LocalEngine(), history.write(tmp_path)).feeds} == {
        "core.orders > stage.x"
    }


@pytest.mark.parametrize("sessions", ["one", "two"])
def test_a_refresh_by_swap_is_a_write_to_the_table_each_day(tmp_path: Path, sessions: str) -> None:
    old, new = "alter table mart.daily rename to daily_old", "alter table mart.daily_new rename to daily"
    swap = [(old, new)] if sessions == "one" else [old, new]
    day = (
        "create table mart.daily_new (id int, amount int)",
        _WRITE.format("mart.daily_new"),
        *swap,
        "insert into mart.report select id from mart.daily",
        "drop table if exists mart.daily_old",
    )
    assert feeds(tmp_path, *day, *day, *day) == ["core.orders > mart.daily", "mart.daily > mart.report"]


def test_a_session_that_swaps_and_makes_the_next_staging_table(tmp_path: Path) -> None:
    swap = (
        "alter table mart.daily rename to daily_old",
        "alter table mart.daily_new rename to daily",
        "drop table mart.daily_old",
        "create table mart.daily_new (like mart.daily)",
    )
    write = _WRITE.format("mart.daily_new")
    assert feeds(tmp_path, write, swap, write, swap) == ["core.orders > mart.daily"]


def test_a_backup_before_a_table_is_made_again_takes_nothing_with_it(tmp_path: Path) -> None:
    refresh = (
        "alter table mart.daily rename to daily_backup",
        "create table mart.daily as select id from core.orders",
    )
    assert feeds(tmp_path, _WRITE.format("mart.daily"), refresh) == ["core.orders > mart.daily"]


def test_two_tables_that_exchange_their_names(tmp_path: Path) -> None:
    assert feeds(
        tmp_path,
        "insert into mart.blue select id from core.orders",
        "insert into mart.green select id from core.returns",
        "alter table mart.blue rename to swap",
        "alter table mart.green rename to blue",
        "alter table mart.swap rename to green",
        "insert into mart.report select id from mart.blue",
    ) == ["core.orders > mart.green", "core.returns > mart.blue", "mart.blue > mart.report"]


def test_swaps_of_dbt_change_no_names(tmp_path: Path) -> None:
    swap = (
        f'{_DBT}create table "dw"."mart"."orders__dbt_tmp" as (select * from core.orders)',
        f'{_DBT}alter table "dw"."mart"."orders" rename to "orders__dbt_backup"',
        f'{_DBT}alter table "dw"."mart"."orders__dbt_tmp" rename to "orders"',
        f'{_DBT}drop table if exists "dw"."mart"."orders__dbt_backup" cascade',
    )
    report = "insert into mart.report select id from mart.orders"
    assert feeds(tmp_path, report, swap, report, swap) == ["mart.orders > mart.report"]


def test_equal_statements_with_equal_names_are_one_job(tmp_path: Path) -> None:
    history = History()
    for number in range(3):
        history.session(number).run("insert into stage.x select id from core.orders where id = 7")
    history.session(9).run("alter table stage.x rename to y")
    (runs,) = read_log(LocalEngine(), history.write(tmp_path)).runs.items()
    assert runs == ("stage.y #", 3)
