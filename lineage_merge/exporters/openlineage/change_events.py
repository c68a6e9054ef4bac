"""Events of what changed between two moments: jobs, datasets, and what was removed."""

from collections.abc import Iterator

from openlineage.client.event_v2 import DatasetEvent, Job, JobEvent, StaticDataset
from openlineage.client.facet_v2 import DatasetFacet, lifecycle_state_change_dataset

from lineage_merge.exporters.changed_elements import changed_elements
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import Job as JobLineage
from lineage_merge.exporters.graph_batches import jobs, read_schemas
from lineage_merge.exporters.openlineage.events import Event, of_job
from lineage_merge.exporters.openlineage.facets import PRODUCER, ends, moment, of_dataset
from lineage_merge.graph_format.elements import name_parts
from lineage_merge.graph_format.schema import DATASET_LABELS
from lineage_merge.questions.graph import LineageGraph

_DROPPED = lifecycle_state_change_dataset.LifecycleStateChangeDatasetFacet(
    lifecycle_state_change_dataset.LifecycleStateChange.DROP, producer=PRODUCER
)


def change_events(export: Export, before: LineageGraph) -> Iterator[Event | DatasetEvent]:
    """Yield the events of changed jobs, of jobs without lineage any more, then of changed datasets.

    A dataset that is part of another event has none of its own. Checks are not compared.
    """
    found = changed_elements(before, export.graph, export.environment, export.dag)
    names: set[tuple[str, str]] = set()
    shown: set[tuple[str, str]] = set()
    for job in jobs(export.graph, export.environment, export.dag, only=found.jobs):
        for event in _events_of(export.graph, job, export):
            names.add((event.job.namespace, event.job.name))
            shown |= {(each.namespace, each.name) for each in (*(event.inputs or ()), *(event.outputs or ()))}
            yield event
    now = moment(export.at)
    for job in jobs(before, export.environment, export.dag, only=found.earlier_jobs):
        for event in _events_of(before, job, export):
            name = event.job.namespace, event.job.name
            if name not in names:  # the job was removed, or has fewer groups of outputs
                names.add(name)
                yield JobEvent(job=Job(*name), inputs=[], outputs=[], eventTime=now, producer=PRODUCER)
    for identifier, schema in sorted(read_schemas(export.graph, found.datasets).items()):
        named = name_parts(identifier)[1:]
        if named not in shown:
            yield _dataset_event(named, of_dataset(schema), now)
    if found.removed_datasets:
        # Environments are no part of names: the dataset of another one may have the same.
        existing = {name_parts(each)[1:] for each in export.graph.ids(list(DATASET_LABELS))}
        for identifier in sorted(found.removed_datasets):
            if (named := name_parts(identifier)[1:]) not in existing:
                yield _dataset_event(named, {"lifecycleStateChange": _DROPPED}, now)


def _events_of(graph: LineageGraph, job: JobLineage, export: Export) -> Iterator[Event]:
    known = read_schemas(graph, {end for flow in job.flows for end in (*flow.sources, flow.target)})
    columns = {each.id: each for each in graph.vertices(sorted(ends(job.flows)))}
    return of_job(job, known, columns, export.settings.get("namespace") or job.environment, export.at)


def _dataset_event(named: tuple[str, str], facets: dict[str, DatasetFacet], now: str) -> DatasetEvent:
    return DatasetEvent(dataset=StaticDataset(*named, facets=facets), eventTime=now, producer=PRODUCER)
