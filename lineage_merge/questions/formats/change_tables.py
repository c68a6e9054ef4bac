"""Texts of changes between two moments: tables for terminals, Markdown for tickets."""

from collections.abc import Iterator, Sequence
from itertools import groupby

from rich.text import Text

from lineage_merge.questions.formats.describe import one_line, truncate
from lineage_merge.questions.formats.table import AnswerTable
from lineage_merge.questions.traversal.lineage_changes import ACTIONS, Change, Difference, Kind, counts

_TITLES: dict[Kind, str] = {
    "dataset": "datasets",
    "job": "jobs",
    "feed": "feeds",
    "column": "columns",
    "expression": "column lineage",
}
_NONE = Difference("", "", "")


def change_tables(changes: Sequence[Change], title: str) -> Iterator[AnswerTable | Text]:
    """Yield the numbers of changes, then the changes, by kind."""
    if not changes:
        return
    yield Text(f"changes {title}", style="bold")
    summary = AnswerTable("", *ACTIONS, is_summary=True)
    for kind, numbers in counts(changes).items():
        summary.add(_TITLES[kind], *(numbers[action] or "" for action in ACTIONS))
    yield summary
    for kind, group in groupby(changes, key=lambda change: change.kind):
        yield Text()
        table = AnswerTable(_TITLES[kind], "", "property", "before", "after")
        for change in group:
            for number, difference in enumerate(_differences(change) or [_NONE]):
                first = (change.title, change.action) if number == 0 else ("", "")
                table.add(*first, difference.name, *map(truncate, difference[1:]))
        yield table


def markdown(changes: Sequence[Change], title: str) -> str:
    """Return the changes as Markdown: a table of numbers, then a list per kind."""
    return "".join(f"{line}\n" for line in _markdown_lines(changes, title))


def _markdown_lines(changes: Sequence[Change], title: str) -> Iterator[str]:
    yield f"## Lineage changes {title}"
    yield ""
    if not changes:
        yield "No changes."
        return
    yield f"| | {' | '.join(ACTIONS)} |"
    yield "| --- | ---: | ---: | ---: |"
    for kind, numbers in counts(changes).items():
        yield f"| {_TITLES[kind]} | {' | '.join(str(numbers[action]) for action in ACTIONS)} |"
    for kind, group in groupby(changes, key=lambda change: change.kind):
        yield ""
        yield f"### {_TITLES[kind].capitalize()}"
        yield ""
        for change in group:
            yield f"- {change.action} {_code(change.title)}"
            for name, before, after in _differences(change):
                if before and after:
                    yield f"    - {name}: {_code(before)} → {_code(after)}"
                else:
                    yield f"    - {name}: {_code(after or before)}"


def _differences(change: Change) -> Sequence[Difference]:
    """Return the differences to print: of an added or removed element what identifies and computes it."""
    if change.action == "changed":
        return change.differences
    shown = ("job", "transformation", "expression", "declared")
    return [difference for difference in change.differences if difference.name in shown]


def _code(text: str) -> str:
    """Return a text as code, whatever backticks it contains."""
    line = one_line(text)
    longest = max((len(list(run)) for tick, run in groupby(line) if tick == "`"), default=0)
    fence = "`" * (longest + 1)
    space = " " if "`" in line else ""
    return f"{fence}{space}{line}{space}{fence}"
