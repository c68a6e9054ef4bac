"""Agent messages from the documents of a database, also in older versions."""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from lineage_merge.sources.spline.database_state import Snapshot, newest
from tests.spline_documents import Document

Message = tuple[str, Document]


def line(message: Message) -> str:
    """``["plan", {...}]``."""
    return json.dumps(message)


def of_database(collections: Mapping[str, list[Document]]) -> list[Message]:
    """The plans and events that a `SplineDatabase` holds, without those that its snapshot hides."""
    opened = frozenset(each["_key"] for each in collections.get("txInfo", ()))
    snapshot = Snapshot(opened, newest(collections.get("counter", ())))
    documents = {
        name: [each for each in documents if not snapshot.hides(each)]
        for name, documents in collections.items()
    }
    headers = {each["_key"]: each for each in documents["executionPlan"]}
    plans = [("plan", _plan(header, documents)) for header in headers.values()]
    events = [("event", _event(each)) for each in documents.get("progress", ()) if each["planKey"] in headers]
    return [*plans, *events]


def _plan(header: Document, documents: Mapping[str, list[Document]]) -> Document:
    key = header["_key"]
    own = {
        name: [each for each in found if each.get("_belongsTo") == f"executionPlan/{key}"]
        for name, found in documents.items()
    }
    children: defaultdict[str, list[str]] = defaultdict(list)
    for edge in sorted(own["follows"], key=lambda each: each["index"]):
        children[edge["_from"].rpartition(":")[2]].append(edge["_to"].rpartition(":")[2])
    by_type: defaultdict[str, list[Document]] = defaultdict(list)
    for each in own["operation"]:
        name = each["_key"].rpartition(":")[2]
        fields = ("name", "params", "extra", "inputSources", "outputSource", "append")
        operation = {field: each[field] for field in fields if field in each}
        by_type[each["type"]].append({"id": name, "childIds": children[name], **operation})
    for edge in own.get("uses", ()):
        operation = next(
            o for kind in by_type.values() for o in kind if edge["_from"].endswith(f":{o['id']}")
        )
        operation["params"] = {"condition": {"__exprId": edge["_to"].rpartition(":")[2]}}
    takes: defaultdict[str, list[Document]] = defaultdict(list)
    for edge in own.get("takes", ()):
        takes[edge["_from"].rpartition(":")[2]].append({"__exprId": edge["_to"].rpartition(":")[2]})
    functions = [
        {
            "id": (name := each["_key"].rpartition(":")[2]),
            "name": each["name"],
            "params": each["params"],
            "childRefs": takes[name],
        }
        for each in own.get("expression", ())
    ]
    return {
        "id": key,
        **({"name": header["name"]} if "name" in header else {}),
        "labels": header["labels"],
        "operations": {
            **({"write": by_type["Write"][0]} if by_type["Write"] else {}),
            "reads": by_type["Read"],
            "other": by_type["Transformation"],
        },
        "expressions": {"functions": functions},
        "systemInfo": header["systemInfo"],
        "extraInfo": header["extra"],
    }


def _event(document: Document) -> Document:
    names = ("timestamp", "durationNs", "labels", "error", "extra")
    return {"planId": document["planKey"], **{n: document[n] for n in names if n in document}}


def as_1_1(message: Message) -> Message:
    """A message of version 1.2 as agents write it in 1.1: there are no labels."""
    kind, body = message
    return kind, {name: value for name, value in body.items() if name != "labels"}


def as_1_0(message: Message) -> Message:
    """A message of version 1.2 as the agent's mapper for 1.0 writes it."""
    kind, body = message
    if kind == "event":
        extra = {**body.get("extra", {}), "durationNs": body["durationNs"]}
        return kind, {"planId": body["planId"], "timestamp": body["timestamp"], "extra": extra}
    expressions = body.get("expressions") or {}
    by_id = {each["id"]: each for part in ("constants", "functions") for each in expressions.get(part) or ()}
    operations = body["operations"]
    attributes = [
        {"id": each["id"], "name": each["name"], "dataTypeId": each.get("dataType")}
        for each in body.get("attributes") or ()
    ]
    return kind, {
        "id": body["id"],
        "operations": {
            "write": {"schema": None, **_operation(operations["write"], by_id)},
            "reads": [_operation(each, by_id) for each in operations.get("reads") or ()],
            "other": [_operation(each, by_id) for each in operations.get("other") or ()],
        },
        "systemInfo": body["systemInfo"],
        "agentInfo": body.get("agentInfo"),
        "extraInfo": {**body["extraInfo"], "attributes": attributes, "appName": body["name"]},
    }


def _number(name: str) -> int:
    found = re.fullmatch(r"op-(\d+)", name)
    assert found
    return int(found[1])


def _operation(operation: Document, by_id: Mapping[str, Document]) -> Document:
    fields: Document = {
        each: operation[each] for each in ("inputSources", "outputSource", "append") if each in operation
    }
    schema: Document = {"schema": operation["output"]} if "output" in operation else {}
    return {
        **fields,
        **schema,
        "id": _number(operation["id"]),
        "childIds": [_number(child) for child in operation.get("childIds") or ()],
        "params": _value(operation.get("params") or {}, by_id),
        "extra": {**(operation.get("extra") or {}), "name": operation.get("name")},
    }


def _value(value: Any, by_id: Mapping[str, Document]) -> Any:
    if isinstance(value, list):
        return [_value(each, by_id) for each in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {"__attrId"}:
        return {"_typeHint": "expr.AttrRef", "refId": value["__attrId"]}
    if set(value) == {"__exprId"}:
        return _expression(by_id[value["__exprId"]], by_id)
    return {name: _value(each, by_id) for name, each in value.items()}


_FIELDS = {
    "expr.Generic": ("name", "dataTypeId", "children", "exprType", "params"),
    "expr.GenericLeaf": ("name", "dataTypeId", "exprType", "params"),
    "expr.Alias": ("alias", "child"),
    "expr.Binary": ("symbol", "dataTypeId", "children"),
    "expr.UDF": ("name", "dataTypeId", "children"),
    "expr.UntypedExpression": ("name", "children", "exprType", "params"),
    "expr.Literal": ("value", "dataTypeId"),
}


def _expression(expression: Document, by_id: Mapping[str, Document]) -> Document:
    extra = expression["extra"]
    hint = extra["_typeHint"]
    children: Iterable[Any] = [_value(each, by_id) for each in expression.get("childRefs") or ()]
    known = {
        "name": expression.get("name"),
        "alias": expression.get("name"),
        "dataTypeId": expression.get("dataType"),
        "children": children,
        "child": next(iter(children), None),
        "exprType": extra.get("simpleClassName"),
        "symbol": extra.get("symbol"),
        "params": expression.get("params") or {},
        "value": expression.get("value"),
    }
    return {"_typeHint": hint, **{name: known[name] for name in _FIELDS[hint]}}
