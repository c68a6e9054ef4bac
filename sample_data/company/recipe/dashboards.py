"""Writes the company's dashboards: ``python sample_data/company/recipe/dashboards.py``.

`sources/quicksight` has the responses of QuickSight's API for the dashboard Revenue, `sources/superset` the
export of the dashboard Campaigns of Superset. The files are always the same.
"""

import json
import shutil
import uuid
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import yaml

Document = dict[str, Any]

SOURCES = Path(__file__).parents[1] / "sources"
HOST = "brightmug-wh.c1x2y3z4.eu-central-1.redshift.amazonaws.com"
DATABASE = "shop"


def main() -> None:
    """Write both dashboards in place of earlier ones."""
    for name, files in (("quicksight", quicksight()), ("superset", superset())):
        shutil.rmtree(SOURCES / name, ignore_errors=True)
        for path, text in files.items():
            file = SOURCES / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)


# QuickSight

ACCOUNT = "arn:aws:quicksight:eu-central-1:111122223333"
_WAREHOUSE = f"{ACCOUNT}:datasource/warehouse"
# Names and types of columns as QuickSight reads them of Redshift.
_REVENUE = {
    "country": "STRING",
    "category": "STRING",
    "revenue": "DECIMAL",
    "margin": "DECIMAL",
    "customers": "INTEGER",
}
_SALES = {
    "ordered_on": "DATETIME",
    "sku": "STRING",
    "category": "STRING",
    "qty": "INTEGER",
    "amount": "DECIMAL",
}
_SALES_SQL = """select s.ordered_on, s.sku, coalesce(s.category, 'other') as category, s.qty, s.amount
from marts.fct_sales s
where s.amount > 0"""
# Names of calculated fields: the data set, and the expression.
_CALCULATED = {
    "margin_rate": ("revenue", "sum({margin}) / sum({revenue})"),
    "order_size": ("sales", "ifelse({amount} >= 50, 'large', {qty} > 2, 'medium', 'small')"),
}


def quicksight() -> dict[str, str]:
    """Return the responses of the API, by file."""
    responses = {
        "data_sources/warehouse.json": {"DataSource": _data_source()},
        "data_sets/revenue.json": {"DataSet": _data_set("revenue", "Revenue by country", _table(), _REVENUE)},
        "data_sets/sales.json": {"DataSet": _data_set("sales", "Sales", _custom_sql(), _SALES)},
        "dashboards/revenue.json": _dashboard(),
    }
    return {path: f"{json.dumps(body | {'Status': 200}, indent=1)}\n" for path, body in responses.items()}


def _data_source() -> Document:
    return {
        "Arn": _WAREHOUSE,
        "DataSourceId": "warehouse",
        "Name": "Warehouse",
        "Type": "REDSHIFT",
        "Status": "CREATION_SUCCESSFUL",
        "DataSourceParameters": {"RedshiftParameters": {"Host": HOST, "Port": 5439, "Database": DATABASE}},
        "SslProperties": {"DisableSsl": False},
    }


def _data_set(identifier: str, name: str, table: Document, columns: Mapping[str, str]) -> Document:
    logical = {"Alias": name, "Source": {"PhysicalTableId": identifier}}
    return {
        "Arn": f"{ACCOUNT}:dataset/{identifier}",
        "DataSetId": identifier,
        "Name": name,
        "PhysicalTableMap": {identifier: table},
        "LogicalTableMap": {f"{identifier}-columns": logical},
        "OutputColumns": _columns(columns),
        "ImportMode": "DIRECT_QUERY",
    }


def _columns(columns: Mapping[str, str]) -> list[Document]:
    return [{"Name": name, "Type": kind} for name, kind in columns.items()]


def _table() -> Document:
    return {
        "RelationalTable": {
            "DataSourceArn": _WAREHOUSE,
            "Schema": "marts",
            "Name": "revenue_by_country",
            "InputColumns": _columns(_REVENUE),
        }
    }


def _custom_sql() -> Document:
    query = {"DataSourceArn": _WAREHOUSE, "Name": "Sales", "SqlQuery": _SALES_SQL}
    return {"CustomSql": query | {"Columns": _columns(_SALES)}}


def _dashboard() -> Document:
    calculated = [
        {"DataSetIdentifier": data_set, "Name": name, "Expression": expression}
        for name, (data_set, expression) in _CALCULATED.items()
    ]
    return {
        "DashboardId": "revenue",
        "Name": "Revenue",
        "ResourceStatus": "CREATION_SUCCESSFUL",
        "Definition": {
            "DataSetIdentifierDeclarations": [
                {"Identifier": name, "DataSetArn": f"{ACCOUNT}:dataset/{name}"}
                for name in ("revenue", "sales")
            ],
            "Sheets": [{"SheetId": "board", "Name": "Board", "Visuals": _visuals()}],
            "CalculatedFields": calculated,
            "FilterGroups": [_filter_group()],
        },
        "DashboardPublishOptions": {"AdHocFilteringOption": {"AvailabilityStatus": "ENABLED"}},
    }


def _visuals() -> list[Document]:
    total, by_day = _measure("revenue", "revenue"), _measure("sales", "amount")
    rate = {"NumericalMeasureField": {"FieldId": "margin_rate", "Column": _column("revenue", "margin_rate")}}
    sort = {"FieldId": "revenue", "Direction": "DESC"}
    return [
        _visual("KPI", "total", "Total revenue", {"Values": [total]}),
        _visual(
            "BarChart",
            "by_country",
            "Revenue by country",
            {"BarChartAggregatedFieldWells": {"Category": [_text("revenue", "country")], "Values": [total]}},
            {"CategorySort": [{"FieldSort": sort}]},
        ),
        _visual(
            "Table",
            "margins",
            "Margins",
            {
                "TableAggregatedFieldWells": {
                    "GroupBy": [_text("revenue", "category")],
                    "Values": [_measure("revenue", "margin"), rate],
                }
            },
        ),
        _visual(
            "LineChart",
            "by_day",
            "Sales by day",
            {"LineChartAggregatedFieldWells": {"Category": [_day()], "Values": [by_day]}},
        ),
        _visual(
            "PieChart",
            "sizes",
            "Sizes of orders",
            {
                "PieChartAggregatedFieldWells": {
                    "Category": [_text("sales", "order_size")],
                    "Values": [by_day],
                }
            },
        ),
    ]


def _visual(
    kind: str, identifier: str, title: str, wells: Document, sorting: Document | None = None
) -> Document:
    chart = {"FieldWells": wells} | ({"SortConfiguration": sorting} if sorting else {})
    shown = {"Visibility": "VISIBLE", "FormatText": {"PlainText": title}}
    return {f"{kind}Visual": {"VisualId": identifier, "Title": shown, "ChartConfiguration": chart}}


def _column(data_set: str, name: str) -> Document:
    return {"DataSetIdentifier": data_set, "ColumnName": name}


def _text(data_set: str, name: str) -> Document:
    return {"CategoricalDimensionField": {"FieldId": name, "Column": _column(data_set, name)}}


def _day() -> Document:
    day = {"FieldId": "ordered_on", "Column": _column("sales", "ordered_on"), "DateGranularity": "DAY"}
    return {"DateDimensionField": day}


def _measure(data_set: str, name: str) -> Document:
    function = {"SimpleNumericalAggregation": "SUM"}
    measure = {"FieldId": name, "Column": _column(data_set, name), "AggregationFunction": function}
    return {"NumericalMeasureField": measure}


def _filter_group() -> Document:
    listed = {
        "MatchOperator": "DOES_NOT_CONTAIN",
        "CategoryValues": ["other"],
        "NullOption": "NON_NULLS_ONLY",
    }
    category = {
        "FilterId": "known_categories",
        "Column": _column("sales", "category"),
        "Configuration": {"FilterListConfiguration": listed},
    }
    scope = {"SheetId": "board", "Scope": "SELECTED_VISUALS", "VisualIds": ["by_day"]}
    return {
        "FilterGroupId": "categories",
        "Filters": [{"CategoryFilter": category}],
        "ScopeConfiguration": {"SelectedSheets": {"SheetVisualScopingConfigurations": [scope]}},
        "Status": "ENABLED",
        "CrossDataset": "SINGLE_DATASET",
    }


# Superset

_UUIDS = uuid.UUID("8b9d3a54-6f0e-4c1b-9a2e-5d7c4f3e2b1a")
_VERSION = {"version": "1.0.0"}
_RECIPIENTS = {
    "campaign": "VARCHAR",
    "customer_id": "INTEGER",
    "contact": "VARCHAR",
    "last_visit": "TIMESTAMP",
    "spent": "DOUBLE PRECISION",
}
_DEMAND = {"week": "TIMESTAMP", "category": "VARCHAR", "units": "BIGINT"}
_DEMAND_SQL = """select week, category, sum(units) as units
from marts.weekly_demand
{% if filter_values('category') %}where category in {{ filter_values('category')|where_in }}{% endif %}
group by week, category"""
# Calculated columns and saved metrics, by data set.
_EXPRESSIONS = {"buyer": "case when spent > 0 then 'buyer' else 'visitor' end"}
_METRICS = {"recipients": "count(distinct customer_id)"}


def superset() -> dict[str, str]:
    """Return the documents of the export, by file."""
    charts = _charts()
    documents = {
        "metadata": _VERSION | {"type": "Dashboard"},
        "databases/Warehouse": _database(),
        "datasets/Warehouse/campaign_recipients_1": _physical(),
        "datasets/Warehouse/demand_by_category_2": _virtual(),
        "dashboards/Campaigns_1": _campaigns(charts),
    }
    for number, chart in enumerate(charts, 1):
        documents[f"charts/{chart['slice_name'].replace(' ', '_')}_{number}"] = chart
    return {
        f"{path}.yaml": yaml.safe_dump(body, sort_keys=False, width=100) for path, body in documents.items()
    }


def _uuid(kind: str, name: str) -> str:
    return str(uuid.uuid5(_UUIDS, f"{kind}/{name}"))


def _database() -> Document:
    return {
        "database_name": "Warehouse",
        "sqlalchemy_uri": f"redshift+psycopg2://superset:XXXXXXXXXX@{HOST}:5439/{DATABASE}",
        "expose_in_sqllab": True,
        "allow_ctas": False,
        "allow_dml": False,
        "extra": {"allows_virtual_table_explore": True},
        "uuid": _uuid("database", "Warehouse"),
    } | _VERSION


def _physical() -> Document:
    return _superset_data_set("campaign_recipients", "marts", None, _RECIPIENTS, _EXPRESSIONS, _METRICS)


def _virtual() -> Document:
    return _superset_data_set("demand_by_category", None, _DEMAND_SQL, _DEMAND, {}, {})


def _superset_data_set(
    name: str,
    schema: str | None,
    sql: str | None,
    columns: Mapping[str, str],
    calculated: Mapping[str, str],
    metrics: Mapping[str, str],
) -> Document:
    described = [
        {"column_name": column, "type": kind, "is_dttm": kind == "TIMESTAMP", "expression": None}
        for column, kind in columns.items()
    ]
    described += [
        {"column_name": column, "type": "VARCHAR", "is_dttm": False, "expression": expression}
        for column, expression in calculated.items()
    ]
    return {
        "table_name": name,
        "main_dttm_col": next((column for column, kind in columns.items() if kind == "TIMESTAMP"), None),
        "catalog": None,
        "schema": schema,
        "sql": sql,
        "params": None,
        "template_params": None,
        "uuid": _uuid("dataset", name),
        "metrics": [{"metric_name": metric, "expression": text} for metric, text in metrics.items()],
        "columns": described,
        "database_uuid": _uuid("database", "Warehouse"),
    } | _VERSION


def _charts() -> list[Document]:
    recipients, demand = "campaign_recipients", "demand_by_category"
    only_buyers = {
        "expressionType": "SIMPLE",
        "clause": "WHERE",
        "subject": "buyer",
        "operator": "==",
        "comparator": "buyer",
    }
    return [
        _chart(
            "Recipients",
            "table",
            recipients,
            {"query_mode": "raw", "all_columns": ["campaign", "contact", "last_visit"]},
        ),
        _chart(
            "Recipients by campaign",
            "echarts_timeseries_bar",
            recipients,
            {"x_axis": "campaign", "metrics": ["recipients"], "groupby": ["buyer"]},
        ),
        _chart(
            "Spent by campaign",
            "pie",
            recipients,
            {"groupby": ["campaign"], "metric": _sum("spent"), "adhoc_filters": [only_buyers]},
        ),
        _chart(
            "Units by week",
            "echarts_timeseries_line",
            demand,
            {"x_axis": "week", "metrics": [_sum("units")], "groupby": ["category"]},
        ),
    ]


def _sum(column: str) -> Document:
    return {
        "expressionType": "SIMPLE",
        "aggregate": "SUM",
        "column": {"column_name": column},
        "label": f"SUM({column})",
    }


def _chart(name: str, kind: str, data_set: str, params: Document) -> Document:
    return {
        "slice_name": name,
        "viz_type": kind,
        "params": {"viz_type": kind, **params},
        "cache_timeout": None,
        "uuid": _uuid("chart", name),
        "dataset_uuid": _uuid("dataset", data_set),
    } | _VERSION


def _campaigns(charts: Iterable[Document]) -> Document:
    position: Document = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": ["ROW-1"], "parents": ["ROOT_ID"]},
        "ROW-1": {
            "type": "ROW",
            "id": "ROW-1",
            "children": [],
            "meta": {},
            "parents": ["ROOT_ID", "GRID_ID"],
        },
    }
    for number, chart in enumerate(charts, 1):
        place = f"CHART-{number}"
        meta = {"chartId": number, "uuid": chart["uuid"], "sliceName": chart["slice_name"]}
        position["ROW-1"]["children"].append(place)
        position[place] = {
            "type": "CHART",
            "id": place,
            "children": [],
            "parents": ["ROOT_ID", "GRID_ID", "ROW-1"],
            "meta": meta | {"width": 3, "height": 50},
        }
    campaign = {
        "id": "NATIVE_FILTER-1",
        "name": "Campaign",
        "filterType": "filter_select",
        "type": "NATIVE_FILTER",
        "targets": [{"column": {"name": "campaign"}, "datasetUuid": _uuid("dataset", "campaign_recipients")}],
        "scope": {"rootPath": ["ROOT_ID"], "excluded": []},
        "defaultDataMask": {"filterState": {}},
    }
    return {
        "dashboard_title": "Campaigns",
        "description": "who is written to about what, and what is asked for",
        "slug": "campaigns",
        "published": True,
        "uuid": _uuid("dashboard", "Campaigns"),
        "position": position,
        "metadata": {"native_filter_configuration": [campaign]},
    } | _VERSION


if __name__ == "__main__":
    main()
