"""Which applications Spline has seen, and the labels by which they say to which DAG they belong.

For a merge of what no DAG merges by itself. Needs no Spark.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.arango import ask, collections_of, database, log_in, snapshot
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.settings import Arango
from lineage_merge.sources.spline.transactions import COMMITTED

_KEYS_A_REQUEST = 2000

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


class Seen(NamedTuple):
    """A job: when it last ended a write well (ms since 1970), and the DAG that its label names, or ""."""

    job: str
    newest: int
    dag_name: str = ""


def seen(settings: Arango, since: int, names: Sequence[str]) -> list[Seen]:
    """The jobs that wrote since then (ms since 1970), sorted.

    `names` are the labels that may name a DAG, the first that is there counts, on the execution or
    on its plan. Of a job whose label changed the newest counts. Raises `SourceError`.
    """
    with database(log_in(settings)) as db:
        collections = collections_of(db, settings)
        if "progress" not in collections:
            return []
        committed = snapshot(db, settings, collections).variables
        heads = labels.heads(dict.fromkeys(names, ()))
        rows = [*ask(db, settings, _SEEN, since=since, heads=heads, **committed)]
        rows = [row for row in rows if isinstance(row["application"], str) and row["application"]]
        found = [(row, labels.first_value(names, row["own"], row["extra"], row["copied"])) for row in rows]
        no_progress = sorted({str(row["plan"]) for row, dag_name in found if not dag_name})
        of_plans: dict[str, str] = {}
        for start in range(0, len(no_progress), _KEYS_A_REQUEST):
            keys = no_progress[start : start + _KEYS_A_REQUEST]
            plans = ask(db, settings, _PLANS, keys=keys, heads=heads, **committed)
            of_plans |= {
                plan["_key"]: labels.first_value(names, plan["labels"], plan["extra"]) for plan in plans
            }
    return [*_newest(((row, name or of_plans.get(row["plan"], "")) for row, name in found))]


def _newest(rows: Iterator[tuple[Mapping[str, Any], str]]) -> Iterator[Seen]:
    jobs: dict[str, Seen] = {}
    for row, dag_name in rows:
        one = Seen(application(row["application"]).job, int(row["newest"]), dag_name)
        before = jobs.get(one.job)
        jobs[one.job] = max(before, one, key=lambda each: (each.newest, each.dag_name)) if before else one
    yield from (jobs[job] for job in sorted(jobs))
