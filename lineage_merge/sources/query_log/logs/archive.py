"""The archive of Redshift's system views, which keep seven days: Redshift writes them to S3 by UNLOAD.

The catalog is on the leader node, which cannot unload: it is read through the Data API, and replaced.
"""

import gzip
import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from lineage_merge.infra import storage
from lineage_merge.infra.redaction import redact
from lineage_merge.model.errors import ConfigError, SourceDenied, SourceError, did_you_mean
from lineage_merge.sources.query_log.logs import data_api
from lineage_merge.sources.query_log.logs.archive_layout import (
    MARKERS,
    Interval,
    due_intervals,
    gaps,
    intervals_of,
    latest_end,
    select_until,
)
from lineage_merge.sources.query_log.logs.redshift_views import HISTORY, OWN_COMMENT
from lineage_merge.sources.query_log.logs.view_selects import VIEW_SELECTS, write_condition
from lineage_merge.sources.query_log.settings import QueryLog, archive_folder, check_archive

GRANT = "grant role sys:monitor to the user, who otherwise sees only its own statements"
_SNAPSHOT = "snapshot.jsonl.gz"
# Files that are small enough for several tasks to share the work.
_MAX_MB = 64


@dataclass(frozen=True, slots=True)
class Archived:
    """What was written, or is due: `notices` are views that could not be read, and lost history."""

    warehouse: str
    archive: str
    intervals: tuple[str, ...]
    views: tuple[str, ...]
    notices: tuple[str, ...] = ()


def with_archive(
    logs: Sequence[QueryLog], *, cluster: str = "", location: str = "", iam_role: str = ""
) -> list[QueryLog]:
    """Return the logs that have an archive, or get one at `location`; `cluster`: only of this one.

    Raises `ConfigError` if there are none.
    """
    behind_api = [log for log in logs if log.format == "redshift" and log.cluster_or_workgroup]
    names = [log.cluster_or_workgroup for log in behind_api]
    if cluster and cluster not in names:
        raise ConfigError(
            "--cluster", f"no query_log has this cluster or workgroup{did_you_mean(cluster, names)}"
        )
    chosen = [log for log in behind_api if cluster in ("", log.cluster_or_workgroup)]
    archived = [
        replace(log, archive=location or log.archive, iam_role=iam_role or log.iam_role)
        for log in chosen
        if location or log.archive
    ]
    if not archived:
        raise ConfigError(
            "query_log", "no Redshift cluster or workgroup has an archive: set query_log[].archive"
        )
    for log in archived:
        check_archive("--archive" if location else "query_log[].archive", log)
    return [replace(log, path=archive_folder(log.archive, log.cluster_or_workgroup)) for log in archived]


def archive_all(
    logs: Sequence[QueryLog], now: datetime, on_progress: Callable[[str], None], *, dry_run: bool = False
) -> tuple[list[Archived], list[SourceError]]:
    """Write the archives of all logs: the failure of one cluster does not cost another its history."""
    done: list[Archived] = []
    errors: list[SourceError] = []
    for log in logs:
        try:
            done.append(_plan(log, now) if dry_run else archive(log, now, on_progress))
        except SourceError as error:
            errors.append(error)
    return done, errors


def _plan(log: QueryLog, now: datetime) -> Archived:
    return Archived(str(log.warehouse), redact(log.path), tuple(map(str, due(log, now))), tuple(VIEW_SELECTS))


def due(log: QueryLog, now: datetime) -> list[Interval]:
    """Return the intervals that the archive lacks, by what is in its folders. Raises `SourceError`."""
    complete = list_complete_intervals(log)
    written = intervals_of(storage.children(f"{log.path}/{HISTORY}"))
    return due_intervals(complete, [interval for interval in written if interval not in complete], now)


def list_complete_intervals(log: QueryLog) -> list[Interval]:
    """Return the complete intervals of a folder, without those ahead of the clock. Raises `SourceError`."""
    return select_until(intervals_of(storage.children(f"{log.path}/{MARKERS}")), latest_end())


def statements(log: QueryLog, intervals: Sequence[Interval]) -> Iterator[str]:
    """Yield the SQL of the intervals, of each interval all views."""
    for interval in intervals:
        for view in _list_unloaded_views():
            yield f"{OWN_COMMENT} {unload(log, view, interval)}"


def unload(log: QueryLog, view: str, interval: Interval) -> str:
    """Return the UNLOAD of the rows of a view that began or ended in the interval."""
    select = VIEW_SELECTS[view]
    times = " or ".join(f"({write_condition(column, *interval)})" for column in select.times)
    query = select.sql(view, f"({times})").replace("'", "''")
    role = log.iam_role if log.iam_role == "default" else f"'{log.iam_role}'"
    region = f" region '{log.archive_region}'" if log.archive_region else ""
    return (
        f"unload ('{query}')\n"
        f"to '{_folder(log, view, interval)}' iam_role {role}{region}\n"
        f"format csv header gzip maxfilesize {_MAX_MB} mb allowoverwrite"
    )


def _folder(log: QueryLog, view: str, interval: Interval) -> str:
    location = log.path.replace("'", "''")
    return f"{location}/{view}/{interval.name}/"


def _list_unloaded_views() -> list[str]:
    return [view for view, select in VIEW_SELECTS.items() if select.times]


def archive(log: QueryLog, now: datetime, on_progress: Callable[[str], None]) -> Archived:
    """Write the intervals that the archive lacks, and the catalog of now. Raises `SourceError`.

    May be interrupted at any time: the marker of an interval is written last.
    """
    warehouse = log.warehouse
    intervals = due(log, now)
    notices: dict[str, str] = {}
    users = data_api.visible_users(warehouse)
    if users <= 1:
        notices["users"] = f"{warehouse}: only statements of {users} user are visible: {GRANT}"
    with data_api.open_api(warehouse) as execute:
        for interval in intervals:
            for view in _list_unloaded_views():
                if view in notices:
                    continue
                on_progress(f"{warehouse}: {view}, {interval}")
                try:
                    _unload(execute, log, view, interval)
                except SourceDenied as error:
                    if view == HISTORY or error.remedy:
                        raise
                    notices[view] = error.message
            marker = {"start": interval.start.isoformat(), "end": interval.end.isoformat()}
            storage.create_file(f"{log.path}/{MARKERS}/{interval.name}.json", json.dumps(marker))
    for view, select in VIEW_SELECTS.items():
        if select.times:
            continue
        on_progress(f"{warehouse}: {view}")
        try:
            _write_snapshot(log, view, select.sql(view))
        except SourceDenied as error:
            notices[view] = error.message
    views = [view for view in VIEW_SELECTS if view not in notices]
    names = tuple(map(str, intervals))
    return Archived(
        str(warehouse),
        redact(log.path),
        names,
        tuple(views),
        (*notices.values(), *describe_gaps(log, intervals)),
    )


def describe_gaps(log: QueryLog, added: Sequence[Interval] = ()) -> list[str]:
    """Return a line per gap of the archive; with `added`, only of the gaps that end where these begin."""
    begins = {interval.start for interval in added}
    name = log.warehouse if log.archive else log
    return [
        f"{name}: no history from {gap}: system views keep seven days"
        for gap in gaps(list_complete_intervals(log))
        if not added or gap.end in begins
    ]


def _unload(execute: Callable[[str], None], log: QueryLog, view: str, interval: Interval) -> None:
    try:
        execute(unload(log, view, interval))
    except SourceError as error:
        remedy = _remedy(log, error.message.lower())
        if remedy:
            raise SourceDenied(f"{error.message}: {remedy}", remedy) from None
        raise


def _remedy(log: QueryLog, problem: str) -> str:
    """Return what to do about a denied UNLOAD, "" for other problems."""
    role = "the cluster's default role" if log.iam_role == "default" else log.iam_role
    if "default" in problem and "iam role" in problem:
        return "make a role the cluster's default, or set query_log[].iam_role"
    if "assume" in problem:
        user = log.db_user or "the user"
        return (
            f"associate {role} with the cluster (its trust: deploy/iam/redshift_unload.trust.json); where"
            f" ASSUMEROLE is revoked: grant assumerole on the role to {user} for unload"
        )
    if "access denied" in problem or "accessdenied" in problem:
        return (
            f"allow s3:PutObject and s3:ListBucket on {log.path} to {role} (deploy/iam/redshift_unload.json)"
        )
    return ""


def _write_snapshot(log: QueryLog, view: str, sql: str) -> None:
    """Replace the rows of a view; memory holds a page of them."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, _SNAPSHOT)
        with gzip.open(file, "wt", encoding="utf-8") as lines:
            for row in data_api.rows_of(log.warehouse, sql):
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        storage.write_file(f"{log.path}/{view}/{_SNAPSHOT}", file)
