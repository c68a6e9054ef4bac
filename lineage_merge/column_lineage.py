"""The words of column lineage that every source shares: how a value or a row depends on a column."""

from collections.abc import Iterable
from enum import IntEnum, StrEnum


class Transformation(IntEnum):
    """OpenLineage's subtypes, in the order in which several are listed: direct ones first."""

    IDENTITY = 0
    TRANSFORMATION = 1
    AGGREGATION = 2
    CONDITIONAL = 3
    WINDOW = 4


class InfluenceKind(StrEnum):
    """OpenLineage's indirect subtypes that are about rows."""

    FILTER = "FILTER"
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"


def along(nearer: Transformation, further: Transformation) -> Transformation:
    """Two steps of one chain, `nearer` to the target: steering wins, then the greater change.

    Of two steering steps the one nearer to the target says how the target is steered.
    """
    return nearer if nearer >= Transformation.CONDITIONAL else max(nearer, further)


def listed(transformations: Iterable[Transformation]) -> tuple[Transformation, ...]:
    """The transformations of several chains, each once, direct ones first."""
    return tuple(sorted(set(transformations)))
