"""What a column is made of: where its value comes from, how, and as which text."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation


class Origin(NamedTuple):
    """A column of a dataset."""

    dataset: str
    column: str


class Step(NamedTuple):
    """How a value comes out of one origin: a kind for each chain, and what the SQL says.

    No text: the column is only renamed.
    """

    kinds: frozenset[Transformation]
    texts: tuple[Callable[[], str], ...]


Derivation = Mapping[Origin, Step]
Influences = dict[Origin, set[InfluenceKind]]

_AS_IT_IS = Step(frozenset({Transformation.IDENTITY}), ())


def itself(origin: Origin) -> Derivation:
    """The column as it is."""
    return {origin: _AS_IT_IS}


def merged(derivations: Iterable[Derivation]) -> Derivation:
    """Several chains side by side, as those of a union's branches."""
    result: dict[Origin, Step] = {}
    for derivation in derivations:
        for origin, step in derivation.items():
            known = result.get(origin)
            if known is not None and known is not step:
                texts = dict.fromkeys((*known.texts, *step.texts))
                step = Step(known.kinds | step.kinds, tuple(texts))
            result[origin] = step
    return result


def derived(kinds: Mapping[Origin, Iterable[Transformation]], text: Callable[[], str]) -> Derivation:
    """One expression, whose text stands for all that lies behind it."""
    texts = (text,)
    return {origin: Step(frozenset(found), texts) for origin, found in kinds.items()}


def deciding(origins: Iterable[Origin], kind: InfluenceKind) -> Influences:
    """The columns decide which rows there are."""
    return {origin: {kind} for origin in origins}
