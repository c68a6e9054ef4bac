"""Statements that write, however they begin: each is lineage or a line of the report; others are neither."""

import json
from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.sources.query_log.statements.facts import facts_of
from lineage_merge.sources.query_log.statements.templates import Templates, template_of
from lineage_merge.sources.query_log.statements.write_clauses import WriteClause, find_write
from tests.sources.query_log.log_reading import LogLineage, read_log
from tests.sources.query_log.test_query_log_sessions import units

_NAMESPACES = {
    "bigquery": "bigquery",
    "databricks": "databricks://host",
    "hive": "hive://host:9083",
    "mysql": "mysql://host:3306",
    "oracle": "oracle://host:1521",
    "postgres": "postgres://host:5432",
    "redshift": "redshift://c.us-east-1:5439",
    "snowflake": "snowflake://org-account",
    "trino": "trino://host:8080",
    "tsql": "mssql://host:1433",
}


def read(folder: Path, dialect: str, *texts: str, database: str = "dw") -> LogLineage:
    rows = [
        {
            "id": f"{at}",
            "session": "one",
            "statement": text,
            "started": f"2026-11-02T06:00:0{at}Z",
            "database": database,
        }
        for at, text in enumerate(texts)
    ]
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    namespace = _NAMESPACES[dialect]
    return read_log(LocalEngine(), folder, format="statements", dialect=dialect, namespace=namespace)


def edges(lineage: LogLineage) -> set[str]:
    return {edge.partition(": ")[2].lower() for edge in lineage.feeds}


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        (
            "tsql",
            "(@since datetime2(7),@top numeric(12,2))insert into b.t (k) select k from b.s where d > @since",
        ),
        (
            "tsql",
            "(@rows dbo.Keys READONLY)merge b.t as t using b.s as s on t.k = s.k when matched then delete;",
        ),
        ("tsql", "insert [b].[t] ([k]) select [k] from [b].[s]"),
        ("tsql", "insert top (9) into b.t select k from b.s"),
        ("tsql", "with c as (select k from b.s) update t set k = c.k from b.t t join c on c.k = t.k"),
        ("tsql", "set nocount on insert into b.t select k from b.s"),
        ("mysql", "insert low_priority ignore into b.t select k from b.s"),
        ("mysql", "update ignore b.t, b.s set b.t.k = b.s.k where b.s.i = b.t.i"),
        ("mysql", "alter view b.t as select k from b.s"),
        (
            "mysql",
            "create algorithm=merge definer=`a`@`%` sql security invoker view b.t as select k from b.s",
        ),
        ("bigquery", "insert `b.t` (k) select k from `b.s`"),
        ("bigquery", "merge b.t t using b.s s on t.k = s.k when not matched then insert row"),
        ("bigquery", "create snapshot table b.t clone b.s"),
        ("databricks", "with c as (select k from b.s) insert overwrite b.t select k from c"),
        ("databricks", "insert with schema evolution into b.t select k from b.s"),
        ("databricks", "create or replace table b.t deep clone b.s"),
        ("databricks", "replace table b.t using delta as select k from b.s"),
        ("hive", "from b.s insert overwrite table b.t select k"),
        ("hive", "with c as (select k from b.s) from c insert into table b.t select k"),
        ("trino", "explain analyze verbose insert into b.t select k from b.s"),
        ("trino", "create protected view b.t as select k from b.s"),
        ("snowflake", "create or replace secure recursive view b.t (k) as select k from b.s"),
        ("snowflake", "create dynamic table b.t target_lag = '1 hour' warehouse = w as select k from b.s"),
        ("snowflake", "create hybrid table b.t (k int primary key) as select k from b.s"),
        ("redshift", "with c as (select k from b.s) delete from b.t using c where c.k = b.t.k"),
        ("redshift", "create external protected view b.t if not exists as select k from b.s"),
        ("postgres", "explain (analyze, buffers) insert into b.t select k from b.s"),
        ("postgres", "select k into unlogged table b.t from b.s"),
        ("postgres", "create materialized view if not exists b.t as select k from b.s with no data"),
        ("oracle", "create or replace force editionable view b.t as select k from b.s"),
    ],
)
def test_rows_move_however_a_statement_begins(tmp_path: Path, dialect: str, text: str) -> None:
    lineage = read(tmp_path, dialect, text)
    namespace = _NAMESPACES[dialect]
    (edge,) = {edge.replace(f"{namespace}/", "").replace("dw.", "") for edge in edges(lineage)}
    assert edge == "b.s > b.t"


@pytest.mark.parametrize(
    ("dialect", "text", "edge"),
    [
        (
            "bigquery",
            "export data options (uri='gs://e/out/*.csv', format='CSV') as select k from b.s",
            "gs://e/out",
        ),
        (
            "databricks",
            "insert overwrite directory 's3://e/out' using parquet select k from b.s",
            "s3://e/out",
        ),
    ],
)
def test_rows_are_written_to_files(tmp_path: Path, dialect: str, text: str, edge: str) -> None:
    assert {found.rpartition(" > ")[2] for found in edges(read(tmp_path, dialect, text))} == {edge}


@pytest.mark.parametrize(
    ("dialect", "text"),
    [
        ("bigquery", "create model b.m options (model_type = 'kmeans') as select k from b.s"),
        ("bigquery", "create schema b2 clone b"),
        ("databricks", "create flow f as auto cdc into b.t from stream(b.s) keys (k) sequence by v"),
        ("hive", "import table b.t from 's3://e/in'"),
        ("mysql", "rename table b.t to b.old, b.s to b.t"),
        ("mysql", "load data local infile '/in.csv' into table b.t"),
        ("mysql", "select k from b.s into outfile '/out.csv'"),
        ("oracle", "update (select t.v a, s.v b from b.t t join b.s s on s.k = t.k) set a = b"),
        ("postgres", "do $$ begin insert into b.t select k from b.s; end $$"),
        ("postgres", "prepare p as insert into b.t select k from b.s"),
        ("snowflake", "create pipe b.p as copy into b.t from @stage"),
        ("snowflake", "execute immediate 'insert into b.t select k from b.s'"),
        ("tsql", "alter table b.s switch partition 1 to b.t"),
    ],
)
def test_what_cannot_be_read_is_in_the_report(tmp_path: Path, dialect: str, text: str) -> None:
    lineage = read(tmp_path, dialect, text)
    assert (lineage.feeds, [problem[0] for problem in lineage.problems]) == (set(), ["skipped"])
    (message,) = (problem[-1] for problem in lineage.problems)
    assert "Error" not in message


@pytest.mark.parametrize(
    "text",
    [
        "grant select, insert, update on b.t to r",
        "revoke delete on b.t from r",
        "alter default privileges grant insert on tables to r",
        "alter table t add constraint c foreign key (k) references s (k) on delete cascade on update cascade",
        "lock table b.t in exclusive mode",
        "comment on table b.t is '?'",
        "create trigger g after insert or update on b.t for each row execute function f()",
        "create procedure p() as begin insert into b.t select k from b.s; end",
        "create table function b.f() as select k from b.s",
        "create task b.k as insert into b.t select k from b.s",
        "select replace(k, '?', '?'), insert(k, ?, ?, '?'), copy, s.delete as update from b.s for update",
        "select * replace (k + ? as k) from b.s",
        "with c as (select k from b.s) select * from c",
    ],
)
def test_words_that_write_do_so_in_clauses_of_their_own(text: str) -> None:
    assert find_write(text) is None


@pytest.mark.parametrize(
    ("text", "clause"),
    [
        ("with c as (delete from a returning k) select * from c", WriteClause("other")),
        ("with c as (delete from a returning k) insert into b select * from c", WriteClause("change", "b")),
        ("merge into b using c on b.k = c.k when matched then update set v = ?", WriteClause("change", "b")),
        ("insert into b select k from c on conflict (k) do update set v = ?", WriteClause("change", "b")),
        ("from c insert into a select k insert into b select k", WriteClause("change")),
        ("create table #n (k int) insert into b select k from c", WriteClause("other")),
        ("insert into acme-prod.d.b select k from c", WriteClause("change", "acme-prod.d.b")),
        ("cache lazy table n as select k from c", WriteClause("create-table", "n", is_temporary=True)),
        ("cache table c", None),
        ("select k into #n from c", WriteClause("create-table", "#n")),
        ("select k into @n from c", None),
        ("load data inpath '?' overwrite into table b partition (p = ?)", WriteClause("files", "b")),
        ("create materialized view b as select k from c", WriteClause("create-view", "b", is_stored=True)),
    ],
)
def test_the_clause_that_writes_has_the_name_of_its_table(text: str, clause: WriteClause | None) -> None:
    assert find_write(text) == clause


def test_a_temporary_view_is_what_it_is_made_of() -> None:
    view, use = "create or replace temporary view v as select a from s", "insert into x select a from v"
    other = "create temp view v as select a from s2"
    assert units(view, use, "drop view v", other, use) == {(view, use), (other, use)}


def test_a_temporary_table_may_be_filled_after_a_common_table_expression() -> None:
    created = "create temp table t (a int)"
    filled = "with c as (select a from s) insert into t select a from c"
    use = "insert into x select a from t"
    assert units(created, filled, use) == {(created, filled, use)}


def test_the_parameters_of_a_statement_are_not_part_of_its_fingerprint() -> None:
    statement = "insert into t (a) select a from s where b = @p"
    assert {
        template_of(f"/* x */ ({types}){statement}").fingerprint for types in ("@p int", "@p decimal(9,2)")
    } == {template_of(statement).fingerprint}


def test_a_project_with_a_number_is_a_name() -> None:
    texts = [f"insert into shop-{number}.d.t select a - 2 from shop-{number}.d.s" for number in (1, 2)]
    assert [Templates().find_template(text).text for text in (*texts, *texts)] == 2 * [
        text.replace("- 2", "- ?") for text in texts
    ]


def test_a_statement_after_one_of_the_session_is_read_too() -> None:
    facts = facts_of("drop table if exists old insert into b select k from c")
    assert (facts.drops, facts.changes, facts.moves) == ((("", "old"),), "b", True)
