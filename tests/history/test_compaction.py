"""Compaction: which merges stay, and that lineage stays what it was."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from lineage_merge.history import compaction, layout, merge_index
from lineage_merge.history.compaction import Retention, compact, plan_compaction, surplus
from lineage_merge.history.layout import DagScope, MergeName, format_time
from lineage_merge.history.moments import parse_moment
from lineage_merge.infra import storage
from lineage_merge.questions.past import as_of
from tests.command_line import in_process
from tests.history.made_history import MadeHistory, at
from tests.history.scripted_month import scripted_month
from tests.made_merges import Made

NOW = datetime(2026, 6, 30, 12, 0, tzinfo=UTC)
DAILY = DagScope("dev", "daily")


def names(*times: str) -> list[MergeName]:
    return [MergeName(at(time), f"{number:012x}") for number, time in enumerate(times)]


def remaining(merges: list[MergeName], retention: Retention) -> list[str]:
    removed = surplus(merges, retention, NOW)
    return [format_time(each.time)[:16] for each in sorted(merges) if each not in removed]


def test_all_then_the_last_of_each_day_then_of_each_month() -> None:
    merges = names(
        *("2026-06-29T01:00", "2026-06-29T02:00"),
        *("2026-05-02T01:00", "2026-05-02T02:00", "2026-05-03T01:00"),
        *("2026-01-02T01:00", "2026-01-30T01:00", "2025-12-31T23:59"),
    )
    assert remaining(merges, Retention()) == [
        "2025-12-31 23:59",
        "2026-01-30 01:00",
        "2026-05-02 02:00",
        "2026-05-03 01:00",
        "2026-06-29 01:00",
        "2026-06-29 02:00",
    ]


def test_old_merges_are_deleted_but_for_the_lineage_at_the_beginning() -> None:
    merges = names("2025-01-01", "2026-02-01", "2026-02-15", "2026-04-02", "2026-06-30")
    assert remaining(merges, Retention(keep_days=100)) == [
        "2026-02-15 00:00",
        "2026-04-02 00:00",
        "2026-06-30 00:00",
    ]


def test_the_newest_merge_stays_whatever_its_age() -> None:
    merges = names("2020-01-01T01:00", "2020-01-01T02:00")
    for retention in (Retention(), Retention(keep_days=1), Retention(0, 0, 0)):
        assert remaining(merges, retention) == ["2020-01-01 02:00"]
    assert surplus([], Retention(), NOW) == []


def feeds(location: str, time: datetime) -> set[tuple[str, str]]:
    moment = parse_moment(time.isoformat())
    return as_of(location, moment, "dev").graph.pairs(["feeds"])


def test_the_lineage_of_remaining_days_and_months_is_unchanged(tmp_path: Path) -> None:
    location = scripted_month(str(tmp_path)).location
    ends = [datetime(2026, 1, day, 23, 59, tzinfo=UTC) for day in range(1, 31)]
    before = {end: feeds(location, end) for end in ends}
    sizes = compaction.size_of(location)

    retention = Retention(all_days=5, daily_days=12)
    now = datetime(2026, 1, 31, tzinfo=UTC)
    plans = plan_compaction(location, retention, now=now)
    assert {plan.scope.dag_name: plan.remaining for plan in plans} == {"daily": 9, "marts": 3}
    compact(location, plans)

    assert {end: feeds(location, end) for end in ends if end.day >= 19} == {
        end: found for end, found in before.items() if end.day >= 19
    }
    assert feeds(location, ends[17]) == before[ends[17]]  # the last of the month until then
    after = compaction.size_of(location)
    assert after["merges"] < sizes["merges"]
    assert after["nodes"] < sizes["nodes"]
    entries = {each.parent.name for each in (tmp_path / "nodes").rglob("*.parquet")}
    assert {f"entry={each.stem}" for each in (tmp_path / "fingerprints").rglob("*.json")} == entries
    again = plan_compaction(location, retention, now=now)
    assert [(each.merges, each.files) for each in again] == [((), ()), ((), ())]


def test_entries_that_remaining_merges_repeat_stay(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    first = history.full("2026-01-01T01:00", Made().job("spark", "load", {"b": ["a"]}))
    repeated = history.unchanged("2026-01-01T02:00", "daily")
    plans = plan_compaction(str(tmp_path), Retention(), now=NOW)
    compact(str(tmp_path), plans)

    assert merge_index.merge_names(str(tmp_path), [DAILY]) == [[repeated.name]]
    assert merge_index.entry_names(str(tmp_path), DAILY) == {first.name}
    assert feeds(str(tmp_path), NOW) == {("dev|wh|a", "dev|wh|b")}


def test_files_of_killed_merges_are_deleted_but_not_those_of_running_ones(tmp_path: Path) -> None:
    history = MadeHistory(str(tmp_path))
    history.full("2026-06-01", Made().node("a"))
    killed, running = (history.full(each, Made().node("b")) for each in ("2026-06-02", "2026-06-30T11:00"))
    for each in (killed, running):
        storage.delete_file(layout.json_file(str(tmp_path), layout.MERGES, DAILY, each.name))
    compact(str(tmp_path), plan_compaction(str(tmp_path), Retention(), now=NOW))

    assert killed.name not in merge_index.entry_names(str(tmp_path), DAILY)
    assert running.name in merge_index.entry_names(str(tmp_path), DAILY)
    assert list(tmp_path.rglob(f"*{killed.name}*")) == []


def test_a_killed_compaction_leaves_no_object_without_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    location = scripted_month(str(tmp_path)).location
    end = datetime(2026, 1, 31, tzinfo=UTC)
    before = feeds(location, end)
    deleted = 0
    real = storage.delete_file

    def killed_later(file: str) -> None:
        nonlocal deleted
        deleted += 1
        if deleted > limit:
            raise KeyboardInterrupt
        real(file)

    monkeypatch.setattr(storage, "delete_file", killed_later)
    later = end + timedelta(days=400)
    for limit in (0, 1, 7, 22, 27, 1000):
        deleted = 0
        plans = plan_compaction(location, Retention(), now=later)
        try:
            compact(location, plans)
        except KeyboardInterrupt:
            assert limit < 1000
        for name in merge_index.merge_names(location, [DAILY])[0]:
            feeds(location, layout.moment_of(name.time))  # raises if files are missing
        assert feeds(location, end) == before
    assert [len(found) for found in merge_index.merge_names(location, [DAILY])] == [1]


def test_the_command_prints_what_it_deletes(tmp_path: Path) -> None:
    location = scripted_month(str(tmp_path)).location
    dry = in_process("history", "compact", "--history", location, "--dry-run")
    assert dry.code == 0, dry
    assert "daily in dev: would delete " in dry.out
    count = len(list(tmp_path.rglob("*.json")))
    done = in_process("history", "compact", "--history", location, "--dag", "marts")
    assert done.code == 0, done
    assert done.out.startswith("marts in dev: deleted ")
    assert len(list(tmp_path.rglob("*.json"))) < count
