"""Flows and influences of a target, from the graph of its values. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.column_lineage.transformations import (
    ColumnFlow,
    Influence,
    InfluenceKind,
    Transformation,
    listed,
)
from lineage_merge.column_lineage.value_graph import Node, ValueGraph
from lineage_merge.model.elements import FIELD, Reference, field_path

LIMIT = 1_000  # characters of an expression


@dataclass(slots=True)
class Relation:
    """What a relation adds to the values of a graph.

    `texts` are readable expressions by node, `influences` the values that decide on its rows.
    """

    texts: dict[Node, str] = field(default_factory=dict)
    influences: defaultdict[InfluenceKind, list[Node]] = field(default_factory=lambda: defaultdict(list))


def derive_flows(
    graph: ValueGraph, columns: Sequence[tuple[str, Node]], text: Callable[[Node], str]
) -> tuple[ColumnFlow[Reference], ...]:
    """Return the flows into columns: their names with the node of each value, in order.

    `text` returns the expression of a node that does more than rename.
    """
    # By name: two columns of one name from a join are one column for the reader.
    transformations: defaultdict[tuple[str, Reference, str], set[Transformation]] = defaultdict(set)
    steps: defaultdict[tuple[str, Reference, str], set[str]] = defaultdict(set)
    written: dict[Node, str] = {}
    for column, value in columns:
        for (source, name), transformation, step, fields in graph.chains(value):
            key = (field_path(column, *fields), source, name)
            transformations[key].add(transformation)
            if step:
                step = graph.whole(step)
                if step not in written:
                    written[step] = text(step)
                steps[key].add(written[step])
    positions = {name: at for at, (name, _) in reversed(list(enumerate(columns)))}

    def place(key: tuple[str, Reference, str]) -> tuple[int, tuple[str, Reference, str]]:
        return positions.get(key[0], positions.get(key[0].partition(FIELD)[0], 0)), key

    return tuple(
        ColumnFlow(
            source,
            name,
            target,
            listed(transformations[target, source, name]),
            " | ".join(sorted(steps[target, source, name] - {""}))[:LIMIT],
        )
        for target, source, name in sorted(transformations, key=place)
    )


def derive_influences(
    graph: ValueGraph, deciding: Iterable[Mapping[InfluenceKind, Iterable[Node]]]
) -> tuple[Influence[Reference], ...]:
    """Return the source columns that values which decide on the target's rows depend on."""
    nodes: defaultdict[InfluenceKind, list[Node]] = defaultdict(list)
    for part in deciding:
        for kind, values in part.items():
            nodes[kind].extend(values)
    kinds: defaultdict[tuple[Reference, str], set[InfluenceKind]] = defaultdict(set)
    for kind, values in nodes.items():
        for source, name in graph.leaves(values):
            kinds[source, name].add(kind)
    order = list(InfluenceKind)
    return tuple(Influence(*key, tuple(sorted(kinds[key], key=order.index))) for key in sorted(kinds))
