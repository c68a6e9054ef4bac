"""Effects of dropping, renaming or retyping a column or dataset on what depends on it.

An effect follows from the change and the transformations on the path to the dependent element.
`docs/impact.md` has the rules as a table.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum, StrEnum

from lineage_merge.graph_format.elements import Edge
from lineage_merge.model.elements import column_of, dataset_of
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.impact import job_of


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
    return _change_type(step)


def _change_type(step: Step) -> State:
    """Return the state of what reads a column with another type."""
    if step.transformation == "IDENTITY":
        return State.CARRIED
    if step.transformation == "TRANSFORMATION" and _outer_calls(step.expression) <= _CASTS:
        return State.DEPENDENT
    if step.transformation == "AGGREGATION":
        return _aggregate(_outer_calls(step.expression))
    if step.transformation == UNTYPED_TEST:
        return State.UNAFFECTED
    return State.ALTERED if step.transformation in {*_ORDERS, USE} else State.BROKEN


def _aggregate(functions: frozenset[str]) -> State:
    if functions == {"count"}:
        return State.UNAFFECTED
    return State.CARRIED if functions <= _SELECTING | {"count"} else State.BROKEN


def _outer_calls(expression: str) -> frozenset[str]:
    """Return the functions of the branches of an expression, "" for a branch that is not one call on columns.

    ``count(distinct x)`` is ``{"count"}``, ``sum(a) / count(b)`` is ``{""}``.
    """
    calls = (_CALL.fullmatch(branch) for branch in expression.split(" | "))
    return frozenset(call[1].lower() if call else "" for call in calls)


@dataclass(frozen=True, slots=True)
class States:
    """The states of elements after a change, by id; several if several paths lead to an element.

    `of_columns`: those of the columns of a dataset, by the id of the dataset.
    """

    change: Change
    elements: defaultdict[str, set[State]] = field(default_factory=lambda: defaultdict(set))
    jobs: defaultdict[str, set[State]] = field(default_factory=lambda: defaultdict(set))
    of_columns: defaultdict[str, set[State]] = field(default_factory=lambda: defaultdict(set))

    def find_states(self, identifier: str) -> set[State]:
        """Return the states of a dataset, exposure or column; of a dataset, also those of its columns."""
        return self.elements.get(identifier, set()) | self.of_columns.get(identifier, set())

    def effect_on(self, identifier: str) -> Effect:
        """Return the worst effect on a dataset, exposure, column or job."""
        states = self.find_states(identifier) | self.jobs.get(identifier, set())
        return worst(effect(self.change, state) for state in states)


def propagate(
    change: Change,
    starts: Mapping[str, State],
    edges: Iterable[Edge],
    exposures: Collection[str] = (),
    copied: Collection[str] = (),
) -> States:
    """Return the states that a change leaves.

    `starts`: states of the changed elements; `copied`: ids of edges that `copies_of_all` found.
    """
    states = States(change)
    leaving: Mapping[str, list[Edge]] = defaultdict(list)
    uses: list[Edge] = []
    for edge in edges:
        (uses if edge.to_id in exposures else leaving[edge.from_id]).append(edge)
    waiting = list(starts.items())
    while waiting:
        identifier, state = waiting.pop()
        if state in states.elements[identifier]:
            continue
        states.elements[identifier].add(state)
        for edge in leaving.get(identifier, ()):
            if edge.label == "has_column":  # what becomes of a structure becomes of its fields
                waiting.append((edge.to_id, state))
                continue
            for step in _steps(edge, edge.id in copied):
                after = follow(change, state, step)
                waiting.append((edge.to_id, after))
                if job := job_of(edge):
                    states.jobs[job].add(after)
    for identifier, own_states in states.elements.items():
        states.of_columns[dataset_of(identifier)].update(own_states)
    # Exposures have no columns: they may use any of what they read.
    for use in uses:
        states.elements[use.to_id] |= {
            follow(change, state, Step(USE)) for state in states.find_states(use.from_id)
        }
    return states


def copies_of_all(graph: LineageGraph, edges: Iterable[Edge], dag: str | None = None) -> set[str]:
    """Return the ids of edges of jobs that copy all known columns of a dataset under their names.

    `edges`: those between columns; others than copies under the same name are ignored.
    """
    copies = [edge for edge in edges if _is_copy(edge)]
    owned = graph.edges_from(sorted({dataset_of(copy.from_id) for copy in copies}), ["has_column"])
    columns: Mapping[str, set[str]] = defaultdict(set)
    for edge in owned:
        columns[edge.from_id].add(edge.to_id)
    copied: Mapping[tuple[str, ...], set[str]] = defaultdict(set)
    for edge in graph.edges_from(sorted({edge.to_id for edge in owned}), ["feeds_column"], dag):
        if _is_copy(edge):
            copied[_flow(edge)].add(edge.from_id)
    return {copy.id for copy in copies if copied[_flow(copy)] >= columns[dataset_of(copy.from_id)]}


def _is_copy(edge: Edge) -> bool:
    held = edge.properties
    names = {column_of(identifier) for identifier in (edge.from_id, edge.to_id)}
    is_identity = edge.label == "feeds_column" and held.get("transformation") == "IDENTITY"
    return is_identity and not held.get("expression") and len(names) == 1


def _flow(edge: Edge) -> tuple[str, ...]:
    return job_of(edge) or "", dataset_of(edge.from_id), dataset_of(edge.to_id)


def _steps(edge: Edge, copies_all: bool) -> Iterator[Step]:
    if edge.label == "feeds":
        yield Step(READ)
        return
    expression = str(edge.properties.get("expression", ""))
    for transformation in str(edge.properties.get("transformation", "")).split(","):
        yield Step(transformation.strip(), expression, copies_all)
