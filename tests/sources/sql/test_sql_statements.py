"""Each kind of statement in its dialect: datasets and columns, by hand."""

from lineage_merge.column_lineage.scripts.renames import follow_renames
from lineage_merge.column_lineage.scripts.results import Created, FileLineage
from lineage_merge.column_lineage.scripts.shapes import Shape
from lineage_merge.column_lineage.scripts.writes import Reads, Write
from tests.sources.sql.sql_reading import REDSHIFT, lineage_of

DDL = "create table dw.t (a int, b string, c string); create table raw.s (id int, name string, kind string);"


def test_an_insert_fills_columns_by_position() -> None:
    found = lineage_of(
        "insert overwrite table dw.t select id, upper(name), 'x' from raw.s where kind = 'k'", schema=DDL
    )

    assert found.writes == {("etl/f.sql", "dw.t")}
    assert found.feeds == {("raw.s", "dw.t")}
    assert found.columns == {"raw.s#id > dw.t#a IDENTITY", "raw.s#name > dw.t#b TRANSFORMATION"}
    assert found.influences == {"raw.s#kind > dw.t FILTER"}
    assert found.problems == set()


def test_an_insert_into_unknown_columns_is_reported_without_guessing() -> None:
    found = lineage_of("\ninsert into dw.t select id as a from raw.s")

    assert found.feeds == {("raw.s", "dw.t")}
    assert found.columns == set()
    why = "fills columns by position, but those of dw.t are unknown"
    assert found.problems == {("no-columns", "etl/f.sql:line 2", why)}


def test_dual_is_no_table_unless_a_file_creates_it() -> None:
    found = lineage_of("create table t as select s.id, 1 as x from raw.s cross join dual", schema=DDL)
    assert found.feeds == {("raw.s", "t")}
    assert found.problems == set()

    own = lineage_of(
        "create table dual as select id from raw.s; create table t as select id from dual", schema=DDL
    )
    assert own.feeds == {("raw.s", "dual"), ("dual", "t")}


def test_static_partitions_take_no_column_and_dynamic_ones_come_last() -> None:
    ddl = "create table p (a int, b int) partitioned by (y string, m string);"

    found = lineage_of(
        f"{ddl} insert overwrite table p partition (y='2020', m) select id, n, month from s;"
        " insert into p partition (y, m) select id, n, year, month from s"
    )

    assert found.columns == {
        "s#id > p#a IDENTITY",
        "s#n > p#b IDENTITY",
        "s#year > p#y IDENTITY",
        "s#month > p#m IDENTITY",
    }


def test_spark_moves_partition_columns_to_the_end_but_not_those_of_iceberg() -> None:
    columns = "(dt string, a int) using {} partitioned by (dt)"

    found = lineage_of(
        f"create table x {columns.format('parquet')}; create table y {columns.format('iceberg')}", "spark"
    )

    assert found.described == {
        "x": [("a", "int"), ("dt", "string")],
        "y": [("dt", "string"), ("a", "int")],
    }


def test_hives_multi_insert_reads_its_source_for_each_target() -> None:
    found = lineage_of(
        "from (select id, name from raw.s where kind = 'k') q"
        " insert overwrite table dw.t select id, name, null where id > 1"
        " insert into table dw.u partition (dt='x') select q.name",
        schema=DDL + "create table dw.u (n string) partitioned by (dt string);",
    )

    assert found.feeds == {("raw.s", "dw.t"), ("raw.s", "dw.u")}
    assert found.columns == {
        "raw.s#id > dw.t#a IDENTITY",
        "raw.s#name > dw.t#b IDENTITY",
        "raw.s#name > dw.u#n IDENTITY",
    }
    assert found.influences == {
        "raw.s#kind > dw.t FILTER",
        "raw.s#id > dw.t FILTER",
        "raw.s#kind > dw.u FILTER",
    }


def test_lateral_view_explodes_a_column() -> None:
    found = lineage_of(
        "create table o as select t.id, x.item from raw.t t lateral view explode(t.items) x as item"
    )

    assert found.columns == {"raw.t#id > o#id IDENTITY", "raw.t#items > o#item TRANSFORMATION"}


def test_ctes_before_and_inside_an_insert() -> None:
    for statement in (
        "with q as (select id, name from raw.s) insert into dw.t select id, name, name from q",
        "insert into dw.t with q as (select id, name from raw.s) select id, name, name from q",
    ):
        found = lineage_of(statement, "spark", schema=DDL)

        assert found.feeds == {("raw.s", "dw.t")}
        assert found.columns == {
            "raw.s#id > dw.t#a IDENTITY",
            "raw.s#name > dw.t#b IDENTITY",
            "raw.s#name > dw.t#c IDENTITY",
        }


def test_directories_are_datasets() -> None:
    found = lineage_of(
        "insert overwrite directory 's3://lake/out/dt=2020-01-01' select id, name as n from raw.s;"
        " load data inpath 's3://lake/in' overwrite into table dw.t;"
        " insert overwrite directory '/user/x' select id from raw.s",
        schema=DDL,
    )

    assert found.feeds == {("raw.s", "s3://lake/out/dt=2020-01-01"), ("s3://lake/in", "dw.t")}
    assert found.columns == {
        "raw.s#id > s3://lake/out/dt=2020-01-01#id IDENTITY",
        "raw.s#name > s3://lake/out/dt=2020-01-01#n IDENTITY",
    }
    why = "/user/x is a path with an unknown file system or folder"
    assert found.problems == {("not-joined", "etl/f.sql:line 1", why)}


def test_a_view_and_who_selects_everything_of_it() -> None:
    found = lineage_of(
        {
            "a.sql": "create table copy as select * from v",
            "b.sql": "create view v (x, y) as select id, count(*) from raw.s group by id",
        }
    )

    assert found.feeds == {("raw.s", "v"), ("v", "copy")}
    assert found.columns == {"raw.s#id > v#x IDENTITY", "v#x > copy#x IDENTITY", "v#y > copy#y IDENTITY"}
    assert found.influences == {"raw.s#id > v GROUP_BY"}
    assert found.problems == set()


def test_a_star_of_unknown_columns_has_those_that_are_referenced() -> None:
    found = lineage_of(
        {
            "a.sql": "create table copy as select * from raw.u",
            "b.sql": "create table z as select copy.k from copy",
        }
    )

    assert found.columns == {"raw.u#k > copy#k IDENTITY", "copy#k > z#k IDENTITY"}
    why = "selects * from tables with unknown columns"
    assert found.problems == {("no-columns", "etl/a.sql:line 1", why)}


def test_a_name_that_two_open_tables_may_have_is_reported_and_not_guessed() -> None:
    found = lineage_of("create table z as select k from raw.u join raw.v on u.i = v.i")

    assert found.columns == set()
    assert found.influences == {"raw.u#i > z JOIN", "raw.v#i > z JOIN"}
    why = "names columns whose table is unknown: k"
    assert found.problems == {("no-columns", "etl/f.sql:line 1", why)}


def test_temporary_tables_and_views_are_collapsed() -> None:
    found = lineage_of(
        "create temporary view v as select id, lower(name) as n from raw.s;"
        " cache table w as select n from v where id > 0;"
        " create table tmp_x as select n from w; insert into tmp_x select kind from raw.s;"
        " create table z as select n from tmp_x; drop table tmp_x",
        "spark",
        schema=DDL,
    )

    assert found.writes == {("etl/f.sql", "z")}
    assert found.feeds == {("raw.s", "z")}
    assert found.columns == {"raw.s#name > z#n TRANSFORMATION", "raw.s#kind > z#n IDENTITY"}
    assert found.influences == {"raw.s#id > z FILTER"}


def test_a_merge_is_a_write_for_each_of_its_branches() -> None:
    found = lineage_of(
        "merge into dw.t using (select id, name, kind from raw.s) s on t.a = s.id"
        " when matched and s.kind = 'd' then delete"
        " when matched then update set b = upper(s.name), c = t.b"
        " when not matched then insert (a, b) values (s.id, s.name)",
        "spark",
        schema=DDL,
    )

    assert found.feeds == {("raw.s", "dw.t"), ("dw.t", "dw.t")}
    assert found.columns == {
        "raw.s#id > dw.t#a IDENTITY",
        "raw.s#name > dw.t#b IDENTITY,TRANSFORMATION",
        "dw.t#b > dw.t#c IDENTITY",
    }
    assert found.influences == {"raw.s#id > dw.t JOIN", "raw.s#kind > dw.t FILTER"}


def test_a_merge_of_all_columns_goes_by_name() -> None:
    found = lineage_of(
        "merge into x using y on x.a = y.a when matched then update set * when not matched then insert *",
        "spark",
        schema="create table x (a int, b int); create table y (b int, a int, more int);",
    )

    assert found.columns == {"y#a > x#a IDENTITY", "y#b > x#b IDENTITY"}


def test_update_and_delete_of_redshift() -> None:
    found = lineage_of(
        "update t set b = s.name from s where t.a = s.id; delete from t using deleted g where t.a = g.id",
        "redshift",
        default="dev.public",
    )

    assert found.feeds == {("s", "t"), ("deleted", "t")}
    assert found.columns == {"s#name > t#b IDENTITY"}
    assert found.influences == {"s#id > t FILTER", "deleted#id > t FILTER"}


def test_copy_and_unload_of_redshift() -> None:
    found = lineage_of(
        "copy s.t (a, b) from 's3://lake/in/' iam_role 'arn:aws:iam::1:role/x' format as parquet;\n"
        "unload ('select a, upper(b) as b from s.t where c = ''x'';') to 's3://lake/out/'"
        " iam_role 'x' parquet;",
        "redshift",
    )

    assert found.feeds == {("s3://lake/in/", "s.t"), ("s.t", "s3://lake/out/")}
    assert found.columns == {
        "s3://lake/in/#a > s.t#a IDENTITY",
        "s3://lake/in/#b > s.t#b IDENTITY",
        "s.t#a > s3://lake/out/#a IDENTITY",
        "s.t#b > s3://lake/out/#b TRANSFORMATION",
    }
    assert found.influences == {"s.t#c > s3://lake/out/ FILTER"}
    assert found.problems == set()


def test_copy_of_snowflake_loads_and_unloads() -> None:
    found = lineage_of(
        "copy into db.s.t from 's3://lake/in/' file_format = (type = csv);"
        " copy into 's3://lake/out/' from (select a as b from db.s.u) file_format = (type = parquet);"
        " copy into 's3://lake/all/' from db.s.u; copy into db.s.v from @db.s.stage/x/;",
        "snowflake",
    )

    assert found.feeds == {
        ("s3://lake/in/", "db.s.t"),
        ("db.s.u", "s3://lake/out/"),
        ("db.s.u", "s3://lake/all/"),
    }
    assert {column for column in found.columns if "out" in column} == {"db.s.u#a > s3://lake/out/#b IDENTITY"}


def test_temporary_tables_of_redshift() -> None:
    found = lineage_of(
        "create temp table stage (like dw.t); insert into stage select id, name from raw.s;"
        " select a into #more from stage; begin; delete from dw.t using #more m where t.a = m.a;"
        " insert into dw.t select * from stage; commit;",
        "redshift",
        schema="create table dw.t (a int, b varchar(10));",
    )

    assert found.writes == {("etl/f.sql", "dw.t")}
    assert found.feeds == {("raw.s", "dw.t")}
    assert found.columns == {"raw.s#id > dw.t#a IDENTITY", "raw.s#name > dw.t#b IDENTITY"}


def test_a_table_that_is_swapped_in_is_the_one_that_is_written() -> None:
    found = lineage_of(
        "create table dw.t_new (like dw.t); insert into dw.t_new select id, name from raw.s;"
        " alter table dw.t rename to t_old; alter table dw.t_new rename to t; drop table dw.t_old;",
        "redshift",
        schema="create table dw.t (a int, b int);",
    )

    assert found.writes == {("etl/f.sql", "dw.t")}
    assert found.feeds == {("raw.s", "dw.t")}
    assert found.columns == {"raw.s#id > dw.t#a IDENTITY", "raw.s#name > dw.t#b IDENTITY"}


def test_rows_that_are_moved_come_by_name() -> None:
    found = lineage_of(
        "alter table dw.t append from dw.stage",
        "redshift",
        schema="create table dw.stage (a int, b int); create table dw.t (b int, a int);",
    )

    assert found.columns == {"dw.stage#a > dw.t#a IDENTITY", "dw.stage#b > dw.t#b IDENTITY"}


def test_ddl_defines_columns_and_the_path_of_a_table() -> None:
    found = lineage_of(
        "create external table t (a int comment 'the key', b array<string>) partitioned by (dt string)"
        " location 's3a://lake/t/'; alter table t add columns (c double); create table l like t;"
        " alter table l drop column b",
    )

    assert found.aliases == {("t", "s3a://lake/t/")}
    assert found.described == {
        "t": [("a", "int"), ("b", "array<string>"), ("dt", "string"), ("c", "double")],
        "l": [("a", "int"), ("dt", "string"), ("c", "double")],
    }


def test_use_completes_names_and_paths_are_read_as_tables() -> None:
    found = lineage_of(
        "use dw; create table x as select a from parquet.`s3://lake/in`;"
        " use other; create table y as select 1 one",
        "spark",
    )

    assert found.writes == {("etl/f.sql", "dw.x"), ("etl/f.sql", "other.y")}
    assert found.feeds == {("s3://lake/in", "dw.x")}


def test_a_role_or_a_warehouse_is_no_database() -> None:
    found = lineage_of(
        "use schema raw; use role etl; use warehouse small; create table t as select a from s", "snowflake"
    )

    assert found.feeds == {("raw.s", "raw.t")}
    assert found.problems == set()


def test_variables_are_values_and_are_reported_in_table_names() -> None:
    found = lineage_of(
        "set hivevar:src=raw;\n"
        "create table ${env}.x as select id, '${hiveconf:dt}' as dt, '${a;b}' from ${hivevar:src}.s"
        " where d = ${dt};\n"
        "insert into {{ params.db }}_dw.t select id from raw.s where d < {{ ds }};\n"
        "create table z as select k from ${where}.s s where s.day = :day",
        variables={"env": "dev"},
    )

    assert found.feeds == {("raw.s", "dev.x")}
    assert found.columns == {"raw.s#id > dev.x#id IDENTITY"}
    assert found.influences == {"raw.s#d > dev.x FILTER"}
    assert {each[:2] for each in found.problems} == {
        ("no-columns", "etl/f.sql:line 2"),
        ("not-joined", "etl/f.sql:line 3"),
        ("not-joined", "etl/f.sql:line 4"),
    }
    unknown = {message.partition(" ")[2] for kind, _, message in found.problems if kind == "not-joined"}
    assert len(unknown) == 2


def test_a_malformed_statement_affects_no_other() -> None:
    found = lineage_of(
        "-- one; two\ncreate table x as select 'a;b' as t, \"c;d\" as u, id /* ; */ from raw.s;\n"
        "insert into x select from where;\n\nselec 1;\n"
        "call p();\n"
        "create table y as select t from x;\ninsert into x select 'no end"
    )

    assert found.writes == {("etl/f.sql", "x"), ("etl/f.sql", "y")}
    assert {(kind, place) for kind, place, _ in found.problems} == {
        ("rejected", "etl/f.sql:line 3"),
        ("rejected", "etl/f.sql:line 5"),
        ("skipped", "etl/f.sql:line 6"),
        ("rejected", "etl/f.sql:line 8"),
    }


def test_an_insert_of_another_number_of_columns_is_reported() -> None:
    statement = "insert into dw.t select id, name from raw.s"

    found = lineage_of(statement, "spark", schema=DDL)

    assert found.columns == set()
    assert {message for *_, message in found.problems} == {"inserts 2 columns into a table of 3"}
    # Redshift takes fewer: the others get their defaults.
    assert lineage_of(statement, "redshift", schema=DDL).problems == set()


def test_short_names_of_redshift_are_completed_by_the_defaults() -> None:
    from lineage_merge.model.elements import Feeds
    from tests.sources.sql.sql_reading import names

    found = lineage_of("create table t as select a from s", "redshift", default="dev.public")
    known = names({REDSHIFT: "dev.public"})

    ends = {known.resolve_id(e.target) for e in found.elements if isinstance(e, Feeds)}
    assert ends == {"dev|redshift://wh.us-east-1:5439|dev.public.t"}


def test_truncating_with_options_is_not_reported() -> None:
    found = lineage_of("truncate table dw.t reuse storage; insert into dw.t (a) select id from raw.s")
    assert found.feeds == {("raw.s", "dw.t")}
    assert not found.problems


def test_a_table_that_is_renamed_twice_has_its_last_name() -> None:
    renames = "alter table dw.a rename to dw.b; alter table dw.b rename to dw.c"
    assert lineage_of(f"create table dw.a as select id from raw.s; {renames}").feeds == {("raw.s", "dw.c")}


def test_reads_of_a_renamed_table_stay_as_they_are() -> None:
    lineage = FileLineage("f.sql")
    lineage.created.append(Created("t_new", 1, "table", Shape()))
    lineage.renamed["t_new"] = "t"
    reads = Reads()
    reads.add("s3://raw/x", ["tmp"], rows=False, assumed=True, columns_lost=True)
    lineage.writes.append(Write("t_new", 2, "append", None, reads))

    follow_renames(lineage)

    (write,) = lineage.writes
    assert (write.target, write.reads) == ("t", reads)
