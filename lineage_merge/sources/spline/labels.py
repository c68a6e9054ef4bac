"""Labels set for an agent, in all forms in which Spline stores them. Pure.

Spline stores labels as lists of values under a flat name (``{"airflow.dag_id": ["tickit_daily"]}``), on the
plan, on its executions, and a copy of the plan's on each execution. Labels that users add by other means are
in `extra`, nested or flat.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

Wanted = Mapping[str, tuple[str, ...]]


def of_event(wanted: Wanted, document: Mapping[str, Any]) -> set[str]:
    """Return the names of requested labels that a `progress` document has."""
    details = document.get("execPlanDetails") or {}
    return _found(wanted, document.get("labels"), document.get("extra"), details.get("labels"))


def of_plan(wanted: Wanted, document: Mapping[str, Any]) -> set[str]:
    """Return the names of requested labels that an `executionPlan` document has."""
    return _found(wanted, document.get("labels"), document.get("extra"))


def pairs(wanted: Wanted, document: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Return all labels of a `progress` or `executionPlan` document, and requested ones in its `extra`."""
    details = document.get("execPlanDetails")
    copied = details.get("labels") if isinstance(details, dict) else None
    found = {
        (name, value)
        for labels in (document.get("labels"), copied)
        if isinstance(labels, dict)
        for name in labels
        for value in _values({"": labels[name]}, "")
    }
    return found | {(name, value) for name in wanted for value in _values(document.get("extra"), name)}


def heads(wanted: Wanted) -> list[str]:
    """Return the top-level keys that may contain a label: ``a.b`` is ``a.b``, or ``b`` in ``a``."""
    return sorted({head for name in wanted for head, _ in _splits(name)})


def first_value(names: Iterable[str], *documents: object) -> str:
    """Return the value of the first of the labels that a document has; "" without one."""
    return next((value for name in names for document in documents for value in _values(document, name)), "")


def _found(wanted: Wanted, *documents: object) -> set[str]:
    return {
        name
        for name, values in wanted.items()
        if any(value in values for document in documents for value in _values(document, name))
    }


def _values(document: object, name: str) -> Iterator[str]:
    if not isinstance(document, dict):
        return
    for head, rest in _splits(name):
        if head not in document:
            continue
        if rest:
            yield from _values(document[head], rest)
            continue
        found = document[head]
        for value in found if isinstance(found, list) else [found]:
            yield value if isinstance(value, str) else json.dumps(value)


def _splits(name: str) -> Iterator[tuple[str, str]]:
    """Split ``a.b.c`` into ("a", "b.c"), ("a.b", "c") and ("a.b.c", "")."""
    parts = name.split(".")
    for count in range(1, len(parts) + 1):
        yield ".".join(parts[:count]), ".".join(parts[count:])
