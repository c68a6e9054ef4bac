"""Events of checks: the newest results of the tests of a dataset, as in OpenLineage's integration with dbt.

A run of checks reads a dataset and writes none. Checks of a dataset by the same type of job are one event.
"""

import uuid
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import Any

import attr
from openlineage.client.event_v2 import InputDataset, Job, Run, RunEvent, RunState
from openlineage.client.facet_v2 import data_quality_assertions_dataset, job_type_job

from lineage_merge.exporters.exporter import Export
from lineage_merge.exporters.graph_batches import Check, checked_datasets
from lineage_merge.exporters.openlineage.facets import PRODUCER, moment, of_dataset
from lineage_merge.graph_format.elements import dataset_id_of, name_parts, title_of_id
from lineage_merge.model.times import utc_moment

_Assertion = data_quality_assertions_dataset.Assertion
# Newer versions of the client have more.
_FIELDS = {each.name for each in attr.fields(_Assertion)}


def check_events(export: Export) -> Iterator[RunEvent]:
    """Yield an event per checked dataset, DAG and type of job. Checks without a result are omitted."""
    pairs = export.graph.pairs(["checks"], export.environment, export.dag)
    titles = Counter(title_of_id(each) for each in {dataset_id_of(target) for _, target in pairs})
    for checked in checked_datasets(export.graph, export.environment, export.dag):
        dataset = checked.schema.dataset
        _, namespace, name = name_parts(dataset.id)
        title = title_of_id(dataset.id)
        # Tables of two clusters may have the same name.
        shown = title if titles[title] == 1 else f"{namespace}|{name}"
        groups: dict[tuple[str, str], list[Check]] = defaultdict(list)
        for each in checked.checks:
            if "status" in each.assertion.properties and "last_run_at" in each.assertion.properties:
                dag = each.assertion.dags[0]  # an assertion belongs to one DAG, which is part of its id
                groups[dag, str(each.assertion.properties.get("job_type", ""))].append(each)
        for (dag, job_type), checks in sorted(groups.items()):
            at = max(each.assertion.properties["last_run_at"] for each in checks)
            ended = utc_moment(at)
            if ended is None:
                continue
            job = Job(
                export.settings.get("namespace") or dataset.environment,
                f"{dag}.{job_type}.{shown}.test",
                {
                    "jobType": job_type_job.JobTypeJobFacet(
                        processingType="BATCH",
                        integration=job_type.upper(),
                        jobType="TEST",
                        producer=PRODUCER,
                    )
                },
            )
            facet = data_quality_assertions_dataset.DataQualityAssertionsDatasetFacet(
                assertions=[_assertion(each) for each in checks], producer=PRODUCER
            )
            tested = InputDataset(
                namespace,
                name,
                inputFacets={"dataQualityAssertions": facet},
                facets=dict(of_dataset(checked.schema)),
            )
            yield RunEvent(
                run=Run(_run_id(dataset.id, dag, job_type, at)),
                eventType=RunState.COMPLETE,
                eventTime=moment(ended),
                job=job,
                inputs=[tested],
                outputs=[],
                producer=PRODUCER,
            )


def _run_id(*parts: object) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "|".join(map(str, ("checks", *parts)))))


def _assertion(check: Check) -> Any:
    properties = check.assertion.properties
    values = {
        "assertion": str(properties.get("assertion_type", "")) or check.assertion.name,
        # A check that did not run to its end did not succeed.
        "success": properties["status"] == "passed",
        "column": check.column.name if check.column else None,
        "severity": properties.get("severity"),
        "name": check.assertion.name,
        "description": properties.get("description"),
    }
    return _Assertion(
        **{name: value for name, value in values.items() if value is not None and name in _FIELDS}
    )
