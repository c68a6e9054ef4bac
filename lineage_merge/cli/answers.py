"""Printing of query results: tree and table for terminals, other formats for scripts and tools."""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import click

from lineage_merge.cli.error_handling import make_console

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from lineage_merge.graph_format.elements import Subgraph
    from lineage_merge.questions.graph import Direction
    from lineage_merge.questions.result import Result

FORMATS = ("tree", "table", "csv", "json", "mermaid", "dot", "graphml", "svg")


@dataclass(frozen=True, slots=True)
class Answer:
    """A query result: a part of the graph, and how to print it.

    `header`: JSON fields before `vertices` and `edges`; `tables`: replaces the default table of the subgraph;
    `lines`: replaces the default tree; `rows`: tables for CSV, if `tables` are for reading only;
    `note`: printed to standard error.
    """

    graph: "Subgraph"
    header: Mapping[str, Any] = field(default_factory=dict)
    roots: Sequence[str] | None = None
    direction: "Direction" = "down"
    tables: "Callable[[], Iterable[RenderableType]] | None" = None
    note: str = ""
    lines: "Callable[[], Iterable[Text]] | None" = None
    rows: "Callable[[], Iterable[RenderableType]] | None" = None


def print_result(result: "Result", output_format: str, out: str | None = None) -> None:
    """Print the answer of a question in a format of `FORMATS`, or write it to a file."""
    if output_format in ("json", "svg"):
        from lineage_merge.questions.formats.json_text import json_text

        _print_note(result.note)
        text = result.to_svg() if output_format == "svg" else json_text(result.to_dict()) + "\n"
        print_text(text, out)
        return
    answer = Answer(
        result.graph,
        {},
        result.roots,
        result.direction,
        tables=result.tables,
        note=result.note,
        lines=result.lines,
        rows=result.csv_tables,
    )
    print_answer(answer, output_format, out)


def print_answer(answer: Answer, output_format: str, out: str | None = None) -> None:
    """Print an answer in a format of `FORMATS`, or write it to a file."""
    _print_note(answer.note)
    if output_format == "tree":
        _print_tree(answer)
    elif output_format == "table":
        _print_tables(answer)
    else:
        print_text(_text(answer, output_format), out)


def _print_note(note: str) -> None:
    if note:
        click.echo(note, err=True)


def print_text(text: str, out: str | None) -> None:
    """Print a text, or write it to a file."""
    # Unpaired surrogates cannot be encoded.
    encoded = text.encode("utf-8", "replace")
    if not out:
        click.echo(encoded, nl=False)
        return
    from lineage_merge.infra import storage

    storage.write_text(out, encoded.decode())
    click.echo(f"{out}: {len(encoded):,} bytes")


def _text(answer: Answer, output_format: str) -> str:
    if output_format == "json":
        from lineage_merge.questions.formats.json_text import as_json, json_text

        return json_text({**answer.header, **as_json(answer.graph)}) + "\n"
    if output_format == "csv":
        from lineage_merge.questions.formats.csv_text import csv_text

        return csv_text(_tables(answer))
    if output_format == "mermaid":
        from lineage_merge.questions.formats.mermaid import mermaid

        return mermaid(answer.graph)
    if output_format == "dot":
        from lineage_merge.questions.formats.dot import dot

        return dot(answer.graph)
    if output_format == "svg":
        from lineage_merge.questions.formats.svg import svg

        return svg(answer.graph, str(answer.header.get("question", "lineage")))
    from lineage_merge.questions.formats.graphml import graphml

    return graphml(answer.graph)


def _print_tree(answer: Answer) -> None:
    from lineage_merge.questions.formats.tree import tree

    lines = answer.lines() if answer.lines else tree(answer.graph, answer.roots, answer.direction)
    if not sys.stdout.isatty():
        # Without colours and width, plain output is faster for many lines.
        click.echo("".join(f"{line.plain}\n" for line in lines), nl=False)
        return
    console = make_console()
    for line in lines:
        console.print(line, soft_wrap=True)


def _tables(answer: Answer) -> "Iterable[RenderableType]":
    from lineage_merge.questions.formats.table import edge_table, table

    make = answer.rows or answer.tables
    if make:
        return make()
    # An answer that begins somewhere consists of edges, also if it has none.
    return [edge_table(answer.graph) if answer.roots else table(answer.graph)]


def _print_tables(answer: Answer) -> None:
    from rich.text import Text

    from lineage_merge.questions.formats.table import AnswerTable, table

    # Tables without rows are omitted: the note is printed instead.
    console = make_console()
    for each in answer.tables() if answer.tables else [table(answer.graph)]:
        if not isinstance(each, AnswerTable):
            # Lines are not broken: names and globs in them are copied.
            console.print(each, soft_wrap=isinstance(each, Text))
        elif each.row_count:
            console.print(each.without_empty_columns())
