"""MERGE, UPDATE and DELETE in the dialects that users have: columns and influences, by hand."""

import pytest

from lineage_merge.model.elements import Feeds
from tests.sources.sql.sql_reading import lineage_of

TABLES = (
    "create table t (id int, a int, b int); create table s (id int, a int, b int, kind int);"
    " create table alike (id int, a int, b int)"
)
BY_NAME = {"s#id > t#id IDENTITY", "s#a > t#a IDENTITY", "s#b > t#b IDENTITY"}
# `ordered` has the columns of `t` in another order.
ORDERED = "create table t (id int, a int, b int); create table ordered (b int, id int, a int)"
BY_POSITION = {"ordered#b > t#id IDENTITY", "ordered#id > t#a IDENTITY", "ordered#a > t#b IDENTITY"}
JOIN = {"s#id > t JOIN"}


@pytest.mark.parametrize(
    ("dialect", "clauses", "columns", "influences"),
    [
        (
            "spark",
            (
                "when matched and s.kind = 1 then delete when matched then update set *"
                " when not matched by target then insert * when not matched by source then delete"
            ),
            BY_NAME,
            {"s#kind > t FILTER"},
        ),
        (
            "databricks",
            "when matched then update set * except (a) when not matched then insert * except (a, b)",
            {"s#id > t#id IDENTITY", "s#b > t#b IDENTITY"},
            set(),
        ),
        (
            "redshift",
            "when matched then update set a = s.b when not matched then insert values (s.id, s.a + 1, 0)",
            {"s#b > t#a IDENTITY", "s#id > t#id IDENTITY", "s#a > t#a TRANSFORMATION"},
            set(),
        ),
        (
            "snowflake",
            "when matched then update all by name when not matched and s.kind = 2 then insert all by name",
            BY_NAME,
            {"s#kind > t FILTER"},
        ),
        (
            "bigquery",
            (
                "when not matched by source then delete when not matched and kind = 1 then insert (id, a)"
                " values (id, b)"
            ),
            {"s#id > t#id IDENTITY", "s#b > t#a IDENTITY"},
            {"s#kind > t FILTER"},
        ),
        (
            "postgres",
            (
                "when matched and s.kind = 1 then do nothing"
                " when matched then update set (a, b) = (s.b, default)"
                " when not matched then insert (id, a) overriding system value values (s.id, default)"
            ),
            {"s#b > t#a IDENTITY", "s#id > t#id IDENTITY"},
            {"s#kind > t FILTER"},
        ),
        (
            "tsql",
            (
                "when matched and s.kind = 1 then update set t.a = s.a when not matched by target then"
                " insert (id, b) values (s.id, s.b) when not matched by source then delete"
                " output $action, inserted.id"
            ),
            BY_NAME,
            {"s#kind > t FILTER"},
        ),
        (
            "duckdb",
            (
                "when matched and s.kind = 1 then error 'no' when matched then update by name"
                " when not matched then insert by name returning merge_action"
            ),
            BY_NAME,
            {"s#kind > t FILTER"},
        ),
        (
            "oracle",
            (
                "when matched then update set t.a = case when s.kind = 3 then s.a else t.a end"
                " where s.kind = 1 delete where s.b = 2"
                " when not matched then insert (t.id, t.b) values (s.id, s.b)"
                " where s.kind = 4 log errors into faults"
            ),
            {
                "s#a > t#a TRANSFORMATION",
                "s#kind > t#a CONDITIONAL",
                "t#a > t#a TRANSFORMATION",
                "s#id > t#id IDENTITY",
                "s#b > t#b IDENTITY",
            },
            {"s#kind > t FILTER", "s#b > t FILTER"},
        ),
    ],
)
def test_a_merge(dialect: str, clauses: str, columns: set[str], influences: set[str]) -> None:
    found = lineage_of(f"merge into t using s on (t.id = s.id) {clauses}", dialect, schema=TABLES)

    assert found.columns == columns
    assert found.influences == JOIN | influences
    assert found.problems == set()


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [
        ("redshift", "merge into t using ordered on t.id = ordered.id remove duplicates"),
        ("bigquery", "merge t using ordered on t.id = ordered.id when not matched then insert row"),
        ("duckdb", "merge into t using ordered on t.id = ordered.id when matched then update"),
        ("duckdb", "merge into t using ordered using (id) when not matched then insert"),
        ("duckdb", "merge into t using ordered using (id) when matched then update set *"),
        ("duckdb", "merge into t using ordered using (id) when matched then update by position"),
    ],
)
def test_whole_rows_by_position(dialect: str, statement: str) -> None:
    found = lineage_of(statement, dialect, schema=ORDERED)

    assert found.columns == BY_POSITION
    assert found.influences == {"ordered#id > t JOIN"}
    assert found.problems == set()


def test_positions_in_a_table_with_unknown_columns_are_reported() -> None:
    found = lineage_of(
        "merge into t using s on t.id = s.id when not matched then insert values (s.id, 1)", "redshift"
    )

    assert found.columns == set()
    assert found.problems == {
        ("no-columns", "etl/f.sql:line 1", "fills columns by position of a table with unknown columns")
    }


def test_a_merge_with_schema_evolution() -> None:
    found = lineage_of(
        "merge with schema evolution into t using s on t.id = s.id when matched then update set *",
        "databricks",
        schema=TABLES,
    )

    assert found.columns == BY_NAME


def test_words_of_a_merge_inside_of_texts_and_names_are_left_alone() -> None:
    found = lineage_of(
        "merge into t using s on t.id = s.id when matched then"
        " update set a = concat('then error', s.a), `log` = s.b where s.kind = 'remove duplicates'",
        "spark",
        schema="create table t (id int, a string, log int);"
        " create table s (id int, a string, b int, kind string)",
    )

    assert found.columns == {"s#a > t#a TRANSFORMATION", "s#b > t#log IDENTITY"}
    assert found.influences == JOIN | {"s#kind > t FILTER"}


@pytest.mark.parametrize(
    ("statement", "columns"),
    [
        ("update t set a = a * 2, b = b where id = 1", {"t#a > t#a TRANSFORMATION"}),
        ("update t set a = b", {"t#b > t#a IDENTITY"}),
        (
            "merge into t using s on t.id = s.id when matched then update set a = t.a + s.a, b = t.b",
            {"t#a > t#a TRANSFORMATION", "s#a > t#a TRANSFORMATION"},
        ),
    ],
)
def test_a_column_copied_to_itself_is_no_lineage_and_one_computed_of_itself_is(
    statement: str, columns: set[str]
) -> None:
    found = lineage_of(statement, "spark", schema=TABLES)

    assert found.columns == columns
    assert ("t", "t") in found.feeds


def test_a_table_that_only_decides_its_own_rows_does_not_feed_itself() -> None:
    found = lineage_of("update t set a = 1 where b = 2; delete from t where a = 1", "spark", schema=TABLES)

    assert found.feeds == set()
    assert found.columns == set()
    assert found.problems == set()


def test_a_field_that_is_assigned_is_the_target() -> None:
    found = lineage_of(
        "merge into t using s on t.id = s.id when matched then update set t.address.city = s.city;"
        " update t set address.zip = upper(address.zip)",
        "spark",
        schema="create table t (id int, address struct<city: string, zip: string>);"
        " create table s (id int, city string)",
    )

    assert found.columns == {
        "s#city > t#address.city IDENTITY",
        "t#address.zip > t#address.zip TRANSFORMATION",
    }


def test_a_write_says_which_operation_it_is() -> None:
    elements = lineage_of(
        "merge into t using s on t.id = s.id when matched then delete; update t set a = s.a from s;"
        " delete from t using s where t.id = s.id",
        "redshift",
        schema=TABLES,
    ).elements

    modes = [
        each.properties["write_mode"]
        for each in elements
        if isinstance(each, Feeds) and "write_mode" in each.properties
    ]
    assert modes == ["merge", "update", "delete"]
