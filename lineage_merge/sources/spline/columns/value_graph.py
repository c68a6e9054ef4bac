"""The graph of values: which value is made of which, down to columns of sources.

A node is a name: an attribute's or an expression's id in Spline's database, or one made up
for a column in the text of a subquery. Each of its inputs says what the step does. Every
walk here is a loop, and visits a node at most once for each state it can be in.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import Transformation, compose
from lineage_merge.model.elements import Reference

Node = str


class Input(NamedTuple):
    """A value that another is made of. IDENTITY: it passes unchanged, at most under another name."""

    node: Node
    step: Transformation


class SourceColumn(NamedTuple):
    """A column of a dataset that the plan reads."""

    source: Reference
    column: str


class Chain(NamedTuple):
    """A way from a target to a source's column.

    `step` is the first node from the target that does more than rename, "" where none does.
    """

    column: SourceColumn
    transformation: Transformation
    step: Node


Reached = dict[SourceColumn, frozenset[Transformation]]


@dataclass(slots=True)
class ValueGraph:
    """`inputs` of each node, and the source's `columns` that a node is."""

    inputs: defaultdict[Node, list[Input]] = field(default_factory=lambda: defaultdict(list))
    columns: dict[Node, tuple[SourceColumn, ...]] = field(default_factory=dict)
    _reached: dict[Node, Reached] = field(default_factory=dict)

    def add(self, node: Node, value: Node, step: Transformation = Transformation.IDENTITY) -> None:
        """`node` is made of `value`."""
        self.inputs[node].append(Input(value, step))

    def chains(self, target: Node) -> set[Chain]:
        """Every way from `target` to a source's column, one for each kind of way."""
        found: set[Chain] = set()
        seen = {target}
        open_nodes = [target]
        while open_nodes:
            node = open_nodes.pop()
            for column in self.columns.get(node, ()):
                found.add(Chain(column, Transformation.IDENTITY, ""))
            computed = False
            for value, step in self.inputs.get(node, ()):
                if step is not Transformation.IDENTITY:
                    computed = True
                elif value not in seen:
                    seen.add(value)
                    open_nodes.append(value)
            if computed:
                for column, transformations in self._reached_from(node).items():
                    found.update(Chain(column, each, node) for each in transformations)
        return found

    def leaves(self, nodes: Iterable[Node]) -> set[SourceColumn]:
        """All the sources' columns that any of the nodes is made of, in whatever way."""
        seen = set(nodes)
        open_nodes = list(seen)
        found: set[SourceColumn] = set()
        while open_nodes:
            node = open_nodes.pop()
            found.update(self.columns.get(node, ()))
            for value, _ in self.inputs.get(node, ()):
                if value not in seen:
                    seen.add(value)
                    open_nodes.append(value)
        return found

    def _reached_from(self, computing: Node) -> Reached:
        """The columns reached through the steps of a node that do more than rename."""
        known = self._reached.get(computing)
        if known is not None:
            return known
        start = [(value, step) for value, step in self.inputs[computing] if step]
        seen = set(start)
        open_states = list(start)
        found: defaultdict[SourceColumn, set[Transformation]] = defaultdict(set)
        while open_states:
            node, state = open_states.pop()
            for column in self.columns.get(node, ()):
                found[column].add(state)
            for value, step in self.inputs.get(node, ()):
                following = (value, compose(state, step))
                if following not in seen:
                    seen.add(following)
                    open_states.append(following)
        reached = {column: frozenset(states) for column, states in found.items()}
        self._reached[computing] = reached
        return reached
