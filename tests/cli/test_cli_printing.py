"""The printed summary of a merge."""

from io import StringIO

from rich.console import Console

from lineage_merge.cli.printing import print_report
from lineage_merge.merge.report import Report
from lineage_merge.model.elements import Problem


def printed(report: Report) -> list[str]:
    out = StringIO()
    print_report(Console(file=out, width=200, highlight=False), report, "nothing")
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_summary_lists_sources_without_retirement() -> None:
    off = ("dbt: 1 document rejected", "Hive: retire_after is 0")
    shown = printed(Report({}, {}, {}, (), (), not_retired=off))
    start = next(number for number, line in enumerate(shown) if "not retired" in line)
    assert shown[start].split("not retired")[1].strip(" │") == off[0]
    assert shown[start + 1].strip(" │") == off[1]
    assert not any("not retired" in line for line in printed(Report({}, {}, {}, (), ())))


def test_a_truncated_list_ends_with_the_number_of_others() -> None:
    examples = tuple(Problem("notice", f"document {each}", "", "found") for each in range(30))
    assert printed(Report({}, {}, {}, (), examples, {"notice": 4321}))[-1] == "  ... and 4,301 more"
    assert printed(Report({}, {}, {}, (), examples, {"notice": 30}))[-1] == "  ... and 10 more"
