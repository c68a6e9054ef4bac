"""Parsing of dbt's `sources.json`: what `dbt source freshness` found.

Its schema is published at https://schemas.getdbt.com/dbt/sources/v3.json.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.declared_tests import Freshness, criteria

_SUPPORTED = frozenset({1, 2, 3, 20})
_VERSION = re.compile(r"https?://schemas\.getdbt\.com/dbt/sources/v([0-9]{1,4})\.json")
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
    _check(location, document)
    metadata = document["metadata"]
    problems: list[Problem] = []
    end = artefact.moment(metadata.get("generated_at"))
    runs = dict(_runs(location, document["results"], end, problems))
    return FreshnessResults(metadata.get("invocation_id") or "", runs), problems


def _runs(
    location: str, results: list[Any], end: int, problems: list[Problem]
) -> Iterator[tuple[str, FreshnessRun]]:
    for index, result in enumerate(results):
        wrong = _checkers()[1].error(result)
        if wrong is not None:
            path = f"results[{index}].{wrong.path}".rstrip(".")
            problems.append(Problem("rejected", location, path, wrong.problem))
            continue
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


def _check(location: str, document: Mapping[str, Any]) -> None:
    results = document.get("results")
    error = _checkers()[0].error({**document, "results": []} if isinstance(results, list) else document)
    if error is not None:
        raise DocumentError(location, error.path, error.problem)
    version = document["metadata"]["dbt_schema_version"]
    match = _VERSION.fullmatch(version)
    if match is None or int(match[1]) not in _SUPPORTED:
        shown = redact(json.dumps(version, ensure_ascii=False))[:120]
        message = f"{shown} is not a supported version of sources: v1 to v3 and v20 are supported"
        raise DocumentError(location, "metadata.dbt_schema_version", message)


@cache
def _checkers() -> tuple[Checker, Checker]:
    """Return the validators of the document without its results, and of one result."""
    text = files(__package__).joinpath("sources.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    return Checker(schema), Checker({"$defs": schema["$defs"], **schema["$defs"]["result"]})
