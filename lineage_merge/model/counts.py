"""Counts and lists of names as text."""

from collections.abc import Mapping, Sequence


def format_count(number: int, noun: str) -> str:
    """Return ``1 dataset``, ``2 datasets``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_names(names: Sequence[str], most: int) -> str:
    """Return ``a, b and 3 more``."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def format_counts(counts: Mapping[str, int]) -> str:
    """Return ``3 fresh, 2 stale``, without zeros."""
    return ", ".join(f"{number:,} {noun}" for noun, number in counts.items() if number)
