"""Fingerprints of entries: which elements changed, and that only entries that changed an element are read."""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.graph_format.arrow import arrow_schema
from lineage_merge.graph_format.schema import edge_ddl, node_ddl
from lineage_merge.history import fingerprints, layout
from lineage_merge.history.fingerprints import add_sums, read_fingerprints, sums_of, write_sums
from lineage_merge.history.layout import DagScope, MergeName
from lineage_merge.history.timeline import TimelineEvent, merges_of, timeline
from lineage_merge.infra.arrow_tables import table_of_rows
from lineage_merge.model.errors import IntermediateError
from lineage_merge.questions.past import resolve_past
from tests.history.made_history import MadeHistory
from tests.history.scripted_month import scripted_month
from tests.made_merges import Made

DAILY = DagScope("dev", "daily")
NAME = MergeName(1_767_225_600_000, "00000000000a")

ORDERS: dict[str, Any] = {"id": "dev|wh|orders", "label": "table", "name": "orders", "tags": ["pii", "gold"]}
AMOUNT: dict[str, Any] = {
    "id": "dev|wh|orders|amount",
    "label": "column",
    "name": "amount",
    "data_type": "int",
}
OTHER: dict[str, Any] = {"id": "dev|wh|other", "label": "table", "name": "other"}
TOTAL: dict[str, Any] = {
    "id": "e",
    "label": "feeds_column",
    "from": "dev|wh|orders|amount",
    "to": "dev|wh|mart|total",
    "job_name": "sum_orders",
    "expression": "sum(amount)",
}
ROWS = [ORDERS, AMOUNT, OTHER, TOTAL]
NAMES = {
    "table": "dev|wh|orders",
    "column": "dev|wh|orders|amount",
    "other": "dev|wh|other",
    "target": "dev|wh|mart|total",
    "job": "sum_orders",
}


def sums_of_rows(rows: Sequence[dict[str, Any]]) -> list[int]:
    """Return the sums of rows of nodes and edges."""
    edges = [row for row in rows if "from" in row]
    nodes = [row for row in rows if "from" not in row]
    both = ((nodes, node_ddl()), (edges, edge_ddl()))
    return add_sums([sums_of(table_of_rows(of_kind, arrow_schema(ddl))) for of_kind, ddl in both])


def differing(tmp_path: Path, before: list[dict[str, Any]], after: list[dict[str, Any]]) -> set[str]:
    """Return the elements of NAMES whose fingerprint differs."""
    location = str(tmp_path)
    names = [MergeName(NAME.time + number, NAME.id) for number in range(2)]
    for name, rows in zip(names, (before, after), strict=True):
        write_sums(location, DAILY, name, sums_of_rows(rows))
    old, new = read_fingerprints(location, [(DAILY, each) for each in names], NAMES.values())
    assert old is not None
    assert new is not None
    return {each for each, one, other in zip(NAMES, old, new, strict=True) if one != other}


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, set()),
        ({"orders": {"tags": ["gold", "pii"]}}, set()),
        ({"orders": {"description": None}}, set()),
        ({"orders": {"last_run_at": 1, "rows_written": 5, "first_seen": 2}}, set()),
        ({"orders": {"description": "all orders"}}, {"table"}),
        ({"amount": {"data_type": "bigint"}}, {"table", "column"}),
        ({"other": {"label": "view"}}, {"other"}),
        ({"e": {"expression": "max(amount)"}}, {"column", "target", "job"}),
    ],
)
def test_a_change_of_a_row_changes_the_elements_it_describes(
    tmp_path: Path, changed: Mapping[str, dict[str, Any]], expected: set[str]
) -> None:
    after = [row | changed.get(row["id"].rpartition("|")[2], {}) for row in ROWS]
    assert differing(tmp_path, ROWS, after) == expected


def test_a_missing_row_changes_the_elements_it_describes(tmp_path: Path) -> None:
    assert differing(tmp_path, ROWS, [ORDERS, OTHER, TOTAL]) == {"table", "column"}


def test_sums_do_not_depend_on_order_and_partitions() -> None:
    assert add_sums(
        [sums_of_rows([TOTAL, OTHER]), sums_of_rows([]), sums_of_rows([AMOUNT, ORDERS])]
    ) == sums_of_rows(ROWS)
    assert add_sums([]) == sums_of_rows([])


def test_entries_without_fingerprints_of_this_version_have_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = MergeName(NAME.time + 1, NAME.id)
    write_sums(str(tmp_path), DAILY, NAME, sums_of_rows(ROWS))
    monkeypatch.setattr(fingerprints, "VERSION", fingerprints.VERSION + 1)
    assert read_fingerprints(str(tmp_path), [(DAILY, NAME), (DAILY, other)], ["x"]) == [None, None]


@pytest.mark.parametrize("text", ["", "[]", '{"version": 3}', '{"version": 3, "sums": "eJw"}'])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    file = Path(layout.json_file(str(tmp_path), layout.FINGERPRINTS, DAILY, NAME))
    file.parent.mkdir(parents=True)
    file.write_text(text)
    with pytest.raises(IntermediateError, match=rf"{file.name}: not the fingerprints of an entry"):
        read_fingerprints(str(tmp_path), [(DAILY, NAME)], ["x"])


def events_of(location: str, name: str) -> list[TimelineEvent]:
    merges = merges_of(location, "dev")
    return timeline(location, resolve_past(location, name, merges, "dev", None), merges)


@pytest.mark.parametrize("name", ["orders", "orders#amount", "mart", "ref", "audit_log", "load"])
def test_the_history_of_an_element_is_the_same_without_fingerprints(tmp_path: Path, name: str) -> None:
    location = scripted_month(str(tmp_path)).location
    expected = events_of(location, name)
    shutil.rmtree(tmp_path / "fingerprints")
    assert expected
    assert events_of(location, name) == expected


def test_entries_in_which_an_element_is_unchanged_are_not_read(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    for day, kind in enumerate(("int", "int", "bigint", "bigint"), 1):
        made = Made("daily").node("orders").node(f"of_day_{day}")
        history.full(f"2026-01-0{day}", made.column("orders", "amount", data_type=kind))
    merges = merges_of(history.location, "dev")
    element = resolve_past(history.location, "orders#amount", merges, "dev", None)
    for _, record in history.records[1::2]:  # of the days on which nothing changed
        assert record.entry
        for kind in layout.ENTRY_KINDS:
            folder = Path(layout.entry_folder(history.location, kind, DAILY, record.entry))
            for file in folder.iterdir():
                file.write_bytes(b"not Parquet")
    assert [str(each) for each in timeline(history.location, element, merges)] == [
        "appeared",
        "data_type: int -> bigint",
    ]
