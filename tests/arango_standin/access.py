"""How documents of a collection are reached: by an equality or a range in a FILTER, or by reading them all.

It only narrows what a loop reads; every FILTER still runs. The counts tell reads that a declared
index would serve from reads of the whole collection, as the server's `scannedIndex` and
`scannedFull` do.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from .store import Collection, Document, at_path
from .syntax import Attribute, Binary, Bind, Filter, Let, Name, Node, Parenthesis, Query, Sort, Statement
from .syntax import For as ForStatement
from .syntax import Traversal as TraversalStatement
from .values import compare

_EXACT: Final = frozenset({"==", "IN"})
_MIRRORED: Final = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


@dataclass(frozen=True)
class Condition:
    """`attribute operator operand`; `operator` is ==, IN or an order."""

    path: tuple[str, ...]
    operator: str
    operand: Callable[[dict[str, Any]], Any]


def _conjuncts(node: Node) -> Iterator[Node]:
    if isinstance(node, Parenthesis):
        yield from _conjuncts(node.inner)
    elif isinstance(node, Binary) and node.operator == "AND":
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node


def _path(node: Node, variable: str, binds: Mapping[str, Any]) -> tuple[str, ...] | None:
    steps: list[str] = []
    while isinstance(node, Attribute):
        name = binds[node.name.name] if isinstance(node.name, Bind) else node.name
        if not isinstance(name, str):
            return None
        steps.append(name)
        node = node.base
    return tuple(reversed(steps)) if steps and isinstance(node, Name) and node.name == variable else None


def _known(node: Node, visible: frozenset[str]) -> bool:
    return all(
        not isinstance(each, Query) and (not isinstance(each, Name) or each.name in visible)
        for each in node.walk()
    )


def conditions_on(
    variable: str, following: Sequence[Statement], visible: frozenset[str], binds: Mapping[str, Any]
) -> list[tuple[tuple[str, ...], str, Node]]:
    """What the statements after a loop demand of its variable: (path, operator, operand known before it).

    LIMIT and COLLECT end the search: a filter behind them may not be moved ahead.
    """
    found: list[tuple[tuple[str, ...], str, Node]] = []
    for statement in following:
        if not isinstance(statement, Filter | Let | Sort | ForStatement | TraversalStatement):
            break
        if not isinstance(statement, Filter):
            continue
        for each in _conjuncts(statement.condition):
            if not isinstance(each, Binary):
                continue
            path = _path(each.left, variable, binds)
            if path and each.operator in {*_MIRRORED, "IN"} and _known(each.right, visible):
                found.append((path, each.operator, each.right))
            path = _path(each.right, variable, binds)
            if path and each.operator in _MIRRORED and _known(each.left, visible):
                found.append((path, _MIRRORED[each.operator], each.left))
    return found


_ORDERS: Final[dict[str, Callable[[int], bool]]] = {
    "<": lambda order: order < 0,
    "<=": lambda order: order <= 0,
    ">": lambda order: order > 0,
    ">=": lambda order: order >= 0,
}


def read(
    collection: Collection, conditions: Sequence[Condition], row: dict[str, Any], counts: dict[str, int]
) -> Sequence[Document]:
    """The documents that a loop has to look at, for one row of the loops around it."""
    indexed = [each for each in conditions if each.path in collection.indexed]
    equalities = [each for each in indexed if each.operator in _EXACT]
    if equalities:
        documents = _matching(collection, equalities[0], row)
        counts["scannedIndex"] += len(documents)
    elif indexed:
        path, holds, bound = indexed[0].path, _ORDERS[indexed[0].operator], indexed[0].operand(row)
        documents = [each for each in collection.documents() if holds(compare(at_path(each, path), bound))]
        counts["scannedIndex"] += len(documents)
    else:
        # A server reads them all; here a look-up keeps tests quick, and the count says what it would cost.
        counts["scannedFull"] += len(collection)
        exact = [each for each in conditions if each.operator in _EXACT]
        documents = _matching(collection, exact[0], row) if exact else collection.documents()
    return documents


def _matching(collection: Collection, condition: Condition, row: dict[str, Any]) -> list[Document]:
    value = condition.operand(row)
    if condition.operator == "==":
        return collection.matching(condition.path, [value])
    return collection.matching(condition.path, value if isinstance(value, list) else [])
