"""Differences between the clauses of two queries, and the sources that their columns come from. Pure."""

from collections import Counter
from collections.abc import Iterable, Mapping

from lineage_merge.review.clauses import Clause, Query
from lineage_merge.review.qualifiers import Place


def together(queries: Iterable[Query]) -> Query:
    """Return the clauses, expressions and sources of several queries."""
    found: tuple[Counter[Clause], Counter[Clause], Counter[tuple[Clause, Place]]] = (
        Counter(),
        Counter(),
        Counter(),
    )
    sources: set[str] = set()
    for each in queries:
        found[0].update(each.clauses)
        found[1].update(each.expressions)
        found[2].update(each.placed)
        sources |= each.sources
    return Query("", found[0], expressions=found[1], placed=found[2], sources=frozenset(sources))


def difference(before: Query, after: Query) -> dict[str, tuple[list[str], list[str]]]:
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


def altered_expressions(before: Query, after: Query) -> list[tuple[Clause, str, str]]:
    """Return expressions with equal texts whose columns have other sources, as they were and are."""
    removed, added = _unmatched(before.expressions, after.expressions, before.sources, after.sources)
    found = []
    for old in removed:
        new = next((each for each in added if (each.text, each.column) == (old.text, old.column)), None)
        if new is not None:
            added.remove(new)
            found.append((old, _shown(old, [old], [new]), _shown(new, [old], [new])))
    return found


def moved(before: Query, after: Query) -> dict[str, tuple[list[str], list[str]]]:
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


def _unmatched(
    before: Mapping[Clause, int],
    after: Mapping[Clause, int],
    known: frozenset[str],
    known_after: frozenset[str],
) -> tuple[list[Clause], list[Clause]]:
    """Return the clauses that only one version has; a column without qualifier may be of any source."""
    old, new = Counter(before), Counter(after)
    removed, added = sorted((old - new).elements()), sorted((new - old).elements())
    of_key: dict[tuple[str, str, str], list[Clause]] = {}
    for each in added:
        of_key.setdefault((each.kind, each.text, each.column), []).append(each)
    left: list[Clause] = []
    for each in removed:
        candidates = of_key.get((each.kind, each.text, each.column), [])
        equal = (c for c in candidates if _are_compatible(each.sources, c.sources, known, known_after))
        match = next(equal, None)
        if match is None:
            left.append(each)
        else:
            candidates.remove(match)
    return left, sorted(each for clauses in of_key.values() for each in clauses)


def _shown(clause: Clause, removed: Iterable[Clause], added: Iterable[Clause]) -> str:
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
