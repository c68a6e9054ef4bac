"""Differences between the clauses of two queries, and the sources that their columns come from. Pure."""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Set

from lineage_merge.review.clauses import FILTER, GROUPING, JOIN, ComparableQuery, QueryClause
from lineage_merge.review.qualifiers import SelectPlace

_OF_INFLUENCES = {"FILTER": FILTER, "JOIN": JOIN, "GROUP_BY": GROUPING}


def together(queries: Iterable[ComparableQuery]) -> ComparableQuery:
    """Return the clauses, expressions and sources of several queries."""
    found: tuple[Counter[QueryClause], Counter[QueryClause], Counter[tuple[QueryClause, SelectPlace]]] = (
        Counter(),
        Counter(),
        Counter(),
    )
    sources: set[str] = set()
    for query in queries:
        found[0].update(query.clauses)
        found[1].update(query.expressions)
        found[2].update(query.placed)
        sources |= query.sources
    return ComparableQuery("", found[0], expressions=found[1], placed=found[2], sources=frozenset(sources))


def difference(before: ComparableQuery, after: ComparableQuery) -> dict[str, tuple[list[str], list[str]]]:
    """Return the removed and added clauses by kind.

    Clauses with equal texts whose columns have other sources are shown with their aliases.
    """
    found: dict[str, tuple[list[str], list[str]]] = {}
    removed, added = _unmatched(before.clauses, after.clauses, before.sources, after.sources)
    texts = [{(each.kind, each.text) for each in side} for side in (removed, added)]
    for at, side in enumerate((removed, added)):
        for clause in sorted({*side}):
            is_alike = (clause.kind, clause.text) in texts[0] & texts[1]
            text = _shown(clause, removed, added) if is_alike else clause.text
            found.setdefault(clause.kind, ([], []))[at].append(text)
    return found


def altered_expressions(
    before: ComparableQuery, after: ComparableQuery
) -> list[tuple[QueryClause, str, str]]:
    """Return expressions with equal texts whose columns have other sources, as they were and are."""
    removed, added = _unmatched(before.expressions, after.expressions, before.sources, after.sources)
    found = []
    for old in removed:
        new = next((each for each in added if (each.text, each.column) == (old.text, old.column)), None)
        if new is not None:
            added.remove(new)
            found.append((old, _shown(old, [old], [new]), _shown(new, [old], [new])))
    return found


def moved(before: ComparableQuery, after: ComparableQuery) -> dict[str, tuple[list[str], list[str]]]:
    """Return clauses that apply to other sources of the query than before, by kind.

    Nothing if the queries read different sources: these differences are others.
    """
    if before.sources != after.sources:
        return {}
    places = [
        Counter({(c.kind, c.text, place.path): n for (c, place), n in each.placed.items()})
        for each in (before, after)
    ]
    found: dict[str, tuple[list[str], list[str]]] = {}
    for at, query in enumerate((before, after)):
        for kind, text, path in sorted(places[at] - places[1 - at]):
            names = {p.name for c, p in query.placed if (c.kind, c.text, p.path) == (kind, text, path)}
            where = min(names) or "the query itself"
            found.setdefault(kind, ([], []))[at].append(f"{text} in {where}")
    return found


def altered_influences(
    before: Mapping[str, Set[str]], after: Mapping[str, Set[str]], reported: Container[str] = ()
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the kinds of clauses that use other columns, with the removed and added columns.

    Columns are given by transformation; `reported`: kinds of which the texts differ, too.
    """
    for transformation, kind in _OF_INFLUENCES.items():
        old, new = before.get(transformation, frozenset()), after.get(transformation, frozenset())
        if old != new and kind not in reported:
            yield kind, sorted(old - new), sorted(new - old)


def _unmatched(
    before: Mapping[QueryClause, int],
    after: Mapping[QueryClause, int],
    known: frozenset[str],
    known_after: frozenset[str],
) -> tuple[list[QueryClause], list[QueryClause]]:
    """Return the clauses that only one version has; a column without qualifier may be of any source."""
    old, new = Counter(before), Counter(after)
    removed, added = sorted((old - new).elements()), sorted((new - old).elements())
    of_key: dict[tuple[str, str, str], list[QueryClause]] = {}
    for each in added:
        of_key.setdefault((each.kind, each.text, each.column), []).append(each)
    left: list[QueryClause] = []
    for each in removed:
        candidates = of_key.get((each.kind, each.text, each.column), [])
        equal = (c for c in candidates if _are_compatible(each.sources, c.sources, known, known_after))
        match = next(equal, None)
        if match is None:
            left.append(each)
        else:
            candidates.remove(match)
    return left, sorted(clause for clauses in of_key.values() for clause in clauses)


def _shown(clause: QueryClause, removed: Iterable[QueryClause], added: Iterable[QueryClause]) -> str:
    """Return the text of a clause with its aliases; with its sources if other clauses are written alike."""
    before, after = ({each.shown for each in side if each.kind == clause.kind} for side in (removed, added))
    if clause.shown not in before & after:
        return clause.shown
    return f"{clause.shown} of {', '.join(dict.fromkeys(filter(None, clause.sources)))}"


def _are_compatible(
    old: tuple[str, ...], new: tuple[str, ...], known_before: frozenset[str], known_after: frozenset[str]
) -> bool:
    """Return whether columns may have the same sources.

    Columns without a qualifier may have any. So may those of a source that only one version has: that it
    was replaced is another finding.
    """
    if len(old) != len(new):
        return False
    for was, now in zip(old, new, strict=True):
        if was == now or not was or not now:
            continue
        if was.lstrip("^") in known_after and now.lstrip("^") in known_before:
            return False
    return True
