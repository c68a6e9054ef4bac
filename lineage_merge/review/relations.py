"""Relations that a query reads, in place of the CTEs between, and texts without layout and aliases. Pure.

Needs sqlglot.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import Dialect, ErrorLevel, exp

from lineage_merge.column_lineage.sql.names import is_recursive

_QUOTED = re.compile(r"""["`]([A-Za-z_]\w*)["`]""")
_QUALIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]\w*\.(?=[A-Za-z_\"`*])")


class _Sources(NamedTuple):
    """What a query reads by itself."""

    relations: frozenset[str]
    ctes: tuple[exp.CTE, ...]


class Relations:
    """Relations of a statement. Its tree must not change between calls of `below`."""

    def __init__(self, dialect: Dialect) -> None:
        self._dialect = dialect
        self._platform = type(dialect).__name__.lower()
        self._read: dict[int, _Sources] = {}

    def below(self, node: exp.Expr) -> frozenset[str]:
        """Return the relations that a source or query reads, also through CTEs."""
        found: set[str] = set()
        seen: set[int] = set()
        waiting = [node]
        while waiting:
            read = self._read_by(waiting.pop())
            found |= read.relations
            for cte in read.ctes:
                if id(cte) not in seen:
                    seen.add(id(cte))
                    waiting.append(cte.this)
        return frozenset(found)

    def cte_of(self, table: exp.Expr) -> exp.CTE | None:
        """Return the CTE that a name in FROM means, None for a relation.

        In the query of a CTE that is not recursive, its own name means a table.
        """
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            return None
        name = table.name.lower()
        return next((each for each in self._visible_from(table) if each.alias.lower() == name), None)

    def _visible_from(self, node: exp.Expr) -> Iterator[exp.CTE]:
        """Yield the CTEs that a place in a statement may name, the innermost first."""
        inside: exp.CTE | None = None
        passed: exp.With | None = None
        place = node.parent
        while place is not None:
            if isinstance(place, exp.CTE):
                inside = place
            elif isinstance(place, exp.With):
                passed = place
            elif isinstance(clause := place.args.get("with_"), exp.With):
                yield from self._visible_in(clause, inside if clause is passed else None)
            place = place.parent

    def _visible_in(self, clause: exp.With, inside: exp.CTE | None) -> Iterator[exp.CTE]:
        """Yield the CTEs that the query of `inside`, one of the clause, may name; None: the statement.

        The CTEs after it only with RECURSIVE.
        """
        for cte in clause.expressions:
            if inside is None or cte is not inside:
                yield cte
                continue
            if is_recursive(clause, self._platform) and isinstance(inside.this, exp.SetOperation):
                yield inside
            if not clause.args.get("recursive"):
                return

    def _read_by(self, node: exp.Expr) -> _Sources:
        known = self._read.get(id(node))
        if known is None:
            relations: set[str] = set()
            ctes: list[exp.CTE] = []
            for source in node.find_all(exp.Table, exp.TableFromRows):
                cte = self.cte_of(source)
                if cte is not None:
                    ctes.append(cte)
                elif name := self.name_of(source):
                    relations.add(name)
            known = self._read[id(node)] = _Sources(frozenset(relations), tuple(ctes))
        return known

    def name_of(self, source: exp.Expr) -> str:
        """Return the name of a table in lower case; of a table function its call without aliases."""
        parts = source.parts if isinstance(source, exp.Table) else [source.this]
        *qualifiers, last = parts or [None]
        if last is None:  # ROWS FROM (f(1), g(2)): these are tables below
            return ""
        is_call = isinstance(last, exp.Func)
        names = [qualifier.name.lower() for qualifier in qualifiers if qualifier is not None]
        return ".".join([*names, text_of(last, self._dialect) if is_call else last.name.lower()])


def without_qualifiers(text: str) -> str:
    """Return an expression without names of tables and quotes of names, in lower case outside literals."""
    return plain(text, is_qualified=False)


def plain(text: str, *, is_qualified: bool) -> str:
    """Return an expression without quotes of names, in lower case; `is_qualified`: with names of tables."""
    parts = re.split(r"('(?:[^']|'')*')", text)
    unquoted = ((_QUOTED.sub(r"\1", each) if number % 2 == 0 else each) for number, each in enumerate(parts))
    return "".join(
        each if number % 2 else (each if is_qualified else _QUALIFIER.sub("", each)).lower()
        for number, each in enumerate(unquoted)
    )


def text_of(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression without names of tables."""
    return without_qualifiers(written(node, dialect))


def written(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression on one line, without comments."""
    text = node.sql(
        dialect=dialect,
        comments=False,
        normalize_functions="lower",
        unsupported_level=ErrorLevel.IGNORE,
    )
    return " ".join(text.split())
