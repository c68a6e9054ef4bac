"""Suggestions for misspelt names, from the names that exist. Pure."""

from collections.abc import Iterable
from difflib import get_close_matches

# Longer names are compared by their beginnings: the comparison takes quadratic time.
_MAX_LENGTH = 80
# The minimum similarity of a suggestion; callers with many candidates use a higher one.
_CUTOFF = 0.6


def similar_names(name: str, known: Iterable[str], number: int = 1, cutoff: float = _CUTOFF) -> list[str]:
    """Return the known names that are similar to a name in any case, the most similar first."""
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(name.lower()[:_MAX_LENGTH], list(by_lower), n=number, cutoff=cutoff)
    return [by_lower[each] for each in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean environment?`` for a misspelt name, "" if no known name is similar."""
    similar = similar_names(name, known, number=2)
    return f"; did you mean {' or '.join(similar)}?" if similar else ""
