"""Functions of arrays and maps that take a lambda function, and the variables of these.

The body comes before the variables: ``lambdafunction(body, namedlambdavariable x)``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lineage_merge.column_lineage.parts import KEYS, VALUES
from lineage_merge.column_lineage.roles import LambdaRoles, lambda_roles
from lineage_merge.column_lineage.value_graph import Input, Node, ValueGraph
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.argument_roles import CONDITIONAL, TRANSFORMATION, class_name
from lineage_merge.sources.spline.columns.documents import PlanColumns


class LambdaFunctions:
    """Adds the functions of one plan, and what their variables are, to its graph."""

    def __init__(self, plan: PlanColumns, graph: ValueGraph) -> None:
        self._plan = plan
        self._graph = graph

    def add(self, expression: Node, name: str, arguments: tuple[Node, ...]) -> bool:
        """Add an expression whose class `name` is a function with a lambda; False if it is none."""
        if name == "LambdaFunction":
            self._graph.add(expression, arguments[0])
            return True
        roles = lambda_roles(name)
        if roles is None:
            return False
        _RULES[roles.result](self, expression, arguments, roles)
        return True

    def _bind(self, function: Node, *values: Sequence[Input[Reference]]) -> bool:
        """Add what the variables of a lambda function are; return whether it uses any.

        Variables have no ids: they are bound by name, to the innermost function that has it.
        """
        plan = self._plan
        body, *variables = plan.arguments.get(function, ()) or ("",)
        names = {self._variable(node): inputs for node, inputs in zip(variables, values, strict=False)}
        waiting = [(body, frozenset(names))]
        seen = set(waiting)
        is_used = False
        while waiting:
            node, bound = waiting.pop()
            name = class_name(plan.expressions.get(node) or {})
            if name == "NamedLambdaVariable":
                if self._variable(node) in bound:
                    is_used = True
                    known = self._graph[node].inputs
                    known.extend(name for name in names[self._variable(node)] if name not in known)
                continue
            inner = plan.arguments.get(node, ()) if node in plan.expressions else ()
            if name == "LambdaFunction":
                bound -= {self._variable(variable) for variable in inner[1:]}
                inner = inner[:1]
            for child in inner:
                if (child, bound) not in seen:
                    seen.add((child, bound))
                    waiting.append((child, bound))
        return is_used

    def _variable(self, node: Node) -> str:
        return str(self._plan.params(node).get("name"))

    def _items(self, arrays: Iterable[Node]) -> Iterator[list[Input[Reference]]]:
        """Return the variables of a function of arrays: an item of each, and the index."""
        values = [self._graph[array] for array in arrays]
        for value in values:
            yield [Input(value)]
        yield [Input(value, TRANSFORMATION, passes=False) for value in values]

    def _add_computed_items(self, expression: Node, arguments: tuple[Node, ...], roles: LambdaRoles) -> None:
        """Add an array, or one value, that a function computes of items."""
        *arrays, function = arguments
        inputs = self._graph[expression].inputs
        inputs.append(Input(self._graph[function], TRANSFORMATION, passes=roles.result == "computed"))
        if not self._bind(function, *self._items(arrays)):
            inputs.extend(Input(self._graph[array], TRANSFORMATION, passes=False) for array in arrays)

    def _add_selected(self, expression: Node, arguments: tuple[Node, ...], roles: LambdaRoles) -> None:
        value, function = self._graph[arguments[0]], arguments[-1]
        if len(roles.variables) > 1:
            variables = iter([[value.map_side(KEYS)], [value.map_side(VALUES)]])
        else:
            variables = self._items(arguments[:1])
        self._bind(function, *variables)
        self._graph[expression].inputs += [
            Input(value, TRANSFORMATION),
            Input(self._graph[function], CONDITIONAL, passes=False),
        ]

    def _add_sorted_items(self, expression: Node, arguments: tuple[Node, ...], _: LambdaRoles) -> None:
        """Add a sorted array, whose default comparison is a function, too."""
        self._graph[expression].inputs.append(Input(self._graph[arguments[0]], TRANSFORMATION))

    def _add_reduced_items(self, expression: Node, arguments: tuple[Node, ...], _: LambdaRoles) -> None:
        if len(arguments) != 4:
            return
        array, start, merge, finish = arguments
        aggregate = [Input(self._graph[start]), Input(self._graph[merge])]
        self._bind(merge, aggregate, [Input(self._graph[array])])
        self._bind(finish, aggregate)
        self._graph[expression].inputs.append(Input(self._graph[finish], TRANSFORMATION))

    def _add_computed_map(self, expression: Node, arguments: tuple[Node, ...], roles: LambdaRoles) -> None:
        """Add a map of which a function computes the keys or the values."""
        *maps, function = arguments
        keys = [self._graph[value].map_side(KEYS) for value in maps]
        values = [self._graph[value].map_side(VALUES) for value in maps]
        self._bind(function, keys, *([value] for value in values))
        computed = [Input(self._graph[function], TRANSFORMATION)]
        if roles.result == "keys":
            keys = computed
        else:
            values = computed
        entries = [(KEYS, key._replace(passes=False)) for key in keys]
        entries += [(VALUES, value) for value in values]
        self._graph[expression].build("map", entries)


_RULES: Mapping[str, Callable[[LambdaFunctions, Node, tuple[Node, ...], LambdaRoles], None]] = {
    "computed": LambdaFunctions._add_computed_items,
    "tested": LambdaFunctions._add_computed_items,
    "selected": LambdaFunctions._add_selected,
    "sorted": LambdaFunctions._add_sorted_items,
    "reduced": LambdaFunctions._add_reduced_items,
    "keys": LambdaFunctions._add_computed_map,
    "values": LambdaFunctions._add_computed_map,
}
