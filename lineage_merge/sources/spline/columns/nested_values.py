"""Expressions that build, read or pass on parts of values: structs, arrays, maps.

By Catalyst's class. What is not listed here depends on the whole of its arguments, as a Python function does.
"""

from collections.abc import Callable, Mapping, Sequence

from lineage_merge.column_lineage.parts import KEYS, VALUES, Part
from lineage_merge.column_lineage.roles import is_comparing
from lineage_merge.column_lineage.transformations import Transformation
from lineage_merge.column_lineage.value_graph import BuiltValue, Input, Node, ValueGraph
from lineage_merge.model.elements import Reference
from lineage_merge.sources.spline.columns.argument_roles import (
    CASTS,
    IDENTITY,
    TEXT_EXPRESSION,
    TRANSFORMATION,
    argument_roles,
)
from lineage_merge.sources.spline.columns.copied_values import CopiedValues, read_field
from lineage_merge.sources.spline.columns.documents import PlanColumns
from lineage_merge.sources.spline.columns.lambda_functions import LambdaFunctions


class NestedValues:
    """Adds the expressions of one plan to its graph."""

    def __init__(self, plan: PlanColumns, graph: ValueGraph) -> None:
        self._plan = plan
        self._graph = graph
        self._copied = CopiedValues(plan)
        self._lambdas = LambdaFunctions(plan, graph)

    def add(self, expression: Node, name: str, arguments: tuple[Node, ...]) -> None:
        """Add an expression of the class `name`, which has arguments."""
        if name == "ArrayTransform" and self._add_copied(expression):
            return
        rule = _RULES.get(name)
        if rule:
            rule(self, expression, arguments)
            return
        if self._lambdas.add(expression, name, arguments):
            return
        self._add_by_roles(expression, name, arguments)
        if is_comparing(name):
            names = tuple(name for name, _ in self._plan.struct_fields(arguments[0]))
            self._graph[expression].compared = names

    def _add_by_roles(self, expression: Node, name: str, arguments: tuple[Node, ...]) -> None:
        inputs = self._graph[expression].inputs
        for argument, (step, passes) in zip(arguments, argument_roles(name, len(arguments)), strict=True):
            inputs.append(Input(self._graph[argument], step, passes))

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
        values: list[Input[Reference]] = []
        argument = self._graph[arguments[0]]
        of_item = Input(argument, TRANSFORMATION)
        match self._plan.class_name(generator):
            case "Inline":
                fields = self._plan.struct_fields(arguments[0])
                values = [
                    Input(argument.part(Part(name, position)), TRANSFORMATION)
                    for position, (name, _) in enumerate(fields)
                ]
            case "Explode" | "PosExplode" as name:
                is_map = len(attributes) == (2 if name == "Explode" else 3)
                values = [argument.map_side(KEYS), argument.map_side(VALUES)] if is_map else [of_item]
                if name == "PosExplode":
                    values.insert(0, Input(argument, TRANSFORMATION, passes=False))
        if len(values) != len(attributes):
            return False
        for attribute, value in zip(attributes, values, strict=True):
            self._graph[attribute].inputs = [value]
        return True

    # Reading a part

    def _struct_field(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        part = read_field(self._plan, expression)
        value, whole = self._graph[expression], self._graph[arguments[0]]
        if part is None:
            value.inputs.append(Input(whole, TRANSFORMATION, passes=False))
            return
        value.add(whole.part(part))
        value.is_reading = True

    def _entry(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a map's value or an array's item."""
        name = self._plan.class_name(expression)
        key = self._plan.constant(arguments[1]) if len(arguments) > 1 else None
        item = key if isinstance(key, int) else None
        if name == "ElementAt":
            # Arrays are counted from 1, or from their end.
            item = item - 1 if item is not None and item > 0 else None
        part = Part(key=None if name == "GetArrayItem" else key, item=None if name == "GetMapValue" else item)
        value, whole = self._graph[expression], self._graph[arguments[0]]
        value.inputs.append(Input(whole if part == Part() else whole.part(part), TRANSFORMATION))
        for argument in arguments[1:]:
            self._graph.add(expression, argument, TRANSFORMATION)
        value.is_reading = True

    def _map_keys(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        self._graph[expression].inputs.append(self._graph[arguments[0]].map_side(KEYS))

    def _map_values(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        self._graph[expression].inputs.append(self._graph[arguments[0]].map_side(VALUES))

    # Building a value

    def _struct(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a struct of names and values in turn."""
        if self._add_copied(expression):
            return
        fields = self._plan.struct_fields(expression)
        built: BuiltValue[Reference] = BuiltValue("struct")
        for position, value in enumerate(arguments[1::2]):
            name = self._plan.constant(arguments[2 * position])
            known = fields[position][0] if position < len(fields) else ""
            part = Part(str(known if name is None else name), position)
            built.parts.append((part, Input(self._graph[value])))
        built.is_listed = all(part.name for part, _ in built.parts)
        self._add_built(expression, built)

    def _add_built(self, expression: Node, built: BuiltValue[Reference]) -> None:
        value = self._graph[expression]
        value.built = built
        for _, part in built.parts:
            value.add(part.value, max(part.step, TRANSFORMATION))

    def _update_struct(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a struct of which fields are set and dropped in turn."""
        plan, graph = self._plan, self._graph
        struct = graph[arguments[0]]
        known = plan.struct_fields(expression) or plan.struct_fields(arguments[0])
        fields = {
            name.casefold(): (Part(name, at), Input(struct.part(Part(name))))
            for at, (name, _) in enumerate(known)
        }
        dropped: set[str] = set()
        for change in arguments[1:]:
            name = str(plan.params(change).get("name") or "")
            values = plan.arguments.get(change, ())
            if plan.class_name(change) == "WithField" and values:
                at = fields[name.casefold()][0].position if name.casefold() in fields else None
                fields[name.casefold()] = (Part(name, at), Input(graph[values[0]]))
                dropped.discard(name.casefold())
            elif plan.class_name(change) == "DropField":
                fields.pop(name.casefold(), None)
                dropped.add(name.casefold())
        built = BuiltValue("struct", list(fields.values()), is_listed=True)
        if not known:
            built.others = Input(struct)
            graph[expression].inputs.append(Input(struct, TRANSFORMATION, passes=False))
        self._add_built(expression, built)

    def _map(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a map of keys and values in turn."""
        entries: list[tuple[Part, Input[Reference]]] = []
        keys = [self._plan.constant(key) for key in arguments[0::2]]
        for position, (key, value) in enumerate(zip(arguments[0::2], arguments[1::2], strict=False)):
            known = keys[position] if None not in keys else None
            entries.append((KEYS, Input(self._graph[key], TRANSFORMATION, passes=False)))
            entries.append((Part(key=known), Input(self._graph[value], TRANSFORMATION)))
        self._graph[expression].build("map", entries)

    def _map_of_arrays(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        if self._add_copied(expression) or len(arguments) != 2:
            return
        keys, values = map(self._graph.__getitem__, arguments)
        of_keys, of_values = Input(keys, TRANSFORMATION, passes=False), Input(values, TRANSFORMATION)
        self._graph[expression].build("map", [(KEYS, of_keys), (VALUES, of_values)])

    def _array(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        values = map(self._graph.__getitem__, arguments)
        items = [(Part(item=at), Input(value, TRANSFORMATION)) for at, value in enumerate(values)]
        self._graph[expression].build("array", items)

    def _zip_arrays(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        fields = self._plan.struct_fields(expression)
        names = [name for name, _ in fields] if len(fields) == len(arguments) else [""] * len(arguments)
        built: BuiltValue[Reference] = BuiltValue("struct", is_listed=bool(fields))
        built.parts = [
            (Part(name, at), Input(self._graph[argument], TRANSFORMATION))
            for at, (name, argument) in enumerate(zip(names, arguments, strict=True))
        ]
        self._add_built(expression, built)

    def _parse(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add a text that is parsed by a schema: each field is computed from the whole text."""
        text = Input(self._graph[arguments[0]], TRANSFORMATION, passes=False)
        self._graph[expression].inputs.append(text)
        waiting = [(expression, self._plan.type_id(expression), frozenset[str]())]
        while waiting:
            node, whole_type, around = waiting.pop()
            fields = self._plan.fields_of_type(whole_type)
            if not fields:
                continue
            built = self._graph[node].built = BuiltValue("struct", is_listed=True)
            around |= {whole_type}
            for position, (name, data_type) in enumerate(fields):
                value = text
                if data_type not in around and self._plan.fields_of_type(data_type):
                    inner = f"{node}/{name}"
                    value = Input(self._graph[inner], TRANSFORMATION)
                    value.value.inputs = [text]
                    waiting.append((inner, data_type, around))
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
        self._graph[expression].inputs.append(Input(self._graph[arguments[0]], step))

    def _convert(self, node: Node, value: Node, step: Transformation, from_type: str, to_type: str) -> None:
        """Add a struct under the names of another type."""
        plan, graph = self._plan, self._graph
        waiting = [(node, graph[value], from_type, to_type, frozenset[str]())]
        while waiting:
            node, whole, from_type, to_type, around = waiting.pop()
            around |= {to_type}
            built = graph[node].built = BuiltValue("struct", is_listed=True)
            pairs = zip(plan.fields_of_type(from_type), plan.fields_of_type(to_type), strict=False)
            for position, ((own, own_type), (name, data_type)) in enumerate(pairs):
                field = whole.part(Part(own, position))
                if data_type not in around and plan.has_other_names(own_type, data_type):
                    inner = f"{node}/{name}"
                    graph[inner].add(field)
                    waiting.append((inner, field, own_type, data_type, around))
                    field = graph[inner]
                built.parts.append((Part(name, position), Input(field, step)))
            if not graph[node].inputs:
                graph[node].add(whole)

    # Values that are copies

    def _add_copied(self, expression: Node) -> bool:
        """Add a value that repeats another part by part; False if it is none."""
        original = self._copied.original(expression)
        if original is None or original[0] == expression:
            return False
        node, path = original
        self._graph[expression].add(self._graph[node].field(path))
        return True

    def _choice(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add an IF; one that only keeps the null of a struct changes nothing."""
        if self._add_copied(expression):
            return
        self._add_by_roles(expression, "If", arguments)

    def _text(self, expression: Node, arguments: tuple[Node, ...]) -> None:
        """Add an expression of which only the text is known, with the step and the field of each column."""
        params = self._plan.params(expression)
        steps, paths = params.get("steps") or (), params.get("paths") or ()
        for argument, step, path in zip(arguments, steps, paths, strict=False):
            self._graph[expression].add(self._graph[argument].field(path), Transformation[step])


_Rule = Callable[[NestedValues, Node, tuple[Node, ...]], None]
_RULES: Mapping[str, _Rule] = {
    "GetStructField": NestedValues._struct_field,
    "GetArrayStructFields": NestedValues._struct_field,
    **dict.fromkeys(("GetMapValue", "GetArrayItem", "ElementAt"), NestedValues._entry),
    "MapKeys": NestedValues._map_keys,
    "MapValues": NestedValues._map_values,
    "CreateNamedStruct": NestedValues._struct,
    "UpdateFields": NestedValues._update_struct,
    "CreateMap": NestedValues._map,
    "MapFromArrays": NestedValues._map_of_arrays,
    "CreateArray": NestedValues._array,
    "ArraysZip": NestedValues._zip_arrays,
    **dict.fromkeys(
        ("JsonToStructs", "CsvToStructs", "XmlToStructs", "AvroDataToCatalyst", "ProtobufDataToCatalyst"),
        NestedValues._parse,
    ),
    **dict.fromkeys(CASTS, NestedValues._cast),
    "If": NestedValues._choice,
    TEXT_EXPRESSION: NestedValues._text,
}
