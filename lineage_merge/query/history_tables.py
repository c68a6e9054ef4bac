"""Tables of merges, and of the events of an element."""

from collections.abc import Iterable, Sequence

from lineage_merge.history.layout import shown_time
from lineage_merge.history.pictures import ScopedMerge
from lineage_merge.history.timeline import TimelineEvent, shown_events
from lineage_merge.questions.formats.table import AnswerTable, add_row, new_table


def merge_table(merges: Iterable[ScopedMerge]) -> AnswerTable:
    """Return a row per merge."""
    columns = ("time", "merge", "environment", "DAG", "kind", "added", "changed", "retired", "run")
    table = new_table(*columns, optional=("run",))
    for scope, record in merges:
        numbers = (record.added, record.changed, record.retired)
        time = shown_time(record.name.time)
        add_row(table, time, record.id, *scope, record.kind, *numbers, record.run_id)
    return table


def event_table(events: Sequence[TimelineEvent], title: str) -> AnswerTable:
    """Return a row per event, newest first, with its text; for terminals."""
    table = new_table("time", "merge", "DAG", title)
    for row in shown_events(events):
        add_row(table, *row)
    return table


def event_rows(events: Sequence[TimelineEvent]) -> AnswerTable:
    """Return a row per event, newest first, with its parts; for CSV."""
    table = new_table("time", "merge", "DAG", "event", "what", "name", "before", "after")
    for each in reversed(events):
        scope, record = each.merge
        time = shown_time(record.name.time)
        parts = (each.kind, each.what, each.name, each.before, each.after)
        add_row(table, time, record.id, scope.dag_name, *parts)
    return table
