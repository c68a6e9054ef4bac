"""Text of a merge's report, for the terminal and for Airflow's log."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from textwrap import indent
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lineage_merge.merge.report import dataset_text

if TYPE_CHECKING:
    from lineage_merge.load.result import LoadResult
    from lineage_merge.merge.report import Dismissed, NearMiss, Report
    from lineage_merge.model.elements import Problem

# The most important first.
_PROBLEM_TITLES = {
    "rejected": "invalid documents, skipped",
    "not-joined": "not joined",
    "silent": "writes that later runs did not report",
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
TITLE = "near misses: written and read under different names, not joined"
_COMMAND = "lineage-merge report --near-misses"
# Fewer findings are listed one by one.
MIN_GROUP = 3
_SEPARATORS = "/.|"


def print_report(console: Console, report: "Report", written: str, *, everything: bool = False) -> None:
    """Print the summary of a build or run, and its problems.

    `everything`: list all problems, each in a line of its own.
    """
    print_summary(console, report, written, everything=everything)
    print_problems(console, report, everything=everything)


def print_summary(console: Console, report: "Report", written: str, *, everything: bool = False) -> None:
    """Print what was read, translated, joined and written, and the number of problems by kind."""
    table = Table(title="lineage_merge", title_justify="left", show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_row("read", ", ".join(_read(what, number) for what, number in report.read.items()) or "nothing")
    if report.empty_sources:
        keys = ", ".join(report.empty_sources)
        warning = f"no lineage found in {keys}; with --strict, this is an error"
        table.add_row(Text("warning", style="bold yellow"), Text(warning, style="yellow"))
    nodes = ", ".join(pluralize(number, label, f"{label}s") for label, number in report.nodes.items())
    edges = ", ".join(f"{number} {label}" for label, number in report.edges.items())
    table.add_row("translated", f"{pluralize(sum(report.nodes.values()), 'vertex', 'vertices')}: {nodes}")
    table.add_row("", f"{pluralize(sum(report.edges.values()), 'edge', 'edges')}: {edges}")
    if report.assumed:
        table.add_row("assumed", f"{pluralize(report.assumed, 'edge', 'edges')} between columns")
    rules = ", ".join(map(str, report.joined_by))
    joined = pluralize(report.datasets_joined, "dataset", "datasets")
    table.add_row("joined", Text(f"{joined}: {rules}" if rules else "nothing"))
    table.add_row("written", Text(written))
    if report.unmet:
        table.add_row("expected", Text("\n".join(report.unmet)))
    for kind, title in _PROBLEM_TITLES.items():
        # Zero is shown, too, for datasets that are not joined.
        if kind in report.totals or kind == "not-joined":
            hint = "" if everything else _NOT_LISTED.get(kind, "")
            table.add_row(title, f"{report.totals.get(kind, 0):,}{f' ({hint})' if hint else ''}")
        dismissed = len(report.dismissed_near_misses)
        if kind == "rejected" and (report.near_misses or dismissed):
            also = f" ({dismissed} dismissed)" if dismissed else ""
            table.add_row("near misses", f"{len(report.near_misses)}{also}")
    if report.not_retired:
        table.add_row("not retired", Text("\n".join(report.not_retired)))
    console.print(table)


def print_problems(console: Console, report: "Report", *, everything: bool = False) -> None:
    """Print the problems by kind, repeated ones as one line, and near misses after rejected documents."""
    for kind, title in _PROBLEM_TITLES.items():
        if everything or kind not in _NOT_LISTED:
            _print_kind(console, report, kind, title, everything=everything)
        if kind == "rejected":
            print_near_misses(console, report.near_misses, None if everything else _MAX_NEAR_MISSES)
            print_dismissed(console, report.dismissed_near_misses, everything=everything)


def _print_kind(console: Console, report: "Report", kind: str, title: str, *, everything: bool) -> None:
    problems = report.select_kind(kind)
    if not problems:
        return
    console.print(Text(f"\n{title}:", style="bold"))
    lines = [problem_text(problem) for problem in problems] if everything else collapse_problems(problems)
    shown = lines if everything else lines[:_MAX_LISTED]
    for line in shown:
        console.print(Text(f"  {line}"), soft_wrap=True)
    more = max(report.totals.get(kind, 0), len(problems)) - len(problems) + len(lines) - len(shown)
    if more > 0:
        console.print(f"  ... and {more:,} more")


def print_near_misses(console: Console, near_misses: Sequence["NearMiss"], limit: int | None = None) -> None:
    """Print near misses, those with the same fix together; of more than `limit` the best."""
    if not near_misses:
        return
    console.print(Text(f"\n{TITLE}:", style="bold"))
    for line in format_near_misses(near_misses, limit):
        console.print(Text(line), soft_wrap=True)


def print_dismissed(console: Console, dismissed: Sequence["Dismissed"], *, everything: bool) -> None:
    """Print the number of dismissed near misses; `everything`: who did it, why, and until when."""
    if not dismissed:
        return
    hint = "" if everything else "; --all lists them"
    number = pluralize(len(dismissed), "near miss is", "near misses are")
    console.print(Text(f"\n{number} dismissed{hint}", style="bold"))
    for pair in dismissed if everything else ():
        console.print(Text(f"  written  {dataset_text(pair.written)}"), soft_wrap=True)
        console.print(Text(f"  read     {dataset_text(pair.read)}"), soft_wrap=True)
        until = f" until {pair.until}" if pair.until else ""
        console.print(Text(f"           dismissed by {pair.by}{until}: {pair.reason}"), soft_wrap=True)


def format_near_misses(near_misses: Sequence["NearMiss"], limit: int | None = None) -> Iterator[str]:
    """Yield the lines about near misses."""
    best: dict[str, int] = {}
    for number, near_miss in enumerate(near_misses):
        best.setdefault(near_miss.fix, number)
    # The group of the best one first.
    order = sorted(range(len(near_misses)), key=lambda number: (best[near_misses[number].fix], number))
    shown = [near_misses[number] for number in order][:limit]
    for fix, group in groupby(shown, key=lambda near_miss: near_miss.fix):
        members = list(group)
        for member in members:
            yield f"  written  {dataset_text(member.written)}"
            yield f"  read     {dataset_text(member.read)}"
            yield f"           score {member.score}: {'; '.join(member.evidence)}"
            if member.note:
                yield f"           {member.note}"
        if fix:
            number = sum(near_miss.fix == fix for near_miss in near_misses)
            joins = f"joins {number} near misses" if number > 1 else "joins them"
            yield f"  Fix: {members[0].fix_key} {joins}:"
            yield indent(fix.rstrip(), "    ")
        else:
            yield "  Fix: correct the name in the job or the project; no configuration joins them"
    if len(shown) < len(near_misses):
        yield f"  ... and {len(near_misses) - len(shown):,} more: {_COMMAND}"


def describe_load(loaded: "LoadResult") -> str:
    """Return a line about the elements that a load wrote."""
    elements = (
        f"{pluralize(loaded.nodes, 'vertex', 'vertices')} and {pluralize(loaded.edges, 'edge', 'edges')}"
    )
    elements += f", {loaded.unchanged:,} unchanged"
    if loaded.retired_nodes or loaded.retired_edges:
        retired = pluralize(loaded.retired_nodes, "vertex", "vertices")
        elements += f", retired {retired} and {pluralize(loaded.retired_edges, 'edge', 'edges')}"
    if loaded.moved:
        elements += f", {pluralize(loaded.moved, 'dataset', 'datasets')} merged into canonical vertices"
    # Only said if there is a choice.
    how = {"bulk": "bulk load", "gremlin": "over Gremlin"}[loaded.mode] if loaded.mode_reason else ""
    how = f"{how}: {loaded.mode_reason}, " if how else ""
    if loaded.dry_run:
        return f"nothing, it is a dry run; would write {elements} ({how}{loaded.seconds:.1f} s)"
    traffic = f"{loaded.elements_read:,} elements read"
    if loaded.mode != "folder":
        traffic = f"{pluralize(loaded.all_requests, 'request', 'requests')}, {traffic}"
    return f"{elements} ({how}{traffic}, {loaded.seconds:.1f} s)"


def pluralize(number: int, one: str, many: str) -> str:
    """Return ``1 vertex``, ``2 vertices``."""
    return f"{number:,} {one if number == 1 else many}"


def _read(what: str, number: int) -> str:
    return pluralize(number, what.removesuffix("s"), what)


def collapse_problems(problems: Iterable["Problem"]) -> list[str]:
    """Return a line per problem, or per group with one message and one folder, schema or database.

    22 problems of ``/data/tpch/q01`` and so on are ``/data/tpch/q* (22)``.
    """
    groups: dict[tuple[str, str, str], list[Problem]] = defaultdict(list)
    for problem in problems:
        groups[problem.field, problem.message, _parent(problem.document)].append(problem)
    return [line for members in groups.values() for line in _lines(members)]


def problem_text(problem: "Problem") -> str:
    """Return a line such as ``operation/17: outputSource: is missing``."""
    return _text(problem.document, problem)


def _lines(members: list["Problem"]) -> Iterator[str]:
    documents = [member.document for member in members]
    if len(set(documents)) < MIN_GROUP:
        yield from map(problem_text, members)
    else:
        yield _text(f"{_common_prefix(documents)}* ({len(members):,})", members[0])


def _text(document: str, problem: "Problem") -> str:
    return ": ".join(part for part in (document, problem.field, problem.message) if part)


def _common_prefix(documents: list[str]) -> str:
    """Return the text with which all documents begin; it may end within a name."""
    first, last = min(documents), max(documents)
    end = next(
        (index for index, pair in enumerate(zip(first, last, strict=False)) if len({*pair}) > 1), len(first)
    )
    return first[:end]


def _parent(document: str) -> str:
    """Return the text up to the last separator of a name."""
    end = max(document.rfind(separator) for separator in _SEPARATORS)
    return document[: end + 1]
