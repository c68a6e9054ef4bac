"""Freshness of datasets: what is expected of them, and which are stale because of which upstream dataset.

The command, the HTML page, the tools for assistants and the policies have the status from here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal, NamedTuple

from lineage_merge.config import Policy
from lineage_merge.config.policies import UpdateRule
from lineage_merge.graph_format.elements import Vertex
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.batches import gather
from lineage_merge.model.graph_walks import reachable
from lineage_merge.model.times import duration_text
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.dataset_globs import DatasetGlobs, names_of
from lineage_merge.questions.traversal.last_updates import (
    STALE_CHECKS,
    LastUpdate,
    input_updates,
    last_updates,
)
from lineage_merge.questions.traversal.lineage import inputs_of, upstream

_SOURCES = {"older_than": "", "freshness_check": " (freshness check)", "policy": " (policy {})"}
PASSED = "passed"
Source = Literal["older_than", "freshness_check", "policy"]
# Why an expectation does not hold: the age exceeds its limit, or the check found old rows.
Unmet = Literal["age", "freshness_check"]


class Expectation(NamedTuple):
    """An expectation of a dataset. `limit_ms`: the maximum age, None if unknown; `policy`: its name."""

    source: Source
    limit_ms: int | None
    unmet: Unmet | None
    policy: str = ""


@dataclass(frozen=True)
class Expectations:
    """What is expected of all data at the time `now` (ms since 1970): all of it has to hold.

    `older_than_ms`: the maximum age of each dataset (None: no maximum). `policies`: those with
    `must_be_updated_within` are maximum ages of the datasets that they select.
    """

    now: int
    older_than_ms: int | None = None
    policies: Sequence[Policy] = ()

    def derive(self, update: LastUpdate) -> Iterator[Expectation]:
        """Yield the expectations of a dataset of which it is known whether they hold."""
        if self.older_than_ms is not None and update.not_after is not None:
            unmet = self._find_exceeded(update.not_after, self.older_than_ms)
            yield Expectation("older_than", self.older_than_ms, unmet)
        if update.check is not None:
            yield from self._expect_check(update, update.check)
        if update.not_after is not None:
            for name, limit in self._limits(update.dataset).items():
                yield Expectation("policy", limit, self._find_exceeded(update.not_after, limit), name)

    def _expect_check(self, update: LastUpdate, check: Vertex) -> Iterator[Expectation]:
        """Yield the expectation of a freshness check: its result, and its limit at the time `now`."""
        limits = [check.properties.get(key) for key in ("warn_after_ms", "error_after_ms")]
        limit = min((limit_ms for limit_ms in limits if limit_ms is not None), default=None)
        status = check.properties.get("status")
        # A view has no age: only the newest row that it shows has.
        newest = update.not_after if update.stores_rows else update.loaded_at
        if status in STALE_CHECKS:
            yield Expectation("freshness_check", limit, "freshness_check")
        elif limit is not None and newest is not None:
            yield Expectation("freshness_check", limit, self._find_exceeded(newest, limit))
        elif status == PASSED:
            yield Expectation("freshness_check", limit, None)

    def _find_exceeded(self, time: int, limit: int) -> Unmet | None:
        return "age" if self.now - time > limit else None

    def _limits(self, dataset: Vertex) -> Mapping[str, int]:
        """Return the maximum ages of a dataset by the names of their policies."""
        if not self._rules:
            return {}
        names = names_of(dataset)
        return {
            policy.name: rule.within_ms
            for policy, rule, selected, accepted in self._rules
            if selected.matching(names) and not accepted.matching(names)
        }

    @cached_property
    def _rules(self) -> tuple[tuple[Policy, UpdateRule, DatasetGlobs, DatasetGlobs], ...]:
        return tuple(
            (policy, policy.rule, DatasetGlobs(policy.rule.datasets), DatasetGlobs(policy.exceptions))
            for policy in self.policies
            if isinstance(policy.rule, UpdateRule)
        )


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
        datasets = {dataset.id: dataset for dataset in graph.search("", DATASET_LABELS, environment, dag)}
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
    updates = last_updates(graph, graph.vertices(sorted(reachable(wanted, inputs))))
    return [result for result in assess(updates, inputs, expectations) if result.dataset.id in wanted]


def assess(
    updates: Mapping[str, LastUpdate], inputs: Mapping[str, tuple[str, ...]], expectations: Expectations
) -> list[Freshness]:
    """Return the freshness of these datasets, as `freshness` does. Pure."""
    expected = {dataset: tuple(expectations.derive(update)) for dataset, update in updates.items()}
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
    closest = {dataset: Nearest(0, dataset) for dataset in wanted}
    nearest_upstream: dict[str, Nearest] = {}
    frontier = sorted(wanted)
    while frontier:
        candidates: dict[str, Nearest] = {}
        for here in frontier:
            distance, source = closest[here]
            for reader in readers[here]:
                if reader != source:
                    candidate = Nearest(distance + 1, source)
                    candidates[reader] = min(candidate, candidates.get(reader, candidate))
        for reader, nearest in candidates.items():
            nearest_upstream.setdefault(reader, nearest)
        frontier = sorted(candidates.keys() - closest.keys())
        closest |= {dataset: candidates[dataset] for dataset in frontier}
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
    return gather((source, target) for target, sources in inputs.items() for source in sources)


def _order(result: Freshness) -> tuple[bool, int, str]:
    updated_at = result.update.updated_at
    return updated_at is None, updated_at or 0, result.dataset.id


def reasons_text(freshness: Freshness) -> str:
    """Return ``older than 1 d 12 h, stale upstream``: why data is stale or its last update unknown."""
    return ", ".join(_reasons(freshness))


def expectations_text(freshness: Freshness) -> str:
    """Return ``within 6 h (freshness check)``: the expectations of a dataset that is fresh."""
    if not freshness.expectations:
        return "all of its inputs are"
    return ", ".join(
        f"within {_limit(expectation)}"
        if expectation.limit_ms is not None
        else expectation.source.replace("_", " ")
        for expectation in freshness.expectations
    )


def cause_text(cause: Nearest, title: str) -> str:
    """Return ``raw_customers (2 hops)``: the upstream dataset with this title that makes another stale."""
    return f"{title} ({cause.distance:,} hop{'' if cause.distance == 1 else 's'})"


def _reasons(freshness: Freshness) -> Iterator[str]:
    for reason in freshness.reasons:
        if reason == "age":
            unmet = (expectation for expectation in freshness.expectations if expectation.unmet == "age")
            yield from (f"older than {_limit(expectation)}" for expectation in unmet)
        else:
            yield reason.replace("_", " ")


def _limit(expectation: Expectation) -> str:
    return duration_text(expectation.limit_ms) + _SOURCES[expectation.source].format(expectation.policy)
