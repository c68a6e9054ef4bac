"""Differences of clauses and sources between two queries, and of columns between two datasets. Pure."""

import re
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.infra.batches import gather
from lineage_merge.questions.traversal.effects import Change
from lineage_merge.review.clauses import FILTER, GROUPING, JOIN, ComparableQuery, QueryClause
from lineage_merge.review.findings import Finding, Severity, Subject
from lineage_merge.sources.dbt.columns import Column

# Removed and added clauses by kind.
ClauseDifference = dict[str, tuple[list[str], list[str]]]

_OF_INFLUENCES = {"FILTER": FILTER, "JOIN": JOIN, "GROUP_BY": GROUPING}
_CAST = re.compile(r"(?:try_)?cast\((?P<value>.*) as (?P<type>[\w ]+(?:\([\d, ]+\))?)\)", re.IGNORECASE)
# Names of a type in sources of one graph.
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "bool": "boolean"}


# ---- queries


def together(queries: Sequence[ComparableQuery]) -> ComparableQuery:
    """Return the clauses, expressions and sources of several queries."""
    return ComparableQuery(
        "",
        sum((query.clauses for query in queries), Counter()),
        expressions=sum((query.expressions for query in queries), Counter()),
        placed=sum((query.placed for query in queries), Counter()),
        sources=frozenset().union(*(query.sources for query in queries)),
    )


def difference(before: ComparableQuery, after: ComparableQuery) -> ClauseDifference:
    """Return the removed and added clauses.

    Clauses with equal texts whose columns have other sources are shown with their aliases.
    """
    differing: ClauseDifference = {}
    removed, added = _find_unmatched(before, after, before.clauses, after.clauses)
    texts = [{(clause.kind, clause.text) for clause in side} for side in (removed, added)]
    for at, side in enumerate((removed, added)):
        for clause in sorted({*side}):
            is_alike = (clause.kind, clause.text) in texts[0] & texts[1]
            text = _show(clause, removed, added) if is_alike else clause.text
            differing.setdefault(clause.kind, ([], []))[at].append(text)
    return differing


def find_altered_expressions(
    before: ComparableQuery, after: ComparableQuery
) -> list[tuple[QueryClause, str, str]]:
    """Return expressions with equal texts whose columns have other sources, as they were and are."""
    removed, added = _find_unmatched(before, after, before.expressions, after.expressions)
    altered = []
    for old in removed:
        new = next((clause for clause in added if _key(clause) == _key(old)), None)
        if new is not None:
            added.remove(new)
            altered.append((old, _show(old, [old], [new]), _show(new, [old], [new])))
    return altered


def find_moved_clauses(before: ComparableQuery, after: ComparableQuery) -> ClauseDifference:
    """Return clauses that apply to other sources of the query than before.

    Nothing if the queries read different sources: these differences are others.
    """
    if before.sources != after.sources:
        return {}
    places = [
        Counter({(c.kind, c.text, place.path): n for (c, place), n in query.placed.items()})
        for query in (before, after)
    ]
    differing: ClauseDifference = {}
    for at, query in enumerate((before, after)):
        for kind, text, path in sorted(places[at] - places[1 - at]):
            names = {p.name for c, p in query.placed if (c.kind, c.text, p.path) == (kind, text, path)}
            where = min(names) or "the query itself"
            differing.setdefault(kind, ([], []))[at].append(f"{text} in {where}")
    return differing


def find_altered_influences(
    before: Mapping[str, Set[str]], after: Mapping[str, Set[str]], reported: Container[str] = ()
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield the kinds of clauses that use other columns, with the removed and added columns.

    Columns are given by transformation; `reported`: kinds of which the texts differ, too.
    """
    for transformation, kind in _OF_INFLUENCES.items():
        old, new = before.get(transformation, frozenset()), after.get(transformation, frozenset())
        if old != new and kind not in reported:
            yield kind, sorted(old - new), sorted(new - old)


def _key(clause: QueryClause) -> tuple[str, str, str]:
    return clause.kind, clause.text, clause.column


def _find_unmatched(
    before: ComparableQuery,
    after: ComparableQuery,
    old: Counter[QueryClause],
    new: Counter[QueryClause],
) -> tuple[list[QueryClause], list[QueryClause]]:
    """Return the clauses that only one version has.

    Columns without a qualifier may have any source. So may those of a source that only one version has: that
    it was replaced is another finding.
    """

    def are_compatible(was: str, now: str) -> bool:
        is_open = was == now or not was or not now
        return is_open or was.lstrip("^") not in after.sources or now.lstrip("^") not in before.sources

    candidates = gather((_key(clause), clause) for clause in sorted((new - old).elements()))
    removed: list[QueryClause] = []
    for clause in sorted((old - new).elements()):
        alike = candidates.get(_key(clause), [])
        for other in alike:
            if len(other.sources) == len(clause.sources) and all(
                map(are_compatible, clause.sources, other.sources)
            ):
                alike.remove(other)
                break
        else:
            removed.append(clause)
    return removed, sorted(chain.from_iterable(candidates.values()))


def _show(clause: QueryClause, removed: Iterable[QueryClause], added: Iterable[QueryClause]) -> str:
    """Return the text of a clause with its aliases; with its sources if other clauses are written alike."""
    before, after = (
        {other.shown for other in side if other.kind == clause.kind} for side in (removed, added)
    )
    if clause.shown not in before & after:
        return clause.shown
    return f"{clause.shown} of {', '.join(dict.fromkeys(filter(None, clause.sources)))}"


# ---- columns


class ColumnInput(NamedTuple):
    """A column that a column is computed from, how, and by which expression (without names of tables)."""

    source: str
    column: str
    transformations: tuple[int | str, ...]
    expression: str


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a dataset by folded name, and what each is computed from."""

    named: Mapping[str, Column]
    signatures: Mapping[str, Set[ColumnInput]]
    title_of: Callable[[str], str]

    @classmethod
    def from_columns(
        cls,
        columns: Iterable[Column],
        inputs: Iterable[tuple[str, ColumnInput]],
        title_of: Callable[[str], str],
    ) -> "Columns":
        """Return the columns. `inputs`: by the name of the column; `title_of`: display name of a source."""
        signatures: dict[str, set[ColumnInput]] = {}
        for name, entry in inputs:
            signatures.setdefault(fold(name), set()).add(entry)
        return cls({fold(column.name): column for column in columns}, signatures, title_of)

    @property
    def is_complete(self) -> bool:
        """Return whether all columns are known."""
        return bool(self.named) and all(column.position is not None for column in self.named.values())

    def expression(self, key: str) -> str:
        """Return the expressions that a column is computed by."""
        expressions = {entry.expression for entry in self.signatures.get(key, ())}
        return " | ".join(sorted(expressions - {""}))

    def inputs(self, key: str) -> str:
        """Return the columns that a column is computed from."""
        entries = self.signatures.get(key, ())
        names = sorted(f"{self.title_of(entry.source)}#{entry.column}" for entry in entries)
        return ", ".join(names) or "no column"


def compare_columns(subject: Subject, old: Columns, new: Columns) -> Iterator[Finding]:
    """Yield the differences; dropped and added columns only if all columns of both versions are known."""
    if old.is_complete and new.is_complete:
        removed = [key for key in old.named if key not in new.named]
        added = [key for key in new.named if key not in old.named]
        renames = _renames(removed, added, old, new)
        for key in removed:
            name, other = old.named[key].name, renames.get(key)
            if other is None:
                yield subject.finding(
                    "column dropped", "is dropped", column=name, before=name, change=Change.DROP
                )
                continue
            column = new.named[other]
            where = "expression and position" if _have_equal_place(key, other, old, new) else "expression"
            yield subject.finding(
                "column renamed",
                f"renamed to {column.name} (a guess: same {where})",
                column=name,
                before=name,
                after=column.name,
                is_guess=True,
                change=Change.RENAME,
            )
        for key in added:
            if key not in renames.values():
                name = new.named[key].name
                yield subject.finding("column added", "is new", Severity.INFO, column=name, after=name)
    for key in sorted(old.named.keys() & new.named.keys()):
        yield from _compare_altered(subject, key, old, new)


def _have_equal_place(key: str, other: str, old: Columns, new: Columns) -> bool:
    return old.named[key].position == new.named[other].position


def _renames(removed: Sequence[str], added: Sequence[str], old: Columns, new: Columns) -> dict[str, str]:
    """Return new by old names: columns with the same expression, those at the same position first."""
    renames: dict[str, str] = {}
    for needs_position in (True, False):
        for key in removed:
            if key in renames or not old.signatures.get(key):
                continue
            equal = [
                other
                for other in added
                if other not in renames.values()
                and new.signatures.get(other) == old.signatures[key]
                and (not needs_position or _have_equal_place(key, other, old, new))
            ]
            if len(equal) == 1:
                renames[key] = equal[0]
    return renames


def _compare_altered(subject: Subject, key: str, old: Columns, new: Columns) -> Iterator[Finding]:
    name = old.named[key].name
    types = (old.named[key].data_type, new.named[key].data_type)
    before, after = old.expression(key), new.expression(key)
    is_retyped = bool(types[0] and types[1] and _plain(types[0]) != _plain(types[1]))
    is_same_value = old.signatures.get(key, set()) == new.signatures.get(key, set())
    casts = _CAST.fullmatch(before), _CAST.fullmatch(after)
    if casts[0] and casts[1] and casts[0]["value"] == casts[1]["value"]:
        is_same_value = True
        if casts[0]["type"] != casts[1]["type"] and not is_retyped:
            is_retyped, types = True, (casts[0]["type"], casts[1]["type"])
    if is_retyped:
        yield from subject.report_retyped(name, *types)
    if not is_same_value:
        inputs = old.inputs(key), new.inputs(key)
        before, after = before or inputs[0], after or inputs[1]
        if before == after:
            before, after = f"{before} of {inputs[0]}", f"{after} of {inputs[1]}"
        yield subject.report_altered("expression changed", before, after, column=name)


def _plain(data_type: str) -> str:
    lower = data_type.lower()
    return _TYPES.get(lower, lower)
