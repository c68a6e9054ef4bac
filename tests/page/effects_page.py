"""A history of two moments with dashboards, and its page."""

from pathlib import Path
from typing import Any

from lineage_merge.exporters.page import Options, render_moments
from lineage_merge.model.elements import JobKey, column_id
from tests.history.made_history import MadeHistory
from tests.made_merges import Made, dataset
from tests.page import compared_page

FIRST = "2026-01-01T23:59:59Z"
DASHBOARDS = "dbt://shop|"
MARTS = "redshift://wh:5439|dev.marts."
RAW, FX, STOCK = "s3://shop-raw|orders", "s3://shop-raw|fx", "s3://shop-raw|stock"
ORDERS, REVENUE = f"{MARTS}orders", f"{MARTS}revenue"
CUSTOMERS, PEOPLE = f"{MARTS}customers", f"{MARTS}people"
LOAD = ("spark", "load_orders")


def shop(*, after: bool) -> Made:
    """Dashboards of revenue, of customers (one of them new), of people, and of stock.

    After: `amount` has another type and is converted with the new file fx, `customer` is unchanged; people
    has another owner; stock is not read any more.
    """
    made = Made("shop")
    for name in (RAW, STOCK, *((FX,) if after else ())):
        made.node(name, "file")
    made.node(PEOPLE, owners=["ben" if after else "anna"])
    made.job(*LOAD, {ORDERS: [RAW, *((FX,) if after else ())]})
    _columns(made, LOAD, RAW, ORDERS, ["amount", "customer"])
    if after:
        made.feeds_column(LOAD, (FX, "rate"), (ORDERS, "amount"), transformation="TRANSFORMATION")
    _columns(made, _model(made, REVENUE, [ORDERS]), ORDERS, REVENUE, ["amount"])
    _columns(made, _model(made, CUSTOMERS, [ORDERS]), ORDERS, CUSTOMERS, ["customer"])
    made.column(ORDERS, "amount", data_type="bigint" if after else "int")
    _exposure(made, "sales_dashboard", [REVENUE])
    _exposure(made, "customer_dashboard", [CUSTOMERS])
    _exposure(made, "people_dashboard", [PEOPLE])
    _exposure(made, "stock_dashboard", [PEOPLE] if after else [PEOPLE, STOCK])
    if after:
        _exposure(made, "new_dashboard", [CUSTOMERS])
    return _named(made)


def _named(made: Made) -> Made:
    for identifier, row in made.nodes.items():
        if row["label"] == "table":
            qualified = identifier.rpartition("|")[2]
            row |= {"qualified_name": qualified, "name": qualified.rpartition(".")[2]}
    return made


def joined(*, after: bool) -> Made:
    """After: rows of orders are filtered by the new file fx."""
    made = shop(after=False)
    if after:
        made.node(FX, "file").column(FX, "day").job(*LOAD, {ORDERS: [FX]})
        ends = column_id(dataset(FX), "day"), dataset(ORDERS)
        made.edge(JobKey(*LOAD), ends[0], "influences", ends[1], transformation="JOIN")
    return made


def loaded(*, after: bool) -> Made:
    """After: the job that loads orders is known, without its columns."""
    made = Made("shop")
    _columns(made, _model(made, REVENUE, [ORDERS]), ORDERS, REVENUE, ["amount"])
    _exposure(made, "sales_dashboard", [REVENUE])
    if after:
        made.node(RAW, "file").job(*LOAD, {ORDERS: [RAW]})
    return _named(made)


def _columns(made: Made, job: tuple[str, str], source: str, target: str, names: list[str]) -> None:
    for name in names:
        made.feeds_column(job, (source, name), (target, name), transformation="IDENTITY")


def _model(made: Made, target: str, sources: list[str]) -> tuple[str, str]:
    job = ("dbt", f"model.shop.{target.rpartition('.')[2]}")
    made.job(*job, {target: sources}, project="shop")
    return job


def _exposure(made: Made, name: str, sources: list[str]) -> None:
    """dbt's exposures have feeds, and no job that writes them."""
    values: dict[str, Any] = {"job_type": "dbt", "job_name": f"exposure.shop.{name}"}
    made.node(f"{DASHBOARDS}{name}", "exposure", exposure_type="dashboard")
    for source in sources:
        key = JobKey("dbt", f"exposure.shop.{name}")
        made.edge(key, dataset(source), "feeds", dataset(f"{DASHBOARDS}{name}"), **values)


def save(folder: Path, before: Made, after: Made) -> Path:
    """Write the page of two moments to a file."""
    history = MadeHistory(str(folder / "history"))
    history.full("2026-01-01T04:00", before)
    history.full("2026-01-02T04:00", after)
    found = compared_page.moments(history.location, ["2026-01-01"], "2026-01-02")
    file = folder / "effects.html"
    options = Options(title="shop", made_at="2026-01-02 08:00 UTC")
    file.write_text(render_moments(found.moments, found.changes, options), encoding="utf-8")
    return file
