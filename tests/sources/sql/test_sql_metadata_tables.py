"""Metadata tables, changelogs and pseudo-columns in SQL files."""

import pytest

from lineage_merge.model.elements import Feeds
from tests.sources.sql.sql_reading import SqlLineage, lineage_of

TABLE = "CREATE TABLE lake.db.t (id INT, amount DOUBLE) USING iceberg;"


def feeds(found: SqlLineage) -> set[tuple[str, str, object]]:
    return {
        (each.source.name, each.target.name, each.properties.get("reads"))
        for each in found.elements
        if isinstance(each, Feeds)
    }


def made(query: str, before: str = TABLE, dialect: str = "spark") -> SqlLineage:
    return lineage_of(f"{before} CREATE TABLE lake.db.x AS {query}", dialect)


@pytest.mark.parametrize(
    ("query", "before", "dialect"),
    [
        ("SELECT snapshot_id AS s FROM lake.db.t.snapshots WHERE operation = 'append'", TABLE, "spark"),
        ("SELECT f.file_path FROM lake.db.t.files f JOIN lake.db.t.refs r ON f.spec_id = r.type", "", "hive"),
        ("SELECT s.* FROM (SELECT count(*) AS n FROM lake.db.t.all_manifests) s", "", "databricks"),
        ("SELECT file_path FROM lake.db.t.files", "INSERT INTO lake.db.t SELECT 1;", "spark"),
        ("SELECT snapshot_id FROM v", "CREATE TEMPORARY VIEW v AS SELECT * FROM lake.db.t.history;", "spark"),
        ('SELECT snapshot_id FROM lake.db."t$snapshots"', "", "trino"),
        ('SELECT "key" FROM lake.db."t$properties"', "", "athena"),
    ],
)
def test_a_metadata_table_is_data_flow_without_columns(query: str, before: str, dialect: str) -> None:
    found = made(query, before, dialect)

    assert feeds(found) == {("lake.db.t", "lake.db.x", "metadata")}
    assert (found.columns, found.influences) == (set(), set())
    assert found.problems == set()


def test_rows_of_a_table_count_beside_its_metadata() -> None:
    found = made("SELECT t.id, s.operation FROM lake.db.t t CROSS JOIN lake.db.t.snapshots s")

    assert feeds(found) == {("lake.db.t", "lake.db.x", None)}
    assert found.columns == {"lake.db.t#id > lake.db.x#id IDENTITY"}


@pytest.mark.parametrize("before", ["", "CREATE TABLE lake.db.history (id INT);"])
def test_a_table_may_be_called_like_a_metadata_table(before: str) -> None:
    found = made("SELECT id FROM lake.db.history", before)

    assert feeds(found) == {("lake.db.history", "lake.db.x", None)}
    assert found.columns == {"lake.db.history#id > lake.db.x#id IDENTITY"}


@pytest.mark.parametrize(
    ("script", "source"),
    [
        ("create table sales (id int); insert into dw.x (id) select id from sales.history", "sales.history"),
        ("create table sales (id int); insert into dw.x (id) select id from sales.changes", "sales.changes"),
        (
            (
                "create table raw.sales (id int); insert into raw.sales.history (id) select 1;"
                "insert into dw.x (id) select id from raw.sales.history"
            ),
            "raw.sales.history",
        ),
        (
            "insert into lake.a.b.files (id) select 1; insert into dw.x (id) select id from lake.a.b.files",
            "lake.a.b.files",
        ),
    ],
)
def test_a_table_in_a_schema_called_like_a_table_is_a_table(script: str, source: str) -> None:
    found = lineage_of(script, "spark")

    assert feeds(found) == {(source, "dw.x", None)}
    assert found.columns == {f"{source}#id > dw.x#id IDENTITY"}


@pytest.mark.parametrize(("dialect", "source"), [("spark", "lake.a.b.orders"), ("tsql", "srv.db.dbo.orders")])
def test_a_name_of_four_parts_is_read(dialect: str, source: str) -> None:
    found = lineage_of(f"insert into dw.x (id) select id from {source}", dialect)

    assert found.columns == {f"{source}#id > dw.x#id IDENTITY"}


def test_branches_and_changes_have_the_columns_of_their_table() -> None:
    assert made("SELECT * FROM lake.db.t.branch_audit").columns == made("SELECT * FROM lake.db.t").columns
    found = made("SELECT id, _change_type AS how FROM lake.db.t.changes WHERE _change_ordinal > 1")

    assert feeds(found) == {("lake.db.t", "lake.db.x", None)}
    assert found.columns == {"lake.db.t#id > lake.db.x#id IDENTITY"}
    assert found.influences == set()


def test_a_change_data_feed_has_the_columns_of_its_table() -> None:
    found = made(
        "SELECT id, _commit_version AS v FROM table_changes('lake.db.t', 0) WHERE _change_type = 'x'"
    )

    assert feeds(found) == {("lake.db.t", "lake.db.x", None)}
    assert found.columns == {"lake.db.t#id > lake.db.x#id IDENTITY"}
    assert found.influences == set()


def test_pseudo_columns_are_those_that_a_known_table_does_not_have() -> None:
    query = "SELECT id, t._file, _partition FROM lake.db.t WHERE _pos > 1"
    stored = "CREATE TABLE lake.db.t (id INT, _file STRING, _partition INT, _pos INT);"

    found = made(query)
    assert found.columns == {"lake.db.t#id > lake.db.x#id IDENTITY"}
    assert (found.influences, found.problems) == (set(), set())
    for before in (stored, ""):
        found = made(query, before)
        assert {each.partition(" ")[0] for each in found.columns} == {
            "lake.db.t#id",
            "lake.db.t#_file",
            "lake.db.t#_partition",
        }
        assert found.influences == {"lake.db.t#_pos > lake.db.x FILTER"}


@pytest.mark.parametrize("path", ["/data/orders", "data/orders"])
def test_a_path_without_a_file_system_is_reported_as_one(path: str) -> None:
    found = lineage_of(f"INSERT INTO dw.x (id) SELECT id FROM delta.`{path}`", "spark")

    message = f"{path} is a path without a file system, so it names no dataset: write s3:// or file:"
    assert (found.feeds, found.problems) == (set(), {("not-joined", "etl/f.sql:line 1", message)})


def test_a_path_with_an_unknown_variable_is_reported_with_the_flag_that_sets_it() -> None:
    found = lineage_of("INSERT INTO dw.x (id) SELECT id FROM delta.`${root}/orders`", "spark")

    assert {message for _, _, message in found.problems} == {
        "delta.${root}/orders has a variable in its name: set its value with --var"
    }


@pytest.mark.parametrize("relation", ["stream s", "stream", "(SELECT id FROM stream) s"])
def test_a_table_may_be_called_stream(relation: str) -> None:
    assert lineage_of(f"INSERT INTO dw.x (id) SELECT id FROM {relation}", "spark").feeds == {
        ("stream", "dw.x")
    }
