"""Output of merges and loads. Query results are printed by `answers`."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lineage_merge.cli.collapsed import collapsed, problem_text
from lineage_merge.cli.near_misses import print_near_misses
from lineage_merge.model.errors import TooFewJoined

if TYPE_CHECKING:
    from lineage_merge.load.merge_run import MergeRun
    from lineage_merge.load.remove_dag import Removed
    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Report
    from lineage_merge.orchestration.publish import Published

# The most important first.
_PROBLEM_TITLES = {
    "rejected": "invalid documents, skipped",
    "not-joined": "not joined",
    "no-producer": "dbt sources without producer",
    "no-columns": "column lineage unavailable",
    "notice": "notices",
    "skipped": "documents without lineage",
    "no-consumer": "outputs without consumer",
}
# Counted in the table only: most pipelines end in such datasets.
_NOT_LISTED = {"no-consumer": "lineage-merge no-consumer lists them"}
# The complete list is in report.json and `--json`.
_MAX_LISTED = 20
_MAX_NEAR_MISSES = 5


def print_report(console: Console, report: "Report", written: str, *, everything: bool = False) -> None:
    """Print the summary of a build or run: read, translated, joined, written, problems.

    `everything`: list all problems, each in a line of its own.
    """
    table = Table(title="lineage_merge", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("read", ", ".join(_read(what, number) for what, number in report.read.items()) or "nothing")
    nodes = ", ".join(counted(number, label, f"{label}s") for label, number in report.nodes.items())
    edges = ", ".join(f"{number} {label}" for label, number in report.edges.items())
    table.add_row("translated", f"{counted(sum(report.nodes.values()), 'vertex', 'vertices')}: {nodes}")
    table.add_row("", f"{counted(sum(report.edges.values()), 'edge', 'edges')}: {edges}")
    if report.assumed:
        table.add_row("assumed", f"{counted(report.assumed, 'edge', 'edges')} between columns")
    rules = ", ".join(map(str, report.joined_by))
    joined = counted(report.datasets_joined, "dataset", "datasets")
    table.add_row("joined", Text(f"{joined}: {rules}" if rules else "nothing"))
    table.add_row("written", Text(written))
    if report.unmet:
        table.add_row("expected", Text("\n".join(report.unmet)))
    for kind, title in _PROBLEM_TITLES.items():
        # Zero is shown, too, for datasets that are not joined.
        if kind in report.totals or kind == "not-joined":
            hint = "" if everything else _NOT_LISTED.get(kind, "")
            table.add_row(title, f"{report.totals.get(kind, 0):,}{f' ({hint})' if hint else ''}")
        if kind == "rejected" and report.near_misses:
            table.add_row("near misses", str(len(report.near_misses)))
    if report.not_retired:
        table.add_row("not retired", Text("\n".join(report.not_retired)))
    console.print(table)
    print_problems(console, report, everything=everything)


@contextmanager
def too_few_joined(as_json: bool) -> Iterator[None]:
    """Print the report of a merge that joins too little before its error."""
    try:
        yield
    except TooFewJoined as error:
        if error.report is not None:
            from lineage_merge.cli.error_handling import make_console, print_json

            if as_json:
                print_json({"report": error.report.as_json(), "written": None})
            else:
                print_report(make_console(), error.report, "nothing: merge.expect is not met")
        raise


def print_difference(console: Console, loaded: "LoadResult") -> None:
    """Print the listed changes and retirements of a load or dry run, and the exports."""
    would = "would be " if loaded.dry_run else ""
    listed = (
        (f"{would}written", loaded.changes),
        (f"{would}retired", loaded.retirements),
        ("exported", loaded.exported),
    )
    for title, lines in listed:
        if lines:
            console.print(Text(f"\n{title}:", style="bold"))
        for line in lines:
            console.print(Text(f"  {line}"), soft_wrap=True)
    if loaded.refusal:
        console.print(Text(f"\nwould stop: {loaded.refusal}"), soft_wrap=True)


def removed_text(removed: "Removed") -> str:
    """Return a line about the deleted elements."""
    text = f"{counted(removed.edges, 'edge', 'edges')} and {counted(removed.dropped, 'vertex', 'vertices')}"
    if removed.untagged:
        text += f"; {counted(removed.untagged, 'vertex', 'vertices')} of other DAGs untagged"
    return text


def print_merge_run(console: Console, run: "MergeRun", *, everything: bool = False) -> None:
    """Print the last merge of a DAG, as stored in the graph."""
    at = datetime.fromtimestamp(run.last_merged_at / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    written = f"{run.elements_written:,} vertices and edges, {run.elements_retired:,} retired"
    console.print(Text(f"{run.dag_name} in {run.environment}, merged at {at}\n", style="bold"))
    if run.report:
        print_report(console, run.report, written, everything=everything)
    else:
        console.print(f"written: {written}")


def print_published(console: Console, published: "Published") -> None:
    """Print the published objects, and the arguments of jobs that use them."""

    def line(text: str) -> None:
        # Not wrapped, to be copied.
        console.print(Text(text), soft_wrap=True)

    for location in published.locations:
        line(location)
    line("\nGlue 5, in addition to the arguments of a step:")
    line(f"  script location: {published.script}")
    for name, value in published.glue.items():
        line(f"  {name} {value}")
    line("\nEMR Serverless:")
    if published.emr_serverless:
        line(f"  entryPoint: {published.script}")
        line(f"  sparkSubmitParameters: {published.emr_serverless}")
    else:
        line("  not published: requires --emr-environment FILE (a packed Python 3.11)")


def print_problems(console: Console, report: "Report", *, everything: bool = False) -> None:
    """Print the problems by kind, repeated ones as one line, and near misses after rejected documents."""
    for kind, title in _PROBLEM_TITLES.items():
        if everything or kind not in _NOT_LISTED:
            _print_kind(console, report, kind, title, everything=everything)
        if kind == "rejected":
            print_near_misses(console, report.near_misses, None if everything else _MAX_NEAR_MISSES)


def _print_kind(console: Console, report: "Report", kind: str, title: str, *, everything: bool) -> None:
    problems = report.of_kind(kind)
    if not problems:
        return
    console.print(Text(f"\n{title}:", style="bold"))
    lines = [problem_text(each) for each in problems] if everything else collapsed(problems)
    shown = lines if everything else lines[:_MAX_LISTED]
    for line in shown:
        console.print(Text(f"  {line}"), soft_wrap=True)
    more = max(report.totals.get(kind, 0), len(problems)) - len(problems) + len(lines) - len(shown)
    if more > 0:
        console.print(f"  ... and {more:,} more")


def counted(number: int, one: str, many: str) -> str:
    """Return ``1 vertex``, ``2 vertices``."""
    return f"{number:,} {one if number == 1 else many}"


def loaded_text(loaded: "LoadResult") -> str:
    """Return a line about the elements that a load wrote."""
    elements = f"{counted(loaded.nodes, 'vertex', 'vertices')} and {counted(loaded.edges, 'edge', 'edges')}"
    elements += f", {loaded.unchanged:,} unchanged"
    if loaded.retired_nodes or loaded.retired_edges:
        retired = counted(loaded.retired_nodes, "vertex", "vertices")
        elements += f", retired {retired} and {counted(loaded.retired_edges, 'edge', 'edges')}"
    if loaded.moved:
        elements += f", {counted(loaded.moved, 'dataset', 'datasets')} merged into canonical vertices"
    if loaded.dry_run:
        in_bulk = " in bulk" if loaded.mode == "bulk" else ""
        return f"nothing, it is a dry run; would write {elements}{in_bulk} ({loaded.seconds:.1f} s)"
    how = "bulk load, " if loaded.mode == "bulk" else ""
    traffic = f"{counted(loaded.all_requests, 'request', 'requests')}, {loaded.elements_read:,} elements read"
    return f"{elements} ({how}{traffic}, {loaded.seconds:.1f} s)"


def _read(what: str, number: int) -> str:
    return counted(number, what.removesuffix("s"), what)
