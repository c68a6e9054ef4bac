"""Policies for the findings of a merge report. Imports no Airflow.

New kinds of problems need no change here: each kind, such as `rejected`, is a key of the policies.
"""

from collections.abc import Mapping
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


class Verdict(NamedTuple):
    """Failures and warnings, as lines."""

    failures: tuple[str, ...]
    warnings: tuple[str, ...]


def judge(report: Mapping[str, Any], written: Mapping[str, Any], policies: Mapping[str, str]) -> Verdict:
    """Apply the policies to the findings, in the order of `policies`. Raises `ValueError`."""
    wrong = sorted({*policies.values()} - {*POLICIES})
    if wrong:
        raise ValueError(f"must be {' or '.join(POLICIES)}, not {', '.join(wrong)}")
    by_policy: dict[str, list[str]] = {policy: [] for policy in POLICIES}
    for kind, policy in policies.items():
        if finding := _finding(kind, report, written):
            by_policy[policy].append(finding)
    return Verdict(tuple(by_policy["fail"]), tuple(by_policy["warn"]))


def _finding(kind: str, report: Mapping[str, Any], written: Mapping[str, Any]) -> str:
    """Return the findings of one kind as a line, "" if there are none."""
    if kind == RETIRE_REFUSED:
        refusal = written.get("refusal")
        return f"nothing was loaded: {refusal}" if refusal else ""
    if kind == NEAR_MISS:
        near_misses = report.get("near_misses") or []
        lines = [f"written {near_miss['written']}, read {near_miss['read']}" for near_miss in near_misses]
        number, title = len(lines), "near misses"
    else:
        lines = [_line(problem) for problem in report.get("problems") or () if problem["kind"] == kind]
        number, title = (report.get("totals") or {}).get(kind, 0), _TITLES.get(kind, kind)
    if not number:
        return ""
    rest = f"; and {number - _MAX_EXAMPLES} more" if number > _MAX_EXAMPLES else ""
    return f"{number} {title}: {'; '.join(lines[:_MAX_EXAMPLES])}{rest}"


def _line(problem: Mapping[str, str]) -> str:
    place = ": ".join(part for part in (problem["document"], problem["field"]) if part)
    return f"{place}: {problem['message']}"
