"""How an edge's expression uses each of its source columns: directly or indirectly. Pure.

Hive lists the sources of an edge and its expression, without saying which source occurs where. They are
matched by name; a source that the expression does not name is treated like its numbered columns (``_col3``).
"""

from collections.abc import Mapping, Sequence

from lineage_merge.column_lineage.transformations import InfluenceKind, Transformation, listed
from lineage_merge.sources.hive.column_references import (
    AGGREGATION,
    IDENTITY,
    TRANSFORMATION,
    WINDOW,
    ColumnReference,
    column_references,
    is_plain,
)
from lineage_merge.sources.hive.query import Edge, Field
from lineage_merge.sources.hive.tokens import Token, tokens

_COMPARING = frozenset({"between", "in", "like", "rlike", "regexp"})


def transformations(edge: Edge) -> Mapping[Field, tuple[Transformation, ...]]:
    """Return, for a PROJECTION, how each source column gets into the targets."""
    sources = [source for source in edge.sources if source.column]
    found = tokens(edge.expression)
    if not found:
        # Hive writes no expression for a column that is passed on, for UNION, and for what it cannot trace:
        # the output of a script or table function is said to depend on all columns of its input.
        return {source: (_without_expression(source, sources),) for source in sources}
    if is_rename(edge):
        return dict.fromkeys(sources, (IDENTITY,))
    references = column_references(found)
    unnamed = _default_steps(found, references)
    steps: dict[Field, tuple[Transformation, ...]] = {}
    for source in sources:
        own = _references_to(source, sources, references)
        # No step is recorded if the whole expression is a nested field of the column.
        taken = listed(max(step, TRANSFORMATION) for reference in own for step in reference.steps)
        steps[source] = taken or unnamed
    return steps


def is_rename(edge: Edge) -> bool:
    """Return whether the expression is empty or only another name of the column."""
    found = tokens(edge.expression)
    if not found or not is_plain(found):
        return not found
    [reference] = column_references(found)
    if WINDOW in reference.steps:
        return False
    # a.f may be a nested field of column a, rather than a subquery's column f.
    fields = {source.column.lower() for source in edge.sources} - {reference.parts[-1]}
    tables = {source.table.name for source in edge.sources}
    return not (fields - tables).intersection(reference.parts[:-1])


def _without_expression(source: Field, sources: Sequence[Field]) -> Transformation:
    return IDENTITY if sum(field.table == source.table for field in sources) == 1 else TRANSFORMATION


def _default_steps(
    found: Sequence[Token], references: Sequence[ColumnReference]
) -> tuple[Transformation, ...]:
    """Return how a source is used that the expression does not name."""
    internal = listed(step for reference in references if reference.is_internal for step in reference.steps)
    if internal:
        return internal
    if any(token.text == "tok_windowspec" for token in found):
        return (WINDOW,)
    aggregated = any(AGGREGATION in reference.steps for reference in references)
    return (AGGREGATION,) if aggregated else (TRANSFORMATION,)


def _references_to(
    source: Field, sources: Sequence[Field], references: Sequence[ColumnReference]
) -> list[ColumnReference]:
    """Return the references to a source. An ambiguous one counts for both, unless it names the table."""
    column = source.column.lower()
    found = [reference for reference in references if column in reference.parts[-2:]]
    others = {field.table.name for field in sources if field != source and field.column.lower() == column}
    return [
        reference
        for reference in found
        if not others
        or source.table.name in reference.parts[:-1]
        or not others.intersection(reference.parts[:-1])
    ]


def influences(edge: Edge) -> Mapping[Field, tuple[InfluenceKind, ...]]:
    """Return, for a PREDICATE, what each source column decides.

    JOIN if columns of two tables (or two aliases of one) are compared, else FILTER.
    """
    sources = [source for source in edge.sources if source.column]
    tables = {source.table for source in sources}
    references: list[tuple[ColumnReference, InfluenceKind]] = []
    for part in _comparisons(tokens(edge.expression)):
        kind = InfluenceKind.JOIN if _is_join(part, len(tables)) else InfluenceKind.FILTER
        references.extend((reference, kind) for reference in column_references(part))
    internal = {kind for reference, kind in references if reference.is_internal}
    everything = {kind for _, kind in references}
    found: dict[Field, tuple[InfluenceKind, ...]] = {}
    for source in sources:
        own = _references_to(source, sources, [reference for reference, _ in references])
        kinds = {kind for reference, kind in references if reference in own}
        kinds = kinds or internal or everything or {InfluenceKind.FILTER}
        found[source] = tuple(sorted(kinds))
    return found


def _comparisons(found: Sequence[Token]) -> list[list[Token]]:
    """Split an expression at AND and OR, except at the AND of a BETWEEN."""
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
        # A numbered column next to another column: both sides of a join, or a filter on one subquery.
        return tables > 1 or any(one.is_internal != other.is_internal for one, other in pairs)
    # A column compared with itself: two tables under one name, because Hive drops the aliases.
    return any(one.parts == other.parts or one.qualifier != other.qualifier for one, other in pairs)
