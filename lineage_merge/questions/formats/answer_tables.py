"""Tables of query results that are not a plain subgraph."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from lineage_merge.questions.formats.describe import one_line
from lineage_merge.questions.formats.table import add_row, new_table

if TYPE_CHECKING:
    from lineage_merge.questions.comparison import Comparison


def comparison_tables(comparison: "Comparison") -> Iterator[Table | Text]:
    """Yield a table per environment of the elements that only it has."""
    for only in (comparison.only_left, comparison.only_right):
        if not only.is_empty:
            yield Text(one_line(f"only in {only.environment}:"), style="bold")
        table = new_table("kind", "what", name=f"only in {only.environment}")
        for each in only.datasets:
            add_row(table, "dataset", each)
        for source, target in only.feeds:
            add_row(table, "feed", f"{source} → {target}")
        for each in only.columns:
            add_row(table, "column", each)
        yield table
        if not only.is_empty:
            yield Text()
