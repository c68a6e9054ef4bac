"""Assertions on a changed element and on what depends on it."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar

from lineage_merge.graph_format.elements import COLUMN, Edge, Vertex, dataset_of
from lineage_merge.questions.dependents import Dependents
from lineage_merge.questions.effect_states import States
from lineage_merge.questions.effects import TEST, UNTYPED_TEST, USE, Effect, Step, effect, follow, worst
from lineage_merge.questions.graph import LineageGraph

# Assertions that accept a column of any type.
_UNTYPED = frozenset({"not_null", "unique"})


@dataclass(frozen=True, slots=True)
class AffectedTest:
    """An assertion. `checks`: ids of the changed and affected elements that it checks or references.

    `distance`: that of the nearest of them, 0 for the changed one. `effect`: None without a change.
    """

    # As dependents have them.
    kind: ClassVar = "test"
    uses: ClassVar[tuple[Edge, ...]] = ()

    vertex: Vertex
    checks: tuple[str, ...]
    distance: int
    effect: Effect | None = None


def affected_tests(
    graph: LineageGraph, dependents: Dependents, dag: str | None = None
) -> tuple[AffectedTest, ...]:
    """Return the assertions on the changed element and its dependents, the nearest first.

    For a column, an assertion on a dataset counts unless it names another column.
    """
    changed = dependents.changed
    hops = {
        element.vertex.id: element.distance
        for element in dependents.elements
        if element.kind in ("dataset", "column")
    }
    hops |= dict.fromkeys((changed.id, *dependents.impact.changed_columns), 0)
    if changed.label == COLUMN:
        hops[dataset_of(changed.id)] = 0
    checks: Mapping[str, list[Edge]] = defaultdict(list)
    for edge in graph.edges_to(sorted(hops), ["checks", "references"], dag):
        checks[edge.from_id].append(edge)
    columns = _columns(hops) if changed.label == COLUMN else None
    tests = []
    for vertex in graph.vertices(sorted(checks)):
        edges = [edge for edge in checks[vertex.id] if columns is None or _uses(vertex, edge.to_id, columns)]
        if edges:
            of = tuple(sorted({edge.to_id for edge in edges}))
            effect = _effect(dependents.states, vertex, of) if dependents.states else None
            tests.append(AffectedTest(vertex, of, min(hops[identifier] for identifier in of), effect))
    return tuple(sorted(tests, key=lambda test: (test.distance, test.vertex.id)))


def _columns(ids: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the names of columns by the id of their dataset."""
    names: Mapping[str, set[str]] = defaultdict(set)
    for identifier in ids:
        dataset, _, name = identifier.rpartition("|")
        names[dataset].add(name)
    return names


def _uses(test: Vertex, checked: str, columns: Mapping[str, set[str]]) -> bool:
    """Return whether a test of a dataset may use one of its affected columns; a test of a column does."""
    named = str(test.properties.get("column_name", "")).lower()
    if not named or checked not in columns:
        return True
    return any(re.search(rf"\b{re.escape(name)}\b", named) for name in columns[checked])


def _effect(states: States, test: Vertex, checked: Iterable[str]) -> Effect:
    is_untyped = test.properties.get("assertion_type") in _UNTYPED
    of_column = Step(UNTYPED_TEST if is_untyped else TEST)
    effects = []
    for identifier in checked:
        # A test of a dataset may use any of its columns.
        step = Step(USE) if identifier in states.of_columns else of_column
        effects += [
            effect(states.change, follow(states.change, state, step)) for state in states.of(identifier)
        ]
    return worst(effects)
