"""What differs between two moments of the lineage, as far as catalogs store it: datasets, jobs, lineage.

Facts of runs (times, counts, status) and results of tests do not count, as in the command `diff`.
"""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from lineage_merge.exporters.graph_batches import WITHOUT_JOB
from lineage_merge.graph_format.comparison import compare, list_compared_values
from lineage_merge.graph_format.elements import COLUMN, JOB, Edge
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


def find_changed_elements(
    before: LineageGraph, after: LineageGraph, environment: str | None = None, dag: str | None = None
) -> ChangedElements:
    """Return what differs; with `dag` only elements that had it before or have it now."""
    labels = [*DATASET_LABELS, JOB]
    wanted = before.ids(labels, environment, dag) | after.ids(labels, environment, dag)
    old, new = (_content(graph, environment) for graph in (before, after))
    changed = [key for key, *_ in compare(old, new) if key[1] in wanted]

    def select(part: _Part, state: Mapping[_Key, object], has: _Part | None = None) -> frozenset[str]:
        return frozenset(owner for kind, owner in changed if kind == part and (has or part, owner) in state)

    return ChangedElements(
        datasets=select("dataset", new),
        fed=select("fed", new, "dataset"),
        jobs=select("job", new),
        earlier_jobs=select("job", old),
        removed_datasets=select("dataset", old) - select("dataset", new),
    )


# What is compared of a dataset (with its columns), of its incoming lineage, and of a job.
_Part = Literal["dataset", "fed", "job"]
_Key = tuple[_Part, str]


def _content(graph: LineageGraph, environment: str | None) -> dict[_Key, set[Any]]:
    """Return what is compared, by part and id of the dataset or job."""
    content: defaultdict[_Key, set[Any]] = defaultdict(set)
    without_job: set[str] = set()
    for element in graph.everything(environment, None, _LABELS):
        values = tuple(sorted(list_compared_values(element).items()))
        if isinstance(element, Edge):
            held = element.properties
            key = JobKey(str(held.get("job_type", "")), element.job)
            job = job_id(str(held.get("environment", "")), str(held.get("dag_name", "")), key)
            target = dataset_of(element.to_id)
            entry = (element.label, element.from_id, element.to_id, job, values)
            content["job", target if target in without_job else job].add(entry)
            if element.label in _LINEAGE:
                content["fed", target].add(entry)
            continue
        if element.label in WITHOUT_JOB:
            without_job.add(element.id)
        if element.label == JOB or element.label in WITHOUT_JOB:
            content["job", element.id].add((element.id, values))
        if element.label != JOB:
            content["dataset", dataset_of(element.id)].add((element.id, values))
    return content
