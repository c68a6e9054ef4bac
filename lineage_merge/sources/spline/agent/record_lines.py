"""Records of the agent's Kafka dispatcher as lines of a log. Pure."""

from lineage_merge.sources.kafka_landing.kafka import Headers, text_line
from lineage_merge.sources.spline.agent.array_line import array_line

# The agent's headers: which of the two a record is, and the version of the producer API.
_ENTITY = "ABSA-Spline-Entity-Type"
_VERSION = "ABSA-Spline-API-Version"
_KINDS = {"ExecutionPlan": "plan", "ExecutionEvent": "event"}
# What is understood without being told: these differ in their form.
_BY_FORM = ("", "1", "1.0", "1.1", "1.2")


def record_line(value: bytes, headers: Headers) -> bytes:
    """``["plan", {...}]``, with the version behind it where the form does not tell it; else the value."""
    line = text_line(value, headers)
    kind = _KINDS.get(headers.get(_ENTITY, b"").decode(errors="replace"))
    version = headers.get(_VERSION, b"").decode(errors="replace")
    if kind is None:
        return line
    return array_line(kind, line, "" if version in _BY_FORM else version)
