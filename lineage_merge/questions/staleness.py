"""Freshness of datasets: their last updates, and which are stale because of which upstream dataset.

The command, the HTML page, the tools for assistants and the policies have the status from here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.expectations import Expectation, Expectations
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.last_updates import LastUpdate, last_updates
from lineage_merge.questions.newer_inputs import input_updates
from lineage_merge.questions.upstream import inputs_of, upstream

Status = Literal["fresh", "current", "stale", "unknown"]
MEANINGS: Mapping[Status, str] = {
    "fresh": "an expectation holds: a freshness check, a maximum age or a policy",
    "current": "as new as its inputs, without an expectation",
    "stale": "an expectation does not hold, an input is newer, or an upstream dataset is stale",
    "unknown": "the last update is unknown",
}
# Stale because of itself, then because of others; the last two only say that its update is unknown.
Reason = Literal["age", "freshness_check", "newer_input", "stale_upstream", "failed_run", "no_known_update"]


class Nearest(NamedTuple):
    """The nearest upstream dataset that makes another stale."""

    distance: int
    dataset: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """A dataset with its last update. `age_ms`: time since then, None if unknown.

    `because_of`: the nearest upstream dataset that is stale itself or was updated later. `expectations`: of
    the dataset itself.
    """

    update: LastUpdate
    status: Status
    reasons: tuple[Reason, ...] = ()
    age_ms: int | None = None
    because_of: Nearest | None = None
    expectations: tuple[Expectation, ...] = ()

    @property
    def dataset(self) -> Vertex:
        """Return the dataset."""
        return self.update.dataset


def freshness(
    graph: LineageGraph,
    expectations: Expectations,
    start: Vertex | None = None,
    *,
    environment: str | None = None,
    dag: str | None = None,
) -> list[Freshness]:
    """Return the freshness of `start` and its upstream datasets, or of all datasets.

    The oldest update is first, datasets without a known one are last. With `dag` only its lineage is
    followed; runs and checks of all DAGs count.
    """
    datasets: Mapping[str, Vertex]
    if start is not None:
        scope = upstream(graph, start, dag=dag)
        datasets, inputs = scope.datasets, scope.inputs
    else:
        datasets = {each.id: each for each in graph.search("", DATASET_LABELS, environment, dag)}
        inputs = inputs_of(graph.pairs(["feeds"], environment, dag))
    return assess(last_updates(graph, datasets.values()), inputs, expectations)


def freshness_within(
    graph: LineageGraph,
    datasets: Iterable[str],
    expectations: Expectations,
    *,
    environment: str | None = None,
    dag: str | None = None,
) -> list[Freshness]:
    """Return the freshness of these datasets, by id; everything upstream of them is assessed with them."""
    inputs = inputs_of(graph.pairs(["feeds"], environment, dag))
    wanted = set(datasets)
    reached, frontier = set(wanted), [*wanted]
    while frontier:
        next_inputs = set(inputs.get(frontier.pop(), ())) - reached
        reached |= next_inputs
        frontier += next_inputs
    updates = last_updates(graph, graph.vertices(sorted(reached)))
    return [result for result in assess(updates, inputs, expectations) if result.dataset.id in wanted]


def assess(
    updates: Mapping[str, LastUpdate], inputs: Mapping[str, tuple[str, ...]], expectations: Expectations
) -> list[Freshness]:
    """Return the freshness of these datasets, as `freshness` does. Pure."""
    expected = {dataset: tuple(expectations.of(update)) for dataset, update in updates.items()}
    of_inputs = input_updates(updates, inputs)
    newer = {dataset: of_inputs.newer(dataset, nearest=True) for dataset in updates}
    own: dict[str, tuple[Reason, ...]] = {
        dataset: _unmet(expected[dataset]) + (("newer_input",) if newer[dataset] else ())
        for dataset in updates
    }
    stale_upstream = _nearest_upstream({dataset for dataset, reasons in own.items() if reasons}, inputs)
    results: dict[str, Freshness] = {}
    for dataset, update in updates.items():
        candidates = [Nearest(distance, other) for other, distance in newer[dataset].items()]
        upstream_reasons: tuple[Reason, ...] = ()
        if dataset in stale_upstream:
            candidates.append(stale_upstream[dataset])
            upstream_reasons = ("stale_upstream",)
        stale = own[dataset] + upstream_reasons
        shows_known = dataset in of_inputs.newest_behind or bool(expected[dataset])
        unknown = _unknown(update, shows_known)
        status: Status = (
            "stale" if stale else "unknown" if unknown else "fresh" if expected[dataset] else "current"
        )
        has_age = update.updated_at is not None and not update.is_uncertain
        age = max(expectations.now - (update.updated_at or 0), 0) if has_age else None
        cause = min(candidates, default=None)
        results[dataset] = Freshness(update, status, stale + unknown, age, cause, expected[dataset])
    for dataset in _showing_fresh_rows(results, inputs):
        results[dataset] = replace(results[dataset], status="fresh")
    return sorted(results.values(), key=_order)


def _unmet(expected: Iterable[Expectation]) -> tuple[Reason, ...]:
    """Return why a dataset is stale whatever its inputs are."""
    unmet = {expectation.unmet for expectation in expected}
    reasons: tuple[Reason, ...] = ("age", "freshness_check")
    return tuple(reason for reason in reasons if reason in unmet)


def _unknown(update: LastUpdate, shows_known: bool) -> tuple[Reason, ...]:
    """Return why the last update is unknown. `shows_known`: without rows, it shows known ones."""
    if not update.stores_rows:
        return () if shows_known else ("no_known_update",)
    if update.is_uncertain:
        return ("failed_run",)
    return () if update.updated_at is not None else ("no_known_update",)


def _nearest_upstream(wanted: set[str], inputs: Mapping[str, tuple[str, ...]]) -> dict[str, Nearest]:
    """Return the nearest upstream dataset among `wanted`, of each dataset that has one."""
    readers = _readers(inputs)
    closest = {each: Nearest(0, each) for each in wanted}
    nearest_upstream: dict[str, Nearest] = {}
    frontier = sorted(wanted)
    while frontier:
        candidates: dict[str, Nearest] = {}
        for here in frontier:
            distance, source = closest[here]
            for each in readers[here]:
                if each != source:
                    candidate = Nearest(distance + 1, source)
                    candidates[each] = min(candidate, candidates.get(each, candidate))
        for each, nearest in candidates.items():
            nearest_upstream.setdefault(each, nearest)
        frontier = sorted(candidates.keys() - closest.keys())
        closest |= {each: candidates[each] for each in frontier}
    return nearest_upstream


def _showing_fresh_rows(
    results: Mapping[str, Freshness], inputs: Mapping[str, tuple[str, ...]]
) -> Collection[str]:
    """Return the datasets that store no rows, such as views, and whose inputs are all fresh."""
    wanted = {
        dataset
        for dataset, result in results.items()
        if result.status == "current" and not result.update.stores_rows
    }
    readers = _readers(inputs)
    frontier = [
        dataset
        for dataset in readers
        if dataset not in wanted and (dataset not in results or results[dataset].status != "fresh")
    ]
    while frontier:
        reached = wanted.intersection(readers[frontier.pop()])
        wanted -= reached
        frontier += reached
    return wanted


def _readers(inputs: Mapping[str, tuple[str, ...]]) -> defaultdict[str, list[str]]:
    readers = defaultdict[str, list[str]](list)
    for target, sources in inputs.items():
        for source in sources:
            readers[source].append(target)
    return readers


def _order(result: Freshness) -> tuple[bool, int, str]:
    updated_at = result.update.updated_at
    return updated_at is None, updated_at or 0, result.dataset.id
