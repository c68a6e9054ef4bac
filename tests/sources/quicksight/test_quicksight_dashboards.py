"""Dashboards: visuals and their fields as columns, what they show, and what filters and sorts them."""

from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Column, Dataset
from lineage_merge.model.records import Record
from tests.record_reading import flows_of, problems_of, records_of
from tests.sources.quicksight.made_definitions import (
    WAREHOUSE,
    Document,
    category_filter,
    column,
    dashboard,
    dimension,
    edges_to,
    expressions_to,
    filters,
    measure,
    plain_data_set,
    read,
    selected,
    sheet,
    visual,
    write,
)

BOARD = "dashboard/sales_board"
SALES = plain_data_set("sales", "region", "amount", "day", "state", "owner")


def read_board(folder: Path, board: Document, *more: Document, **settings: Any) -> list[Record]:
    documents = {f"more{number}": document for number, document in enumerate(more)}
    return read(write(folder, warehouse=WAREHOUSE, sales=SALES, board=board, **documents), **settings)


def fields_of(records: list[Record]) -> set[tuple[str, str, str]]:
    return {edge for edge in edges_to(BOARD, records) if "/" in edge[1]}


def visuals_of(records: list[Record]) -> set[tuple[str, str, str]]:
    """The edges to visuals themselves."""
    return edges_to(BOARD, records) - fields_of(records)


def test_a_dashboard_is_an_exposure_that_its_data_sets_feed(tmp_path: Path) -> None:
    records = read_board(
        tmp_path,
        dashboard(sheet("s", visual("v", dimension("region"))), data_sets=("sales", "unused")),
        plain_data_set("unused", "id"),
        {
            "DashboardSummaryList": [
                {"DashboardId": "sales_board", "LastPublishedTime": "2026-11-01T06:00:00Z"}
            ]
        },
        {"Dashboard": {"DashboardId": "sales_board", "Version": {"Description": "for the board"}}},
        {
            "DashboardId": "sales_board",
            "Permissions": [
                {
                    "Principal": "arn:aws:quicksight:eu-west-1:111122223333:user/default/ann@example.com",
                    "Actions": ["quicksight:DescribeDashboard", "quicksight:UpdateDashboard"],
                },
                {
                    "Principal": "arn:aws:quicksight:eu-west-1:111122223333:user/default/bob",
                    "Actions": ["quicksight:DescribeDashboard"],
                },
            ],
        },
    )
    (board,) = [row for row in records_of(Dataset, records) if row.label == "exposure"]
    assert board.ref == f"dev|arn:aws:quicksight:eu-west-1:111122223333|{BOARD}"
    assert board.properties == {
        "title": "dashboard/Sales",
        "name": "Sales",
        "exposure_type": "dashboard",
        "url": "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/sales_board",
        "description": "for the board",
        "published_at": "1793512800000",
    }
    assert board.sets == {"owners": ["ann@example.com"]}
    fed = {source.rpartition("|")[2] for _, source, target in flows_of(records) if target.endswith(BOARD)}
    assert fed == {"dataset/sales"}


def test_visuals_are_columns_with_their_fields(tmp_path: Path) -> None:
    options: Document = {
        "chart": {"FieldOptions": {"SelectedFieldOptions": [{"FieldId": "m.amount", "CustomLabel": "Total"}]}}
    }
    board = dashboard(
        sheet("s", visual("v1", dimension("region"), measure("amount"), title="By region", **options)),
        sheet("t", visual("v2", measure("amount"), kind="KPIVisual"), {"EmptyVisual": {"VisualId": "v3"}}),
    )
    records = read_board(tmp_path, board)

    described = {
        row.name.replace("\x1f", "/"): {
            key: value for key, value in row.properties.items() if key not in ("position", "dataset_title")
        }
        for row in records_of(Column, records)
        if row.ref.endswith(BOARD)
    }
    titles = {
        row.properties["dataset_title"] for row in records_of(Column, records) if row.ref.endswith(BOARD)
    }
    assert titles == {"dashboard/Sales"}
    assert described == {
        "v1": {
            "name": "By region",
            "title": "By region",
            "visual_id": "v1",
            "visual_type": "BarChart",
            "sheet": "Sheet s",
        },
        "v1/f.region": {"name": "region", "qualified_name": "By region.region", "field_id": "f.region"},
        "v1/m.amount": {
            "name": "Total",
            "qualified_name": "By region.Total",
            "field_id": "m.amount",
            "title": "Total",
        },
        "v2": {"name": "KPI", "visual_id": "v2", "visual_type": "KPI", "sheet": "Sheet t"},
        "v2/m.amount": {"name": "amount", "qualified_name": "KPI.amount", "field_id": "m.amount"},
        "v3": {"name": "Empty", "visual_id": "v3", "visual_type": "Empty", "sheet": "Sheet t"},
    }


def test_ids_are_the_same_with_another_title(tmp_path: Path) -> None:
    edges = [
        edges_to(
            BOARD, read_board(tmp_path, dashboard(sheet("s", visual("v", measure("amount"), title=title))))
        )
        for title in ("Sales", "Revenue")
    ]
    assert edges[0] == edges[1] == {("dataset/sales#amount", "v/m.amount", "AGGREGATION")}


def test_a_rich_title_is_text(tmp_path: Path) -> None:
    title = {"FormatText": {"RichText": "<visual-title>Sales &amp; <b>costs</b>\n by day</visual-title>"}}
    records = read_board(tmp_path, dashboard(sheet("s", visual("v", measure("amount"), Title=title))))
    (described,) = [row for row in records_of(Column, records) if row.name == "v"]
    assert described.properties["name"] == "Sales & costs by day"


def test_a_field_of_any_kind_of_visual_is_found(tmp_path: Path) -> None:
    unknown = {
        "HologramVisual": {
            "VisualId": "v",
            "HologramConfiguration": {
                "Layers": [{"Shape": {"Inner": {"FieldId": "x", "Column": column("region")}}}],
                "Labels": [{"ApplyTo": {"FieldId": "old", "Column": column("owner")}}],
            },
        }
    }
    records = read_board(tmp_path, dashboard(sheet("s", unknown)))
    assert edges_to(BOARD, records) == {("dataset/sales#region", "v/x", "IDENTITY")}


def test_dates_are_truncated_and_measures_are_aggregated_by_their_function(tmp_path: Path) -> None:
    day = {"DateDimensionField": {"FieldId": "d", "Column": column("day"), "DateGranularity": "MONTH"}}
    middle = {
        "NumericalMeasureField": {
            "FieldId": "p",
            "Column": column("amount"),
            "AggregationFunction": {"PercentileAggregation": {"PercentileValue": 50}},
        }
    }
    owners = {
        "CategoricalMeasureField": {
            "FieldId": "o",
            "Column": column("owner"),
            "AggregationFunction": "DISTINCT_COUNT",
        }
    }
    records = read_board(tmp_path, dashboard(sheet("s", visual("v", day, middle, owners, measure("amount")))))
    assert expressions_to(BOARD, records) == {
        "v/d": "truncDate('MONTH', day)",
        "v/p": "percentile(amount)",
        "v/o": "distinct_count(owner)",
        "v/m.amount": "sum(amount)",
    }


def test_calculated_fields_are_no_vertices_and_their_expressions_are_whole(tmp_path: Path) -> None:
    board = dashboard(
        sheet("s", visual("v", dimension("Group"), measure("Net"))),
        calculated={"Group": "ifelse({Net} > 10, region, 'small')", "Net": "amount * 0.8", "Unused": "sum("},
    )
    records = read_board(tmp_path, board)

    assert edges_to(BOARD, records) == {
        ("dataset/sales#region", "v/f.Group", "TRANSFORMATION"),
        ("dataset/sales#amount", "v/f.Group", "CONDITIONAL"),
        ("dataset/sales#amount", "v/m.Net", "AGGREGATION"),
    }
    assert expressions_to(BOARD, records) == {
        "v/f.Group": "ifelse((amount * 0.8) > 10, region, 'small')",
        "v/m.Net": "sum(amount * 0.8)",
    }
    assert not problems_of(records)


def test_calculated_fields_that_refer_to_each_other_in_a_circle_end(tmp_path: Path) -> None:
    calculated = {"A": "{B} + amount", "B": "ifelse({A} > 0, region, {B})"}
    records = read_board(tmp_path, dashboard(sheet("s", visual("v", dimension("A"))), calculated=calculated))
    assert {edge[0] for edge in edges_to(BOARD, records)} == {"dataset/sales#amount", "dataset/sales#region"}


def test_an_expression_of_a_visual_finds_its_names_in_the_data_set_that_has_them(tmp_path: Path) -> None:
    own = {"CalculatedMeasureField": {"FieldId": "x", "Expression": "sum({amount}) / sum({budget})"}}
    board = dashboard(sheet("s", visual("v", dimension("region"), own)), data_sets=("sales", "plan"))
    records = read_board(tmp_path, board, plain_data_set("plan", "budget"))
    assert {edge for edge in edges_to(BOARD, records) if edge[1] == "v/x"} == {
        ("dataset/sales#amount", "v/x", "AGGREGATION"),
        ("dataset/plan#budget", "v/x", "AGGREGATION"),
    }


def test_tooltips_reference_lines_and_conditional_formats_feed_the_visual(tmp_path: Path) -> None:
    formats = {
        "ConditionalFormattingOptions": [
            {"Cell": {"FieldId": "f.region", "TextFormat": {"Color": {"Expression": "{state} = 'late'"}}}}
        ]
    }
    tooltip = {"FieldBasedTooltip": {"TooltipFields": [{"ColumnTooltipItem": {"Column": column("owner")}}]}}
    board = dashboard(
        sheet(
            "s",
            visual("v", dimension("region"), ConditionalFormatting=formats, chart={"Tooltip": tooltip}),
        )
    )
    records = read_board(tmp_path, board)
    assert visuals_of(records) == {
        ("dataset/sales#owner", "v", "TRANSFORMATION"),
        ("dataset/sales#state", "v", "CONDITIONAL"),
    }


def test_what_a_click_does_is_no_lineage(tmp_path: Path) -> None:
    actions = [{"ActionOperations": [{"FilterOperation": {"SelectedColumns": [column("owner")]}}]}]
    records = read_board(tmp_path, dashboard(sheet("s", visual("v", dimension("region"), Actions=actions))))
    assert {edge[0] for edge in edges_to(BOARD, records)} == {"dataset/sales#region"}


def test_sorts_by_fields_and_by_columns(tmp_path: Path) -> None:
    by_field = {
        "SortConfiguration": {"CategorySort": [{"FieldSort": {"FieldId": "m.amount", "Direction": "DESC"}}]}
    }
    by_column = {"SortConfiguration": {"CategorySort": [{"ColumnSort": {"SortBy": column("day")}}]}}
    board = dashboard(
        sheet(
            "s",
            visual("v", dimension("region"), measure("amount"), chart=by_field),
            visual("w", dimension("region"), chart=by_column),
        )
    )
    assert visuals_of(read_board(tmp_path, board)) == {
        ("dataset/sales#amount", "v", "SORT"),
        ("dataset/sales#day", "w", "SORT"),
    }


TWO_SHEETS = (
    sheet("s", visual("v", dimension("region")), visual("w", dimension("region"))),
    sheet("t", visual("x", dimension("region")), visual("y", dimension("amount", "plan"))),
)


@pytest.mark.parametrize(
    ("scope", "more", "filtered"),
    [
        ({"AllSheets": {}}, {}, {"v", "w", "x"}),
        (selected("s"), {}, {"v", "w"}),
        (selected("s", "w"), {}, {"w"}),
        (selected("t"), {}, {"x"}),
        ({"AllSheets": {}}, {"Status": "DISABLED"}, set()),
    ],
)
def test_a_filter_filters_the_visuals_in_its_scope(
    tmp_path: Path, scope: Document, more: Document, filtered: set[str]
) -> None:
    board = dashboard(
        *TWO_SHEETS,
        data_sets=("sales", "plan"),
        FilterGroups=[filters(category_filter("state"), scope=scope, **more)],
    )
    records = read_board(tmp_path, board, plain_data_set("plan", "amount", "state"))
    assert visuals_of(records) == {("dataset/sales#state", name, "FILTER") for name in filtered}


def test_a_filter_of_all_data_sets_filters_others_by_their_columns_of_the_same_name(tmp_path: Path) -> None:
    board = dashboard(
        *TWO_SHEETS,
        data_sets=("sales", "plan"),
        FilterGroups=[
            filters(
                category_filter("state"),
                category_filter("owner"),
                CrossDataset="ALL_DATASETS",
                scope=selected("t"),
            )
        ],
    )
    records = read_board(tmp_path, board, plain_data_set("plan", "amount", "state"))
    assert visuals_of(records) == {
        ("dataset/sales#state", "x", "FILTER"),
        ("dataset/sales#owner", "x", "FILTER"),
        ("dataset/plan#state", "y", "FILTER"),
    }
    assert not problems_of(records)


def test_filters_of_any_kind_and_of_calculated_fields(tmp_path: Path) -> None:
    top = {
        "TopBottomFilter": {
            "FilterId": "f",
            "Column": column("Late"),
            "AggregationSortConfigurations": [{"Column": column("amount")}],
            "DefaultFilterControlConfiguration": {"ControlOptions": {"LinkToDataSetColumn": column("owner")}},
        }
    }
    board = dashboard(
        sheet("s", visual("v", dimension("region"))),
        calculated={"Late": "dateDiff(day, now()) > 3"},
        FilterGroups=[filters(top)],
    )
    assert visuals_of(read_board(tmp_path, board)) == {
        ("dataset/sales#day", "v", "FILTER"),
        ("dataset/sales#amount", "v", "FILTER"),
    }


def test_the_columns_of_a_parameters_default_filter_the_visuals_that_use_it(tmp_path: Path) -> None:
    default = {
        "StringParameterDeclaration": {
            "Name": "team",
            "ParameterValueType": "SINGLE_VALUED",
            "DefaultValues": {
                "DynamicValue": {
                    "UserNameColumn": column("user", "teams"),
                    "DefaultValueColumn": column("team", "teams"),
                }
            },
        }
    }
    by_parameter = {
        "CategoryFilter": {
            "Column": column("state"),
            "Configuration": {"CustomFilterConfiguration": {"ParameterName": "team"}},
        }
    }
    board = dashboard(
        sheet(
            "s",
            visual("v", dimension("Shown")),
            visual("w", dimension("region")),
            visual("x", dimension("region")),
        ),
        calculated={"Shown": "ifelse(${team} = 'all', region, owner)"},
        data_sets=("sales", "teams"),
        ParameterDeclarations=[default],
        FilterGroups=[filters(by_parameter, scope=selected("s", "w"))],
    )
    records = read_board(tmp_path, board, plain_data_set("teams", "user", "team"))
    of_default = {("dataset/teams#user", "FILTER"), ("dataset/teams#team", "FILTER")}
    assert visuals_of(records) == {
        *((source, name, how) for source, how in of_default for name in ("v", "w")),
        ("dataset/sales#state", "w", "FILTER"),
    }


def test_a_column_that_the_data_set_lost_is_a_finding_of_each_visual_that_uses_it(tmp_path: Path) -> None:
    board = dashboard(
        sheet("s", visual("v", measure("Margin"), title="Margin"), visual("w", dimension("region"))),
        calculated={"Margin": "amount - {cost}"},
        FilterGroups=[filters(category_filter("gone"), scope=selected("s", "w"))],
    )
    records = read_board(tmp_path, board)
    location = str(tmp_path / "board.json")
    assert problems_of(records) == {
        (
            "no-columns",
            location,
            "Sheet s.v",
            "visual Margin shows a column that its data set lost: sales.cost",
        ),
        (
            "no-columns",
            location,
            "Sheet s.w",
            "visual w is filtered by a column that its data set lost: sales.gone",
        ),
    }
    assert ("dataset/sales#amount", "v/m.Margin", "AGGREGATION") in edges_to(BOARD, records)


def test_columns_of_a_data_set_without_a_description_are_believed_and_this_is_said(tmp_path: Path) -> None:
    board = dashboard(sheet("s", visual("v", dimension("anything", "other"))), data_sets=("other",))
    records = read_board(tmp_path, board)
    assert edges_to(BOARD, records) == {("dataset/other#anything", "v/f.anything", "IDENTITY")}
    assert {problem[0::2] for problem in problems_of(records)} == {("notice", "dataset/other")}


def test_an_expression_that_cannot_be_read_is_a_problem_with_its_name(tmp_path: Path) -> None:
    board = dashboard(sheet("s", visual("v", dimension("Bad"))), calculated={"Bad": "ifelse(amount > 0"})
    assert problems_of(read_board(tmp_path, board)) == {
        (
            "no-columns",
            str(tmp_path / "board.json"),
            "Bad",
            "has an expression that cannot be read: unbalanced brackets",
        )
    }


def test_analyses_are_read_if_they_are_wanted(tmp_path: Path) -> None:
    board = dashboard(sheet("s", visual("v", dimension("region"))))
    analysis = {"AnalysisId": "draft", "Name": "Draft", "Definition": board["Definition"]}
    of_draft = {("dataset/sales#region", "v/f.region", "IDENTITY")}

    assert edges_to("analysis/draft", read_board(tmp_path, board, analysis)) == set()
    wanted = read_board(tmp_path, board, analysis, analyses=True)
    assert edges_to("analysis/draft", wanted) == edges_to(BOARD, wanted) == of_draft


def test_dashboards_are_selected_by_id_or_name(tmp_path: Path) -> None:
    boards = [
        dashboard(sheet("s", visual("v", dimension("region"))), identifier=identifier, name=name)
        for identifier, name in (("a1", "Sales daily"), ("b2", "Costs"), ("c3", "Stock"))
    ]
    records = read_board(tmp_path, boards[0], *boards[1:], dashboards=["Sales*", "b2"])
    assert {row.properties["name"] for row in records_of(Dataset, records) if row.label == "exposure"} == {
        "Sales daily",
        "Costs",
    }
