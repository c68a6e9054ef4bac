"""The jobs of dbt's statements: named as those of the manifests in the same merge. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from lineage_merge.sources.source import ModelJob


@dataclass(frozen=True, slots=True)
class DbtJobs:
    """The jobs of all manifests, by the unique id of their node."""

    by_node: Mapping[str, Sequence[ModelJob]] = field(default_factory=dict)

    def names(self, node: str, target: str, namespace: str) -> list[str]:
        """Return the jobs that a statement of a node may belong to: one, none, or several if it is ambiguous.

        `target`: dbt's target, "" if unknown; `namespace`: the statement's warehouse. A node of no manifest
        is named by its id; one that the manifests have for other targets only is none of their jobs.
        """
        known = self.by_node.get(node)
        if known is None:
            return [node]
        of_target = [job for job in known if not target or job.target in ("", target)]
        candidates = [job for job in of_target if job.target] or of_target
        if len(candidates) > 1:
            candidates = [job for job in candidates if job.dataset.namespace == namespace] or candidates
        return sorted({job.name for job in candidates})


def dbt_jobs_of(jobs: Iterable[ModelJob]) -> DbtJobs:
    """Return the jobs by node."""
    by_node: defaultdict[str, list[ModelJob]] = defaultdict(list)
    for job in jobs:
        by_node[job.node].append(job)
    return DbtJobs(dict(by_node))
