"""Pending merges of jobs that Spline observed, but no DAG merges. Pure.

A job is managed by the DAG under whose name the graph has it. An unmanaged job is merged under the DAG name
in its label, else under the name of the collecting merge. If a DAG manages it later, the collected lineage
is deleted.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.questions.traversal.job_ownership import Owner
from lineage_merge.sources.airflow_support import ObservedJob

# Valid DAG names, as in the configuration's schema.
_NAME = re.compile(r"[A-Za-z0-9_.~+-]+")


class PendingMerge(NamedTuple):
    """A pending merge: the DAG name and its jobs."""

    dag_name: str
    jobs: tuple[str, ...]


class Plan(NamedTuple):
    """Pending merges, and jobs to delete from the lineage of the collecting merge."""

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
    """Return the pending merges.

    `collector`: the DAG name for jobs without a label. `exclude`: globs of jobs to ignore. Jobs that wrote
    after `not_after` (ms since 1970) are not due yet: their own DAG may merge them.
    """
    known: dict[str, dict[str, int]] = {}
    for owner in owners:
        known.setdefault(owner.job, {})[owner.dag_name] = owner.last_run_at
    due: dict[str, list[str]] = {}
    duplicates: list[str] = []
    for one in seen:
        own = known.get(redact(one.job), {})  # as in the graph
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
