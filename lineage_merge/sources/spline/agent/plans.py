"""Conversion of the producer API's plans and events to the documents that Spline's server stores. Pure.

Follows the server's model builder: keys are ``{plan}:{id}``, an operation without output has its input's
schema, `derivesFrom` leads to the nearest attributes, `uses` to references in parameters.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from lineage_merge.model.graph_walks import sort_by_edges
from lineage_merge.sources.spline.agent.api_1_0 import is_1_0, modern
from lineage_merge.sources.spline.documents import Document, duration_ns, row_level_mode

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_REFERENCES = {"__attrId": "attribute", "__exprId": "expression"}


def plan_id(plan: Document) -> str:
    """Return a plan's id in canonical UUID spelling."""
    return str(plan["id"]).lower()


def header(plan: Document, label_heads: Collection[str] = ()) -> Document:
    """Return what events need of their plan, with the field names of an `executionPlan` document.

    ``details`` has the details of `progress`; of `extra` only the keys that may contain a requested label.
    """
    write = plan["operations"]["write"]
    system = plan.get("systemInfo") or {}
    extra = plan.get("extraInfo") or {}
    labels = plan.get("labels") or {}
    details = {
        "executionPlanKey": plan_id(plan),
        "frameworkName": f"{system.get('name') or ''} {system.get('version') or ''}".strip(),
        "applicationName": plan.get("name") or extra.get("appName"),
        "dataSourceUri": write["outputSource"],
        "dataSourceType": (write.get("extra") or {}).get("destinationType"),
        "labels": labels,
        # Rows that earlier writes of a run left are still there.
        "append": write.get("append") or bool(row_level_mode(write)),
    }
    label_fields = {name: extra[name] for name in label_heads if name in extra}
    return {"labels": labels, "extra": label_fields, "details": details}


def progress(event: Document, details: Mapping[str, Any]) -> Document:
    """Return the `progress` document of a validated event, with the details of its plan."""
    extra = event.get("extra") or {}
    timestamp = int(event["timestamp"])
    return {
        "_key": f"{details['executionPlanKey']}:{_base_36(timestamp)}",
        "timestamp": timestamp,
        "durationNs": duration_ns(event),
        "error": event.get("error"),
        "labels": event.get("labels") or {},
        "extra": extra,
        "execPlanDetails": details,
    }


def _base_36(number: int) -> str:
    text = ""
    while number:
        number, digit = divmod(number, 36)
        text = _DIGITS[digit] + text
    return text or "0"


def documents(plan: Document, created: int = 0) -> dict[str, list[Document]]:
    """Return the documents of a validated plan by collection; `created` is used as its time.

    Edges may refer to missing operations, as in a database.
    """
    made = _Builder(plan_id(plan))
    plan = modern(plan) if is_1_0(plan) else plan
    made.header(plan, created)
    operations = _operations(plan)
    for kind, operation in operations:
        made.operation(kind, operation)
    made.schemas([operation for _, operation in operations])
    attributes: list[Document] = plan.get("attributes") or []
    expressions: Document = plan.get("expressions") or {}
    functions: list[Document] = expressions.get("functions") or []
    for attribute in attributes:
        made.attribute(attribute)
    for constant in expressions.get("constants") or ():
        made.constant(constant)
    for function in functions:
        made.function(function)
    made.add_derived(attributes, functions)
    return dict(made.found)


def _operations(plan: Document) -> list[tuple[str, Document]]:
    operations = plan["operations"]
    reads = [("Read", read) for read in operations.get("reads") or ()]
    others = [("Transformation", operation) for operation in operations.get("other") or ()]
    return [*reads, *others, ("Write", operations["write"])]


def _reference(value: object) -> tuple[str, str] | None:
    """Return ``{"__attrId": "attr-1"}`` as ("attribute", "attr-1"); None for anything else."""
    if isinstance(value, dict) and len(value) == 1:
        name, target = next(iter(value.items()))
        if name in _REFERENCES and isinstance(target, str):
            return _REFERENCES[name], target
    return None


def _references(value: object, path: str) -> Iterator[tuple[str, str, str]]:
    """Yield the references in a parameter, each with its path in Spline's notation."""
    waiting = [(value, path)]
    while waiting:
        value, path = waiting.pop()
        reference = _reference(value)
        if reference:
            yield (*reference, path)
        elif isinstance(value, dict):
            waiting.extend((child, f"{path}['{name}']") for name, child in reversed(value.items()))
        elif isinstance(value, list):
            waiting.extend((child, f"{path}[{index}]") for index, child in reversed([*enumerate(value)]))


class _Builder:
    """Collects the documents of one plan."""

    def __init__(self, key: str) -> None:
        self._key = key
        self._owner = f"executionPlan/{key}"
        self.found: defaultdict[str, list[Document]] = defaultdict(list)

    def _id(self, collection: str, part: object) -> str:
        return f"{collection}/{self._key}:{part}"

    def _vertex(self, collection: str, part: object, fields: Mapping[str, Any]) -> None:
        own = {"_key": f"{self._key}:{part}", "_belongsTo": self._owner}
        self.found[collection].append({**own, **fields})

    def _edge(self, collection: str, start: str, end: str, **fields: object) -> None:
        edges = self.found[collection]
        # Numbered, so that parallel edges are distinct and ordered.
        key = f"{self._key}:{len(edges):06}"
        edges.append({"_key": key, "_from": start, "_to": end, "_belongsTo": self._owner, **fields})

    def header(self, plan: Document, created: int) -> None:
        names = ("name", "discriminator", "systemInfo", "agentInfo")
        own = {name: plan[name] for name in names if plan.get(name) is not None}
        texts = {"labels": plan.get("labels") or {}, "extra": _drop_nulls(plan.get("extraInfo") or {})}
        document = {"_key": self._key, "_created": created, **own, **texts}
        self.found["executionPlan"].append(document)

    def operation(self, kind: str, operation: Document) -> None:
        names = ("name", "inputSources", "outputSource", "append")
        own = {name: operation[name] for name in names if operation.get(name) is not None}
        params = _drop_nulls(operation.get("params") or {})
        texts = {"params": params, "extra": _drop_nulls(operation.get("extra") or {})}
        self._vertex("operation", operation["id"], {**own, **texts, "type": kind})
        start = self._id("operation", operation["id"])
        for index, child in enumerate(operation.get("childIds") or ()):
            self._edge("follows", start, self._id("operation", child), index=index)
        for collection, target, path in _references(params, "$['params']"):
            self._edge("uses", start, self._id(collection, target), path=path)

    def schemas(self, operations: list[Document]) -> None:
        """Add the schemas of operations: their own, or that of their input."""
        owners: dict[str, str] = {}  # the operation whose schema is passed on
        outputs: dict[str, list[str]] = {}
        for operation in _bottom_up(operations):
            key = operation["id"]
            below = [owners[child] for child in operation.get("childIds") or () if child in owners]
            output = operation.get("output")
            if not output:
                # The server rejects a plan in which this is ambiguous.
                is_plain = len(set(below)) == 1 and len(below) == len(operation.get("childIds") or ())
                if is_plain:
                    owners[key] = below[0]
                continue
            same = next((child for child in below if outputs[child] == output), None)
            owners[key] = same or key
            if same:
                continue
            outputs[key] = output
            schema = self._id("schema", key)
            for index, attribute in enumerate(output):
                self._edge("consistsOf", schema, self._id("attribute", attribute), index=index)
            known = {attribute for child in below for attribute in outputs[child]}
            for attribute in dict.fromkeys(output):
                if attribute not in known:
                    self._edge("produces", self._id("operation", key), self._id("attribute", attribute))
        for operation in operations:
            if operation["id"] in owners:
                schema = self._id("schema", owners[operation["id"]])
                self._edge("emits", self._id("operation", operation["id"]), schema)

    def attribute(self, attribute: Document) -> None:
        fields = {"name": attribute["name"], "extra": attribute.get("extra") or {}}
        self._vertex("attribute", attribute["id"], {**fields, **_data_type(attribute)})
        for index, child in enumerate(attribute.get("childRefs") or ()):
            reference = _reference(child)
            if reference and reference[0] == "expression":
                start = self._id("attribute", attribute["id"])
                self._edge("computedBy", start, self._id(*reference), index=index)

    def constant(self, literal: Document) -> None:
        fields = {"type": "Lit", "value": literal.get("value"), "extra": literal.get("extra") or {}}
        self._vertex("expression", literal["id"], {**fields, **_data_type(literal)})

    def function(self, function: Document) -> None:
        children = function.get("childRefs") or ()
        fields = {
            "type": "Func",
            "name": function.get("name"),
            "arity": len(children),
            "params": _drop_nulls(function.get("params") or {}),
            "extra": _drop_nulls(function.get("extra") or {}),
        }
        self._vertex("expression", function["id"], {**fields, **_data_type(function)})
        start = self._id("expression", function["id"])
        for index, child in enumerate(children):
            reference = _reference(child)
            if reference:
                self._edge("takes", start, self._id(*reference), index=index)

    def add_derived(self, attributes: Iterable[Document], functions: Iterable[Document]) -> None:
        """Add the nearest attributes from which each attribute is computed."""
        below = {function["id"]: function.get("childRefs") or () for function in functions}
        for attribute in attributes:
            seen: set[str] = set()
            waiting = list(attribute.get("childRefs") or ())
            nearest: dict[str, None] = {}
            while waiting:
                reference = _reference(waiting.pop(0))
                if reference and reference[0] == "attribute":
                    nearest[reference[1]] = None
                elif reference and reference[1] not in seen:
                    seen.add(reference[1])
                    waiting.extend(below.get(reference[1], ()))
            for source in nearest:
                if source != attribute["id"]:
                    start = self._id("attribute", attribute["id"])
                    self._edge("derivesFrom", start, self._id("attribute", source))


def _drop_nulls(value: Any) -> Any:
    """Return a parameter as the server stores it, without null values."""
    if isinstance(value, dict):
        return {name: _drop_nulls(member) for name, member in value.items() if member is not None}
    return [_drop_nulls(member) for member in value] if isinstance(value, list) else value


def _data_type(part: Document) -> dict[str, str]:
    return {} if part.get("dataType") is None else {"dataType": part["dataType"]}


def _bottom_up(operations: list[Document]) -> Iterator[Document]:
    """Yield every operation after its inputs; cycles are left out."""
    by_id = {node["id"]: node for node in operations}
    parents: defaultdict[str, list[str]] = defaultdict(list)
    for key, node in by_id.items():
        for child in by_id.keys() & set(node.get("childIds") or ()):
            parents[child].append(key)
    return (by_id[key] for key in sort_by_edges(by_id, parents))
