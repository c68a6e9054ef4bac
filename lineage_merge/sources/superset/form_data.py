"""What the parameters of a chart name: columns, metrics, filters, orders, by the roles of their keys. Pure.

One walk serves all types of charts; keys of the second query of a mixed chart end with ``_b``.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from lineage_merge.sources.json_values import as_list, as_mapping, as_text
from lineage_merge.sources.superset.documents import parse_object

# A column or a metric that is shown; one that decides on rows; one by which they are sorted.
Role = Literal["column", "metric", "filter", "sort", "time"]

_COLUMNS = frozenset(
    """
    groupby columns all_columns groupbyRows groupbyColumns x_axis series entity source target column dimension
    all_columns_x all_columns_y source_category target_category js_columns line_column geojson spatial
    start_spatial end_spatial start_time end_time subcategories tooltip_columns series_columns geom_column
    """.split()
)
# In some types of charts these name columns, in others they are something else.
_PERHAPS_COLUMNS = frozenset("id parent name y_axis point_radius mapbox_label tooltip_contents x y".split())
_METRICS = frozenset(
    """
    metrics metric metric_2 percent_metrics secondary_metric size tooltip_metrics point_radius_fixed
    """.split()
)
_SORTS = frozenset("order_by_cols timeseries_limit_metric series_limit_metric orderby x_axis_sort".split())
_FILTERS = frozenset("adhoc_filters filters having_filters where having extra_filters".split())
_TIMES = frozenset("granularity_sqla granularity".split())
# The keys of a table by its mode: of the other one they are left over.
_TABLES = frozenset({"table", "ag-grid-table", "handlebars"})
_OF_AGGREGATES = frozenset("groupby metrics percent_metrics timeseries_limit_metric".split())
_OF_ROWS = frozenset("all_columns order_by_cols".split())
# A chart as a matrix of charts: the roles of its keys, which end with ``_rows`` or ``_columns``, by its mode.
_MATRIX: Mapping[str, Mapping[str, Role]] = {
    "metrics": {"matrixify": "metric"},
    "dimensions": {"matrixify_dimension": "column", "matrixify_topn_metric": "sort"},
}
# Keys that say how something looks, what was computed for another chart, or what is used above.
_IGNORED = re.compile(
    r"(?:format(?:ting|ter)?|forma|scheme|colors?|picker|titles?|labels?|type|position|style|layout|size|margin"
    r"|width|height|range|bounds|text|header|template|lookup|config|suffix|symbol|asc|desc|grain_sqla|Order|Layout"
    r"|Function)(?:_?[bB])?$"
    r"|^(?:viz_type|datasource|selected_chart|slice_id|url_params|dashboards|dashboardId|queryFields|extra_form_data|since|until"
    r"|stackDimension|sort_by_metric|annotation_layers|select_country|markdown|x_axis_sort_\w+|js_\w+|matrixify_\w+|\w+_mode)$"
)
NO_FILTER = "No filter"


class Use(NamedTuple):
    """What a key names: a name, or an object with an expression; `key`: without ``_b``."""

    role: Role
    key: str
    value: Any


def read_uses(params: Mapping[str, Any], is_column: Callable[[str], bool]) -> Iterator[Use]:
    """Yield what the parameters of a chart name. `is_column`: whether the data set has a column."""
    left_over = _left_over(params)
    for written, value in params.items():
        key = written.removesuffix("_b")
        if key in left_over or value in (None, "", [], {}):
            continue
        if key in ("x", "y") and not (isinstance(value, str) and is_column(value)):
            yield from _read(Use("metric", key, value))
        elif key in _COLUMNS or (key in _PERHAPS_COLUMNS and _names_columns(value, is_column)):
            yield from _read(Use("column", key, value))
        elif key in _METRICS:
            if not (key == "size" and isinstance(value, int)):
                yield from _read(Use("metric", key, value))
        elif key in _SORTS:
            yield from _read(Use("sort", key, value))
        elif key in _FILTERS:
            yield from _read_filters(params, key, value)
        elif key in _TIMES:
            is_filter = as_text(params.get("time_range")) not in ("", NO_FILTER)
            yield from _read(Use("filter" if is_filter else "time", key, value))
    if params.get("sort_by_metric") is True:
        main = params.get("metric") or next(iter(as_list(params.get("metrics"))), None)
        yield from _read(Use("sort", "sort_by_metric", main))
    if params.get("order_by_entity") is True:
        yield from _read(Use("sort", "order_by_entity", params.get("entity")))
    if params.get("matrixify_enable") is True:
        yield from _read_matrix(params)
    # Of a map: a chart that is drawn at each of its places, itself without such a one.
    inner = parse_object(parse_object(params.get("selected_chart")).get("params"))
    if inner:
        yield from read_uses({**inner, "selected_chart": None}, is_column)


def _read_matrix(params: Mapping[str, Any]) -> Iterator[Use]:
    for axis in ("rows", "columns"):
        for start, role in _MATRIX.get(as_text(params.get(f"matrixify_mode_{axis}")), {}).items():
            value = params.get(f"{start}_{axis}")
            yield from _read(
                Use(role, start, as_mapping(value).get("dimension") if role == "column" else value)
            )


def find_unknown(params: Mapping[str, Any], is_known: Callable[[str], bool]) -> Iterator[str]:
    """Yield the keys without a known role that name a column or a metric."""
    roles = _COLUMNS | _METRICS | _SORTS | _FILTERS | _TIMES | _PERHAPS_COLUMNS
    for key, value in params.items():
        if key.removesuffix("_b") not in roles and not _IGNORED.search(key) and _names(value, is_known):
            yield key


def find_malformed(params: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys that name columns and metrics in no known form."""
    for key in params:
        value, plain = params[key], key.removesuffix("_b")
        if plain in _FILTERS | _SORTS | _METRICS | _COLUMNS and plain not in ("size", "subcategories"):
            values = value if isinstance(value, list) else [value]
            if any(isinstance(one, int | float) and not isinstance(one, bool) for one in values):
                yield key


def _left_over(params: Mapping[str, Any]) -> frozenset[str]:
    if params.get("viz_type") not in _TABLES:
        return frozenset()
    mode = params.get("query_mode") or ("raw" if params.get("all_columns") else "aggregate")
    return _OF_AGGREGATES if mode == "raw" else _OF_ROWS


def _read(use: Use) -> Iterator[Use]:
    """Yield the single names and expressions of a value."""
    waiting = [use.value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            order = _parse_order(value) if use.role == "sort" else None
            name = value if order is None else order
            if isinstance(name, str) and name.strip():
                yield use._replace(value=name.strip())
            elif isinstance(name, Mapping):
                waiting.append(name)
        elif isinstance(value, list):
            waiting += reversed(value)
        elif isinstance(value, Mapping):
            if not value.keys().isdisjoint(("expressionType", "sqlExpression", "aggregate")):
                yield use._replace(value=value)
            elif "column_name" in value or "metric_name" in value:
                yield use._replace(value=as_text(value.get("column_name") or value.get("metric_name")))
            elif use.key == "point_radius_fixed":
                if value.get("type") == "metric":
                    waiting.append(value.get("value"))
            else:  # {"type": "latlong", "lonCol": "lon", "latCol": "lat"}
                waiting += [name for key, name in reversed([*value.items()]) if key.endswith("Col")]


def _parse_order(text: str) -> Any:
    """Return what ``["day", false]`` names, None for other text."""
    if not text.startswith("["):
        return None
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return parsed[0] if isinstance(parsed, list) and parsed else None


def _read_filters(params: Mapping[str, Any], key: str, value: Any) -> Iterator[Use]:
    if isinstance(value, str):
        yield Use("filter", key, {"expressionType": "SQL", "sqlExpression": value})
        return
    for one in map(as_mapping, as_list(value)):
        if as_text(one.get("sqlExpression")):
            yield Use("filter", key, {"expressionType": "SQL", "sqlExpression": one["sqlExpression"]})
            continue
        subject = one.get("subject") or one.get("col")
        is_open = one.get("operator") == "TEMPORAL_RANGE" and one.get("comparator") in (None, "", NO_FILTER)
        if subject:
            yield from _read(Use("time" if is_open else "filter", key, subject))


def _names_columns(value: Any, is_column: Callable[[str], bool]) -> bool:
    return not isinstance(value, str) or is_column(value)


def _names(value: Any, is_known: Callable[[str], bool]) -> bool:
    """Return whether a value names a column or a metric, or is an expression."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str) and is_known(one):
            return True
        if isinstance(one, list):
            waiting += one
        elif isinstance(one, Mapping):
            if not one.keys().isdisjoint(("sqlExpression", "column_name")):
                return True
            waiting += one.values()
    return False
