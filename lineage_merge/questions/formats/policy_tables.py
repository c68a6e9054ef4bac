"""Violations of policies for terminals."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.policy_text import path_lines
from lineage_merge.questions.formats.table import add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.questions.policies import CheckedPolicy, PolicyCheck

_STYLES = {"error": "bold red", "warning": "bold yellow"}


def policy_tables(check: "PolicyCheck") -> Iterator[Table | Text]:
    """Yield the violations of each policy with path and fix, then a table of all policies."""
    for result in check.results:
        if result.violations:
            yield from _violations(result, check)
            yield Text()
    table = new_table("policy", "severity", "checked", "violations", "notes")
    for each in check.results:
        add_row(
            table,
            each.policy.name,
            each.policy.severity,
            each.checked,
            len(each.violations),
            "; ".join(each.notes),
        )
    yield table


def _violations(result: "CheckedPolicy", check: "PolicyCheck") -> Iterator[Text]:
    policy = result.policy
    heading = Text(f"{policy.name} ", style="bold")
    heading.append(f"({policy.severity})", style=_STYLES[policy.severity])
    yield heading
    if policy.description:
        yield Text(one_line(policy.description))
    for violation in result.violations:
        title = Text("  ")
        title.append(one_line(violation.title), style="bold")
        yield title.append(f" {one_line(violation.message)}")
        for line in path_lines(violation, check.subgraph):
            yield Text(f"      {one_line(line)}")
        yield Text(f"    Fix: {one_line(violation.fix)}")
