"""Reasons of the status of data in words, the same in tables and on the page. Pure."""

from collections.abc import Iterator

from lineage_merge.model.times import duration_text
from lineage_merge.questions.expectations import Expectation
from lineage_merge.questions.staleness import Freshness, Nearest

_SOURCES = {"older_than": "", "freshness_check": " (freshness check)", "policy": " (policy {})"}


def reasons_text(freshness: Freshness) -> str:
    """Return ``older than 1 d 12 h, stale upstream``: why data is stale or its last update unknown."""
    return ", ".join(_reasons(freshness))


def expectations_text(freshness: Freshness) -> str:
    """Return ``within 6 h (freshness check)``: the expectations of a dataset that is fresh."""
    if not freshness.expectations:
        return "all of its inputs are"
    return ", ".join(
        f"within {_limit(expectation)}"
        if expectation.limit_ms is not None
        else expectation.source.replace("_", " ")
        for expectation in freshness.expectations
    )


def cause_text(cause: Nearest, title: str) -> str:
    """Return ``raw_customers (2 hops)``: the upstream dataset with this title that makes another stale."""
    return f"{title} ({cause.distance:,} hop{'' if cause.distance == 1 else 's'})"


def _reasons(freshness: Freshness) -> Iterator[str]:
    for reason in freshness.reasons:
        if reason == "age":
            unmet = (expectation for expectation in freshness.expectations if expectation.unmet == "age")
            yield from (f"older than {_limit(expectation)}" for expectation in unmet)
        else:
            yield reason.replace("_", " ")


def _limit(expectation: Expectation) -> str:
    return duration_text(expectation.limit_ms) + _SOURCES[expectation.source].format(expectation.policy)
