"""Write events of `progress` documents."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass
from itertools import islice

from lineage_merge.model.elements import Problem
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.spline import job_metadata, labels
from lineage_merge.sources.spline.documents import Document, check, duration_ns
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.transactions import Snapshot
from lineage_merge.sources.spline.translator import JOB_TYPE

# Number of events per query for the labels of their plans.
_EVENTS_PER_QUERY = 1000


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which events are selected, and how targets are resolved.

    `applies(job, application)` selects by name, `labels` are the required labels. `dataset_of(uri, job)` is
    the id of a target.
    """

    applies: Callable[[str, str], bool]
    labels: labels.Wanted
    dataset_of: Callable[[str, str], str]


def event_rows(
    database: str,
    documents: Iterable[Document | Problem],
    wanted: Wanted,
    snapshot: Snapshot,
) -> Iterator[EventRow]:
    """Yield the committed write events, and problems with malformed documents."""
    for document in documents:
        problem = document if isinstance(document, Problem) else check("progress", document, database)
        if problem or isinstance(document, Problem):
            yield EventRow(database, json.dumps(astuple(problem)) if problem else None)
        elif not snapshot.hides(document):
            yield _event(database, document, wanted)


def only_labelled(
    rows: Iterable[EventRow], labels_of: Callable[[list[str]], Mapping[str, set[str]]]
) -> Iterator[EventRow]:
    """Yield the wanted rows and the problems, after checking the labels of plans.

    `labels_of(keys)` returns the requested labels of plans; plans without labels may be left out.
    """
    remaining = iter(rows)
    while batch := list(islice(remaining, _EVENTS_PER_QUERY)):
        asked = sorted({row.plan for row in batch if row.wanted and row.unlabelled and row.plan})
        found = labels_of(asked) if asked else {}
        for row in batch:
            is_labelled = set(row.unlabelled or ()) <= found.get(row.plan or "", set())
            if row.problem or (row.wanted and is_labelled):
                yield row


def _event(database: str, document: Document, wanted: Wanted) -> EventRow:
    details = document["execPlanDetails"]
    extra = document.get("extra") or {}
    name = str(details.get("applicationName") or "")
    app = application(name)
    applies = wanted.applies(app.job, name)
    # Agents before 1.0 report no run: each write is its own run.
    run_id = extra.get("appId") or document["_key"]
    target = details["dataSourceUri"]
    metadata = job_metadata.of_event(document)
    rows = (extra.get("writeMetrics") or {}).get("numOutputRows")
    return EventRow(
        database=database,
        wanted=applies,
        key=document["_key"],
        plan=details["executionPlanKey"],
        application=name,
        job=app.job,
        job_type=JOB_TYPE,
        target=target,
        dataset=wanted.dataset_of(target, app.job) if applies else None,
        # JSON may write an integer as 1.0, which Spark does not accept as bigint.
        at=int(document["timestamp"]),
        duration_ms=(duration_ns(document) or 0) // 1_000_000,
        run_id=run_id,
        shown_run_id=app.run_id or run_id,
        failed=document.get("error") is not None,
        append=bool(details.get("append")),
        rows=None if rows is None else int(rows),
        framework=str(details.get("frameworkName") or ""),
        unlabelled=sorted(wanted.labels.keys() - labels.of_event(wanted.labels, document)),
        owners=metadata.get("owners", ()),
        tags=metadata.get("tags", ()),
    )
