"""OpenLineage events as producers make them, for tests."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

SPARK = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/spark"
DBT = "https://github.com/OpenLineage/OpenLineage/tree/1.53.0/integration/dbt"
AIRFLOW = "https://github.com/apache/airflow/tree/providers-openlineage/2.7.0"

Event = dict[str, Any]


def dataset(address: str, facets: Mapping[str, Any] | None = None, rows: int | None = None) -> Event:
    """``s3://lake|sales``, with facets; `rows` stand in the output's statistics."""
    namespace, _, name = address.partition("|")
    made: Event = {"namespace": namespace, "name": name}
    if facets:
        made["facets"] = dict(facets)
    if rows is not None:
        made["outputFacets"] = {"outputStatistics": {"rowCount": rows, "size": 100 * rows}}
    return made


def event(
    kind: str,
    at: str,
    job: str = "job",
    run: str = "01a1fd70-0000-7000-8000-000000000001",
    *,
    inputs: Iterable[str | Event] = (),
    outputs: Iterable[str | Event] = (),
    run_facets: Mapping[str, Any] | None = None,
    job_facets: Mapping[str, Any] | None = None,
    producer: str = "https://example.com/producer",
    namespace: str = "tests",
) -> Event:
    """A `RunEvent`; `at` is a time of the first day of November 2026, such as ``06:00``."""
    return {
        "eventType": kind,
        "eventTime": f"2026-11-{at}:00.000Z" if len(at) > 5 else f"2026-11-01T{at}:00.000Z",
        "producer": producer,
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": run, "facets": dict(run_facets or {})},
        "job": {"namespace": namespace, "name": job, "facets": dict(job_facets or {})},
        "inputs": [dataset(each) if isinstance(each, str) else each for each in inputs],
        "outputs": [dataset(each) if isinstance(each, str) else each for each in outputs],
    }


def job_type(integration: str, kind: str = "", processing: str = "BATCH") -> dict[str, Any]:
    """The facet `jobType`."""
    return {"jobType": {"processingType": processing, "integration": integration, "jobType": kind}}


def of_spark(app: str, application_id: str = "app-1", parent: str = "") -> dict[str, Any]:
    """The run facets of one action of a Spark application; `parent` is what OpenLineage calls the latter."""
    return {
        "parent": {
            "run": {"runId": f"run-of-{application_id}"},
            "job": {"namespace": "tests", "name": parent or app},
        },
        "spark_applicationDetails": {"appName": app, "applicationId": application_id},
        "processing_engine": {"name": "spark", "version": "4.0.1"},
    }


def write_lines(path: Any, events: Iterable[Event]) -> None:
    """A file of JSON lines."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in events))
