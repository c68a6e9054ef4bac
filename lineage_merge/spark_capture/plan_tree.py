"""Trees of Spark in the form of `TreeNode.toJSON`: a list of nodes, parents before children."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.model.elements import Reference

Json = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class PlanNode:
    """An operation or an expression: its class, its fields, and its position in the JVM tree.

    Facts that the JSON lacks are queried from `java`, the JVM node, which is fetched on first use.
    """

    class_name: str
    fields: Json
    children: list["PlanNode"] = field(default_factory=list)
    _find: Callable[[], Any] | None = None
    _parent: "PlanNode | None" = None
    _index: int = 0
    _java: Any = None

    @property
    def name(self) -> str:
        """Return the class without its package: ``Project``."""
        return self.class_name.rpartition(".")[2]

    @property
    def java(self) -> Any:
        """Return the node in the JVM."""
        path: list[PlanNode] = []
        node = self
        while node._java is None and node._parent is not None:
            path.append(node)
            node = node._parent
        if node._java is None and node._find is not None:
            node._java = node._find()
        for plan_node in reversed(path):
            plan_node._java = node._java.children().apply(plan_node._index)
            node = plan_node
        return self._java

    def tree(self, field: str) -> "PlanNode | None":
        """Return a field that is a tree, or an `Option` of one; None if it is empty."""
        value = self.fields.get(field)
        if isinstance(value, int):  # the position of a child
            return self.children[value]
        if not isinstance(value, list) or not is_tree(value):
            return None
        return build_tree(value, lambda: _value(getattr(self.java, field)()))

    def trees(self, field: str) -> "list[PlanNode]":
        """Return a field that is a list of trees."""

        def find_at(index: int) -> Callable[[], Any]:
            return lambda: getattr(self.java, field)().apply(index)

        listed = self.fields.get(field) or ()
        return [build_tree(value, find_at(index)) for index, value in enumerate(listed)]


def build_tree(listed: list[Json], find: Callable[[], Any] | None = None) -> PlanNode:
    """Build the tree of a list of nodes; `find` returns its root in the JVM."""
    root = _node(listed[0])
    root._find = find
    waiting = [(root, int(listed[0]["num-children"]))]
    for listed_node in listed[1:]:
        while not waiting[-1][1]:
            waiting.pop()
        parent, missing = waiting[-1]
        waiting[-1] = (parent, missing - 1)
        child = _node(listed_node)
        child._parent, child._index = parent, len(parent.children)
        parent.children.append(child)
        waiting.append((child, int(listed_node["num-children"])))
    return root


def _node(listed: Json) -> PlanNode:
    fields = {name: value for name, value in listed.items() if name not in ("class", "num-children")}
    return PlanNode(str(listed["class"]), fields)


def is_tree(value: object) -> bool:
    """Return whether a field's value is a tree."""
    return bool(isinstance(value, list) and value and isinstance(value[0], dict) and "class" in value[0])


def _value(option: Any) -> Any:
    """Return the value of a Scala `Option`; anything else is returned as it is."""
    return option.get() if str(option.getClass().getName()) == "scala.Some" else option


def bottom_up(root: PlanNode) -> list[PlanNode]:
    """Yield every node of a tree, children first, in order."""
    plan_nodes: list[PlanNode] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        plan_nodes.append(node)
        waiting.extend(node.children)
    plan_nodes.reverse()
    return plan_nodes


def is_plain_column(tree: Sequence[Json]) -> bool:
    """Return whether a cast is of a column to its own type: Spark 3.5 casts each column that it renames."""
    if len(tree) != 2 or not str(tree[0]["class"]).endswith(".Cast"):
        return False
    is_column = str(tree[1]["class"]).endswith(".AttributeReference")
    return is_column and bool(tree[0].get("dataType") == tree[1].get("dataType"))


def expression_id(fields: Json) -> int:
    """Return Spark's id of a named expression: the 12 of ``price#12``."""
    return int(fields["exprId"]["id"])


def singleton(value: object) -> str:
    """Return the name of a Scala object in a field: ``LeftSemi``; "" for anything else."""
    if not isinstance(value, dict):
        return ""
    return str(value.get("object") or value.get("product-class") or "").rpartition(".")[2].rstrip("$")


@dataclass(frozen=True, slots=True)
class SparkRelation:
    """What a leaf of a plan reads.

    `uris` as Spline's agent reports them; `table` for a table without a path. `params` are those of the read;
    `problem` says why the source is unknown.
    """

    uris: tuple[str, ...] = ()
    table: Reference | None = None
    data_format: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


@dataclass(frozen=True, slots=True)
class RddSources:
    """The sources of an RDD: files, and RDDs of unknown origin."""

    uris: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
