"""Events of the producer API as Spline's `progress` documents. Pure."""

from collections.abc import Collection, Mapping
from typing import Any

from lineage_merge.sources.spline.agent.plans import plan_id
from lineage_merge.sources.spline.documents import Document, duration_ns

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


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
        "append": write.get("append"),
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
