"""Reads of datasets and columns: what counts, who reads, several logs, and what is in the graph of them."""

import hashlib
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.schema import Row
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.engine.rows import Engine
from lineage_merge.merge.join import merge_locally
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.registry import QUERY_LOG
from tests.sources.query_log.log_reading import NAMESPACE, LogLineage, read_entries, read_log
from tests.sources.query_log.redshift_history import History, Session


def history() -> History:
    made = History()
    made.columns("core.orders", "order_id", "customer_id", "amount", "status", "note")
    made.columns("core.customers", "customer_id", "country", "email")
    return made


def reading(made: History, folder: Path, **more: Any) -> LogLineage:
    return read_log(LocalEngine(), made.write(folder / "history"), **more)


def reads_of(folder: Path, *texts: str, made: History | None = None) -> dict[str, int]:
    made = made or history()
    session = made.session(1)
    for text in texts:
        session.run(text)
    return reading(made, folder).reads


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select order_id from core.orders where status = 'x' order by amount", "order_id status amount"),
        ("select * from core.orders", "order_id customer_id amount status note"),
        ("select o.* from core.orders o", "order_id customer_id amount status note"),
        ("select count(*) from core.orders", ""),
        ("select count(*) from core.orders having max(amount) > 5", "amount"),
        ("with x as (select * from core.orders) select x.amount from x", "amount"),
        ("with x as (select amount, note from core.orders) select amount from x", "amount note"),
        ("select a from (select amount a, rank() over (order by status) n from core.orders) q where n = 1",
         "amount status"),
        ("select 1 where exists (select * from core.orders where status = 'x')", "status"),
        ("select sum(case when status = 'x' then amount end) from core.orders group by customer_id",
         "status amount customer_id"),
        ("(select amount from core.orders union all select order_id from core.orders)", "amount order_id"),
        ("declare cur cursor with hold for select amount from core.orders", "amount"),
        ("create materialized view mart.v as select amount from core.orders", "amount"),
        ("unload ('select amount from core.orders') to 's3://b/p/' iam_role default", "amount"),
        ("SELECT ORDER_ID FROM CORE.ORDERS", "order_id"),
        ("select a.order_id from core.orders a join core.orders b using (customer_id)",
         "order_id customer_id"),
    ],
)  # fmt: skip
def test_columns_that_occur_in_a_statement_are_read(tmp_path: Path, text: str, columns: str) -> None:
    expected = {"core.orders", *(f"core.orders#{column}" for column in columns.split())}
    assert reads_of(tmp_path, text) == dict.fromkeys(expected, 1)


@pytest.mark.parametrize(
    "text",
    [
        "select * from svv_all_columns",
        "select relname from pg_class join pg_catalog.pg_namespace n on relnamespace = n.oid",
        "select * from information_schema.tables",
        "explain select * from core.orders",
        "create view mart.v as select amount from core.orders with no schema binding",
        "create table core.copied (like core.orders)",
        "update core.orders set amount = amount + 1 where status = 'x'",
        "delete from core.orders where status = 'x'",
        "copy core.orders from 's3://b/p/' iam_role default csv",
        "select 1",
    ],
)
def test_what_reads_no_table_of_the_team_does_not_count(tmp_path: Path, text: str) -> None:
    assert reads_of(tmp_path, text) == {}


def test_a_statement_does_not_read_what_it_writes(tmp_path: Path) -> None:
    assert reads_of(
        tmp_path,
        "update core.orders set note = c.country from core.customers c "
        "where c.customer_id = orders.customer_id",
    ) == dict.fromkeys(("core.customers", "core.customers#country", "core.customers#customer_id"), 1)


def test_equal_statements_are_counted_over_sessions_with_the_time_of_the_last(tmp_path: Path) -> None:
    made = history()
    for number in (7, 8):
        made.session(number).run(f"select amount from core.orders where order_id = {number}")
    made.session(9).run("select country from core.customers")
    found = reading(made, tmp_path)
    assert found.reads["core.orders"] == found.reads["core.orders#amount"] == 2
    start = found.observed[NAMESPACE][0]
    assert found.last_reads["core.orders"] == start + 1_000
    assert found.observed == {NAMESPACE: (start, start + 2_000)}


def test_statements_that_were_undone_do_not_count_and_a_query_without_a_transaction_does(
    tmp_path: Path,
) -> None:
    made = history()
    session = made.session(1)
    session.run("select amount from core.orders", status="failed")
    with session.transaction(commit=False):
        session.run("select amount from core.orders")
    session.run("select country from core.customers")
    made.rows["sys_transaction_history"].pop()  # that of the last query
    assert reading(made, tmp_path).reads == {"core.customers": 1, "core.customers#country": 1}


def test_tables_of_a_session_are_read_as_what_they_were_made_of_once(tmp_path: Path) -> None:
    made = history()
    made.columns("public.orders", "order_id")
    assert reads_of(
        tmp_path,
        "create temp table orders as select order_id, amount from core.orders",
        "select amount from orders",
        "select orders.amount from orders join core.orders o on o.order_id = orders.order_id",
        "delete from orders using core.customers c where c.customer_id = orders.order_id",
        "drop table orders",
        "select * from orders",
        made=made,
    ) == {
        "core.orders": 2,
        "core.orders#order_id": 2,
        "core.orders#amount": 1,
        "core.customers": 1,
        "core.customers#customer_id": 1,
        "public.orders": 1,
        "public.orders#order_id": 1,
    }


def test_a_table_that_is_renamed_later_is_read_under_its_last_name(tmp_path: Path) -> None:
    found = reads_of(
        tmp_path,
        "create table core.new as select order_id from core.orders",
        "select count(order_id) from core.new",
        "alter table core.orders rename to old",
        "alter table core.new rename to orders",
        "drop table core.old",
    )
    assert found == {"core.orders": 2, "core.orders#order_id": 2}


def test_names_are_resolved_by_the_search_path_and_the_user_s_schema(tmp_path: Path) -> None:
    made = history()
    made.columns("ana.notes", "id")
    made.columns("public.notes", "id")
    for number, user in enumerate(("ana", "bob", "bob")):
        made.session(number, user).run("select id from notes")
    found = reading(made, tmp_path)
    assert found.reads == {"ana.notes": 1, "ana.notes#id": 1, "public.notes": 2, "public.notes#id": 2}


def test_a_query_of_dbt_is_a_read(tmp_path: Path) -> None:
    comment = '/* {"app": "dbt", "node_id": "test.shop.unique"} */ '
    assert reads_of(tmp_path, f"{comment} select amount from core.orders") == {
        "core.orders": 1,
        "core.orders#amount": 1,
    }


def test_a_query_that_cannot_be_parsed_is_reported_with_its_number(tmp_path: Path) -> None:
    made = history()
    for number in range(3):
        made.session(number).run(f"select amount frm core.orders wher a = 'me{number}@example.com' (((")
    (problem,) = [each for each in reading(made, tmp_path).problems if each[0] == "skipped"]
    assert "ran 3 times" in problem[3]
    assert "example.com" not in problem[3]


def test_columns_that_were_not_read_are_known(tmp_path: Path) -> None:
    nodes = _nodes(_read_once(history(), tmp_path))
    dataset = f"dev|{NAMESPACE}|dw.core.orders"
    assert {name.removeprefix(f"{dataset}|") for name in nodes if name.startswith(f"{dataset}|")} == {
        "order_id", "customer_id", "amount", "status", "note",
    }  # fmt: skip
    assert "read_count" not in nodes[f"{dataset}|note"]
    assert nodes[f"{dataset}|amount"]["position"] == 2


def _read_once(made: History, folder: Path, **more: Any) -> LogLineage:
    made.session(1, "ana").run("select amount from core.orders")
    return reading(made, folder, **more)


def _nodes(found: LogLineage) -> Mapping[str, Row]:
    return {node["id"]: node for node in merge_locally(found.records, "dev", "d").nodes}


def test_the_graph_has_usage_and_the_time_that_was_observed(tmp_path: Path) -> None:
    nodes = _nodes(_read_once(history(), tmp_path))
    log = nodes[f"dev|query_log|{NAMESPACE}"]
    assert (log["label"], log["name"], log["namespace"]) == ("query_log", NAMESPACE, NAMESPACE)
    dataset = nodes[f"dev|{NAMESPACE}|dw.core.orders"]
    column = nodes[f"{dataset['id']}|amount"]
    for node in (dataset, column):
        assert (node["read_count"], node["readers"]) == (1, [])
        assert node["last_read_at"] == log["observed_until"]
    assert log["observed_from"] == log["observed_until"]
    assert dataset["label"] == "table"


def test_without_usage_nothing_is_counted(tmp_path: Path) -> None:
    found = _read_once(history(), tmp_path, usage=False)
    assert (found.reads, found.observed) == ({}, {})


# ---- users


def _of_users(made: History, folder: Path, **more: Any) -> LogLineage:
    for number, user in enumerate(("looker_7", "ana", "looker_8", "etl")):
        session: Session = made.session(number, user)
        session.run("select amount from core.orders", label="reports")
    made.session(9, "etl").run(
        "insert into core.customers select 1, 'x', 'y' from core.orders", label="reports"
    )
    return reading(made, folder, **more)


@pytest.mark.parametrize("users", [{}, {"users": "groups"}, {"users": "hashed"}])
def test_no_name_of_a_user_is_in_a_record(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, users: dict[str, Any]
) -> None:
    monkeypatch.setenv("SALT", "grain")
    settings = {"user_groups": {"looker*": "bi"}, "user_salt_env": "SALT"}
    found = _of_users(history(), tmp_path, **settings, **users)
    text = repr(found.records)
    assert not [user for user in ("looker_7", "ana'", "etl", "grain") if user in text]
    assert found.reads["core.orders"] == 5


def test_users_are_named_by_group(tmp_path: Path) -> None:
    groups = {"looker_8": "eight", "looker*": "looker", "etl": "pipelines"}
    found = _of_users(history(), tmp_path, users="groups", user_groups=groups)
    assert found.readers["core.orders"] == ["eight", "looker", "other", "pipelines"]
    assert found.readers["core.orders#amount"] == ["eight", "looker", "other", "pipelines"]


def test_users_are_named_by_a_keyed_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALT", "grain")
    found = _of_users(history(), tmp_path, users="hashed", user_salt_env="SALT")
    users = ("looker_7", "ana", "looker_8", "etl")
    expected = {hmac.new(b"grain", user.encode(), hashlib.sha256).hexdigest()[:12] for user in users}
    assert set(found.readers["core.orders"]) == expected


def test_a_salt_that_is_missing_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SALT", raising=False)
    with pytest.raises(ConfigError, match=r"query_log\[0\].user_salt_env: there is no salt"):
        _of_users(history(), tmp_path, users="hashed", user_salt_env="SALT")


@pytest.mark.parametrize(
    "entry",
    [
        {"users": "hashed"},
        {"users": "hashed", "user_salt_env": "A", "user_salt_secret": "b"},
        {"users": "groups"},
    ],
)
def test_settings_of_users_are_complete(entry: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"query_log\[0\].users"):
        QUERY_LOG.parse([{"format": "redshift", "path": "p", "namespace": NAMESPACE, **entry}])


# ---- other logs


def test_users_of_a_file_of_statements(engine: Engine, tmp_path: Path) -> None:
    entry = _statements(tmp_path / "one", "1", user="looker_1")
    found = read_entries(engine, [{**entry, "users": "groups", "user_groups": {"looker*": "bi"}}])
    assert found.readers == {"a.s": ["bi"], "a.s#x": ["bi"]}


def test_logs_of_one_namespace_are_counted_together(engine: Engine, tmp_path: Path) -> None:
    entries = [_statements(tmp_path / name, day) for name, day in (("one", "1"), ("two", "3"))]
    found = read_entries(engine, entries)
    assert found.reads == {"a.s": 2, "a.s#x": 2}
    ((begin, end),) = found.observed.values()
    assert end - begin == 2 * 86_400_000


def _statements(folder: Path, day: str, **more: str) -> dict[str, Any]:
    folder.mkdir()
    document = {"id": "1", "session": "s", "statement": "select x from a.s", **more}
    document |= {"started": f"2026-11-0{day}T06:00:00Z", "database": "dw"}
    (folder / "log.jsonl").write_text(json.dumps(document))
    return {"format": "statements", "path": str(folder), "dialect": "redshift", "namespace": NAMESPACE}


def test_a_temporary_table_of_the_same_name_is_another_table(tmp_path: Path) -> None:
    assert reads_of(
        tmp_path,
        "create temp table orders as select customer_id as order_id from core.customers",
        "insert into mart.orders select order_id from orders",
        "select order_id from mart.orders",
    ) == {
        "core.customers": 1,
        "core.customers#customer_id": 1,
        "mart.orders": 1,
        "mart.orders#order_id": 1,
    }
