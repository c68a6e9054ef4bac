"""Names of columns without an alias: as the real Spark and PostgreSQL give them, or none."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlglot import Dialect

from lineage_merge.column_lineage.sql.parsing import parse
from lineage_merge.column_lineage.sql.query import Queries
from lineage_merge.column_lineage.sql.scope import NamedColumn
from lineage_merge.column_lineage.sql.spark_names import FUNCTIONS
from lineage_merge.column_lineage.sql.tables import KnownTable
from tests.dbt_column_project import Project, edges, problems
from tests.sources.sql.sql_reading import lineage_of

SPARK_TYPES = {
    "a": "int",
    "b": "int",
    "c": "double",
    "name": "string",
    "dt": "date",
    "ts": "timestamp",
    "amount": "decimal(10,2)",
    "flag": "boolean",
    "s": "struct<f:int,g:struct<h:int>>",
    "arr": "array<int>",
    "sarr": "array<struct<f:int>>",
    "m": "map<string,int>",
}
POSTGRES_TYPES = {
    "a": "int",
    "b": "int",
    "name": "text",
    "flag": "boolean",
    "dt": "timestamp",
    "arr": "int[]",
    "js": "json",
}
# Redshift: results in the examples of its documentation, with simpler arguments.
REDSHIFT_NAMES = {
    "count(*)": "count",
    "SUM(a)": "sum",
    "approximate count(distinct a)": "count",
    "min(a) over (order by b rows unbounded preceding)": "min",
    "first_value(name ignore nulls) over (partition by a order by b)": "first_value",
    "rank() over (order by a)": "rank",
    "listagg(name, ', ') within group (order by a)": "listagg",
    "percentile_cont(0.5) within group (order by a)": "percentile_cont",
    "nvl(a, b)": "coalesce",
    "nullif(a, b)": "a",
    "case a when 1 then 'x' else 'other' end": "case",
    "decode(a, 1, 'x')": "case",
    "cast(a as integer)": "a",
    "cast(2008 as char(4))": "bpchar",
    "cast(109.652 as decimal(4,1))": "numeric",
    "cast(a * 100 as int)": "int4",
    "reverse(name)::varchar": "reverse",
    "dateadd(month, 18, dt)": "date_add",
    "datediff(qtr, dt, dt)": "date_diff",
    "current_date": "date",
    "trim('x' from name)": "btrim",
    "position('x' in name)": "position",
    "substring(name, 1, 2)": "substring",
    "len(name)": "len",
    "name || ' '": "?column?",
    "'2008-01-04'": "?column?",
    "a < b": "?column?",
    "to_char(dt, 'MONTH')": "to_char",
    # Documented otherwise or not at all:
    "getdate()": "",
    "date_part(year, dt)": "",
    "log(a)": "",
    "my_function(a)": "",
    "(select max(a) from t)": "",
}


def names(expression: str, dialect: str, types: Mapping[str, str]) -> list[str]:
    """Return the names of the columns that a SELECT, or an expression of one, has."""
    sql = Dialect.get_or_raise(dialect)
    [tree] = parse(query(expression), sql)
    columns = {column: column for column in types}
    table = KnownTable("t", columns, complete=True, built=True)
    reader = Queries(sql, lambda _: table, lambda *_: None, type_of=lambda origin: types[origin.column])
    return [item.name for item in reader.read(tree).items if isinstance(item, NamedColumn)]


def query(expression: str) -> str:
    return expression if expression.lower().startswith("select ") else f"select {expression} from t"


def real(data: Path, platform: str) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = json.loads(
        (data / "sql" / f"{platform}_column_names.json").read_text()
    )
    return found


def test_columns_have_the_names_that_spark_gives_them(data: Path) -> None:
    found = real(data, "spark")

    ours = {expression: names(expression, "spark", SPARK_TYPES)[-1] for expression in found["named"]}

    assert ours == found["named"]
    assert {name for each in found["unknown"] for name in names(each, "spark", SPARK_TYPES)} == {""}


def test_each_function_of_spark_was_tried(data: Path) -> None:
    tried = " ".join(real(data, "spark")["named"].values()).lower()

    assert {name for name in FUNCTIONS if not re.search(rf"\b{name}\(", tried)} == set()


@pytest.mark.jvm
def test_the_real_spark_still_gives_these_names(data: Path, spark: SparkSession) -> None:
    found = real(data, "spark")
    columns = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in SPARK_TYPES.items())
    spark.sql(f"SELECT {columns}").createOrReplaceTempView("t")
    try:
        for expression, name in (found["named"] | found["unknown"]).items():
            assert spark.sql(query(expression)).columns[-1] == name
    finally:
        spark.catalog.dropTempView("t")


@pytest.mark.parametrize(
    ("expression", "name"),
    [
        ("a + 1", ""),  # date_add(a, 1) of a date
        ("a - b", ""),
        ("a * b", "(a * b)"),
        ("sum(a) + 1", "(sum(a) + 1)"),
        ("a = 1", ""),  # `a` of a boolean
        ("a = 2", "(a = 2)"),
        ("a = 'x'", "(a = x)"),
        ("a > 1.5", ""),  # (a > 1) of an integer
        ("a > 1", "(a > 1)"),
        ("sum(a * b)", "sum((a * b))"),
    ],
)
def test_names_of_spark_that_depend_on_types_are_unknown_without_them(expression: str, name: str) -> None:
    assert names(expression, "spark", dict.fromkeys(("a", "b"), "")) == [name]


def test_the_alias_of_a_preceding_column_is_no_column_of_the_table() -> None:
    types = {"a": "int", "b": "int"}

    assert names("select a + 1 as z, upper(z) from t", "spark", types) == ["z", ""]
    assert names("select a + 1 as b, upper(b) from t", "spark", types) == ["b", "upper(b)"]


def test_columns_have_the_names_that_postgresql_gives_them(data: Path) -> None:
    found = real(data, "postgres")

    ours = {expression: names(expression, "postgres", POSTGRES_TYPES)[-1] for expression in found["named"]}

    assert ours == found["named"]
    assert {name for each in found["unknown"] for name in names(each, "postgres", POSTGRES_TYPES)} == {""}


def test_columns_have_the_names_in_the_documentation_of_redshift() -> None:
    ours = {each: names(each, "redshift", POSTGRES_TYPES)[-1] for each in REDSHIFT_NAMES}

    assert ours == REDSHIFT_NAMES


def test_two_columns_of_one_name_have_none() -> None:
    types = {"a": "int", "b": "int"}

    assert names("select max(a), MAX(t.A), min(a) as x from t", "spark", types) == ["", "", "x"]
    assert names("select max(a), max(b), min(a) as x from t", "redshift", types) == ["", "", "x"]
    assert names("select max(a), b as max from t", "redshift", types) == ["", "max"]


@pytest.mark.parametrize("dialect", ["hive", "databricks", "snowflake", "bigquery"])
def test_columns_of_other_platforms_have_no_name(dialect: str) -> None:
    assert names("max(a)", dialect, {"a": "int"}) == [""]


DDL = "create table raw.s (id int, amount double, name string);"


def test_tables_and_views_have_unnamed_columns_and_others_read_them() -> None:
    found = lineage_of(
        f"{DDL} create table dw.t as select id, max(amount), cast(name as varchar(3)) from raw.s group by id;"
        " create view dw.v as with q as (select count(*), max(`max(amount)`) from dw.t)"
        " select q.`count(1)` as n, `max(max(amount))` from q",
        "spark",
    )

    assert found.columns == {
        "raw.s#id > dw.t#id IDENTITY",
        "raw.s#amount > dw.t#max(amount) AGGREGATION",
        "raw.s#name > dw.t#name TRANSFORMATION",
        "dw.t#max(amount) > dw.v#max(max(amount)) AGGREGATION",
    }
    assert [name for name, _ in found.described["dw.v"]] == ["n", "max(max(amount))"]
    assert found.problems == set()


def test_unnamed_columns_of_redshift_are_read_by_their_names() -> None:
    found = lineage_of(
        "create table raw.s (id int, amount float, name varchar);"
        " create table dw.t as select id, max(amount), case when id > 1 then 'x' else name end from raw.s;"
        " insert into dw.u (a, b) select max, name from (select max, name from dw.t)",
        "redshift",
    )

    assert found.columns == {
        "raw.s#id > dw.t#id IDENTITY",
        "raw.s#id > dw.t#name CONDITIONAL",
        "raw.s#amount > dw.t#max AGGREGATION",
        "raw.s#name > dw.t#name TRANSFORMATION",
        "dw.t#max > dw.u#a IDENTITY",
        "dw.t#name > dw.u#b IDENTITY",
    }
    assert found.problems == set()


def test_names_with_a_variable_and_of_endless_expressions_are_unknown() -> None:
    terms = " + ".join(["id"] * 3000)
    found = lineage_of(
        f"{DDL} create table dw.t as select id, max('${{x}}'), coalesce(name, ${{y}}), {terms} from raw.s",
        "spark",
    )

    assert found.columns == {"raw.s#id > dw.t#id IDENTITY"}
    assert {message for _, _, message in found.problems} == {
        "has unnamed columns, whose names only the platform knows"
    }


def test_columns_whose_name_is_unknown_are_reported() -> None:
    found = lineage_of(
        f"{DDL}\ncreate table dw.t as select id, round(amount), max(id), max(id) from raw.s", "spark"
    )

    assert found.columns == {"raw.s#id > dw.t#id IDENTITY"}
    assert found.problems == {
        ("no-columns", "etl/f.sql:line 2", "has unnamed columns, whose names only the platform knows")
    }


@pytest.mark.parametrize("adapter_and_name", [("spark", "max(a)"), ("redshift", "max"), ("postgres", "max")])
def test_dbt_models_have_unnamed_columns(adapter_and_name: tuple[str, str]) -> None:
    adapter, name = adapter_and_name
    project = Project(adapter).source("t", "a b")
    project.model("m", "select b, max(a) from db.raw.t group by b", "source.raw.t")
    quoted = f"`{name}`" if adapter == "spark" else name
    project.model("n", f"select {quoted} as largest from db.mart.m", "model.m")

    found = project.read()

    assert edges(found) == {"t.b -> b IDENTITY", f"t.a -> {name} AGGREGATION"}
    assert edges(found, "n") == {f"m.{name} -> largest IDENTITY"}
    assert problems(found) == []
