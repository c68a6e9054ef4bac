"""Events of the newest successful run of each job, or of the job alone if no such run is known.

An event means that all its inputs went into all its outputs. A job whose outputs have different inputs
becomes one event per group of outputs, each with its own name and the job's run as parent, as in the Spark
listener of OpenLineage.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import attr
from openlineage.client.event_v2 import (
    DatasetEvent,
    InputDataset,
    Job,
    JobEvent,
    OutputDataset,
    Run,
    RunEvent,
    RunState,
    StaticDataset,
)
from openlineage.client.facet_v2 import (
    DatasetFacet,
    JobFacet,
    RunFacet,
    data_quality_assertions_dataset,
    documentation_job,
    job_type_job,
    lifecycle_state_change_dataset,
    ownership_job,
    parent_run,
    processing_engine_run,
    tags_job,
)

from lineage_merge.exporters.changed_elements import find_changed_elements
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import (
    BATCH,
    DatasetCheck,
    DatasetSchema,
    Flow,
    JobLineage,
    jobs,
    list_checked_datasets,
    read_schemas,
)
from lineage_merge.exporters.openlineage.facets import (
    PRODUCER,
    column_lineage,
    ends,
    make_dataset_facets,
    moment,
)
from lineage_merge.graph_format.elements import Vertex, name_parts, title_of_id
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.infra.batches import batched, gather
from lineage_merge.model.elements import dataset_of
from lineage_merge.model.times import utc_moment
from lineage_merge.questions.formats.describe import declarations
from lineage_merge.questions.graph import LineageGraph

Event = RunEvent | JobEvent

_FAILED = "failed"


def events(export: Export) -> Iterator[Event | DatasetEvent]:
    """Yield one or more events per job, in a fixed order, then the events of checks.

    Exposures are jobs without runs. With `before`, those of what changed since.
    """
    if export.before is not None:
        yield from _change_events(export, export.before)
        return
    yield from job_events(export)
    yield from check_events(export)


def job_events(export: Export) -> Iterator[Event]:
    """Yield the events of all jobs."""
    yield from _events_of(export.graph, jobs(export.graph, export.environment, export.dag), export)


def _events_of(graph: LineageGraph, lineage: Iterable[JobLineage], export: Export) -> Iterator[Event]:
    """Yield the events of jobs; what many of them read is read once for a batch of jobs."""
    for batch in batched(lineage, BATCH):
        flows = [flow for job in batch for flow in job.flows]
        known = read_schemas(graph, {end for flow in flows for end in (*flow.sources, flow.target)})
        columns = {vertex.id: vertex for vertex in graph.vertices(sorted(ends(flows)))}
        for job in batch:
            yield from _events_of_job(job, known, columns, export)


def _events_of_job(
    job: JobLineage, known: Mapping[str, DatasetSchema], columns: Mapping[str, Vertex], export: Export
) -> Iterator[Event]:
    name = f"{job.dag}.{job.key.job_type}.{job.key.name}"
    namespace = export.settings.get("namespace") or job.environment
    groups = gather((flow.sources, flow) for flow in job.flows)

    def event(flows: Sequence[Flow], named: Job, parent: parent_run.ParentRunFacet | None = None) -> Event:
        sources = sorted({source for flow in flows for source in flow.sources})
        inputs = [InputDataset(*name_parts(source)[1:], facets=_facets(source, known)) for source in sources]
        outputs = [_output(flow, known, columns) for flow in flows]
        return _event(job, named, inputs, outputs, export.at, (flows[0].target, parent) if parent else None)

    if len(groups) < 2:
        yield event(job.flows, Job(namespace, name, _describe_job(job, _job_kind(job, known), job.flows)))
        return
    titles = [title_of_id(flows[0].target) for flows in groups.values()]
    for flows, title in zip(groups.values(), titles, strict=True):
        # Tables of two clusters may have the same name.
        last = title if titles.count(title) == 1 else "|".join(name_parts(flows[0].target)[1:])
        parent = parent_run.ParentRunFacet(
            parent_run.Run(run_id(job)), parent_run.Job(namespace, name), producer=PRODUCER
        )
        yield event(flows, Job(namespace, f"{name}.{last}", _describe_job(job, "JOB", flows)), parent)


def run_id(job: JobLineage, part: str = "") -> str:
    """Return a stable UUID of a job's newest run (`part`: of one output of it)."""
    properties = job.vertex.properties if job.vertex else {}
    which = (
        job.environment,
        job.dag,
        *job.key,
        properties.get("last_run_id", ""),
        properties.get("last_run_at", ""),
    )
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "|".join(map(str, (*which, part)))))


def _event(
    job: JobLineage,
    named: Job,
    inputs: list[InputDataset],
    outputs: list[OutputDataset],
    now: datetime,
    part: tuple[str, parent_run.ParentRunFacet] | None,
) -> Event:
    """Return the event of a job, or of a `part` of it: the first dataset that it writes, and its parent."""
    properties = job.vertex.properties if job.vertex else {}
    at = properties.get("last_run_at")
    last = utc_moment(at) if at else None
    event_fields: dict[str, Any] = {
        "job": named,
        "inputs": inputs,
        "outputs": outputs,
        "eventTime": moment(last or now),
        "producer": PRODUCER,
    }
    # The lineage is that of a successful run. If the newest run failed, its time and id do not belong to it.
    if not last or properties.get("status") == _FAILED:
        return JobEvent(**event_fields)
    facets: dict[str, RunFacet] = {"parent": part[1]} if part else {}
    engine, _, version = properties.get("framework", "").partition(" ")
    if version:
        facets["processing_engine"] = processing_engine_run.ProcessingEngineRunFacet(
            version=version, name=engine, producer=PRODUCER
        )
    run = Run(run_id(job, part[0] if part else ""), facets)
    return RunEvent(run=run, eventType=RunState.COMPLETE, **event_fields)


def _job_kind(job: JobLineage, known: Mapping[str, DatasetSchema]) -> str:
    """Return OpenLineage's type of a complete job: in Spark's listener, an application.

    What no job runs for (an exposure, a metric) is called by its own kind.
    """
    if job.vertex is None:
        labels = (known[flow.target].dataset.label for flow in job.flows if flow.target in known)
        return next(labels, "exposure").upper()
    return "APPLICATION" if job.key.job_type == "spark" else "JOB"


def _describe_job(job: JobLineage, kind: str, flows: Iterable[Flow]) -> dict[str, JobFacet]:
    facets: dict[str, JobFacet] = {"jobType": _job_type(job.key.job_type, kind)}
    edges = (edge for flow in flows for edge in (*flow.feeds, *flow.column_feeds))
    if declared := declarations(edges):
        facets["documentation"] = documentation_job.DocumentationJobFacet(declared, producer=PRODUCER)
    properties = job.vertex.properties if job.vertex else {}
    if properties.get("owners"):
        owners = [ownership_job.Owner(owner) for owner in properties["owners"]]
        facets["ownership"] = ownership_job.OwnershipJobFacet(owners=owners, producer=PRODUCER)
    if properties.get("tags"):
        tags = [tags_job.TagsJobFacetFields(tag, "true") for tag in properties["tags"]]
        facets["tags"] = tags_job.TagsJobFacet(tags=tags, producer=PRODUCER)
    return facets


def _job_type(job_type: str, kind: str) -> JobFacet:
    return job_type_job.JobTypeJobFacet(
        processingType="BATCH", integration=job_type.upper(), jobType=kind, producer=PRODUCER
    )


def _output(flow: Flow, known: Mapping[str, DatasetSchema], columns: Mapping[str, Vertex]) -> OutputDataset:
    facets = _facets(flow.target, known)
    lineage = column_lineage(flow, columns)
    if lineage:
        facets["columnLineage"] = lineage
    if {feed.properties.get("write_mode") for feed in flow.feeds} == {"overwrite"}:
        facets["lifecycleStateChange"] = _OVERWRITTEN
    return OutputDataset(*name_parts(flow.target)[1:], facets=facets)


def _facets(identifier: str, known: Mapping[str, DatasetSchema]) -> dict[str, Any]:
    return dict(make_dataset_facets(known[identifier])) if identifier in known else {}


_OVERWRITTEN = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
    lifecycle_state_change_dataset.LifecycleStateChange.OVERWRITE, producer=PRODUCER
)
_DROPPED = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
    lifecycle_state_change_dataset.LifecycleStateChange.DROP, producer=PRODUCER
)


def _change_events(export: Export, before: LineageGraph) -> Iterator[Event | DatasetEvent]:
    """Yield the events of changed jobs, of jobs without lineage any more, then of changed datasets.

    A dataset that is part of another event has none of its own. Checks are not compared.
    """
    changes = find_changed_elements(before, export.graph, export.environment, export.dag)
    names: set[tuple[str, str]] = set()
    shown: set[tuple[str, str]] = set()
    changed = jobs(export.graph, export.environment, export.dag, only=changes.jobs)
    for event in _events_of(export.graph, changed, export):
        names.add((event.job.namespace, event.job.name))
        moved = (*(event.inputs or ()), *(event.outputs or ()))
        shown |= {(dataset.namespace, dataset.name) for dataset in moved}
        yield event
    now = moment(export.at)
    earlier = jobs(before, export.environment, export.dag, only=changes.earlier_jobs)
    for event in _events_of(before, earlier, export):
        name = event.job.namespace, event.job.name
        if name not in names:  # the job was removed, or has fewer groups of outputs
            names.add(name)
            yield JobEvent(job=Job(*name), inputs=[], outputs=[], eventTime=now, producer=PRODUCER)
    for identifier, schema in sorted(read_schemas(export.graph, changes.datasets).items()):
        named = name_parts(identifier)[1:]
        if named not in shown:
            yield _dataset_event(named, make_dataset_facets(schema), now)
    if changes.removed_datasets:
        # Environments are no part of names: the dataset of another one may have the same.
        existing = {name_parts(identifier)[1:] for identifier in export.graph.ids(list(DATASET_LABELS))}
        for identifier in sorted(changes.removed_datasets):
            if (named := name_parts(identifier)[1:]) not in existing:
                yield _dataset_event(named, {"lifecycleStateChange": _DROPPED}, now)


def _dataset_event(named: tuple[str, str], facets: dict[str, DatasetFacet], now: str) -> DatasetEvent:
    return DatasetEvent(dataset=StaticDataset(*named, facets=facets), eventTime=now, producer=PRODUCER)


_Assertion = data_quality_assertions_dataset.Assertion
# Newer versions of the client have more.
_FIELDS = {field.name for field in attr.fields(_Assertion)}


def check_events(export: Export) -> Iterator[RunEvent]:
    """Yield an event per checked dataset, DAG and type of job. Checks without a result are omitted."""
    pairs = export.graph.pairs(["checks"], export.environment, export.dag)
    titles = Counter(title_of_id(dataset) for dataset in {dataset_of(target) for _, target in pairs})
    for checked in list_checked_datasets(export.graph, export.environment, export.dag):
        dataset = checked.schema.dataset
        _, namespace, name = name_parts(dataset.id)
        title = title_of_id(dataset.id)
        # Tables of two clusters may have the same name.
        shown = title if titles[title] == 1 else f"{namespace}|{name}"
        for (dag, job_type, number), checks in sorted(_group_by_event(checked.checks).items()):
            at = max(check.assertion.properties["last_run_at"] for check in checks)
            ended = utc_moment(at)
            if ended is None:
                continue
            job = Job(
                export.settings.get("namespace") or dataset.environment,
                f"{dag}.{job_type}.{shown}.test{number + 1 if number else ''}",
                {"jobType": _job_type(job_type, "TEST")},
            )
            facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                assertions=[_assertion(check) for check in checks], producer=PRODUCER
            )
            tested = InputDataset(
                namespace,
                name,
                inputFacets={"dataQualityAssertions": facet},
                facets=dict(make_dataset_facets(checked.schema)),
            )
            yield RunEvent(
                run=Run(_run_id(dataset.id, dag, job_type, at, *([number] if number else ()))),
                eventType=RunState.COMPLETE,
                eventTime=moment(ended),
                job=job,
                inputs=[tested],
                outputs=[],
                producer=PRODUCER,
            )


def _group_by_event(checks: Iterable[DatasetCheck]) -> dict[tuple[str, str, int], list[DatasetCheck]]:
    """Return the checks that have a result, by DAG, type of job, and number of the event."""
    groups: dict[tuple[str, str, int], list[DatasetCheck]] = defaultdict(list)
    same: Counter[tuple[str, ...]] = Counter()
    for check in checks:
        if "status" in check.assertion.properties and "last_run_at" in check.assertion.properties:
            dag = check.assertion.dags[0]  # an assertion belongs to one DAG, which is part of its id
            job_type = str(check.assertion.properties.get("job_type", ""))
            # Two jobs may have the same check, with different results.
            shown_check = dag, job_type, *_describe_check(check)
            groups[dag, job_type, same[shown_check]].append(check)
            same[shown_check] += 1
    return groups


def _run_id(*parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "|".join(map(str, ("checks", *parts)))))


def _describe_check(check: DatasetCheck) -> tuple[str, str, str]:
    """Return kind, column ("": none) and name of a check, as its event has them."""
    kind = str(check.assertion.properties.get("assertion_type", "")) or check.assertion.name
    return kind, str(check.column.qualified_name if check.column else ""), check.assertion.name


def _assertion(check: DatasetCheck) -> Any:
    properties = check.assertion.properties
    kind, column, name = _describe_check(check)
    values = {
        "assertion": kind,
        # A check that did not run to its end did not succeed.
        "success": properties["status"] == "passed",
        "column": column or None,
        "severity": properties.get("severity"),
        "name": name,
        "description": properties.get("description"),
    }
    return _Assertion(
        **{name: value for name, value in values.items() if value is not None and name in _FIELDS}
    )
