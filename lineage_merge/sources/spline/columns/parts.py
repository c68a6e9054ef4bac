"""Parts of values that the plan itself builds: a struct's field, a map's entry, an array's item.

``struct(a, b).b`` is b, and ``map('x', a, 'y', b)['y']`` is b: the others are no inputs. A part is followed
through renames, unions and CTEs, and through functions that return one of their arguments. Structs are
compared field by field, so ``max(struct(a, b, c)).b`` is an aggregation of b, with a as its condition.
"""

from collections import deque
from typing import NamedTuple

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.sources.spline.columns.argument_roles import COMPARING, RETURNING, steps
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.value_graph import Input, Node, ValueGraph

Key = str | int | float


class _Part(NamedTuple):
    """A part of a value: a field of a struct by position, a map's value by key, or an item of an array."""

    field: int | None = None
    key: Key | None = None
    item: int | None = None

    def preceding(self) -> "list[_Part]":
        """Return the parts that are compared first."""
        if self.field is not None:
            return [_Part(field=each) for each in range(self.field)]
        return [_Part(item=each) for each in range(self.item or 0)]


def follow_parts(plan: PlanColumns, graph: ValueGraph) -> None:
    """Replace the inputs of expressions that read a part by that part, where the plan builds the value."""
    _Parts(plan, graph).follow()


class _Parts:
    def __init__(self, plan: PlanColumns, graph: ValueGraph) -> None:
        self._plan = plan
        self._graph = graph
        # The expressions that read a part: the value that they read, and which part.
        self._reads: dict[Node, tuple[Node, _Part]] = {}
        # Parts that need a node of their own, and those whose inputs are still to be added.
        self._made: dict[tuple[Node, _Part], Node] = {}
        self._nodes: set[Node] = set()
        self._waiting: deque[tuple[Node, Node, _Part]] = deque()

    def follow(self) -> None:
        for expression in self._plan.expressions:
            part = self._part_read(expression)
            if part:
                self._reads[expression] = (self._plan.arguments[expression][0], part)
        found = {expression: self._part_of(*read) for expression, read in self._reads.items()}
        while self._waiting:
            self._add_inputs(*self._waiting.popleft())
        for expression, node in found.items():
            if node:
                self._graph.inputs[expression] = [Input(node, Transformation.TRANSFORMATION)]

    def _part_read(self, expression: Node) -> _Part | None:
        class_name = self._plan.class_name(expression)
        arguments = self._plan.arguments.get(expression, ())
        if class_name == "GetStructField" and arguments:
            field = self._plan.params(expression).get("ordinal")
            return _Part(field=field) if isinstance(field, int) else None
        key = self._constant(arguments[1]) if len(arguments) > 1 else None
        if class_name == "GetMapValue" and key is not None:
            return _Part(key=key)
        if class_name == "GetArrayItem" and isinstance(key, int):
            return _Part(item=key)
        if class_name == "ElementAt" and key is not None:
            # Arrays are counted from 1, or from their end.
            return _Part(key=key, item=key - 1 if isinstance(key, int) and key > 0 else None)
        return None

    def _constant(self, node: Node) -> Key | None:
        document = self._plan.expressions.get(node) or {}
        value = document.get("value") if document.get("type") == "Lit" else None
        return value if isinstance(value, Key) else None

    def _part_of(self, value: Node, part: _Part) -> Node | None:
        """Return the node of a part, None if the plan does not build the value."""
        seen: set[Node] = set()
        while value not in seen:
            seen.add(value)
            built = self._built(value, part)
            if built:
                return built
            inputs = self._graph.inputs.get(value, ())
            if value in self._reads:
                inner = self._part_of(*self._reads[value])
                if inner is None:
                    return None
                value = inner
            elif len(inputs) == 1 and inputs[0].step is Transformation.IDENTITY:
                value = inputs[0].node
            else:
                break
        return self._new(value, part) if self._returns_an_argument(value) else None

    def _built(self, value: Node, part: _Part) -> Node | None:
        class_name = self._plan.class_name(value)
        arguments = self._plan.arguments.get(value, ())
        if class_name == "CreateMap" and part.key is not None:
            keys = [self._constant(argument) for argument in arguments[0::2]]
            return None if None in keys else dict(zip(keys, arguments[1::2], strict=False)).get(part.key)
        if class_name == "CreateNamedStruct":
            # Name, value, name, value.
            return _item(arguments[1::2], part.field)
        return _item(arguments, part.item) if class_name == "CreateArray" else None

    def _returns_an_argument(self, value: Node) -> bool:
        if value in self._nodes or self._plan.class_name(value) in RETURNING:
            return True
        inputs = self._graph.inputs.get(value, ())
        return bool(inputs) and all(input_.step is Transformation.IDENTITY for input_ in inputs)

    def _new(self, value: Node, part: _Part) -> Node:
        key = (value, part)
        if key not in self._made:
            node = self._made[key] = f"part/{len(self._made)}"
            self._nodes.add(node)
            self._waiting.append((node, value, part))
        return self._made[key]

    def _add_inputs(self, node: Node, value: Node, part: _Part) -> None:
        """Add the inputs of a part of what returns one of its arguments."""
        class_name = self._plan.class_name(value)
        inputs = self._graph.inputs.get(value, [])
        if class_name in RETURNING:
            arguments = self._plan.arguments.get(value, ())
            roles = steps(class_name, len(arguments))
            inputs = [Input(*each) for each in zip(arguments, roles, strict=True)]
        for argument, step in inputs:
            found = None if step >= Transformation.CONDITIONAL else self._part_of(argument, part)
            self._graph.add(node, found or argument, step)
            if found and class_name in COMPARING:
                for each in part.preceding():
                    condition = self._part_of(argument, each)
                    if condition:
                        self._graph.add(node, condition, Transformation.CONDITIONAL)


def _item(values: tuple[Node, ...], index: int | None) -> Node | None:
    return values[index] if index is not None and 0 <= index < len(values) else None
