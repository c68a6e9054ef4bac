"""Times that are too far ahead of the clock to be right: they are reported, and order nothing. Pure."""

from lineage_merge.model.elements import Problem
from lineage_merge.model.times import utc_time

AHEAD = "more than a day ahead of the clock"
FIX = "correct the clock of the host that wrote them, or the unit of the times"


def future_problem(number: int, what: str, source: str, field: str, first: int) -> Problem:
    """Return the notice about `number` items with such a time; `first` is the earliest one (ms)."""
    subject = f"1 {what} has a time" if number == 1 else f"{number} {what}s have times"
    message = f"{subject} {AHEAD} (from {utc_time(first)}): counted as older than all others"
    return Problem("notice", source, field, message)
