"""Spark's trees in the form of `TreeNode.toJSON`: a list of nodes, parents before children."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Node:
    """An operation or an expression: its class, its fields, and its position in the JVM tree.

    Facts that the JSON lacks are queried from `java`, the JVM node, which is fetched on first use.
    """

    class_name: str
    fields: Json
    children: list["Node"] = field(default_factory=list)
    _find: Callable[[], Any] | None = None
    _parent: "Node | None" = None
    _index: int = 0
    _java: Any = None

    @property
    def name(self) -> str:
        """Return the class without its package: ``Project``."""
        return self.class_name.rpartition(".")[2]

    @property
    def java(self) -> Any:
        """Return the node in the JVM."""
        path: list[Node] = []
        node = self
        while node._java is None and node._parent is not None:
            path.append(node)
            node = node._parent
        if node._java is None and node._find is not None:
            node._java = node._find()
        for each in reversed(path):
            each._java = node._java.children().apply(each._index)
            node = each
        return self._java


def build_tree(listed: list[Json], find: Callable[[], Any] | None = None) -> Node:
    """Build the tree of a list of nodes; `find` returns its root in the JVM."""
    root = _node(listed[0])
    root._find = find
    waiting = [(root, int(listed[0]["num-children"]))]
    for each in listed[1:]:
        while not waiting[-1][1]:
            waiting.pop()
        parent, missing = waiting[-1]
        waiting[-1] = (parent, missing - 1)
        child = _node(each)
        child._parent, child._index = parent, len(parent.children)
        parent.children.append(child)
        waiting.append((child, int(each["num-children"])))
    return root


def _node(each: Json) -> Node:
    fields = {name: value for name, value in each.items() if name not in ("class", "num-children")}
    return Node(str(each["class"]), fields)


def is_tree(value: object) -> bool:
    """Return whether a field's value is a tree."""
    return bool(isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0])


def bottom_up(root: Node) -> list[Node]:
    """Yield every node of a tree, children first, in order."""
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children)
    found.reverse()
    return found


def expression_id(fields: Json) -> int:
    """Return Spark's id of a named expression: the 12 of ``price#12``."""
    return int(fields["exprId"]["id"])


def singleton(value: object) -> str:
    """Return the name of a Scala object in a field: ``LeftSemi``; "" for anything else."""
    if not isinstance(value, dict):
        return ""
    return str(value.get("object") or value.get("product-class") or "").rpartition(".")[2].rstrip("$")
