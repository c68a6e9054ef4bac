"""CloudWatch's Embedded Metric Format: a JSON line that CloudWatch Logs converts to metrics.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

# CloudWatch rejects documents with more.
MAX_METRICS = 100


class RunIdentity(NamedTuple):
    """Identity of the counted run."""

    run_id: str
    dag_name: str
    environment: str


def line(namespace: str, run: RunIdentity, counts: Mapping[str, int], seconds: float, now: int) -> str:
    """Return counts and duration as metrics with the dimensions `environment` and `dag_name`.

    `now`: ms since 1970. A load that fails before it reads its files may know neither dimension. The run id
    is a plain property, for searches: as a dimension it would create new metrics, and costs, per run.
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in sorted(counts)[: MAX_METRICS - 1]]
    metrics.append({"Name": "seconds", "Unit": "Seconds"})
    scope = {"environment": run.environment, "dag_name": run.dag_name}
    # CloudWatch rejects empty values of dimensions.
    dimensions = [name for name, value in scope.items() if value]
    directive = {"Namespace": namespace, "Dimensions": [dimensions], "Metrics": metrics}
    document: dict[str, Any] = {
        "_aws": {"Timestamp": now, "CloudWatchMetrics": [directive]},
        **scope,
        "run_id": run.run_id,
        **counts,
        "seconds": seconds,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
