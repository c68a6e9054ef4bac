"""Records of the agent's Kafka dispatcher in the form of log lines. Pure."""

from lineage_merge.sources.kafka_landing.kafka import Headers, text_line
from lineage_merge.sources.spline.agent.messages import array_line

# The agent's headers: the type of a record, and the version of the producer API.
_ENTITY = "ABSA-Spline-Entity-Type"
_VERSION = "ABSA-Spline-API-Version"
_KINDS = {"ExecutionPlan": "plan", "ExecutionEvent": "event"}
# Versions that need no marker, because their forms differ.
_BY_FORM = ("", "1", "1.0", "1.1", "1.2")


def record_line(value: bytes, headers: Headers) -> bytes:
    """Return ``["plan", {...}]``, with the version if the form does not show it; else the value."""
    line = text_line(value, headers)
    kind = _KINDS.get(headers.get(_ENTITY, b"").decode(errors="replace"))
    version = headers.get(_VERSION, b"").decode(errors="replace")
    if kind is None:
        return line
    return array_line(kind, line, "" if version in _BY_FORM else version)
