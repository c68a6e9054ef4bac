"""Events of the newest good run of each job, or of the job alone where no such run is known.

An event says that all its inputs went into all its outputs. So a job whose outputs come from different
inputs becomes an event for each such group, under a name of its own and with the job's run as its
parent: as OpenLineage's Spark listener tells of each write of an application.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from openlineage.client.event_v2 import InputDataset, Job, JobEvent, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import JobFacet, RunFacet, job_type_job, parent_run, processing_engine_run

from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import CatalogRecord, Flow, described, jobs
from lineage_merge.exporters.graph_batches import Job as JobPortion
from lineage_merge.exporters.openlineage.facets import PRODUCER, column_lineage, ends, of_dataset
from lineage_merge.query.elements import Vertex, name_parts, title_of_id

Event = RunEvent | JobEvent

_FAILED = "failed"


def events(export: Export) -> Iterator[Event]:
    """An event for each job, or several, in a fixed order; an exposure is a job that runs never."""
    for job in jobs(export.graph, export.environment, export.dag):
        datasets = {end for flow in job.flows for end in (*flow.sources, flow.target)}
        known = described(export.graph, datasets)
        columns = {each.id: each for each in export.graph.vertices(sorted(ends(job.flows)))}
        yield from of_job(job, known, columns, export.settings.get("namespace") or job.environment, export.at)


def of_job(
    job: JobPortion,
    known: Mapping[str, CatalogRecord],
    columns: Mapping[str, Vertex],
    namespace: str,
    now: datetime,
) -> Iterator[Event]:
    """The events of one job. `known` has its datasets by id, `columns` the ends of its column edges."""
    name = f"{job.dag}.{job.key.job_type}.{job.key.name}"
    groups: dict[tuple[str, ...], list[Flow]] = defaultdict(list)
    for flow in job.flows:
        groups[flow.sources].append(flow)
    if len(groups) < 2:
        yield _event(
            job, list(job.flows), known, columns, Job(namespace, name, _of_job(job, _whole(job))), None, now
        )
        return
    titles = [title_of_id(flows[0].target) for flows in groups.values()]
    for flows, title in zip(groups.values(), titles, strict=True):
        # Two clusters may have a table of one name.
        last = title if titles.count(title) == 1 else "|".join(name_parts(flows[0].target)[1:])
        part = Job(namespace, f"{name}.{last}", _of_job(job, "JOB"))
        parent = parent_run.ParentRunFacet(
            parent_run.Run(run_id(job)), parent_run.Job(namespace, name), producer=PRODUCER
        )
        yield _event(job, flows, known, columns, part, parent, now)


def run_id(job: JobPortion, part: str = "") -> str:
    """A UUID of a job's newest run (`part`: of what it wrote there), the same whenever it is made."""
    held = job.vertex.properties if job.vertex else {}
    which = (job.environment, job.dag, *job.key, held.get("last_run_id", ""), held.get("last_run_at", ""))
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "|".join(map(str, (*which, part)))))


def _event(
    job: JobPortion,
    flows: list[Flow],
    known: Mapping[str, CatalogRecord],
    columns: Mapping[str, Vertex],
    named: Job,
    parent: parent_run.ParentRunFacet | None,
    now: datetime,
) -> Event:
    held = job.vertex.properties if job.vertex else {}
    last = held.get("last_run_at")
    sources = sorted({each for flow in flows for each in flow.sources})
    moves: dict[str, Any] = {
        "job": named,
        "inputs": [InputDataset(*_named(each), facets=_facets(each, known)) for each in sources],
        "outputs": [_output(flow, known, columns) for flow in flows],
        "eventTime": _moment(datetime.fromtimestamp(last / 1000, tz=UTC) if last else now),
        "producer": PRODUCER,
    }
    # The lineage is of a good run. Where the newest failed, its time and id are not those.
    if not last or held.get("status") == _FAILED:
        return JobEvent(**moves)
    facets: dict[str, RunFacet] = {"parent": parent} if parent else {}
    engine, _, version = held.get("framework", "").partition(" ")
    if version:
        facets["processing_engine"] = processing_engine_run.ProcessingEngineRunFacet(
            version=version, name=engine, producer=PRODUCER
        )
    part = flows[0].target if parent else ""
    return RunEvent(run=Run(run_id(job, part), facets), eventType=RunState.COMPLETE, **moves)


def _whole(job: JobPortion) -> str:
    """OpenLineage's word for a job that is told whole: of Spark's listener, an application."""
    if job.vertex is None:
        return "EXPOSURE"
    return "APPLICATION" if job.key.job_type == "spark" else "JOB"


def _of_job(job: JobPortion, kind: str) -> dict[str, JobFacet]:
    return {
        "jobType": job_type_job.JobTypeJobFacet(
            processingType="BATCH",
            integration=job.key.job_type.upper(),
            jobType=kind,
            producer=PRODUCER,
        )
    }


def _output(flow: Flow, known: Mapping[str, CatalogRecord], columns: Mapping[str, Vertex]) -> OutputDataset:
    facets = _facets(flow.target, known)
    lineage = column_lineage(flow, columns)
    if lineage:
        facets["columnLineage"] = lineage
    return OutputDataset(*_named(flow.target), facets=facets)


def _facets(identifier: str, known: Mapping[str, CatalogRecord]) -> dict[str, Any]:
    return dict(of_dataset(known[identifier])) if identifier in known else {}


def _named(identifier: str) -> tuple[str, str]:
    return name_parts(identifier)[1:]


def _moment(at: datetime) -> str:
    return at.astimezone(UTC).isoformat(timespec="milliseconds")
