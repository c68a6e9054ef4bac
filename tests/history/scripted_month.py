"""A scripted month of two DAGs, January 2026: daily at 04:00, marts at 05:00."""

from lineage_merge.history import layout
from lineage_merge.history.layout import DagScope
from lineage_merge.infra import storage
from tests.history.made_history import MadeHistory
from tests.made_merges import Made, dataset

LOAD, AUDIT, MODEL = ("spark", "load"), ("spark", "audit"), ("dbt", "model")
# Merges of daily that changed lineage; on the other days it changed nothing, on two it did not run.
DAILY_CHANGES = (1, 5, 9, 14, 18, 21, 24, 27)
WITHOUT_MERGES = (10, 11)
MARTS_CHANGES = (1, 7, 12, 16, 22, 27)
MOVED = {dataset("s3://lake|ref"): dataset("wh|ref")}


def daily(day: int) -> Made:
    """The lineage of daily after the merge of a day."""
    sources = ["raw", "raw2"] if day >= 27 else ["raw"]
    # Since marts moved the dataset, the load of daily finds it under its new id.
    ref = "wh|ref" if day > 16 else "s3://lake|ref"
    made = Made("daily").job(*LOAD, {"orders": sources, ref: ["raw"]}, at=day)
    made.column("orders", "id", data_type="int")
    made.column("orders", "amount", data_type="bigint" if day >= 9 else "int")
    if 5 <= day < 14:
        made.column("orders", "note", data_type="string")
    if day >= 14:  # renamed
        made.column("orders", "comment", data_type="string")
    if 18 <= day < 24:
        made.job(*AUDIT, {"audit_log": ["orders"]}, at=day)
    return made


def marts(day: int) -> Made:
    """The lineage of marts after the merge of a day."""
    made = Made("marts").node("mart", "table" if day >= 7 else "view", owners=["ana"] if day >= 22 else [])
    made.job(*MODEL, {"mart": ["orders", "wh|ref"] if day >= 16 else ["orders"]}, at=day, project="p")
    # The column of orders is that of daily, with the type that the graph has.
    made.node("orders").column("orders", "amount", data_type="bigint" if day >= 9 else "int")
    expression = "sum(amount) / 100" if day >= 12 else "sum(amount)"
    made.column("mart", "total", data_type="decimal")
    edge = made.feeds_column(MODEL, ("orders", "amount"), ("mart", "total"), expression=expression)
    made.nodes[f"{dataset('orders')}|amount"]["data_type"] = "bigint" if day >= 9 else "int"
    made.nodes[f"{dataset('mart')}|total"]["data_type"] = "decimal"
    return edge


def scripted_month(location: str) -> MadeHistory:
    """Write the month: 30 merges and one that was killed."""
    history = MadeHistory(location)
    for day in range(1, 31):
        date = f"2026-01-{day:02}"
        if day in DAILY_CHANGES:
            history.full(f"{date}T04:00", daily(day))
        elif day == 20:
            _killed(history, f"{date}T04:00")
        elif day not in WITHOUT_MERGES and day <= 27:
            history.unchanged(f"{date}T04:00", "daily")
        if day in MARTS_CHANGES:
            # On the 27th both DAGs merge at once.
            time = f"{date}T04:00" if day == 27 else f"{date}T05:00"
            history.full(time, marts(day), MOVED if day == 16 else None)
    return history


def _killed(history: MadeHistory, time: str) -> None:
    record = history.full(time, Made("daily").job("spark", "half", {"wrong": ["raw"]}))
    history.records.pop()
    scope = DagScope("dev", "daily")
    storage.delete_file(layout.json_file(history.location, layout.MERGES, scope, record.name))
