"""Effects of dropping, renaming or retyping a column or dataset on what depends on it.

An effect follows from the change and the transformations on the path to the dependent element.
`docs/impact.md` has the rules as a table.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, StrEnum


class Change(StrEnum):
    """What is done to the changed element."""

    DROP = "drop"
    RENAME = "rename"
    RETYPE = "retype"


class Effect(StrEnum):
    """What a change does to a dependent element, the worst first.

    `BREAKS`: fails, or may fail, until its code is adapted. `CHANGES`: gets another name, type or order.
    `DEPENDS`: needs no change itself if what it reads works. `UNAFFECTED`: accepts any type.
    """

    BREAKS = "breaks"
    CHANGES = "changes"
    DEPENDS = "depends"
    UNAFFECTED = "unaffected"


class State(Enum):
    """How much of a change is left at an element of a path."""

    CARRIED = "the element is dropped, renamed or retyped, too"
    BROKEN = "the element cannot be built until its code is adapted"
    ALTERED = "the values or their order may differ"
    DEPENDENT = "the element reads one that is broken or altered"
    UNAFFECTED = "the change ends before the element"


@dataclass(frozen=True, slots=True)
class Step:
    """An edge of a path, for one transformation.

    `transformation`: that of `feeds_column` or `influences`; `READ`, `USE` or `TEST`; "" if unknown.
    `copies_all`: the job copies all known columns of the source under their names, as ``select *`` does.
    """

    transformation: str
    expression: str = ""
    copies_all: bool = False


# A job that reads a dataset; an exposure, of whose columns nothing is known; an assertion.
READ = "READ"
USE = "USE"
TEST = "TEST"
# An assertion that accepts any type.
UNTYPED_TEST = "UNTYPED_TEST"

# "": not known, so the worst is assumed.
_DIRECT = frozenset({"IDENTITY", "TRANSFORMATION", "AGGREGATION", ""})
_ORDERS = frozenset({"GROUP_BY", "SORT", "WINDOW"})
_NAME = r"""(?:[\w$.]|`[^`]*`|"[^"]*")+"""
# A call on nothing but columns, possibly over a window: an expression as the argument may not accept another
# type.
_CALL = re.compile(
    rf"\s*(\w+)\s*\(\s*(?:distinct\s+)?{_NAME}(?:\s*,\s*{_NAME})*"
    r"(?:\s+as\s+\w[\w ]*(?:\([\d, ]+\))?)?\s*\)\s*(?:over\s*(?:\([^()]*\)|\w+)\s*)?",
    re.IGNORECASE,
)
# Aggregates of which the result is one of the values.
_SELECTING = frozenset({"min", "max", "first", "last", "first_value", "last_value", "any_value"})
_CASTS = frozenset({"cast", "try_cast", "safe_cast"})


def effect(change: Change, state: State) -> Effect:
    """Return the effect that a state is."""
    if state is State.CARRIED:
        return Effect.BREAKS if change is Change.DROP else Effect.CHANGES
    return _EFFECTS[state]


_EFFECTS = {
    State.BROKEN: Effect.BREAKS,
    State.ALTERED: Effect.CHANGES,
    State.DEPENDENT: Effect.DEPENDS,
    State.UNAFFECTED: Effect.UNAFFECTED,
}


def worst(effects: Iterable[Effect]) -> Effect:
    """Return the worst effect; `UNAFFECTED` if there is none."""
    order = list(Effect)
    return min(effects, key=order.index, default=Effect.UNAFFECTED)


def follow(change: Change, state: State, step: Step) -> State:
    """Return the state of an element that a step reaches from an element of a state."""
    if state is State.UNAFFECTED:
        return state
    if state is not State.CARRIED:
        return State.DEPENDENT
    if change is Change.DROP:
        return State.CARRIED if step.transformation in _DIRECT else State.BROKEN
    if change is Change.RENAME:
        return State.CARRIED if step.copies_all else State.BROKEN
    return _retyped(step)


def _retyped(step: Step) -> State:
    """Return the state of what reads a column with another type."""
    if step.transformation == "IDENTITY":
        return State.CARRIED
    if step.transformation == "TRANSFORMATION" and _outer_calls(step.expression) <= _CASTS:
        return State.DEPENDENT
    if step.transformation == "AGGREGATION":
        return _aggregated(_outer_calls(step.expression))
    if step.transformation == UNTYPED_TEST:
        return State.UNAFFECTED
    return State.ALTERED if step.transformation in {*_ORDERS, USE} else State.BROKEN


def _aggregated(functions: frozenset[str]) -> State:
    if functions == {"count"}:
        return State.UNAFFECTED
    return State.CARRIED if functions <= _SELECTING | {"count"} else State.BROKEN


def _outer_calls(expression: str) -> frozenset[str]:
    """Return the functions of the branches of an expression, "" for a branch that is not one call on columns.

    ``count(distinct x)`` is ``{"count"}``, ``sum(a) / count(b)`` is ``{""}``.
    """
    calls = (_CALL.fullmatch(branch) for branch in expression.split(" | "))
    return frozenset(call[1].lower() if call else "" for call in calls)
