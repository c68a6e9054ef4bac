"""Patterns of the configuration that match nothing, reported with the names that exist.

Names are rows: workers match them. The driver collects the matched patterns and, only if one matched nothing,
a bounded number of names.
"""

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from functools import partial
from heapq import nsmallest
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from lineage_merge.infra.engine.rows import Rows
from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import did_you_mean, similar_names

# The names of one item, such as a job and its application; the first one is shown.
Names = tuple[str, ...]

_MAX_NAMES = 1000
_SHOWN = 5


class Patterns(NamedTuple):
    """Globs of one key: `source` and `key` for messages, `what` they select (``application``)."""

    source: str
    key: str
    what: str
    globs: Sequence[str]


class Existing(NamedTuple):
    """Some names that exist, sorted, and the number of all of them."""

    names: Sequence[str]
    number: int


def problems(patterns: Patterns, names: Rows[Names]) -> list[Problem]:
    """Return a notice for each pattern that matches none of the names."""
    missing = find_unmatched(patterns, names)
    return notices(patterns, missing, existing(names)) if missing else []


def find_unmatched(patterns: Patterns, names: Rows[Names]) -> list[str]:
    """Return the globs that match none of the names."""
    if not patterns.globs:
        return []
    matched = set(names.map_partitions(partial(_match, globs=patterns.globs)).collect())
    return [glob for glob in patterns.globs if glob not in matched]


def existing(names: Rows[Names]) -> Existing:
    """Return the names that exist."""
    parts = names.map(itemgetter(0)).distinct().map_partitions(_some).collect()
    return Existing(
        nsmallest(_MAX_NAMES, (name for part in parts for name in part.names)),
        sum(part.number for part in parts),
    )


def notices(patterns: Patterns, globs: Iterable[str], existing: Existing) -> list[Problem]:
    """Return the notices for globs that match nothing."""
    listed = list_names(existing)
    return [
        Problem(
            "notice",
            patterns.source,
            patterns.key,
            redact(f"no {patterns.what} matches {glob}; found: {listed}{similar(glob, existing.names)}"),
        )
        for glob in globs
    ]


def list_names(existing: Existing) -> str:
    """Return ``a, b, ... (12 in all)``, or ``none``."""
    if not existing.names:
        return "none"
    shown = ", ".join(existing.names[:_SHOWN])
    return shown if existing.number <= _SHOWN else f"{shown}, ... ({existing.number:,} in all)"


def similar(glob: str, names: Sequence[str]) -> str:
    """Return ``; did you mean tickit_load?``: a name in another case, or similar to the glob's text."""
    lower = glob.lower()
    in_other_case = next((name for name in names if fnmatchcase(name.lower(), lower)), "")
    if in_other_case:
        return f"; did you mean {in_other_case}?"
    text = lower.strip("*?")
    if suggestion := did_you_mean(text, names):
        return suggestion
    # ``tikit_*``: the beginning of a name, which may be one character longer.
    beginnings = {name[: len(text) + 1].lower(): name for name in reversed(names)}
    close = similar_names(text, beginnings, cutoff=0.85)
    return f"; did you mean {beginnings[close[0]]}?" if close else ""


def _match(names: Iterable[Names], globs: Sequence[str]) -> Iterator[str]:
    missing = set(globs)
    seen: set[str] = set()
    for name in chain.from_iterable(names):
        if not missing:
            return
        if name not in seen:
            seen.add(name)
            matching = {glob for glob in missing if fnmatchcase(name, glob)}
            yield from matching
            missing -= matching


def _some(names: Iterable[str]) -> Iterator[Existing]:
    all_names = list(names)
    yield Existing(nsmallest(_MAX_NAMES, all_names), len(all_names))
