"""Findings of a review for terminals and CSV."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.questions.formats.table import AnswerTable, add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.review.findings import Assessed, ReviewResult

_MAX_NAMES = 3


def review_tables(result: "ReviewResult") -> Iterator[Table | Text]:
    """Yield the findings, with the nearest of what they break and affect."""
    if result.findings:
        yield _table(result, _MAX_NAMES).without_empty_columns()
        yield Text()


def finding_table(result: "ReviewResult") -> AnswerTable:
    """Return a row per finding with all affected datasets and exposures."""
    return _table(result, None)


def _table(result: "ReviewResult", limit: int | None) -> AnswerTable:
    optional = ("breaks", "affected", "owners", "tests", "file")
    table = new_table("severity", "element", "change", "detail", *optional, optional=optional)
    for each in result.findings:
        finding = each.finding
        add_row(
            table,
            finding.severity.value,
            finding.title,
            finding.kind,
            finding.message,
            *(_names(names, limit) for names in _names_of(each)),
            finding.file_path,
        )
    return table


def _names_of(found: "Assessed") -> Iterator[list[str]]:
    yield [vertex.title for vertex in found.broken_datasets.values()]
    yield [each.vertex.title for each in found.affected]
    yield found.owners
    yield [each.vertex.name for each in found.tests]


def _names(names: Sequence[str], limit: int | None) -> str:
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit:,} more" if limit and len(names) > limit else shown
