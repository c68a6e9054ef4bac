"""Parsing of dbt's `sources.json`: what `dbt source freshness` found.

Its schema is published at https://schemas.getdbt.com/dbt/sources/v3.json.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.declared_tests import Freshness, criteria
from lineage_merge.sources.dbt.results_schema import ResultsSchema

_SCHEMA = ResultsSchema(
    "sources.schema.json", "sources", "sources", frozenset({1, 2, 3, 20}), "v1 to v3 and v20"
)
_STATUS: Mapping[str, str] = {
    "pass": "passed",
    "warn": "warned",
    "error": "failed",
    "runtime error": "error",
}


class FreshnessRun(NamedTuple):
    """The last check of a source: `status` is passed, warned, failed (stale), or error if it could not run.

    Times are ms since 1970; `at` is the time of the check.
    """

    status: str
    at: int
    max_loaded_at: int | None = None
    duration_ms: int | None = None
    criteria: Freshness = Freshness()


@dataclass(frozen=True, slots=True)
class FreshnessResults:
    """Results of an invocation, by unique id."""

    invocation_id: str = ""
    runs: Mapping[str, FreshnessRun] = field(default_factory=dict)


def read_sources(location: str, text: str) -> tuple[FreshnessResults, list[Problem]]:
    """Parse and validate freshness results; `location` names them in errors.

    Raises `DocumentError` for text that is not JSON, no freshness results, or of an unknown version. A single
    malformed result is left out and returned as a `Problem` (`rejected`).
    """
    document = artefact.parse(location, text, "sources file")
    _SCHEMA.check(location, document)
    metadata = document["metadata"]
    problems: list[Problem] = []
    end = artefact.moment(metadata.get("generated_at"))
    runs = dict(_runs(location, document["results"], end, problems))
    return FreshnessResults(metadata.get("invocation_id") or "", runs), problems


def _runs(
    location: str, results: list[Any], end: int, problems: list[Problem]
) -> Iterator[tuple[str, FreshnessRun]]:
    for result in _SCHEMA.valid_results(location, results, problems):
        status = _STATUS.get(str(result.get("status") or "").lower())
        at = artefact.moment(result.get("snapshotted_at")) or end
        if status is not None and at:
            yield (
                result["unique_id"],
                FreshnessRun(
                    status,
                    at,
                    artefact.moment(result.get("max_loaded_at")) or None,
                    artefact.duration_ms(result.get("execution_time")),
                    criteria(result.get("criteria")),
                ),
            )
