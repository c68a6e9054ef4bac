"""Which findings of a loaded merge fail its report, and which only warn."""

from typing import Any

import pytest

from lineage_merge.airflow.report_check import (
    NEAR_MISS,
    REJECTED,
    RETIRE_REFUSED,
    Verdict,
    judge,
)

FAIL = {REJECTED: "fail", RETIRE_REFUSED: "fail"}
WARN = {REJECTED: "warn", RETIRE_REFUSED: "warn"}
LOADED = {"nodes": 5, "refusal": ""}


def problem(document: str, kind: str = "rejected", field: str = "") -> dict[str, str]:
    return {"kind": kind, "document": document, "field": field, "message": "expected an object"}


def report(*problems: dict[str, str], **totals: int) -> dict[str, Any]:
    return {"totals": totals, "problems": list(problems)}


DAMAGED = report(
    problem("s3://dbt/manifest.json", field="nodes.model.a.columns"),
    problem("s3://dbt/x", kind="no-consumer"),
    rejected=1,
    **{"no-consumer": 1},
)
LINE = "1 rejected documents: s3://dbt/manifest.json: nodes.model.a.columns: expected an object"


def test_a_rejected_document_fails_or_warns_with_its_name() -> None:
    assert judge(DAMAGED, LOADED, FAIL) == Verdict((LINE,), ())
    assert judge(DAMAGED, LOADED, WARN) == Verdict((), (LINE,))


def test_a_refused_retirement_fails_or_warns() -> None:
    written = {"nodes": 0, "refusal": "would retire 30 of 40 edges"}
    line = "nothing was loaded: would retire 30 of 40 edges"

    assert judge(report(), written, FAIL) == Verdict((line,), ())
    assert judge(DAMAGED, written, {**FAIL, RETIRE_REFUSED: "warn"}) == Verdict((LINE,), (line,))


@pytest.mark.parametrize("policies", [FAIL, WARN, {}])
def test_a_merge_without_findings_passes(policies: dict[str, str]) -> None:
    assert judge(report(problem("a", kind="no-consumer"), **{"no-consumer": 1}), LOADED, policies) == Verdict(
        (), ()
    )


def test_problems_of_any_kind_can_have_a_policy() -> None:
    found = report(problem("dev|s3://b|sales", kind="expected-join"), **{"expected-join": 1})

    assert judge(found, LOADED, {**WARN, "expected-join": "fail"}).failures == (
        "1 expected-join: dev|s3://b|sales: expected an object",
    )


def test_near_misses_can_have_a_policy() -> None:
    found = [{"written": f"dev|a|{each}", "read": f"dev|b|{each}"} for each in range(7)]

    (line,) = judge({"near_misses": found}, LOADED, {**WARN, NEAR_MISS: "fail"}).failures

    assert line.startswith("7 near misses: written dev|a|0, read dev|b|0; written dev|a|1, read dev|b|1; ")
    assert line.endswith("; and 2 more")
    assert judge({"near_misses": found}, LOADED, WARN) == judge({}, LOADED, {NEAR_MISS: "fail"})


def test_the_count_is_that_of_all_documents_and_the_examples_are_few() -> None:
    found = report(*(problem(f"d{number}") for number in range(7)), rejected=1200)

    (line,) = judge(found, LOADED, FAIL).failures
    assert line.startswith("1200 rejected documents: d0: expected an object; d1: ")
    assert line.endswith("d4: expected an object; and 1195 more")


def test_an_unknown_policy_is_an_error() -> None:
    with pytest.raises(ValueError, match="must be fail or warn, not ignore"):
        judge(report(), LOADED, {REJECTED: "ignore"})
