"""What was found out about columns, in the words that all sources share."""

from collections.abc import Iterable, Iterator

from lineage_merge.column_lineage.sql.derivation import Derivation, Influences
from lineage_merge.column_lineage.sql.text import cut
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence, listed


def flows(columns: Iterable[tuple[str, Derivation]]) -> Iterator[ColumnFlow[str]]:
    """What leads to each column of a dataset, of its name and what it is made of."""
    for name, derivation in columns:
        for origin, step in sorted(derivation.items(), key=lambda item: item[0]):
            expression = cut(" | ".join(sorted({text() for text in step.texts} - {""})))
            yield ColumnFlow(origin.dataset, origin.column, name, listed(step.kinds), expression)


def influences(found: Influences) -> Iterator[Influence[str]]:
    """What decides which rows there are."""
    for origin, kinds in sorted(found.items()):
        yield Influence(origin.dataset, origin.column, tuple(sorted(kinds)))
