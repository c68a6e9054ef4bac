"""Plans of the producer API 1.0 in the form of 1.2. Pure.

Version 1.0 has numbers for operations' ids, names in `extra`, attributes in `extraInfo`, and each expression
written out where it is used (``_typeHint``). It does not say which expression makes which attribute: that
stands by position, as the operations of Spark have it, and a union's columns by position below it.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.sources.spline.columns.argument_roles import class_of_hint
from lineage_merge.sources.spline.columns.positions import makers
from lineage_merge.sources.spline.documents import Document

Reference = dict[str, str]


def is_1_0(plan: Mapping[str, Any]) -> bool:
    """Whether a plan is of version 1.0: its operations' ids are numbers."""
    return isinstance(plan["operations"]["write"].get("id"), int)


def modern(plan: Document) -> Document:
    """The same plan as version 1.2 has it. Raises `RecursionError` for expressions nested too deeply."""
    return _Plan(plan).modern()


class _Plan:
    """One plan on its way."""

    def __init__(self, plan: Document) -> None:
        self._plan = plan
        self._functions: list[Document] = []
        self._constants: list[Document] = []
        extra = plan.get("extraInfo") or {}
        self._attributes: dict[str, Document] = {
            each["id"]: {"id": each["id"], "name": each["name"], "dataType": each.get("dataTypeId")}
            for each in extra.get("attributes") or ()
        }
        operations = plan["operations"]
        self._originals: dict[int, Document] = {
            each["id"]: each for each in (*(operations.get("reads") or ()), *(operations.get("other") or ()))
        }

    def modern(self) -> Document:
        operations = self._plan["operations"]
        write = self._operation(operations["write"])
        reads = [self._operation(each) for each in operations.get("reads") or ()]
        others = [self._operation(each) for each in operations.get("other") or ()]
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
        """A parameter: expressions inside it become references."""
        if isinstance(value, list):
            return [self._value(each) for each in value]
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
        # It stands before what it is made of, so that each has a key of its own.
        self._functions.append(made)
        made["params"] = {name: self._value(each) for name, each in (given.get("params") or {}).items()}
        if hint == "expr.Alias":
            made["params"]["name"] = made["name"]
        children = given.get("children") or ([given["child"]] if given.get("child") else [])
        made["childRefs"] = [
            self._expression(each) for each in children if isinstance(each, dict) and "_typeHint" in each
        ]
        return {"__exprId": key}

    def _compute(self, operation: Document, name: str, params: Document, schema: list[str]) -> None:
        """Say of the attributes that are new in an operation by which expressions they are made."""
        below = [self._output(child) for child in operation.get("childIds") or ()]
        known = {attribute for output in below for attribute in output}
        for attribute, made_by in self._makers(name, params, schema, known, below):
            document = self._attributes.get(attribute)
            if document is not None and attribute not in known and "childRefs" not in document:
                document["childRefs"] = [made_by]

    def _makers(
        self, name: str, params: Document, schema: list[str], known: set[str], below: list[list[str]]
    ) -> Iterator[tuple[str, Reference]]:
        def parameter(key: str) -> list[Any]:
            value = params.get(key)
            return value if isinstance(value, list) else [value]

        for attribute, value in makers(name, parameter, schema, known):
            if _is_expression(value):
                yield attribute, value
        if name == "Union" and below and all(len(output) == len(schema) for output in below):
            for position, attribute in enumerate(schema):
                if attribute not in known:
                    yield attribute, self._union([output[position] for output in below], attribute)

    def _union(self, sources: Iterable[str], attribute: str) -> Reference:
        key = f"expr-{len(self._functions) + len(self._constants)}"
        children = [{"__attrId": each} for each in sources]
        made = {"id": key, "name": "union", "childRefs": children, "params": {}, "extra": {}}
        self._functions.append({**made, "dataType": self._attributes.get(attribute, {}).get("dataType")})
        return {"__exprId": key}

    def _output(self, operation: int) -> list[str]:
        """What an operation puts out: its schema, or that of the first one below that has any."""
        seen: set[int] = set()
        while operation in self._originals and operation not in seen:
            seen.add(operation)
            found = self._originals[operation]
            if found.get("schema"):
                return [*found["schema"]]
            children = found.get("childIds") or ()
            if not children:
                break
            operation = children[0]
        return []


def _id(number: object) -> str:
    """``op-3``: what the agent calls the operation in later versions."""
    return f"op-{number}"


def _is_expression(value: object) -> bool:
    return isinstance(value, dict) and "__exprId" in value
