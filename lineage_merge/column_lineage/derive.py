"""Flows and influences of a target, from the graph of its values. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic

from lineage_merge.column_lineage.transformations import (
    ColumnFlow,
    Influence,
    InfluenceKind,
    Source,
    Transformation,
    sort_transformations,
)
from lineage_merge.column_lineage.value_graph import Chains, Value, leaves
from lineage_merge.model.elements import FIELD, field_path

LIMIT = 1_000  # characters of an expression


class Rows(Generic[Source]):
    """What decides which rows a relation has: values, and all that decides on the rows of others."""

    __slots__ = ("_of", "_values")

    def __init__(self, of: "Iterable[Rows[Source]]" = ()) -> None:
        self._of = list(of)
        self._values: list[tuple[InfluenceKind, Value[Source]]] = []

    def add(self, kind: InfluenceKind, *values: Value[Source]) -> None:
        """Add values that decide on the rows."""
        self._values += ((kind, value) for value in values)

    def include(self, rows: "Rows[Source]") -> None:
        """Add what decides on the rows of another relation, now or later."""
        self._of.append(rows)

    def deciding(self) -> Iterator[tuple[InfluenceKind, Value[Source]]]:
        """Yield all values that decide on the rows."""
        seen = {self}
        waiting = [self]
        while waiting:
            rows = waiting.pop()
            yield from rows._values
            new = [inner for inner in rows._of if inner not in seen]
            seen.update(new)
            waiting += new


def _text(value: Value[Source]) -> str:
    text = value.text
    return "" if text is None else text if isinstance(text, str) else text()


def derive_flows(
    columns: Sequence[tuple[str, Value[Source]]], text: Callable[[Value[Source]], str] = _text
) -> tuple[ColumnFlow[Source], ...]:
    """Return the flows into columns: their names with their values, in order.

    `text` returns the expression of a value that does more than rename.
    """
    # By name: two columns of one name from a join are one column for the reader.
    transformations: defaultdict[tuple[str, Source, str], set[Transformation]] = defaultdict(set)
    steps: defaultdict[tuple[str, Source, str], set[str]] = defaultdict(set)
    written: dict[Value[Source], str] = {}
    chains: Chains[Source] = Chains()
    for column, value in columns:
        for (source, name), transformation, step, fields in chains.trace(value):
            key = (field_path(column, *fields), source, name)
            transformations[key].add(transformation)
            if step is not None:
                step = step.whole
                if step not in written:
                    written[step] = text(step)
                steps[key].add(written[step])
    positions = {name: at for at, (name, _) in reversed(list(enumerate(columns)))}

    def place(key: tuple[str, Source, str]) -> tuple[int, tuple[str, Source, str]]:
        return positions.get(key[0], positions.get(key[0].partition(FIELD)[0], 0)), key

    return tuple(
        ColumnFlow(
            source,
            name,
            target,
            sort_transformations(transformations[target, source, name]),
            " | ".join(sorted(steps[target, source, name] - {""}))[:LIMIT],
        )
        for target, source, name in sorted(transformations, key=place)
    )


def derive_influences(rows: Rows[Source]) -> tuple[Influence[Source], ...]:
    """Return the source columns that decide on rows."""
    values: defaultdict[InfluenceKind, list[Value[Source]]] = defaultdict(list)
    for kind, value in rows.deciding():
        values[kind].append(value)
    kinds: defaultdict[tuple[Source, str], set[InfluenceKind]] = defaultdict(set)
    for kind, deciding in values.items():
        for source, name in leaves(deciding):
            kinds[source, name].add(kind)
    return tuple(Influence(*key, tuple(sorted(kinds[key]))) for key in sorted(kinds))
