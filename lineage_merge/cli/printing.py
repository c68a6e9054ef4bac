"""Output of merges and loads. Query results are printed by `answers`."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from lineage_merge.load.merge_run import MergeRun
    from lineage_merge.load.remove_dag import Removed
    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Report
    from lineage_merge.model.elements import Problem
    from lineage_merge.orchestration.publish import Published

_PROBLEM_TITLES = {
    "rejected": "invalid documents, skipped",
    "not-joined": "not joined",
    "no-columns": "column lineage unavailable",
    "no-producer": "dbt sources without producer",
    "no-consumer": "outputs without consumer",
    "skipped": "documents without lineage",
    "notice": "notices",
}
# The complete list is in report.json and `--json`.
_MAX_LISTED = 20


def print_report(console: Console, report: "Report", written: str) -> None:
    """Print the summary of a build or run: read, translated, joined, written, problems."""
    table = Table(title="lineage_merge", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("read", ", ".join(_read(what, number) for what, number in report.read.items()) or "nothing")
    nodes = ", ".join(counted(number, label, f"{label}s") for label, number in report.nodes.items())
    edges = ", ".join(f"{number} {label}" for label, number in report.edges.items())
    table.add_row("translated", f"{counted(sum(report.nodes.values()), 'vertex', 'vertices')}: {nodes}")
    table.add_row("", f"{counted(sum(report.edges.values()), 'edge', 'edges')}: {edges}")
    joined = [f"{counted(each.datasets, 'dataset', 'datasets')} by {each.rule}" for each in report.joined]
    table.add_row("joined", Text("\n".join(joined) or "nothing"))
    table.add_row("written", Text(written))
    for kind, title in _PROBLEM_TITLES.items():
        # Zero is shown, too, for datasets that are not joined.
        if kind in report.totals or kind == "not-joined":
            table.add_row(title, str(report.totals.get(kind, 0)))
    if report.not_retired:
        table.add_row("not retired", Text("\n".join(report.not_retired)))
    console.print(table)
    print_problems(console, report)


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


def print_merge_run(console: Console, run: "MergeRun") -> None:
    """Print the last merge of a DAG, as stored in the graph."""
    at = datetime.fromtimestamp(run.last_merged_at / 1000, tz=UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    written = f"{run.elements_written:,} vertices and edges, {run.elements_retired:,} retired"
    console.print(Text(f"{run.dag_name} in {run.environment}, merged at {at}\n", style="bold"))
    if run.report:
        print_report(console, run.report, written)
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


def print_problems(console: Console, report: "Report") -> None:
    """Print the problems of a report by kind, truncated."""
    for kind, title in _PROBLEM_TITLES.items():
        problems = report.of_kind(kind)
        if not problems:
            continue
        console.print(Text(f"\n{title}:", style="bold"))
        for problem in problems[:_MAX_LISTED]:
            console.print(Text(f"  {problem_text(problem)}"), soft_wrap=True)
        more = max(report.totals.get(kind, 0), len(problems)) - _MAX_LISTED
        if more > 0:
            console.print(f"  ... and {more:,} more")


def problem_text(problem: "Problem") -> str:
    """Return a line such as ``operation/17: outputSource: is missing``."""
    return ": ".join(part for part in (problem.document, problem.field, problem.message) if part)


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
