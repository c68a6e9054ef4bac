"""Validation of plans and events, for supported API versions. Pure."""

import json
from functools import cache
from importlib.resources import files

from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.agent.messages import Malformed, Message
from lineage_merge.sources.spline.documents import rejected

_VERSIONS = ("1", "1.0", "1.1", "1.2")


def problem(found: Message | Malformed) -> Problem | None:
    """Return why a message is rejected; None if its plan or event can be used."""
    if isinstance(found, Malformed):
        return rejected(found.location, "", found.reason)
    if found.version and found.version not in _VERSIONS:
        known = "1.0, 1.1 and 1.2 are"
        return rejected(
            found.location, "", f"version {found.version} of the producer API is unknown; {known}"
        )
    shape = "event" if found.kind == "event" else "plan_of_events"
    return _error(shape, found.body, found.location)


def problem_inside(plan: object, location: str) -> Problem | None:
    """Return why a plan that passed `problem` cannot be translated.

    Separate because it is slow, and few of many plans are translated.
    """
    write = plan["operations"]["write"] if isinstance(plan, dict) else {}
    return _error("plan_1_0" if isinstance(write.get("id"), int) else "plan", plan, location)


def _error(shape: str, body: object, location: str) -> Problem | None:
    error = _checker(shape).error(body)
    return rejected(location, error.path, error.problem) if error else None


@cache
def _checker(shape: str) -> Checker:
    schema = json.loads(files(__package__).joinpath("agent.schema.json").read_text(encoding="utf-8"))
    return Checker(schema | {"$ref": f"#/$defs/{shape}"})
