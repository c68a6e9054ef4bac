"""The graph of values, down to columns of sources and their fields.

A node is a name that its front end gives: the id of an expression in a document, or a generated one for a
column in the text of a subquery. Each input has the step it takes. Every traversal is iterative, and visits a
node at most once per state.

A part of a value (a struct's field, a map's entry, an array's item) is a node of its own. Its inputs are the
same part of the inputs that the value passes on, down to what builds the value of parts, or to a column of
which it is a field.
"""

from collections import defaultdict, deque
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from lineage_merge.column_lineage.parts import VALUES, Part
from lineage_merge.column_lineage.transformations import Transformation, compose
from lineage_merge.model.elements import Reference, field_path

Node = str
# Types end sooner; documents may be wrong.
_DEEPEST = 50


class Input(NamedTuple):
    """An input of a value. IDENTITY: passed on unchanged, at most renamed.

    `passes`: parts of the value are parts of the input; else each depends on the whole input.
    """

    node: Node
    step: Transformation
    passes: bool = True


class SourceColumn(NamedTuple):
    """A column of a dataset that the plan reads, or a field of one (`field_path`)."""

    source: Reference
    column: str


class Chain(NamedTuple):
    """A path from a target to a source's column.

    `step` is the first node from the target that does more than rename, "" without one. `fields` are the
    names below the target if it is built of parts: the path is that of one of them.
    """

    column: SourceColumn
    transformation: Transformation
    step: Node
    fields: tuple[str, ...] = ()


@dataclass(slots=True)
class BuiltValue:
    """A value that the plan builds: the input of each part.

    `is_listed`: asked for the whole of a struct, the fields are the answer, and not its inputs. `others` is
    the input of the parts that are not listed.
    """

    kind: Literal["struct", "map", "array"]
    parts: list[tuple[Part, Input]] = field(default_factory=list)
    is_listed: bool = False
    others: Input | None = None


# A node, the step to it, the fields of built structs above it, and whether a struct below is still the value.
_State = tuple[Node, Transformation, tuple[str, ...], bool]
Reached = dict[tuple[SourceColumn, tuple[str, ...]], frozenset[Transformation]]


@dataclass(slots=True)
class ValueGraph:
    """The `inputs` of each node, and the source's `columns` that a node is.

    `built` are nodes whose parts are known. `compared` are nodes that return the greatest or smallest of
    their inputs, with the fields by which structs are compared, in order. `reading` are expressions that read
    a part, and `named` the nodes that an expression's text shows by name.
    """

    inputs: defaultdict[Node, list[Input]] = field(default_factory=lambda: defaultdict(list))
    columns: dict[Node, tuple[SourceColumn, ...]] = field(default_factory=dict)
    built: dict[Node, BuiltValue] = field(default_factory=dict)
    compared: dict[Node, tuple[str, ...]] = field(default_factory=dict)
    reading: set[Node] = field(default_factory=set)
    named: Container[Node] = ()
    _parts: dict[tuple[Node, Part], Node] = field(default_factory=dict)
    _whole: dict[Node, tuple[Node, int]] = field(default_factory=dict)
    _incomplete: deque[tuple[Node, Node, Part]] = field(default_factory=deque)
    _unnamed: set[Node] = field(default_factory=set)
    _reached: dict[Node, Reached] = field(default_factory=dict)

    def add(self, node: Node, value: Node, step: Transformation = Transformation.IDENTITY) -> None:
        """Add `value` as an input of `node`, which passes on its parts if it is unchanged."""
        self.inputs[node].append(Input(value, step, step is Transformation.IDENTITY))

    def add_entries(
        self, node: Node, kind: Literal["map", "array"], entries: list[tuple[Part, Input]]
    ) -> None:
        """Add a map or an array that the plan builds; the whole of it has all entries as inputs."""
        self.built[node] = BuiltValue(kind, entries)
        self.inputs[node] = [value for _, value in entries]

    def part(self, node: Node, part: Part) -> Node:
        """Return the node of a part of a value."""
        part_node = self._parts.get((node, part))
        if part_node is None:
            whole, depth = self._whole.get(node, (node, 0))
            if depth >= _DEEPEST:
                return node
            part_node = self._parts[node, part] = f"part/{len(self._parts)}"
            self._whole[part_node] = (whole, depth + 1)
            self._incomplete.append((part_node, node, part))
        return part_node

    def field(self, node: Node, path: Iterable[str]) -> Node:
        """Return the node of a field of a value, by the names below it."""
        for name in path:
            node = self.part(node, Part(name))
        return node

    def map_side(self, value: Node, side: Part) -> Input:
        """Return the input that all keys, or all values, of a map are; only values have parts."""
        return Input(self.part(value, side), Transformation.TRANSFORMATION, passes=side is VALUES)

    def whole(self, node: Node) -> Node:
        """Return the value that a node is a part of, or the node itself."""
        return self._whole[node][0] if node in self._whole else node

    def complete(self) -> None:
        """Add the inputs of all parts. What a part is of comes before it."""
        while self._incomplete:
            part_node, node, part = self._incomplete.popleft()
            if node in self.columns:
                self._add_field(part_node, node, part)
            inputs = self._built_inputs(node, part) if node in self.built else None
            if inputs is None:
                inputs = self._passed_inputs(node, part)
            if inputs or node not in self.columns:
                self.inputs[part_node] = inputs

    def _add_field(self, part_node: Node, node: Node, part: Part) -> None:
        """Add the column's field; the column itself for an item, an entry, or a field without a name."""
        columns = self.columns[node]
        if part.is_field and (not part.name or node in self._unnamed):
            self._unnamed.add(part_node)
        elif part.is_field:
            columns = tuple(SourceColumn(item.source, field_path(item.column, part.name)) for item in columns)
        self.columns[part_node] = columns

    def _built_inputs(self, node: Node, part: Part) -> list[Input] | None:
        """Return the inputs of a part of a built value; None for those of the whole value's."""
        built = self.built[node]
        if built.kind == "struct":
            if not part.is_field:  # an array of structs: each of its items has these fields
                return [Input(node, Transformation.IDENTITY)]
            fields = [value for own, value in built.parts if own.is_same_field(part)]
            if fields or built.others is None:
                return fields
            return [built.others._replace(node=self.part(built.others.node, part))]
        if part.is_field:
            values = (value for own, value in built.parts if own.side != "keys")
            return [value._replace(node=self.part(value.node, part)) for value in values if value.passes]
        if part.side:
            return [value for own, value in built.parts if (own.side == "keys") == (part.side == "keys")]
        known = [value for own, value in built.parts if not own.side and own.is_entry(part, built.kind)]
        return known[-1:] or [value for own, value in built.parts if own.side == "values"] or None

    def _passed_inputs(self, node: Node, part: Part) -> list[Input]:
        inputs: list[Input] = []
        names = self.compared.get(node)
        for value in self.inputs.get(node, ()):
            if not value.passes:
                inputs.append(value)
                continue
            inputs.append(value._replace(node=self.part(value.node, part)))
            if names is not None:
                inputs.extend(
                    Input(self.part(value.node, before), Transformation.CONDITIONAL, passes=False)
                    for before in part.preceding(names)
                )
        return inputs

    def chains(self, target: Node) -> set[Chain]:
        """Return the paths from `target` to source columns, one for each kind of path."""
        self.complete()
        chains: set[Chain] = set()
        start: tuple[Node, tuple[str, ...]] = (target, ())
        seen = {start}
        open_states = [(*start, "")]
        while open_states:
            node, fields, read = open_states.pop()
            for column in self.columns.get(node, ()):
                chains.add(Chain(column, Transformation.IDENTITY, "", fields))
            # An expression is shown from the outermost field that it reads, down to columns with names.
            if self.reading:
                if self.whole(node) in self.named:
                    read = ""
                elif not read and node in self.reading:
                    read = node
            computed = False
            built = self.built.get(node)
            if built and built.is_listed:
                for part, (value, step, _) in built.parts:
                    below = (value, (*fields, part.name))
                    if step is not Transformation.IDENTITY:
                        computed = True
                    elif below not in seen:
                        seen.add(below)
                        open_states.append((*below, read))
                if built.others:
                    open_states.append((built.others.node, fields, read))
            else:
                for value, step, _ in self.inputs.get(node, ()):
                    if step is not Transformation.IDENTITY:
                        computed = True
                    elif (value, fields) not in seen:
                        seen.add((value, fields))
                        open_states.append((value, fields, read))
            if computed:
                for (column, more), transformations in self._reached_from(node).items():
                    path = (*fields, *more)
                    chains.update(Chain(column, kind, read or node, path) for kind in transformations)
        return chains

    def leaves(self, nodes: Iterable[Node]) -> set[SourceColumn]:
        """Return all source columns that any of the nodes depends on, directly or indirectly."""
        self.complete()
        seen = set(nodes)
        open_nodes = list(seen)
        source_columns: set[SourceColumn] = set()
        while open_nodes:
            node = open_nodes.pop()
            source_columns.update(self.columns.get(node, ()))
            for value, _, _ in self.inputs.get(node, ()):
                if value not in seen:
                    seen.add(value)
                    open_nodes.append(value)
        return source_columns

    def _reached_from(self, computing: Node) -> Reached:
        """Return the columns reached through the steps of a node that do more than rename."""
        known = self._reached.get(computing)
        if known is not None:
            return known
        start = [step for step in self._following(computing, is_value=bool(self.built)) if step[1]]
        seen = set(start)
        open_states = list(start)
        states_of: defaultdict[tuple[SourceColumn, tuple[str, ...]], set[Transformation]] = defaultdict(set)
        while open_states:
            node, state, fields, is_value = open_states.pop()
            for column in self.columns.get(node, ()):
                states_of[column, fields].add(state)
            if is_value and node in self.built:
                following = [
                    (value, compose(state, step), (*fields, *more), remains)
                    for value, step, more, remains in self._following(node, is_value=True)
                ]
            else:
                following = [
                    (value, compose(state, step), fields, is_value and passes)
                    for value, step, passes in self.inputs.get(node, ())
                ]
            new = [reached for reached in dict.fromkeys(following) if reached not in seen]
            seen.update(new)
            open_states += new
        reached = {key: frozenset(states) for key, states in states_of.items()}
        self._reached[computing] = reached
        return reached

    def _following(self, node: Node, *, is_value: bool) -> list[_State]:
        """Return the inputs of a node, of the fields of a struct that is built there and asked for."""
        built = self.built.get(node) if is_value else None
        if not built or not built.is_listed:
            return [
                (value, step, (), is_value and passes) for value, step, passes in self.inputs.get(node, ())
            ]
        following: list[_State] = [
            (value, step, (part.name,), passes) for part, (value, step, passes) in built.parts
        ]
        if built.others:
            following.append((built.others.node, built.others.step, (), True))
        return following
