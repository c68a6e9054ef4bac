"""Applications observed by Spline, and the labels that name their DAG.

For merging jobs that no DAG merges itself. Needs no Spark.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lineage_merge.sources.airflow_support import ObservedJob
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.arango import collections_of, database, log_in, run_query, snapshot
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.transactions import COMMITTED

_KEYS_PER_REQUEST = 2000

_SEEN = (
    f"FOR p IN progress FILTER p.timestamp >= @since AND p.error == null AND {COMMITTED}"
    " COLLECT application = p.execPlanDetails.applicationName, plan = p.execPlanDetails.executionPlanKey,"
    " own = KEEP(p.labels || {}, @heads), extra = KEEP(p.extra || {}, @heads),"
    " copied = KEEP(p.execPlanDetails.labels || {}, @heads)"
    " AGGREGATE newest = MAX(p.timestamp)"
    " RETURN {application, plan, own, extra, copied, newest}"
)
_PLANS = (
    f"FOR p IN executionPlan FILTER p._key IN @keys AND {COMMITTED}"
    " RETURN {_key: p._key, labels: KEEP(p.labels || {}, @heads), extra: KEEP(p.extra || {}, @heads)}"
)


def observed_jobs(settings: Arango, since: int, names: Sequence[str]) -> list[ObservedJob]:
    """Return the jobs that wrote since then (ms since 1970), sorted.

    `names` are the labels that may name a DAG: the first one found on the execution or its plan is used. If a
    job's label changed, the newest is used. Raises `SourceError`.
    """
    with database(log_in(settings)) as db:
        collections = collections_of(db, settings)
        if "progress" not in collections:
            return []
        committed = snapshot(db, settings, collections).variables
        heads = labels.heads(dict.fromkeys(names, ()))
        rows = [*run_query(db, settings, _SEEN, since=since, heads=heads, **committed)]
        rows = [row for row in rows if isinstance(row["application"], str) and row["application"]]
        found = [(row, labels.first_value(names, row["own"], row["extra"], row["copied"])) for row in rows]
        no_progress = sorted({str(row["plan"]) for row, dag_name in found if not dag_name})
        build_filter: dict[str, str] = {}
        for start in range(0, len(no_progress), _KEYS_PER_REQUEST):
            keys = no_progress[start : start + _KEYS_PER_REQUEST]
            plans = run_query(db, settings, _PLANS, keys=keys, heads=heads, **committed)
            build_filter |= {
                plan["_key"]: labels.first_value(names, plan["labels"], plan["extra"]) for plan in plans
            }
    return [*_newest(((row, name or build_filter.get(row["plan"], "")) for row, name in found))]


def _newest(rows: Iterator[tuple[Mapping[str, Any], str]]) -> Iterator[ObservedJob]:
    jobs: dict[str, ObservedJob] = {}
    for row, dag_name in rows:
        one = ObservedJob(application(row["application"]).job, int(row["newest"]), dag_name)
        before = jobs.get(one.job)
        jobs[one.job] = max(before, one, key=lambda each: (each.newest, each.dag_name)) if before else one
    yield from (jobs[job] for job in sorted(jobs))
