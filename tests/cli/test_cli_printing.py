"""The printed summary of a merge."""

from io import StringIO

from rich.console import Console

from lineage_merge.merge.report import Dismissed, NearMiss, Report
from lineage_merge.model.elements import Problem
from lineage_merge.orchestration.report_text import print_report

WAREHOUSE = "redshift://wh.us-east-1:5439"


def printed(report: Report, *, everything: bool = False) -> list[str]:
    out = StringIO()
    console = Console(file=out, width=200, highlight=False)
    print_report(console, report, "nothing", everything=everything)
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_the_summary_lists_sources_without_retirement() -> None:
    off = ("dbt: 1 document rejected", "Hive: retire_after is 0")
    shown = printed(Report({}, {}, {}, (), (), not_retired=off))
    start = next(number for number, line in enumerate(shown) if "not retired" in line)
    assert shown[start].split("not retired")[1].strip(" │") == off[0]
    assert shown[start + 1].strip(" │") == off[1]
    assert not any("not retired" in line for line in printed(Report({}, {}, {}, (), ())))


def test_the_summary_counts_assumed_edges() -> None:
    shown = printed(Report({}, {}, {}, (), (), assumed=2))

    [line] = [line for line in shown if "assumed" in line]
    assert line.split("assumed")[1].strip(" │") == "2 edges between columns"


def test_a_truncated_list_ends_with_the_number_of_others() -> None:
    examples = tuple(Problem("notice", f"document {each}", "", f"found {each}") for each in range(30))
    assert printed(Report({}, {}, {}, (), examples, {"notice": 4321}))[-1] == "  ... and 4,301 more"
    assert printed(Report({}, {}, {}, (), examples, {"notice": 30}))[-1] == "  ... and 10 more"


def test_repeated_findings_are_one_line() -> None:
    problems = [Problem("no-columns", f"/data/tpch/q{each:02}", "", "no columns") for each in range(1, 23)]
    problems += [Problem("no-columns", f"/data/{each}", "", "no columns") for each in ("ab", "b")]
    problems += [Problem("no-columns", f"dev|wh|dw.mart.{each}", "", "an RDD") for each in ("a", "b", "c")]
    report = Report({}, {}, {}, (), tuple(problems), {"no-columns": len(problems)})
    assert printed(report)[-4:] == [
        "  /data/tpch/q* (22): no columns",
        "  /data/ab: no columns",
        "  /data/b: no columns",
        "  dev|wh|dw.mart.* (3): an RDD",
    ]
    everything = printed(report, everything=True)
    assert len([line for line in everything if line.startswith("  /data/tpch/q")]) == 22


def test_a_collapsed_list_counts_what_the_report_does_not_have() -> None:
    problems = tuple(Problem("no-columns", f"/data/q{each}", "", "no columns") for each in range(1000))
    shown = printed(Report({}, {}, {}, (), problems, {"no-columns": 1500}))
    assert shown[-2:] == ["  /data/q* (1,000): no columns", "  ... and 500 more"]


def test_outputs_without_consumer_are_one_row() -> None:
    problems = tuple(Problem("no-consumer", f"dev|wh|t{each}", "", "nothing reads it") for each in range(5))
    report = Report({}, {}, {}, (), problems, {"no-consumer": 5})
    assert [line for line in printed(report) if "dev|wh|" in line] == []
    assert any("5 (lineage-merge no-consumer lists them)" in line for line in printed(report))
    assert len([line for line in printed(report, everything=True) if "dev|wh|" in line]) == 5


def miss(number: int, fix: str) -> NearMiss:
    written, read = f"dev|s3://lake|t{number}", f"dev|{WAREHOUSE}|dev.public.t{number}"
    return NearMiss(written, read, 90 - number, ("same name",), "merge.rules" if fix else "", fix)


def test_near_misses_with_one_fix_are_printed_together_and_truncated() -> None:
    fixed = (miss(1, "a: 1\n"), miss(2, "b: 1\n"), miss(3, "a: 1\n"))
    found = (*fixed, *(miss(each, "") for each in range(4, 9)))
    rejected = Problem("rejected", "file", "", "broken")
    notice = Problem("notice", "file", "", "a notice")
    report = Report({}, {}, {}, (), (notice, rejected), {"rejected": 1, "notice": 1}, near_misses=found)

    shown = printed(report)

    start = shown.index("near misses: written and read under different names, not joined:")
    assert shown[start + 1 :] == [
        "  written  s3://lake/t1",
        f"  read     {WAREHOUSE}|dev.public.t1",
        "           score 89: same name",
        "  written  s3://lake/t3",
        f"  read     {WAREHOUSE}|dev.public.t3",
        "           score 87: same name",
        "  Fix: merge.rules joins 2 near misses:",
        "    a: 1",
        "  written  s3://lake/t2",
        f"  read     {WAREHOUSE}|dev.public.t2",
        "           score 88: same name",
        "  Fix: merge.rules joins them:",
        "    b: 1",
        "  written  s3://lake/t4",
        f"  read     {WAREHOUSE}|dev.public.t4",
        "           score 86: same name",
        "  written  s3://lake/t5",
        f"  read     {WAREHOUSE}|dev.public.t5",
        "           score 85: same name",
        "  Fix: correct the name in the job or the project; no configuration joins them",
        "  ... and 3 more: lineage-merge report --near-misses",
        "",
        "notices:",
        "  file: a notice",
    ]
    assert shown.index("invalid documents, skipped:") < start


def test_dismissed_near_misses_are_counted_and_listed_with_all() -> None:
    dismissed = Dismissed(
        "dev|s3://lake|t", f"dev|{WAREHOUSE}|dev.public.t", 80, (), "anna", "other shop", "2999-01-31"
    )
    returned = miss(1, "")._replace(note="dismissed by anna until 2020-01-31: other shop")
    report = Report({}, {}, {}, (), (), near_misses=(returned,), dismissed_near_misses=(dismissed,))

    assert any("near misses" in line and "1 (1 dismissed)" in line for line in printed(report))
    assert "           dismissed by anna until 2020-01-31: other shop" in printed(report)
    assert printed(report)[-1] == "1 near miss is dismissed; --all lists them"
    assert printed(report, everything=True)[-4:] == [
        "1 near miss is dismissed",
        "  written  s3://lake/t",
        f"  read     {WAREHOUSE}|dev.public.t",
        "           dismissed by anna until 2999-01-31: other shop",
    ]
