"""Recent changes as causes of wrong data: `why` with a history."""

import json
from collections import Counter
from typing import Any

import pytest

from lineage_merge.history import pictures
from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.history.moments import Moment
from lineage_merge.questions.past import recent_changes
from tests.command_line import in_process
from tests.history.made_history import MadeHistory, at
from tests.history.scripted_month import scripted_month


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> MadeHistory:
    return scripted_month(str(tmp_path_factory.mktemp("month")))


def causes(history: MadeHistory, name: str, moment: str, *options: str) -> list[Any]:
    words = ("why", name, "--as-of", moment, "--history", history.location, "--environment", "dev", "--json")
    outcome = in_process(*words, *options)
    assert outcome.code == 0, outcome
    found = json.loads(outcome.out)["causes"]
    return [each for each in found if each["kind"] == "recent_change"]


def merge_of(history: MadeHistory, dag: str, day: int) -> str:
    """The id of the merge of a DAG that changed lineage on a day."""
    hour = 4 if dag == "daily" or day == 27 else 5
    start = f"202601{day:02}T{hour:02}"
    return next(
        record.id
        for scope, record in history.records
        if scope.dag_name == dag and str(record.name).startswith(start)
    )


def test_changes_of_the_last_days_at_a_dataset_and_upstream_with_merge_and_time(
    history: MadeHistory,
) -> None:
    mart, orders = causes(history, "mart", "2026-01-12")
    assert (mart["dataset"], mart["distance"]) == ("dev|wh|mart", 0)
    assert mart["evidence"] == (
        f"merge {merge_of(history, 'marts', 12)} of marts at 2026-01-12 05:00:00 UTC: changed expression"
        " orders#amount -> mart#total (expression: sum(amount) -> sum(amount) / 100);"
        f" merge {merge_of(history, 'marts', 7)} of marts at 2026-01-07 05:00:00 UTC: changed dataset mart"
        " (label: view -> table)"
    )
    assert (orders["dataset"], orders["distance"]) == ("dev|wh|orders", 1)
    # Both DAGs have the column: the change is that of the earlier merge.
    assert orders["evidence"] == (
        f"merge {merge_of(history, 'daily', 9)} of daily at 2026-01-09 04:00:00 UTC: changed column"
        " orders#amount (data_type: int -> bigint)"
    )
    assert orders["next"] == "lineage-merge history orders --environment dev"


def test_added_and_removed_inputs(history: MadeHistory) -> None:
    found = {each["dataset"]: each["evidence"] for each in causes(history, "mart", "2026-01-27")}
    assert set(found) == {"dev|wh|mart", "dev|wh|orders", "dev|wh|raw2"}
    assert "added feed raw2 -> orders" in found["dev|wh|orders"]
    assert "owners: none -> ana" in found["dev|wh|mart"]


def test_the_age_of_changes(history: MadeHistory) -> None:
    (only,) = causes(history, "mart", "2026-01-12", "--changes-since", "1d")
    assert only["evidence"].count("merge ") == 1
    assert causes(history, "mart", "2026-01-03") == []
    longer = causes(history, "mart", "2026-01-13", "--changes-since", "10d")
    assert any("added column orders#note" in each["evidence"] for each in longer)


def test_a_history_that_cannot_be_read_is_a_note(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    history = scripted_month(str(tmp_path))
    for file in tmp_path.rglob("nodes/**/entry=20260107*/*.parquet"):
        file.write_bytes(b"PAR1")
    words = ("why", "mart", "--as-of", "2026-01-13", "--history", history.location, "--environment", "dev")
    outcome = in_process(*words)
    assert outcome.code == 0, outcome
    assert "note: recent changes are unknown: " in outcome.err
    assert "invalid or incomplete Parquet file" in outcome.err


def test_each_entry_between_the_moments_is_read_once(
    history: MadeHistory, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: Counter[tuple[DagScope, str]] = Counter()
    entry_columns = pictures.entry_columns

    def counted(location: str, scope: DagScope, record: MergeRecord) -> Any:
        reads[scope, str(record.entry)] += 1
        return entry_columns(location, scope, record)

    monkeypatch.setattr(pictures, "entry_columns", counted)
    since, until = at("2026-01-08"), at("2026-01-20")
    recent_changes(history.location, "dev", ["dev|wh|orders"], since, until)
    # The pictures of both moments are read before, each with the newest entry of each DAG.
    of_moments = {
        (each.scope, str(each.record.entry))
        for time in (since, until)
        for each in pictures.merges_until(history.location, Moment("", time), "dev")
    }
    between = {entry: number for entry, number in reads.items() if entry not in of_moments}
    assert [*between.values()] == [1, 1, 1]
