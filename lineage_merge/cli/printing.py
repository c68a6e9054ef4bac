"""Output of merges and loads. Query results are printed by `answers`."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lineage_merge.model.errors import TooFewJoined
from lineage_merge.orchestration.report_text import counted, print_report

if TYPE_CHECKING:
    from lineage_merge.load.merge_run import MergeRun
    from lineage_merge.load.remove_dag import Removed
    from lineage_merge.load.result import LoadResult
    from lineage_merge.orchestration.publish import Published


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
