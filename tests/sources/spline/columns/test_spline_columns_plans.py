"""Column lineage of plans as documents: writes, sources, omissions of other versions."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.lineage import SourceColumns, column_lineage
from lineage_merge.sources.spline.columns.written_columns import PlanColumn
from tests.sources.spline.columns.lineage_reading import (
    columns,
    expressions,
    flows,
    influences,
    read,
    untraced,
)
from tests.sources.spline.columns.plan_building import Operation, PlanBuilder

_TABLE = """CatalogTable(
Catalog: spark_catalog
Database: shop
Table: sales
Type: MANAGED
Provider: hive
{partitions}Schema: root
 |-- id: long (nullable = true)
 |-- tags: array (nullable = true)
 |    |-- element: string (containsNull = true)
 |-- place: struct (nullable = true)
 |    |-- town: string (nullable = true)
 |    |-- zip: integer (nullable = true)
 |-- prices: map (nullable = true)
 |    |-- key: string (nullable = false)
 |    |-- value: decimal(7,2) (valueContainsNull = true)
{rest})"""
_PARTITIONED = _TABLE.format(
    partitions="Partition Columns: [`y`, `m`]\n",
    rest=" |-- y: integer (nullable = true)\n |-- m: integer (nullable = true)\n",
)


def _project(plan: PlanBuilder, child: Operation, output: Sequence[str]) -> Operation:
    return plan.operation("Project", child, output=output)


# What is written


def test_columns_are_those_of_the_writes_input_by_position() -> None:
    plan = PlanBuilder()
    sales = plan.read("s3://raw/sales", "id bigint", "price decimal(7,2)", "left_out string")
    plan.write("s3://lake/sales", _project(plan, sales, [sales["price"], sales["id"]]))

    found = read(plan)

    assert found.columns == (PlanColumn(0, "price", "decimal(7,2)"), PlanColumn(1, "id", "bigint"))
    assert found.sources == (
        SourceColumns(
            Reference("", "s3://raw/sales", "job"),
            (
                PlanColumn(0, "id", "bigint"),
                PlanColumn(1, "price", "decimal(7,2)"),
                PlanColumn(2, "left_out", "string"),
            ),
        ),
    )
    assert flows(found) == {"sales.price -> price IDENTITY", "sales.id -> id IDENTITY"}


def test_types_are_written_as_sql_writes_them() -> None:
    plan = PlanBuilder()
    string, whole = plan.type("string"), plan.type("int")
    plan.complex_type(
        "town", {"fields": [{"name": "name", "dataTypeId": string}, {"name": "zip", "dataTypeId": whole}]}
    )
    plan.complex_type("towns", {"elementDataTypeId": "town"})
    plan.complex_type("by_name", {"keyDataTypeId": string, "valueDataTypeId": "towns"})
    read_operation = plan.read("s3://raw/sales", "m by_name", "unknown lost")
    # `read` made simple types of what it did not know.
    plan.complex_type("by_name", {"keyDataTypeId": string, "valueDataTypeId": "towns"})
    del plan.types["lost"]
    plan.write("s3://lake/sales", read_operation)

    assert columns(read(plan)) == ["m map<string,array<struct<name:string,zip:int>>>", "unknown "]


def test_an_insert_into_a_hive_table_has_the_tables_column_names() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a bigint", "b array<string>", "c int", "d int", "e int", "f int")
    plan.write("s3://lake/sales", raw, "InsertIntoHiveTable", {"table": _PARTITIONED})

    found = read(plan)

    assert [each.name for each in found.columns] == ["id", "tags", "place", "prices", "y", "m"]
    assert "sales.e -> y IDENTITY" in flows(found)


@pytest.mark.parametrize(
    ("written", "names"),
    [
        (("a", "b", "c", "d"), ["id", "tags", "place", "prices"]),
        # PARTITION (y = 2024, m): the static ones come first.
        (("a", "b", "c", "d", "e"), ["id", "tags", "place", "prices", "m"]),
        # Too few, or too many: no table of this shape was filled.
        (("a", "b", "c"), ["a", "b", "c"]),
        (("a", "b", "c", "d", "e", "f", "g"), ["a", "b", "c", "d", "e", "f", "g"]),
    ],
)
def test_static_partitions_are_not_among_the_written_columns(
    written: tuple[str, ...], names: list[str]
) -> None:
    plan = PlanBuilder()
    plan.write("s3://lake/sales", plan.read("s3://raw/sales", *written), params={"table": _PARTITIONED})

    assert [each.name for each in read(plan).columns] == names


def test_create_table_has_the_columns_of_its_text_and_no_source() -> None:
    plan = PlanBuilder()
    command = plan.operation(
        "CreateTableCommand", output=[], params={"table": _TABLE.format(partitions="", rest="")}
    )
    plan.write("s3://lake/sales", command, "CreateTableCommand")

    found = read(plan)

    assert columns(found) == [
        "id bigint",
        "tags array<string>",
        "place struct<town:string,zip:int>",
        "prices map<string,decimal(7,2)>",
    ]
    assert found.flows == ()


def test_create_table_as_select_has_the_columns_of_its_query() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int", "b int")
    query = _project(plan, raw, [plan.alias("x", raw["a"]), plan.alias("y", plan.call("Abs", raw["b"]))])
    table = {"identifier": {"table": "sales", "database": "shop"}, "storage": "Storage()"}
    plan.write("s3://lake/sales", query, "CreateDataSourceTableAsSelectCommand", {"table": table})

    found = read(plan)

    assert columns(found) == ["x int", "y int"]
    assert flows(found) == {"sales.a -> x IDENTITY", "sales.b -> y TRANSFORMATION"}
    assert expressions(found) == {"y": "abs(b)"}


def test_a_write_to_an_iceberg_table_has_the_names_that_the_relation_shows() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a bigint", "b int")
    table = {"identifier": "glue.shop.sales", "output": ["id#12L", "price#13"]}
    plan.write("s3://lake/sales", raw, "AppendData", {"table": table})

    assert flows(read(plan)) == {"sales.a -> id IDENTITY", "sales.b -> price IDENTITY"}


def test_a_plan_without_a_write_has_nothing() -> None:
    plan = PlanBuilder()
    plan.read("s3://raw/sales", "a int")

    found = read(plan)

    assert (found.columns, found.flows, found.influences) == ((), (), ())


# What is read


def test_a_query_over_jdbc_is_a_source_like_any_other() -> None:
    plan = PlanBuilder()
    uri = "jdbc:postgresql://db:5432/shop:(select id, price from sales) q"
    plan.write("s3://lake/sales", plan.read(uri, "id int", "price int"))

    found = read(plan)

    assert {(each.source, each.column) for each in found.flows} == {
        (Reference("", uri, "job"), "id"),
        (Reference("", uri, "job"), "price"),
    }


def test_a_read_of_several_paths_gives_the_columns_of_each() -> None:
    plan = PlanBuilder()
    plan.write("s3://lake/sales", plan.read(["s3://raw/north", "s3://raw/south"], "a int"))

    assert flows(read(plan)) == {"north.a -> a IDENTITY", "south.a -> a IDENTITY"}


def test_only_columns_that_pass_through_an_rdd_are_lost() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/log", name="HadoopRDD")
    mapped = plan.operation("MapPartitionsRDD", raw)
    frame = plan.operation("LogicalRDD", mapped, output=[plan.attribute("x"), plan.attribute("y")])
    users = plan.read("s3://raw/users", "id int", "name string")
    joined = plan.operation(
        "Join",
        frame,
        users,
        output=[*frame.output, *users.output],
        uses={"condition": plan.call("EqualTo", frame["x"], users["id"])},
    )
    plan.write("s3://lake/visits", joined)

    found = read(plan)

    assert columns(found) == ["x int", "y int", "id int", "name string"]
    assert flows(found) == {"users.id -> id IDENTITY", "users.name -> name IDENTITY"}
    assert influences(found) == {"users.id JOIN"}
    assert untraced(found) == ["log"]


def test_an_rdd_over_a_frame_does_not_hand_on_the_frames_columns() -> None:
    plan = PlanBuilder()
    users = plan.read("s3://raw/users", "id int", "name string")
    mapped = plan.operation("MapPartitionsRDD", users, output=[])
    plan.write("s3://lake/text", mapped, "saveAsTextFile")

    found = read(plan)

    assert (found.columns, found.flows) == ((), ())


def test_a_function_over_whole_rows_loses_its_source() -> None:
    plan = PlanBuilder()
    users = plan.read("s3://raw/users", "id int")
    mapped = plan.operation("MapInPandas", users, output=[plan.attribute("score", "double")])
    plan.write("s3://lake/scores", mapped)

    found = read(plan)

    assert (flows(found), untraced(found)) == (set(), ["users"])


def test_rows_made_up_by_the_plan_lose_nothing() -> None:
    plan = PlanBuilder()
    numbers = plan.operation("Range", output=[plan.attribute("id", "bigint")])
    plan.write("s3://lake/numbers", numbers)

    found = read(plan)

    assert (columns(found), flows(found), untraced(found)) == (["id bigint"], set(), [])


# What other versions leave out


def test_an_attribute_without_an_expression_falls_back_on_what_it_derives_from() -> None:
    plan = PlanBuilder()
    target = plan.read("s3://lake/sales", "id int", "price int")
    news = plan.read("s3://raw/sales", "id int", "amount int")
    merged = [
        plan.attribute("id", derives_from=[target["id"], news["id"]]),
        plan.attribute("price", derives_from=[target["price"], news["amount"]]),
    ]
    plan.write("s3://lake/sales", plan.operation("MergeIntoCommand", target, news, output=merged))

    assert flows(read(plan)) == {
        "sales.id -> id IDENTITY",
        "sales.price -> price IDENTITY",
        "sales.amount -> price TRANSFORMATION",
    }


def test_an_expression_that_is_missing_costs_its_own_columns_only() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int", "b int")
    lost = plan.call("Abs", raw["a"])
    plan.write("s3://lake/sales", _project(plan, raw, [plan.alias("x", lost), plan.alias("y", raw["b"])]))
    plan.contents["expression"] = [each for each in plan.contents["expression"] if each["name"] != "abs"]
    # The database still has the edge to the deleted document.
    plan.contents["takes"] = [each for each in plan.contents["takes"] if each["_from"] != lost]

    assert flows(read(plan)) == {"sales.b -> y IDENTITY"}


@pytest.mark.parametrize("collection", ["uses", "derivesFrom", "produces", "takes", "schema", "emits"])
def test_a_collection_that_a_database_lacks_breaks_nothing(collection: str) -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int")
    condition = plan.call("GreaterThan", raw["a"], plan.literal(1))
    filtered = plan.operation("Filter", raw, uses={"condition": condition})
    plan.write("s3://lake/sales", _project(plan, filtered, [plan.alias("x", raw["a"])]))

    found = column_lineage(plan.documents(leave_out=[collection]))

    expected = {"sales.a -> x IDENTITY"} if collection not in ("takes", "emits") else set()
    assert flows(found) == expected


def test_a_plan_whose_own_document_is_missing_has_columns_without_types() -> None:
    plan = PlanBuilder()
    plan.write("s3://lake/sales", plan.read("s3://raw/sales", "a int"))

    found = column_lineage(replace(plan.documents(), header=None))

    assert (columns(found), flows(found)) == (["a "], {"sales.a -> a IDENTITY"})


def test_an_operation_without_a_schema_puts_out_what_the_one_below_does() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int")
    alias = plan.operation("SubqueryAlias", raw, has_schema=False)
    filtered = plan.operation("Filter", alias, has_schema=False)
    plan.write("s3://lake/sales", filtered)

    assert flows(read(plan)) == {"sales.a -> a IDENTITY"}


def test_an_old_view_gives_new_attributes_by_position() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int", "b int")
    view = plan.operation("View", raw, output=[plan.attribute("x"), plan.attribute("y")])
    plan.write("s3://lake/sales", view)

    assert flows(read(plan)) == {"sales.a -> x IDENTITY", "sales.b -> y IDENTITY"}


@pytest.mark.parametrize(
    ("class_name", "extra"),
    [
        ("CaseWhen", {"simpleClassName": "CaseWhen", "_typeHint": "expr.Generic"}),
        ("casewhen", {"_typeHint": "expr.Generic"}),
        ("casewhen", {}),
    ],
)
def test_agents_without_a_class_report_the_functions_name(class_name: str, extra: dict[str, str]) -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a boolean", "b int")
    case = plan.call(class_name, raw["a"], raw["b"], name="casewhen", extra=extra)
    plan.write("s3://lake/sales", _project(plan, raw, [plan.alias("x", case)]))

    found = read(plan)

    assert flows(found) == {"sales.a -> x CONDITIONAL", "sales.b -> x TRANSFORMATION"}
    assert expressions(found) == {"x": "CASE WHEN a THEN b END"}


def test_older_sparks_keep_the_python_function_in_another_package() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int")
    function = plan.call(
        "org.apache.spark.sql.execution.python.PythonUDF",
        raw["a"],
        name="pythonudf",
        params={"name": "score"},
    )
    plan.write("s3://lake/sales", _project(plan, raw, [plan.alias("x", function)]))

    assert expressions(read(plan)) == {"x": "score(a)"}


def test_iceberg_merges_values_by_position_under_a_condition() -> None:
    plan = PlanBuilder()
    target = plan.read("s3://lake/sales", "id int", "price int")
    news = plan.read("s3://raw/news", "nid int", "amount int")
    joined = plan.operation("Join", target, news, output=[*target.output, *news.output])
    merged = [plan.attribute("id"), plan.attribute("price")]
    keep = plan.call("Keep", plan.literal(True, "boolean"), target["id"], news["amount"])
    insert = plan.call("Keep", plan.literal(True, "boolean"), news["nid"], news["amount"])
    rows = plan.operation(
        "MergeRows",
        joined,
        output=merged,
        uses={"matchedInstructions.0": keep, "notMatchedInstructions.0": insert},
    )
    plan.write("s3://lake/sales", rows, "ReplaceData")

    assert flows(read(plan)) == {
        "sales.id -> id IDENTITY",
        "news.nid -> id IDENTITY",
        "news.amount -> price IDENTITY",
    }


# Size


def test_a_chain_of_thousands_of_operations_needs_no_recursion() -> None:
    plan = PlanBuilder()
    operation = plan.read("s3://raw/sales", "a int")
    for _ in range(3_000):
        step = plan.alias("a", plan.call("Add", operation["a"], plan.literal(1)))
        operation = _project(plan, operation, [step])
    plan.write("s3://lake/sales", operation)

    found = read(plan)

    assert flows(found) == {"sales.a -> a TRANSFORMATION"}
    assert expressions(found) == {"a": "a + 1"}


def test_an_expression_nested_thousands_deep_is_cut_at_a_thousand_characters() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int")
    value = raw["a"]
    for _ in range(3_000):
        value = plan.call("Add", plan.literal(1), value)
    plan.write("s3://lake/sales", _project(plan, raw, [plan.alias("x", value)]))

    written = expressions(read(plan))["x"]

    assert len(written) == 1_000
    assert written.startswith("1 + (1 + (")


def test_a_plan_that_doubles_at_each_step_is_walked_once() -> None:
    plan = PlanBuilder()
    operation = plan.read("s3://raw/sales", "a int")
    for _ in range(200):  # two to the power of 200 paths
        union = plan.call("", operation["a"], operation["a"], name="union", extra={"synthetic": True})
        operation = plan.operation("Union", operation, operation, output=[plan.attribute("a", "int", union)])
    doubled = plan.alias("a", plan.call("Add", operation["a"], operation["a"]))
    plan.write("s3://lake/sales", _project(plan, operation, [doubled]))

    assert flows(read(plan)) == {"sales.a -> a TRANSFORMATION"}


def test_cyclic_edges_terminate() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int")
    first = plan.alias("a", raw["a"])
    takes = plan.contents["takes"][0]
    plan.contents["takes"].append({**takes, "_key": "again", "_to": first, "index": 1})
    plan.write("s3://lake/sales", _project(plan, raw, [first]))

    assert flows(read(plan)) == {"sales.a -> a IDENTITY"}


def test_documents_in_any_order_give_the_same_lineage() -> None:
    plan = PlanBuilder()
    raw = plan.read("s3://raw/sales", "a int", "b int", "c int")
    case = plan.call("CaseWhen", raw["a"], raw["b"], raw["c"])
    plan.write("s3://lake/sales", _project(plan, raw, [plan.alias("x", case), plan.alias("y", raw["c"])]))
    documents = plan.documents()

    reversed_documents = {name: list(reversed(each)) for name, each in documents.documents.items()}
    backwards = replace(documents, documents=reversed_documents)

    assert column_lineage(backwards) == column_lineage(documents)
