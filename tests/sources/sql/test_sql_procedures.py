"""Statements inside stored procedures: datasets and columns, by hand."""

from collections.abc import Iterable

import pytest

from tests.sources.sql.sql_reading import lineage_of

REDSHIFT_DDL = """
create table stg.sales (id int, day date, amount int, store varchar);
create table dw.sales (id int, day date, amount int, store varchar);
create table dw.daily (day date, total int);
"""


def test_a_procedure_of_redshift() -> None:
    found = lineage_of(
        """
create or replace procedure dw.sp_load_sales(p_day date, INOUT rows_loaded bigint)
as $body$
declare
    v_count integer := 0;  -- its own; semicolon
    r record;
begin
    raise info 'loading % $$', p_day;
    select count(*) into v_count from stg.sales where day = p_day;
    select into rows_loaded, v_count max(id), count(*) from stg.sales;
    <<checked>>
    if v_count = 0 then
        return;
    elsif v_count > 1000000 then
        raise exception 'too many; %', v_count;
    else
        create temp table fresh as select id, day, amount, store from stg.sales where day = p_day;
        delete from dw.sales using fresh where dw.sales.id = fresh.id;
        insert into dw.sales select * from fresh;
    end if;
    v_count := (select count(*) from dw.sales);
    perform 1;
    call dw.sp_log('done');
    while v_count > 0 loop
        v_count := v_count - 1;
    end loop;
    truncate dw.daily;
    insert into dw.daily (day, total)
    select day, sum(amount) from dw.sales where amount > v_count group by day;
    commit;
exception when others then
    insert into dw.errors (message) values (sqlerrm);
    raise;
end;
$body$ language plpgsql security definer;
""",
        "redshift",
        schema=REDSHIFT_DDL,
    )

    job = "etl/f.sql"
    assert found.writes == {(job, "dw.sales"), (job, "dw.daily"), (job, "dw.errors")}
    assert found.feeds == {("stg.sales", "dw.sales"), ("dw.sales", "dw.daily")}
    assert found.columns == {
        "stg.sales#id > dw.sales#id IDENTITY",
        "stg.sales#day > dw.sales#day IDENTITY",
        "stg.sales#amount > dw.sales#amount IDENTITY",
        "stg.sales#store > dw.sales#store IDENTITY",
        "dw.sales#day > dw.daily#day IDENTITY",
        "dw.sales#amount > dw.daily#total AGGREGATION",
    }
    assert found.influences == {
        "stg.sales#day > dw.sales FILTER",
        "stg.sales#id > dw.sales FILTER",
        "dw.sales#amount > dw.daily FILTER",
        "dw.sales#day > dw.daily GROUP_BY",
    }
    why = "calls dw.sp_log, which no file defines"
    assert found.problems == {("skipped", "etl/f.sql:line 23", why)}


@pytest.mark.parametrize(
    "text",
    [
        "create procedure p() language plpgsql as $$ begin insert into t select a from s; end $$;",
        "create procedure p() as 'begin insert into t select a from s where ''x;'' <> ''y''; end'",
        "create procedure p() nonatomic as $$ begin begin insert into t select a from s; end; end $$;",
        "do $$ begin if true then insert into t select a from s; end if; end $$;",
    ],
)
def test_bodies_in_quotes(text: str) -> None:
    found = lineage_of(text, "redshift", schema="create table t (x int); create table s (a int, b varchar)")

    assert found.feeds == {("s", "t")}
    assert found.columns == {"s#a > t#x IDENTITY"}
    assert found.problems == set()


def test_variables_are_no_columns_unless_a_table_has_them() -> None:
    found = lineage_of(
        """create procedure p(p_from date, known int) as $$
        declare v_id int; v_name varchar(10) = 'x';
        begin
            insert into t (a, b, c) select a, v_name, p.p_from from s where day > p_from and known = v_id;
            update t set b = v_name, c = known from s where s.a = v_id;
            insert into t (a) values (v_id);
        end $$ language plpgsql""",
        "redshift",
        schema="create table s (a int, known int, day date)",
    )

    assert found.columns == {"s#a > t#a IDENTITY", "s#known > t#c IDENTITY"}
    assert found.influences == {"s#day > t FILTER", "s#known > t FILTER", "s#a > t FILTER"}
    assert found.problems == set()


def test_a_variable_is_no_column_of_a_table_without_known_columns() -> None:
    found = lineage_of(
        "create procedure p(p_day date) as $$ begin"
        " insert into t (a) select a from s where day = p_day; end $$;"
        " insert into u (a) select p_day from other",
        "redshift",
    )

    assert found.columns == {"s#a > t#a IDENTITY", "other#p_day > u#a IDENTITY"}
    assert found.influences == {"s#day > t FILTER"}


def test_dynamic_sql_is_reported_with_its_procedure_and_line() -> None:
    found = lineage_of(
        """create procedure dw.p(name varchar) as $$
begin
    execute 'insert into ' || name || ' select 1';
    for r in execute 'select 1' loop
        insert into t (a) select a from s;
    end loop;
    open c for execute 'select 1';
end $$;
grant execute on procedure dw.p(varchar) to etl""",
        "redshift",
    )

    assert found.feeds == {("s", "t")}
    why = "executes dynamic SQL, whose lineage is unknown (procedure dw.p)"
    assert found.problems == {("skipped", f"etl/f.sql:line {line}", why) for line in (3, 4, 7)}


def test_rows_of_a_loop_are_the_columns_of_its_query() -> None:
    found = lineage_of(
        """create procedure p() as $$
        declare c cursor for select k, v from src2; one record;
        begin
            for r in select id, upper(name) as name from src where ok loop
                insert into t (a, b) values (r.id, r.name || 'x');
                update u set b = r.name where u.a = r.id;
                delete from v where v.a = r.id;
                merge into m using s on m.a = r.id when matched then update set b = r.name;
            end loop;
            for x in c loop
                insert into w (a) select s.a from s where s.k = x.k;
            end loop;
            open c; fetch c into one;
            insert into z (a) values (one.v);
        end $$""",
        "redshift",
    )

    assert found.feeds == {
        ("src", "t"),
        ("src", "u"),
        ("src", "v"),
        ("src", "m"),
        ("s", "m"),
        ("src2", "w"),
        ("s", "w"),
        ("src2", "z"),
    }
    assert found.columns == {
        "src#id > t#a IDENTITY",
        "src#name > t#b TRANSFORMATION",
        "src#name > u#b TRANSFORMATION",
        "src#name > m#b TRANSFORMATION",
        "s#a > w#a IDENTITY",
        "src2#v > z#a IDENTITY",
    }
    assert found.influences == {
        "src#ok > t FILTER",
        "src#ok > u FILTER",
        "src#id > u FILTER",
        "src#ok > v FILTER",
        "src#id > v FILTER",
        "src#ok > m FILTER",
        "src#id > m JOIN",
        "s#k > w FILTER",
        "src2#k > w FILTER",
    }
    assert found.problems == set()


def test_a_record_is_no_other_table_of_its_name() -> None:
    found = lineage_of(
        "create procedure p() as $$ begin for r in select id from src loop"
        " update t set b = r.b from other r where r.a = t.a; end loop; end $$;"
        " create procedure q() as $$ begin insert into u (a) select r.a from more r; end $$",
        "redshift",
    )

    assert found.columns == {"other#b > t#b IDENTITY", "more#a > u#a IDENTITY"}
    assert found.feeds == {("other", "t"), ("more", "u")}


def test_a_call_of_a_procedure_in_another_file_is_no_problem() -> None:
    found = lineage_of(
        {
            "load.sql": "call dw.p(1); call other.q()",
            "p.sql": 'create procedure dw."P"() as $$ begin insert into t (a) select a from s; end $$',
        },
        "redshift",
    )

    assert found.writes == {("etl/p.sql", "t")}
    assert found.problems == {("skipped", "etl/load.sql:line 1", "calls other.q, which no file defines")}


SNOWFLAKE_BODY = """
declare
    total number default 0;
    c cursor for select id, name from raw.src;
begin
    let day date := current_date();
    create or replace temporary table stage as select id, name from raw.src where created = :day;
    if (total = 0) then
        insert into dw.t (id, name) select id, name from stage;
    else
        select max(id) into :total from raw.src;
    end if;
    for r in c do
        insert into dw.u (id) values (r.id);
    end for;
    res := (execute immediate :sql);
    case (total) when 1 then update dw.t set name = s.name from stage s where t.id = s.id; end case;
    return total;
exception
    when other then return sqlerrm;
end;
"""


@pytest.mark.parametrize("quotes", [("$$", "$$"), ("", "")], ids=["quoted", "plain"])
def test_a_procedure_of_snowflake(quotes: tuple[str, str]) -> None:
    found = lineage_of(
        "create or replace procedure dw.load(p varchar) returns number language sql execute as caller as "
        f"{quotes[0]}{SNOWFLAKE_BODY}{quotes[1]};\ninsert into dw.after (id) select id from dw.t",
        "snowflake",
    )

    assert found.feeds == {("raw.src", "dw.t"), ("raw.src", "dw.u"), ("dw.t", "dw.after")}
    assert found.columns == {
        "raw.src#id > dw.t#id IDENTITY",
        "raw.src#name > dw.t#name IDENTITY",
        "raw.src#id > dw.u#id IDENTITY",
        "dw.t#id > dw.after#id IDENTITY",
    }
    assert found.influences == {"raw.src#created > dw.t FILTER", "raw.src#id > dw.t FILTER"}
    why = "executes dynamic SQL, whose lineage is unknown (procedure dw.load)"
    assert found.problems == {("skipped", "etl/f.sql:line 16", why)}


def test_a_procedure_in_another_language_is_reported() -> None:
    found = lineage_of(
        "create procedure p() returns string language javascript as $$ var x = 'insert into t'; begin; $$;"
        " create procedure q() returns string language python runtime_version = '3.11'"
        " packages = ('snowflake-snowpark-python') handler = 'main' as 'def main(s): s.sql(''delete;'')'",
        "snowflake",
    )

    assert {message for *_, message in found.problems} == {
        "procedure p is written in javascript",
        "procedure q is written in python",
    }
    assert {kind for kind, *_ in found.problems} == {"skipped"}
    assert found.feeds == set()


def test_a_procedure_of_bigquery() -> None:
    found = lineage_of(
        """create or replace procedure `dw.load`(day date, out n int64)
options (strict_mode = false)
begin
  declare total, more int64 default 0;
  set total = (select count(*) from raw.src);
  begin transaction;
  if total > 0 then
    merge dw.t t using raw.src s on t.id = s.id
    when matched then update set name = s.name
    when not matched then insert (id, name) values (s.id, s.name);
  elseif total < 0 then
    select 1;
  end if;
  for r in (select id from raw.more where d = day) do
    insert into dw.u (id, n) values (r.id, total);
  end for;
  execute immediate 'select 1';
  commit transaction;
exception when error then
  rollback transaction;
end;
insert into dw.after (id) select id from dw.t where day = 1;
begin
  insert into dw.last (id) select id from dw.t;
end;
""",
        "bigquery",
    )

    assert found.feeds == {
        ("raw.src", "dw.t"),
        ("raw.more", "dw.u"),
        ("dw.t", "dw.after"),
        ("dw.t", "dw.last"),
    }
    assert found.columns == {
        "raw.src#id > dw.t#id IDENTITY",
        "raw.src#name > dw.t#name IDENTITY",
        "raw.more#id > dw.u#id IDENTITY",
        "dw.t#id > dw.after#id IDENTITY",
        "dw.t#id > dw.last#id IDENTITY",
    }
    assert found.influences == {
        "raw.src#id > dw.t JOIN",
        "raw.more#d > dw.u FILTER",
        "dw.t#day > dw.after FILTER",
    }
    why = "executes dynamic SQL, whose lineage is unknown (procedure dw.load)"
    assert found.problems == {("skipped", "etl/f.sql:line 17", why)}


ORACLE = """
create or replace package body etl_pkg as
  g_user varchar2(30) := user;

  procedure log(p_text in varchar2) is
  begin
    insert into etl_log (text) values (p_text);
  end log;

  function last_day return date is v date;
  begin
    select max(day) into v from src;
    return v;
  end;

  procedure load_all(p_day in date default sysdate, p_rows out number) is
    cursor c_src (p date) is select id, name from src where day = p;
    v_name src.name%type;
    type t_ids is table of number;
  begin
    log('start');
    insert into tgt (id, name) select id, name from src where day = p_day;
    p_rows := sql%rowcount;
    for rec in c_src(p_day) loop
      if rec.id > 0 then
        merge into tgt2 t using (select rec.id as id, rec.name as name from dual) s on (t.id = s.id)
        when matched then update set t.name = s.name;
      end if;
    end loop;
    select name bulk collect into v_names from src;
    select id, name into rows(1).id, rows(1).name from src;
    update names set name = 'x' where current of c_src;
    forall i in 1 .. v_names.count insert into names (name) values (v_names(i));
    update tgt set name = v_name where id = 1 returning id into v_id;
    execute immediate 'truncate table x';
  exception
    when no_data_found then null;
    when others then rollback; raise;
  end load_all;
end etl_pkg;
/
create or replace procedure after_all is
begin
  delete from tgt where id in (select id from removed);
end;
/
"""


def test_procedures_of_oracle() -> None:
    found = lineage_of(ORACLE, "oracle")

    assert found.writes == {("etl/f.sql", name) for name in ("etl_log", "tgt", "tgt2", "names")}
    assert found.feeds == {("src", "tgt"), ("src", "tgt2"), ("removed", "tgt")}
    assert found.columns == {
        "src#id > tgt#id IDENTITY",
        "src#name > tgt#name IDENTITY",
        "src#name > tgt2#name IDENTITY",
    }
    assert found.influences == {
        "src#day > tgt FILTER",
        "src#day > tgt2 FILTER",
        "src#id > tgt2 JOIN",
        "removed#id > tgt FILTER",
    }
    why = "executes dynamic SQL, whose lineage is unknown (procedure load_all)"
    assert found.problems == {("skipped", "etl/f.sql:line 35", why)}


def test_functions_and_triggers_that_write() -> None:
    found = lineage_of(
        "create function f() returns trigger language plpgsql as $$ begin"
        " insert into audit (id, kind) select new.id, k.kind from kinds k; return new; end $$;"
        " create trigger t after insert on s for each row execute function f();"
        " create function g() returns int language sql as $$ select 1 $$",
        "postgres",
    )
    assert found.feeds == {("kinds", "audit")}
    assert found.columns == {"kinds#kind > audit#kind IDENTITY"}
    assert found.problems == {("skipped", "etl/f.sql:line 1", "unsupported statement: CREATE TRIGGER t")}

    oracle = lineage_of(
        "set serveroutput on\nset echo off\n"
        "create or replace trigger t before insert on s for each row begin"
        " insert into audit (id, kind) select :new.id, k.kind from kinds k; end;\n/\n"
        "insert into x (a) select b from y;\n/",
        "oracle",
    )
    assert oracle.feeds == {("kinds", "audit"), ("y", "x")}
    assert oracle.columns == {"kinds#kind > audit#kind IDENTITY", "y#b > x#a IDENTITY"}
    assert oracle.problems == set()

    tsql = lineage_of(
        "create function f() returns @r table (id int) as begin insert @r select id from s return end\ngo\n"
        "create trigger t on s after insert, update as begin insert audit select id from inserted end\ngo\n"
        "create or alter view v with schemabinding as with c as (select a from s) select a from c\ngo\n"
        "alter view w as select b from s",
        "tsql",
    )
    assert tsql.columns == {"s#a > v#a IDENTITY", "s#b > w#b IDENTITY"}
    assert tsql.problems == {("skipped", "etl/f.sql:line 3", "unsupported statement: CREATE TRIGGER t")}


TSQL = """
USE [warehouse]
GO
IF OBJECT_ID('dbo.usp_load', 'P') IS NOT NULL
    DROP PROCEDURE dbo.usp_load
GO
CREATE OR ALTER PROCEDURE [dbo].[usp_load]
    @day date,
    @rows AS int = 0 OUTPUT
WITH EXECUTE AS OWNER
AS
BEGIN
    SET NOCOUNT ON
    DECLARE @total int = (SELECT COUNT(*) FROM stg.sales)
    DECLARE @ids TABLE (id int, kind varchar(10))
    BEGIN TRY
        BEGIN TRAN
        SELECT s.id, s.amount INTO #fresh FROM stg.sales s WITH (NOLOCK) WHERE s.day = @day
        INSERT INTO @ids (id, kind) SELECT id, CASE WHEN kind = 1 THEN 'a' ELSE 'b' END FROM stg.kinds
        IF EXISTS (SELECT 1 FROM #fresh)
            UPDATE t SET t.amount = f.amount
            FROM dbo.sales AS t
            INNER JOIN #fresh AS f ON f.id = t.id
            WHERE t.locked = 0
        ELSE
            PRINT 'nothing'
        INSERT INTO dbo.sales WITH (TABLOCK) (id, amount)
        SELECT f.id, f.amount FROM #fresh f
        UNION ALL
        SELECT i.id, 0 FROM @ids i
        DELETE TOP (10) FROM dbo.queue WHERE id IN (SELECT id FROM @ids)
        MERGE dbo.totals AS t USING #fresh AS s ON t.id = s.id
        WHEN MATCHED THEN UPDATE SET t.amount += s.amount
        WHEN NOT MATCHED BY SOURCE THEN DELETE
        OUTPUT $action;
        SET @rows = @@ROWCOUNT
        EXEC dbo.usp_log @day = @day, @text = 'done'
        EXEC sp_executesql @sql, N'@a int', @a = 1
        EXEC (@sql)
        COMMIT TRANSACTION
    END TRY
    BEGIN CATCH
        IF @@TRANCOUNT > 0 ROLLBACK TRANSACTION
        INSERT INTO dbo.errors (text) SELECT ERROR_MESSAGE();
        THROW
    END CATCH
    RETURN 0
END
GO
GRANT SELECT, INSERT ON dbo.sales TO etl
INSERT dbo.after (id) SELECT id FROM dbo.sales
"""


def test_a_procedure_of_t_sql_without_semicolons() -> None:
    found = lineage_of(TSQL, "tsql")

    def short(names: Iterable[str]) -> tuple[str, ...]:
        return tuple(name.replace("warehouse.", "") for name in names)

    tables = ("sales", "queue", "totals", "errors", "after")
    assert {short(each) for each in found.writes} == {("etl/f.sql", f"dbo.{name}") for name in tables}
    assert {short(each) for each in found.feeds} == {
        ("stg.sales", "dbo.sales"),
        ("stg.kinds", "dbo.sales"),
        ("stg.kinds", "dbo.queue"),
        ("stg.sales", "dbo.totals"),
        ("dbo.sales", "dbo.after"),
    }
    assert set(short(found.columns)) == {
        "stg.sales#id > dbo.sales#id IDENTITY",
        "stg.sales#amount > dbo.sales#amount IDENTITY",
        "stg.kinds#id > dbo.sales#id IDENTITY",
        "stg.sales#amount > dbo.totals#amount TRANSFORMATION",
        "dbo.sales#id > dbo.after#id IDENTITY",
    }
    assert set(short(found.influences)) == {
        "stg.sales#day > dbo.sales FILTER",
        "stg.sales#id > dbo.sales JOIN",
        "stg.kinds#id > dbo.queue FILTER",
        "stg.sales#day > dbo.totals FILTER",
        "stg.sales#id > dbo.totals JOIN",
    }
    why = "executes dynamic SQL, whose lineage is unknown (procedure dbo.usp_load)"
    assert found.problems == {
        ("skipped", "etl/f.sql:line 37", "calls dbo.usp_log, which no file defines"),
        ("skipped", "etl/f.sql:line 38", why),
        ("skipped", "etl/f.sql:line 39", why),
    }


@pytest.mark.parametrize(
    ("dialect", "head", "tail"),
    [
        ("redshift", "create procedure p(a int) as $x$ declare v int; begin ", "end; $x$ language plpgsql;"),
        ("snowflake", "create procedure p(a int) returns int language sql as begin ", "end;"),
        ("bigquery", "create procedure p(a int64) begin ", "end;"),
        ("oracle", "create procedure p(a int) is v int; begin ", "end;"),
        ("tsql", "create procedure p @a int as begin ", "end"),
    ],
)
def test_a_truncated_body_is_reported_and_the_statements_before_are_read(
    dialect: str, head: str, tail: str
) -> None:
    body = "insert into t (a) select a from s;\nbegin insert into u (a) select a from s; end;\n"
    whole = f"\n{head}{body}{tail}"
    assert lineage_of(whole, dialect).problems == set()
    assert lineage_of(whole, dialect).feeds == {("s", "t"), ("s", "u")}

    for end in range(len(f"\n{head}"), len(f"\n{head}{body}")):
        found = lineage_of(whole[:end], dialect)
        message = "cannot be parsed: procedure p does not end"
        assert ("rejected", "etl/f.sql:line 2", message) in found.problems, whole[:end]
        assert found.feeds <= {("s", "t"), ("s", "u")}
        if end > whole.index(";\nbegin"):
            assert ("s", "t") in found.feeds


def test_a_malformed_statement_in_a_procedure_affects_no_other() -> None:
    found = lineage_of(
        "create procedure p() as $$\nbegin\n insert into t (a) select from where;\n"
        " insert into t (a) select a from s;\nend $$",
        "redshift",
    )

    assert found.feeds == {("s", "t")}
    assert {each[:2] for each in found.problems} == {("rejected", "etl/f.sql:line 3")}
