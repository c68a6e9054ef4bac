"""Derivation of a column: its origins, the kinds of transformation, and the expression."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, compose
from lineage_merge.model.elements import field_path


class ColumnOrigin(NamedTuple):
    """A column of a dataset, or a field of it (`field_path`)."""

    dataset: str
    column: str


class DerivationStep(NamedTuple):
    """How a value derives from one origin: the kind of each chain, and the SQL expressions.

    Without a text, the column is only renamed. `passing` are the kinds of the chains that pass a structure,
    or the elements of an array: a field of the value is the same field of the origin.
    """

    kinds: frozenset[Transformation]
    texts: tuple[Callable[[], str], ...]
    passing: frozenset[Transformation] = frozenset()


Derivation = Mapping[ColumnOrigin, DerivationStep]
Influences = dict[ColumnOrigin, set[InfluenceKind]]
# The derivation of each column of a target, by name; a `field_path` for a field.
Columns = list[tuple[str, Derivation]]

# The kinds of a column that is passed on as it is.
UNCHANGED = frozenset({Transformation.IDENTITY})
_UNCHANGED_STEP = DerivationStep(UNCHANGED, (), UNCHANGED)


def itself(origin: ColumnOrigin) -> Derivation:
    """Return the derivation of an unchanged column."""
    return {origin: _UNCHANGED_STEP}


def merged(derivations: Iterable[Derivation]) -> Derivation:
    """Merge alternative derivations, such as those of a union's branches; fields of structures by name."""
    result: dict[ColumnOrigin, DerivationStep] = {}
    structures: list[Structure] = []
    for derivation in derivations:
        if isinstance(derivation, Structure):
            structures.append(derivation)
            continue
        for origin, step in derivation.items():
            add_step(result, origin, step)
    return _alternatives(structures, result) if structures else result


def add_step(steps: dict[ColumnOrigin, DerivationStep], origin: ColumnOrigin, step: DerivationStep) -> None:
    """Add a step to those of the same origin."""
    known = steps.get(origin)
    if known is not None and known is not step:
        texts = dict.fromkeys((*known.texts, *step.texts))
        step = DerivationStep(known.kinds | step.kinds, tuple(texts), known.passing | step.passing)
    steps[origin] = step


def derived(
    kinds: Mapping[ColumnOrigin, Iterable[Transformation]],
    passing: Mapping[ColumnOrigin, Iterable[Transformation]],
    text: Callable[[], str],
) -> Derivation:
    """Return the derivation of an expression; its text replaces those of its inputs.

    `passing` are the kinds of the chains that pass a structure.
    """
    texts = (text,)
    if not passing:
        return {origin: DerivationStep(frozenset(own_kinds), texts) for origin, own_kinds in kinds.items()}
    return {
        origin: DerivationStep(frozenset(own_kinds), texts, frozenset(passing.get(origin, ())))
        for origin, own_kinds in kinds.items()
    }


def influences_of(origins: Iterable[ColumnOrigin], kind: InfluenceKind) -> Influences:
    """Return influences of one kind for the origins."""
    return {origin: {kind} for origin in origins}


def merge_influences(several: Iterable[Influences]) -> Influences:
    """Merge the influences of several branches."""
    merged_influences: Influences = {}
    for influences in several:
        for origin, kinds in influences.items():
            merged_influences.setdefault(origin, set()).update(kinds)
    return merged_influences


def merge_columns(columns: Iterable[tuple[str, Derivation]]) -> Columns:
    """Merge the columns of several branches."""
    names: dict[str, str] = {}
    by_name: dict[str, list[Derivation]] = {}
    for name, derivation in columns:
        names.setdefault(name.casefold(), name)
        by_name.setdefault(name.casefold(), []).append(derivation)
    return [(names[key], merged(derivations)) for key, derivations in by_name.items()]


class Structure(dict[ColumnOrigin, DerivationStep]):
    """The derivation of a structure with known fields; as a mapping, that of its value as a whole.

    `fields` are in order, "" without a name. `whole` goes to the structure itself: fields of it are unknown.
    `find` returns the derivation of a field by name, also of those that are not listed. `closed`: it has no
    others.
    """

    __slots__ = ("closed", "fields", "find", "whole")

    def __init__(
        self,
        fields: Columns,
        find: Callable[[str], Derivation] | None = None,
        whole: Derivation | None = None,
        *,
        closed: bool = True,
    ) -> None:
        self.fields = fields
        self.whole: Derivation = whole or {}
        self.closed = closed
        self.find = find or self._listed
        for derivation in (*(derivation for _, derivation in fields), self.whole):
            for origin, step in derivation.items():
                add_step(self, origin, step._replace(passing=frozenset()))

    def _listed(self, name: str) -> Derivation:
        return self.listed(name) or {}

    def listed(self, name: str) -> Derivation | None:
        """Return the derivation of a listed field; None: it is not listed."""
        key = name.casefold()
        return next((derivation for field, derivation in self.fields if field.casefold() == key), None)

    def converted(self, convert: Callable[[Derivation], Derivation]) -> "Structure":
        """Return the structure with each field's derivation converted."""
        fields = [(name, convert(derivation)) for name, derivation in self.fields]
        find = self.find
        return Structure(fields, lambda name: convert(find(name)), convert(self.whole), closed=self.closed)


def changed(base: Derivation, fields: Columns) -> Derivation:
    """Return a structure of which some fields are set."""
    names = {name.casefold() for name, _ in fields}
    listed = base.fields if isinstance(base, Structure) else []
    remaining = [(name, derivation) for name, derivation in listed if name.casefold() not in names]
    set_fields = Structure(fields)

    def find(name: str) -> Derivation:
        derivation = set_fields.listed(name)
        return field_of(base, name) if derivation is None else derivation

    whole = base.whole if isinstance(base, Structure) else base
    closed = isinstance(base, Structure) and base.closed
    return Structure([*remaining, *fields], find, whole, closed=closed)


def field_of(derivation: Derivation, name: str) -> Derivation:
    """Return the derivation of a field of a structure, or of a structure in an array.

    What is not passed on as it is, such as the result of a function, derives from its origins as a whole.
    """
    if isinstance(derivation, Structure):
        return derivation.find(name)
    result: dict[ColumnOrigin, DerivationStep] = {}
    for origin, (kinds, texts, passing) in derivation.items():
        if passing:
            field = ColumnOrigin(origin.dataset, field_path(origin.column, name))
            add_step(result, field, DerivationStep(passing, texts, passing))
        if opaque := kinds - passing:
            add_step(result, origin, DerivationStep(_of_part(opaque), texts))
    return result


def _of_part(kinds: Iterable[Transformation]) -> frozenset[Transformation]:
    return frozenset(compose(kind, Transformation.TRANSFORMATION) for kind in kinds)


def passed(derivation: Derivation, kind: Transformation, text: Callable[[], str]) -> Derivation:
    """Return the derivation of a function's result that has the structure of its argument."""
    if isinstance(derivation, Structure):
        return derivation.converted(lambda inner: passed(inner, kind, text))
    texts = (text,)
    return {
        origin: DerivationStep(_composed(kind, step.kinds), texts, _composed(kind, step.passing))
        for origin, step in derivation.items()
    }


def _composed(kind: Transformation, kinds: frozenset[Transformation]) -> frozenset[Transformation]:
    return frozenset(compose(kind, inner) for inner in kinds)


Convert = Callable[[str, ColumnOrigin, DerivationStep], tuple[ColumnOrigin, DerivationStep] | None]


def with_steps(derivation: Derivation, convert: Convert, column: str) -> Derivation:
    """Return the derivation of a column, or field, with other origins and steps; None: without an origin."""
    if isinstance(derivation, Structure):
        fields = [
            (name, with_steps(inner, convert, field_path(column, name) if name else column))
            for name, inner in derivation.fields
        ]
        whole = with_steps(derivation.whole, convert, column)
        return Structure(fields, whole=whole, closed=derivation.closed)
    result: dict[ColumnOrigin, DerivationStep] = {}
    for origin, step in derivation.items():
        converted = convert(column, origin, step)
        if converted is not None:
            add_step(result, *converted)
    return result


def _alternatives(structures: list[Structure], other: Derivation) -> Structure:
    """Return the structure of a value that is one of several, `other` of which is no known structure."""
    if len(structures) == 1 and not other:
        return structures[0]
    fields: dict[str, tuple[str, list[Derivation]]] = {}
    for structure in structures:
        for name, derivation in structure.fields:
            fields.setdefault(name.casefold(), (name, []))[1].append(derivation)
    everything: list[Derivation] = [*structures, other]
    return Structure(
        [(name, merged(derivations)) for name, derivations in fields.values()],
        lambda name: merged(field_of(derivation, name) for derivation in everything),
        merged([*(structure.whole for structure in structures), other]),
        closed=all(structure.closed for structure in structures)
        and not any(step.passing for step in other.values()),
    )
