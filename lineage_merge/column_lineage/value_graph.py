"""The graph of values, down to columns of sources and their fields.

A value has inputs, each with the step it takes, or is a column of a source. Inputs may be added at any time:
what a part of a value is made of is determined when the graph is read. Every traversal is iterative, and
visits a value at most once per state.

A part of a value (a struct's field, a map's entry, an array's item) is a value of its own. Its inputs are the
same part of the inputs that the value passes on, down to what builds the value of parts, or to a column of
which it is a field.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Generic, Literal, NamedTuple

from lineage_merge.column_lineage.parts import VALUES, Part
from lineage_merge.column_lineage.transformations import Source, Transformation, compose
from lineage_merge.model.elements import Reference, field_path

# Types end sooner; documents may be wrong.
_DEEPEST = 50


class SourceColumn(NamedTuple, Generic[Source]):
    """A column of a dataset, or a field of one (`field_path`)."""

    source: Source
    column: str


class Input(NamedTuple, Generic[Source]):
    """An input of a value. IDENTITY: passed on unchanged, at most renamed.

    `passes`: parts of the value are parts of the input; else each depends on the whole input.
    """

    value: "Value[Source]"
    step: Transformation = Transformation.IDENTITY
    passes: bool = True


@dataclass(slots=True)
class BuiltValue(Generic[Source]):
    """A value that is built of parts: the input of each.

    `is_listed`: asked for the whole of a struct, the fields are the answer, and not its inputs. `others` is
    the input of the parts that are not listed, `find` returns the value of one by its name; without either
    there are none, if the struct `is_closed`.
    """

    kind: Literal["struct", "map", "array"]
    parts: list[tuple[Part, Input[Source]]] = field(default_factory=list)
    is_listed: bool = False
    others: Input[Source] | None = None
    find: "Callable[[str], Value[Source] | None] | None" = None
    is_closed: bool = True


class Value(Generic[Source]):
    """A value: what it is made of, or the source's `columns` that it is.

    `built`: its parts are known. `compared`: it is the greatest or smallest of its inputs; the fields by
    which structs are compared, in order. `is_reading`: an expression that reads a part. `is_named`: the text
    of an expression shows it by its name. `is_constant`: it has no origin, and is not unknown. `text` is the
    expression that computes it, if the front end knows it; `key` identifies the value there.
    """

    __slots__ = (
        "_parts",
        "built",
        "columns",
        "compared",
        "inputs",
        "is_constant",
        "is_named",
        "is_reading",
        "key",
        "text",
    )

    def __init__(
        self,
        inputs: Iterable[Input[Source]] = (),
        columns: tuple[SourceColumn[Source], ...] = (),
        text: str | Callable[[], str] | None = None,
        built: BuiltValue[Source] | None = None,
        key: str = "",
    ) -> None:
        self.inputs = list(inputs)
        self.columns = columns
        self.text = text
        self.built = built
        self.key = key
        self.compared: tuple[str, ...] | None = None
        self.is_constant = False
        self.is_named = False
        self.is_reading = False
        self._parts: dict[Part, Value[Source]] | None = None

    @property
    def whole(self) -> "Value[Source]":
        """The value that it is a part of, or itself."""
        return self

    def resolve(self) -> None:
        """Determine what a part is made of, by what is known now."""

    def add(self, value: "Value[Source]", step: Transformation = Transformation.IDENTITY) -> None:
        """Add an input, whose parts are passed on if it is unchanged."""
        self.inputs.append(Input(value, step, step is Transformation.IDENTITY))
        if self._parts:
            self._forget_parts()

    def _forget_parts(self) -> None:
        for part in (self._parts or {}).values():
            part._forget_parts()

    def build(self, kind: Literal["map", "array"], entries: list[tuple[Part, Input[Source]]]) -> None:
        """Make it a map or an array of entries; the whole of it has all of them as inputs."""
        self.built = BuiltValue(kind, entries)
        self.inputs = [value for _, value in entries]

    def part(self, part: Part) -> "Value[Source]":
        """Return a part of the value."""
        if self._parts is None:
            self._parts = {}
        known = self._parts.get(part)
        if known is None:
            known = self._parts[part] = self._make_part(part, 1)
        return known

    def _make_part(self, part: Part, depth: int) -> "Value[Source]":
        return _PartOfValue(self, part, depth) if depth <= _DEEPEST else self

    def field(self, path: Iterable[str]) -> "Value[Source]":
        """Return a field of the value, by the names below it."""
        value = self
        for name in path:
            value = value.part(Part(name))
        return value

    def map_side(self, side: Part) -> Input[Source]:
        """Return the input that all keys, or all values, of a map are; only values have parts."""
        return Input(self.part(side), Transformation.TRANSFORMATION, passes=side is VALUES)

    def parts_passed(self, part: Part) -> list[Input[Source]]:
        """Return the inputs of a part of the value."""
        if self.built is not None:
            built = self._parts_built(self.built, part)
            if built is not None:
                return built
        inputs: list[Input[Source]] = []
        for value in self.inputs:
            if not value.passes:
                inputs.append(value)
                continue
            inputs.append(value._replace(value=value.value.part(part)))
            if self.compared is not None:
                inputs.extend(
                    Input(value.value.part(before), Transformation.CONDITIONAL, passes=False)
                    for before in part.preceding(self.compared)
                )
        return inputs

    def _parts_built(self, built: BuiltValue[Source], part: Part) -> list[Input[Source]] | None:
        """Return the inputs of a part of a built value; None for those of the whole value's."""
        if built.kind == "struct":
            if not part.is_field:  # an array of structs: each of its items has these fields
                return [Input(self)]
            fields = [value for own, value in built.parts if own.is_same_field(part)]
            if fields:
                return fields
            if built.find is not None:
                found = built.find(part.name)
                return [] if found is None else [Input(found)]
            others = built.others
            return [] if others is None else [others._replace(value=others.value.part(part))]
        if part.is_field:
            values = (value for own, value in built.parts if own.side != "keys")
            return [value._replace(value=value.value.part(part)) for value in values if value.passes]
        if part.side:
            return [value for own, value in built.parts if (own.side == "keys") == (part.side == "keys")]
        known = [value for own, value in built.parts if not own.side and own.is_entry(part, built.kind)]
        return known[-1:] or [value for own, value in built.parts if own.side == "values"] or None

    @property
    def is_unnamed(self) -> bool:
        """Whether it is below a field without a name, so that no field of its columns is meant."""
        return False


class _PartOfValue(Value[Source]):
    """A part of a value, whose inputs are those of the value when the graph is read."""

    __slots__ = ("_depth", "_is_resolved", "_of", "_part", "_unnamed", "_whole")

    def __init__(self, of: Value[Source], part: Part, depth: int) -> None:
        super().__init__()
        self._of = of
        self._part = part
        self._depth = depth
        self._whole = of.whole
        self._is_resolved = False
        self._unnamed = of.is_unnamed or (part.is_field and not part.name)

    @property
    def whole(self) -> Value[Source]:
        return self._whole

    @property
    def is_unnamed(self) -> bool:
        return self._unnamed

    def _make_part(self, part: Part, depth: int) -> Value[Source]:
        return super()._make_part(part, self._depth + depth)

    def _forget_parts(self) -> None:
        self._is_resolved = False
        super()._forget_parts()

    def resolve(self) -> None:
        if self._is_resolved:
            return
        self._is_resolved = True
        self._of.resolve()
        self.columns = self._columns(self._of.columns)
        inputs = self._of.parts_passed(self._part)
        self.inputs = inputs if inputs or not self.columns else []

    def _columns(self, columns: tuple[SourceColumn[Source], ...]) -> tuple[SourceColumn[Source], ...]:
        """Return the columns' field; the columns for an item, an entry, or a field without a name."""
        if self._unnamed or not self._part.is_field:
            return columns
        return tuple(SourceColumn(one.source, field_path(one.column, self._part.name)) for one in columns)


Node = str


class ValueGraph(dict[Node, Value[Reference]]):
    """The values of a document by their ids there, or by generated ones; unknown ones are made when asked."""

    def __missing__(self, node: Node) -> Value[Reference]:
        value = self[node] = Value(key=node)
        return value

    def add(self, node: Node, value: Node, step: Transformation = Transformation.IDENTITY) -> None:
        """Add a value as an input of another, which passes on its parts if it is unchanged."""
        self[node].add(self[value], step)


class Chain(NamedTuple, Generic[Source]):
    """A path from a target to a source's column.

    `step` is the first value from the target that does more than rename, None without one. `fields` are the
    names below the target if it is built of parts: the path is that of one of them.
    """

    column: SourceColumn[Source]
    transformation: Transformation
    step: Value[Source] | None
    fields: tuple[str, ...] = ()


# A value, the step to it, the fields of built structs above it, whether a struct below is still the value.
_State = tuple[Value[Source], Transformation, tuple[str, ...], bool]
_Reached = dict[tuple[SourceColumn[Source], tuple[str, ...]], frozenset[Transformation]]


class Chains(Generic[Source]):
    """Finds the paths from values to columns of sources; what is below a computed value is found once."""

    def __init__(self) -> None:
        self._reached: dict[Value[Source], _Reached[Source]] = {}

    def trace(self, target: Value[Source]) -> set[Chain[Source]]:
        """Return the paths from `target` to source columns, one for each kind of path."""
        chains: set[Chain[Source]] = set()
        start: tuple[Value[Source], tuple[str, ...]] = (target, ())
        seen = {start}
        open_states: list[tuple[Value[Source], tuple[str, ...], Value[Source] | None]] = [(*start, None)]
        while open_states:
            value, fields, read = open_states.pop()
            value.resolve()
            for column in value.columns:
                chains.add(Chain(column, Transformation.IDENTITY, None, fields))
            # An expression is shown from the outermost field that it reads, down to values with names.
            if read is not None or value.is_reading:
                if value.whole.is_named:
                    read = None
                elif read is None:
                    read = value
            computed = False
            for inner, step, more, _ in _following(value, is_value=True):
                below = (inner, (*fields, *more))
                if step is not Transformation.IDENTITY:
                    computed = True
                elif below not in seen:
                    seen.add(below)
                    open_states.append((*below, read))
            if computed:
                shown = value if read is None else read
                for (column, more), transformations in self._reach_from(value).items():
                    path = (*fields, *more)
                    chains.update(Chain(column, kind, shown, path) for kind in transformations)
        return chains

    def _reach_from(self, computing: Value[Source]) -> _Reached[Source]:
        """Return the columns reached through the steps of a value that do more than rename."""
        known = self._reached.get(computing)
        if known is not None:
            return known
        open_states = [step for step in _following(computing, is_value=True) if step[1]]
        seen = set(open_states)
        states_of: defaultdict[tuple[SourceColumn[Source], tuple[str, ...]], set[Transformation]]
        states_of = defaultdict(set)
        while open_states:
            value, state, fields, is_value = open_states.pop()
            value.resolve()
            for column in value.columns:
                states_of[column, fields].add(state)
            for inner, step, more, remains in _following(value, is_value=is_value):
                reached = (inner, compose(state, step), (*fields, *more) if more else fields, remains)
                if reached not in seen:
                    seen.add(reached)
                    open_states.append(reached)
        found = {key: frozenset(states) for key, states in states_of.items()}
        self._reached[computing] = found
        return found


def _following(value: Value[Source], *, is_value: bool) -> list[_State[Source]]:
    """Return the inputs of a value, of the fields of a struct that is built there and asked for."""
    built = value.built if is_value else None
    if not built or not built.is_listed:
        return [(inner, step, (), is_value and passes) for inner, step, passes in value.inputs]
    following: list[_State[Source]] = [
        (inner, step, (part.name,) if part.name else (), passes)
        for part, (inner, step, passes) in built.parts
    ]
    if built.others:
        following.append((built.others.value, built.others.step, (), True))
    return following


def leaves(values: Iterable[Value[Source]]) -> set[SourceColumn[Source]]:
    """Return all source columns that any of the values depends on, directly or indirectly."""
    seen = set(values)
    open_values = list(seen)
    columns: set[SourceColumn[Source]] = set()
    while open_values:
        value = open_values.pop()
        value.resolve()
        columns.update(value.columns)
        for inner, _, _ in value.inputs:
            if inner not in seen:
                seen.add(inner)
                open_values.append(inner)
    return columns


def has_origin(value: Value[Source]) -> bool:
    """Return whether a value depends on any source column."""
    seen = {value}
    open_values = [value]
    while open_values:
        value = open_values.pop()
        value.resolve()
        if value.columns:
            return True
        new = [inner for inner, _, _ in value.inputs if inner not in seen]
        seen.update(new)
        open_values += new
    return False
