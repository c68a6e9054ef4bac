"""Run events of jobs, the only events that DataZone takes, from those of the OpenLineage exporter."""

import json
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime

from openlineage.client.event_v2 import DatasetEvent
from openlineage.client.serde import Serde

from lineage_merge.exporters.datazone.assets import Json
from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.openlineage.events import events, job_events
from lineage_merge.exporters.openlineage.facets import moment


def run_events(export: Export) -> Iterator[Json]:
    """Yield the events of jobs that write something, also of exposures; with `before`, the changed ones."""
    for event in job_events(export) if export.before is None else events(export):
        if not isinstance(event, DatasetEvent) and event.outputs:
            document: Json = json.loads(Serde.to_json(event))
            yield document if "run" in document else _as_run(document, export.at)


def _as_run(event: Json, at: datetime) -> Json:
    """Return a run of the day at which the lineage of a job without a known run was exported.

    Exports of one day give the same event.
    """
    day = at.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    job = event["job"]
    outputs = [f"{output['namespace']}|{output['name']}" for output in event["outputs"]]
    parts = (job["namespace"], job["name"], *outputs, day.isoformat())
    run_id = uuid.uuid5(uuid.NAMESPACE_URL, "|".join(parts))
    return {
        **event,
        "eventType": "COMPLETE",
        "eventTime": moment(day),
        "run": {"runId": str(run_id), "facets": {}},
        "schemaURL": event["schemaURL"].replace("/JobEvent", "/RunEvent"),
    }
