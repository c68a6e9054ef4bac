"""Check of declarations: the files are valid, and none expires soon."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta

from lineage_merge.model.counts import format_count
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.naming import redact
from lineage_merge.sources.declared.declarations import Declarations
from lineage_merge.sources.declared.files import DECLARATION_FILES, read_declarations
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, fix_for, ok, report_failure, warning

AREA = "declared lineage"
SOON = timedelta(days=30)


def _examine(paths: tuple[str, ...]) -> Iterator[Diagnosis]:
    today = datetime.now(UTC).date()
    for index, path in enumerate(paths):
        try:
            yield from _examine_path(path, today)
        except SourceError as error:
            yield report_failure(AREA, error, fix_for(error, path, f"declared[{index}]"))


def _examine_path(path: str, today: date) -> Iterator[Diagnosis]:
    files = DECLARATION_FILES.find(path)
    read: list[Declarations] = []
    for file in files:
        for found in read_declarations(file.location):
            if isinstance(found, Problem):
                field = f"{found.field}: " if found.field else ""
                message = f"{found.document}: {field}{found.message}"
                yield warning(AREA, message, f"correct {found.document}; a run rejects the file")
            else:
                read.append(found.declarations)
    edges = sum(len(declarations.lineage) for declarations in read)
    if read:
        yield ok(
            AREA,
            f"{redact(path)}: {format_count(edges, 'declared edge')} in {format_count(len(read), 'file')}",
        )
    yield from _report_ends(path, read, today)


def _report_ends(path: str, read: list[Declarations], today: date) -> Iterator[Diagnosis]:
    """Yield how many declarations have expired, and how many do so soon, with the first."""
    ends = sorted(end for declarations in read for end in _list_ends(declarations))
    expired = [end for end in ends if end[0] < today]
    expiring = [end for end in ends if today <= end[0] <= today + SOON]
    for found, what, fix in (
        (expired, "expired", "delete it, or set a later until"),
        (expiring, f"expiring within {SOON.days} days", "confirm it, and set a later until"),
    ):
        if found:
            until, name = found[0]
            number = format_count(len(found), "declaration")
            yield warning(AREA, f"{redact(path)}: {number} {what}, the first on {until}: {name}", fix)


def _list_ends(declarations: Declarations) -> Iterator[tuple[date, str]]:
    """Yield the last day of each declaration that has one, and what is declared."""
    for edge in declarations.lineage:
        if edge.until:
            yield edge.until, f"{edge.source} to {edge.target}"
    for dataset in declarations.datasets:
        if dataset.until:
            yield dataset.until, dataset.dataset


CHECKS = (SourceCheck(AREA, _examine),)
