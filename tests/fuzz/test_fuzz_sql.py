"""Damaged files of SQL beside a good one."""

import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import Element, Problem
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.sql.reader import elements
from lineage_merge.sources.sql.settings import SqlFiles
from tests.fuzz import cases
from tests.fuzz.mutation import ADDRESSES, TEXTS, damaged, encoded

_NAMESPACE = "redshift://wh.us-east-1:5439"
_ENTRY = {"path": "/x", "dialect": "hive"}
_NAMES = dataset_resolver.from_config(
    CONFIGURATION.parse({"dag_name": "daily", "environment": "dev", "sql": [_ENTRY]})
)
_DIALECTS = ("hive", "spark", "redshift", "postgres", "snowflake", "bigquery", "tsql", "oracle")
_GOOD = "insert into zz_good.t select a as b from zz_good.s;"

_STATEMENTS = (
    (
        "insert overwrite table dw.t partition (dt='${day}') select a.x, sum(b.y) over (partition "
        "by a.z) from s.a a join s.b b on a.id = b.id where a.k in (select k from s.c)"
    ),
    (
        "create table dw.n as with c as (select * from s.a union all select * from s.b) select "
        "case when x > 1 then y else z end q from c"
    ),
    (
        "create external table s.a (id int, x string, z struct<a:int,b:array<string>>) partitioned "
        "by (dt string) stored as orc location 's3://lake/a'"
    ),
    "from s.a insert into table dw.t select x insert overwrite table dw.u select y where x > 1",
    (
        "merge into dw.t using s.a on t.id = a.id when matched then update set x = a.x when not "
        "matched then insert (id, x) values (a.id, a.x)"
    ),
    (
        f"copy dw.t from '{ADDRESSES[1]}' iam_role 'arn:aws:iam::1:role/r' csv; unload ('select * "
        "from dw.t') to 's3://lake/out/'"
    ),
    "alter table dw.t rename to dw.t_old; alter table dw.n swap with dw.t; drop table if exists dw.t_old",
    "update dw.t set x = a.x from s.a a where a.id = t.id; delete from dw.t using s.a where t.id = a.id",
    "create or replace view dw.v as select t.*, e.v from dw.t t lateral view explode(t.arr) e as v",
    "set hivevar:day=2026-01-01; use dw; insert into t select * from parquet.`s3://lake/b`",
    "with recursive r as (select 1 n union all select n + 1 from r) insert into dw.t select n from r",
    "create procedure p() as $$ begin insert into dw.t select 1; end $$; call p(); declare @x int = 1;",
    (
        "create procedure p(a int, b out date) as $x$ declare v int; c cursor for select k from s.a; begin "
        "for r in select id from s.b loop insert into dw.t (x) values (r.id); end loop; fetch c into r; "
        "case when v = 1 then execute 'x'; end case; select k into v from s.a; end $x$ language plpgsql"
    ),
    (
        "create or replace package body q is procedure p (a in int) is v number; cursor c is select k from "
        "s.a; begin for r in c loop update dw.t set x = r.k where current of c; end loop; end p; end q; /"
    ),
    (
        "create procedure p @a int as begin try declare @t table (k int) insert into @t exec q "
        "if @a > 1 update t set t.x += s.x from dw.t t join s.a s on s.id = t.id else "
        "delete from t from dw.t t merge dw.t as t using #x as s on t.k = s.k when matched then delete; "
        "end try begin catch throw end catch go"
    ),
)
_TOKENS = re.compile(r"\s+|\w+|'[^']*'|.", re.DOTALL)
_WORDS = (
    "select", "from", "(", ")", "((((", "))))", ",", "*", ";", "--", "/*", "*/", "'", '"', "`", "$$",
    "${x}", "${x", "{{ a }}", "{% if %}", "union all", "join", "lateral view", "as", "null", "case", "end",
    "::", "[0]", "insert into", "create table", "with t as", "values (1)", "over (", "\\", "@", "#", "%",
    "dw.t", "partition", "begin", "loop", "declare", "into v", "exec", "execute", "go", "procedure p",
)  # fmt: skip


class Text(NamedTuple):
    """A file's bytes, in a dialect."""

    dialect: str
    content: bytes


def _text(rng: random.Random) -> Text:
    tokens = _TOKENS.findall(rng.choice(_STATEMENTS))
    for _ in range(rng.randint(1, 5)):
        at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        match rng.randrange(6):
            case 0:
                tokens[at] = ""
            case 1:
                tokens[at : at + 1] = [tokens[at], " ", tokens[at]]
            case 2:
                tokens[at], tokens[other] = tokens[other], tokens[at]
            case 3:
                tokens[at] = rng.choice(TEXTS)
            case 4:
                tokens[at:other] = []
            case _:
                tokens.insert(at, f" {rng.choice(_WORDS)} ")
        tokens = tokens or [""]
    content = encoded("".join(tokens))
    if rng.random() < 0.2:
        content = damaged(rng, content)
    return Text(rng.choice(_DIALECTS), content)


def _smaller(text: Text) -> Iterator[Text]:
    for content in cases.less_text(text.content):
        yield text._replace(content=content)


@pytest.mark.parametrize("numbers", cases.blocks(5_000, 1000), ids=str)
def test_a_file(numbers: range, tmp_path: Path) -> None:
    bad, good = tmp_path / "bad.sql", tmp_path / "good.sql"
    good.write_text(_GOOD)

    def read(text: Text) -> list[Element]:
        bad.write_bytes(text.content)
        folder = SqlFiles(str(tmp_path), text.dialect, _NAMESPACE, "p", variables={"day": "2026-01-01"})
        return list(elements(folder, _NAMES))

    @cache
    def good_alone(dialect: str) -> list[str]:
        return _of_good(read(Text(dialect, b"")))

    def check(text: Text) -> None:
        found = read(text)
        cases.assert_records(_NAMES.records(found))
        assert set(good_alone(text.dialect)) <= set(_of_good(found))

    cases.run("sql", numbers, _text, check, _smaller)


def _of_good(found: list[Element]) -> list[str]:
    return [repr(each) for each in found if "zz_good" in repr(each) and not isinstance(each, Problem)]
