"""What a check found: one line for a person, and how to mend it."""

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

    `told` says what is there or what is wrong, `mend` what to do about it (empty where there is
    nothing to do). Neither holds a secret. `exit_code`: what a command would end with that meets
    the same fault, 0 unless `failed`.
    """

    check: str
    state: State
    told: str
    mend: str = ""
    exit_code: int = 0


Examine = Callable[[Config], Iterator[Finding]]


class Check(NamedTuple):
    """One area that is looked at by itself, and `examine`, which yields what it finds, in order.

    It yields nothing where the configuration names nothing of the kind. `exit_code`: that of a
    run which meets no answer there.
    """

    area: str
    examine: Examine
    exit_code: int = 1


def ok(check: str, told: str) -> Finding:
    """As it should be."""
    return Finding(check, "ok", one_line(told))


def warning(check: str, told: str, mend: str) -> Finding:
    """A run would pass, and may not do what is meant."""
    return Finding(check, "warning", one_line(told), mend)


def failed(check: str, error: LineageMergeError, mend: str) -> Finding:
    """A run would stop here, with this error."""
    return Finding(check, "failed", one_line(error.message), mend, error.exit_code)


def skipped(check: str, why: str) -> Finding:
    """Nobody looked, because of something else."""
    return Finding(check, "skipped", why)


def skipped_all(checks: tuple[str, ...], why: str) -> Iterator[Finding]:
    """Several at once."""
    return (skipped(check, why) for check in checks)


def unexpected(check: str, error: Exception) -> Finding:
    """A fault of ours, or an answer that nobody thought of."""
    told = redact(f"unexpected: {type(error).__name__}: {error}")
    return Finding(check, "failed", one_line(told), "report it as a fault of lineage_merge", 1)


_LONGEST = 500


def one_line(text: str) -> str:
    """The text without line ends, cut where it is very long."""
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 3]}..."
