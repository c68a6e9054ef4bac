"""Data sets: what their columns and rows come from, by both kinds of preparation."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Column, Dataset, Problem
from tests.record_reading import flows_of, problems_of, records_of
from tests.sources.quicksight.made_definitions import (
    WAREHOUSE,
    Document,
    arn_of,
    columns,
    created,
    data_set,
    edges_to,
    expressions_to,
    influences_on,
    join,
    logical,
    physical,
    plain_data_set,
    query,
    read,
    table,
    write,
)

SALES = "dataset/sales"
JOB = "arn:aws:quicksight:eu-west-1:111122223333/dataset.sales"
ORDERS, CUSTOMERS = "dev.public.orders", "dev.public.customers"


def read_one(folder: Path, *documents: Document) -> list[Any]:
    named = {f"document{number}": document for number, document in enumerate(documents)}
    return read(write(folder, warehouse=WAREHOUSE, **named))


def test_a_data_set_is_a_view_with_the_columns_of_its_table(tmp_path: Path) -> None:
    records = read_one(tmp_path, plain_data_set("sales", "id", "amount"))

    (view,) = [row for row in records_of(Dataset, records) if row.label == "view"]
    assert view.ref == "dev|arn:aws:quicksight:eu-west-1:111122223333|dataset/sales"
    assert flows_of(records) == {
        (JOB, "redshift://analytics.eu-west-1:5439|dev.public.sales", f"{view.ref[4:]}")
    }
    assert edges_to(SALES, records) == {
        ("dev.public.sales#id", "id", "IDENTITY"),
        ("dev.public.sales#amount", "amount", "IDENTITY"),
    }


def joined(**more: Any) -> Document:
    """Orders joined with customers, with every transform of the old kind."""
    return data_set(
        "sales",
        {
            "o": table("orders", "id", "customer", "amount", "state"),
            "c": table("customers", "id", "country", "name"),
        },
        {
            "orders": logical(physical("o"), alias="orders"),
            "customers": logical(
                physical("c"),
                {"RenameColumnOperation": {"ColumnName": "id", "NewColumnName": "id[customers]"}},
                alias="customers",
            ),
            "both": logical(
                join("orders", "customers", "{customer} = {id[customers]}"),
                {"CastColumnTypeOperation": {"ColumnName": "amount", "NewColumnType": "DECIMAL"}},
                created(gross="round({amount} * 1.2, 2)", size="ifelse({gross} > 100, 'large', country)"),
                {"FilterOperation": {"ConditionExpression": "{state} = 'paid' AND {gross} > 0"}},
                {"TagColumnOperation": {"ColumnName": "country", "Tags": []}},
                {"ProjectOperation": {"ProjectedColumns": ["id", "gross", "size", "name"]}},
            ),
        },
        **more,
    )


def test_joins_renames_casts_created_columns_and_filters(tmp_path: Path) -> None:
    records = read_one(tmp_path, joined())

    assert edges_to(SALES, records) == {
        (f"{ORDERS}#id", "id", "IDENTITY"),
        (f"{ORDERS}#amount", "gross", "TRANSFORMATION"),
        (f"{ORDERS}#amount", "size", "CONDITIONAL"),
        (f"{CUSTOMERS}#country", "size", "TRANSFORMATION"),
        (f"{CUSTOMERS}#name", "name", "IDENTITY"),
    }
    assert influences_on(SALES, records) == {
        (f"{ORDERS}#customer", "JOIN"),
        (f"{CUSTOMERS}#id", "JOIN"),
        (f"{ORDERS}#state", "FILTER"),
        (f"{ORDERS}#amount", "FILTER"),
    }
    assert expressions_to(SALES, records) == {
        "gross": "round((cast(amount as decimal)) * 1.2, 2)",
        "size": "ifelse((round((cast(amount as decimal)) * 1.2, 2)) > 100, 'large', country)",
    }
    assert not problems_of(records)


def test_a_qualifier_names_the_side_of_a_join(tmp_path: Path) -> None:
    records = read_one(
        tmp_path,
        data_set(
            "sales",
            {"o": table("orders", "id"), "c": table("customers", "id")},
            {
                "left-1": logical(physical("o"), alias="orders"),
                "right-1": logical(physical("c"), alias="customers"),
                "both": logical(
                    join("left-1", "right-1", "{left-1.id} = {right-1.id}"), created(x="{right-1.id}")
                ),
            },
        ),
    )
    assert edges_to(SALES, records) == {
        (f"{ORDERS}#id", "id", "IDENTITY"),
        (f"{CUSTOMERS}#id", "id[customers]", "IDENTITY"),
        (f"{CUSTOMERS}#id", "x", "IDENTITY"),
    }
    assert influences_on(SALES, records) == {(f"{ORDERS}#id", "JOIN"), (f"{CUSTOMERS}#id", "JOIN")}


def prepared(steps: Document, last: str) -> Document:
    return data_set(
        "sales",
        {"o": table("orders", "id", "customer", "amount", "state"), "c": table("customers", "id", "country")},
        {},
        DataPrepConfiguration={
            "SourceTableMap": {"so": {"PhysicalTableId": "o"}, "sc": {"PhysicalTableId": "c"}},
            "TransformStepMap": {
                "orders": {"ImportTableStep": {"Alias": "orders", "Source": {"SourceTableId": "so"}}},
                "customers": {"ImportTableStep": {"Alias": "customers", "Source": {"SourceTableId": "sc"}}},
                **steps,
            },
            "DestinationTableMap": {"d": {"Alias": "sales", "Source": {"TransformOperationId": last}}},
        },
    )


def after(step: str, kind: str = "Source") -> Document:
    return {kind: {"TransformOperationId": step}}


def summed(name: str) -> Document:
    return {"AggregationFunction": {"SimpleAggregation": {"InputColumnName": name, "FunctionType": "SUM"}}}


@pytest.mark.parametrize(
    ("steps", "edges", "influences"),
    [
        (
            {
                "named": {
                    "RenameColumnsStep": {
                        **after("orders"),
                        "RenameColumnOperations": [{"ColumnName": "amount", "NewColumnName": "price"}],
                    }
                },
                "last": {"ProjectStep": {**after("named"), "ProjectedColumns": ["price"]}},
            },
            {(f"{ORDERS}#amount", "price", "IDENTITY")},
            set(),
        ),
        (
            {
                "last": {
                    "JoinStep": {
                        **after("orders", "LeftOperand"),
                        **after("customers", "RightOperand"),
                        "Type": "LEFT",
                        "OnClause": "{customer} = {customers.id}",
                        "RightOperandProperties": {
                            "OutputColumnNameOverrides": [
                                {"SourceColumnName": "id", "OutputColumnName": "who"}
                            ]
                        },
                    }
                }
            },
            {
                *((f"{ORDERS}#{name}", name, "IDENTITY") for name in ("id", "customer", "amount", "state")),
                (f"{CUSTOMERS}#id", "who", "IDENTITY"),
                (f"{CUSTOMERS}#country", "country", "IDENTITY"),
            },
            {(f"{ORDERS}#customer", "JOIN"), (f"{CUSTOMERS}#id", "JOIN")},
        ),
        (
            {
                "kept": {
                    "FiltersStep": {
                        **after("orders"),
                        "FilterOperations": [
                            {
                                "StringFilterCondition": {
                                    "ColumnName": "state",
                                    "ComparisonFilterCondition": {},
                                }
                            }
                        ],
                    }
                },
                "last": {
                    "AggregateStep": {
                        **after("kept"),
                        "GroupByColumnNames": ["customer"],
                        "Aggregations": [{**summed("amount"), "NewColumnName": "total"}],
                    }
                },
            },
            {
                (f"{ORDERS}#customer", "customer", "IDENTITY"),
                (f"{ORDERS}#amount", "total", "AGGREGATION"),
            },
            {(f"{ORDERS}#state", "FILTER"), (f"{ORDERS}#customer", "GROUP_BY")},
        ),
        (
            {
                "last": {
                    "PivotStep": {
                        **after("orders"),
                        "GroupByColumnNames": ["customer"],
                        "ValueColumnConfiguration": summed("amount"),
                        "PivotConfiguration": {
                            "LabelColumnName": "state",
                            "PivotedLabels": [{"LabelName": "paid", "NewColumnName": "paid"}],
                        },
                    }
                }
            },
            {
                (f"{ORDERS}#customer", "customer", "IDENTITY"),
                (f"{ORDERS}#amount", "paid", "AGGREGATION"),
                (f"{ORDERS}#state", "paid", "CONDITIONAL"),
            },
            {(f"{ORDERS}#customer", "GROUP_BY")},
        ),
        (
            {
                "last": {
                    "UnpivotStep": {
                        **after("orders"),
                        "ColumnsToUnpivot": [
                            {"ColumnName": name, "NewValue": name} for name in ("amount", "state")
                        ],
                        "UnpivotedLabelColumnName": "which",
                        "UnpivotedValueColumnName": "value",
                    }
                }
            },
            {
                (f"{ORDERS}#id", "id", "IDENTITY"),
                (f"{ORDERS}#customer", "customer", "IDENTITY"),
                (f"{ORDERS}#amount", "value", "IDENTITY"),
                (f"{ORDERS}#state", "value", "IDENTITY"),
            },
            set(),
        ),
        (
            {
                "last": {
                    "AppendStep": {
                        **after("orders", "FirstSource"),
                        **after("customers", "SecondSource"),
                        "AppendedColumns": [{"ColumnName": "id"}, {"ColumnName": "country"}],
                    }
                }
            },
            {
                (f"{ORDERS}#id", "id", "IDENTITY"),
                (f"{CUSTOMERS}#id", "id", "IDENTITY"),
                (f"{CUSTOMERS}#country", "country", "IDENTITY"),
            },
            set(),
        ),
        (
            {
                "cast": {
                    "CastColumnTypesStep": {
                        **after("orders"),
                        "CastColumnTypeOperations": [{"ColumnName": "id", "NewColumnType": "STRING"}],
                    }
                },
                "made": {
                    "CreateColumnsStep": {
                        **after("cast"),
                        "Columns": [{"ColumnName": "label", "Expression": "concat({id}, {state})"}],
                    }
                },
                "last": {"ProjectStep": {**after("made"), "ProjectedColumns": ["label"]}},
            },
            {(f"{ORDERS}#id", "label", "TRANSFORMATION"), (f"{ORDERS}#state", "label", "TRANSFORMATION")},
            set(),
        ),
    ],
    ids=["rename", "join", "aggregate", "pivot", "unpivot", "append", "cast"],
)
def test_preparation_steps(tmp_path: Path, steps: Document, edges: set[Any], influences: set[Any]) -> None:
    records = read_one(tmp_path, prepared(steps, "last"))

    assert edges_to(SALES, records) == edges
    assert influences_on(SALES, records) == influences
    assert not problems_of(records)


def test_data_sets_of_data_sets_chain_in_any_order_of_files(tmp_path: Path) -> None:
    middle = data_set(
        "middle", {}, {"l": logical({"DataSetArn": arn_of("base")}, created(twice="{amount} * 2"))}
    )
    top = data_set("sales", {}, {"l": logical({"DataSetArn": arn_of("middle")})})
    records = read_one(tmp_path, top, middle, plain_data_set("base", "id", "amount"))

    assert edges_to("dataset/middle", records) == {
        ("dataset/base#id", "id", "IDENTITY"),
        ("dataset/base#amount", "amount", "IDENTITY"),
        ("dataset/base#amount", "twice", "TRANSFORMATION"),
    }
    assert edges_to(SALES, records) == {
        (f"dataset/middle#{name}", name, "IDENTITY") for name in ("id", "amount", "twice")
    }


def test_custom_sql_is_read_with_the_columns_that_other_data_sets_name(tmp_path: Path) -> None:
    text = """
        select country, sum(amount) total from public.orders o join customers c on o.customer = c.id
        where state in (<<$states>>) group by 1;
    """
    records = read_one(
        tmp_path,
        data_set("sales", {"q": query(text, "country", "total")}, {"l": logical(physical("q"))}),
        plain_data_set("orders", "id", "customer", "amount", "state"),
        plain_data_set("customers", "id", "country"),
    )
    assert edges_to(SALES, records) == {
        (f"{CUSTOMERS}#country", "country", "IDENTITY"),
        (f"{ORDERS}#amount", "total", "AGGREGATION"),
    }
    assert influences_on(SALES, records) == {
        (f"{ORDERS}#customer", "JOIN"),
        (f"{CUSTOMERS}#id", "JOIN"),
        (f"{ORDERS}#state", "FILTER"),
        (f"{CUSTOMERS}#country", "GROUP_BY"),
    }
    assert not problems_of(records)


def test_the_expression_of_custom_sql_is_part_of_that_of_a_created_column(tmp_path: Path) -> None:
    sql = query("select amount * 2 as double from orders", "double")
    records = read_one(
        tmp_path, data_set("sales", {"q": sql}, {"l": logical(physical("q"), created(more="{double} + 1"))})
    )
    assert expressions_to(SALES, records) == {"double": "amount * 2", "more": "(amount * 2) + 1"}


@pytest.mark.parametrize(
    "before",
    ["/* of finance */ ", "-- of finance\n", "\n  --\n/* a *\n */\n", "/* select */ with a as (select 1) "],
)
def test_custom_sql_may_begin_with_comments(before: str, tmp_path: Path) -> None:
    sql = query(f"{before}select amount from orders", "amount")
    records = read_one(tmp_path, data_set("sales", {"q": sql}, {"l": logical(physical("q"))}))
    assert edges_to(SALES, records) == {(f"{ORDERS}#amount", "amount", "IDENTITY")}
    assert not problems_of(records)


def test_custom_sql_that_cannot_be_read_is_reported_without_its_text(tmp_path: Path) -> None:
    sql = query("select from where password = 'x9y'", "a")
    records = read_one(tmp_path, data_set("sales", {"q": sql}, {"l": logical(physical("q"))}))

    (problem,) = records_of(Problem, records)
    assert (problem.kind, problem.field) == ("no-columns", "PhysicalTableMap.q.SqlQuery")
    assert problem.message == "is a query whose tables are unknown: cannot be parsed"
    assert [row.name for row in records_of(Column, records)] == ["a"]


def test_row_level_security_is_an_influence_of_the_rules_and_of_what_they_compare(tmp_path: Path) -> None:
    rules = {"Arn": arn_of("rules"), "PermissionPolicy": "GRANT_ACCESS", "Status": "ENABLED"}
    records = read_one(
        tmp_path,
        plain_data_set("rules", "UserName", "country"),
        plain_data_set(
            "sales",
            "id",
            "country",
            "team",
            RowLevelPermissionDataSet=rules,
            RowLevelPermissionTagConfiguration={
                "Status": "ENABLED",
                "TagRules": [{"TagKey": "team", "ColumnName": "team"}],
            },
        ),
    )
    assert influences_on(SALES, records) == {
        ("dataset/rules#UserName", "FILTER"),
        ("dataset/rules#country", "FILTER"),
        ("dev.public.sales#country", "FILTER"),
        ("dev.public.sales#team", "FILTER"),
    }


def test_disabled_row_level_security_is_none(tmp_path: Path) -> None:
    rules = {"Arn": arn_of("rules"), "Status": "DISABLED"}
    tags = {"Status": "DISABLED", "TagRules": [{"TagKey": "t", "ColumnName": "id"}]}
    more = {"RowLevelPermissionDataSet": rules, "RowLevelPermissionTagConfiguration": tags}
    records = read_one(tmp_path, plain_data_set("rules", "UserName"), plain_data_set("sales", "id", **more))
    assert influences_on(SALES, records) == set()


def test_types_and_descriptions_are_those_of_the_output(tmp_path: Path) -> None:
    output = [{"Name": "id", "Type": "INTEGER", "Description": "number of the order"}]
    records = read_one(tmp_path, plain_data_set("sales", "id", OutputColumns=output))
    assert [dict(row.properties) for row in records_of(Column, records)] == [
        {
            "data_type": "integer",
            "description": "number of the order",
            "position": "0",
            "dataset_title": "dataset/sales",
        }
    ]


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        (
            data_set("sales", {"t": table("t", "a")}, {"l": logical(physical("t"), created(x="{gone} + 1"))}),
            ("no-columns", "LogicalTableMap.l", "names a column that does not exist: gone"),
        ),
        (
            data_set("sales", {"t": table("t", "a")}, {"l": logical(physical("t"), created(x="sum(a"))}),
            (
                "no-columns",
                "LogicalTableMap.l",
                "has an expression that cannot be read: column x: unbalanced brackets",
            ),
        ),
        (
            data_set("sales", {"t": table("t", "a")}, {"l": logical(physical("t"), {"SplitOperation": {}})}),
            ("no-columns", "LogicalTableMap.l", "has an unknown step: SplitOperation"),
        ),
        (
            data_set(
                "sales",
                {"t": table("t", "a")},
                {"x": logical(join("y", "z", "")), "y": logical(join("x", "x", ""))},
            ),
            ("no-columns", "LogicalTableMap", "has tables that read each other in a circle"),
        ),
        (
            data_set(
                "sales", {"t": {"FileSource": {"InputColumns": columns("a")}}}, {"l": logical(physical("t"))}
            ),
            ("not-joined", "PhysicalTableMap.t", "reads FileSource, which has no known address"),
        ),
        (
            data_set("sales", {"t": table("t", "a", source="arn:x/other")}, {"l": logical(physical("t"))}),
            ("not-joined", "PhysicalTableMap.t", "the data source other is not described"),
        ),
    ],
)
def test_what_does_not_fit_together_is_reported_with_its_place(
    tmp_path: Path, document: Document, problem: tuple[str, str, str]
) -> None:
    records = read_one(tmp_path, document)
    location = str(tmp_path / "document0.json")
    assert (problem[0], location, problem[1], problem[2]) in problems_of(records)
    assert records_of(Dataset, records)
