"""Makes `tests/data/superset`: the export of a dashboard of Superset, with charts of many types.

    SUPERSET_CONFIG_PATH=superset_config.py python -m tests.superset_recipe

Run in an environment with Superset 6.1, after `superset db upgrade`, `fab create-admin` (admin, admin) and
`init`, with ENABLE_TEMPLATE_PROCESSING among its FEATURE_FLAGS. The address of the database is replaced by
one of Redshift: such an export only differs by it.
"""

import io
import json
import re
import sqlite3
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from tests.superset_chart_types import list_columns

FOLDER = Path(__file__).parent / "data" / "superset"
REDSHIFT = "redshift+psycopg2://reader:XXXXXXXXXX@shop.abc.eu-west-1.redshift.amazonaws.com:5439/dev"
_TABLES = f"""
create table orders (id int, customer int, amount real, day text, country text, status text);
insert into orders values (1, 7, 10.5, '2026-01-02', 'DE', 'PAID'), (2, 8, 3, '2026-01-03', 'FR', 'OPEN');
create table customers (customer int, name text, segment text);
insert into customers values (7, 'Ann', 'A'), (8, 'Ben', 'B');
create table wide ({", ".join(f"{name} text" for name in list_columns())});
"""
_PAID = (
    "select c.segment, o.day, o.amount * 2 as twice, o.country from orders o join customers c"
    " on o.customer = c.customer where o.status = 'PAID'"
    " {% if filter_values('country') %} and o.country in {{ filter_values('country')|where_in }} {% endif %}"
)
_SUM: dict[str, Any] = {
    "expressionType": "SIMPLE",
    "aggregate": "SUM",
    "column": {"column_name": "amount"},
    "label": "SUM(amount)",
}
_SPREAD = {"expressionType": "SQL", "sqlExpression": "MAX(gross) - MIN(amount)", "label": "spread"}
_PAID_ONLY = {
    "expressionType": "SIMPLE",
    "clause": "WHERE",
    "subject": "status",
    "operator": "==",
    "comparator": "PAID",
}
_HAVING = {"expressionType": "SQL", "clause": "HAVING", "sqlExpression": "SUM(amount) > 3"}
_CHARTS: dict[str, tuple[str, dict[str, Any]]] = {
    "by country": (
        "table",
        {
            "query_mode": "aggregate",
            "groupby": ["country"],
            "metrics": [_SUM, "revenue", _SPREAD],
            "adhoc_filters": [_PAID_ONLY, _HAVING],
            "timeseries_limit_metric": _SUM,
            "time_range": "No filter",
        },
    ),
    "rows": (
        "table",
        {"query_mode": "raw", "all_columns": ["id", "gross"], "order_by_cols": ['["day", false]']},
    ),
    "over time": (
        "echarts_timeseries_line",
        {
            "x_axis": "day",
            "metrics": ["revenue"],
            "groupby": ["status"],
            "time_range": "Last year",
            "granularity_sqla": "day",
        },
    ),
    "share": ("pie", {"groupby": ["country"], "metric": _SUM, "adhoc_filters": []}),
    "total": ("big_number_total", {"metric": "revenue"}),
    "pivot": (
        "pivot_table_v2",
        {"groupbyRows": ["country"], "groupbyColumns": ["status"], "metrics": [_SUM]},
    ),
    "bubbles": (
        "bubble_v2",
        {"series": "country", "entity": "status", "x": _SUM, "y": _SPREAD, "size": "revenue"},
    ),
    "spread of amounts": ("histogram_v2", {"column": "amount", "groupby": ["country"], "bins": 5}),
    "boxes": ("box_plot", {"columns": ["day"], "groupby": ["country"], "metrics": [_SUM]}),
    "two queries": (
        "mixed_timeseries",
        {
            "x_axis": "day",
            "metrics": [_SUM],
            "groupby": ["country"],
            "metrics_b": ["revenue"],
            "groupby_b": ["status"],
            "adhoc_filters_b": [_PAID_ONLY],
        },
    ),
    "heat": ("heatmap_v2", {"x_axis": "country", "groupby": "status", "metric": _SUM}),
    "flow": ("sankey_v2", {"source": "country", "target": "status", "metric": _SUM}),
}
_BY_SEGMENT = {
    "x_axis": "segment",
    "metrics": [{**_SUM, "aggregate": "AVG", "column": {"column_name": "twice"}, "label": "avg"}],
}


def main() -> None:
    """Make the dashboard and write its export."""
    packed = zipfile.ZipFile(io.BytesIO(export_dashboard()))
    for name in packed.namelist():
        target = FOLDER.joinpath(*Path(name).parts[1:])
        target.parent.mkdir(parents=True, exist_ok=True)
        text = packed.read(name).decode()
        if target.parent.name == "databases":
            text = re.sub(r"(?m)^sqlalchemy_uri: .*$", f"sqlalchemy_uri: {REDSHIFT}", text)
        target.write_text(text)


def export_dashboard() -> bytes:
    """Make the dashboard in Superset; return its export."""
    from superset.app import create_app

    application = create_app()
    return Client(application.test_client()).make(add_database(application))


def add_database(application: Any) -> int:
    """Add a database with tables; the API refuses SQLite."""
    folder = tempfile.mkdtemp()
    with sqlite3.connect(f"{folder}/shop.db") as connection:
        connection.executescript(_TABLES)
    with application.app_context():
        from superset import db
        from superset.models.core import Database

        database = Database(database_name="shop", sqlalchemy_uri=f"sqlite:///{folder}/shop.db")
        db.session.add(database)
        db.session.commit()
        return int(database.id)


class Client:
    """Makes objects through the REST API."""

    def __init__(self, client: Any) -> None:
        self._client = client
        login = {"username": "admin", "password": "admin", "provider": "db"}
        token = client.post("/api/v1/security/login", json=login).get_json()["access_token"]
        self._headers = {"Authorization": f"Bearer {token}"}

    def send(self, method: str, path: str, body: dict[str, Any]) -> Any:
        answer = getattr(self._client, method)(f"/api/v1/{path}", json=body, headers=self._headers)
        assert answer.status_code < 300, answer.get_data(as_text=True)
        return answer.get_json()

    def get(self, path: str) -> Any:
        return self._client.get(f"/api/v1/{path}", headers=self._headers)

    def make(self, database: int) -> bytes:
        """Make the dashboard of the recorded export; return its export."""
        orders = self.send("post", "dataset/", {"database": database, "table_name": "orders"})["id"]
        paid = {"database": database, "table_name": "paid_by_segment", "sql": _PAID}
        by_segment = self.send("post", "dataset/", paid)["id"]
        self._add_expressions(orders)
        charts = {
            name: self.add_chart(name, kind, orders, params) for name, (kind, params) in _CHARTS.items()
        }
        charts["by segment"] = self.add_chart("by segment", "echarts_timeseries_bar", by_segment, _BY_SEGMENT)
        dashboard = self.add_dashboard("Shop", charts, orders)
        return bytes(self.get(f"dashboard/export/?q=!({dashboard})").data)

    def _add_expressions(self, data_set: int) -> None:
        known = self.get(f"dataset/{data_set}").get_json()["result"]
        kept = ("id", "column_name", "type", "is_dttm", "expression", "groupby", "filterable")
        columns = [{key: column[key] for key in kept} for column in known["columns"]]
        columns.append({"column_name": "gross", "expression": "amount * 1.19", "type": "REAL"})
        metrics = [{key: one[key] for key in ("id", "metric_name", "expression")} for one in known["metrics"]]
        revenue = "SUM(amount) / COUNT(DISTINCT customer)"
        metrics.append({"metric_name": "revenue", "expression": revenue})
        self.send("put", f"dataset/{data_set}", {"columns": columns, "metrics": metrics})

    def add_chart(self, name: str, kind: str, data_set: int, params: dict[str, Any]) -> int:
        """Add a chart of a data set."""
        form = {"viz_type": kind, "datasource": f"{data_set}__table", **params}
        chart: dict[str, Any] = {"slice_name": name, "viz_type": kind, "params": json.dumps(form)}
        chart |= {"datasource_id": data_set, "datasource_type": "table"}
        return int(self.send("post", "chart/", chart)["id"])

    def add_dashboard(self, title: str, charts: dict[str, int], orders: int | None = None) -> int:
        """Add a published dashboard with charts, which a column of orders filters."""
        position: dict[str, Any] = {
            "DASHBOARD_VERSION_KEY": "v2",
            "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
            "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": [], "parents": ["ROOT_ID"]},
        }
        for chart in charts.values():
            place = f"CHART-{chart}"
            position[place] = {
                "type": "CHART",
                "id": place,
                "children": [],
                "meta": {"chartId": chart, "width": 4, "height": 50},
            }
            position["GRID_ID"]["children"].append(place)
        scope = {"rootPath": ["ROOT_ID"], "excluded": [charts["by country"]] if orders else []}
        country = {
            "id": "NATIVE_FILTER-a",
            "name": "Country",
            "filterType": "filter_select",
            "type": "NATIVE_FILTER",
            "targets": [{"datasetId": orders, "column": {"name": "country"}}],
            "scope": scope,
            "defaultDataMask": {"filterState": {"value": ["DE"]}},
        }
        filters = [country] if orders else []
        metadata = {"native_filter_configuration": filters, "positions": position}
        dashboard = {"dashboard_title": title, "slug": title.lower(), "published": True}
        dashboard |= {"position_json": json.dumps(position), "json_metadata": json.dumps(metadata)}
        identifier = int(self.send("post", "dashboard/", dashboard)["id"])
        for chart in charts.values():
            self.send("put", f"chart/{chart}", {"dashboards": [identifier]})
        return identifier


if __name__ == "__main__":
    main()
