"""Expressions of a plan in the agent's form: functions, constants, and references to attributes."""

from collections.abc import Callable, Mapping
from typing import Any

from lineage_merge.sources.spline.columns.argument_roles import SELECTED
from lineage_merge.spark_capture.constants import constant
from lineage_merge.spark_capture.data_types import sql_type
from lineage_merge.spark_capture.plan_tree import Json, Node, bottom_up, expression_id, singleton
from lineage_merge.spark_capture.spark_metadata import SparkMetadata

Ref = dict[str, str]
# Attribute ids by Spark's ids, in the operation of the expression.
AttributeIds = Mapping[int, str]

_PACKAGE = "org.apache.spark.sql.catalyst.expressions."
# Names that are never shown: these are written as operators, or not at all.
_NAMELESS = frozenset(
    [
        "Add",
        "Alias",
        "And",
        "CaseWhen",
        "Cast",
        "Divide",
        "EqualNullSafe",
        "EqualTo",
        "GreaterThan",
        "GreaterThanOrEqual",
        "If",
        "In",
        "IsNotNull",
        "IsNull",
        "LessThan",
        "LessThanOrEqual",
        "Like",
        "Multiply",
        "Not",
        "Or",
        "Remainder",
        "SortOrder",
        "Subtract",
        "AggregateExpression",
        "WindowExpression",
        "WindowSpecDefinition",
        "SpecifiedWindowFrame",
    ]
)
_SUBQUERIES = frozenset({"ScalarSubquery", "ListQuery", "Exists", "LateralSubquery"})
# Fields that describe what a function does; others are internal to Spark, or contain code.
_PARAMS = ("name", "isDistinct", "ordinal", "udfName", "numCols", "evalType")


class Expressions:
    """Collects the functions and constants of one plan.

    `subquery` reads a subquery's plan and returns its output attributes; `attribute` registers an attribute.
    """

    def __init__(
        self,
        metadata: SparkMetadata,
        subquery: Callable[[Node, AttributeIds], list[str]],
        attribute: Callable[[str, Json], None],
    ) -> None:
        self._metadata = metadata
        self._subquery = subquery
        self._attribute = attribute
        self.functions: list[dict[str, Any]] = []
        self.constants: list[dict[str, Any]] = []
        self.types: dict[str, str] = {}

    def reference(self, root: Node, names: AttributeIds, outer: AttributeIds) -> Ref:
        """Return a reference to the value of an expression; `outer` has the names of the outer query."""
        found: dict[int, Ref] = {}
        for node in bottom_up(root):
            found[id(node)] = self._one(node, [found[id(each)] for each in node.children], names, outer)
        return found[id(root)]

    def data_type(self, data_type: Any) -> dict[str, str]:
        """Return ``{"dataType": id}``, or an empty dict if the type is unknown."""
        text = sql_type(data_type)
        if not text:
            return {}
        self.types.setdefault(text, text)
        return {"dataType": text}

    def function(self, class_name: str, name: str, children: list[Ref], **more: Any) -> Ref:
        """Add a function."""
        identifier = f"expr-{len(self.functions)}"
        extra = {"simpleClassName": class_name} if class_name else {}
        self.functions.append({"id": identifier, "name": name, "childRefs": children, "extra": extra, **more})
        return {"__exprId": identifier}

    def _one(self, node: Node, children: list[Ref], names: AttributeIds, outer: AttributeIds) -> Ref:
        name = node.name
        if name == "AttributeReference":
            return self._named(node.fields, names)
        if name == "OuterReference":
            inside = node.fields.get("e") or [{}]
            return self._named(inside[0], outer) if "exprId" in inside[0] else self.function(name, name, [])
        if name == "Literal":
            return self._literal(node)
        if name in _SUBQUERIES:
            selected = self._subquery(node, {**outer, **names})
            if name in ("Exists", "LateralSubquery"):
                return self.function("Exists", "exists", [])
            if name == "ScalarSubquery":
                selected = selected[:1]
            return self.function(SELECTED, "select", [{"__attrId": each} for each in selected])
        params = {key: node.fields[key] for key in _PARAMS if node.fields.get(key) is not None}
        if name == "SortOrder":
            params["direction"] = "DESC" if "Desc" in singleton(node.fields.get("direction")) else "ASC"
        called = name.rstrip("$").lower() if name in _NAMELESS else self._metadata.function_name(node)
        more = self.data_type(node.fields.get("dataType"))
        class_name = node.class_name.removeprefix(_PACKAGE)
        return self.function(class_name, called, children, params=params, **more)

    def _named(self, fields: Json, names: AttributeIds) -> Ref:
        spark_id = expression_id(fields)
        identifier = names.get(spark_id) or f"attr-{spark_id}"
        self._attribute(identifier, fields)
        return {"__attrId": identifier}

    def _literal(self, node: Node) -> Ref:
        identifier = f"const-{len(self.constants)}"
        data_type = sql_type(node.fields.get("dataType"))
        value = constant(node.fields.get("value"), data_type, self._metadata.zone)
        extra = {"simpleClassName": "Literal"}
        more = self.data_type(node.fields.get("dataType"))
        self.constants.append({"id": identifier, "value": value, "extra": extra, **more})
        return {"__exprId": identifier}
