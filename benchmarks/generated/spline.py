"""A pipeline as documents of Spline's database, as its server 1.0 writes them. Pure.

Keys of vertices begin with the plan's key, which is a hash of the plan's content; edges have numbers.
"""

import json
import uuid
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from hashlib import sha256
from typing import Any

from .columns import Drawn, draw
from .pipeline import START, Dataset, Pipeline, Plan, Run

Document = dict[str, Any]
Documents = dict[str, list[Document]]

COLLECTIONS = (
    "executionPlan", "operation", "attribute", "expression", "schema", "dataSource", "progress",
    "executes", "follows", "readsFrom", "writesTo", "depends", "affects", "progressOf", "emits",
    "produces", "consistsOf", "computedBy", "takes", "derivesFrom", "uses",
    "txInfo", "counter", "dbVersion",
)  # fmt: skip
SPARK = "3.5.9"
_EDGES_A_PLAN = 1_000_000
_TYPES = {
    name: {"id": str(uuid.uuid5(uuid.NAMESPACE_OID, name)), "name": name, "nullable": True}
    | {"_typeHint": "dt.Simple"}
    for name in ("bigint", "string", "double", "boolean")
}


def plan_key(plan: Plan) -> str:
    """The key of a plan's document: of equal plans the same."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(asdict(plan), sort_keys=True)))


def source_key(uri: str) -> str:
    """The number of a dataset's document, in whichever database."""
    return str(int.from_bytes(sha256(uri.encode()).digest()[:6]))


def documents(pipeline: Pipeline) -> Documents:
    """The whole database by collection: every collection that a server has, empty ones too."""
    found: Documents = {name: [] for name in COLLECTIONS}
    sources: dict[str, None] = {}
    for number, plan in enumerate(pipeline.plans):
        for collection, made in plan_documents(plan, number).items():
            found[collection] += made
        sources |= dict.fromkeys((*(read.uri for read in plan.reads), plan.target))
    for number, run in enumerate(pipeline.runs):
        for collection, made in run_documents(run, number).items():
            found[collection] += made
    found["dataSource"] = [source_document(uri) for uri in sources]
    found["dbVersion"] = [vertex("dbVersion", "1000", {"version": "1.0.0", "status": "current"})]
    found["counter"] = [vertex("counter", "tx", {"curVal": 2 * (len(pipeline.plans) + len(pipeline.runs))})]
    return found


def vertex(collection: str, key: str, fields: Mapping[str, Any]) -> Document:
    """A document with what ArangoDB adds."""
    return {"_key": key, "_id": f"{collection}/{key}", "_rev": "_hV2oH9y---", **fields}


def source_document(uri: str) -> Document:
    name = uri.rstrip("/").rpartition("/")[2]
    return vertex("dataSource", source_key(uri), {"_created": START, "uri": uri, "name": name})


def plan_documents(plan: Plan, number: int = 0, key: str = "", created: int = START) -> Documents:
    """One plan's documents. `number` makes edges' keys and the transaction its own in a database,
    `key` stands in the place of the plan's own; `created` is in ms since 1970."""
    return _Writer(plan, number, key or plan_key(plan), created).documents()


def run_documents(run: Run, number: int = 0, key: str = "") -> Documents:
    """One run's documents, likewise; `key` is that of its plan."""
    plan, key = run.plan, key or plan_key(run.plan)
    own = f"{key}:{number:x}z"
    common = {"_created": run.at + 40, "_txInfo": _transaction(2 * number + 2)}
    event: Document = {
        "planKey": key,
        "timestamp": run.at,
        "durationNs": run.duration_ms * 1_000_000 + 391,
        "labels": {},
        "extra": {
            "appId": run.id,
            "user": "hadoop",
            "readMetrics": {
                "numOutputRows": run.rows,
                "numFiles": 12,
                "metadataTime": 3,
                "filesSize": 25_319,
            },
            "writeMetrics": {
                "taskCommitTime": 158,
                "numFiles": 12,
                "jobCommitTime": 163,
                "numOutputRows": run.rows,
                "numParts": 0,
                "numOutputBytes": run.rows * 71,
            },
        },
        "execPlanDetails": {
            "executionPlanKey": key,
            "frameworkName": f"spark {SPARK}",
            "applicationName": plan.application,
            "dataSourceUri": plan.target,
            "dataSourceName": plan.target.rpartition("/")[2],
            "dataSourceType": plan.format,
            "labels": {},
            "append": plan.append,
        },
        **common,
    }
    if run.error:
        event["error"] = run.error
        event["extra"]["writeMetrics"] = {}
    edge = {"_from": f"progress/{own}", "_to": f"executionPlan/{key}", **common}
    return {"progress": [vertex("progress", own, event)], "progressOf": [vertex("progressOf", own, edge)]}


def _transaction(number: int) -> Document:
    return {"num": number, "uid": str(500 + number), "params": {}}


class _Writer:
    """Writes down what `columns.draw` has put together."""

    def __init__(self, plan: Plan, number: int, key: str, created: int) -> None:
        self._plan = plan
        self._key = key
        self._owner = f"executionPlan/{key}"
        self._common = {"_created": created, "_txInfo": _transaction(2 * number + 1)}
        self._edges = (number + 1) * _EDGES_A_PLAN
        self._found: defaultdict[str, list[Document]] = defaultdict(list)

    def documents(self) -> Documents:
        drawn = draw(self._plan)
        self._header()
        self._operations(drawn)
        self._values(drawn)
        return dict(self._found)

    def _header(self) -> None:
        name = self._plan.application
        fields = {
            "name": name,
            "labels": {},
            "systemInfo": {"name": "spark", "version": SPARK},
            "agentInfo": {"name": "spline", "version": "2.2.0"},
            "extra": {"appName": name, "dataTypes": list(_TYPES.values())},
            **self._common,
        }
        self._found["executionPlan"].append(vertex("executionPlan", self._key, fields))
        write = f"operation/{self._key}:op-0"
        self._edge("executes", self._owner, write)
        self._edge("affects", self._owner, f"dataSource/{source_key(self._plan.target)}")
        self._edge("writesTo", write, f"dataSource/{source_key(self._plan.target)}")
        for uri in dict.fromkeys(read.uri for read in self._plan.reads):
            self._edge("depends", self._owner, f"dataSource/{source_key(uri)}")

    def _operations(self, drawn: Drawn) -> None:
        emitted: set[str] = set()
        for each in drawn.operations:
            own = self._id("operation", each.id)
            if each.read is not None:
                self._part("operation", each.id, {**_read(each.read), **self._common})
                self._edge("readsFrom", own, f"dataSource/{source_key(each.read.uri)}")
            elif each.name == "Write":
                self._part("operation", each.id, {**self._written(), **self._common})
            else:
                fields = {"name": each.name, "params": each.params, "extra": {}, "type": "Transformation"}
                self._part("operation", each.id, {**fields, **self._common})
            for index, child in enumerate(each.children):
                self._edge("follows", own, self._id("operation", child), index=index)
            if each.schema not in emitted:
                emitted.add(each.schema)
                self._part("schema", each.schema, self._common)
                for index, value in enumerate(each.output):
                    self._edge("consistsOf", self._id("schema", each.schema), self._value(value), index=index)
            self._edge("emits", own, self._id("schema", each.schema))
            for value in each.new:
                self._edge("produces", own, self._value(value))
            for path, value in each.uses:
                self._edge("uses", own, self._value(value), path=f"$['params']{path}")

    def _values(self, drawn: Drawn) -> None:
        for attribute in drawn.attributes:
            typed: Document = {
                "dataType": _TYPES[attribute.data_type]["id"],
                "extra": {},
                "name": attribute.name,
            }
            self._part("attribute", attribute.id, {**typed, **self._common})
            own = self._value(attribute.id)
            if attribute.computed_by:
                self._edge("computedBy", own, self._value(attribute.computed_by), index=0)
            for other in attribute.derives_from:
                self._edge("derivesFrom", own, self._value(other))
        for each in drawn.expressions:
            hint = "Literal" if each.class_name == "Literal" else each.hint
            extra = {"simpleClassName": each.class_name, "_typeHint": f"expr.{hint}"}
            fields: Document = {"dataType": _TYPES[each.data_type]["id"], "extra": extra}
            if each.class_name == "Literal":
                fields |= {"value": each.value, "type": "Lit"}
            else:
                arity = len(each.arguments)
                fields |= {"name": each.name, "arity": arity, "params": each.params, "type": "Func"}
            self._part("expression", each.id, {**fields, **self._common})
            for index, argument in enumerate(each.arguments):
                self._edge("takes", self._value(each.id), self._value(argument), index=index)

    def _written(self) -> Document:
        plan = self._plan
        is_table = plan.target.startswith("jdbc:")
        return {
            "outputSource": plan.target,
            "append": plan.append,
            "name": "SaveIntoDataSourceCommand" if is_table else "InsertIntoHadoopFsRelationCommand",
            "params": {} if is_table else {"path": plan.target},
            "extra": {"destinationType": plan.format},
            "type": "Write",
        }

    def _id(self, collection: str, part: str) -> str:
        return f"{collection}/{self._key}:{part}"

    def _value(self, value: str) -> str:
        return self._id("attribute" if value.startswith("attr") else "expression", value)

    def _part(self, collection: str, part: str, fields: Mapping[str, Any]) -> None:
        own = {"_belongsTo": self._owner, **fields}
        self._found[collection].append(vertex(collection, f"{self._key}:{part}", own))

    def _edge(self, collection: str, start: str, end: str, **fields: Any) -> None:
        ends = {"_from": start, "_to": end, "_belongsTo": self._owner}
        made = vertex(collection, str(self._edges), {**ends, **fields, **self._common})
        self._found[collection].append(made)
        self._edges += 1


def _read(read: Dataset) -> Document:
    return {
        "inputSources": [read.uri],
        "name": "LogicalRelation",
        "params": {"path": read.uri},
        "extra": {"sourceType": read.format},
        "type": "Read",
    }
