"""What is still to be merged of what Spline saw, when DAGs merge their own jobs by themselves. Pure.

A job is claimed by the DAG under whose name the graph has it. A job that says its DAG in a label
is merged under that name, any other under the name of the merge that collects what is left; where
a DAG claims such a job later, what was collected is taken out again.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.query.job_ownership import Owner
from lineage_merge.sources.spline.observed_applications import ObservedJob

# As the configuration's schema wants a DAG's name.
_NAME = re.compile(r"[A-Za-z0-9_.~+-]+")


class PendingMerge(NamedTuple):
    """A merge that is due: the DAG on whose behalf, and its jobs."""

    dag_name: str
    jobs: tuple[str, ...]


class Plan(NamedTuple):
    """What to do: merges by DAG, and jobs to take out of the collecting merge's lineage."""

    due: tuple[PendingMerge, ...]
    duplicates: tuple[str, ...]


def plan(
    seen: Iterable[ObservedJob],
    owners: Iterable[Owner],
    *,
    collector: str,
    exclude: Sequence[str] = (),
    not_after: int,
) -> Plan:
    """`collector` is the DAG name for jobs without a label, `exclude` globs of jobs not to be merged.

    A job that wrote after `not_after` (ms since 1970) has time: the DAG that runs it may merge it.
    """
    known: dict[str, dict[str, int]] = {}
    for owner in owners:
        known.setdefault(owner.job, {})[owner.dag_name] = owner.last_run_at
    due: dict[str, list[str]] = {}
    duplicates: list[str] = []
    for one in seen:
        own = known.get(redact(one.job), {})  # as the graph names it
        name = one.dag_name if _NAME.fullmatch(one.dag_name) else collector
        others = own.keys() - {name, collector}
        if collector in own and (others or name != collector):
            duplicates.append(redact(one.job))
        if others or any(fnmatchcase(one.job, glob) for glob in exclude):
            continue
        if own.get(name, 0) < one.newest <= not_after:
            due.setdefault(name, []).append(one.job)
    merges = (PendingMerge(name, tuple(sorted(jobs))) for name, jobs in sorted(due.items()))
    return Plan(tuple(merges), tuple(sorted(duplicates)))
