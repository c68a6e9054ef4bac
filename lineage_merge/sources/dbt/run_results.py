"""Parsing of dbt's `run_results.json`: what the last invocation did to each node.

Its schema is published at https://schemas.getdbt.com/dbt/run-results/v6.json. Every command that compiles
writes the file; only some of them build models.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact

_SUPPORTED = frozenset({*range(1, 7), 20})
_VERSION = re.compile(r"https?://schemas\.getdbt\.com/dbt/run-results/v([0-9]{1,4})\.json")
_BUILD_NOTHING = frozenset(
    {"clone", "compile", "docs", "freshness", "generate", "list", "parse", "run-operation", "show", "test"}
)
_LONGEST_SECONDS = 10**9
# A partial success is a model with some failed batches. Skipped and no-op nodes did not run.
_STATUS: Mapping[str, str] = {
    "success": "succeeded",
    "pass": "succeeded",
    "warn": "succeeded",
    "error": "failed",
    "fail": "failed",
    "runtime error": "failed",
    "partial success": "failed",
}


class NodeRun(NamedTuple):
    """The last run of one node: `status` is succeeded or failed, `at` its end in ms since 1970."""

    status: str
    at: int
    duration_ms: int | None


@dataclass(frozen=True, slots=True)
class RunResults:
    """Results of an invocation, by unique id; `command` is dbt's, "" if unknown."""

    invocation_id: str = ""
    command: str = ""
    runs: Mapping[str, NodeRun] = field(default_factory=dict)


def read_run_results(location: str, text: str) -> tuple[RunResults, list[Problem]]:
    """Parse and validate run results; `location` names them in errors.

    Raises `DocumentError` for text that is not JSON, no run results, or of an unknown version. A single
    malformed result is left out and returned as a `Problem` (`rejected`). Commands that build nothing yield
    no runs.
    """
    document = artefact.parse(location, text, "run results file")
    _check(location, document)
    metadata = document["metadata"]
    command = (document.get("args") or {}).get("which") or ""
    end = _milliseconds(metadata.get("generated_at"))
    problems: list[Problem] = []
    runs = dict(_runs(location, document["results"], end, problems))
    if command in _BUILD_NOTHING:
        why = f"was written by dbt {command}, which builds no models, so it has no last runs"
        return RunResults(command=command), [*problems, Problem("notice", location, "args.which", why)]
    return RunResults(metadata.get("invocation_id") or "", command, runs), problems


def _runs(
    location: str, results: list[Any], end: int, problems: list[Problem]
) -> Iterator[tuple[str, NodeRun]]:
    for index, result in enumerate(results):
        wrong = _checkers()[1].error(result)
        if wrong is not None:
            path = f"results[{index}].{wrong.path}".rstrip(".")
            problems.append(Problem("rejected", location, path, wrong.problem))
            continue
        status = _STATUS.get(result["status"].lower())
        at = _ended(result) or end
        if status is not None and at:
            yield result["unique_id"], NodeRun(status, at, _duration(result.get("execution_time")))


def _ended(result: Mapping[str, Any]) -> int:
    timing = result.get("timing") or ()
    return max((_milliseconds(step.get("completed_at")) for step in timing), default=0)


def _duration(seconds: float | None) -> int | None:
    if seconds is None or not 0 <= seconds < _LONGEST_SECONDS:
        return None
    return round(seconds * 1000)


def _milliseconds(text: str | None) -> int:
    """Return a time as ms since 1970, 0 if it is missing or malformed."""
    try:
        return artefact.milliseconds(datetime.fromisoformat(text)) if text else 0
    except ValueError:
        return 0


def _check(location: str, document: Mapping[str, Any]) -> None:
    results = document.get("results")
    error = _checkers()[0].error({**document, "results": []} if isinstance(results, list) else document)
    if error is not None:
        raise DocumentError(location, error.path, error.problem)
    version = document["metadata"]["dbt_schema_version"]
    match = _VERSION.fullmatch(version)
    if match is None or int(match[1]) not in _SUPPORTED:
        shown = redact(json.dumps(version, ensure_ascii=False))[:120]
        message = f"{shown} is not a supported version of run results: v1 to v6 and v20 are supported"
        raise DocumentError(location, "metadata.dbt_schema_version", message)


@cache
def _checkers() -> tuple[Checker, Checker]:
    """Return the validators of the document without its results, and of one result."""
    text = files(__package__).joinpath("run_results.schema.json").read_text(encoding="utf-8")
    schema = json.loads(text)
    return Checker(schema), Checker({"$defs": schema["$defs"], **schema["$defs"]["result"]})
