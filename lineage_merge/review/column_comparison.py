"""Comparison of the columns of a dataset: dropped, renamed, added and retyped ones, and expressions. Pure."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from lineage_merge.column_lineage.sql.tables import fold
from lineage_merge.questions.effects import Change
from lineage_merge.review.findings import Finding, Severity
from lineage_merge.sources.dbt.columns import Column

_CAST = re.compile(r"(?:try_)?cast\((?P<value>.*) as (?P<type>[\w ]+(?:\([\d, ]+\))?)\)", re.IGNORECASE)
# Names of a type in sources of one graph.
_TYPES = {"integer": "int", "long": "bigint", "short": "smallint", "byte": "tinyint", "bool": "boolean"}


class ColumnInput(NamedTuple):
    """A column that a column is computed from, how, and by which expression (without names of tables)."""

    source: str
    column: str
    transformations: tuple[int | str, ...]
    expression: str


_Signature = frozenset[ColumnInput]
_NOTHING: _Signature = frozenset()
# Creates a finding of a kind, on a column, with a message.
FindingOfColumn = Callable[[str, str, str], Finding]


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a dataset by folded name, and what each is computed from."""

    named: Mapping[str, Column]
    signatures: Mapping[str, _Signature]
    title_of: Callable[[str], str]

    @classmethod
    def of(
        cls,
        columns: Iterable[Column],
        inputs: Iterable[tuple[str, ColumnInput]],
        title_of: Callable[[str], str],
    ) -> "Columns":
        """Return the columns. `inputs`: by the name of the column; `title_of`: display name of a source."""
        found: dict[str, set[ColumnInput]] = {}
        for name, each in inputs:
            found.setdefault(fold(name), set()).add(each)
        signatures = {key: frozenset(entries) for key, entries in found.items()}
        return cls({fold(column.name): column for column in columns}, signatures, title_of)

    @property
    def is_complete(self) -> bool:
        """Return whether all columns are known."""
        return bool(self.named) and all(each.position is not None for each in self.named.values())


def compare_columns(of_column: FindingOfColumn, old: Columns, new: Columns) -> Iterator[Finding]:
    """Yield the differences; dropped and added columns only if all columns of both versions are known."""
    if old.is_complete and new.is_complete:
        removed = [key for key in old.named if key not in new.named]
        added = [key for key in new.named if key not in old.named]
        renames = _renames(removed, added, old, new)
        yield from _removed(of_column, removed, renames, old, new)
        for key in added:
            if key not in renames.values():
                name = new.named[key].name
                found = of_column("column added", name, "is new")
                yield replace(found, severity=Severity.INFO, after=name)
    for key in sorted(old.named.keys() & new.named.keys()):
        yield from _altered(of_column, key, old, new)


def _renames(removed: Sequence[str], added: Sequence[str], old: Columns, new: Columns) -> dict[str, str]:
    """Return new by old names: columns with the same expression, those at the same position first."""
    renames: dict[str, str] = {}
    for needs_position in (True, False):
        for key in removed:
            if key in renames or not old.signatures.get(key):
                continue
            equal = [
                each
                for each in added
                if each not in renames.values() and new.signatures.get(each) == old.signatures[key]
            ]
            if needs_position:
                equal = [each for each in equal if old.named[key].position == new.named[each].position]
            if len(equal) == 1:
                renames[key] = equal[0]
    return renames


def _removed(
    of_column: FindingOfColumn, removed: Iterable[str], renames: Mapping[str, str], old: Columns, new: Columns
) -> Iterator[Finding]:
    for key in removed:
        column = old.named[key]
        if key not in renames:
            found = of_column("column dropped", column.name, "is dropped")
            yield replace(found, before=column.name, change=Change.DROP)
            continue
        other = new.named[renames[key]]
        where = "expression and position" if other.position == column.position else "expression"
        message = f"renamed to {other.name} (a guess: same {where})"
        found = of_column("column renamed", column.name, message)
        yield replace(found, before=column.name, after=other.name, is_guess=True, change=Change.RENAME)


def _altered(of_column: FindingOfColumn, key: str, old: Columns, new: Columns) -> Iterator[Finding]:
    was, now = old.signatures.get(key, _NOTHING), new.signatures.get(key, _NOTHING)
    types = (old.named[key].data_type, new.named[key].data_type)
    before, after = _expression(was), _expression(now)
    is_retyped = bool(types[0] and types[1] and _plain(types[0]) != _plain(types[1]))
    same_value = was == now
    casts = _CAST.fullmatch(before), _CAST.fullmatch(after)
    if casts[0] and casts[1] and casts[0]["value"] == casts[1]["value"]:
        same_value = True
        if casts[0]["type"] != casts[1]["type"] and not is_retyped:
            is_retyped, types = True, (casts[0]["type"], casts[1]["type"])
    name = old.named[key].name
    if is_retyped:
        found = of_column("type changed", name, f"was {types[0]}, is {types[1]}")
        yield replace(found, before=types[0], after=types[1], change=Change.RETYPE)
    if not same_value:
        inputs = _inputs(was, old.title_of), _inputs(now, new.title_of)
        before, after = before or inputs[0], after or inputs[1]
        if before == after:
            before, after = f"{before} of {inputs[0]}", f"{after} of {inputs[1]}"
        found = of_column("expression changed", name, f"was {before}, is {after}")
        yield replace(found, before=before, after=after)


def _plain(data_type: str) -> str:
    lower = data_type.lower()
    return _TYPES.get(lower, lower)


def _expression(signature: _Signature) -> str:
    return " | ".join(sorted({each.expression for each in signature if each.expression}))


def _inputs(signature: _Signature, title_of: Callable[[str], str]) -> str:
    found = sorted(f"{title_of(each.source)}#{each.column}" for each in signature)
    return ", ".join(found) or "no column"
