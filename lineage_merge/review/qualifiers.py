"""Sources of the columns in a query, independent of aliases: relations with their number of occurrence. Pure.

Needs sqlglot. A CTE or subquery is named by the relations that it reads.
"""

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from lineage_merge.review.relations import Relations

_SYMMETRIC = (exp.EQ, exp.NEQ, exp.NullSafeEQ)
_QUERIES = (exp.Select, exp.SetOperation, exp.Subquery)
# Where a filter below them differs from one above them.
_BARRIERS = ("group", "having", "qualify", "limit")


class SelectPlace(NamedTuple):
    """Where a SELECT is in a statement: the joined sources that contain it, and its CTE or alias."""

    path: tuple[str, ...]
    name: str


class Qualifiers:
    """Sources of a statement. Its tree must not change meanwhile."""

    def __init__(self, tree: exp.Expr, relations: Relations) -> None:
        self._tree = tree
        self._relations = relations
        self._scopes: dict[int, dict[str, str]] = {}

    def all(self) -> frozenset[str]:
        """Return the sources of all SELECTs."""
        selects = self._tree.find_all(exp.Select)
        return frozenset(each for select in selects for each in self._scope(select).values())

    def of(self, node: exp.Expr) -> tuple[str, ...]:
        """Return the source of each column below a node; "" where it is not written or not known.

        The sides of an equation of columns with one name are sorted.
        """
        found: list[str] = []
        places: dict[int, int] = {}
        pairs: list[tuple[int, int]] = []
        for each in node.dfs():
            if isinstance(each, exp.Column):
                places[id(each)] = len(found)
                found.append(self._of_column(each))
            elif isinstance(each, _SYMMETRIC):
                left, right = each.this, each.expression
                if (
                    isinstance(left, exp.Column)
                    and isinstance(right, exp.Column)
                    and left.name.lower() == right.name.lower()
                ):
                    pairs.append((id(left), id(right)))
        for left_id, right_id in pairs:
            at, other = places[left_id], places[right_id]
            found[at], found[other] = sorted((found[at], found[other]))
        return tuple(found)

    def is_ambiguous(self, column: exp.Column) -> bool:
        """Return whether the SELECT of a column reads a relation more than once."""
        select = column.find_ancestor(exp.Select)
        return isinstance(select, exp.Select) and any("#" in each for each in self._scope(select).values())

    def places(self) -> Iterator[tuple[exp.Select, SelectPlace]]:
        """Yield the SELECTs from which the statement's rows come, each once."""
        root = self._tree if isinstance(self._tree, _QUERIES) else self._tree.find(*_QUERIES)
        if root is not None:
            yield from self._places(root, SelectPlace((), ""), set())

    def _places(
        self, node: exp.Expr, place: SelectPlace, seen: set[int]
    ) -> Iterator[tuple[exp.Select, SelectPlace]]:
        if isinstance(node, exp.Table):
            cte = self._relations.cte_of(node)
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
                    path = (*path, "+".join(sorted(self._relations.below(branch))))
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

    def _of_column(self, column: exp.Column) -> str:
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
        known = self._scopes.get(id(select))
        if known is not None:
            return known
        scope: dict[str, str] = {}
        numbers: dict[str, int] = {}
        first = _first(select)
        joined = [join.this for join in select.args.get("joins") or ()]
        for source in [first, *joined] if first is not None else joined:
            if isinstance(source, exp.Table | exp.TableFromRows | exp.Subquery):
                relations = "+".join(sorted(self._relations.below(source)))
                number = numbers[relations] = numbers.get(relations, 0) + 1
                scope[_alias(source)] = relations if number == 1 else f"{relations}#{number}"
        self._scopes[id(select)] = scope
        return scope


def _first(select: exp.Select) -> exp.Expr | None:
    clause = select.args.get("from_") or select.args.get("from")
    found = clause.this if isinstance(clause, exp.From) else None
    return found if isinstance(found, exp.Expr) else None


def _alias(source: exp.Expr) -> str:
    name = source.alias or (source.name if isinstance(source, exp.Table) else "")
    return name.lower()
