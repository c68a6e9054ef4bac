"""Spark's trees as its `TreeNode.toJSON` writes them: a list of nodes, each before its children."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

Json = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Node:
    """An operation or an expression: its class, its fields, and where to find it in the JVM.

    What is no part of the JSON is asked of `java`, the node itself; nothing is fetched before.
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
        """The class without its package: ``Project``."""
        return self.class_name.rpartition(".")[2]

    @property
    def java(self) -> Any:
        """The node in the JVM."""
        way: list[Node] = []
        node = self
        while node._java is None and node._parent is not None:
            way.append(node)
            node = node._parent
        if node._java is None and node._find is not None:
            node._java = node._find()
        for each in reversed(way):
            each._java = node._java.children().apply(each._index)
            node = each
        return self._java


def grow(listed: list[Json], find: Callable[[], Any] | None = None) -> Node:
    """The tree of a list of nodes; `find` gives its root in the JVM."""
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
    """Whether a field's value is a tree."""
    return bool(isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0])


def bottom_up(root: Node) -> list[Node]:
    """Every node of a tree, each after its children, those in their order."""
    found: list[Node] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        found.append(node)
        waiting.extend(node.children)
    found.reverse()
    return found


def expression_id(fields: Json) -> int:
    """Spark's id of a named expression: the 12 of ``price#12``."""
    return int(fields["exprId"]["id"])


def singleton(value: object) -> str:
    """The name of a Scala object among the fields: ``LeftSemi``; "" for anything else."""
    if not isinstance(value, dict):
        return ""
    return str(value.get("object") or value.get("product-class") or "").rpartition(".")[2].rstrip("$")
