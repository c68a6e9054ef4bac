"""Parsing of dbt's `run_results.json`: what the last invocation did to each node and test.

Its schema is published at https://schemas.getdbt.com/dbt/run-results/v6.json. Every command that compiles
writes the file; only some of them build models or run tests. Messages are not read: they may contain data.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lineage_merge.model.elements import Problem
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.results_schema import ResultsSchema

_SCHEMA = ResultsSchema(
    "run_results.schema.json", "run results", "run-results", frozenset({*range(1, 7), 20}), "v1 to v6 and v20"
)
_BUILD_NOTHING = frozenset(
    {"clone", "compile", "docs", "freshness", "generate", "list", "parse", "run-operation", "show"}
)
_TESTS_ONLY = "test"
_TEST_IDS = ("test.", "unit_test.")
_MOST_ROWS = 10**15
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
_SKIPPED = "skipped"
# A skipped test did not run.
_TEST_STATUS: Mapping[str, str] = {
    "pass": "passed",
    "success": "passed",
    "warn": "warned",
    "fail": "failed",
    "error": "error",
    "runtime error": "error",
}


class NodeRun(NamedTuple):
    """The last run of one node: `status` is succeeded or failed, `at` its end in ms since 1970.

    The status of a test is passed, warned, failed, or error if it could not run; `failures` are its failing
    rows.
    """

    status: str
    at: int
    duration_ms: int | None
    rows: int | None = None
    failures: int | None = None


@dataclass(frozen=True, slots=True)
class RunResults:
    """Results of an invocation, by unique id: `runs` of nodes and of `tests`.

    `command` is dbt's, "" if unknown. `skipped` are the nodes that did not run because something upstream
    failed, with the time in ms since 1970. `generated_at`: when the invocation ended (0: unknown).
    """

    invocation_id: str = ""
    command: str = ""
    runs: Mapping[str, NodeRun] = field(default_factory=dict)
    tests: Mapping[str, NodeRun] = field(default_factory=dict)
    skipped: Mapping[str, int] = field(default_factory=dict)
    generated_at: int = 0


def read_run_results(location: str, text: str) -> tuple[RunResults, list[Problem]]:
    """Parse and validate run results; `location` names them in errors.

    Raises `DocumentError` for text that is not JSON, no run results, or of an unknown version. A single
    malformed result is left out and returned as a `Problem` (`rejected`). Commands that build nothing and run
    no tests yield no runs, and a notice.
    """
    document = artefact.parse(location, text, "run results file")
    _SCHEMA.check(location, document)
    metadata = document["metadata"]
    command = (document.get("args") or {}).get("which") or ""
    end = artefact.moment(metadata.get("generated_at"))
    problems: list[Problem] = []
    all_runs = dict(_runs(location, document["results"], end, problems))
    tests = {unique_id: run for unique_id, run in all_runs.items() if unique_id.startswith(_TEST_IDS)}
    runs = {unique_id: run for unique_id, run in all_runs.items() if unique_id not in tests}
    invocation = metadata.get("invocation_id") or ""
    if command in _BUILD_NOTHING:
        why = f"was written by dbt {command}, which builds no models, so it has no last runs"
        problems.append(Problem("notice", location, "args.which", why))
        return RunResults(command=command), problems
    if command == _TESTS_ONLY:
        return RunResults(invocation, command, {}, tests, generated_at=end), problems
    skipped = {
        result["unique_id"]: _find_end(result) or end
        for result in _SCHEMA.valid_results(location, document["results"], [])
        if result["status"].lower() == _SKIPPED and not result["unique_id"].startswith(_TEST_IDS)
    }
    return RunResults(invocation, command, runs, tests, skipped, end), problems


def _runs(
    location: str, results: list[Any], end: int, problems: list[Problem]
) -> Iterator[tuple[str, NodeRun]]:
    for result in _SCHEMA.valid_results(location, results, problems):
        is_test = result["unique_id"].startswith(_TEST_IDS)
        status = (_TEST_STATUS if is_test else _STATUS).get(result["status"].lower())
        at = _find_end(result) or end
        if status is not None and at:
            duration = artefact.duration_ms(result.get("execution_time"))
            response = result.get("adapter_response")
            rows = None if is_test or not isinstance(response, dict) else response.get("rows_affected")
            failures = result.get("failures") if is_test else None
            yield result["unique_id"], NodeRun(status, at, duration, _number(rows), _number(failures))


def _number(value: Any) -> int | None:
    """Return a number of rows; some adapters report -1 for an unknown one."""
    is_number = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _MOST_ROWS
    return value if is_number else None


def _find_end(result: Mapping[str, Any]) -> int:
    timing = result.get("timing") or ()
    return max((artefact.moment(step.get("completed_at")) for step in timing), default=0)
