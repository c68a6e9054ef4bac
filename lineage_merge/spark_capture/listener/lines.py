"""Writes as the lines of Spline's agent, which the source `capture` reads, without secrets. Pure."""

import json
from collections.abc import Iterable, Mapping
from math import isfinite
from typing import Any, NamedTuple

from lineage_merge.infra.redaction import MASK, holds_encryption, names_secret, redact, redact_sql
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.version import __version__
from lineage_merge.sources.kinds import LISTENER, array_line
from lineage_merge.spark_capture.listener.facts import Application
from lineage_merge.spark_capture.listener.nested_writes import Write
from lineage_merge.spark_capture.write_documents import WriteDocument

Json = dict[str, Any]

# Fields with ids and types that Spark or the conversion generated.
_GENERATED = frozenset({"id", "childIds", "childRefs", "dataType", "__attrId", "__exprId", "_typeHint"})
# Names of columns, which may be expressions: `aes_encrypt(a, 'key')`.
_SQL = frozenset({"name", "output"})


class Messages(NamedTuple):
    """The messages of a write, as JSON: a plan of Spline's producer API 1.2, and its event."""

    plan: bytes
    event: bytes

    def lines(self) -> bytes:
        """Return both as lines, each with a line feed."""
        return array_line("plan", self.plan) + b"\n" + array_line("event", self.event) + b"\n"


def messages(write: Write, application: Application) -> Messages:
    """Return the messages of a write."""
    return Messages(_bytes(plan(write.document)), _bytes(event(write, application)))


def _bytes(document: Json) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def plan(write: WriteDocument) -> Json:
    """Return the plan of a write."""
    document = write.document
    operations = document["operations"]
    target = operations["write"]
    if write.is_view and write.table:
        database, _, name = write.table.name.rpartition(".")
        identifier = {"catalog": write.table.namespace, "database": database, "table": name}
        params = target.get("params") or {}
        view = {**params.get("table", {}), "identifier": identifier, "tableType": "VIEW"}
        target = {**target, "params": {**params, "table": view}}
    problems = [[problem.kind, problem.field, problem.message] for problem in write.problems]
    extra = {**document["extraInfo"], **({"problems": problems} if problems else {})}
    return mask_secrets(
        {
            # First, so that the beginning of a file shows what it is.
            "agentInfo": {"name": LISTENER, "version": __version__},
            **document,
            "operations": {**operations, "write": target},
            "extraInfo": extra,
        }
    )


def event(write: Write, application: Application) -> Json:
    """Return the event of a write: when it ended, how long it took, what it wrote, and whether it failed."""
    extra = {"appId": application.app_id, **application.glue}
    message: Json = {"planId": write.document.document["id"], "timestamp": write.ended_ms}
    if write.duration_ns is not None:
        message["durationNs"] = write.duration_ns
    if write.error:
        message["error"] = redact(write.error)
    return {**message, "extra": {**extra, "writeMetrics": dict(write.counts)}}


def mask_secrets(document: Json) -> Json:
    """Return a plan without passwords, tokens and keys, as far as they can be recognized.

    Literals are parts of code and are left, but for those that are arguments of encryption functions.
    """
    expressions: Mapping[str, Any] = document["expressions"]
    keys = _find_encryption(expressions["functions"])
    constants = [
        {**constant, "value": _argument(constant.get("value"))} if constant["id"] in keys else constant
        for constant in expressions["constants"]
    ]
    redacted: Json = _redact({**document, "expressions": {**expressions, "constants": constants}}, "")
    return redacted


def _redact(value: Any, key: str) -> Any:
    if isinstance(value, str):
        if key in _GENERATED:
            return value
        return redact_sql(value) if key in _SQL else redact(value)
    if isinstance(value, dict):
        return {
            name: MASK if isinstance(part, str) and names_secret(name) else _redact(part, name)
            for name, part in value.items()
        }
    if isinstance(value, list):
        return [_redact(part, key) for part in value]
    # JSON has no NaN and no infinity.
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _find_encryption(functions: Iterable[Json]) -> frozenset[str]:
    """Return the ids of expressions below calls of encryption functions."""
    children: dict[str, list[str]] = {}
    arguments: list[str] = []
    for function in functions:
        below = [str(ref["__exprId"]) for ref in function.get("childRefs") or () if "__exprId" in ref]
        children[str(function["id"])] = below
        if holds_encryption(f"{function.get('name')} {function.get('params')}"):
            arguments += below
    return frozenset(reachable(arguments, children))


def _argument(value: Any) -> Any:
    """Return a literal argument of an encryption function, masked unless it is a mode such as GCM."""
    if not isinstance(value, str):
        return MASK if value is not None else None
    quoted = value.replace("'", "''")
    call = f"aes_encrypt(x, '{quoted}')"
    return value if redact_sql(call) == call else MASK
