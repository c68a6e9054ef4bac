"""Printing of query results: tree and table for terminals, other formats for scripts and tools."""

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.error_handling import make_console

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

    from lineage_merge.questions.result import Result

FORMATS = ("tree", "table", "csv", "json", "mermaid", "dot", "graphml", "svg")


def print_result(result: "Result", output_format: str, out: str | None = None) -> None:
    """Print the answer of a question in a format of `FORMATS`, or write it to a file."""
    if result.note:
        click.echo(result.note, err=True)
    if output_format == "tree":
        _print_tree(result.lines())
    elif output_format == "table":
        _print_tables(result.tables())
    else:
        # Unpaired surrogates cannot be encoded.
        encoded = text_of(result, output_format).encode("utf-8", "replace")
        if out:
            from lineage_merge.infra import storage

            storage.write_text(out, encoded.decode())
            click.echo(f"{out}: {len(encoded):,} bytes")
        else:
            click.echo(encoded, nl=False)


def text_of(result: "Result", output_format: str) -> str:
    """Return an answer in a format of `FORMATS` that is no table or tree, or in one that only it has."""
    if output_format == "dot":
        from lineage_merge.questions.formats.diagrams import dot

        return dot(result.graph)
    if output_format == "graphml":
        from lineage_merge.questions.formats.graphml import graphml

        return graphml(result.graph)
    converted = getattr(result, "to_dict" if output_format == "json" else f"to_{output_format}")()
    if isinstance(converted, dict):
        from lineage_merge.questions.formats.conversions import json_text

        converted = json_text(converted)
    return converted if output_format in ("csv", "markdown", "mermaid", "svg") else f"{converted}\n"


def _print_tree(lines: "Iterable[Text]") -> None:
    if not sys.stdout.isatty():
        # Without colours and width, plain output is faster for many lines.
        click.echo("".join(f"{line.plain}\n" for line in lines), nl=False)
        return
    console = make_console()
    for line in lines:
        console.print(line, soft_wrap=True)


def _print_tables(tables: "Iterable[RenderableType]") -> None:
    from rich.text import Text

    from lineage_merge.questions.formats.table import AnswerTable

    # Tables without rows are omitted: the note is printed instead.
    console = make_console()
    for table in tables:
        if not isinstance(table, AnswerTable):
            # Lines are not broken: names and globs in them are copied.
            console.print(table, soft_wrap=isinstance(table, Text))
        elif table.values:
            shown = table.drop_empty_columns()
            lines = shown.lines(console.width)
            if lines is None:
                console.print(shown)
            else:
                console.print(Text(lines[0], "bold"), soft_wrap=True)
                click.echo("".join(f"{line}\n" for line in lines[1:]), nl=False)
