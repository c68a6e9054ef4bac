"""Tables and queries of docs/history.md: Athena's syntax, the files that are written, answers in SQLite."""

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.qualify import qualify

from tests.history.made_history import MadeHistory
from tests.made_merges import Made

DOCUMENT = Path(__file__).parents[2] / "docs/history.md"
BLOCKS = re.findall(r"```sql\n(.*?)```", DOCUMENT.read_text(encoding="utf-8"), re.DOTALL)
DDL = [each for each in BLOCKS if "EXTERNAL TABLE" in each]
QUERIES = [each for each in BLOCKS if each.startswith(("SELECT", "WITH"))]
FOLDERS = {"lineage_merges": "merges", "lineage_nodes": "nodes", "lineage_edges": "edges"}
ARROW_TYPES = {
    exp.DataType.Type.TEXT: pa.string(),
    exp.DataType.Type.BIGINT: pa.int64(),
    exp.DataType.Type.ARRAY: pa.list_(pa.string()),
}
# https://docs.aws.amazon.com/athena/latest/ug/reserved-words.html: to be escaped in DDL statements.
RESERVED = frozenset(
    re.findall(
        r"\w+",
        """
    ALL ALTER AND ARRAY AS AUTHORIZATION BETWEEN BIGINT BINARY BOOLEAN BOTH BY CASE CASHE CAST CHAR
    COLUMN CONF CONSTRAINT COMMIT CREATE CROSS CUBE CURRENT CURRENT_DATE CURRENT_TIMESTAMP CURSOR
    DATABASE DATE DAYOFWEEK DECIMAL DELETE DESCRIBE DISTINCT DIV DOUBLE DROP ELSE END EXCHANGE
    EXISTS EXTENDED EXTERNAL EXTRACT FALSE FETCH FLOAT FLOOR FOLLOWING FOR FOREIGN FROM FULL
    FUNCTION GRANT GROUP GROUPING HAVING IF IMPORT IN INNER INSERT INT INTEGER INTERSECT INTERVAL
    INTO IS JOIN LATERAL LEFT LESS LIKE LOCAL MACRO MAP MORE NONE NOT NULL NUMERIC OF ON ONLY OR
    ORDER OUT OUTER OVER PARTIALSCAN PARTITION PERCENT PRECEDING PRECISION PRESERVE PRIMARY
    PROCEDURE RANGE READS REDUCE REGEXP REFERENCES REVOKE RIGHT RLIKE ROLLBACK ROLLUP ROW ROWS
    SELECT SET SMALLINT START TABLE TABLESAMPLE THEN TIME TIMESTAMP TO TRANSFORM TRIGGER TRUE
    TRUNCATE UNBOUNDED UNION UNIQUEJOIN UPDATE USER USING UTC_TIMESTAMP VALUES VARCHAR VIEWS WHEN
    WHERE WINDOW WITH
    """,
    )
)


def tables() -> dict[str, exp.Create]:
    """The tables by name, as Athena's dialect parses them."""
    (text,) = DDL
    parsed = [each for each in sqlglot.parse(text, dialect="athena") if each]
    return {each.this.this.name: each for each in parsed if isinstance(each, exp.Create)}


def columns(table: exp.Create) -> list[exp.ColumnDef]:
    return list(table.this.expressions)


def partitions(table: exp.Create) -> list[exp.ColumnDef]:
    found = table.find(exp.PartitionedByProperty)
    assert found
    return list(found.this.expressions)


def schema() -> dict[str, dict[str, str]]:
    return {
        name: {each.name: each.kind.sql() for each in (*columns(table), *partitions(table)) if each.kind}
        for name, table in tables().items()
    }


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> MadeHistory:
    """A DAG of January and February: a new source and another type on 20 January, a new table in February."""
    made = MadeHistory(str(tmp_path_factory.mktemp("history")))
    mart = "redshift://wh:5439|dev.marts.revenue"
    first = Made().job("spark", "load", {mart: ["raw"]}).column(mart, "total", data_type="int")
    second = Made().job("spark", "load", {mart: ["raw", "s3://lake|fx"]})
    second.column(mart, "total", data_type="bigint")
    made.full("2026-01-02", first)
    made.full("2026-01-20", second)
    made.unchanged("2026-01-31", "daily")
    made.full("2026-02-03", second.job("spark", "other", {"new": ["raw"]}))
    return made


def test_the_tables_are_those_of_the_folders() -> None:
    locations = {}
    for name, table in tables().items():
        found = table.find(exp.LocationProperty)
        assert found
        locations[name] = found.this.name
    assert locations == {
        name: f"s3://my-bucket/lineage-history/{folder}/" for name, folder in FOLDERS.items()
    }


@pytest.mark.parametrize("name", ["lineage_nodes", "lineage_edges"])
def test_columns_have_the_types_of_the_parquet_files(history: MadeHistory, name: str) -> None:
    file, *_ = Path(history.location, FOLDERS[name]).rglob("*.parquet")
    written = pq.ParquetFile(file).schema_arrow
    declared = {each.name: ARROW_TYPES[each.kind.this] for each in columns(tables()[name]) if each.kind}
    assert declared.items() <= dict(zip(written.names, written.types, strict=True)).items()
    stored = tables()[name].find(exp.FileFormatProperty)
    assert stored
    assert stored.name == "PARQUET"


def test_columns_of_merges_have_the_types_of_the_objects(history: MadeHistory) -> None:
    file, *_ = Path(history.location, "merges").rglob("*.json")
    found = json.loads(file.read_text())
    types = {str: exp.DataType.Type.TEXT, int: exp.DataType.Type.BIGINT}
    declared = {each.name: each.kind.this for each in columns(tables()["lineage_merges"]) if each.kind}
    assert declared.items() <= {name: types[type(value)] for name, value in found.items()}.items()


@pytest.mark.parametrize("name", FOLDERS)
def test_partitions_are_those_of_the_paths(history: MadeHistory, name: str) -> None:
    folder = Path(history.location, FOLDERS[name])
    file = next(each for each in folder.rglob("*") if each.is_file())
    keys = [each.partition("=")[0] for each in file.relative_to(folder).parts[:-1]]
    assert [each.name for each in partitions(tables()[name])] == keys


@pytest.mark.parametrize("name", FOLDERS)
def test_reserved_words_are_escaped(name: str) -> None:
    declared = [each.this for each in (*columns(tables()[name]), *partitions(tables()[name]))]
    assert [each.name for each in declared if each.name.upper() in RESERVED and not each.quoted] == []


@pytest.mark.parametrize("query", QUERIES)
def test_queries_use_columns_of_the_tables(query: str) -> None:
    parsed = sqlglot.parse_one(query, dialect="athena")
    qualify(parsed, schema={**schema()}, dialect="athena", validate_qualify_columns=True)


@pytest.fixture(scope="module")
def database(history: MadeHistory) -> Iterator[sqlite3.Connection]:
    """The declared columns of all files in SQLite."""
    connection = sqlite3.connect(":memory:")
    for name, types in schema().items():
        names = ", ".join(f'"{each}"' for each in types)
        connection.execute(f"CREATE TABLE {name} ({names})")
        for row in rows(Path(history.location, FOLDERS[name])):
            values = [value if isinstance(value := row.get(each), str | int) else None for each in types]
            marks = ", ".join("?" for _ in types)
            connection.execute(f"INSERT INTO {name} VALUES ({marks})", values)
    yield connection
    connection.close()


def rows(folder: Path) -> Iterator[dict[str, Any]]:
    for file in sorted(each for each in folder.rglob("*") if each.is_file()):
        keys = dict(each.split("=", 1) for each in file.relative_to(folder).parts[:-1])
        found = (
            [json.loads(file.read_text())]
            if file.suffix == ".json"
            else pq.ParquetFile(file).read().to_pylist()
        )
        yield from (row | keys for row in found)


def answer(database: sqlite3.Connection, position: int) -> list[tuple[Any, ...]]:
    query = QUERIES[position].replace("prod|", "dev|")
    (text,) = sqlglot.transpile(query, read="athena", write="sqlite")
    return database.execute(text).fetchall()


def test_what_fed_a_dataset_at_a_moment(database: sqlite3.Connection) -> None:
    sources = ("dev|wh|raw", "dev|s3://lake|fx")
    assert {*answer(database, 0)} == {(each, "load", "daily") for each in sources}


def test_changes_of_data_types(history: MadeHistory, database: sqlite3.Connection) -> None:
    column, merge = "dev|redshift://wh:5439|dev.marts.revenue|total", history.records[1][1].name
    assert answer(database, 1) == [(column, "int", "bigint", str(merge))]


def test_datasets_per_month(database: sqlite3.Connection) -> None:
    assert answer(database, 2) == [("dev", "daily", "202601", 3), ("dev", "daily", "202602", 4)]
