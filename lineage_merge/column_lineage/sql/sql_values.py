"""Values in SQL: of columns of datasets, which are known by key, and of structures with known fields."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from lineage_merge.column_lineage.derive import Rows
from lineage_merge.column_lineage.parts import Part
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import BuiltValue, Chains, Input, SourceColumn, Value

SqlColumn = SourceColumn[str]
SqlValue = Value[str]
SqlRows = Rows[str]
# The value of each column of a target, by name; a `field_path` for a field.
Columns = list[tuple[str, SqlValue]]
Text = Callable[[], str]


class _Untraced(Value[str]):
    """All parts of it are itself: one object serves all statements, and must not grow."""

    __slots__ = ()

    def part(self, part: Part) -> SqlValue:
        return self


# A value without an origin, such as a constant, or what is read of an unknown table.
UNTRACED: SqlValue = _Untraced()


class KnownFields(NamedTuple):
    """The fields of a structure that a query builds, in order; "" without a name. `closed`: all are known."""

    columns: Columns
    closed: bool

    def has(self, name: str) -> bool:
        """Return whether a field is listed."""
        return any(field.casefold() == name.casefold() for field, _ in self.columns)


def column_value(column: SqlColumn) -> SqlValue:
    """Return the value of a column that is passed on as it is."""
    return Value(columns=(column,))


def merge_values(values: Iterable[SqlValue]) -> SqlValue:
    """Return a value that is one of several, such as those of a union's branches."""
    alternatives = [value for value in dict.fromkeys(values) if value is not UNTRACED]
    if len(alternatives) == 1:
        return alternatives[0]
    return Value(map(Input, alternatives)) if alternatives else UNTRACED


def pass_on(value: SqlValue, step: Transformation, text: Text) -> SqlValue:
    """Return the result of a function that has the structure of its argument."""
    return Value((Input(value, step),), text=text)


def field_of(value: SqlValue, name: str) -> SqlValue:
    """Return a field of a structure, or of the structures in an array."""
    return value.part(Part(name))


def structure(
    columns: Columns,
    find: Callable[[str], SqlValue | None] | None = None,
    others: SqlValue | None = None,
    *,
    closed: bool = True,
) -> SqlValue:
    """Return a structure of fields, "" without a name.

    `find` returns fields that are not listed; those of `others` have its fields. `closed`: there are none.
    """
    parts = [(Part(name, at), Input(value)) for at, (name, value) in enumerate(columns)]
    inputs = [Input(value, Transformation.TRANSFORMATION, passes=False) for _, value in columns]
    unlisted = None
    if others is not None:
        unlisted = Input(others)
        inputs.append(Input(others, Transformation.TRANSFORMATION, passes=False))
    return Value(inputs, built=BuiltValue("struct", parts, True, unlisted, find, closed))


def change_fields(base: SqlValue, fields: Columns) -> SqlValue:
    """Return a structure of which some fields are set."""
    names = {name.casefold() for name, _ in fields}
    known = find_fields(base)
    if known is None:
        return structure(fields, others=base, closed=False)
    remaining = [(name, value) for name, value in known.columns if name.casefold() not in names]
    return structure([*remaining, *fields], lambda name: field_of(base, name), closed=known.closed)


def find_fields(value: SqlValue) -> KnownFields | None:
    """Return the fields of a structure that a query builds, whatever passes it on; None for other values."""
    structures: list[SqlValue] = []
    closed = True
    seen = {value}
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        inner.resolve()
        if inner.built is not None:
            structures.append(inner)
            closed = closed and inner.built.is_closed
        elif inner.columns:
            closed = False
        else:
            new = [passing for passing, _, passes in reversed(inner.inputs) if passes and passing not in seen]
            seen.update(new)
            waiting += new
    if not structures:
        return None
    [first, *others] = structures
    parts = [part for part, _ in first.built.parts] if first.built else []
    names = {part.name.casefold() for part in parts}
    for other in others:
        for part, _ in other.built.parts if other.built else ():
            if part.name.casefold() not in names:
                names.add(part.name.casefold())
                parts.append(Part(part.name))
    if value is first and value.built:
        return KnownFields([(part.name, one.value) for part, one in value.built.parts], closed)
    asked = [Part(part.name) for part in parts] if others else parts
    return KnownFields([(part.name, value.part(part)) for part in asked], closed)


def find_passed_columns(value: SqlValue) -> set[SqlColumn]:
    """Return the columns that a value may be, with their structure."""
    columns: set[SqlColumn] = set()
    seen = {value}
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        inner.resolve()
        columns.update(inner.columns)
        new = [passing for passing, _, passes in inner.inputs if passes and passing not in seen]
        seen.update(new)
        waiting += new
    return columns


def is_same(one: SqlValue, other: SqlValue) -> bool:
    """Return whether two values are the same columns, by the same expressions."""
    if one is other:
        return True
    chains: Chains[str] = Chains()
    return chains.trace(one) == chains.trace(other)


def merge_columns(columns: Iterable[tuple[str, SqlValue]]) -> Columns:
    """Merge the columns of several branches."""
    names: dict[str, str] = {}
    by_name: dict[str, list[SqlValue]] = {}
    for name, value in columns:
        names.setdefault(name.casefold(), name)
        by_name.setdefault(name.casefold(), []).append(value)
    return [(names[key], merge_values(values)) for key, values in by_name.items()]
