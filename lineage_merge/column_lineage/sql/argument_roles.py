"""The roles of an expression's parts, by the parser's tree. Pure.

What functions do with their arguments is in `column_lineage.roles`.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlglot import exp

from lineage_merge.column_lineage.roles import (
    AGGREGATED,
    SAME,
    VALUE,
    Role,
    Roles,
    find_roles,
    roles,
)
from lineage_merge.column_lineage.transformations import Transformation


class NodeRoles(NamedTuple):
    """The roles of a type of node; `positions`: the position of its first argument of each name.

    `uniform`: that of all arguments, if there is one.
    """

    roles: Roles
    positions: Mapping[str, int]
    uniform: Role | None


_KNOWN: dict[type[exp.Expr], NodeRoles] = {}


def roles_of(node: exp.Expr) -> NodeRoles:
    """Return the roles of a node's arguments."""
    kind = type(node)
    return _anonymous(node) if kind is exp.Anonymous else _KNOWN.get(kind) or _find_by_type(kind)


def parts_of(node: exp.Expr, known: NodeRoles) -> Iterator[tuple[exp.Expr, Role]]:
    """Yield the parts of an expression with their roles; `known` as from `roles_of`."""
    orders_values = isinstance(node, exp.Order) and _orders_values(node)
    for part in node.iter_expressions():
        key = part.arg_key or ""
        position = known.positions.get(key, 0) + (part.index or 0)
        count = None if part.index is None else known.positions.get(key, 0) + len(node.args[key])
        role = known.roles.get_role(position, count)
        yield part, SAME if orders_values and role.step is Transformation.WINDOW else role


def _find_by_type(kind: type[exp.Expr]) -> NodeRoles:
    default = AGGREGATED if issubclass(kind, exp.AggFunc) else VALUE
    positions = {name: at for at, name in enumerate(kind.arg_types)}
    known = _KNOWN[kind] = _node(roles(kind.key, "sqlglot", default), positions)
    return known


def _anonymous(node: exp.Expr) -> NodeRoles:
    """Return the roles of a function that the parser does not know."""
    known = find_roles(node.name)
    if known is None and isinstance(node.parent, exp.Filter | exp.WithinGroup):
        known = Roles((), (AGGREGATED,))
    return _UNKNOWN if known is None else _node(known, {})


def _node(found: Roles, positions: Mapping[str, int]) -> NodeRoles:
    return NodeRoles(
        found, positions, found.others[0] if not found.first and len(found.others) == 1 else None
    )


_UNKNOWN = _node(Roles((), (VALUE,)), {})


def _orders_values(order: exp.Expr) -> bool:
    """Return whether an order has the value: ``percentile_cont(0.5) within group (order by b)``.

    In ``listagg(a) within group (order by b)``, b is indirect.
    """
    group = order.parent
    return isinstance(group, exp.WithinGroup) and not group.this.find(exp.Column)
