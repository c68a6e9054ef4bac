"""Thins out old merges: after some days one per day, then one per month, until they are deleted.

Objects of the index are deleted first, and files that no object refers to afterwards, so a reader never
finds an object without its files, and a killed compaction can be repeated. A running merge refers only to the
newest merge, which always stays.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lineage_merge.history import layout, merge_index
from lineage_merge.history.layout import DETAILS, FINGERPRINTS, KINDS, MOVES, DagScope, MergeName, moment_of
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.infra import storage
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.model.errors import SourceMissing

# A merge that is being added has files, but no object yet. Its load may take hours.
_GRACE = timedelta(days=2)


@dataclass(frozen=True, slots=True)
class Retention:
    """Age in days until which all merges stay, then the last of each day, then the last of each month.

    `keep_days`: age from which merges are deleted (None: never).
    """

    all_days: int = 14
    daily_days: int = 90
    keep_days: int | None = None


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """Merges to delete of a DAG, and files without a merge, of killed loads and compactions."""

    scope: DagScope
    merges: tuple[MergeName, ...]
    files: tuple[MergeName, ...]
    remaining: int


def surplus(names: Sequence[MergeName], retention: Retention, now: datetime) -> list[MergeName]:
    """Return the merges that are not needed, of all merges of a DAG. Pure.

    The newest one stays, and so does the newest one that is too old: it is the lineage at the beginning of
    the remaining time.
    """
    stay: set[MergeName] = set()
    last_of: dict[tuple[int, ...], MergeName] = {}
    oldest = None if retention.keep_days is None else now - timedelta(days=retention.keep_days)
    before: MergeName | None = None
    for name in sorted(names):
        at = moment_of(name.time)
        if oldest is not None and at < oldest:
            before = name
        elif at >= now - timedelta(days=retention.all_days):
            stay.add(name)
        elif at >= now - timedelta(days=retention.daily_days):
            last_of[at.year, at.month, at.day] = name
        else:
            last_of[at.year, at.month] = name
    stay |= {*last_of.values(), *sorted(names)[-1:]}
    if before:
        stay.add(before)
    return [merge_name for merge_name in sorted(names) if merge_name not in stay]


def find_unreferenced(
    files: Iterable[MergeName], records: Iterable[MergeRecord], deleted: Iterable[MergeName], now: datetime
) -> list[MergeName]:
    """Return the merges whose files no remaining merge refers to, of all that have files. Pure."""
    removed = set(deleted)
    referenced = {
        name
        for record in records
        if record.name not in removed
        for name in (record.name, record.entry, record.runs)
        if name
    }
    # Files of a removed merge are unreferenced at once; others may be those of a running merge.
    known = {record.name for record in records}
    return sorted(
        file for file in set(files) - referenced if file in known or moment_of(file.time) < now - _GRACE
    )


def plan_compaction(
    location: str,
    retention: Retention,
    environment: str | None = None,
    dag: str | None = None,
    now: datetime | None = None,
) -> list[CompactionPlan]:
    """Return what to delete, per DAG. Raises `SourceError`, and `IntermediateError` for an unknown format."""
    now = now or datetime.now(UTC)
    scopes = merge_index.scopes(location, environment, dag)
    plans = []
    for scope, names in zip(scopes, merge_index.merge_names(location, scopes), strict=True):
        files = merge_index.entry_names(location, scope)
        recorded = merge_index.read_records(location, [(scope, name) for name in names])
        records = [record for record in recorded if record]
        merges = surplus([record.name for record in records], retention, now)
        unused = find_unreferenced(files, records, merges, now)
        plans.append(CompactionPlan(scope, tuple(merges), tuple(unused), len(records) - len(merges)))
    return plans


def compact(
    location: str, plans: Iterable[CompactionPlan], on_progress: ProgressCallback = no_progress
) -> None:
    """Delete what the plans say."""
    for plan in plans:
        on_progress(f"compacting {plan.scope.dag_name} in {plan.scope.environment}")
        for name in plan.merges:
            storage.delete_file(layout.json_file(location, layout.MERGES, plan.scope, name))
        for name in plan.files:
            for kind in KINDS:
                storage.delete_folder(layout.entry_folder(location, kind, plan.scope, name))
            storage.delete_file(layout.json_file(location, layout.FINGERPRINTS, plan.scope, name))
            storage.delete_file(layout.json_file(location, layout.DETAILS, plan.scope, name))


def size_of(location: str) -> Mapping[str, int]:
    """Return the bytes of each kind of files; without those of a missing history."""
    size: dict[str, int] = {}
    for kind in (*KINDS, FINGERPRINTS, DETAILS, MOVES, layout.MERGES):
        try:
            size[kind] = sum(file.size for file in storage.list_files(f"{location.rstrip('/')}/{kind}"))
        except SourceMissing:
            continue
    return size
