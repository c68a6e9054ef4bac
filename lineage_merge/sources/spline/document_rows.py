"""What workers make of documents: write events become rows for run selection, plans become records."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from lineage_merge.infra.redaction import redact
from lineage_merge.model.elements import Count, Element, JobKey, Problem, Reference
from lineage_merge.model.records import Record
from lineage_merge.naming.jobs import SPARK, application
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.runs.events import EventRow
from lineage_merge.sources.runs.run_local import Datasets, mark
from lineage_merge.sources.runs.run_selection import SelectedPlan
from lineage_merge.sources.spline import labels
from lineage_merge.sources.spline.database_state import EVERYTHING, Snapshot
from lineage_merge.sources.spline.documents import Document, Plan, duration_ns, reject
from lineage_merge.sources.spline.operation_chain import operations
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.translator import application_name, target, translate


@dataclass(frozen=True, slots=True)
class Context:
    """Settings that workers need to translate documents."""

    spline: Spline
    resolver: Resolver
    marks_run_local: bool = False
    snapshots: Mapping[str, Snapshot] = field(default_factory=dict)

    def snapshot(self, database: str) -> Snapshot:
        """Return the snapshot of a database, as taken once by the driver."""
        return self.snapshots.get(database, EVERYTHING)

    def dataset(self, uri: str, job: str) -> str:
        """Return the id of a raw URI's dataset, by which the newest write is selected."""
        return self.resolver.resolve_id(Reference("", uri, job))


class PlanFacts(NamedTuple):
    """What runs say about a plan. `selected` None: no run of it is selected, or the database records none.

    `own`: the datasets that each of its runs had written before reading them.
    """

    selected: SelectedPlan | None = None
    own: Datasets = frozenset()


class PlanOutput(NamedTuple):
    """The job and the target of a plan, and when the plan was created."""

    job: str
    dataset: str | None
    created: int


class TranslatedPlan(NamedTuple):
    """The records of a plan; of no plan ("", without `output`): problems with documents."""

    database: str
    plan: str
    records: list[Record]
    output: PlanOutput | None = None


def event_rows(
    context: Context, database: str, documents: Iterable[Document | Problem]
) -> Iterator[EventRow]:
    """Yield the committed write events of valid `progress` documents, and the problems with others."""
    for document in documents:
        if isinstance(document, Problem):
            yield EventRow(database, json.dumps(document))
        elif not context.snapshot(database).hides(document):
            yield _event(context, database, document)


def _event(context: Context, database: str, document: Document) -> EventRow:
    spline = context.spline
    details = document["execPlanDetails"]
    extra = document.get("extra") or {}
    name = str(details.get("applicationName") or "")
    app = application(name)
    is_wanted = spline.wants(app.job, name)
    # Agents before 1.0 report no run: each write is its own run.
    run_id = extra.get("appId") or document["_key"]
    metadata = labels.owners_and_tags(document)
    target_uri = details["dataSourceUri"]
    rows = (extra.get("writeMetrics") or {}).get("numOutputRows")
    return EventRow(
        database=database,
        wanted=is_wanted,
        key=document["_key"],
        plan=details["executionPlanKey"],
        application=name,
        job=app.job,
        job_type=SPARK,
        target=target_uri,
        dataset=context.dataset(target_uri, app.job) if is_wanted else None,
        # JSON may write an integer as 1.0, which Spark does not accept as bigint.
        at=int(document["timestamp"]),
        duration_ms=(duration_ns(document) or 0) // 1_000_000,
        run_id=run_id,
        shown_run_id=app.run_id or extra.get("glueJobRunId") or run_id,
        failed=document.get("error") is not None,
        append=_appends(details),
        rows=None if rows is None else int(rows),
        framework=str(details.get("frameworkName") or ""),
        unlabelled=sorted(spline.labels.keys() - labels.present(spline.labels, document)),
        owners=metadata.get("owners", ()),
        tags=metadata.get("tags", ()),
    )


def _appends(details: Document) -> bool | None:
    """Return whether rows of earlier writes remain; None if that depends on the plan's write operation.

    Row-level operations of Delta are recorded like overwrites.
    """
    if details.get("append"):
        return True
    return None if details.get("dataSourceType") == "delta" else False


def plan_facts(rows: Iterable[tuple[object, object]]) -> PlanFacts:
    """Combine the rows about a plan: its `SelectedPlan` and its own sources, besides documents."""
    facts = PlanFacts()
    for _, fact in rows:
        if isinstance(fact, SelectedPlan):
            facts = facts._replace(selected=fact)
        elif isinstance(fact, frozenset):
            facts = facts._replace(own=fact)
    return facts


def translate_plan(
    context: Context, database: str, plan: Plan, facts: PlanFacts, problems: Sequence[Problem]
) -> Iterator[TranslatedPlan]:
    """Translate one plan into records, with the problems of its documents; none if the plan is not wanted."""
    spline, selected = context.spline, facts.selected
    applied_by = selected.application if selected else ""
    name = application_name(plan) or applied_by
    job = application(name).job
    if plan.is_open or (name and not spline.wants(job, name)):
        return
    if selected is None and spline.labels.keys() - labels.present(spline.labels, plan.header or {}):
        return
    if not (plan.header or plan.operations or problems):
        missing = reject(f"executionPlan/{plan.key}", "", "missing, but referenced by progress", database)
        yield convert_jobless(context, database, plan.key, [missing])
        return
    read: list[Element] = [Count("execution plans", 1), *problems]
    elements = chain(read, translate(plan, applied_by, database, selected.sequence if selected else None))
    # Only for the newest run: writes of two runs have the same positions.
    if spline.operations and name and selected and selected.newest_sequence:
        elements = chain(elements, operations(plan, JobKey(SPARK, job), selected.newest_sequence))
    records = [mark(record, facts.own) for record in context.resolver.records(elements)]
    uri = target(plan)
    created = int((plan.header or {}).get("_created") or 0)  # JSON may have 1795253545721.0
    output = PlanOutput(redact(job), context.dataset(uri, job) if uri else None, created)
    yield TranslatedPlan(database, plan.key, records, output)


def convert_jobless(context: Context, database: str, key: str, elements: Iterable[Element]) -> TranslatedPlan:
    """Convert elements that are independent of job and run."""
    return TranslatedPlan(database, key, list(context.resolver.records(elements)))
