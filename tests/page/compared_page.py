"""A scripted history of two DAGs at three moments, and its page."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from lineage_merge.cli.page_moments import PageMoments, read_moments
from lineage_merge.exporters.page import Options, render_moments
from lineage_merge.infra.progress import no_progress
from tests.history.made_history import MadeHistory
from tests.made_merges import Made

MADE_AT = "2026-01-03 08:00 UTC"
RAW = "s3://shop-raw|orders"
WAREHOUSE = "redshift://wh:5439|dev.public."
MARTS = "redshift://wh:5439|dev.marts."
ORDERS, STOCK = f"{WAREHOUSE}orders", f"{WAREHOUSE}stock"
REVENUE, CUSTOMERS = f"{MARTS}revenue", f"{MARTS}customers"
EXPORT = "s3://shop-export|orders_csv"
LOAD, EXPORTER = ("spark", "load_orders"), ("spark", "export_orders")
KEYS = ("2026-01-01T23:59:59Z", "2026-01-02T23:59:59Z", "2026-01-03T23:59:59Z")
TIMES = ("2026-01-01", "2026-01-02", "2026-01-03")


def daily(moment: int) -> Made:
    """The Spark jobs: a column dropped, one renamed, and one of another type at 1; a job and its file removed at 2."""
    made = Made("daily").node(RAW, "file").node(ORDERS).node(STOCK)
    made.job(*LOAD, {ORDERS: [RAW], STOCK: [RAW]}, at=1_767_240_000_000 + moment * 86_400_000)
    columns = {"id": "int", "amount": "int" if moment == 0 else "bigint"}
    renamed = "placed" if moment == 0 else "placed_at"
    columns |= {"note": "string", renamed: "date"} if moment == 0 else {renamed: "date"}
    for position, (name, data_type) in enumerate(columns.items()):
        source = "placed" if name == renamed else name
        made.feeds_column(LOAD, (RAW, source), (ORDERS, name), transformation="IDENTITY")
        made.column(ORDERS, name, data_type=data_type, position=position)
    made.column(RAW, "note", data_type="string").column(STOCK, "sku", data_type="string")
    if moment < 2:
        made.node(EXPORT, "file").job(*EXPORTER, {EXPORT: [ORDERS]})
    return made


def weekly(moment: int, name: str = "customers") -> Made:
    """The dbt models: another expression and owner, and a new model, at 2."""
    model = ("dbt", "model.shop.revenue")
    made = Made("weekly").node(ORDERS)
    made.node(REVENUE, qualified_name="dev.marts.revenue", owners=["anna" if moment < 2 else "ben"])
    made.job(*model, {REVENUE: [ORDERS]}, project="shop")
    expression = "sum(amount)" if moment < 2 else "sum(amount - refund)"
    made.feeds_column(
        model, (ORDERS, "amount"), (REVENUE, "total"), transformation="AGGREGATION", expression=expression
    )
    if moment == 2:
        made.node(f"{MARTS}{name}").job(
            "dbt", f"model.shop.{name}", {f"{MARTS}{name}": [ORDERS]}, project="shop"
        )
        made.feeds_column(
            ("dbt", f"model.shop.{name}"),
            (ORDERS, "id"),
            (f"{MARTS}{name}", "order_id"),
            transformation="IDENTITY",
        )
    return made


def write(location: str) -> MadeHistory:
    """Write the history."""
    history = MadeHistory(location)
    for moment, day in enumerate(TIMES):
        history.full(f"{day}T04:00", daily(moment))
        history.full(f"{day}T05:00", weekly(moment))
    return history


def moments(
    location: str, earlier: Sequence[str] = TIMES[:2], newest: str = TIMES[2], focus: str | None = None
) -> PageMoments:
    """Read the history as the command does."""
    return read_moments(location, earlier, newest, None, None, focus, None, no_progress)


def rendered(found: PageMoments) -> str:
    """Return the page of moments at a fixed time."""
    return render_moments(found.moments, found.changes, Options(title="shop", made_at=MADE_AT))


@cache
def page() -> str:
    """Return the page of the three moments."""
    with TemporaryDirectory() as folder:
        write(folder)
        return rendered(moments(folder))


def save(folder: Path) -> Path:
    """Write the page to a file."""
    file = folder / "compared.html"
    file.write_text(page(), encoding="utf-8")
    return file
