"""Expressions that build, read or pass on parts of values: structs, arrays, maps, lambda functions.

By Catalyst's class. What is not listed here depends on the whole of its arguments, as a Python function does.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.sources.spline.columns.argument_roles import (
    COMPARING,
    RETURNING,
    TRANSPARENT,
    class_name,
    steps,
)
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.parts import Key, Part
from lineage_merge.sources.spline.columns.value_graph import BuiltValue, Input, Node, ValueGraph

IDENTITY = Transformation.IDENTITY
TRANSFORMATION = Transformation.TRANSFORMATION
CONDITIONAL = Transformation.CONDITIONAL

# Their direct arguments have the parts of their value.
_PASSING = RETURNING | frozenset(
    {
        "ArrayAppend",
        "ArrayInsert",
        "ArrayMax",
        "ArrayMin",
        "ArrayPrepend",
        "ArrayUnion",
        "Concat",
        "MapConcat",
        "aggregate.CollectList",
        "aggregate.CollectSet",
    }
)
# Only the first argument has.
_PASSING_FIRST = frozenset(
    """
    ArrayCompact ArrayDistinct ArrayExcept ArrayIntersect ArrayRemove ArrayRepeat Explode Flatten Inline
    PosExplode Reverse Shuffle Slice SortArray
    """.split()
)
_COMPARING = COMPARING | {"ArrayMax", "ArrayMin"}
_KEYS, _VALUES = Part(side="keys"), Part(side="values")


class NestedValues:
    """Adds the expressions of one plan to its graph."""

    def __init__(self, plan: PlanColumns, graph: ValueGraph) -> None:
        self._plan = plan
        self._graph = graph
        self._copied: dict[Node, tuple[Node, tuple[str, ...]] | None] = {}

    def add(self, expression: Node, name: str, arguments: tuple[Node, ...]) -> None:
        """Add an expression of the class `name`, which is one of `NESTED`."""
        rule = _RULES.get(name)
        if rule:
            rule(self, expression, arguments)
            return
        passing = arguments if name in _PASSING else arguments[:1]
        for position, step in enumerate(steps(name, len(arguments))):
            passes = position < len(passing) and step < CONDITIONAL
            self._graph.inputs[expression].append(Input(arguments[position], step, passes))
        if name in _COMPARING:
            names = tuple(name for name, _ in self._plan.struct_fields(arguments[0]))
            self._graph.compared[expression] = names

    def add_renamed(self, node: Node, value: Node, from_type: str, to_type: str) -> None:
        """Add an input that passes unchanged, but whose fields have other names: those of `to_type`."""
        if from_type != to_type and self._plan.has_other_names(from_type, to_type):
            converted = f"{node}>{value}"
            self._convert(converted, value, IDENTITY, from_type, to_type)
            value = converted
        self._graph.add(node, value)

    def generate(self, generator: Node, attributes: Sequence[Node]) -> bool:
        """Add the attributes that a generator creates; False if each depends on all of its arguments."""
        arguments = self._plan.arguments.get(generator, ())
        if not arguments:
            return False
        values: list[Input] = []
        of_item = Input(arguments[0], TRANSFORMATION)
        match self._plan.class_name(generator):
            case "Inline":
                fields = self._plan.struct_fields(arguments[0])
                values = [
                    Input(self._graph.part(arguments[0], Part(name, position)), TRANSFORMATION)
                    for position, (name, _) in enumerate(fields)
                ]
            case "Explode" | "PosExplode" as name:
                is_map = len(attributes) == (2 if name == "Explode" else 3)
                values = [self._side(arguments[0], _KEYS), self._side(arguments[0], _VALUES)]
                values = values if is_map else [of_item]
                if name == "PosExplode":
                    values.insert(0, Input(arguments[0], TRANSFORMATION, passes=False))
        if len(values) != len(attributes):
            return False
        for attribute, value in zip(attributes, values, strict=True):
            self._graph.inputs[attribute] = [value]
        return True

    def _side(self, value: Node, side: Part) -> Input:
        return Input(self._graph.part(value, side), TRANSFORMATION, passes=side is _VALUES)

    def _constant(self, node: Node) -> Key | None:
        document = self._plan.expressions.get(node) or {}
        value = document.get("value") if document.get("type") == "Lit" else None
        return value if isinstance(value, Key) else None

    # Reading a part

    def _struct_field(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        part = self._field(expression, arguments[0])
        if part is None:
            self._graph.inputs[expression].append(Input(arguments[0], TRANSFORMATION, passes=False))
            return
        self._graph.add(expression, self._graph.part(arguments[0], part))
        self._graph.reading.add(expression)

    def _field(self, expression: Node, value: Node) -> Part | None:
        """Return the field that an expression reads: `struct.*` has only positions."""
        params = self._plan.params(expression)
        position = params.get("ordinal")
        fields = self._plan.struct_fields(value)
        if isinstance(position, int) and 0 <= position < len(fields):
            return Part(fields[position][0], position)
        written = params.get("name") or params.get("field")
        name = written.get("name") if isinstance(written, dict) else written
        # StructField(sku,StringType,true)
        name = str(name or "").removeprefix("StructField(").partition(",")[0]
        known = position if isinstance(position, int) else None
        return Part(name, known) if name or known is not None else None

    def _entry(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a map's value or an array's item."""
        name = self._plan.class_name(expression)
        key = self._constant(arguments[1]) if len(arguments) > 1 else None
        item = key if isinstance(key, int) else None
        if name == "ElementAt":
            # Arrays are counted from 1, or from their end.
            item = item - 1 if item is not None and item > 0 else None
        part = Part(key=None if name == "GetArrayItem" else key, item=None if name == "GetMapValue" else item)
        value = arguments[0] if part == Part() else self._graph.part(arguments[0], part)
        self._graph.inputs[expression].append(Input(value, TRANSFORMATION))
        for argument in arguments[1:]:
            self._graph.add(expression, argument, TRANSFORMATION)
        self._graph.reading.add(expression)

    def _map_keys(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        self._graph.inputs[expression].append(self._side(arguments[0], _KEYS))

    def _map_values(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        self._graph.inputs[expression].append(self._side(arguments[0], _VALUES))

    # Building a value

    def _struct(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a struct of names and values in turn."""
        copied = self._copied_struct(expression)
        if copied is not None:
            self._graph.add(expression, copied)
            return
        fields = self._plan.struct_fields(expression)
        built = BuiltValue("struct")
        for position, value in enumerate(arguments[1::2]):
            name = self._constant(arguments[2 * position])
            known = fields[position][0] if position < len(fields) else ""
            built.parts.append((Part(str(known if name is None else name), position), Input(value, IDENTITY)))
        built.is_listed = all(part.name for part, _ in built.parts)
        self._add_built(expression, built)

    def _add_built(self, expression: Node, built: BuiltValue) -> None:
        self._graph.built[expression] = built
        for _, value in built.parts:
            self._graph.add(expression, value.node, max(value.step, TRANSFORMATION))

    def _updated_struct(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a struct of which fields are set and dropped in turn."""
        plan, graph = self._plan, self._graph
        struct = arguments[0]
        known = plan.struct_fields(expression) or plan.struct_fields(struct)
        fields = {
            name.casefold(): (Part(name, at), Input(graph.part(struct, Part(name)), IDENTITY))
            for at, (name, _) in enumerate(known)
        }
        dropped: set[str] = set()
        for change in arguments[1:]:
            name = str(plan.params(change).get("name") or "")
            values = plan.arguments.get(change, ())
            if plan.class_name(change) == "WithField" and values:
                at = fields[name.casefold()][0].position if name.casefold() in fields else None
                fields[name.casefold()] = (Part(name, at), Input(values[0], IDENTITY))
                dropped.discard(name.casefold())
            elif plan.class_name(change) == "DropField":
                fields.pop(name.casefold(), None)
                dropped.add(name.casefold())
        built = BuiltValue("struct", list(fields.values()), is_listed=True)
        if not known:
            built.others = Input(struct, IDENTITY)
            graph.inputs[expression].append(Input(struct, TRANSFORMATION, passes=False))
        self._add_built(expression, built)

    def _map(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a map of keys and values in turn."""
        built = BuiltValue("map")
        keys = [self._constant(key) for key in arguments[0::2]]
        for position, (key, value) in enumerate(zip(arguments[0::2], arguments[1::2], strict=False)):
            known = keys[position] if None not in keys else None
            built.parts.append((_KEYS, Input(key, TRANSFORMATION, passes=False)))
            built.parts.append((Part(key=known), Input(value, TRANSFORMATION)))
        self._add_map(expression, built)

    def _add_map(self, expression: Node, built: BuiltValue) -> None:
        self._graph.built[expression] = built
        self._graph.inputs[expression] = [value for _, value in built.parts]

    def _array(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        built = BuiltValue("array")
        built.parts = [(Part(item=at), Input(each, TRANSFORMATION)) for at, each in enumerate(arguments)]
        self._add_map(expression, built)

    def _zipped_arrays(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        fields = self._plan.struct_fields(expression)
        names = [name for name, _ in fields] if len(fields) == len(arguments) else [""] * len(arguments)
        built = BuiltValue("struct", is_listed=bool(fields))
        built.parts = [
            (Part(name, at), Input(each, TRANSFORMATION))
            for at, (name, each) in enumerate(zip(names, arguments, strict=True))
        ]
        self._add_built(expression, built)

    def _parsed(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a text that is parsed by a schema: each field is computed from the whole text."""
        text = Input(arguments[0], TRANSFORMATION, passes=False)
        self._graph.inputs[expression].append(text)
        waiting = [(expression, self._plan.type_id(expression), frozenset[str]())]
        while waiting:
            node, whole_type, around = waiting.pop()
            fields = self._plan.fields_of_type(whole_type)
            if not fields:
                continue
            built = self._graph.built[node] = BuiltValue("struct", is_listed=True)
            around |= {whole_type}
            for position, (name, data_type) in enumerate(fields):
                value = text
                if data_type not in around and self._plan.fields_of_type(data_type):
                    value = Input(f"{node}/{name}", TRANSFORMATION)
                    self._graph.inputs[value.node] = [text]
                    waiting.append((value.node, data_type, around))
                built.parts.append((Part(name, position), value))

    def _cast(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a cast: the fields of structs are matched by position."""
        plan = self._plan
        step = TRANSFORMATION
        if plan.struct_fields(expression):
            types = plan.type_id(arguments[0]), plan.type_id(expression)
            if plan.has_other_names(*types):
                self._convert(expression, arguments[0], TRANSFORMATION, *types)
            elif plan.data_type(arguments[0]) == plan.data_type(expression):
                step = IDENTITY  # whether a field may be null
        self._graph.inputs[expression].append(Input(arguments[0], step))

    def _convert(self, node: Node, value: Node, step: Transformation, from_type: str, to_type: str) -> None:
        """Add a struct under the names of another type."""
        plan, graph = self._plan, self._graph
        waiting = [(node, value, from_type, to_type, frozenset[str]())]
        while waiting:
            node, value, from_type, to_type, around = waiting.pop()
            around |= {to_type}
            built = graph.built[node] = BuiltValue("struct", is_listed=True)
            pairs = zip(plan.fields_of_type(from_type), plan.fields_of_type(to_type), strict=False)
            for position, ((own, own_type), (name, data_type)) in enumerate(pairs):
                field = graph.part(value, Part(own, position))
                if data_type not in around and plan.has_other_names(own_type, data_type):
                    inner = f"{node}/{name}"
                    graph.add(inner, field)
                    waiting.append((inner, field, own_type, data_type, around))
                    field = inner
                built.parts.append((Part(name, position), Input(field, step)))
            if node not in graph.inputs:
                graph.inputs[node] = [Input(value, IDENTITY)]

    # Structs that are copies

    def _copied_struct(self, expression: Node) -> Node | None:
        """Return the value of which a struct repeats all fields under their names.

        Spark adds such structs where the types of a query and its target are compared field by field.
        """
        waiting = [(expression, False)]
        seen: set[Node] = set()
        while waiting:
            node, is_ready = waiting.pop()
            if is_ready:
                self._copied[node] = self._copy(node)
            elif node not in seen and node not in self._copied:
                seen.add(node)
                waiting.append((node, True))
                waiting.extend((each, False) for each in self._compared_parts(node))
        found = self._copied[expression]
        if found is None:
            return None
        value, path = found
        for name in path:
            value = self._graph.part(value, Part(name))
        return value

    def _compared_parts(self, node: Node) -> tuple[Node, ...]:
        name, arguments = self._plan.class_name(node), self._plan.arguments.get(node, ())
        if name == "CreateNamedStruct":
            return arguments[1::2]
        if name == "GetStructField" or name in TRANSPARENT:
            return arguments[:1]
        return (arguments[2],) if self._is_null_check(node) else ()

    def _is_null_check(self, node: Node) -> bool:
        """Return whether a node is ``if(value IS NULL, null, ...)``."""
        plan, arguments = self._plan, self._plan.arguments.get(node, ())
        if plan.class_name(node) != "If" or len(arguments) != 3:
            return False
        null = arguments[1]
        if plan.class_name(null) == "Cast":
            null = next(iter(plan.arguments.get(null, ())), null)
        is_null = plan.class_name(null) == "Literal" and plan.expressions[null].get("value") is None
        return is_null and plan.class_name(arguments[0]) == "IsNull"

    def _copy(self, node: Node) -> tuple[Node, tuple[str, ...]] | None:
        """Return the attribute or variable, and the field of it, that a node is a copy of."""
        plan, arguments = self._plan, self._plan.arguments.get(node, ())
        name = plan.class_name(node)
        if node in plan.attributes or name == "NamedLambdaVariable":
            return node, ()
        parts = [self._copied.get(each) for each in self._compared_parts(node)]
        first = parts[0] if parts else None
        if first is None:
            return None
        if name == "GetStructField":
            field = self._field(node, arguments[0])
            return (first[0], (*first[1], field.name)) if field and field.name else None
        if name != "CreateNamedStruct":
            return first
        names = [str(self._constant(each)) for each in arguments[0::2]]
        value, path = first[0], first[1][:-1]
        if not first[1] or any(
            part != (value, (*path, name)) for part, name in zip(parts, names, strict=True)
        ):
            return None
        fields = plan.struct_fields(value)
        for step in path:
            fields = next((plan.fields_of_type(inner) for known, inner in fields if known == step), ())
        return (value, path) if [known for known, _ in fields] == names else None

    def _choice(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add an IF; one that only keeps the null of a struct changes nothing."""
        if self._is_null_check(expression):
            checked = self._plan.arguments.get(arguments[0], ())
            self._copied_struct(arguments[2])
            self._copied_struct(checked[0])
            copied = self._copied.get(arguments[2])
            if copied is not None and copied == self._copied.get(checked[0]):
                self._graph.add(expression, arguments[2])
                return
        for argument, step in zip(arguments, steps("If", len(arguments)), strict=True):
            self._graph.inputs[expression].append(Input(argument, step, step < CONDITIONAL))

    # Lambda functions

    def _bind(self, function: Node, *values: Sequence[Input]) -> bool:
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
                    known = self._graph.inputs[node]
                    known.extend(each for each in names[self._variable(node)] if each not in known)
                continue
            inner = plan.arguments.get(node, ()) if node in plan.expressions else ()
            if name == "LambdaFunction":
                bound -= {self._variable(each) for each in inner[1:]}
                inner = inner[:1]
            for each in inner:
                if (each, bound) not in seen:
                    seen.add((each, bound))
                    waiting.append((each, bound))
        return is_used

    def _variable(self, node: Node) -> str:
        return str(self._plan.params(node).get("name"))

    def _lambda(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        self._graph.add(expression, arguments[0])

    def _items(self, arrays: Iterable[Node]) -> Iterator[list[Input]]:
        """Return the variables of a function of arrays: an item of each, and the index."""
        arrays = list(arrays)
        for array in arrays:
            yield [Input(array, IDENTITY)]
        yield [Input(array, TRANSFORMATION, passes=False) for array in arrays]

    def _computed_items(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add an array, or one value, that a function computes of items."""
        *arrays, function = arguments
        name = self._plan.class_name(expression)
        is_array = name in ("ArrayTransform", "ZipWith")
        inputs = self._graph.inputs[expression]
        inputs.append(Input(function, TRANSFORMATION, passes=is_array))
        if not self._bind(function, *self._items(arrays)):
            inputs.extend(Input(array, TRANSFORMATION, passes=False) for array in arrays)

    def _filtered_items(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        array, function = arguments[0], arguments[-1]
        self._bind(function, *self._items([array]))
        self._graph.inputs[expression] += [
            Input(array, TRANSFORMATION),
            Input(function, CONDITIONAL, passes=False),
        ]

    def _sorted_items(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a sorted array, whose default comparison is a function, too."""
        self._graph.inputs[expression].append(Input(arguments[0], TRANSFORMATION))

    def _aggregated_items(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        if len(arguments) != 4:
            return
        array, start, merge, finish = arguments
        aggregate = [Input(start, IDENTITY), Input(merge, IDENTITY)]
        self._bind(merge, aggregate, [Input(array, IDENTITY)])
        self._bind(finish, aggregate)
        self._graph.inputs[expression].append(Input(finish, TRANSFORMATION))

    def _filtered_map(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        function = arguments[-1]
        self._bind(function, [self._side(arguments[0], _KEYS)], [self._side(arguments[0], _VALUES)])
        self._graph.inputs[expression] += [
            Input(arguments[0], TRANSFORMATION),
            Input(function, CONDITIONAL, passes=False),
        ]

    def _computed_map(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a map of which a function computes the keys or the values."""
        *maps, function = arguments
        keys = [self._side(each, _KEYS) for each in maps]
        values = [self._side(each, _VALUES) for each in maps]
        self._bind(function, keys, *([each] for each in values))
        computed = [Input(function, TRANSFORMATION)]
        if self._plan.class_name(expression) == "TransformKeys":
            keys = computed
        else:
            values = computed
        built = BuiltValue("map")
        built.parts = [(_KEYS, each._replace(passes=False)) for each in keys]
        built.parts += [(_VALUES, each) for each in values]
        self._add_map(expression, built)


_Rule = Callable[[NestedValues, Node, tuple[Node, ...]], None]
_RULES: Mapping[str, _Rule] = {
    "GetStructField": NestedValues._struct_field,
    "GetArrayStructFields": NestedValues._struct_field,
    **dict.fromkeys(("GetMapValue", "GetArrayItem", "ElementAt"), NestedValues._entry),
    "MapKeys": NestedValues._map_keys,
    "MapValues": NestedValues._map_values,
    "CreateNamedStruct": NestedValues._struct,
    "UpdateFields": NestedValues._updated_struct,
    "CreateMap": NestedValues._map,
    "CreateArray": NestedValues._array,
    "ArraysZip": NestedValues._zipped_arrays,
    **dict.fromkeys(
        ("JsonToStructs", "CsvToStructs", "XmlToStructs", "AvroDataToCatalyst", "ProtobufDataToCatalyst"),
        NestedValues._parsed,
    ),
    **dict.fromkeys(("Cast", "AnsiCast", "UpCast", "TryCast"), NestedValues._cast),
    "If": NestedValues._choice,
    "LambdaFunction": NestedValues._lambda,
    **dict.fromkeys(
        ("ArrayTransform", "ZipWith", "ArrayExists", "ArrayForAll"), NestedValues._computed_items
    ),
    "ArrayFilter": NestedValues._filtered_items,
    "ArraySort": NestedValues._sorted_items,
    "ArrayAggregate": NestedValues._aggregated_items,
    "MapFilter": NestedValues._filtered_map,
    **dict.fromkeys(("TransformKeys", "TransformValues", "MapZipWith"), NestedValues._computed_map),
}
# The classes whose arguments are not inputs as a whole.
NESTED = _PASSING | _PASSING_FIRST | _RULES.keys()
