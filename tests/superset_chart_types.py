"""All types of charts that Superset 6.1 offers, with the controls of each that take columns. Pure.

Each control of a chart has a column of its own, so an edge says from which control it comes.
"""

import json
from typing import Any

# As `MainPreset` of Superset registers them, with the controls of their panels. `groupby:one`: as text.
CHART_TYPES = {
    "ag-grid-table": "query_mode groupby metrics percent_metrics timeseries_limit_metric",
    "big_number": "x_axis metric",
    "big_number_total": "metric",
    "box_plot": "columns groupby metrics series_limit_metric",
    "bubble": "series entity x y size granularity_sqla",
    "bubble_v2": "series entity x y size orderby",
    "bullet": "metric granularity_sqla",
    "cal_heatmap": "metrics granularity_sqla",
    "cartodiagram": "selected_chart geom_column",
    "chord": "groupby:one columns:one metric sort_by_metric granularity_sqla",
    "compare": "metrics groupby timeseries_limit_metric granularity_sqla",
    "country_map": "entity metric granularity_sqla",
    "deck_arc": "start_spatial end_spatial dimension js_columns tooltip_contents granularity_sqla",
    "deck_contour": "spatial size tooltip_contents granularity_sqla",
    "deck_geojson": "geojson tooltip_contents granularity_sqla",
    "deck_grid": "spatial size tooltip_contents js_columns granularity_sqla",
    "deck_heatmap": "spatial size tooltip_contents granularity_sqla",
    "deck_hex": "spatial size tooltip_contents js_columns granularity_sqla",
    "deck_multi": "deck_slices",
    "deck_path": "line_column metric js_columns tooltip_contents granularity_sqla",
    "deck_polygon": "line_column metric point_radius_fixed js_columns tooltip_contents granularity_sqla",
    "deck_scatter": "spatial point_radius_fixed dimension js_columns tooltip_contents granularity_sqla",
    "deck_screengrid": "spatial size js_columns tooltip_contents granularity_sqla",
    "echarts_area": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "echarts_timeseries": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "echarts_timeseries_bar": "x_axis metrics groupby timeseries_limit_metric x_axis_sort stackDimension",
    "echarts_timeseries_line": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "echarts_timeseries_scatter": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "echarts_timeseries_smooth": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "echarts_timeseries_step": "x_axis metrics groupby timeseries_limit_metric x_axis_sort",
    "event_flow": "entity all_columns_x all_columns order_by_entity granularity_sqla",
    "funnel": "groupby metric sort_by_metric",
    "gantt_chart": "start_time end_time y_axis series tooltip_columns tooltip_metrics order_by_cols",
    "gauge_chart": "groupby metric sort_by_metric",
    "graph_chart": "source target metric source_category target_category",
    "handlebars": "query_mode groupby metrics percent_metrics timeseries_limit_metric",
    "heatmap_v2": "x_axis groupby:one metric",
    "histogram_v2": "column groupby",
    "horizon": "metrics groupby timeseries_limit_metric granularity_sqla",
    "mapbox": "all_columns_x all_columns_y groupby point_radius mapbox_label granularity_sqla",
    "mixed_timeseries": "x_axis metrics groupby timeseries_limit_metric"
    " metrics_b groupby_b timeseries_limit_metric_b adhoc_filters_b",
    "paired_ttest": "metrics groupby timeseries_limit_metric granularity_sqla",
    "para": "series metrics secondary_metric timeseries_limit_metric granularity_sqla",
    "partition": "metrics groupby secondary_metric timeseries_limit_metric granularity_sqla",
    "pie": "groupby metric sort_by_metric",
    "pivot_table_v2": "groupbyColumns groupbyRows metrics series_limit_metric",
    "pop_kpi": "metric",
    "radar": "groupby metrics timeseries_limit_metric",
    "rose": "metrics groupby timeseries_limit_metric granularity_sqla",
    "sankey_v2": "source target metric sort_by_metric",
    "sunburst_v2": "columns metric secondary_metric sort_by_metric",
    "table": "query_mode groupby metrics percent_metrics timeseries_limit_metric",
    "time_pivot": "metric granularity_sqla",
    "time_table": "groupby metrics granularity_sqla",
    "tree_chart": "id parent name metric",
    "treemap_v2": "groupby metric sort_by_metric",
    "waterfall": "x_axis groupby metric",
    "word_cloud": "series metric sort_by_metric",
    "world_map": "entity metric secondary_metric sort_by_metric granularity_sqla",
}
# A table of rows, and a chart as a matrix of charts.
_VARIANTS = {
    "table": {"rows": "raw_mode all_columns order_by_cols"},
    "pie": {
        "matrix": "groupby metric matrixify_enable matrixify_rows matrixify_dimension_columns"
        " matrixify_topn_metric_columns"
    },
}
_LISTS = frozenset(
    """
    all_columns columns groupby groupbyColumns groupbyRows js_columns mapbox_label tooltip_columns
    """.split()
)
_METRICS = frozenset("metric secondary_metric size x y".split())
_LISTS_OF_METRICS = frozenset("metrics percent_metrics tooltip_metrics matrixify_rows".split())
_SORTS = frozenset(
    "timeseries_limit_metric series_limit_metric orderby matrixify_topn_metric_columns".split()
)


def list_charts() -> dict[str, tuple[str, str]]:
    """Return the type and the controls of each chart by its title."""
    charts = {name: (name, f"{controls} adhoc_filters") for name, controls in CHART_TYPES.items()}
    for name, variants in _VARIANTS.items():
        charts |= {f"{name} ({title})": (name, controls) for title, controls in variants.items()}
    return charts


def list_columns() -> list[str]:
    """Return the columns of the table."""
    found: dict[str, None] = {}
    for _, controls in list_charts().values():
        for control in controls.split():
            found.update(dict.fromkeys(_Control(control).columns))
    return list(found)


def make_form_data(controls: str) -> dict[str, Any]:
    """Return the form data of a chart with a column in each control."""
    form: dict[str, Any] = {"time_range": "Last year"}
    for control in map(_Control, controls.split()):
        form |= control.form
    return form


def expect_edges(controls: str) -> set[str]:
    """Return the edges of a chart, as `tests/sources/superset/test_superset.py` writes them."""
    return {edge for control in controls.split() for edge in _Control(control, controls).edges}


class _Control:
    """A control with a column: its part of the form data, the columns, the edges."""

    def __init__(self, written: str, controls: str = "") -> None:
        name, _, how = written.partition(":")
        plain, column = name.removesuffix("_b"), f"{name}_col"
        self.columns = [column]
        self.edges = {f"{column} <- {column} IDENTITY"}
        metric = {"expressionType": "SIMPLE", "aggregate": "SUM", "column": {"column_name": column}}
        metric["label"] = name
        of_metric = {f"{name} <- {column} AGGREGATION"}
        value: Any = column
        if plain in _LISTS:
            value = column if how == "one" else [column]
        elif plain in _METRICS:
            value, self.edges = metric, of_metric
        elif plain in _LISTS_OF_METRICS:
            value, self.edges = [metric], of_metric
        elif plain in _SORTS:
            value, self.edges = metric, {f"- {column} SORT"}
        elif plain == "adhoc_filters":
            one = {"expressionType": "SIMPLE", "clause": "WHERE", "operator": "==", "comparator": "a"}
            value, self.edges = [{**one, "subject": column}], {f"- {column} FILTER"}
        self.form: dict[str, Any] = {name: value}
        match plain:
            case "percent_metrics":
                self.edges = {f"%{name} <- {column} AGGREGATION"}
            case "granularity_sqla":
                self.edges = {f"- {column} FILTER"}
            case "order_by_cols":
                self.form, self.edges = {name: [json.dumps([column, False])]}, {f"- {column} SORT"}
            case "point_radius_fixed":
                self.form, self.edges = {name: {"type": "metric", "value": metric}}, of_metric
            case "tooltip_contents":
                self.form = {name: [{"item_type": "column", "column_name": column}]}
            case "spatial" | "start_spatial" | "end_spatial":
                self.columns = [f"{name}_lat", f"{name}_lon"]
                value = {"type": "latlong", "latCol": self.columns[0], "lonCol": self.columns[1]}
                self.form = {name: value}
                self.edges = {f"{each} <- {each} IDENTITY" for each in self.columns}
            case "selected_chart":
                inner = make_form_data("groupby metric")
                chart = {"slice_name": "inner", "params": json.dumps(inner), "viz_type": "pie"}
                self.form = {name: json.dumps(chart)}
                self.columns, self.edges = [], expect_edges("groupby metric")
            case "matrixify_dimension_columns":
                self.form = {name: {"dimension": column, "values": ["a"]}}
                self.form |= {"matrixify_mode_columns": "dimensions"}
            case "matrixify_rows":
                self.form |= {"matrixify_mode_rows": "metrics"}
            case "deck_slices":  # numbers of other charts
                self.form, self.columns, self.edges = {name: [1]}, [], set()
            case "query_mode" | "raw_mode":
                self.form = {"query_mode": "raw" if plain == "raw_mode" else "aggregate"}
                self.columns, self.edges = [], set()
            case "matrixify_enable" | "sort_by_metric" | "order_by_entity":
                main = "entity_col" if plain == "order_by_entity" else "metric_col"
                self.form, self.columns = {name: True}, []
                self.edges = set() if plain == "matrixify_enable" else {f"- {main} SORT"}
            case "x_axis_sort":  # by a metric that is shown
                self.form, self.columns, self.edges = {name: "metrics"}, [], {"- metrics_col SORT"}
            case "stackDimension":  # one of the dimensions
                self.form, self.columns, self.edges = {name: "groupby_col"}, [], set()
