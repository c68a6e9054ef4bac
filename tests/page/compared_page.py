"""A scripted history of two DAGs at three moments, and its page."""

from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from lineage_merge.cli.page_moments import PageMoments, read_moments
from lineage_merge.exporters.page import Options, render_moments
from lineage_merge.infra.progress import no_progress
from lineage_merge.model.elements import encode
from lineage_merge.questions.traversal.staleness import Expectations
from tests.history.made_history import MadeHistory, at
from tests.made_merges import Made, dataset

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
    """The Spark jobs: a column dropped, renamed, of another type at 1; a job and its file removed at 2."""
    made = _nodes("daily", {RAW: "file", ORDERS: "table", STOCK: "table"})
    made.job(*LOAD, {ORDERS: [RAW], STOCK: [RAW]}, at=_time(moment, 4))
    for position, (name, data_type) in enumerate(_columns(moment).items()):
        source = name.removesuffix("_at")
        made.feeds_column(LOAD, (RAW, source), (ORDERS, name), transformation="IDENTITY")
        made.column(ORDERS, name, data_type=data_type, position=position)
    made.column(RAW, "note", data_type="string").column(STOCK, "sku", data_type="string")
    if moment < 2:
        made.nodes |= _nodes("daily", {EXPORT: "file"}).nodes
        made.job(*EXPORTER, {EXPORT: [ORDERS]}, at=_time(moment, 4))
    return made


def weekly(moment: int, names: Iterable[str] = ("customers",)) -> Made:
    """The dbt models: another expression and owner, and new models, at 2."""
    model = ("dbt", "model.shop.revenue")
    made = _nodes("weekly", {ORDERS: "table", REVENUE: "table"})
    made.node(REVENUE, owners=["anna" if moment < 2 else "ben"])
    made.job(*model, {REVENUE: [ORDERS]}, project="shop", at=_time(moment, 5))
    expression = "sum(amount)" if moment < 2 else "sum(amount - refund)"
    how = {"transformation": "AGGREGATION", "expression": expression}
    made.feeds_column(model, (ORDERS, "amount"), (REVENUE, "total"), **how)
    for name in names if moment == 2 else ():
        mart, job = f"{MARTS}{encode(name)}", ("dbt", f"model.shop.{name}")
        made.node(mart).job(*job, {mart: [ORDERS]}, project="shop", at=_time(moment, 5))
        made.nodes[dataset(mart)] |= {"name": name, "qualified_name": f"dev.marts.{name}"}
        made.feeds_column(job, (ORDERS, "id"), (mart, "order_id"), transformation="IDENTITY")
    # Both DAGs know the types.
    for position, (column, data_type) in enumerate(_columns(moment).items()):
        made.column(ORDERS, column, data_type=data_type, position=position)
    return made


def _nodes(dag: str, labels: dict[str, str]) -> Made:
    made = Made(dag)
    for identifier, label in labels.items():
        made.node(identifier, label)
        name = identifier.rpartition("|")[2]
        more = {"name": name.rpartition(".")[2]} | ({"qualified_name": name} if label == "table" else {})
        made.nodes[dataset(identifier)] |= more
    return made


def _columns(moment: int) -> dict[str, str]:
    if moment == 0:
        return {"id": "int", "amount": "int", "note": "string", "placed": "date"}
    return {"id": "int", "amount": "bigint", "placed_at": "date"}


def _time(moment: int, hour: int) -> int:
    return at(f"{TIMES[moment]}T0{hour}:00")


def write(location: str, *names: str) -> MadeHistory:
    """Write the history; `names`: of the new models, by default of one."""
    history = MadeHistory(location)
    for moment, day in enumerate(TIMES):
        history.full(f"{day}T04:00", _succeeded(daily(moment)))
        history.full(f"{day}T05:00", _succeeded(weekly(moment, names or ("customers",))))
    return history


def _succeeded(made: Made) -> Made:
    for node in made.nodes.values():
        if node["label"] == "job":
            node["status"] = "succeeded"
    return made


def moments(
    location: str,
    earlier: Sequence[str] = TIMES[:2],
    newest: str = TIMES[2],
    focus: str | None = None,
    older_than_ms: int | None = None,
) -> PageMoments:
    """Read the history as the command does."""
    expectations = Expectations(at("2026-01-03T08:00"), older_than_ms)
    return read_moments(location, earlier, newest, None, None, focus, None, expectations, no_progress)


def rendered(found: PageMoments) -> str:
    """Return the page of moments at a fixed time."""
    focus = found.start.id if found.start else ""
    return render_moments(found.moments, found.changes, Options(title="shop", focus=focus, made_at=MADE_AT))


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
