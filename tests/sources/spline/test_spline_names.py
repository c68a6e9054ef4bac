"""Interpretation of Spline's names: applications, catalog tables, tables in subqueries' texts."""

from typing import Any

import pytest

from lineage_merge.naming.jobs import application
from lineage_merge.sources.spline.naming import CatalogTable, catalog_table, table_from_text
from lineage_merge.sources.spline.subqueries import plan_texts, relations, temporary_views
from tests.spline_documents import table_structure, table_text


@pytest.mark.parametrize(
    ("name", "job", "run"),
    [
        ("tickit_sales_load", "tickit_sales_load", ""),
        ("nativespark-sales-jr_0123abcd4567", "sales", "jr_0123abcd4567"),
        ("nativespark-sales-load-eu-jr_0123abcd4567", "sales-load-eu", "jr_0123abcd4567"),
        ("nativespark-sales-jr_0123abcd4567_attempt_2", "sales", "jr_0123abcd4567_attempt_2"),
        # A job that is itself called like a run.
        ("nativespark-jr_1-jr_0123abcd4567", "jr_1", "jr_0123abcd4567"),
        ("nativespark-sales", "nativespark-sales", ""),
        ("my-nativespark-sales-jr_0123abcd4567", "my-nativespark-sales-jr_0123abcd4567", ""),
        ("", "", ""),
    ],
)
def test_glue_names_an_application_after_its_job_and_run(name: str, job: str, run: str) -> None:
    assert application(name) == (job, run)


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (table_structure("db", "sales"), CatalogTable("spark_catalog", "db.sales")),
        (table_structure("db", "sales", "lake"), CatalogTable("lake", "db.sales")),
        (
            table_structure("db", "v", kind="CatalogTableType(VIEW)"),
            CatalogTable("spark_catalog", "db.v", True),
        ),
        (table_text("db", "sales"), CatalogTable("spark_catalog", "db.sales")),
        (table_text("db", "sales", catalog=""), CatalogTable("spark_catalog", "db.sales")),
        (table_text("db", "sales", catalog="lake"), CatalogTable("lake", "db.sales")),
        (table_text("db", "sales", kind="VIEW"), CatalogTable("spark_catalog", "db.sales", True)),
        # A comment, or a view's own text, may look like the fields above it.
        (
            table_text("db", "sales", rest="Comment: see\nDatabase: other\nTable: other\nType: VIEW"),
            CatalogTable("spark_catalog", "db.sales"),
        ),
        # Spark 2 indents.
        (
            "CatalogTable(\n\tDatabase: db\n\tTable: sales\n\tType: EXTERNAL\n)",
            CatalogTable("spark_catalog", "db.sales"),
        ),
    ],
)
def test_a_table_is_known_from_both_shapes_of_its_parameter(table: object, expected: CatalogTable) -> None:
    assert catalog_table({"table": table}) == expected


@pytest.mark.parametrize(
    "params",
    [
        None,
        {},
        {"table": None},
        {"table": "public.sales"},
        {"table": {"identifier": {"table": "tmp1"}}},
        {"table": {"identifier": "sales"}},
        {"table": {"identifier": {"database": "db", "table": 7}}},
        {"table": table_text("", "tmp1", catalog="", kind="VIEW")},
        {"table": table_structure("global_temp", "tmp1", kind="VIEW")},
    ],
)
def test_what_names_no_database_is_no_table_of_a_catalog(params: dict[str, object] | None) -> None:
    assert catalog_table(params) is None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("spark_catalog.tpch.part", CatalogTable("spark_catalog", "tpch.part")),
        ("tpch.part", CatalogTable("spark_catalog", "tpch.part")),
        ("`spark_catalog`.`tpch`.`part`", CatalogTable("spark_catalog", "tpch.part")),
        ("lake.eu.sales.daily", CatalogTable("lake", "eu.sales.daily")),
        ("`lake`.`db`.`a.b`", CatalogTable("lake", "db.a.b")),
        ("global_temp.tmp1", None),
        ("part", None),
    ],
)
def test_a_table_is_known_from_its_name_in_a_plan(text: str, expected: CatalogTable | None) -> None:
    assert table_from_text(text) == expected


TPCH_PART = CatalogTable("spark_catalog", "tpch.part")


@pytest.mark.parametrize(
    ("leaf", "table"),
    [
        ("Relation spark_catalog.tpch.part[p_partkey#126L,p_name#127] parquet", TPCH_PART),
        ("Relation tpch.part[p_partkey#126L] orc", TPCH_PART),
        (
            "HiveTableRelation [`spark_catalog`.`tpch`.`part`, org.apache.hadoop.hive.ql.io.orc.OrcSerde]",
            TPCH_PART,
        ),
        ("HiveTableRelation [`tpch`.`part`, org.apache.hadoop.hive.ql.io.orc.OrcSerde]", TPCH_PART),
        ("HiveTableRelation `tpch`.`part`, org.apache.hadoop.hive.ql.io.orc.OrcSerde, [a#1]", TPCH_PART),
        (
            "RelationV2[id#1, data#2] glue_catalog.db.sales glue_catalog.db.sales",
            CatalogTable("glue_catalog", "db.sales"),
        ),
        ("RelationV2[id#1] glue_catalog.db.sales", CatalogTable("glue_catalog", "db.sales")),
        ("SubqueryAlias `tpch`.`part`\n+- Relation[p_partkey#126L,p_name#127] parquet", TPCH_PART),
        ("SubqueryAlias spark_catalog.tpch.part\n+- Relation[p_partkey#126L] parquet", TPCH_PART),
    ],
)
@pytest.mark.parametrize("indent", ["", "+- ", ":- ", "   :  :- ", "      :     +- "])
def test_a_subquery_reads_the_table_of_each_relation(leaf: str, table: CatalogTable, indent: str) -> None:
    leaf = leaf.replace("\n", "\n" + " " * len(indent))
    text = f"Aggregate [max(a#1) AS max(a)#2]\n+- Filter (a#1 > 0)\n{indent}{leaf}\n"

    assert relations(text) == ({table}, set())


def test_all_relations_of_a_subquery_count_also_those_of_subqueries_inside_it() -> None:
    text = (
        "Project [ps_suppkey#1]\n"
        "+- Filter (ps_partkey#2 IN (list#3 []) AND exists#4 [])\n"
        "   :  :- Project [p_partkey#5]\n"
        "   :  :  +- SubqueryAlias spark_catalog.tpch.part\n"
        "   :  :     +- Relation spark_catalog.tpch.part[p_partkey#5] parquet\n"
        "   :  +- HiveTableRelation [`spark_catalog`.`tpch`.`nation`, org.apache.hadoop.X, [n#6]]\n"
        "   +- Join Inner\n"
        "      :- Relation spark_catalog.tpch.part[p_partkey#7] parquet\n"
        "      +- Relation [a#8,b#9] csv\n"
    )

    tables, unnamed = relations(text)

    assert tables == {TPCH_PART, CatalogTable("spark_catalog", "tpch.nation")}
    assert unnamed == {"csv"}


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("Relation [a#1,b#2] csv\n", {"csv"}),
        ("Union false, false\n:- Relation [a#1] csv\n+- Relation [b#2] json\n", {"csv", "json"}),
        ("+- Relation [a#1] JDBCRelation(public.users) [numPartitions=1]\n", {"JDBCRelation"}),
        # The name of a temporary view is none of a table.
        ("SubqueryAlias tmp1\n+- Relation[a#1] csv\n", {"csv"}),
        # A named table above, but of another relation.
        ("SubqueryAlias db.t\n+- Project [a#1]\n   +- Relation[a#1] csv\n", {"csv"}),
        ("LocalRelation [a#1]\n", set()),
        ("Project [Relation [x] AS y#1]\n+- OneRowRelation\n", set()),
        ("SubqueryAlias revenue\n+- CTERelationRef 0, true, [a#1], false\n", set()),
    ],
)
def test_a_relation_without_a_name_is_reported_by_its_kind(text: str, kinds: set[str]) -> None:
    assert relations(text) == (set(), kinds)


def test_relations_of_temporary_views_that_the_plan_reads_are_known() -> None:
    text = (
        "Join Inner\n"
        ":- SubqueryAlias orders\n"
        ":  +- View (`orders`, [a#1,b#2])\n"
        ":     +- Join Inner\n"
        ":        :- Relation [a#1] csv\n"
        ":        +- Relation spark_catalog.tpch.part[b#2] parquet\n"
        "+- View (`events`, [c#3])\n"
        "   +- Relation [c#3] json\n"
    )

    assert relations(text, {"orders"}) == ({TPCH_PART}, {"json"})


def test_a_temporary_view_that_was_replaced_while_a_plan_was_made_is_not_one_view() -> None:
    def view(name: str, created: int, is_temporary: bool = True) -> dict[str, Any]:
        description = f"CatalogTable(\nTable: {name}\nCreated Time: {created}\nType: VIEW\n)"
        return {"name": "View", "params": {"desc": description, "isTempView": is_temporary}}

    operations = {
        "1": view("orders", 1),
        "2": view("orders", 1),
        "3": view("events", 1),
        "4": view("events", 2),
        "5": view("sales", 1, is_temporary=False),
        "6": {"name": "Project", "params": None},
    }

    assert temporary_views(operations) == {"orders": "2"}


def test_only_a_subquerys_expression_has_a_plan() -> None:
    expressions: list[dict[str, Any]] = [
        {"_key": "p:expr-0", "params": {"name": "plan"}},
        {"_key": "p:expr-1", "params": {"plan": "Relation a.b[c#1] csv"}},
        {"_key": "p:expr-2", "params": {"plan": {"not": "a text"}}},
        {"_key": "p:expr-3", "params": None},
        {"_key": "p:expr-4"},
    ]

    assert list(plan_texts(expressions)) == [("p:expr-1", "Relation a.b[c#1] csv")]
