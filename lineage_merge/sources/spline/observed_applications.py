"""Applications observed by Spline, and the labels that name their DAG.

For merging jobs that no DAG merges itself. Needs no Spark.
"""

from collections.abc import Sequence

from lineage_merge.naming.jobs import application
from lineage_merge.sources.airflow_support import ObservedJob
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.arango import database
from lineage_merge.sources.spline.arango_queries import LABELS_OF_PLANS, split_by_request
from lineage_merge.sources.spline.database_state import COMMITTED
from lineage_merge.sources.spline.settings import Arango

_WRITES = (
    f"FOR p IN progress FILTER p.timestamp >= @since AND p.error == null AND {COMMITTED}"
    " COLLECT application = p.execPlanDetails.applicationName, plan = p.execPlanDetails.executionPlanKey,"
    " own = KEEP(p.labels || {}, @heads), extra = KEEP(p.extra || {}, @heads),"
    " copied = KEEP(p.execPlanDetails.labels || {}, @heads)"
    " AGGREGATE newest = MAX(p.timestamp)"
    " RETURN {application, plan, own, extra, copied, newest}"
)


def list_observed_jobs(settings: Arango, since: int, names: Sequence[str]) -> list[ObservedJob]:
    """Return the jobs that wrote since then (ms since 1970), sorted.

    `names` are the labels that may name a DAG: the first one found on the execution or its plan is used. If a
    job's label changed, the newest is used. Raises `SourceError`.
    """
    with database(settings) as db:
        if "progress" not in db.collections:
            return []
        committed = db.snapshot().variables
        heads = labels.heads(dict.fromkeys(names, ()))
        writes = [
            (row, labels.first_value(names, row["own"], row["extra"], row["copied"]))
            for row in db.query(_WRITES, since=since, heads=heads, **committed)
            if isinstance(row["application"], str) and row["application"]
        ]
        dag_of_plan = {
            plan["_key"]: labels.first_value(names, plan["labels"], plan["extra"])
            for keys in split_by_request(
                sorted({str(row["plan"]) for row, dag_name in writes if not dag_name})
            )
            for plan in db.query(LABELS_OF_PLANS, keys=keys, heads=heads, **committed)
        }
    jobs: dict[str, ObservedJob] = {}
    for row, dag_name in writes:
        job = application(row["application"]).job
        observed = ObservedJob(job, int(row["newest"]), dag_name or dag_of_plan.get(row["plan"], ""))
        jobs[job] = max(observed, jobs.get(job, observed))
    return [jobs[job] for job in sorted(jobs)]
