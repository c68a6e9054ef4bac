"""Reasons of the status of data in words, the same in tables and on the page. Pure."""

from collections.abc import Iterator

from lineage_merge.query.expectations import Expectation
from lineage_merge.query.formats.times import duration_text
from lineage_merge.query.freshness import Freshness, Nearest

_SOURCES = {"older_than": "", "freshness_check": " (freshness check)", "policy": " (policy {})"}


def reasons_text(found: Freshness) -> str:
    """Return ``older than 1 d 12 h, stale upstream``: why data is stale or its last update unknown."""
    return ", ".join(_reasons(found))


def expectations_text(found: Freshness) -> str:
    """Return ``within 6 h (freshness check)``: the expectations of a dataset that is fresh."""
    if not found.expectations:
        return "all of its inputs are"
    return ", ".join(
        f"within {_limit(each)}" if each.limit_ms is not None else each.source.replace("_", " ")
        for each in found.expectations
    )


def cause_text(cause: Nearest, title: str) -> str:
    """Return ``raw_customers (2 hops)``: the upstream dataset with this title that makes another stale."""
    return f"{title} ({cause.distance:,} hop{'' if cause.distance == 1 else 's'})"


def _reasons(found: Freshness) -> Iterator[str]:
    for reason in found.reasons:
        if reason == "age":
            yield from (f"older than {_limit(each)}" for each in found.expectations if each.unmet == "age")
        else:
            yield reason.replace("_", " ")


def _limit(expectation: Expectation) -> str:
    return duration_text(expectation.limit_ms) + _SOURCES[expectation.source].format(expectation.policy)
