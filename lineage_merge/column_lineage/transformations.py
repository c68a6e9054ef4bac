"""Model of column lineage that all sources share: how values and rows depend on columns."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Generic, TypeVar

from lineage_merge.model.elements import FeedsColumn, Influences, JobKey, Reference

# Identifies a dataset within a source: a reference, or a key of the source.
Source = TypeVar("Source")


class Transformation(IntEnum):
    """OpenLineage's subtypes, in the order in which several are listed: direct ones first."""

    IDENTITY = 0
    TRANSFORMATION = 1
    AGGREGATION = 2
    CONDITIONAL = 3
    WINDOW = 4


class InfluenceKind(StrEnum):
    """OpenLineage's indirect subtypes for rows."""

    FILTER = "FILTER"
    JOIN = "JOIN"
    GROUP_BY = "GROUP_BY"
    SORT = "SORT"


def compose(nearer: Transformation, further: Transformation) -> Transformation:
    """Compose two steps of a chain, `nearer` to the target: indirect, then the greater change.

    Of two indirect steps, the one nearer to the target determines the subtype.
    """
    return nearer if nearer >= Transformation.CONDITIONAL else max(nearer, further)


def sort_transformations(transformations: Iterable[Transformation]) -> tuple[Transformation, ...]:
    """Return the distinct transformations of several chains, direct ones first."""
    return tuple(sorted(set(transformations)))


@dataclass(frozen=True, slots=True)
class ColumnFlow(Generic[Source]):
    """The value of a column depends, directly or indirectly, on a column of another dataset.

    `transformations` are those of all chains, direct ones first; `expression` is readable text, at most
    1,000 characters, "" if the column is only renamed. Distinct expressions of several branches are
    sorted and joined with `` | ``.
    """

    source: Source
    column: str
    target_column: str
    transformations: tuple[Transformation, ...]
    expression: str


@dataclass(frozen=True, slots=True)
class Influence(Generic[Source]):
    """A column of the dataset `source` determines the rows of the target."""

    source: Source
    column: str
    kinds: tuple[InfluenceKind, ...]


def lineage_elements(
    flows: Iterable[ColumnFlow[Source]],
    influences: Iterable[Influence[Source]],
    job: JobKey,
    target: Reference,
    reference: Callable[[Source], Reference],
    *,
    assumed: bool = False,
) -> Iterator[FeedsColumn[Reference] | Influences[Reference]]:
    """Yield the elements of flows and influences to `target`; `reference` maps sources to datasets.

    `assumed`: the names of the target columns are.
    """
    for flow in flows:
        how = tuple(transformation.name for transformation in flow.transformations)
        source = reference(flow.source)
        target_column, expression = flow.target_column, flow.expression
        yield FeedsColumn(job, source, flow.column, target, target_column, how, expression, assumed)
    for influence in influences:
        kinds = tuple(kind.value for kind in influence.kinds)
        yield Influences(job, reference(influence.source), influence.column, target, kinds)
