"""Derivation of a column: its origins, the kinds of transformation, and the expression."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation


class ColumnOrigin(NamedTuple):
    """A column of a dataset."""

    dataset: str
    column: str


class DerivationStep(NamedTuple):
    """How a value derives from one origin: the kind of each chain, and the SQL expressions.

    Without a text, the column is only renamed.
    """

    kinds: frozenset[Transformation]
    texts: tuple[Callable[[], str], ...]


Derivation = Mapping[ColumnOrigin, DerivationStep]
Influences = dict[ColumnOrigin, set[InfluenceKind]]
# The derivation of each column of a target, by name.
Columns = list[tuple[str, Derivation]]

_UNCHANGED = DerivationStep(frozenset({Transformation.IDENTITY}), ())


def itself(origin: ColumnOrigin) -> Derivation:
    """Return the derivation of an unchanged column."""
    return {origin: _UNCHANGED}


def merged(derivations: Iterable[Derivation]) -> Derivation:
    """Merge alternative derivations, such as those of a union's branches."""
    result: dict[ColumnOrigin, DerivationStep] = {}
    for derivation in derivations:
        for origin, step in derivation.items():
            known = result.get(origin)
            if known is not None and known is not step:
                texts = dict.fromkeys((*known.texts, *step.texts))
                step = DerivationStep(known.kinds | step.kinds, tuple(texts))
            result[origin] = step
    return result


def derived(kinds: Mapping[ColumnOrigin, Iterable[Transformation]], text: Callable[[], str]) -> Derivation:
    """Return the derivation of an expression; its text replaces those of its inputs."""
    texts = (text,)
    return {origin: DerivationStep(frozenset(found), texts) for origin, found in kinds.items()}


def influences_of(origins: Iterable[ColumnOrigin], kind: InfluenceKind) -> Influences:
    """Return influences of one kind for the origins."""
    return {origin: {kind} for origin in origins}


def merge_columns(columns: Iterable[tuple[str, Derivation]]) -> Columns:
    """Merge the columns of several branches."""
    names: dict[str, str] = {}
    found: dict[str, list[Derivation]] = {}
    for name, derivation in columns:
        names.setdefault(name.casefold(), name)
        found.setdefault(name.casefold(), []).append(derivation)
    return [(names[key], merged(derivations)) for key, derivations in found.items()]
