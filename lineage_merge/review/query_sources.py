"""What a query reads: its relations and the sources of its columns, independent of CTEs and aliases. Pure.

Needs sqlglot. A CTE or subquery is named by the relations that it reads; texts have no layout.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import Dialect, ErrorLevel, exp

from lineage_merge.column_lineage.sql.names import is_recursive
from lineage_merge.column_lineage.sql.platforms import platform_of

_QUOTED = re.compile(r"""["`]([A-Za-z_]\w*)["`]""")
_QUALIFIER = re.compile(r"(?<![\w.'])[A-Za-z_]\w*\.(?=[A-Za-z_\"`*])")
_SYMMETRIC = (exp.EQ, exp.NEQ, exp.NullSafeEQ)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
# Where a filter below them differs from one above them.
_BARRIERS = ("group", "having", "qualify", "limit")


class SelectPlace(NamedTuple):
    """Where a SELECT is in a statement: the joined sources that contain it, and its CTE or alias."""

    path: tuple[str, ...]
    name: str


class QuerySources:
    """The sources of a statement: relations, with their number if they are read several times.

    Its tree must not change between calls, except of `cte_of`.
    """

    def __init__(self, tree: exp.Expr, dialect: Dialect) -> None:
        self._tree = tree
        self.dialect = dialect
        self._platform = platform_of(dialect)
        self._read: dict[int, tuple[frozenset[str], tuple[exp.CTE, ...]]] = {}
        self._scopes: dict[int, dict[str, str]] = {}

    def find_below(self, node: exp.Expr) -> frozenset[str]:
        """Return the relations that a source or query reads, also through CTEs."""
        below: set[str] = set()
        seen: set[int] = set()
        waiting = [node]
        while waiting:
            relations, ctes = self._read_by(waiting.pop())
            below |= relations
            waiting += (cte.this for cte in ctes if id(cte) not in seen)
            seen.update(map(id, ctes))
        return frozenset(below)

    def name_below(self, node: exp.Expr) -> str:
        """Return a name of all relations that a source or query reads."""
        return "+".join(sorted(self.find_below(node)))

    def cte_of(self, table: exp.Expr) -> exp.CTE | None:
        """Return the CTE that a name in FROM means, None for a relation.

        In the query of a CTE that is not recursive, its own name means a table.
        """
        if not isinstance(table.this, exp.Identifier) or table.args.get("db"):
            return None
        name = table.name.lower()
        return next((cte for cte in self._visible_from(table) if cte.alias.lower() == name), None)

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

    def _read_by(self, node: exp.Expr) -> tuple[frozenset[str], tuple[exp.CTE, ...]]:
        """Return the relations and CTEs that a source or query reads itself."""
        if id(node) not in self._read:
            relations: set[str] = set()
            ctes: list[exp.CTE] = []
            for source in node.find_all(exp.Table, exp.TableFromRows):
                if (cte := self.cte_of(source)) is not None:
                    ctes.append(cte)
                elif name := self._name_of(source):
                    relations.add(name)
            self._read[id(node)] = frozenset(relations), tuple(ctes)
        return self._read[id(node)]

    def _name_of(self, source: exp.Expr) -> str:
        """Return the name of a table in lower case; of a table function its call without aliases."""
        parts = source.parts if isinstance(source, exp.Table) else [source.this]
        *qualifiers, last = parts or [None]
        if last is None:  # ROWS FROM (f(1), g(2)): these are tables below
            return ""
        is_call = isinstance(last, exp.Func)
        names = [qualifier.name.lower() for qualifier in qualifiers if qualifier is not None]
        return ".".join([*names, text_of(last, self.dialect) if is_call else last.name.lower()])

    def all(self) -> frozenset[str]:
        """Return the sources of all SELECTs."""
        selects = self._tree.find_all(exp.Select)
        return frozenset(source for select in selects for source in self._scope(select).values())

    def list_column_sources(self, node: exp.Expr) -> tuple[str, ...]:
        """Return the source of each column below a node; "" where it is not written or not known.

        The sides of an equation of columns with one name are sorted.
        """
        sources: list[str] = []
        places: dict[int, int] = {}
        pairs: list[tuple[int, int]] = []
        for part in node.dfs():
            if isinstance(part, exp.Column):
                places[id(part)] = len(sources)
                sources.append(self._find_source(part))
            elif isinstance(part, _SYMMETRIC):
                sides = part.this, part.expression
                is_columns = all(isinstance(side, exp.Column) for side in sides)
                if is_columns and sides[0].name.lower() == sides[1].name.lower():
                    pairs.append((id(sides[0]), id(sides[1])))
        for left, right in pairs:
            at, other = places[left], places[right]
            sources[at], sources[other] = sorted((sources[at], sources[other]))
        return tuple(sources)

    def is_ambiguous(self, column: exp.Column) -> bool:
        """Return whether the SELECT of a column reads a relation more than once."""
        select = column.find_ancestor(exp.Select)
        return isinstance(select, exp.Select) and "#" in "".join(self._scope(select).values())

    def places(self) -> Iterator[tuple[exp.Select, SelectPlace]]:
        """Yield the SELECTs from which the statement's rows come, each once."""
        root = self._tree if isinstance(self._tree, _QUERIES) else self._tree.find(*_QUERIES)
        if root is not None:
            yield from self._places(root, SelectPlace((), ""), set())

    def _places(
        self, node: exp.Expr, place: SelectPlace, seen: set[int]
    ) -> Iterator[tuple[exp.Select, SelectPlace]]:
        if isinstance(node, exp.Table):
            cte = self.cte_of(node)
            if cte is not None and id(cte) not in seen:
                seen.add(id(cte))
                yield from self._places(cte.this, SelectPlace(place.path, cte.alias.lower()), seen)
        elif isinstance(node, exp.Subquery):
            yield from self._places(
                node.this, SelectPlace(place.path, node.alias.lower() or place.name), seen
            )
        elif isinstance(node, exp.SetOperation):
            for branch in (node.this, node.expression):
                path = place.path
                if not isinstance(branch.unnest(), exp.SetOperation):
                    path = (*path, self.name_below(branch))
                yield from self._places(branch, SelectPlace(path, place.name), seen)
        elif isinstance(node, exp.Select):
            joins = node.args.get("joins") or ()
            scope = self._scope(node)
            if any(node.args.get(barrier) for barrier in _BARRIERS) or any(
                expression.find(exp.AggFunc, exp.Window) for expression in node.expressions
            ):
                place = SelectPlace((*place.path, ""), place.name)
            yield node, place
            is_outer = any((join.side or "").upper() in ("RIGHT", "FULL") for join in joins)
            first = _first(node)
            if first is not None:
                path = (*place.path, "") if is_outer else place.path
                yield from self._places(first, SelectPlace(path, place.name), seen)
            for join in joins:
                of_join = scope.get(_alias(join.this), "")
                yield from self._places(join.this, SelectPlace((*place.path, of_join), place.name), seen)

    def _find_source(self, column: exp.Column) -> str:
        alias = column.table.lower()
        if not alias:
            return ""
        levels = 0
        select = column.find_ancestor(exp.Select)
        while isinstance(select, exp.Select):
            source = self._scope(select).get(alias)
            if source is not None:
                return "^" * levels + source
            levels += 1
            select = select.find_ancestor(exp.Select)
        return ""

    def _scope(self, select: exp.Select) -> dict[str, str]:
        """Return the sources of a SELECT by alias; the second of the same relations ends with ``#2``."""
        if id(select) in self._scopes:
            return self._scopes[id(select)]
        scope: dict[str, str] = {}
        numbers: Counter[str] = Counter()
        for source in (_first(select), *(join.this for join in select.args.get("joins") or ())):
            if isinstance(source, exp.Table | exp.TableFromRows | exp.Subquery):
                relations = self.name_below(source)
                numbers[relations] += 1
                number = numbers[relations]
                scope[_alias(source)] = relations if number == 1 else f"{relations}#{number}"
        self._scopes[id(select)] = scope
        return scope


def _first(select: exp.Select) -> exp.Expr | None:
    clause = select.args.get("from_") or select.args.get("from")
    source = clause.this if isinstance(clause, exp.From) else None
    return source if isinstance(source, exp.Expr) else None


def _alias(source: exp.Expr) -> str:
    name = source.alias or (source.name if isinstance(source, exp.Table) else "")
    return name.lower()


def remove_qualifiers(text: str) -> str:
    """Return an expression without names of tables and quotes of names, in lower case outside literals."""
    return plain(text, is_qualified=False)


def plain(text: str, *, is_qualified: bool) -> str:
    """Return an expression without quotes of names, in lower case; `is_qualified`: with names of tables."""

    def clean(outside: str) -> str:
        outside = _QUOTED.sub(r"\1", outside)
        return (outside if is_qualified else _QUALIFIER.sub("", outside)).lower()

    parts = re.split(r"('(?:[^']|'')*')", text)
    return "".join(part if number % 2 else clean(part) for number, part in enumerate(parts))


def text_of(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression without names of tables."""
    return remove_qualifiers(write_expression(node, dialect))


def write_expression(node: exp.Expr, dialect: Dialect) -> str:
    """Return the text of an expression on one line, without comments."""
    text = node.sql(
        dialect=dialect,
        comments=False,
        normalize_functions="lower",
        unsupported_level=ErrorLevel.IGNORE,
    )
    return " ".join(text.split())
