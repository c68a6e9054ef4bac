"""Statements on tables of Iceberg and Delta with the lineage that `capture` has to find. None is run.

    python -m tests.capture.lakehouse_cases FOLDER

prints what it finds as JSON, one line; `test_capture_lakehouse` and `check_spark4` compare it. `CASES` are
for each of `TABLES`: `t` is the target, and `source` (id, price, country, city) is files.
"""

import json
import sys
from collections.abc import Mapping, Set
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from tests.capture.lakehouse_session import lakehouse_session

_ADDRESS = "struct<city: string, zip: string>"
_COLUMNS = f"id int, amount double, fee double, country string, note string, address {_ADDRESS}"
# Iceberg that copies files on write, and that merges changes on read; Delta by name and by path.
TABLES = ("lake.db.copied", "lake.db.merged", "named", "delta.`{folder}/placed`")
_ON_READ = ", ".join(f"'write.{each}.mode' = 'merge-on-read'" for each in ("merge", "update", "delete"))

_MERGE = """
    merge into {table} t using (select * from source where city <> 'x') s on t.id = s.id
    when matched and s.country = 'closed' then delete
    when matched and s.price > t.fee then update set amount = s.price + t.fee, note = t.country
    when not matched and s.city is not null then
        insert (id, amount, fee, country, note, address) values (s.id, s.price, 0, s.country, 'new', null)
"""


class Case(NamedTuple):
    """A statement; values as ``source.price > amount IT``, influences as ``t.id J``."""

    statement: str
    values: Set[str]
    influences: Set[str]
    feeds: Set[str]
    mode: str
    only: str = ""  # the tables whose names start like this


CASES: Mapping[str, Case] = {
    "merge": Case(
        _MERGE,
        {
            "source.id > id I",
            "source.price > amount IT",
            "t.fee > amount T",
            "source.country > country I",
            "t.country > note I",
        },
        {"t.id J", "source.id J", "source.city F", "source.country F", "source.price F", "t.fee F"},
        {"source", "t"},
        "merge",
    ),
    "rows without a match in the source": Case(
        "merge into {table} t using source s on t.id = s.id"
        " when not matched by source and t.fee > 3 then update set note = upper(t.note)"
        " when not matched by source then delete",
        {"t.note > note T"},
        {"t.id J", "source.id J", "t.fee F"},
        {"source", "t"},
        "merge",
    ),
    "only new rows": Case(
        "merge into {table} t using source s on t.id = s.id"
        " when not matched and s.price > 1 then insert (id, amount) values (s.id, s.price)",
        {"source.id > id I", "source.price > amount I"},
        {"t.id J", "source.id J", "source.price F"},
        {"source"},
        "merge",
    ),
    "new rows of two kinds": Case(
        "merge into {table} t using source s on t.id = s.id"
        " when not matched and s.price > 1 then insert (id, amount) values (s.id, s.price)"
        " when not matched then insert (id, note) values (s.id, s.city)",
        {"source.id > id I", "source.price > amount I", "source.city > note I"},
        {"t.id J", "source.id J", "source.price F"},
        {"source"},
        "merge",
    ),
    "update": Case(
        "update {table} set amount = amount * 2, note = if(fee > 1, country, note) where country = 'DE'",
        {"t.amount > amount T", "t.fee > note C", "t.country > note T", "t.note > note T"},
        {"t.country F"},
        {"t"},
        "update",
    ),
    "update by a constant": Case(
        "update {table} set note = 'x' where fee > 1", set(), {"t.fee F"}, set(), "update"
    ),
    "update of a field": Case(
        "update {table} set address.city = country where fee > 1",
        {"t.country > address.city I"},
        {"t.fee F"},
        {"t"},
        "update",
    ),
    "update of a field by fields": Case(
        "update {table} set address.city = upper(address.zip) where address.zip <> '1'",
        {"t.address.zip > address.city T"},
        {"t.address.zip F"},
        {"t"},
        "update",
    ),
    "merge of fields": Case(
        "merge into {table} t using source s on t.id = s.id"
        " when matched then update set address.city = s.city"
        " when not matched then insert (id, address) values (s.id, named_struct('city', s.city, 'zip', 'x'))",
        {"source.id > id I", "source.city > address.city I"},
        {"t.id J", "source.id J"},
        {"source"},
        "merge",
    ),
    "merge of a whole structure": Case(
        "merge into {table} t using (select id, named_struct('city', city, 'zip', country) a from source) s"
        " on t.id = s.id when matched then update set address = s.a",
        {"source.city > address.city I", "source.country > address.zip I"},
        {"t.id J", "source.id J"},
        {"source"},
        "merge",
        "lake",
    ),
    "insert of structures": Case(
        "insert into {table} select id, amount, fee, country, note, address from lake.db.copied where id > 1",
        {
            "copied.id > id I",
            "copied.amount > amount I",
            "copied.fee > fee I",
            "copied.country > country I",
            "copied.note > note I",
            "copied.address > address I",
        },
        {"copied.id F"},
        {"copied"},
        "append",
        "lake.db.merged",
    ),
    "update by subqueries": Case(
        "update {table} set amount = (select max(price) from source where city = 'x')"
        " where id in (select id from source where country = 'DE')",
        {"source.price > amount A"},
        {"source.city F", "source.country F", "source.id F", "t.id F"},
        {"source"},
        "update",
        "lake",
    ),
    "delete": Case(
        "delete from {table} where fee > 1 and note is null", set(), {"t.fee F", "t.note F"}, set(), "delete"
    ),
    "delete of everything": Case("delete from {table}", set(), set(), set(), "delete"),
    "delete by a subquery": Case(
        "delete from {table} where id in (select id from source where city = 'x')",
        set(),
        {"t.id F", "source.id F", "source.city F"},
        {"source"},
        "delete",
        "lake",
    ),
    "insert overwrite": Case(
        "insert overwrite {table} select id, price, 0, country, city, null from source",
        {
            "source.id > id I",
            "source.price > amount I",
            "source.country > country I",
            "source.city > note I",
        },
        set(),
        {"source"},
        "overwrite",
    ),
    "insert by name": Case(
        "insert into {table} by name"
        " select null as address, upper(country) as note, city as country, 0 as fee, price as amount, id"
        " from source",
        {
            "source.id > id I",
            "source.price > amount I",
            "source.city > country I",
            "source.country > note T",
        },
        set(),
        {"source"},
        "append",
    ),
}


def prepare(spark: SparkSession, folder: Path) -> None:
    """The tables, empty, and the view `source`."""
    row = spark.sql("select 1 as id, double(2.5) as price, 'DE' as country, 'Bonn' as city")
    row.write.parquet(f"{folder}/source")
    spark.read.parquet(f"{folder}/source").createOrReplaceTempView("source")
    for table in TABLES:
        kind = "iceberg" if table.startswith("lake") else "delta"
        more = f" tblproperties ({_ON_READ})" if table.endswith("merged") else ""
        spark.sql(f"create table {table.format(folder=folder)} ({_COLUMNS}) using {kind}{more}")


def found(folder: Path) -> dict[str, object]:
    """The lineage of each case for each table that it is for, as in `Case`."""
    from lineage_merge import capture
    from tests.lakehouse_truth import edges

    cases: dict[str, object] = {}
    with lakehouse_session(folder) as spark:
        prepare(spark, folder)
        for table in TABLES:
            short = table.strip("`").rpartition("/")[2].rpartition(".")[2]
            for name, case in CASES.items():
                if not table.startswith(case.only):
                    continue
                captured = capture(case.statement.format(table=table.format(folder=folder)), name="daily")
                lineage = edges(captured.elements())
                feeds = [edge for edge in captured.edges if edge.label == "feeds"]

                def of(dataset: str, target: str = short) -> str:
                    return "t" if dataset == target else dataset

                cases[f"{name} of {table}"] = {
                    "values": sorted(
                        f"{of(source)}.{column} > {into} {''.join(sorted(kinds))}"
                        for (_, into, source, column), kinds in lineage.values.items()
                    ),
                    "influences": sorted(
                        f"{of(source)}.{column} {''.join(sorted(kinds))}"
                        for (_, source, column), kinds in lineage.influences.items()
                    ),
                    "feeds": sorted(of(_segment(edge.from_id)) for edge in feeds),
                    "modes": sorted({str(edge.properties["write_mode"]) for edge in feeds}),
                    "writes": sorted(
                        of(_segment(edge.to_id)) for edge in captured.edges if edge.label == "writes"
                    ),
                    "columns": sorted(
                        each.name
                        for each in captured.nodes
                        if each.label == "column" and _segment(each.id.rpartition("|")[0]) == short
                    ),
                    "problems": [problem.message for problem in captured.problems],
                }
    return cases


def _segment(dataset_id: str) -> str:
    return dataset_id.rpartition("/")[2].rpartition("|")[2].rpartition(".")[2]


def expected() -> dict[str, object]:
    """What has to be found."""
    columns = sorted(("id", "amount", "fee", "country", "note", "address"))
    return {
        f"{name} of {table}": {
            "values": sorted(case.values),
            "influences": sorted(case.influences),
            "feeds": sorted(case.feeds),
            "modes": [case.mode] if case.feeds else [],
            "writes": ["t"],
            "columns": columns,
            "problems": [],
        }
        for table in TABLES
        for name, case in CASES.items()
        if table.startswith(case.only)
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(found(Path(sys.argv[1]))) + "\n")
