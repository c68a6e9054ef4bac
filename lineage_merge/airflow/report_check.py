"""Policies for the findings of a merge report. Imports no Airflow.

New kinds of problems need no change here: each kind, such as `rejected`, is a key of the policies.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, get_args

Policy = Literal["fail", "warn"]
POLICIES: tuple[str, ...] = get_args(Policy)
REJECTED = "rejected"
RETIRE_REFUSED = "retire-refused"
NEAR_MISS = "near-miss"
VIOLATION = "policy-violation"
_TITLES = {REJECTED: "rejected documents"}
# The message appears in task lists and mails; log and folder have all examples.
_MAX_EXAMPLES = 5


class ReportFinding(NamedTuple):
    """A finding of one kind, as a line."""

    kind: str
    message: str


class Verdict(NamedTuple):
    """Failures and warnings, as lines."""

    failures: tuple[str, ...]
    warnings: tuple[str, ...]


def judge(report: Mapping[str, Any], written: Mapping[str, Any], policies: Mapping[str, str]) -> Verdict:
    """Apply the policies to the findings, in the order of `policies`. Raises `ValueError`."""
    wrong = sorted({*policies.values()} - {*POLICIES})
    if wrong:
        raise ValueError(f"must be {' or '.join(POLICIES)}, not {', '.join(wrong)}")
    found = [finding for kind in policies for finding in _findings(kind, report, written)]
    return Verdict(
        tuple(policy.message for policy in found if policies[policy.kind] == "fail"),
        tuple(policy.message for policy in found if policies[policy.kind] == "warn"),
    )


def _findings(kind: str, report: Mapping[str, Any], written: Mapping[str, Any]) -> list[ReportFinding]:
    if kind == RETIRE_REFUSED:
        refusal = written.get("refusal")
        return [ReportFinding(kind, f"nothing was loaded: {refusal}")] if refusal else []
    if kind == NEAR_MISS:
        return _near_misses(report.get("near_misses") or [])
    number = (report.get("totals") or {}).get(kind, 0)
    if not number:
        return []
    examples = [_line(problem) for problem in report.get("problems") or () if problem["kind"] == kind]
    shown = "; ".join(examples[:_MAX_EXAMPLES])
    rest = f"; and {number - _MAX_EXAMPLES} more" if number > _MAX_EXAMPLES else ""
    return [ReportFinding(kind, f"{number} {_TITLES.get(kind, kind)}: {shown}{rest}")]


def _near_misses(found: Sequence[Mapping[str, Any]]) -> list[ReportFinding]:
    if not found:
        return []
    shown = "; ".join(f"written {each['written']}, read {each['read']}" for each in found[:_MAX_EXAMPLES])
    rest = f"; and {len(found) - _MAX_EXAMPLES} more" if len(found) > _MAX_EXAMPLES else ""
    return [ReportFinding(NEAR_MISS, f"{len(found)} near misses: {shown}{rest}")]


def _line(problem: Mapping[str, str]) -> str:
    place = ": ".join(part for part in (problem["document"], problem["field"]) if part)
    return f"{place}: {problem['message']}"
