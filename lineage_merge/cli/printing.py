"""What commands print: summaries as tables, ways as trees."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

if TYPE_CHECKING:
    from lineage_merge.load.loader import Loaded
    from lineage_merge.merge.report import Report
    from lineage_merge.query.way import Way

_COULD_NOT = {
    "not-joined": "could not join",
    "unfed": "tables that dbt reads and nothing writes",
    "unread": "outputs of Spark that nothing reads",
    "skipped": "skipped documents",
    "rejected": "rejected documents",
    "notice": "notices",
}
# The rest stands in report.json and `--json`.
_SHOWN = 20


def print_report(console: Console, report: "Report", loaded: "Loaded | None" = None) -> None:
    """The summary at the end of a build or a run: read, translated, joined, written, not joined."""
    table = Table(title="lineage_merge", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("read", _counts(report.read))
    translated = f"{_counts(report.nodes)}\n{_counts(report.edges)}"
    table.add_row("translated", translated)
    joined = "\n".join(f"{joined.datasets} by {joined.rule}" for joined in report.joined)
    table.add_row("joined", joined or "nothing")
    if loaded:
        written = f"{loaded.nodes} vertices and {loaded.edges} edges"
        table.add_row("written", f"{written} in {loaded.requests} requests, {loaded.seconds:.1f} s")
    for kind, title in _COULD_NOT.items():
        # That everything could be joined is news too.
        if kind in report.totals or kind == "not-joined":
            table.add_row(title, str(report.totals.get(kind, 0)))
    console.print(table)
    print_problems(console, report)


def print_problems(console: Console, report: "Report") -> None:
    """The list behind the counts, cut where it grows long."""
    for kind, title in _COULD_NOT.items():
        problems = report.of_kind(kind)
        if not problems:
            continue
        console.print(Text(f"\n{title}:", style="bold"))
        for problem in problems[:_SHOWN]:
            place = f"{problem.document}: {problem.field}" if problem.field else problem.document
            console.print(Text(f"  {place}: {problem.message}"), soft_wrap=True)
        if len(problems) > _SHOWN:
            console.print(f"  ... and {len(problems) - _SHOWN} more")


def print_way(console: Console, way: "Way") -> None:
    """A way as a tree: each dataset once with what it feeds; later mentions point back."""
    tree = Tree(_dataset(way, way.start))
    seen: set[str] = {way.start}
    branches = [(tree, way.start)]
    while branches:
        branch, dataset = branches.pop()
        for hop in way.from_(dataset):
            line = _dataset(way, hop.target).append(f"  ← {hop.job}", style="not bold cyan")
            if hop.via:
                line.append(f" via {hop.via}", style="not bold dim")
            if hop.target in seen and way.from_(hop.target):
                line.append("  (see above)", style="not bold dim")
            below = branch.add(line)
            if hop.target not in seen:
                seen.add(hop.target)
                branches.append((below, hop.target))
    console.print(tree)


def _dataset(way: "Way", identifier: str) -> Text:
    dataset = way.datasets.get(identifier)
    if dataset is None:
        return Text(identifier)
    return Text(dataset.title, style="bold").append(f"  {dataset.label}", style="not bold dim")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {_plural(name, number)}" for name, number in counts.items()) or "nothing"


def _plural(name: str, number: int) -> str:
    return name if number != 1 or not name.endswith("s") else name.removesuffix("s")
