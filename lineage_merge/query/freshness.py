"""Freshness of datasets: their last updates, and which are stale because of which upstream dataset."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.query.elements import Vertex
from lineage_merge.query.graph import LineageGraph
from lineage_merge.query.last_updates import STALE_CHECKS, LastUpdate, last_updates
from lineage_merge.query.newer_inputs import input_updates
from lineage_merge.query.upstream import inputs_of, upstream

Status = Literal["fresh", "stale", "unknown"]
# Stale because of itself, then because of others; the last two only say that its update is unknown.
Reason = Literal["age", "freshness_check", "newer_input", "stale_upstream", "failed_run", "no_known_update"]


class Nearest(NamedTuple):
    """The nearest upstream dataset that makes another stale."""

    distance: int
    dataset: str


@dataclass(frozen=True, slots=True)
class Freshness:
    """A dataset with its last update. `age_ms`: time since then, None if unknown.

    `because_of`: the nearest upstream dataset that is stale itself or was updated later.
    """

    update: LastUpdate
    status: Status
    reasons: tuple[Reason, ...] = ()
    age_ms: int | None = None
    because_of: Nearest | None = None

    @property
    def dataset(self) -> Vertex:
        """The dataset."""
        return self.update.dataset


def freshness(
    graph: LineageGraph,
    start: Vertex | None = None,
    *,
    now: int,
    older_than_ms: int | None = None,
    environment: str | None = None,
    dag: str | None = None,
) -> list[Freshness]:
    """Return the freshness of `start` and its upstream datasets, or of all datasets.

    The oldest update is first, datasets without a known one are last. `older_than_ms` None: no age is stale.
    With `dag` only its lineage is followed; runs and checks of all DAGs count.
    """
    datasets: Mapping[str, Vertex]
    if start is not None:
        scope = upstream(graph, start, dag=dag)
        datasets, inputs = scope.datasets, scope.inputs
    else:
        datasets = {each.id: each for each in graph.search("", DATASET_LABELS, environment, dag)}
        inputs = inputs_of(graph.pairs(["feeds"], environment, dag))
    updates = last_updates(graph, datasets.values())
    return assess(updates, inputs, now=now, older_than_ms=older_than_ms)


def assess(
    updates: Mapping[str, LastUpdate],
    inputs: Mapping[str, tuple[str, ...]],
    *,
    now: int,
    older_than_ms: int | None = None,
) -> list[Freshness]:
    """Return the freshness of these datasets, as `freshness` does. Pure."""
    of_inputs = input_updates(updates, inputs)
    newer = {each: of_inputs.newer(each, nearest=True) for each in updates}
    own: dict[str, tuple[Reason, ...]] = {
        each: tuple(own_reasons(update, now, older_than_ms)) + (("newer_input",) if newer[each] else ())
        for each, update in updates.items()
    }
    stale_upstream = _nearest_upstream({each for each, reasons in own.items() if reasons}, inputs)
    found = []
    for each, update in updates.items():
        candidates = [Nearest(distance, other) for other, distance in newer[each].items()]
        upstream_reasons: tuple[Reason, ...] = ()
        if each in stale_upstream:
            candidates.append(stale_upstream[each])
            upstream_reasons = ("stale_upstream",)
        stale = own[each] + upstream_reasons
        unknown = _unknown(update, each in of_inputs.newest_behind)
        status: Status = "stale" if stale else "unknown" if unknown else "fresh"
        is_known = update.updated_at is not None and not update.is_uncertain
        age = max(now - (update.updated_at or 0), 0) if is_known else None
        found.append(Freshness(update, status, stale + unknown, age, min(candidates, default=None)))
    return sorted(found, key=_order)


def own_reasons(update: LastUpdate, now: int, older_than_ms: int | None) -> Iterable[Reason]:
    """Yield why a dataset is stale whatever its inputs are."""
    not_after = update.not_after
    if older_than_ms is not None and not_after is not None and now - not_after > older_than_ms:
        yield "age"
    if update.check is not None and update.check.properties.get("status") in STALE_CHECKS:
        yield "freshness_check"


def _unknown(update: LastUpdate, has_known_upstream: bool) -> tuple[Reason, ...]:
    if not update.stores_rows:
        return () if has_known_upstream else ("no_known_update",)
    if update.is_uncertain:
        return ("failed_run",)
    return () if update.updated_at is not None else ("no_known_update",)


def _nearest_upstream(wanted: set[str], inputs: Mapping[str, tuple[str, ...]]) -> dict[str, Nearest]:
    """Return the nearest upstream dataset among `wanted`, of each dataset that has one."""
    readers = defaultdict[str, list[str]](list)
    for target, sources in inputs.items():
        for source in sources:
            readers[source].append(target)
    closest = {each: Nearest(0, each) for each in wanted}
    found: dict[str, Nearest] = {}
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
            found.setdefault(each, nearest)
        frontier = sorted(candidates.keys() - closest.keys())
        closest |= {each: candidates[each] for each in frontier}
    return found


def _order(found: Freshness) -> tuple[bool, int, str]:
    updated_at = found.update.updated_at
    return updated_at is None, updated_at or 0, found.dataset.id
