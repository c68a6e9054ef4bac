"""Time and status of models' last runs in dbt's `run_results.json`."""

import json
from pathlib import Path
from typing import Any

import pytest

from lineage_merge.model.elements import Element, Job, JobKey, Problem
from lineage_merge.model.errors import DocumentError
from lineage_merge.sources.dbt.reader import elements
from lineage_merge.sources.dbt.run_results import NodeRun, read_run_results
from lineage_merge.sources.dbt.settings import DbtProject

DATA = Path(__file__).parents[2] / "data" / "dbt"
END = "2026-11-22T14:38:33.822637Z"


def result(unique_id: str, status: str, **fields: Any) -> dict[str, Any]:
    """As dbt 1.11 writes it."""
    timing = [
        {
            "name": "compile",
            "started_at": "2026-11-22T14:38:33.192Z",
            "completed_at": "2026-11-22T14:38:33.200Z",
        },
        {
            "name": "execute",
            "started_at": "2026-11-22T14:38:33.200Z",
            "completed_at": "2026-11-22T14:38:33.267Z",
        },
    ]
    return {
        "status": status,
        "timing": [] if status in ("skipped", "no-op") else timing,
        "thread_id": "Thread-1 (worker)",
        "execution_time": 0 if status in ("skipped", "no-op") else 0.0788,
        "adapter_response": {},
        "message": None,
        "failures": None,
        "unique_id": unique_id,
    } | fields


def document(*results: Any, command: str = "build", version: int = 6) -> dict[str, Any]:
    return {
        "metadata": {
            "dbt_schema_version": f"https://schemas.getdbt.com/dbt/run-results/v{version}.json",
            "dbt_version": "1.11.16",
            "generated_at": END,
            "invocation_id": "run-7",
        },
        "results": list(results),
        "elapsed_time": 2.05,
        "args": {"which": command, "target": "dev"},
    }


AT = 1795358313267
AT_END = 1795358313822


def test_the_results_of_all_states_say_what_ran_and_how_it_ended() -> None:
    states = {
        "success": "succeeded",
        "error": "failed",
        "runtime error": "failed",
        "partial success": "failed",
        "fail": "failed",
        "pass": "succeeded",
        "warn": "succeeded",
    }
    content = document(*(result(f"model.p.{state}", state) for state in (*states, "skipped", "no-op", "new")))

    results, problems = read_run_results("r.json", json.dumps(content))

    assert problems == []
    assert results.invocation_id == "run-7"
    assert results.runs == {f"model.p.{state}": NodeRun(said, AT, 79) for state, said in states.items()}
    assert results.skipped == {"model.p.skipped": AT_END}


@pytest.mark.parametrize("command", ["test", "compile"])
def test_models_that_a_command_does_not_build_are_not_skipped(command: str) -> None:
    content = document(result("model.p.a", "skipped"), result("test.p.t", "skipped"), command=command)
    results, _ = read_run_results("r.json", json.dumps(content))
    assert results.skipped == {}


def test_a_result_without_times_ended_with_its_invocation() -> None:
    content = document(result("model.p.m", "success", timing=None, execution_time=None))
    results, _ = read_run_results("r.json", json.dumps(content))
    assert results.runs == {"model.p.m": NodeRun("succeeded", AT_END, None)}


@pytest.mark.parametrize("seconds", [-1, 10**400])
def test_a_duration_that_is_none_is_left_out(seconds: float) -> None:
    content = document(result("model.p.m", "success", execution_time=seconds))
    results, _ = read_run_results("r.json", json.dumps(content))
    assert results.runs == {"model.p.m": NodeRun("succeeded", AT, None)}


@pytest.mark.parametrize("command", ["compile", "generate", "show", "run-operation", "clone"])
def test_a_command_that_builds_nothing_has_no_runs(command: str) -> None:
    content = document(result("model.p.m", "success"), command=command)
    results, (problem,) = read_run_results("r.json", json.dumps(content))
    assert results.runs == {}
    assert (problem.kind, problem.document, problem.field) == ("notice", "r.json", "args.which")
    assert command in problem.message


def test_results_of_dbt_test_need_no_notice() -> None:
    # The documented file of a separate test task: it has no models, and its tests count.
    content = document(result("model.p.m", "success"), result("test.p.t", "fail", failures=2), command="test")
    results, problems = read_run_results("r.json", json.dumps(content))
    assert (results.runs, results.tests["test.p.t"].failures, problems) == ({}, 2, [])


@pytest.mark.parametrize("command", ["test", "build"])
def test_results_of_tests_are_apart_from_those_of_models(command: str) -> None:
    states = {
        "pass": "passed",
        "warn": "warned",
        "fail": "failed",
        "error": "error",
        "runtime error": "error",
    }
    content = document(
        *(result(f"test.p.{state}", state, failures=3) for state in (*states, "skipped")),
        result("unit_test.p.m.u", "fail", failures=None),
        result("model.p.m", "success"),
        command=command,
    )
    results, _ = read_run_results("r.json", json.dumps(content))
    expected = {f"test.p.{state}": NodeRun(said, AT, 79, failures=3) for state, said in states.items()}
    assert results.tests == {**expected, "unit_test.p.m.u": NodeRun("failed", AT, 79)}
    assert set(results.runs) == ({"model.p.m"} if command == "build" else set())


@pytest.mark.parametrize("command", ["compile", "generate"])
def test_a_command_that_only_compiles_has_no_results_of_tests(command: str) -> None:
    results, _ = read_run_results("r.json", json.dumps(document(result("test.p.t", "pass"), command=command)))
    assert results.tests == {}


@pytest.mark.parametrize(
    ("response", "rows"),
    [
        ({"rows_affected": 7, "code": "INSERT"}, 7),
        ({"rows_affected": -1}, None),  # unknown, as some adapters write it
        ({"rows_affected": "7"}, None),
        ({"_message": "OK"}, None),
        ("INSERT 0 7", None),
        (None, None),
    ],
)
def test_rows_are_what_the_adapter_counted(response: Any, rows: int | None) -> None:
    content = document(result("model.p.m", "success", adapter_response=response))
    results, _ = read_run_results("r.json", json.dumps(content))
    assert results.runs == {"model.p.m": NodeRun("succeeded", AT, 79, rows)}


def test_a_broken_result_is_named_and_the_others_stay() -> None:
    content = document(
        result("model.p.a", "success"), {"unique_id": "model.p.b"}, result("model.p.c", "error")
    )
    results, problems = read_run_results("r.json", json.dumps(content))
    assert set(results.runs) == {"model.p.a", "model.p.c"}
    assert [(each.kind, each.document, each.field) for each in problems] == [
        ("rejected", "r.json", "results[1].status")
    ]


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("{", ""),
        ("[]", ""),
        ("{}", "metadata"),
        (json.dumps(document(version=7)), "metadata.dbt_schema_version"),
        (json.dumps(document() | {"results": {}}), "results"),
    ],
)
def test_a_file_without_run_results_is_rejected(text: str, field: str) -> None:
    with pytest.raises(DocumentError) as error:
        read_run_results("r.json", text)
    assert error.value.field == field


def jobs(found: list[Element]) -> dict[str, dict[str, Any]]:
    """Return the properties of each job's runs."""
    said: dict[str, dict[str, Any]] = {}
    for each in found:
        if isinstance(each, Job):
            said.setdefault(each.key.name, {}).update(each.properties)
    facts = ("last_run_at", "last_run_id", "status", "duration_ms")
    return {job: {name: held[name] for name in facts if name in held} for job, held in said.items()}


@pytest.fixture
def project(tmp_path: Path) -> DbtProject:
    manifest = DATA / "duckdb_v12" / "manifest.json"
    return DbtProject(str(manifest), "duckdb://tickit", run_results=(str(tmp_path / "run_results.json"),))


def test_a_manifest_alone_has_no_runs(project: DbtProject) -> None:
    found = list(elements(DbtProject(project.manifest, project.namespace)))
    assert len(jobs(found)) == 9
    assert set(map(str, jobs(found).values())) == {"{}"}


def test_only_what_ran_has_a_last_run(project: DbtProject) -> None:
    content = document(
        result("model.tickit.stg_sales", "success"),
        result("model.tickit.fct_sales", "error", message="Runtime Error"),
        result("model.tickit.people", "skipped"),
        result("model.tickit.int_sales_enriched", "success"),  # ephemeral: has no job
        result("test.tickit.assert_positive", "fail"),
        result("model.tickit.dropped", "success"),
    )
    Path(project.run_results[0]).write_text(json.dumps(content), "utf-8")

    found = list(elements(project))

    of_run: dict[str, Any] = {"last_run_at": AT, "last_run_id": "run-7", "duration_ms": 79}
    assert {job: facts for job, facts in jobs(found).items() if facts} == {
        "model.tickit.stg_sales": of_run | {"status": "succeeded"},
        "model.tickit.fct_sales": of_run | {"status": "failed"},
    }
    assert Job(JobKey("dbt", "model.tickit.fct_sales"), AT, of_run | {"status": "failed"}) in found


def test_a_missing_file_is_a_notice(project: DbtProject) -> None:
    found = list(elements(project))
    assert {str(facts) for facts in jobs(found).values()} == {"{}"}
    (problem,) = [each for each in found if isinstance(each, Problem)]
    assert (problem.kind, problem.document) == ("notice", project.run_results[0])
