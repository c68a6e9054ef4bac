"""What the summary of a merge prints, without a merge."""

from io import StringIO

from rich.console import Console

from lineage_merge.cli.printing import print_report
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem


def printed(report: Report) -> list[str]:
    out = StringIO()
    print_report(Console(file=out, width=200, highlight=False), report, "nothing")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_a_summary_says_of_which_sources_nothing_is_retired_and_why() -> None:
    off = ("dbt: 1 document rejected", "Hive: retire_after is 0")
    shown = printed(Report({}, {}, {}, (), (), not_retired=off))
    start = next(number for number, line in enumerate(shown) if "retiring is off" in line)
    assert shown[start].split("retiring is off")[1].strip(" │") == off[0]
    assert shown[start + 1].strip(" │") == off[1]
    assert not any("retiring" in line for line in printed(Report({}, {}, {}, (), ())))


def test_a_list_of_examples_ends_with_the_number_of_all_others() -> None:
    examples = tuple(Problem("notice", f"document {each}", "", "found") for each in range(30))
    assert printed(Report({}, {}, {}, (), examples, {"notice": 4321}))[-1] == "  ... and 4,301 more"
    assert printed(Report({}, {}, {}, (), examples, {"notice": 30}))[-1] == "  ... and 10 more"
