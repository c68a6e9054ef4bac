"""Values that repeat another one part by part: they are the other value.

Spark compares the types of a query and its target field by field, and writes a struct as
``if(s IS NULL, null, named_struct('a', s.a, 'b', s.b))``, an array of structs by `transform`, a map by its
two sides, even where nothing changes.
"""

from typing import NamedTuple

from lineage_merge.column_lineage.parts import Part
from lineage_merge.model.graph_walks import parts_first
from lineage_merge.sources.spline.columns.argument_roles import is_transparent
from lineage_merge.sources.spline.columns.documents import PlanColumns

# In a path, for the sides of a map: no field has such a name.
_SIDES = {"MapKeys": "\0keys", "MapValues": "\0values"}


class _Copy(NamedTuple):
    """A field of an attribute or of a variable: `base` identifies it, `node` is one of its occurrences."""

    base: str
    path: tuple[str, ...]
    node: str


class CopiedValues:
    """Determines the values of one plan that are copies."""

    def __init__(self, plan: PlanColumns) -> None:
        self._plan = plan
        self._copies: dict[str, _Copy | None] = {}

    def original(self, expression: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the node and the names below it that an expression is a copy of; None if it is no copy."""
        for node in parts_first([expression], lambda node: () if node in self._copies else self._parts(node)):
            if node not in self._copies:
                self._copies[node] = self._copy(node)
        copy = self._copies[expression]
        return (copy.node, copy.path) if copy else None

    def _parts(self, node: str) -> tuple[str, ...]:
        """Return the values that have to be copies, too."""
        plan, arguments = self._plan, self._plan.arguments.get(node, ())
        name = plan.class_name(node)
        if name == "CreateNamedStruct":
            return arguments[1::2]
        if name == "GetStructField" or name in _SIDES or is_transparent(name):
            return arguments[:1]
        if name == "ArrayTransform" and len(arguments) == 2:
            return (arguments[0], *plan.arguments.get(arguments[1], ())[:2])
        if name == "MapFromArrays":
            return arguments
        if name == "If" and self._keeps_null(arguments):
            return (arguments[2], *plan.arguments.get(arguments[0], ()))
        return ()

    def _keeps_null(self, arguments: tuple[str, ...]) -> bool:
        """Return whether the arguments of an IF are ``value IS NULL, null, ...``."""
        plan = self._plan
        if len(arguments) != 3 or plan.class_name(arguments[0]) != "IsNull":
            return False
        null = arguments[1]
        if plan.class_name(null) == "Cast":
            null = next(iter(plan.arguments.get(null, ())), null)
        return plan.class_name(null) == "Literal" and plan.expressions[null].get("value") is None

    def _copy(self, node: str) -> _Copy | None:
        plan = self._plan
        name = plan.class_name(node)
        if node in plan.attributes:
            return _Copy(node, (), node)
        if name == "NamedLambdaVariable":
            # Each occurrence may be a document of its own.
            return _Copy(f"variable {plan.params(node).get('name')}", (), node)
        parts = [copy for part in self._parts(node) if (copy := self._copies.get(part))]
        if not parts or len(parts) < len(self._parts(node)):
            return None
        first, *others = parts
        match name:
            case "GetStructField":
                field = read_field(plan, node)
                return first._replace(path=(*first.path, field.name)) if field and field.name else None
            case "MapKeys" | "MapValues":
                return first._replace(path=(*first.path, _SIDES[name]))
            case "ArrayTransform":
                return first if len(others) == 2 and others[0][:2] == others[1][:2] else None
            case "MapFromArrays":
                names = list(_SIDES.values())
            case "If":
                return first if first[:2] == others[0][:2] else None
            case "CreateNamedStruct":
                names = [str(plan.constant(key)) for key in plan.arguments[node][0::2]]
            case _:
                return first
        path = first.path[:-1]
        if [copy[:2] for copy in parts] != [(first.base, (*path, part)) for part in names]:
            return None
        is_whole = name == "MapFromArrays" or self._field_names(first.node, path) == names
        return first._replace(path=path) if is_whole else None

    def _field_names(self, value: str, path: tuple[str, ...]) -> list[str]:
        fields = (step for step in path if step not in _SIDES.values())
        return [name for name, _ in self._plan.struct_fields(value, fields)]


def read_field(plan: PlanColumns, expression: str) -> Part | None:
    """Return the field that an expression reads: `struct.*` has only positions."""
    params = plan.params(expression)
    position = params.get("ordinal")
    fields = plan.struct_fields(plan.arguments[expression][0])
    if isinstance(position, int) and 0 <= position < len(fields):
        return Part(fields[position][0], position)
    written = params.get("name") or params.get("field")
    name = written.get("name") if isinstance(written, dict) else written
    # StructField(sku,StringType,true)
    name = str(name or "").removeprefix("StructField(").partition(",")[0]
    known = position if isinstance(position, int) else None
    return Part(name, known) if name or known is not None else None
