"""How an answer is printed: as a tree or a table for people, as text for scripts and other programs."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.error_handling import make_console

if TYPE_CHECKING:
    from rich.console import RenderableType

    from lineage_merge.query.elements import Subgraph
    from lineage_merge.query.graph import Direction

FORMATS = ("tree", "table", "json", "mermaid", "dot", "graphml")


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer: the part of the graph that it is, and how people and scripts see it.

    `told` comes before `vertices` and `edges` in the JSON; `tables` are shown in place of the one of the
    subgraph; `note` goes to standard error.
    """

    graph: "Subgraph"
    told: Mapping[str, Any] = field(default_factory=dict)
    roots: Sequence[str] | None = None
    direction: "Direction" = "down"
    tables: "Callable[[], Iterable[RenderableType]] | None" = None
    note: str = ""


def print_answer(answer: Answer, how: str) -> None:
    """Print it in a format of `FORMATS`."""
    if answer.note:
        click.echo(answer.note, err=True)
    if how == "tree":
        _print_tree(answer)
    elif how == "table":
        _print_tables(answer)
    else:
        # A half of a pair of surrogates is no character, and no output can hold it.
        click.echo(_text(answer, how).encode("utf-8", "replace"), nl=False)


def _text(answer: Answer, how: str) -> str:
    if how == "json":
        from lineage_merge.query.formats.json_text import as_json, json_text

        return json_text({**answer.told, **as_json(answer.graph)}) + "\n"
    if how == "mermaid":
        from lineage_merge.query.formats.mermaid import mermaid

        return mermaid(answer.graph)
    if how == "dot":
        from lineage_merge.query.formats.dot import dot

        return dot(answer.graph)
    from lineage_merge.query.formats.graphml import graphml

    return graphml(answer.graph)


def _print_tree(answer: Answer) -> None:
    from lineage_merge.query.formats.tree import tree

    lines = tree(answer.graph, answer.roots, answer.direction)
    if not sys.stdout.isatty():
        # No colours, nothing to cut, and many lines are quicker so.
        click.echo("".join(f"{line.plain}\n" for line in lines), nl=False)
        return
    console = make_console()
    for line in lines:
        console.print(line, soft_wrap=True)


def _print_tables(answer: Answer) -> None:
    from lineage_merge.query.formats.table import table

    if not answer.tables and not answer.graph.vertices:
        return  # a head without rows says nothing; the note does
    console = make_console()
    for each in answer.tables() if answer.tables else [table(answer.graph)]:
        console.print(each)
