"""Diagnoses: the outcomes of the checks of `doctor`, each a message and its fix. Files of lines."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Literal, NamedTuple

from lineage_merge.infra.storage import Slice, is_s3
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import (
    LineageMergeError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
    one_line,
)
from lineage_merge.model.times import latest_credible, utc_time
from lineage_merge.naming import redact
from lineage_merge.sources import line_files
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.runs.future_times import AHEAD, FIX

State = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The outcome of one check.

    `message`: the state or the problem; `fix`: the remedy as a command ("" if none is needed). Neither
    contains secrets. `exit_code`: that of a command with the same error, 0 unless `failed`.
    """

    check: str
    state: State
    message: str
    fix: str = ""
    exit_code: int = 0


class SourceCheck(NamedTuple):
    """A check of one area of a source; `examine` yields diagnoses of its settings, none if it is unused."""

    area: str
    examine: Callable[[Any], Iterator[Diagnosis]]


def ok(check: str, message: str) -> Diagnosis:
    """Return a diagnosis without a problem."""
    return Diagnosis(check, "ok", one_line(message))


def warning(check: str, message: str, fix: str) -> Diagnosis:
    """Return a problem that does not stop a run."""
    return Diagnosis(check, "warning", one_line(message), fix)


def report_failure(check: str, error: LineageMergeError, fix: str) -> Diagnosis:
    """Return a problem that stops a run with this error."""
    message = one_line(error.message)
    if fix and message.endswith(f": {fix}"):
        message = message.removesuffix(f": {fix}")  # the message of a command ends with its remedy
    return Diagnosis(check, "failed", message, fix, error.exit_code)


def report_skipped(check: str, why: str) -> Diagnosis:
    """Return a check that was not run."""
    return Diagnosis(check, "skipped", why)


def report_all_skipped(checks: tuple[str, ...], why: str) -> Iterator[Diagnosis]:
    """Return several checks that were not run."""
    return (report_skipped(check, why) for check in checks)


def report_unexpected(check: str, error: Exception) -> Diagnosis:
    """Return an internal error, or an unexpected response."""
    message = redact(f"unexpected: {type(error).__name__}: {error}")
    return Diagnosis(check, "failed", one_line(message), "report it as a bug of lineage_merge", 1)


def fix_for(error: SourceError, location: str, key: str, what: str = "file") -> str:
    """Return the fix for an unreadable file or folder (`what`); `key` is its configuration key."""
    if error.remedy:
        return error.remedy
    match error:
        case SourceDenied():
            if is_s3(location):
                return f"allow s3:GetObject on {redact(location)} and s3:ListBucket on its bucket"
            return "grant this user read access"
        case SourceMissing():
            return f"correct {key}, or create the {what}"
        case SourceUnreachable():
            return "check the network (S3 endpoint of the VPC), AWS_REGION and AWS_ENDPOINT_URL_S3"
    return f"correct {key}"


# Bytes at the end of a file to inspect: recent lines.
_TAIL_BYTES = 4 << 20
_MAX_DOCUMENTS = 100
_MAX_TIMES = 10_000

# Returns whether a part has a valid document, and the problem of the first invalid one.
Inspect = Callable[[Slice], tuple[bool, Problem | None]]
Find = Callable[[Iterable[str]], list[Slice]]
# Yields the times (ms since 1970) that decide the age of the lineage in a part.
TimesOf = Callable[[Slice], Iterable[int]]


def examine_lines(
    check: str,
    key: str,
    locations: tuple[str, ...],
    inspect: Inspect,
    fix: str,
    expected: Kind,
    find: Find = line_files.find,
    times_of: TimesOf | None = None,
) -> Iterator[Diagnosis]:
    """Check the files of each location of `key`, and the end of the last one.

    `fix`: the remedy if it contains no lineage. `expected`: the kind of its documents. `times_of`: of them
    those ahead of the clock are a warning, also if they are in other files.
    """
    for location in locations:
        try:
            parts = find([location])
            message = f"{redact(location)}: {len({part.location for part in parts})} files"
            has_lineage, problem = inspect(_end(parts[-1]))
            kind = None if has_lineage else line_files.recognize(parts[-1:])
            ahead = future_times(parts, times_of) if times_of else []
        except SourceError as error:
            yield report_failure(check, error, fix_for(error, location, key))
            continue
        if kind and kind is not expected:
            yield warning(check, f"{message}, but {kind.name}", kind.remedy or fix)
        elif problem:
            first = f"{problem.document}: {problem.field}: {problem.message}".replace(": : ", ": ")
            yield warning(check, f"{message}, but {first}", "correct the document; a run skips it")
        elif has_lineage:
            yield ok(check, f"{message}, with lineage")
        else:
            yield warning(check, f"{message}, no lineage at the end of the last one", fix)
        if ahead:
            yield ahead_warning(check, redact(location), ahead)


def future_times(parts: list[Slice], times_of: TimesOf) -> list[int]:
    """Return the times ahead of the clock at the ends of the last files. Raises `SourceError`."""
    latest, left = latest_credible(), _TAIL_BYTES
    ahead: list[int] = []
    for part in reversed(parts):
        end = _end(part)
        ahead += [at for at in islice(times_of(end), _MAX_TIMES) if at > latest]
        left -= end.end - end.start
        if left <= 0:
            break
    return ahead


def ahead_warning(check: str, place: str, ahead: list[int]) -> Diagnosis:
    """Return the warning about times ahead of the clock."""
    number = "1 time is" if len(ahead) == 1 else f"{len(ahead)} times are"
    return warning(check, f"{place}: {number} {AHEAD} (from {utc_time(min(ahead))})", FIX)


def validity(documents: Iterable[Any], check: Callable[[Any], Problem | None]) -> tuple[bool, Problem | None]:
    """Return whether one of the first documents is valid, else the problem of the first one.

    `check` returns the problem of a document; documents may be problems themselves.
    """
    problem: Problem | None = None
    for document in islice(line_files.stop_at_damage(documents), _MAX_DOCUMENTS):
        wrong = document if isinstance(document, Problem) else check(document)
        if wrong is None:
            return True, None
        problem = problem or wrong
    return False, problem


def _end(part: Slice) -> Slice:
    """Return the end of a file; a packed file or a single document completely."""
    is_cut = not part.location.endswith((".gz", ".json"))
    return replace(part, start=max(part.start, part.end - _TAIL_BYTES)) if is_cut else part
