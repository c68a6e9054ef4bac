"""The command `demo`: the samples in a graph of their own, and nine questions about the company."""

import dataclasses
import io
import webbrowser
from collections.abc import Sequence
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import click

from lineage_merge.cli.command import command
from lineage_merge.cli.error_handling import handle_errors, make_console, print_json, progress
from lineage_merge.cli.options import as_json_or_text, without_progress

if TYPE_CHECKING:
    from lineage_merge.cli.demo_questions import DemoQuestion

_NEXT = """
The graph is stored; questions read it with --demo, without it your own graph:
  lineage-merge demo --tour      the questions, with their whole answers
  lineage-merge demo --open      the page, in the browser
  lineage-merge init DIR         your own lineage"""


@command(
    "lineage-merge demo",
    "lineage-merge demo --tour",
    "lineage-merge demo --open",
    "lineage-merge demo --json",
    short_help="Merge a sample company, and answer nine questions about it.",
)
@click.option("--tour", is_flag=True, help="show the whole answers, one question after the other")
@click.option(
    "--open", "open_page", is_flag=True, help="open the page in the browser, and print only the summary"
)
@as_json_or_text
@without_progress
def demo(tour: bool, open_page: bool, as_json: bool, quiet: bool) -> None:
    """Merge a sample company into an embedded graph, and answer nine questions about it.

    The company has two Glue jobs, an Iceberg table, a job without an agent, Redshift, a dbt project of three
    teams, dashboards in QuickSight and Superset, and a history of two weeks; its sources, and those of the
    smaller sample TICKIT, are in sample_data/. The demo needs no server, no Java and no network. Its graph is
    one of its own, which questions read with --demo.
    """
    if tour and as_json:
        raise click.UsageError("--tour and --json exclude each other")
    with handle_errors(), progress(quiet) as on_progress:
        from lineage_merge.cli import sample
        from lineage_merge.cli.demo_questions import output_of, read_questions
        from lineage_merge.infra.graph_files import demo_graph_file
        from lineage_merge.orchestration.demo import build_demo

        company = sample.company_folder()
        graph_file = demo_graph_file()
        merged = build_demo(sample.config_file(), company, graph_file, on_progress)
        program = click.get_current_context().find_root().command
        questions = read_questions(company)
        outputs: Sequence[str] = ()
        if tour or as_json or not open_page:
            on_progress("asking nine questions")
            outputs = [output_of(question, program) for question in questions]
        page = graph_file.with_suffix(".html")
        if open_page:
            arguments = ("html", "--demo", "--moment", "2w", "--out", str(page))
            with redirect_stdout(io.StringIO()):  # --json prints one document
                program.main([*arguments], prog_name="lineage-merge", standalone_mode=False)
    if as_json:
        asked = [question.as_json(output) for question, output in zip(questions, outputs, strict=True)]
        written = dataclasses.asdict(merged.loaded)
        print_json({"report": merged.report.as_json(), "written": written, "questions": asked})
    elif tour:
        _tour(questions, outputs)
    else:
        from lineage_merge.orchestration.report_text import describe_load, print_report, print_summary

        # With a page to look at, the terminal only has the summary.
        print_lines = print_summary if open_page else print_report
        print_lines(make_console(), merged.report, describe_load(merged.loaded))
        if not open_page:
            _print_answers(questions, outputs)
    if open_page:
        is_open = webbrowser.open(page.as_uri())
        click.echo(f"{'page' if is_open else 'no browser found: open'} {page.as_uri()}", err=True)


def _print_answers(questions: "Sequence[DemoQuestion]", outputs: Sequence[str]) -> None:
    for number, (question, output) in enumerate(zip(questions, outputs, strict=True), 1):
        click.echo(f"\n{number}. {click.style(question.text, bold=True)}")
        click.echo(f"   {click.style(question.command, fg='cyan')}")
        for line in question.answer(output):
            click.echo(f"     {line}")
        click.echo(f"   Joins: {question.joins}")
    click.echo(_NEXT)


def _tour(questions: "Sequence[DemoQuestion]", outputs: Sequence[str]) -> None:
    for number, (question, output) in enumerate(zip(questions, outputs, strict=True), 1):
        click.echo(f"\n{number} of {len(questions)}. {click.style(question.text, bold=True)}")
        click.echo(f"$ {click.style(question.command, fg='cyan')}\n")
        click.echo(output.rstrip())
        click.echo(f"\nJoins: {question.joins}")
        if number < len(questions):
            click.pause()
