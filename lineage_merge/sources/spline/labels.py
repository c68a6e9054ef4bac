"""Labels, owners and tags that users set for an agent, in all forms in which Spline stores them. Pure.

Spline stores labels as lists of values under a flat name (``{"airflow.dag_id": ["tickit_daily"]}``), on the
plan, on its executions, and a copy of the plan's on each execution. Labels that users add by other means are
in `extra`, nested or flat. The agent's filter `userExtraMeta` adds labels and extra fields, see
docs/spline_agent.md: with owners and tags, among others.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Wanted = Mapping[str, tuple[str, ...]]
# Name and value of a label.
Label = tuple[str, str]

_KIND_OF_LABEL = {"owner": "owners", "owners": "owners", "tag": "tags", "tags": "tags"}
_MAX_LENGTH = 300


def present(wanted: Wanted, document: Mapping[str, Any]) -> set[str]:
    """Return the names of requested labels that a `progress` or `executionPlan` document has."""
    places = (document.get("labels"), document.get("extra"), _find_copy(document))
    return {
        name
        for name, values in wanted.items()
        if any(value in values for place in places for value in _values(place, name))
    }


def pairs(wanted: Wanted, document: Mapping[str, Any]) -> set[Label]:
    """Return all labels of a `progress` or `executionPlan` document, and requested ones in its `extra`."""
    stored = {
        (name, value)
        for labels in (document.get("labels"), _find_copy(document))
        if isinstance(labels, dict)
        for name in labels
        for value in _values({"": labels[name]}, "")
    }
    return stored | {(name, value) for name in wanted for value in _values(document.get("extra"), name)}


def heads(wanted: Wanted) -> list[str]:
    """Return the top-level keys that may contain a label: ``a.b`` is ``a.b``, or ``b`` in ``a``."""
    return sorted({head for name in wanted for head, _ in _splits(name)})


def first_value(names: Iterable[str], *documents: object) -> str:
    """Return the value of the first of the labels that a document has; "" without one."""
    return next((value for name in names for document in documents for value in _values(document, name)), "")


def _values(document: object, name: str) -> Iterator[str]:
    if not isinstance(document, dict):
        return
    for head, rest in _splits(name):
        if head not in document:
            continue
        if rest:
            yield from _values(document[head], rest)
            continue
        stored = document[head]
        for value in stored if isinstance(stored, list) else [stored]:
            yield value if isinstance(value, str) else json.dumps(value)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Split ``a.b.c`` into ("a", "b.c"), ("a.b", "c") and ("a.b.c", "")."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count]), ".".join(parts[count:])


def owners_and_tags(document: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the owners and tags in an `executionPlan` or `progress` document, as sets of the graph."""
    texts_of_kind: dict[str, set[str]] = {}
    for place in (document.get("labels"), document.get("extra"), _find_copy(document)):
        if isinstance(place, dict):
            for name in _KIND_OF_LABEL.keys() & place.keys():
                texts_of_kind.setdefault(_KIND_OF_LABEL[name], set()).update(_texts(place[name]))
    return {kind: tuple(sorted(values)) for kind, values in texts_of_kind.items() if values}


def _find_copy(document: Mapping[str, Any]) -> Any:
    """Return the copy of its plan's labels that a `progress` document has."""
    details = document.get("execPlanDetails")
    return details.get("labels") if isinstance(details, dict) else None


def _texts(value: Any) -> set[str]:
    """Return a text, or the texts of a list; nothing of other values."""
    values = value if isinstance(value, list) else [value]
    texts = (text.strip()[:_MAX_LENGTH] for text in values if isinstance(text, str))
    return {text for text in texts if text}
