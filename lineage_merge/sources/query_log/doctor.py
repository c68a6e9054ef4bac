"""Checks of query logs without Spark: their files or their API, and what the user may see; their size."""

from collections.abc import Iterator, Sequence
from itertools import islice

from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceDenied, SourceError
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, failed, fix_for, ok, warning
from lineage_merge.sources.query_log import redshift
from lineage_merge.sources.query_log.redshift_views import (
    CATALOG_VIEWS,
    TRANSACTIONS,
    MissingColumn,
    read_row,
)
from lineage_merge.sources.query_log.settings import QueryLog
from lineage_merge.sources.query_log.statement_file import read_line
from lineage_merge.sources.query_log.table_files import rows_of
from lineage_merge.sources.sql.files import check_dialect

LOG = "query log"
_TESTED_ROWS = 100
_GRANT = "grant role sys:monitor to the user, who otherwise sees only its own statements"


def _examine(logs: Sequence[QueryLog]) -> Iterator[Diagnosis]:
    """Yield the diagnoses of each log."""
    for index, log in enumerate(logs):
        try:
            yield from _of_log(log)
        except SourceDenied as error:
            yield failed(
                LOG, error, _GRANT if not log.path else fix_for(error, log.path, f"query_log[{index}].path")
            )
        except SourceError as error:
            yield failed(LOG, error, fix_for(error, log.path, f"query_log[{index}]", "folder"))


def _of_log(log: QueryLog) -> Iterator[Diagnosis]:
    if log.format == "statements":
        yield _statements(log)
    elif log.path:
        yield from _views(log)
    elif log.format == "athena":
        from lineage_merge.sources.query_log import athena

        yield ok(LOG, f"{log}: {athena.number_of_executions(log)} recent executions are readable")
    else:
        from lineage_merge.sources.query_log import data_api

        users = data_api.visible_users(log)
        if users > 1:
            yield ok(LOG, f"{log}: statements of {users} users are visible")
        else:
            yield warning(LOG, f"{log}: only statements of {users} user are visible", _GRANT)


def _statements(log: QueryLog) -> Diagnosis:
    parts = line_files.find([log.path])
    for location, line in islice(line_files.numbered(parts[0]), _TESTED_ROWS):
        for found in read_line(line, location):
            if isinstance(found, Problem):
                what = f"{found.document}: {found.field}: {found.message}"
                return warning(LOG, what, "correct the line; a run skips it")
    return ok(LOG, f"{log}: {len(parts)} files of statements")


def _views(log: QueryLog) -> Iterator[Diagnosis]:
    files = redshift.files_of(log)
    views = {each.view for each in files}
    for view in sorted(views):
        first = next(each.file for each in files if each.view == view)
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
            total += line_files.stored_bytes(line_files.find([log.path]))
        else:
            total += sum(each.file.size for each in redshift.files_of(log))
    return total
