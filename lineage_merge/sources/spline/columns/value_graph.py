"""The graph of values, down to columns of sources.

A node is a name: the id of an attribute or an expression in Spline's database, or a generated one for a
column in the text of a subquery. Each input has the step it takes. Every traversal is iterative, and visits a
node at most once per state.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import Transformation, compose
from lineage_merge.model.elements import Reference

Node = str


class Input(NamedTuple):
    """An input of a value. IDENTITY: passed on unchanged, at most renamed."""

    node: Node
    step: Transformation


class SourceColumn(NamedTuple):
    """A column of a dataset that the plan reads."""

    source: Reference
    column: str


class Chain(NamedTuple):
    """A path from a target to a source's column.

    `step` is the first node from the target that does more than rename, "" without one.
    """

    column: SourceColumn
    transformation: Transformation
    step: Node


Reached = dict[SourceColumn, frozenset[Transformation]]


@dataclass(slots=True)
class ValueGraph:
    """The `inputs` of each node, and the source's `columns` that a node is."""

    inputs: defaultdict[Node, list[Input]] = field(default_factory=lambda: defaultdict(list))
    columns: dict[Node, tuple[SourceColumn, ...]] = field(default_factory=dict)
    _reached: dict[Node, Reached] = field(default_factory=dict)

    def add(self, node: Node, value: Node, step: Transformation = Transformation.IDENTITY) -> None:
        """Add `value` as an input of `node`."""
        self.inputs[node].append(Input(value, step))

    def chains(self, target: Node) -> set[Chain]:
        """Yield the paths from `target` to source columns, one for each kind of path."""
        chains: set[Chain] = set()
        seen = {target}
        open_nodes = [target]
        while open_nodes:
            node = open_nodes.pop()
            for column in self.columns.get(node, ()):
                chains.add(Chain(column, Transformation.IDENTITY, ""))
            computed = False
            for value, step in self.inputs.get(node, ()):
                if step is not Transformation.IDENTITY:
                    computed = True
                elif value not in seen:
                    seen.add(value)
                    open_nodes.append(value)
            if computed:
                for column, transformations in self._reached_from(node).items():
                    chains.update(Chain(column, transformation, node) for transformation in transformations)
        return chains

    def leaves(self, nodes: Iterable[Node]) -> set[SourceColumn]:
        """Return all source columns that any of the nodes depends on, directly or indirectly."""
        seen = set(nodes)
        open_nodes = list(seen)
        source_columns: set[SourceColumn] = set()
        while open_nodes:
            node = open_nodes.pop()
            source_columns.update(self.columns.get(node, ()))
            for value, _ in self.inputs.get(node, ()):
                if value not in seen:
                    seen.add(value)
                    open_nodes.append(value)
        return source_columns

    def _reached_from(self, computing: Node) -> Reached:
        """Return the columns reached through the steps of a node that do more than rename."""
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
