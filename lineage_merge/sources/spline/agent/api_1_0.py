"""Conversion of producer API 1.0 plans to the form of 1.2. Pure.

Version 1.0 has numbers as operation ids, names in `extra`, attributes in `extraInfo`, and each expression
written out where it is used (``_typeHint``). It does not say which expression computes which attribute: that
is determined by position, according to Spark's operations, and for unions by the position of columns below.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.spline.columns.argument_roles import class_of_hint
from lineage_merge.sources.spline.columns.documents import values_by_position
from lineage_merge.sources.spline.documents import Document

Reference = dict[str, str]


def is_1_0(plan: Mapping[str, Any]) -> bool:
    """Return whether a plan has version 1.0: its operation ids are numbers."""
    return isinstance(plan["operations"]["write"].get("id"), int)


def modern(plan: Document) -> Document:
    """Return the plan in the form of version 1.2.

    Raises `RecursionError` for too deeply nested expressions.
    """
    return _Plan(plan).modern()


class _Plan:
    """A plan during its conversion."""

    def __init__(self, plan: Document) -> None:
        self._plan = plan
        self._functions: list[Document] = []
        self._constants: list[Document] = []
        extra = plan.get("extraInfo") or {}
        self._attributes: dict[str, Document] = {
            attribute["id"]: {
                "id": attribute["id"],
                "name": attribute["name"],
                "dataType": attribute.get("dataTypeId"),
            }
            for attribute in extra.get("attributes") or ()
        }
        operations = plan["operations"]
        self._originals: dict[int, Document] = {
            read["id"]: read for read in (*(operations.get("reads") or ()), *(operations.get("other") or ()))
        }

    def modern(self) -> Document:
        operations = self._plan["operations"]
        write = self._operation(operations["write"])
        reads = [self._operation(read) for read in operations.get("reads") or ()]
        others = [self._operation(operation) for operation in operations.get("other") or ()]
        extra = dict(self._plan.get("extraInfo") or {})
        extra.pop("attributes", None)
        return {
            **self._plan,
            "name": self._plan.get("name") or extra.get("appName"),
            "operations": {"write": write, "reads": reads, "other": others},
            "attributes": list(self._attributes.values()),
            "expressions": {"functions": self._functions, "constants": self._constants},
            "extraInfo": extra,
        }

    def _operation(self, operation: Document) -> Document:
        extra = dict(operation.get("extra") or {})
        name = extra.pop("name", None)
        params = {key: self._value(value) for key, value in (operation.get("params") or {}).items()}
        modern = {
            **operation,
            "id": _id(operation["id"]),
            "name": name,
            "childIds": [_id(child) for child in operation.get("childIds") or ()],
            "params": params,
            "extra": extra,
        }
        schema = modern.pop("schema", None)
        if schema:
            modern["output"] = schema
            self._compute(operation, str(name), params, schema)
        return modern

    def _value(self, value: Any) -> Any:
        """Return a parameter with its expressions replaced by references."""
        if isinstance(value, list):
            return [self._value(member) for member in value]
        if not isinstance(value, dict):
            return value
        if str(value.get("_typeHint")).startswith("expr."):
            return self._expression(value)
        return {name: self._value(child) for name, child in value.items()}

    def _expression(self, given: Document) -> Reference:
        hint = str(given["_typeHint"])
        if hint == "expr.AttrRef":
            return {"__attrId": str(given.get("refId"))}
        key = f"expr-{len(self._functions) + len(self._constants)}"
        symbol = str(given.get("symbol") or "")
        kind = given.get("exprType") or class_of_hint(hint, symbol)
        extra = {"_typeHint": hint} | ({"simpleClassName": kind} if kind else {})
        made: Document = {"id": key, "dataType": given.get("dataTypeId"), "extra": extra}
        if hint == "expr.Literal":
            self._constants.append({**made, "value": given.get("value")})
            return {"__exprId": key}
        name = str(given.get("alias") if hint == "expr.Alias" else given.get("name") or kind or symbol)
        made["name"] = name.lower() if hint == "expr.Binary" else name
        if symbol:
            extra["symbol"] = symbol
        # The expression precedes its operands, so that each has its own key.
        self._functions.append(made)
        made["params"] = {name: self._value(part) for name, part in (given.get("params") or {}).items()}
        if hint == "expr.Alias":
            made["params"]["name"] = made["name"]
        children = given.get("children") or ([given["child"]] if given.get("child") else [])
        made["childRefs"] = [
            self._expression(child) for child in children if isinstance(child, dict) and "_typeHint" in child
        ]
        return {"__exprId": key}

    def _compute(self, operation: Document, name: str, params: Document, schema: list[str]) -> None:
        """Record which expressions compute the new attributes of an operation."""
        below = [self._output(child) for child in operation.get("childIds") or ()]
        known = {attribute for output in below for attribute in output}
        for attribute, made_by in self._expressions_by_position(name, params, schema, known, below):
            document = self._attributes.get(attribute)
            if document is not None and attribute not in known and "childRefs" not in document:
                document["childRefs"] = [made_by]

    def _expressions_by_position(
        self, name: str, params: Document, schema: list[str], known: set[str], below: list[list[str]]
    ) -> Iterator[tuple[str, Reference]]:
        def parameter(key: str) -> list[Any]:
            value = params.get(key)
            return value if isinstance(value, list) else [value]

        for attribute, value in values_by_position(name, parameter, schema, known):
            if _is_expression(value):
                yield attribute, value
        if name == "Union" and below and all(len(output) == len(schema) for output in below):
            for position, attribute in enumerate(schema):
                if attribute not in known:
                    yield attribute, self._union([output[position] for output in below], attribute)

    def _union(self, sources: Iterable[str], attribute: str) -> Reference:
        key = f"expr-{len(self._functions) + len(self._constants)}"
        children = [{"__attrId": source} for source in sources]
        made = {"id": key, "name": "union", "childRefs": children, "params": {}, "extra": {}}
        self._functions.append({**made, "dataType": self._attributes.get(attribute, {}).get("dataType")})
        return {"__exprId": key}

    def _output(self, operation: int) -> list[str]:
        """Return the output of an operation: its schema, or that of the first one below with a schema."""
        seen: set[int] = set()
        while operation in self._originals and operation not in seen:
            seen.add(operation)
            original = self._originals[operation]
            if original.get("schema"):
                return [*original["schema"]]
            children = original.get("childIds") or ()
            if not children:
                break
            operation = children[0]
        return []


def _id(number: object) -> str:
    """Return the operation's id in later versions: ``op-3``."""
    return f"op-{number}"


def _is_expression(value: object) -> bool:
    return isinstance(value, dict) and "__exprId" in value
