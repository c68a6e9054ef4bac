"""Differences of the columns and queries of one dbt model between two versions. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.column_lineage.transformations import ColumnFlow
from lineage_merge.query.effects import Change
from lineage_merge.query.elements import title_of_id
from lineage_merge.query.review import clauses
from lineage_merge.query.review.clauses import Query, without_qualifiers
from lineage_merge.query.review.dbt_versions import DbtVersion
from lineage_merge.query.review.findings import Finding, Severity
from lineage_merge.sources.dbt.columns import Column, ColumnLineage
from lineage_merge.sources.dbt.nodes import Node

_NO_COLUMNS = ColumnLineage()
_CAST = re.compile(r"(?:try_)?cast\((?P<value>.*) as (?P<type>[\w ]+(?:\([\d, ]+\))?)\)", re.IGNORECASE)
_CLAUSES = {"FILTER": clauses.FILTER, "JOIN": clauses.JOIN, "GROUP_BY": clauses.GROUPING}

# What a column is computed from: source, column, transformations, expression without qualifiers.
_Signature = frozenset[tuple[str, str, tuple[int, ...], str]]


@dataclass(frozen=True, slots=True)
class Pair:
    """An entry in both versions, with its queries, and new by old unique id of renamed entries."""

    before: DbtVersion
    after: DbtVersion
    old: Node
    new: Node
    old_query: Query
    new_query: Query
    renamed: Mapping[str, str]

    @property
    def title(self) -> str:
        """The name of the dataset before the change."""
        dataset = self.before.datasets.get(self.old.unique_id, "")
        return title_of_id(dataset) if dataset else self.old.name

    def finding(self, kind: str, message: str, severity: Severity = Severity.CHANGED) -> Finding:
        """Return a finding on the dataset."""
        return Finding(
            kind,
            self.title,
            self.new.unique_id,
            message,
            severity,
            dataset=self.before.datasets.get(self.old.unique_id, ""),
            file_path=self.new.metadata.properties.get("file_path", ""),
        )

    def of_column(self, kind: str, column: str, message: str) -> Finding:
        """Return a finding on a column."""
        found = self.finding(kind, message)
        return replace(found, title=f"{self.title}#{column}", column=column)


def columns_of(version: DbtVersion, node: Node) -> tuple[Column, ...]:
    """Return the known columns of an entry."""
    return version.columns.get(node.unique_id, _NO_COLUMNS).columns


def column_findings(pair: Pair) -> tuple[list[Finding], list[str]]:
    """Return the differences of columns, and a note if they are not known in both versions."""
    old = {fold(each.name): each for each in columns_of(pair.before, pair.old)}
    new = {fold(each.name): each for each in columns_of(pair.after, pair.new)}
    was = _signatures(pair.before.columns.get(pair.old.unique_id, _NO_COLUMNS).flows, pair.renamed)
    now = _signatures(pair.after.columns.get(pair.new.unique_id, _NO_COLUMNS).flows, {})
    found: list[Finding] = []
    notes: list[str] = []
    if _is_complete(old.values()) and _is_complete(new.values()):
        removed = [key for key in old if key not in new]
        added = [key for key in new if key not in old]
        renames = _renames(removed, added, old, new, was, now)
        found += _removed(pair, removed, renames, old, new)
        found += (
            replace(
                pair.of_column("column added", new[key].name, "is new"),
                severity=Severity.INFO,
                after=new[key].name,
            )
            for key in added
            if key not in renames.values()
        )
    elif old:
        notes.append(f"{pair.new.unique_id}: its columns are not all known: dropped ones are not reported")
    for key in sorted(old.keys() & new.keys()):
        found += _altered(pair, old[key], new[key], was.get(key, frozenset()), now.get(key, frozenset()))
    return found, notes


def _is_complete(columns: Iterable[Column]) -> bool:
    found = list(columns)
    return bool(found) and all(each.position is not None for each in found)


def _signatures(flows: Sequence[ColumnFlow[str]], renamed: Mapping[str, str]) -> dict[str, _Signature]:
    found: dict[str, set[tuple[str, str, tuple[int, ...], str]]] = {}
    for each in flows:
        how = tuple(int(step) for step in each.transformations)
        text = without_qualifiers(each.expression)
        entry = (renamed.get(each.source, each.source), fold(each.column), how, text)
        found.setdefault(fold(each.target_column), set()).add(entry)
    return {key: frozenset(entries) for key, entries in found.items()}


def _renames(
    removed: Sequence[str],
    added: Sequence[str],
    old: Mapping[str, Column],
    new: Mapping[str, Column],
    was: Mapping[str, _Signature],
    now: Mapping[str, _Signature],
) -> dict[str, str]:
    """Return new by old names: columns with the same expression, those at the same position first."""
    found: dict[str, str] = {}
    for needs_position in (True, False):
        for key in removed:
            if key in found or not was.get(key):
                continue
            equal = [each for each in added if each not in found.values() and now.get(each) == was[key]]
            if needs_position:
                equal = [each for each in equal if old[key].position == new[each].position]
            if len(equal) == 1:
                found[key] = equal[0]
    return found


def _removed(
    pair: Pair,
    removed: Iterable[str],
    renames: Mapping[str, str],
    old: Mapping[str, Column],
    new: Mapping[str, Column],
) -> Iterator[Finding]:
    for key in removed:
        column = old[key]
        if key not in renames:
            found = pair.of_column("column dropped", column.name, "is dropped")
            yield replace(found, before=column.name, change=Change.DROP)
            continue
        other = new[renames[key]]
        where = "expression and position" if other.position == column.position else "expression"
        message = f"renamed to {other.name} (a guess: same {where})"
        found = pair.of_column("column renamed", column.name, message)
        yield replace(found, before=column.name, after=other.name, is_guess=True, change=Change.RENAME)


def _altered(pair: Pair, old: Column, new: Column, was: _Signature, now: _Signature) -> Iterator[Finding]:
    before, after = _expression(was), _expression(now)
    is_retyped = bool(old.data_type and new.data_type and old.data_type.lower() != new.data_type.lower())
    types = (old.data_type, new.data_type)
    same_value = was == now
    casts = _CAST.fullmatch(before), _CAST.fullmatch(after)
    if casts[0] and casts[1] and casts[0]["value"] == casts[1]["value"]:
        same_value = True
        if casts[0]["type"] != casts[1]["type"] and not is_retyped:
            is_retyped, types = True, (casts[0]["type"], casts[1]["type"])
    if is_retyped:
        found = pair.of_column("type changed", old.name, f"was {types[0]}, is {types[1]}")
        yield replace(found, before=types[0], after=types[1], change=Change.RETYPE)
    if not same_value:
        before, after = before or _inputs(was), after or _inputs(now)
        if before == after:
            before, after = f"{before} of {_inputs(was)}", f"{after} of {_inputs(now)}"
        found = pair.of_column("expression changed", old.name, f"was {before}, is {after}")
        yield replace(found, before=before, after=after)


def _expression(signature: _Signature) -> str:
    return " | ".join(sorted({text for _, _, _, text in signature if text}))


def _inputs(signature: _Signature) -> str:
    found = sorted(
        f"{'.'.join(source.split('.')[2:]) or source}#{column}" for source, column, _, _ in signature
    )
    return ", ".join(found) or "no column"


def query_findings(pair: Pair, of_columns: Sequence[Finding]) -> Iterator[Finding]:
    """Yield changed filters, joins and grouping; or that something else of the query did."""
    found: list[Finding] = []
    changed = clauses.difference(pair.old_query, pair.new_query)
    for kind, (removed, added) in changed.items():
        found.append(_clause(pair, kind, removed, added))
    found += _influences(pair, changed.keys())
    yield from found
    is_same = pair.old_query.rest == pair.new_query.rest
    if not found and not of_columns and not is_same:
        yield pair.finding("query changed", "the SQL differs; its columns, filters and joins do not")


def _clause(pair: Pair, kind: str, removed: Sequence[str], added: Sequence[str]) -> Finding:
    before, after = " and ".join(removed), " and ".join(added)
    message = f"was {before or 'none'}, is {after or 'none'}"
    return replace(pair.finding(f"{kind} changed", message), before=before, after=after)


def _influences(pair: Pair, reported: Iterable[str]) -> Iterator[Finding]:
    """Yield clauses with equal texts that use columns of other relations."""
    known = set(reported)
    versions: tuple[tuple[DbtVersion, Node, Mapping[str, str]], ...] = (
        (pair.before, pair.old, pair.renamed),
        (pair.after, pair.new, {}),
    )
    used: list[dict[str, set[str]]] = []
    for version, node, renamed in versions:
        of_kind: dict[str, set[str]] = {}
        for each in version.columns.get(node.unique_id, _NO_COLUMNS).influences:
            source = renamed.get(each.source, each.source)
            for kind in each.kinds:
                name = f"{'.'.join(source.split('.')[2:]) or source}#{fold(each.column)}"
                of_kind.setdefault(kind.value, set()).add(name)
        used.append(of_kind)
    for kind_name, clause in _CLAUSES.items():
        was, now = used[0].get(kind_name, set()), used[1].get(kind_name, set())
        if was != now and clause not in known:
            yield _clause(pair, clause, sorted(was - now), sorted(now - was))
