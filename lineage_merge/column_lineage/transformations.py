"""The words of column lineage that every source shares: how a value or a row depends on a column."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

from lineage_merge.model.elements import FeedsColumn, Influences, JobKey, Reference

# What a source calls a dataset while it works: a reference already, or a key of its own.
Source = TypeVar("Source")


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


@dataclass(frozen=True, slots=True)
class ColumnFlow(Generic[Source]):
    """A column's value comes from another dataset's, or is steered by it.

    `transformations` are those of all chains, direct ones first; `expression` is readable text, at most
    1,000 characters, "" where the column is only renamed. Distinct expressions of several branches are
    sorted and joined with `` | ``.
    """

    source: Source
    column: str
    target_column: str
    transformations: tuple[Transformation, ...]
    expression: str


@dataclass(frozen=True, slots=True)
class Influence(Generic[Source]):
    """A column of the dataset `source` decides which rows the target has."""

    source: Source
    column: str
    kinds: tuple[InfluenceKind, ...]


def lineage_elements(
    flows: Iterable[ColumnFlow[Source]],
    influences: Iterable[Influence[Source]],
    job: JobKey,
    target: Reference,
    reference: Callable[[Source], Reference],
) -> Iterator[FeedsColumn | Influences]:
    """What leads to the columns and the rows of `target`; `reference` says which dataset a source is."""
    for flow in flows:
        how = tuple(each.name for each in flow.transformations)
        source = reference(flow.source)
        yield FeedsColumn(job, source, flow.column, target, flow.target_column, how, flow.expression)
    for influence in influences:
        kinds = tuple(each.value for each in influence.kinds)
        yield Influences(job, reference(influence.source), influence.column, target, kinds)
