"""Names of QuickSight's assets: ``arn:aws:quicksight:region:account`` and ``dashboard/id``. Pure."""

import re
from collections.abc import Mapping
from typing import Any

from lineage_merge.model.elements import Reference

JOB_TYPE = "quicksight"
_ARN = re.compile(r"(?P<namespace>arn:[\w-]+:quicksight:[\w-]*:\d*):(?P<name>[\w-]+/[^\s/]+)")


def reference_of_arn(arn: str) -> Reference | None:
    """Return the dataset of an asset's ARN, None if it is none."""
    match = _ARN.match(arn)
    return Reference(match["namespace"], match["name"]) if match else None


def find_namespace(document: Any) -> str:
    """Return the namespace of the first ARN of QuickSight in a document, "" without one."""
    waiting: list[Any] = [document]
    while waiting:
        value = waiting.pop()
        if isinstance(value, str):
            if value.startswith("arn:") and (match := _ARN.match(value)):
                return match["namespace"]
        elif isinstance(value, Mapping):
            waiting += reversed(list(value.values()))
        elif isinstance(value, list):
            waiting += reversed(value)
    return ""


def asset_url(reference: Reference) -> str:
    """Return the address of a dashboard or an analysis in the browser."""
    region = reference.namespace.split(":")[3]
    kind, _, identifier = reference.name.partition("/")
    plural = {"dashboard": "dashboards", "analysis": "analyses"}[kind]
    return f"https://{region}.quicksight.aws.amazon.com/sn/{plural}/{identifier}"
