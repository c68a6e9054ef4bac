"""Checks of query logs without Spark: their files or their API, and what the user may see; their size."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from lineage_merge.infra.storage import Slice, StoredFile
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    SourceCheck,
    ahead_warning,
    fix_for,
    future_times,
    ok,
    report_failure,
    warning,
)
from lineage_merge.sources.query_log.logs import archive, data_api, redshift
from lineage_merge.sources.query_log.logs.archive import GRANT
from lineage_merge.sources.query_log.logs.archive_layout import RETENTION
from lineage_merge.sources.query_log.logs.redshift_views import (
    CATALOG_VIEWS,
    HISTORY,
    TRANSACTIONS,
    Keyed,
    MissingColumn,
    read_row,
)
from lineage_merge.sources.query_log.logs.statement_file import read_line
from lineage_merge.sources.query_log.logs.table_files import rows_of
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statements.statement import LoggedStatement
from lineage_merge.sources.settings import check_dialect

LOG = "query log"
_TESTED_ROWS = 100
# A daily archive, and some hours.
_LATE = timedelta(hours=36)
_ARCHIVE = "run lineage-merge archive-history, every day"


def _examine(logs: Sequence[QueryLog]) -> Iterator[Diagnosis]:
    """Yield the diagnoses of each log."""
    for index, log in enumerate(logs):
        try:
            yield from _check_log(log)
        except SourceDenied as error:
            yield report_failure(
                LOG, error, GRANT if not log.path else fix_for(error, log.path, f"query_log[{index}].path")
            )
        except SourceError as error:
            yield report_failure(LOG, error, fix_for(error, log.path, f"query_log[{index}]", "folder"))


def _check_log(log: QueryLog) -> Iterator[Diagnosis]:
    if log.format == "statements":
        yield from _statements(log)
    elif log.path:
        if log.archive:
            yield _reachable(log)
        yield from _check_archive(log, datetime.now(UTC))
        yield from _views(log)
    elif log.format == "athena":
        from lineage_merge.sources.query_log.logs import athena

        yield ok(LOG, f"{log}: {athena.number_of_executions(log)} recent executions are readable")
    else:
        yield _visible(log)


def _visible(log: QueryLog) -> Diagnosis:
    users = data_api.visible_users(log)
    if users > 1:
        return ok(LOG, f"{log}: statements of {users} users are visible")
    return warning(LOG, f"{log}: only statements of {users} user are visible", GRANT)


def _reachable(log: QueryLog) -> Diagnosis:
    """Check the warehouse of an archive, which a run does not ask."""
    try:
        return _visible(log.warehouse)
    except SourceError as error:
        fix = "archive-history needs it (deploy/iam/redshift_archive.json), a run does not"
        return warning(LOG, error.message, fix)


def _check_archive(log: QueryLog, now: datetime) -> Iterator[Diagnosis]:
    """Yield the age of an archive and what it has lost; nothing of files that others exported."""
    complete = archive.list_complete_intervals(log)
    if not complete:
        return
    newest = max(interval.end for interval in complete)
    age = now - newest
    until = f"{log}: the archive ends at {newest:%Y-%m-%d %H:%M} UTC"
    for line in archive.describe_gaps(log):
        yield warning(LOG, line, "run archive-history every day")
    if age > RETENTION:
        yield warning(LOG, f"{until}: history is lost, system views keep seven days", _ARCHIVE)
    elif age > _LATE:
        yield warning(LOG, until, _ARCHIVE)
    else:
        yield ok(LOG, until)


def _statements(log: QueryLog) -> Iterator[Diagnosis]:
    parts = line_files.find([log.path])
    if ahead := future_times(parts, _times):
        yield ahead_warning(LOG, str(log), ahead)
    for location, line in islice(line_files.number_lines(parts[0]), _TESTED_ROWS):
        for row in read_line(line, location):
            if isinstance(row, Problem):
                what = f"{row.document}: {row.field}: {row.message}"
                yield warning(LOG, what, "correct the line; a run skips it")
                return
    yield ok(LOG, f"{log}: {len(parts)} files of statements")


def _times(part: Slice) -> Iterator[int]:
    for found in line_files.stop_at_damage(line_files.number_lines(part)):
        if not isinstance(found, Problem):
            location, line = found
            yield from _list_start_times(read_line(line, location))


def _list_start_times(rows: Iterable[object]) -> Iterator[int]:
    """Yield the times of statements in ms since 1970."""
    for row in rows:
        statement = row.part if isinstance(row, Keyed) else row
        if isinstance(statement, LoggedStatement):
            yield statement.started // 1000


def _times_of_views(part: Slice) -> Iterator[int]:
    for _, row in rows_of(StoredFile(part.location, part.end)):
        try:
            yield from _list_start_times(read_row(HISTORY, row))
        except MissingColumn:
            return


def _views(log: QueryLog) -> Iterator[Diagnosis]:
    files = redshift.files_of(log)
    views = {view_file.view for view_file in files}
    history = [view_file.file for view_file in files if view_file.view == HISTORY]
    parts = [Slice(file.location, 0, file.size) for file in history]
    if ahead := future_times(parts, _times_of_views):
        yield ahead_warning(LOG, str(log), ahead)
    for view in sorted(views):
        first = next(view_file.file for view_file in files if view_file.view == view)
        try:
            for _, row in islice(rows_of(first), _TESTED_ROWS):
                list(read_row(view, row))
        except MissingColumn as error:
            what = f"{first.location}: {error.column}: {error.problem}"
            yield warning(LOG, what, f"export all columns of {view}, CSV with HEADER")
    if TRANSACTIONS not in views:
        what = f"{log}: no {TRANSACTIONS}: only ROLLBACK statements show what was not committed"
        yield warning(LOG, what, f"export {TRANSACTIONS}, which superusers see")
    if not views & set(CATALOG_VIEWS):
        what = f"{log}: no {CATALOG_VIEWS[0]}: columns of tables that no statement creates are unknown"
        yield warning(LOG, what, f"export {CATALOG_VIEWS[0]}")
    yield ok(LOG, f"{log}: {len(files)} files of {len(views)} views")


CHECKS = (SourceCheck(LOG, _examine),)


def preflight(logs: Sequence[QueryLog]) -> None:
    """Check that sqlglot is installed, the dialects are known and the files exist.

    Raises `ConfigError`, `SourceError`.
    """
    for index, log in enumerate(logs):
        check_dialect(f"query_log[{index}].dialect", log.dialect)
        if log.format == "statements":
            line_files.find([log.path])
        elif log.path:
            redshift.files_of(log)


def size(logs: Sequence[QueryLog]) -> int | None:
    """Return the stored bytes of the logs, None behind an API. Raises `SourceError`."""
    if not all(log.path for log in logs):
        return None
    total = 0
    for log in logs:
        if log.format == "statements":
            total += line_files.list_bytes([log.path])
        else:
            total += sum(view_file.file.size for view_file in redshift.files_of(log))
    return total
