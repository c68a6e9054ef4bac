"""Output of the command `review`: findings for terminals, as Markdown, CSV, JSON, SARIF and as the page."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
from rich.text import Text

from lineage_merge.cli.error_handling import make_console
from lineage_merge.cli.query_options import QueryOptions
from lineage_merge.infra import storage
from lineage_merge.questions.formats.conversions import json_text
from lineage_merge.questions.formats.table import AnswerTable, csv_text
from lineage_merge.questions.result import answer_header
from lineage_merge.review.review_formats import (
    affected_title,
    review_as_json,
    review_markdown,
    review_sarif,
)

if TYPE_CHECKING:
    from lineage_merge.config import Policy
    from lineage_merge.questions.scoped_graph import GraphScope
    from lineage_merge.review.findings import Assessed, ReviewResult

_MAX_NAMES = 3


def print_review_result(
    result: "ReviewResult",
    options: QueryOptions,
    out: str | None,
    scope: "GraphScope",
    base: str,
    policies: "Sequence[Policy]" = (),
) -> None:
    """Print the findings in the format of the options; with `out` a table, and write them to this file.

    The page asks the graph for more. By the policies it says what is stale.
    """
    if out:
        storage.write_text(out, _text(result, options, scope, base, policies))
    if not out and options.format != "table":
        click.echo(_text(result, options, scope, base, policies).encode("utf-8", "replace"), nl=False)
        return
    if result.findings:
        console = make_console()
        # With the nearest of what they break and affect.
        console.print(_table(result, _MAX_NAMES).drop_empty_columns())
        console.print(Text())
    click.echo(result.summary)
    for note in result.notes:
        click.echo(f"note: {note}", err=True)


def _text(
    result: "ReviewResult",
    options: QueryOptions,
    scope: "GraphScope",
    base: str,
    policies: "Sequence[Policy]",
) -> str:
    match options.format:
        case "markdown":
            return review_markdown(result)
        case "csv":
            return csv_text([_table(result, None)])
        case "sarif":
            return json_text(review_sarif(result)) + "\n"
        case "html":
            return _page(result, options, base, policies)
    header = answer_header("review", scope, {"base": base})
    return json_text({**header, **review_as_json(result)}) + "\n"


def _page(result: "ReviewResult", options: QueryOptions, base: str, policies: "Sequence[Policy]") -> str:
    from lineage_merge.cli.question_commands import now_ms
    from lineage_merge.exporters.page import Options, render_review
    from lineage_merge.model.times import utc_time
    from lineage_merge.questions.traversal.staleness import Expectations

    now = now_ms()
    about = Options(title="Lineage review", source=options.folder or "", made_at=utc_time(now))
    return render_review(result, about, base, Expectations(now, policies=policies))


def _table(result: "ReviewResult", limit: int | None) -> AnswerTable:
    """Return a row per finding, with at most `limit` names in a cell."""
    optional = ("breaks", "affected", "owners", "tests", "file")
    table = AnswerTable("severity", "element", "change", "detail", *optional, optional=optional)
    for item in result.findings:
        finding = item.finding
        table.add(
            finding.severity.value,
            finding.title,
            finding.kind,
            finding.message,
            *(_names(names, limit) for names in _names_of(item)),
            finding.file_path,
        )
    return table


def _names_of(item: "Assessed") -> Iterator[list[str]]:
    yield [vertex.title for vertex in item.broken_datasets.values()]
    yield [affected_title(element) for element in item.affected]
    yield item.owners
    yield [test.vertex.name for test in item.tests]


def _names(names: Sequence[str], limit: int | None) -> str:
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit:,} more" if limit and len(names) > limit else shown
