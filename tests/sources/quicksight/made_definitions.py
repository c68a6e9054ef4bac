"""Small definitions of QuickSight, in the shape of the API."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge.dataset_resolver import from_config
from lineage_merge.model.elements import FeedsColumn, Influences
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from lineage_merge.sources.registry import SOURCES
from tests.record_reading import records_of

Document = dict[str, Any]

ACCOUNT = "arn:aws:quicksight:eu-west-1:111122223333"
SOURCE = f"{ACCOUNT}:datasource/warehouse"
REDSHIFT = "redshift://analytics.eu-west-1:5439"
HOST = "analytics.abc123.eu-west-1.redshift.amazonaws.com"
WAREHOUSE: Document = {
    "DataSource": {
        "Arn": SOURCE,
        "DataSourceId": "warehouse",
        "Name": "Warehouse",
        "Type": "REDSHIFT",
        "DataSourceParameters": {"RedshiftParameters": {"Host": HOST, "Port": 5439, "Database": "dev"}},
    }
}


def arn_of(data_set: str) -> str:
    return f"{ACCOUNT}:dataset/{data_set}"


def columns(*names: str) -> list[Document]:
    return [{"Name": name, "Type": "STRING"} for name in names]


def table(name: str, *names: str, source: str = SOURCE) -> Document:
    found = {"DataSourceArn": source, "Schema": "public", "Name": name, "InputColumns": columns(*names)}
    return {"RelationalTable": found}


def query(text: str, *names: str, source: str = SOURCE) -> Document:
    found = {"DataSourceArn": source, "Name": "query", "SqlQuery": text, "Columns": columns(*names)}
    return {"CustomSql": found}


def logical(source: Document, *transforms: Document, alias: str = "table") -> Document:
    more = {"DataTransforms": list(transforms)} if transforms else {}
    return {"Alias": alias, "Source": source, **more}


def join(left: str, right: str, clause: str) -> Document:
    return {
        "JoinInstruction": {"LeftOperand": left, "RightOperand": right, "Type": "LEFT", "OnClause": clause}
    }


def physical(identifier: str) -> Document:
    return {"PhysicalTableId": identifier}


def created(**expressions: str) -> Document:
    listed = [{"ColumnName": name, "Expression": text} for name, text in expressions.items()]
    return {"CreateColumnsOperation": {"Columns": listed}}


def data_set(
    name: str, tables: Mapping[str, Document], logical_tables: Mapping[str, Document], **more: Any
) -> Document:
    described = {
        "Arn": arn_of(name),
        "DataSetId": name,
        "Name": name,
        "PhysicalTableMap": dict(tables),
        "LogicalTableMap": dict(logical_tables),
        **more,
    }
    return {"DataSet": described}


def plain_data_set(name: str, *names: str, **more: Any) -> Document:
    """A data set with the columns of the table of its name."""
    return data_set(name, {"t": table(name, *names)}, {"l": logical(physical("t"))}, **more)


def column(name: str, data_set: str = "sales") -> Document:
    return {"DataSetIdentifier": data_set, "ColumnName": name}


def dimension(name: str, data_set: str = "sales", **more: Any) -> Document:
    return {"CategoricalDimensionField": {"FieldId": f"f.{name}", "Column": column(name, data_set), **more}}


def measure(name: str, function: str = "SUM", data_set: str = "sales") -> Document:
    aggregation = {"SimpleNumericalAggregation": function}
    found = {"FieldId": f"m.{name}", "Column": column(name, data_set), "AggregationFunction": aggregation}
    return {"NumericalMeasureField": found}


def visual(
    identifier: str, *fields: Document, kind: str = "BarChartVisual", title: str = "", **more: Any
) -> Document:
    dimensions = [each for each in fields if next(iter(each)).endswith("DimensionField")]
    measures = [each for each in fields if each not in dimensions]
    wells = {"BarChartAggregatedFieldWells": {"Category": dimensions, "Values": measures}}
    chart = {"FieldWells": wells, **more.pop("chart", {})}
    body = {"VisualId": identifier, "ChartConfiguration": chart, **more}
    if title:
        body["Title"] = {"FormatText": {"PlainText": title}}
    return {kind: body}


def sheet(identifier: str, *visuals: Document) -> Document:
    return {"SheetId": identifier, "Name": f"Sheet {identifier}", "Visuals": list(visuals)}


def filters(*found: Document, scope: Document | None = None, **more: Any) -> Document:
    return {
        "FilterGroupId": "g",
        "Filters": list(found),
        "ScopeConfiguration": scope or {"AllSheets": {}},
        "Status": "ENABLED",
        "CrossDataset": "SINGLE_DATASET",
        **more,
    }


def category_filter(name: str, data_set: str = "sales") -> Document:
    return {"CategoryFilter": {"FilterId": name, "Column": column(name, data_set), "Configuration": {}}}


def selected(sheet_id: str, *visuals: str) -> Document:
    scope: Document = {"SheetId": sheet_id, "Scope": "SELECTED_VISUALS" if visuals else "ALL_VISUALS"}
    if visuals:
        scope["VisualIds"] = list(visuals)
    return {"SelectedSheets": {"SheetVisualScopingConfigurations": [scope]}}


def dashboard(
    *sheets: Document,
    calculated: Mapping[str, str] = {},
    data_sets: Iterable[str] = ("sales",),
    identifier: str = "sales_board",
    name: str = "Sales",
    **definition: Any,
) -> Document:
    names = list(data_sets)
    return {
        "DashboardId": identifier,
        "Name": name,
        "ResourceStatus": "CREATION_SUCCESSFUL",
        "Definition": {
            "DataSetIdentifierDeclarations": [
                {"Identifier": name, "DataSetArn": arn_of(name)} for name in names
            ],
            "Sheets": list(sheets),
            "CalculatedFields": [
                {"DataSetIdentifier": names[0], "Name": name, "Expression": text}
                for name, text in calculated.items()
            ],
            **definition,
        },
    }


def write(folder: Path, **documents: Document) -> Path:
    """Write documents as files of these names."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, document in documents.items():
        (folder / f"{name}.json").write_text(json.dumps(document))
    return folder


def read(folder: Path | str, **settings: Any) -> list[Record]:
    """The records of the definitions in a folder."""
    entry = {"definitions": str(folder), **settings}
    config = CONFIGURATION.parse({"dag_name": "d", "environment": "dev", "quicksight": [entry]})
    (source,) = (source for source in SOURCES if source.key == "quicksight")
    return source.read(LocalEngine(), config, from_config(config)).collect()


Edge = tuple[str, str, str]


def edges_to(target: str, records: Sequence[Record]) -> set[Edge]:
    """(source#column, column, transformations) of all column edges to an asset, ids without the account."""
    return {
        (
            f"{_short(record.source)}#{record.source_column}",
            record.target_column.replace("\x1f", "/"),
            ",".join(record.transformations),
        )
        for record in records_of(FeedsColumn, records)
        if _short(record.target) == target
    }


def influences_on(target: str, records: Sequence[Record]) -> set[tuple[str, str]]:
    """(source#column, kinds) of the influences on an asset."""
    return {
        (f"{_short(record.source)}#{record.source_column}", ",".join(record.transformations))
        for record in records_of(Influences, records)
        if _short(record.target) == target
    }


def expressions_to(target: str, records: Sequence[Record]) -> dict[str, str]:
    """The expression of each column of an asset, of edges that have one."""
    return {
        record.target_column.replace("\x1f", "/"): record.expression
        for record in records_of(FeedsColumn, records)
        if _short(record.target) == target and record.expression
    }


def _short(identifier: str) -> str:
    return identifier.rpartition("|")[2]


def manifest(folder: Path, url: str, *models: str, exposure_name: str = "board") -> Path:
    """A dbt project with models and an exposure that depends on all of them."""
    nodes = {
        f"model.shop.{name}": {
            "unique_id": f"model.shop.{name}",
            "resource_type": "model",
            "package_name": "shop",
            "name": name,
            "database": "dev",
            "schema": "public",
            "alias": name,
            "config": {"materialized": "table"},
            "columns": {},
            "depends_on": {"nodes": []},
        }
        for name in ("sales", *models)
    }
    exposure = {
        "unique_id": f"exposure.shop.{exposure_name}",
        "resource_type": "exposure",
        "package_name": "shop",
        "name": exposure_name,
        "type": "dashboard",
        "url": url,
        "maturity": "high",
        "owner": {"email": "ann@example.com"},
        "depends_on": {"nodes": list(nodes)},
    }
    found = {
        "metadata": {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "dbt_version": "1.9.0",
            "project_name": "shop",
            "adapter_type": "redshift",
            "generated_at": "2026-11-01T00:00:00Z",
        },
        "nodes": nodes,
        "sources": {},
        "exposures": {exposure["unique_id"]: exposure},
    }
    file = folder / "manifest.json"
    file.write_text(json.dumps(found))
    return file


def sales_board(folder: Path) -> tuple[list[Document], list[Document]]:
    """The nodes and edges of a dashboard of a table that dbt builds, whose customers are personal data."""
    customers = visual(
        "c1", dimension("customer"), measure("net"), kind="TableVisual", title="Best customers"
    )
    customers["TableVisual"]["ChartConfiguration"]["FieldWells"] = {
        "TableAggregatedFieldWells": {"GroupBy": [dimension("customer")], "Values": [measure("net")]}
    }
    board = dashboard(
        sheet("s1", visual("r1", dimension("region"), measure("net"), title="Sales by region"), customers),
        calculated={"net": "amount - tax"},
        FilterGroups=[filters(category_filter("state"), scope=selected("s1", "r1"))],
    )
    sales = plain_data_set("sales", "region", "customer", "state", "amount", "tax", "note")
    definitions = write(folder / "boards", warehouse=WAREHOUSE, sales=sales, board=board)
    url = "https://eu-west-1.quicksight.aws.amazon.com/sn/dashboards/sales_board"
    config = CONFIGURATION.parse(
        {
            "dag_name": "shop_daily",
            "environment": "prod",
            "quicksight": [{"definitions": str(definitions)}],
            "dbt": [{"manifest": str(manifest(folder, url)), "namespace": REDSHIFT}],
            "metadata": {"dev.public.sales#customer": {"tags": ["pii"]}},
        }
    )
    elements = merge(config).elements.collect()
    return [row for row in elements if not row.get("from")], [row for row in elements if row.get("from")]
