"""INSERT into tables of unknown columns: no columns, unless the names of the query's are assumed."""

from pathlib import Path

import pytest

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.join import merge
from lineage_merge.merge.report_builder import report
from lineage_merge.model.errors import ConfigError
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.sql.reader import elements
from tests.sources.sql.sql_reading import lineage_of, names

DDL = "create table raw.s (id int, name string, kind string);"


def test_an_insert_has_the_names_of_its_query_only_if_they_are_assumed() -> None:
    statement = f"{DDL} insert into dw.t select id, upper(name) as n from raw.s where kind = 'k'"

    certain, found = (lineage_of(statement, "spark", assume_insert_names=each) for each in (False, True))

    assert certain.columns == set()
    assert {kind for kind, _, _ in certain.problems} == {"no-columns"}
    assert found.columns == {"raw.s#id > dw.t#id IDENTITY", "raw.s#name > dw.t#n TRANSFORMATION"}
    assert found.assumed == {"raw.s#id > dw.t#id", "raw.s#name > dw.t#n"}
    assert found.problems == set()
    assert (found.feeds, found.influences) == (certain.feeds, certain.influences)


def test_names_are_not_assumed_where_the_columns_are_known() -> None:
    found = lineage_of(
        f"{DDL} create table dw.t (a int, b string); insert into dw.t select id, name from raw.s;"
        " insert into dw.u (c) select kind from raw.s; insert into dw.u select id from raw.s",
        "spark",
        assume_insert_names=True,
    )

    assert found.columns == {
        "raw.s#id > dw.t#a IDENTITY",
        "raw.s#name > dw.t#b IDENTITY",
        "raw.s#kind > dw.u#c IDENTITY",
        "raw.s#id > dw.u#id IDENTITY",
    }
    assert found.assumed == {"raw.s#id > dw.u#id"}


def test_the_last_columns_of_a_query_fill_the_dynamic_partitions() -> None:
    statement = "insert into t partition (y = '2020', m) select a as x, mm from s"

    certain, assumed = (
        lineage_of(statement, "hive", assume_insert_names=is_assumed) for is_assumed in (False, True)
    )

    assert certain.columns == {"s#mm > t#m IDENTITY"}
    assert assumed.columns == {"s#mm > t#m IDENTITY", "s#a > t#x IDENTITY"}


def test_names_that_are_unknown_in_the_query_are_reported() -> None:
    found = lineage_of(
        f"{DDL}\ninsert into dw.t select id, max(name), name || kind from raw.s;"
        "\ninsert into dw.u select * from x;"
        "\ninsert into dw.v values (1)",
        "hive",
        assume_insert_names=True,
    )

    assert found.assumed == {"raw.s#id > dw.t#id"}
    assert found.problems == {
        ("no-columns", "etl/f.sql:line 2", "has unnamed columns, whose names only the platform knows"),
        ("no-columns", "etl/f.sql:line 3", "selects * from tables with unknown columns"),
    }


def test_columns_of_temporary_tables_are_not_assumed() -> None:
    found = lineage_of(
        f"{DDL} create temporary table q like raw.unknown; insert into q select id as x from raw.s;"
        " create table dw.t as select x from q",
        "hive",
        assume_insert_names=True,
    )

    assert found.columns == set()


def test_an_edge_that_another_statement_knows_is_not_assumed() -> None:
    found = lineage_of(
        f"{DDL} insert into dw.t select id, name as n from raw.s; insert into dw.t (ID) select id from raw.s",
        "spark",
        assume_insert_names=True,
    )
    for each in (found.elements, reversed(found.elements)):
        rows = LocalEngine().rows(names().records(each))

        merged = merge(rows, "dev", "d")

        edges = {
            (row["to"].rpartition("|")[2].lower(), row["transformation"], row.get("assumed"))
            for row in merged.edges.collect()
            if row["label"] == "feeds_column"
        }
        assert edges == {("id", "IDENTITY", None), ("n", "IDENTITY", "true")}
        assert report(rows, merged).assumed == 1


def test_the_setting_of_a_folder_assumes_names(tmp_path: Path) -> None:
    (tmp_path / "load.sql").write_text(
        "insert into a.t select id from raw.s; insert into a.t select x from raw.u"
    )
    folder = {"path": str(tmp_path), "dialect": "hive"}
    numbers = []
    for setting in ({}, {"assume_insert_names": True}):
        parsed = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "sql": [{**folder, **setting}]})
        (files,) = parsed.sources["sql"]
        rows = LocalEngine().rows(names().records(elements(files, names())))
        numbers.append(report(rows, merge(rows, "dev", "d")).assumed)

    assert numbers == [0, 2]
    with pytest.raises(ConfigError, match=r"sql\[0\].assume_insert_names"):
        CONFIGURATION.parse(
            {"dag_name": "d", "environment": "dev", "sql": [{**folder, "assume_insert_names": "yes"}]}
        )
