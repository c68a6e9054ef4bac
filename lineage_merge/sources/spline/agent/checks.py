"""Whether a message is a plan or an event of a version that is understood. Pure."""

import json
from functools import cache
from importlib.resources import files

from lineage_merge.infra.json_schema import Checker
from lineage_merge.model.elements import Problem
from lineage_merge.sources.spline.agent.messages import Broken, Message
from lineage_merge.sources.spline.documents import rejected

_VERSIONS = ("1", "1.0", "1.1", "1.2")


def problem(found: Message | Broken) -> Problem | None:
    """Why a message is rejected; None where its plan or event can be counted with."""
    if isinstance(found, Broken):
        return rejected(found.place, "", found.reason)
    if found.version and found.version not in _VERSIONS:
        known = "1.0, 1.1 and 1.2 are"
        return rejected(found.place, "", f"version {found.version} of the producer API is not known; {known}")
    shape = "event" if found.kind == "event" else "plan_of_events"
    return _error(shape, found.body, found.place)


def problem_inside(plan: object, place: str) -> Problem | None:
    """Why a plan cannot be translated, though `problem` found none with it.

    Apart, because it takes long, and of many plans few are translated.
    """
    write = plan["operations"]["write"] if isinstance(plan, dict) else {}
    return _error("plan_1_0" if isinstance(write.get("id"), int) else "plan", plan, place)


def _error(shape: str, body: object, place: str) -> Problem | None:
    error = _checker(shape).error(body)
    return rejected(place, error.path, error.problem) if error else None


@cache
def _checker(shape: str) -> Checker:
    schema = json.loads(files(__package__).joinpath("agent.schema.json").read_text(encoding="utf-8"))
    return Checker(schema | {"$ref": f"#/$defs/{shape}"})
