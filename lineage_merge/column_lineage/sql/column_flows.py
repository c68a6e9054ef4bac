"""Conversion of derivations and influences to the model that all sources share."""

from collections.abc import Iterable, Iterator

from lineage_merge.column_lineage.sql.derivation import Derivation, Influences
from lineage_merge.column_lineage.sql.text import cut
from lineage_merge.column_lineage.transformations import ColumnFlow, Influence, listed


def flows(columns: Iterable[tuple[str, Derivation]]) -> Iterator[ColumnFlow[str]]:
    """Yield the flows to each column of a dataset, given by name and derivation."""
    for name, derivation in columns:
        for origin, step in sorted(derivation.items(), key=lambda item: item[0]):
            expression = cut(" | ".join(sorted({text() for text in step.texts} - {""})))
            yield ColumnFlow(origin.dataset, origin.column, name, listed(step.kinds), expression)


def influences(found: Influences) -> Iterator[Influence[str]]:
    """Yield the influences on the rows of a dataset."""
    for origin, kinds in sorted(found.items()):
        yield Influence(origin.dataset, origin.column, tuple(sorted(kinds)))
