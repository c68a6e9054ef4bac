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
        each.vertex.id: each.distance for each in dependents.elements if each.kind in ("dataset", "column")
    }
    hops |= dict.fromkeys((changed.id, *dependents.impact.changed_columns), 0)
    if changed.label == COLUMN:
        hops[dataset_of(changed.id)] = 0
    checks: Mapping[str, list[Edge]] = defaultdict(list)
    for each in graph.edges_to(sorted(hops), ["checks", "references"], dag):
        checks[each.from_id].append(each)
    columns = _columns(hops) if changed.label == COLUMN else None
    found = []
    for vertex in graph.vertices(sorted(checks)):
        edges = [each for each in checks[vertex.id] if columns is None or _uses(vertex, each.to_id, columns)]
        if edges:
            of = tuple(sorted({each.to_id for each in edges}))
            effect = _effect(dependents.states, vertex, of) if dependents.states else None
            found.append(AffectedTest(vertex, of, min(hops[each] for each in of), effect))
    return tuple(sorted(found, key=lambda each: (each.distance, each.vertex.id)))


def _columns(ids: Iterable[str]) -> Mapping[str, set[str]]:
    """Return the names of columns by the id of their dataset."""
    found: Mapping[str, set[str]] = defaultdict(set)
    for each in ids:
        dataset, _, name = each.rpartition("|")
        found[dataset].add(name)
    return found


def _uses(test: Vertex, checked: str, columns: Mapping[str, set[str]]) -> bool:
    """Return whether a test of a dataset may use one of its affected columns; a test of a column does."""
    named = str(test.properties.get("column_name", "")).lower()
    if not named or checked not in columns:
        return True
    return any(re.search(rf"\b{re.escape(each)}\b", named) for each in columns[checked])


def _effect(states: States, test: Vertex, checked: Iterable[str]) -> Effect:
    is_untyped = test.properties.get("assertion_type") in _UNTYPED
    of_column = Step(UNTYPED_TEST if is_untyped else TEST)
    found = []
    for each in checked:
        # A test of a dataset may use any of its columns.
        step = Step(USE) if each in states.of_columns else of_column
        found += [effect(states.change, follow(states.change, state, step)) for state in states.of(each)]
    return worst(found)
