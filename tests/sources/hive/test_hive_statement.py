"""The writes in a statement's text."""

import pytest

from lineage_merge.sources.hive.statement import Statement, Table, Write, read_statement

A, B = Table("dw", "a"), Table("dw", "b")


@pytest.mark.parametrize(
    ("text", "writes"),
    [
        ("insert overwrite table dw.a select 1", [Write(A, "overwrite", is_insert=True)]),
        ("INSERT INTO dw.a SELECT 1", [Write(A, "append", is_insert=True)]),
        ("insert into table `dw`.`a` select 1", [Write(A, "append", is_insert=True)]),
        ("insert into `DW.A` select 1", [Write(A, "append", is_insert=True)]),
        ("insert into a (x, y) values (1, 2)", [Write(Table("default", "a"), "append", is_insert=True)]),
        ("insert into 数仓.订单 select 1", [Write(Table("数仓", "订单"), "append", is_insert=True)]),
        (
            "insert overwrite table dw.a partition (dt='2024-01-02', h) if not exists select 1",
            [Write(A, "overwrite", partitioned=True, is_insert=True)],
        ),
        (
            "with t as (x) from t\ninsert overwrite table dw.a select 1 insert into dw.b partition(d) select",
            [Write(A, "overwrite", is_insert=True), Write(B, "append", partitioned=True, is_insert=True)],
        ),
        ("create table if not exists dw.a stored as orc as select 1", [Write(A, "overwrite")]),
        ("create external table dw.a as select 1", [Write(A, "overwrite")]),
        ("create or replace view dw.a (x) comment 'c' as select 1", [Write(A, "overwrite", is_view=True)]),
        ("create materialized view dw.a as select 1", [Write(A, "overwrite", is_view=True)]),
        ("alter view dw.a as select 1", [Write(A, "overwrite", is_view=True)]),
        (
            "insert overwrite directory 'hdfs://nn/out' stored as orc select 1",
            [Write(Table("", "hdfs://nn/out"), "overwrite", is_insert=True)],
        ),
        ("insert overwrite local directory '/tmp/out' select 1", []),
        ("-- insert into dw.a\nselect 'insert into dw.a' /* insert into dw.b */ from dw.c", []),
        ("select `insert` from dw.c", []),
        ("insert into", []),
        ("", []),
    ],
)
def test_the_writes_of_a_statement(text: str, writes: list[Write]) -> None:
    assert read_statement(text, "default") == Statement(tuple(writes))


def test_of_several_partitions_of_one_table_what_keeps_the_others_decides() -> None:
    text = "from s insert overwrite table dw.a select 1 insert into dw.a partition (x=1) select 2"

    assert read_statement(text, "default").write_of(A) == Write(A, "append", True, is_insert=True)
