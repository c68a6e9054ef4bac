"""Influences of the clauses of a SELECT: WHERE, GROUP BY, ORDER BY and others."""

from sqlglot import exp

from lineage_merge.column_lineage.sql.derivation import influences_of
from lineage_merge.column_lineage.sql.scope import Item, Named, Scope
from lineage_merge.column_lineage.sql.values import Values
from lineage_merge.column_lineage.transformations import InfluenceKind


class Clauses:
    """Reads the clauses of the SELECTs of one model or statement."""

    def __init__(self, values: Values) -> None:
        self._values = values

    def read(self, query: exp.Select, scope: Scope, items: list[Item]) -> None:
        """Add the influences of WHERE, GROUP BY, ORDER BY to `scope`. `items`: the SELECT's columns."""
        args = query.args
        influence = self._values.influence
        connect = args.get("connect")
        filters = [args.get("prewhere"), args.get("where"), args.get("having"), args.get("qualify")]
        if connect is not None:
            filters += [connect.args.get("start"), connect.args.get("connect")]
        influence(filters, scope, InfluenceKind.FILTER)
        distinct = args.get("distinct")
        if distinct is not None:
            influence([distinct.args.get("on")], scope, InfluenceKind.GROUP_BY)
        group = args.get("group")
        if group is not None:
            self._group(query, group, scope, items)
        for key in ("order", "sort", "cluster"):
            order = args.get(key)
            if order is not None:
                scope.aliases_first = True
                self.order(order, scope, items)

    def _group(self, query: exp.Select, group: exp.Group, scope: Scope, items: list[Item]) -> None:
        parts: list[exp.Expr | None] = []
        if group.args.get("all"):
            parts += [part for part in query.selects if not part.is_star and not part.find(exp.AggFunc)]
        for part in group.expressions:
            if not self._ordinal(part, scope, items, InfluenceKind.GROUP_BY):
                parts.append(part)
        for key in ("grouping_sets", "cube", "rollup"):
            found = group.args.get(key)
            parts += [part for part in found if isinstance(part, exp.Expr)] if isinstance(found, list) else []
        self._values.influence(parts, scope, InfluenceKind.GROUP_BY)

    def order(self, order: exp.Expr, scope: Scope, items: list[Item]) -> None:
        """Add the influences of an ORDER BY to `scope`."""
        for ordered in order.expressions:
            part = ordered.this if isinstance(ordered, exp.Ordered) else ordered
            if isinstance(part, exp.Var) and part.name.upper() == "ALL":
                for item in items:
                    if isinstance(item, Named):
                        scope.influence(influences_of(item.derivation, InfluenceKind.SORT))
            elif not self._ordinal(part, scope, items, InfluenceKind.SORT):
                self._values.influence([part], scope, InfluenceKind.SORT)

    def _ordinal(self, part: exp.Expr, scope: Scope, items: list[Item], kind: InfluenceKind) -> bool:
        if not (isinstance(part, exp.Literal) and part.is_int):
            return False
        position = int(part.name)
        if 0 < position <= len(items) and all(isinstance(item, Named) for item in items[:position]):
            item = items[position - 1]
            if isinstance(item, Named):
                scope.influence(influences_of(item.derivation, kind))
        return True
