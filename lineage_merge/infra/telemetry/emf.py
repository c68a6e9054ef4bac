"""CloudWatch's Embedded Metric Format: one line of JSON, of which CloudWatch Logs makes metrics.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

# A document that names more is refused.
MOST_METRICS = 100


class Whose(NamedTuple):
    """The run that is counted."""

    run_id: str
    dag_name: str
    environment: str


def line(namespace: str, whose: Whose, counts: Mapping[str, int], seconds: float, now: int) -> str:
    """The counts and the time as metrics with the dimensions `environment` and `dag_name`.

    `now` is ms since 1970. The run's id stands beside them, to be searched for: as a dimension it
    would make new metrics, which cost, each run.
    """
    metrics = [{"Name": name, "Unit": "Count"} for name in sorted(counts)[: MOST_METRICS - 1]]
    metrics.append({"Name": "seconds", "Unit": "Seconds"})
    directive = {"Namespace": namespace, "Dimensions": [["environment", "dag_name"]], "Metrics": metrics}
    document: dict[str, Any] = {
        "_aws": {"Timestamp": now, "CloudWatchMetrics": [directive]},
        "environment": whose.environment,
        "dag_name": whose.dag_name,
        "run_id": whose.run_id,
        **counts,
        "seconds": seconds,
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))
