"""Expressions of a plan in the form of the agent: functions, constants, types, references to attributes."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, tzinfo
from typing import Any

from lineage_merge.column_lineage.data_types import type_of_json
from lineage_merge.sources.spline.columns.argument_roles import CASTS, SELECTED
from lineage_merge.spark_capture.plan_tree import (
    Json,
    PlanNode,
    bottom_up,
    expression_id,
    singleton,
)
from lineage_merge.spark_capture.session import JvmSession

Ref = dict[str, str]
# Attribute ids by Spark's ids, in the operation of the expression.
AttributeIds = Mapping[int, str]

_PACKAGE = "org.apache.spark.sql.catalyst.expressions."
# Names that are never shown: these are written as operators, or not at all.
_NAMELESS = frozenset(
    """
    Add Alias And CaseWhen Cast Divide EqualNullSafe EqualTo GreaterThan GreaterThanOrEqual If In
    IsNotNull IsNull LessThan LessThanOrEqual Like Multiply Not Or Remainder SortOrder Subtract
    AggregateExpression WindowExpression WindowSpecDefinition SpecifiedWindowFrame
    """.split()
)
_SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})
# Fields that describe what a function does; others are internal to Spark, or contain code.
_PARAMS = ("name", "isDistinct", "ordinal", "field", "udfName", "numCols", "evalType")
# Expressions whose type has fields that their JSON lacks.
_UNTYPED = frozenset({"UpdateFields", "ArraysZip"})


class Expressions:
    """Collects the functions and constants of one plan.

    `subquery` reads a subquery's plan and returns its output attributes; `attribute` registers an attribute.
    `has_structs`: some expression builds a struct.
    """

    def __init__(
        self,
        metadata: JvmSession,
        subquery: Callable[[PlanNode, AttributeIds], list[str]],
        attribute: Callable[[str, Json], None],
    ) -> None:
        self._metadata = metadata
        self._subquery = subquery
        self._attribute = attribute
        self.functions: list[dict[str, Any]] = []
        self.constants: list[dict[str, Any]] = []
        self.types: dict[str, dict[str, Any]] = {}
        self.has_structs = False

    def reference(self, root: PlanNode, names: AttributeIds, outer: AttributeIds) -> Ref:
        """Return a reference to the value of an expression; `outer` has the names of the outer query."""
        refs: dict[int, Ref] = {}
        for node in bottom_up(root):
            refs[id(node)] = self._one(node, [refs[id(child)] for child in node.children], names, outer)
        return refs[id(root)]

    def data_type(self, data_type: Any) -> dict[str, str]:
        """Return ``{"dataType": id}``, or an empty dict if the type is unknown."""
        text = type_of_json(data_type)
        if not text:
            return {}
        waiting = [(text, data_type)]
        while waiting:
            known, data_type = waiting.pop()
            if known not in self.types:
                self.types[known], inner = _type_document(data_type)
                waiting.extend(inner)
        return {"dataType": text}

    def _add_type(self, reference: Ref, node: PlanNode) -> None:
        """Add the type of an expression whose fields an expression above it reads by position."""
        identifier = reference.get("__exprId", "")
        if identifier.startswith("expr-"):
            function = self.functions[int(identifier.removeprefix("expr-"))]
            if "dataType" not in function:
                function.update(self.data_type(self._metadata.data_type(node)))

    def function(self, class_name: str, name: str, children: list[Ref], **more: Any) -> Ref:
        """Add a function."""
        identifier = f"expr-{len(self.functions)}"
        extra = {"simpleClassName": class_name} if class_name else {}
        self.functions.append({"id": identifier, "name": name, "childRefs": children, "extra": extra, **more})
        return {"__exprId": identifier}

    def _one(self, node: PlanNode, children: list[Ref], names: AttributeIds, outer: AttributeIds) -> Ref:
        name = node.name
        if name == "AttributeReference":
            return self._name_fields(node.fields, names)
        if name == "OuterReference":
            inside = node.fields.get("e") or [{}]
            return (
                self._name_fields(inside[0], outer)
                if "exprId" in inside[0]
                else self.function(name, name, [])
            )
        if name == "Literal":
            return self._literal(node)
        if name in _SUBQUERIES:
            selected = self._subquery(node, {**outer, **names})
            if name in ("Exists", "LateralSubquery"):
                return self.function("Exists", "exists", [])
            if name == "ScalarSubquery":
                selected = selected[:1]
            return self.function(SELECTED, "select", [{"__attrId": attribute} for attribute in selected])
        params = {key: node.fields[key] for key in _PARAMS if node.fields.get(key) is not None}
        if name == "SortOrder":
            params["direction"] = "DESC" if "Desc" in singleton(node.fields.get("direction")) else "ASC"
        called = name.rstrip("$").lower() if name in _NAMELESS else self._metadata.function_name(node)
        data_type = node.fields.get("dataType") or node.fields.get("schema")
        self.has_structs |= name == "CreateNamedStruct"
        if name in _UNTYPED:
            data_type = self._metadata.data_type(node)
        more = self.data_type(data_type)
        if (
            name == "Inline"
            or (name == "GetStructField" and "name" not in params)
            or (name in CASTS and "struct<" in more.get("dataType", ""))
        ):
            self._add_type(children[0], node.children[0])
        class_name = node.class_name.removeprefix(_PACKAGE)
        return self.function(class_name, called, children, params=params, **more)

    def _name_fields(self, fields: Json, names: AttributeIds) -> Ref:
        spark_id = expression_id(fields)
        identifier = names.get(spark_id) or f"attr-{spark_id}"
        self._attribute(identifier, fields)
        return {"__attrId": identifier}

    def _literal(self, node: PlanNode) -> Ref:
        identifier = f"const-{len(self.constants)}"
        data_type = type_of_json(node.fields.get("dataType"))
        value = constant(node.fields.get("value"), data_type, self._metadata.zone)
        extra = {"simpleClassName": "Literal"}
        more = self.data_type(node.fields.get("dataType"))
        self.constants.append({"id": identifier, "value": value, "extra": extra, **more})
        return {"__exprId": identifier}


_DAY_ONE = date(1970, 1, 1).toordinal()
_WHOLE = frozenset({"tinyint", "smallint", "int", "bigint"})


def constant(text: str | None, data_type: str, zone: tzinfo) -> Any:
    """Return the value of a literal from Spark's text, with times as its JVM shows them, in `zone`."""
    if text is None:
        return None
    try:
        if data_type in _WHOLE or data_type.startswith("interval"):
            return int(text)
        if data_type in ("float", "double"):
            return float(text)
        if data_type == "boolean":
            return text == "true"
        if data_type == "date":
            return date.fromisoformat(text).toordinal() - _DAY_ONE
        if data_type == "timestamp":
            moment = datetime.fromisoformat(_whole_fraction(text)).replace(tzinfo=zone)
            return _microseconds(moment.astimezone(UTC))
        if data_type == "timestamp_ntz":
            return int(text)
    except ValueError:
        return text
    # Bytes are printed as a memory address, which differs each time.
    return "..." if data_type == "binary" else text


def _whole_fraction(text: str) -> str:
    """Pad ``12:00:00.5`` to ``12:00:00.500000``."""
    whole, point, fraction = text.partition(".")
    return f"{whole}.{fraction[:6]:0<6}" if point else whole


def _microseconds(moment: datetime) -> int:
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _type_document(data_type: Any) -> tuple[dict[str, Any], list[tuple[str, Any]]]:
    """Return a type as the agent describes it, by the texts of the types in it, and these types."""
    text = type_of_json(data_type)
    while isinstance(data_type, dict) and data_type.get("type") == "udt":
        data_type = data_type.get("sqlType")
    document: dict[str, Any] = {"id": text}
    inner: list[tuple[str, Any]] = []
    match data_type.get("type") if isinstance(data_type, dict) else "":
        case "struct":
            inner = [
                (type_of_json(part.get("type")), part.get("type")) for part in data_type.get("fields") or ()
            ]
            names = [str(field["name"]) for field in data_type.get("fields") or ()]
            listed = [
                {"name": name, "dataTypeId": part} for name, (part, _) in zip(names, inner, strict=True)
            ]
            document |= {"_typeHint": "dt.Struct", "fields": listed}
        case "array":
            element = data_type.get("elementType")
            inner = [(type_of_json(element), element)]
            document |= {"_typeHint": "dt.Array", "elementDataTypeId": inner[0][0]}
        case "map":
            # The agent has only the text.
            value = data_type.get("valueType")
            inner = [(type_of_json(value), value)]
            document |= {"_typeHint": "dt.Simple", "name": text, "valueDataTypeId": inner[0][0]}
        case _:
            document |= {"_typeHint": "dt.Simple", "name": text}
    return document, inner
