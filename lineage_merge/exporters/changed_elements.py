"""What differs between two moments of the lineage, as far as catalogs store it: datasets, jobs, lineage.

Facts of runs (times, counts, status) and results of tests do not count, as in the command `diff`.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from lineage_merge.exporters.graph_batches import WITHOUT_JOB
from lineage_merge.graph_format.elements import COLUMN, JOB, Edge, Vertex, compared_values
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.model.elements import JobKey, dataset_of, job_id
from lineage_merge.questions.graph import LineageGraph

_LINEAGE = ("feeds", "feeds_column", "influences")
_LABELS = (*DATASET_LABELS, COLUMN, JOB, *_LINEAGE, "writes")


@dataclass(frozen=True, slots=True)
class ChangedElements:
    """Ids. `datasets`: added, or with other properties or columns; `fed`: with other incoming lineage.

    `jobs`: added, or with other properties or lineage, also exposures and the like. `earlier_jobs`: those of
    `jobs` that existed before, and removed ones.
    """

    datasets: frozenset[str]
    fed: frozenset[str]
    jobs: frozenset[str]
    earlier_jobs: frozenset[str]
    removed_datasets: frozenset[str]

    @property
    def removed_jobs(self) -> frozenset[str]:
        """The jobs that exist no more."""
        return self.earlier_jobs - self.jobs


def changed_elements(
    before: LineageGraph, after: LineageGraph, environment: str | None = None, dag: str | None = None
) -> ChangedElements:
    """Return what differs; with `dag` only elements that had it before or have it now."""
    old, new = (_ComparedContent.of(graph, environment) for graph in (before, after))
    labels = [*DATASET_LABELS, JOB]
    wanted = before.ids(labels, environment, dag) | after.ids(labels, environment, dag)
    return ChangedElements(
        datasets=_different(old.datasets, new.datasets) & new.datasets.keys() & wanted,
        fed=_different(old.incoming, new.incoming) & new.datasets.keys() & wanted,
        jobs=_different(old.jobs, new.jobs) & new.jobs.keys() & wanted,
        earlier_jobs=_different(old.jobs, new.jobs) & old.jobs.keys() & wanted,
        removed_datasets=frozenset(old.datasets.keys() - new.datasets.keys()) & wanted,
    )


_Parts = defaultdict[str, set[Any]]


@dataclass(frozen=True, slots=True)
class _ComparedContent:
    """What is compared, by id of the dataset or job."""

    datasets: _Parts = field(default_factory=lambda: defaultdict(set))
    incoming: _Parts = field(default_factory=lambda: defaultdict(set))
    jobs: _Parts = field(default_factory=lambda: defaultdict(set))

    @classmethod
    def of(cls, graph: LineageGraph, environment: str | None) -> "_ComparedContent":
        content = cls()
        without_job: set[str] = set()
        for element in graph.everything(environment, None, _LABELS):
            if isinstance(element, Edge):
                content._add_edge(element, without_job)
                continue
            if element.label in WITHOUT_JOB:
                without_job.add(element.id)
            content._add_vertex(element)
        return content

    def _add_vertex(self, vertex: Vertex) -> None:
        values = (vertex.id, *sorted(compared_values(vertex).items()))
        if vertex.label == COLUMN:
            self.datasets[dataset_of(vertex.id)].add(values)
            return
        (self.jobs if vertex.label == JOB else self.datasets)[vertex.id].add(values)
        if vertex.label in WITHOUT_JOB:
            self.jobs[vertex.id].add(values)

    def _add_edge(self, edge: Edge, without_job: set[str]) -> None:
        held = edge.properties
        key = JobKey(str(held.get("job_type", "")), edge.job)
        job = job_id(str(held.get("environment", "")), str(held.get("dag_name", "")), key)
        values = (edge.label, edge.from_id, edge.to_id, job, *sorted(compared_values(edge).items()))
        target = dataset_of(edge.to_id)
        if edge.label in _LINEAGE:
            self.incoming[target].add(values)
        self.jobs[target if target in without_job else job].add(values)


def _different(old: Mapping[str, set[Any]], new: Mapping[str, set[Any]]) -> frozenset[str]:
    return frozenset(key for key in old.keys() | new.keys() if old.get(key) != new.get(key))
