"""The layout of an archive of Redshift's system views, ``VIEW/INTERVAL/FILE``, and its intervals. Pure.

The folder of an interval is named ``20261102T000000Z_20261103T000000Z``. ``_complete/INTERVAL.json`` is
written after all of its views. Files of an interval without it are read too: statements have ids.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.times import EPOCH, latest_credible

# System views keep seven days.
RETENTION = timedelta(days=7)
# What is in the views only some minutes later is in the next interval.
OVERLAP = timedelta(hours=2)
MARKERS = "_complete"
_TIME = "%Y%m%dT%H%M%SZ"
_NAME = re.compile(r"(\d{8}T\d{6}Z)_(\d{8}T\d{6}Z)")
_DAY = timedelta(days=1)


class Interval(NamedTuple):
    """Times (UTC, seconds) from `start` to before `end`."""

    start: datetime
    end: datetime

    @property
    def name(self) -> str:
        """Return the name of its folders."""
        return f"{self.start:{_TIME}}_{self.end:{_TIME}}"

    def __str__(self) -> str:
        """Return it for messages."""
        return f"{self.start:%Y-%m-%d %H:%M} to {self.end:%Y-%m-%d %H:%M} UTC"


def parse_interval(name: str) -> Interval | None:
    """Return the interval of a folder or a marker, None for other names."""
    match = _NAME.fullmatch(name.removesuffix(".json"))
    if match is None:
        return None
    try:
        start, end = (datetime.strptime(text, _TIME).replace(tzinfo=UTC) for text in match.groups())
    except ValueError:  # such as a month 13
        return None
    return Interval(start, end)


def intervals_of(names: Iterable[str]) -> list[Interval]:
    """Return the intervals among the names of a folder's entries, sorted."""
    return sorted(interval for name in names if (interval := parse_interval(name)))


def latest_end() -> datetime:
    """Return the latest credible end of an interval."""
    return EPOCH + timedelta(milliseconds=latest_credible())


def select_until(intervals: Iterable[Interval], latest: datetime) -> list[Interval]:
    """Return the intervals that end at `latest` or before, sorted; others have wrong names."""
    return sorted(interval for interval in intervals if interval.end <= latest)


def due_intervals(
    complete: Sequence[Interval], interrupted: Sequence[Interval], now: datetime
) -> list[Interval]:
    """Return the intervals to write, in order of time: interrupted ones again, then days up to now.

    They begin before the end of the newest complete one (by the overlap), and not before what the views have.
    """
    now = now.replace(microsecond=0)
    oldest = now - RETENTION
    newest = max((interval.end for interval in complete), default=oldest)
    again = [interval for interval in interrupted if max(newest, oldest) < interval.end <= now]
    start = max(oldest, newest - OVERLAP)
    due: list[Interval] = []
    for interval in sorted(again):
        due.extend(_days(start, interval.start))
        due.append(interval)
        start = max(start, interval.end)
    return [*due, *_days(start, now)]


def _days(start: datetime, end: datetime) -> Iterable[Interval]:
    while start < end:
        midnight = start.replace(hour=0, minute=0, second=0) + _DAY
        yield Interval(start, min(midnight, end))
        start = midnight


def gaps(complete: Sequence[Interval]) -> list[Interval]:
    """Return the times between complete intervals that no interval has: their statements are lost."""
    uncovered: list[Interval] = []
    covered: datetime | None = None
    for interval in sorted(complete):
        if covered is not None and interval.start > covered:
            uncovered.append(Interval(covered, interval.start))
        covered = max(covered or interval.end, interval.end)
    return uncovered


def is_marker(file: StoredFile) -> bool:
    """Return whether a file is the marker of a complete interval."""
    folder, _, name = file.location.rpartition("/")
    return folder.endswith(f"/{MARKERS}") and parse_interval(name) is not None


def recent_files(files: Sequence[StoredFile], lookback: timedelta, latest: datetime) -> list[StoredFile]:
    """Return the files without those of intervals that ended more than `lookback` before the newest one.

    The newest one is that of those that ended at `latest` or before.
    """
    dated = [(file, interval_of(file)) for file in files]
    ends = [interval.end for _, interval in dated if interval and interval.end <= latest]
    oldest = max(ends) - lookback if ends else None
    return [file for file, interval in dated if oldest is None or interval is None or interval.end > oldest]


def complete_intervals(files: Iterable[StoredFile]) -> list[Interval]:
    """Return the intervals with a marker among the files, sorted."""
    return intervals_of(file.location.rpartition("/")[2] for file in files if is_marker(file))


def intervals_lacking(
    view: Iterable[StoredFile], history: Iterable[StoredFile], complete: Sequence[Interval]
) -> frozenset[Interval]:
    """Return the intervals with files of the history and none of a view.

    A file of the view outside of intervals may be of all of them: then none lacks it. Interrupted intervals
    are not returned: they are written again.
    """
    archived = {interval_of(file) for file in view}
    if None in archived:
        return frozenset()
    lacking = {interval for file in history if (interval := interval_of(file)) and interval not in archived}
    return frozenset(lacking.intersection(complete) if complete else lacking)


def interval_of(file: StoredFile) -> Interval | None:
    """Return the interval whose folder a file is in, None without one."""
    *_, folder, _name = ("", *file.location.split("/"))
    return parse_interval(folder)
