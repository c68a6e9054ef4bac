"""What an edge's expression tells of each of its source columns: made of it, or steered by it. Pure.

Hive names the sources of an edge and its expression, not which is where. They are told apart by name; a
source whose name does not stand in the expression takes what its numbered columns (``_col3``) take.
"""

from collections.abc import Mapping, Sequence

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, listed
from lineage_merge.sources.hive.column_references import (
    AGGREGATION,
    IDENTITY,
    TRANSFORMATION,
    WINDOW,
    ColumnReference,
    is_plain,
    column_references,
)
from lineage_merge.sources.hive.query import Edge, Field
from lineage_merge.sources.hive.tokens import Token, tokens

_COMPARING = frozenset({"between", "in", "like", "rlike", "regexp"})


def transformations(edge: Edge) -> Mapping[Field, tuple[Transformation, ...]]:
    """Of a PROJECTION: how each source column gets into the targets."""
    sources = [source for source in edge.sources if source.column]
    found = tokens(edge.expression)
    if not found:
        # Hive writes no expression for a column that is passed on, for UNION, and for what it does not
        # know: the output of a script or of a function that makes rows has all columns of its input.
        return {source: (_without_expression(source, sources),) for source in sources}
    if is_rename(edge):
        return dict.fromkeys(sources, (IDENTITY,))
    told = column_references(found)
    unnamed = _unnamed(found, told)
    steps: dict[Field, tuple[Transformation, ...]] = {}
    for source in sources:
        own = _of(source, sources, told)
        # Where the whole expression is a field inside of the column, no step says so.
        taken = listed(max(step, TRANSFORMATION) for reference in own for step in reference.steps)
        steps[source] = taken or unnamed
    return steps


def is_rename(edge: Edge) -> bool:
    """Whether the expression says nothing: there is none, or it is only another name of the column."""
    found = tokens(edge.expression)
    if not found or not is_plain(found):
        return not found
    [reference] = column_references(found)
    if WINDOW in reference.steps:
        return False
    # a.f may be a field inside of the column a, and not a column that a subquery calls f.
    fields = {source.column.lower() for source in edge.sources} - {reference.parts[-1]}
    tables = {source.table.name for source in edge.sources}
    return not (fields - tables).intersection(reference.parts[:-1])


def _without_expression(source: Field, sources: Sequence[Field]) -> Transformation:
    return IDENTITY if sum(each.table == source.table for each in sources) == 1 else TRANSFORMATION


def _unnamed(found: Sequence[Token], told: Sequence[ColumnReference]) -> tuple[Transformation, ...]:
    """How a source gets in that the expression does not name."""
    internal = listed(step for reference in told if reference.is_internal for step in reference.steps)
    if internal:
        return internal
    if any(token.text == "tok_windowspec" for token in found):
        return (WINDOW,)
    aggregated = any(AGGREGATION in reference.steps for reference in told)
    return (AGGREGATION,) if aggregated else (TRANSFORMATION,)


def _of(source: Field, sources: Sequence[Field], told: Sequence[ColumnReference]) -> list[ColumnReference]:
    """The mentions of a source. One that two may mean is meant for both, unless it names the table."""
    column = source.column.lower()
    found = [reference for reference in told if column in reference.parts[-2:]]
    others = {each.table.name for each in sources if each != source and each.column.lower() == column}
    return [
        reference
        for reference in found
        if not others
        or source.table.name in reference.parts[:-1]
        or not others.intersection(reference.parts[:-1])
    ]


def influences(edge: Edge) -> Mapping[Field, tuple[InfluenceKind, ...]]:
    """Of a PREDICATE: what each source column decides.

    JOIN where columns of two tables (or two names of one) are compared, else FILTER.
    """
    sources = [source for source in edge.sources if source.column]
    tables = {source.table for source in sources}
    told: list[tuple[ColumnReference, InfluenceKind]] = []
    for part in _comparisons(tokens(edge.expression)):
        kind = InfluenceKind.JOIN if _is_join(part, len(tables)) else InfluenceKind.FILTER
        told.extend((reference, kind) for reference in column_references(part))
    internal = {kind for reference, kind in told if reference.is_internal}
    everything = {kind for _, kind in told}
    found: dict[Field, tuple[InfluenceKind, ...]] = {}
    for source in sources:
        own = _of(source, sources, [reference for reference, _ in told])
        kinds = {kind for reference, kind in told if reference in own}
        kinds = kinds or internal or everything or {InfluenceKind.FILTER}
        found[source] = tuple(sorted(kinds))
    return found


def _comparisons(found: Sequence[Token]) -> list[list[Token]]:
    """An expression cut at AND and OR, but for the AND of a BETWEEN."""
    parts: list[list[Token]] = [[]]
    is_between = False
    for token in found:
        is_word = token.kind == "word"
        if is_word and (token.text == "or" or (token.text == "and" and not is_between)):
            parts.append([])
            continue
        is_between = (is_between or token.text == "between") if token.text != "and" else False
        parts[-1].append(token)
    return parts


def _is_join(part: Sequence[Token], tables: int) -> bool:
    middle = next(
        (
            index
            for index, token in enumerate(part)
            if token.kind == "operator" or (token.kind == "word" and token.text in _COMPARING)
        ),
        None,
    )
    if middle is None:
        return False
    left, right = column_references(part[:middle]), column_references(part[middle + 1 :])
    if not left or not right:
        return False
    pairs = [(one, other) for one in left for other in right]
    if any(one.is_internal or other.is_internal for one, other in pairs):
        # A numbered column beside another one: both sides of a join, or a filter on one subquery.
        return tables > 1 or any(one.is_internal != other.is_internal for one, other in pairs)
    # A column that is compared to itself: two tables under one name, which Hive has left.
    return any(one.parts == other.parts or one.qualifier != other.qualifier for one, other in pairs)
