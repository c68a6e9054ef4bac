"""When datasets were last updated, from the newest runs of their jobs and their freshness checks.

The graph has only the newest run of a job. If it failed, the time of the last successful one is unknown.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from lineage_merge.graph_format.elements import Vertex
from lineage_merge.graph_format.schema import SEMANTIC_LABELS
from lineage_merge.infra.batches import gather
from lineage_merge.questions.graph import LineageGraph
from lineage_merge.questions.traversal.lineage import strongly_connected_components

Inputs = Mapping[str, tuple[str, ...]]
FRESHNESS = "freshness"
SUCCEEDED = "succeeded"
FAILED = "failed"
# Results of a freshness check that found old rows. `error`: it could not run.
STALE_CHECKS = ("failed", "warned")
_WITHOUT_ROWS = ("view", "exposure", *SEMANTIC_LABELS)
_MATERIALIZED = ("materialized_view", "materializedview")


@dataclass(frozen=True)
class LastUpdate:
    """The jobs and freshness checks of a dataset, by id, and the times that they give.

    Times are ms since 1970, None if unknown. `written_at`: newest successful run of a job that writes it.
    `failed_at`: newest failed run, if it is later than that: its job may have written between them.
    `loaded_at`: newest row according to the newest freshness check.
    """

    dataset: Vertex
    jobs: tuple[Vertex, ...] = ()
    checks: tuple[Vertex, ...] = ()

    @cached_property
    def written_at(self) -> int | None:
        """End of the newest successful run of its jobs."""
        return max((_time(job) for job in self.jobs if _is_run(job, SUCCEEDED)), default=None)

    @cached_property
    def failed_at(self) -> int | None:
        """End of the newest failed run of its jobs, if it is later than the newest successful one."""
        failed_at = max((_time(job) for job in self.jobs if _is_run(job, FAILED)), default=None)
        is_newest = failed_at is not None and (self.written_at is None or failed_at > self.written_at)
        return failed_at if is_newest else None

    @cached_property
    def check(self) -> Vertex | None:
        """The freshness check with the newest result; one without results if no check has any."""
        return max(
            self.checks, key=lambda check: (check.properties.get("last_run_at", 0), check.id), default=None
        )

    @cached_property
    def loaded_at(self) -> int | None:
        """Time of the newest row."""
        return self.check.properties.get("max_loaded_at") if self.check else None

    @cached_property
    def stores_rows(self) -> bool:
        """Whether it stores rows. A view and an exposure show those of their inputs: they have no age."""
        if self.dataset.label == "view":
            return str(self.dataset.properties.get("materialization", "")).lower() in _MATERIALIZED
        return self.dataset.label not in _WITHOUT_ROWS

    @cached_property
    def updated_at(self) -> int | None:
        """The later of `written_at` and `loaded_at`; None for a dataset that stores no rows.

        If `is_uncertain`, the last update may have been later.
        """
        checked_at = self.check.properties.get("last_run_at") if self.check else None
        # A newest row in the future of its check, such as a planned event, was loaded at an unknown time.
        is_possible = self.loaded_at is None or checked_at is None or self.loaded_at <= checked_at
        loaded_at = self.loaded_at if is_possible else None
        known = [moment for moment in (self.written_at, loaded_at) if moment is not None]
        return max(known, default=None) if self.stores_rows else None

    @cached_property
    def is_uncertain(self) -> bool:
        """Whether a job whose newest run failed may have written after `updated_at`."""
        is_later = self.updated_at is None or (self.failed_at or 0) > self.updated_at
        return self.stores_rows and self.failed_at is not None and is_later

    @cached_property
    def not_after(self) -> int | None:
        """The last update was not later: its time, or that of a later failed run."""
        return self.failed_at if self.is_uncertain else self.updated_at


def last_updates(graph: LineageGraph, datasets: Iterable[Vertex]) -> dict[str, LastUpdate]:
    """Return the last updates by id. Runs and checks of all DAGs count."""
    by_id = {dataset.id: dataset for dataset in datasets}
    writes = graph.edges_to(sorted(by_id), ["writes"])
    checks = graph.edges_to(sorted(by_id), ["checks"])
    vertices = {
        writer.id: writer
        for writer in graph.vertices(sorted({write.from_id for write in (*writes, *checks)}))
    }
    jobs, checked = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for write in writes:
        jobs[write.to_id].add(write.from_id)
    for check in checks:
        vertex = vertices.get(check.from_id)
        if vertex is not None and vertex.properties.get("assertion_type") == FRESHNESS:
            checked[check.to_id].add(check.from_id)
    return {
        identifier: LastUpdate(
            dataset, _select(vertices, jobs[identifier]), _select(vertices, checked[identifier])
        )
        for identifier, dataset in by_id.items()
    }


def _select(vertices: Mapping[str, Vertex], ids: Iterable[str]) -> tuple[Vertex, ...]:
    return tuple(vertices[identifier] for identifier in sorted(ids) if identifier in vertices)


def _is_run(job: Vertex, status: str) -> bool:
    return job.properties.get("status") == status and "last_run_at" in job.properties


def _time(job: Vertex) -> int:
    return int(job.properties["last_run_at"])


@dataclass(frozen=True, slots=True)
class InputUpdates:
    """Last updates of datasets and of their inputs.

    `cycles`: the datasets of the same cycle, of each dataset in one. `newest_behind`: of each dataset without
    a known update, such as a view, the newest update that it shows.
    """

    updates: Mapping[str, LastUpdate]
    inputs: Inputs
    cycles: Mapping[str, tuple[str, ...]]
    newest_behind: Mapping[str, int]

    def newer(self, dataset: str, *, nearest: bool = False) -> dict[str, int]:
        """Return the inputs that were updated after the dataset, with distances; `nearest`: only those.

        Datasets without a known update are passed: their inputs are compared instead. So are datasets of the
        same cycle, of which one is always the newer one.
        """
        limit = self.updates[dataset].not_after if dataset in self.updates else None
        if limit is None:
            return {}
        same_cycle = set(self.cycles.get(dataset, ()))
        newer: dict[str, int] = {}
        passed = {dataset}
        frontier = [dataset]
        distance = 0
        while frontier and not (nearest and newer):
            distance += 1
            sources = {source for here in frontier for source in self.inputs.get(here, ())} - passed
            passed |= sources
            frontier = []
            for source in sources:
                updated_at = _find_update(self.updates, source)
                if source in same_cycle:
                    frontier.append(source)
                elif updated_at is None:
                    # Without a cycle, only what shows a newer update is followed.
                    if same_cycle or self.newest_behind.get(source, limit) > limit:
                        frontier.append(source)
                elif updated_at > limit:
                    newer[source] = distance
        return newer


def input_updates(updates: Mapping[str, LastUpdate], inputs: Inputs) -> InputUpdates:
    """Return the updates of datasets and inputs."""
    pairs = [(source, target) for target, sources in inputs.items() for source in sources]
    groups = strongly_connected_components(pairs)
    cycles = {dataset: group for group in groups for dataset in group}
    return InputUpdates(updates, inputs, cycles, _newest_behind(updates, pairs))


def _newest_behind(updates: Mapping[str, LastUpdate], pairs: Iterable[tuple[str, str]]) -> dict[str, int]:
    """Walk from each known update, newest first, through the datasets without one, each once."""
    readers = gather((source, target) for source, target in pairs if _find_update(updates, target) is None)
    known = [(update.updated_at, id_) for id_, update in updates.items() if update.updated_at is not None]
    newest: dict[str, int] = {}
    for updated_at, start in sorted(known, reverse=True):
        left = [start]
        while left:
            for reader in readers.get(left.pop(), ()):
                if reader not in newest:
                    newest[reader] = updated_at
                    left.append(reader)
    return newest


def _find_update(updates: Mapping[str, LastUpdate], dataset: str) -> int | None:
    return updates[dataset].updated_at if dataset in updates else None
