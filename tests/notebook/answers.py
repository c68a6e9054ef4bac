"""Expected results of the notebook's cells on TICKIT, derived by hand from its jobs and models.

Used by pytest, which asks the queries over `gremlin-lang`, and by `check_notebook.py`, which runs the
notebook with graph-notebook. Plain Python: neither environment has the other's packages.

A row is a tuple: of a path its last hop (from, what stands on the edge, to), of a map its values.
Names are short: ``raw/sales`` is ``s3://tickit-raw/sales``, ``public.sales`` is ``dev.public.sales``.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

Row = tuple[Any, ...]

_EVENTS_UPSTREAM = {
    ("raw/sales", "tickit_sales_ingest", "staging/sales"),
    ("raw/event", "tickit_sales_ingest", "staging/event"),
    ("staging/sales", "tickit_sales_ingest", "lake/sales_dl"),
    ("staging/event", "tickit_sales_ingest", "lake/sales_dl"),
    ("lake/sales_dl", "tickit_sales_load", "public.sales"),
    ("staging/event", "tickit_sales_load", "public.event"),
    ("public.sales", "model.tickit.stg_sales", "tickit_staging.stg_sales"),
    ("public.event", "model.tickit.stg_event", "tickit_staging.stg_event"),
    ("public.date", "model.tickit.stg_date", "tickit_staging.stg_date"),
    ("tickit_staging.stg_sales", "model.tickit.top_events_by_sales", "tickit_marts.top_events_by_sales"),
    ("tickit_staging.stg_event", "model.tickit.top_events_by_sales", "tickit_marts.top_events_by_sales"),
    ("tickit_staging.stg_date", "model.tickit.top_events_by_sales", "tickit_marts.top_events_by_sales"),
    ("tickit_ref.category_map", "model.tickit.top_events_by_sales", "tickit_marts.top_events_by_sales"),
}
_FROM_EVENTS = {
    ("tickit_marts.top_events_by_sales", "exposure.tickit.sales_dashboard", "tickit/sales_dashboard"),
}
_SALES_AND_PEOPLE = {
    ("tickit_staging.stg_sales", "model.tickit.fct_sales", "tickit_marts.fct_sales"),
    ("tickit_marts.fct_sales", "model.tickit.people", "tickit_marts.dim_people"),
    ("tickit_marts.fct_sales", "exposure.tickit.sales_dashboard", "tickit/sales_dashboard"),
}
_REST = {
    ("tickit_staging.stg_event", "model.tickit.fct_sales", "tickit_marts.fct_sales"),
    ("tickit_staging.stg_date", "model.tickit.fct_sales", "tickit_marts.fct_sales"),
    ("public.users", "model.tickit.stg_users", "tickit_staging.stg_users"),
    ("tickit_staging.stg_users", "model.tickit.people", "tickit_marts.dim_people"),
    ("tickit_staging.stg_users", "snapshot.tickit.users_snapshot", "snapshots.users_snapshot"),
}
_NET = "pricepaid - commission"


def _copied(column: str) -> set[Row]:
    """Return the path of a column that is copied unchanged from the raw file to the fact table's view."""
    places = ["raw/sales", "staging/sales", "lake/sales_dl", "public.sales", "tickit_staging.stg_sales"]
    return {(f"{source}#{column}", "IDENTITY", f"{target}#{column}") for source, target in pairwise(places)}


# By the id of a cell.
ANSWERS: Mapping[str, set[Row]] = {
    "pipeline": _EVENTS_UPSTREAM | _FROM_EVENTS | _SALES_AND_PEOPLE | _REST,
    "upstream": _EVENTS_UPSTREAM,
    "jobs": {
        ("model.tickit.stg_date", "dbt", "dbt 1.11.16"),
        ("model.tickit.stg_event", "dbt", "dbt 1.11.16"),
        ("model.tickit.stg_sales", "dbt", "dbt 1.11.16"),
        ("model.tickit.top_events_by_sales", "dbt", "dbt 1.11.16"),
        ("seed.tickit.category_map", "dbt", "dbt 1.11.16"),
        ("tickit_sales_ingest", "spark", "spark 3.5.9"),
        ("tickit_sales_load", "spark", "spark 3.5.9"),
    },
    "columns": {
        ("tickit_marts.fct_sales#net_amount", "AGGREGATION", "tickit_marts.dim_people#amount"),
        ("tickit_marts.fct_sales#pricepaid", "AGGREGATION", "tickit_marts.dim_people#amount"),
        ("tickit_staging.stg_sales#pricepaid", "TRANSFORMATION", "tickit_marts.fct_sales#net_amount"),
        ("tickit_staging.stg_sales#commission", "TRANSFORMATION", "tickit_marts.fct_sales#net_amount"),
        ("tickit_staging.stg_sales#pricepaid", "IDENTITY", "tickit_marts.fct_sales#pricepaid"),
    }
    | _copied("pricepaid")
    | _copied("commission"),
    "expressions": {
        (
            "tickit_marts.fct_sales#net_amount",
            "AGGREGATION",
            "sum(net_amount)",
            "tickit_marts.dim_people#amount",
        ),
        (
            "tickit_marts.fct_sales#pricepaid",
            "AGGREGATION",
            "sum(pricepaid)",
            "tickit_marts.dim_people#amount",
        ),
        (
            "tickit_staging.stg_sales#pricepaid",
            "TRANSFORMATION",
            _NET,
            "tickit_marts.fct_sales#net_amount",
        ),
        (
            "tickit_staging.stg_sales#commission",
            "TRANSFORMATION",
            _NET,
            "tickit_marts.fct_sales#net_amount",
        ),
    },
    "decides": {
        ("tickit_ref.category_map#eventname", "JOIN"),
        ("tickit_staging.stg_date#date_id", "JOIN"),
        ("tickit_staging.stg_event#eventid", "JOIN"),
        ("tickit_staging.stg_event#eventname", "JOIN,GROUP_BY"),
        ("tickit_staging.stg_sales#dateid", "JOIN"),
        ("tickit_staging.stg_sales#eventid", "JOIN,GROUP_BY"),
        ("tickit_staging.stg_sales#pricepaid", "FILTER"),
    },
    "impact": {
        ("raw/sales", "tickit_sales_ingest", "staging/sales"),
        ("staging/sales", "tickit_sales_ingest", "lake/sales_dl"),
        ("lake/sales_dl", "tickit_sales_load", "public.sales"),
        ("public.sales", "model.tickit.stg_sales", "tickit_staging.stg_sales"),
        ("tickit_staging.stg_sales", "model.tickit.top_events_by_sales", "tickit_marts.top_events_by_sales"),
    }
    | _FROM_EVENTS
    | _SALES_AND_PEOPLE,
    "impact-count": {("exposure", 1), ("file", 2), ("table", 4), ("view", 1)},
    "no-producer": {
        ("public.date", "model.tickit.stg_date"),
        ("public.users", "model.tickit.stg_users"),
    },
    "owners": {("tickit/sales_dashboard", "data@example.com")},
    "tags": {
        ("tickit_marts.dim_people", "table"),
        ("tickit_marts.fct_sales", "table"),
        ("tickit_marts.top_events_by_sales", "table"),
    },
    # The tests of the mart and of the table of sales; dbt's results are not in the sample.
    "tests": {
        ("assert_positive", "custom_sql", "not run"),
        ("not_null_top_events_by_sales_eventid", "not_null", "not run"),
        ("unique_top_events_by_sales_eventid", "unique", "not run"),
        ("source_not_null_tickit_sales_salesid", "not_null", "not run"),
        ("source_unique_tickit_sales_salesid", "unique", "not run"),
    },
    "datasets-fresh": {
        ("staging/sales", "tickit_sales_ingest", 1795252901088),
        ("staging/event", "tickit_sales_ingest", 1795252901088),
        ("lake/sales_dl", "tickit_sales_ingest", 1795252901088),
        ("public.sales", "tickit_sales_load", 1795252927090),
        ("public.event", "tickit_sales_load", 1795252927090),
    },
    "freshness": {("tickit_daily", 21, 0, 0)},
    "jobs-fresh": {
        ("tickit_sales_ingest", 1795252901088, 520, "succeeded"),
        ("tickit_sales_load", 1795252927090, 500, "succeeded"),
    },
}
# Where a row says when something ran under an id of that run: not known by hand.
_LEFT_OUT = {"last_run_id", "last_merged_at"}


def rows(found: Iterable[Any]) -> Counter[Row]:
    """Return results as rows with their counts. Keys of maps are texts: ``name``, ``T.id``."""
    return Counter(_row(each) for each in found)


def expected(cell: str) -> Counter[Row]:
    """Return the expected rows, each once."""
    return Counter(ANSWERS[cell])


def short(identifier: Any) -> Any:
    """Return ``lake/sales_dl#net`` of a column id; other texts are unchanged."""
    if not isinstance(identifier, str) or not identifier.startswith("dev|"):
        return identifier
    _, namespace, *names = identifier.split("|")
    where = re.sub(r"^(s3://tickit-|dbt://|redshift:.*)", "", namespace)
    name = names[0].removeprefix("dev.")
    return "#".join([f"{where}/{name}" if where else name, *names[1:]])


def _row(result: Any) -> Row:
    if isinstance(result, list):
        source, edge, target = result[-3:]
        # A path up is written down as it was walked, so the edge says which end is which.
        ends = {short(edge[f"Direction.{end}"]["T.id"]) for end in ("IN", "OUT")}
        assert ends == {short(source["T.id"]), short(target["T.id"])}
        value = edge.get("transformation") or edge["job_name"]
        return (short(edge["Direction.OUT"]["T.id"]), value, short(edge["Direction.IN"]["T.id"]))
    if len(result) == 1:  # an entry of a map that was unfolded
        ((key, value),) = result.items()
        return (key, value)
    values = [value for key, value in result.items() if key not in _LEFT_OUT]
    return tuple(_plain(value) for value in values)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return ", ".join(value)
    return value.removeprefix("dev.") if isinstance(value, str) and value.startswith("dev.") else short(value)
