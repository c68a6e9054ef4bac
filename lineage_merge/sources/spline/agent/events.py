"""Events of the producer API as Spline's `progress` documents. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from lineage_merge.sources.spline.agent.plans import plan_id
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.durations import duration_ns

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def header(plan: Document, label_heads: Collection[str] = ()) -> Document:
    """What events need of their plan, in the names of an `executionPlan` document.

    With the details of `progress` under ``details``; of `extra` only what may hold a wanted label.
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
        "append": write.get("append"),
    }
    kept = {name: extra[name] for name in label_heads if name in extra}
    return {"labels": labels, "extra": kept, "details": details}


def progress(event: Document, details: Mapping[str, Any]) -> Document:
    """The `progress` document of a checked event, with the details that its plan gives."""
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
