"""Findings of checks: a message and its fix."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lineage_merge.config import Config
from lineage_merge.model.errors import LineageMergeError
from lineage_merge.naming import redact

State = Literal["ok", "warning", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """The outcome of one check.

    `message`: the state or the problem; `fix`: the remedy as a command ("" if none is needed). Neither
    contains secrets. `exit_code`: that of a command with the same error, 0 unless `failed`.
    """

    check: str
    state: State
    message: str
    fix: str = ""
    exit_code: int = 0


Examine = Callable[[Config], Iterator[Finding]]


class Check(NamedTuple):
    """A check of one area; `examine` yields its findings in order, none if it is not configured.

    `exit_code`: that of a run without a response in this area.
    """

    area: str
    examine: Examine
    exit_code: int = 1


def ok(check: str, message: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(check, "ok", one_line(message))


def warning(check: str, message: str, fix: str) -> Finding:
    """Return a problem that does not stop a run."""
    return Finding(check, "warning", one_line(message), fix)


def failed(check: str, error: LineageMergeError, fix: str) -> Finding:
    """Return a problem that stops a run with this error."""
    message = one_line(error.message)
    if fix and message.endswith(f": {fix}"):
        message = message.removesuffix(f": {fix}")  # the message of a command ends with its remedy
    return Finding(check, "failed", message, fix, error.exit_code)


def skipped(check: str, why: str) -> Finding:
    """Return a check that was not run."""
    return Finding(check, "skipped", why)


def skipped_all(checks: tuple[str, ...], why: str) -> Iterator[Finding]:
    """Return several checks that were not run."""
    return (skipped(check, why) for check in checks)


def unexpected(check: str, error: Exception) -> Finding:
    """Return an internal error, or an unexpected response."""
    message = redact(f"unexpected: {type(error).__name__}: {error}")
    return Finding(check, "failed", one_line(message), "report it as a bug of lineage_merge", 1)


_MAX_LENGTH = 500


def one_line(text: str) -> str:
    """Return the text as one line, truncated to a maximum length."""
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LENGTH else f"{line[: _MAX_LENGTH - 3]}..."
