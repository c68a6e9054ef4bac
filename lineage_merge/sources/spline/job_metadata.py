"""Owners and tags of a job, which users add to plans and executions with the agent. Pure.

The agent's filter `userExtraMeta` adds labels and extra fields, see docs/spline_agent.md.
"""

from collections.abc import Iterable, Mapping
from typing import Any

_NAMES = {"owners": ("owner", "owners"), "tags": ("tag", "tags")}
_MAX_LENGTH = 300


def of_plan(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the owners and tags in an `executionPlan` document, as sets of the graph."""
    return _sets((document.get("labels"), document.get("extra")))


def of_event(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the owners and tags in a `progress` document, which has a copy of its plan's labels."""
    details = document.get("execPlanDetails")
    copied = details.get("labels") if isinstance(details, dict) else None
    return _sets((document.get("labels"), document.get("extra"), copied))


def _sets(places: Iterable[Any]) -> dict[str, tuple[str, ...]]:
    found: dict[str, set[str]] = {}
    for place in places:
        if isinstance(place, dict):
            for kind, names in _NAMES.items():
                for name in (name for name in names if name in place):
                    found.setdefault(kind, set()).update(_texts(place[name]))
    return {kind: tuple(sorted(values)) for kind, values in found.items() if values}


def _texts(value: Any) -> set[str]:
    """Return a text, or the texts of a list; nothing of other values."""
    several = value if isinstance(value, list) else [value]
    texts = (each.strip()[:_MAX_LENGTH] for each in several if isinstance(each, str))
    return {text for text in texts if text}
