"""Events as OpenLineage's own Python client writes them, to a file and to a log."""

import logging
from datetime import UTC, datetime
from pathlib import Path

import pytest
from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import (
    column_lineage_dataset,
    job_type_job,
    output_statistics_output_dataset,
    schema_dataset,
)
from openlineage.client.transport.console import ConsoleConfig, ConsoleTransport
from openlineage.client.transport.file import FileConfig, FileTransport

from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.merge import dataset_resolver
from lineage_merge.model.elements import FeedsColumn
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.sources.openlineage.reader import read_openlineage
from tests.record_reading import flows_of, jobs_of, problems_of, records_of, rows_of

RUN = "01a1fd70-0000-7000-8000-00000000000a"


def emit(client: OpenLineageClient) -> None:
    """A task that copies a table: its inputs are reported at the start, its outputs at the end."""
    job = Job(
        "airflow",
        "tickit_daily.copy_sales",
        facets={"jobType": job_type_job.JobTypeJobFacet("BATCH", "AIRFLOW", "TASK")},
    )
    field = column_lineage_dataset.InputField(
        "s3://tickit-lake",
        "sales_dl",
        "pricepaid",
        [column_lineage_dataset.Transformation("DIRECT", "IDENTITY")],
    )
    lineage = column_lineage_dataset.ColumnLineageDatasetFacet(
        fields={"pricepaid": column_lineage_dataset.Fields([field])}
    )
    columns = schema_dataset.SchemaDatasetFacet(
        [schema_dataset.SchemaDatasetFacetFields("pricepaid", "numeric")]
    )
    rows = output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(rowCount=5)
    target = OutputDataset(
        "redshift://tickit-wh.us-east-1:5439",
        "dev.public.sales",
        facets={"schema": columns, "columnLineage": lineage},
        outputFacets={"outputStatistics": rows},
    )
    for state, minute, inputs, outputs in (
        (RunState.START, 0, [InputDataset("s3://tickit-lake", "sales_dl")], []),
        (RunState.COMPLETE, 2, [], [target]),
    ):
        at = datetime(2026, 11, 1, 6, minute, tzinfo=UTC).isoformat()
        run = RunEvent(
            eventTime=at,
            producer="https://example.com/test",
            run=Run(RUN),
            job=job,
            eventType=state,
            inputs=inputs,
            outputs=outputs,
        )
        client.emit(run)


@pytest.mark.parametrize("transport", ["file", "console"])
def test_what_the_client_writes_is_read(
    tmp_path: Path, transport: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENLINEAGE_DISABLED", "false")
    log = tmp_path / "events.log"
    if transport == "file":
        emit(OpenLineageClient(transport=FileTransport(FileConfig(str(log), append=True))))
    else:
        logger = logging.getLogger("openlineage.client.transport.console")
        handler = logging.FileHandler(log)
        handler.setFormatter(
            logging.Formatter("[%(asctime)s] {%(filename)s:%(lineno)d} %(levelname)s - %(message)s")
        )
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        emit(OpenLineageClient(transport=ConsoleTransport(ConsoleConfig())))
        logger.removeHandler(handler)
        handler.close()
    settings = CONFIGURATION.parse(
        {"dag_name": "daily", "environment": "dev", "openlineage": {"events": str(tmp_path)}}
    )

    rows = rows_of(read_openlineage(LocalEngine(), settings, dataset_resolver.from_config(settings)))

    target = "redshift://tickit-wh.us-east-1:5439|dev.public.sales"
    assert problems_of(rows) == set()
    assert flows_of(rows) == {("tickit_daily.copy_sales", "s3://tickit-lake|sales_dl", target)}
    columns = {
        (
            row.source,
            row.source_column,
            row.target,
            row.target_column,
            *row.transformations,
        )
        for row in records_of(FeedsColumn, rows)
    }
    assert columns == {
        ("dev|s3://tickit-lake|sales_dl", "pricepaid", f"dev|{target}", "pricepaid", "IDENTITY")
    }
    assert jobs_of(rows)["tickit_daily.copy_sales"] == {
        "last_run_id": RUN,
        "last_run_at": "1793512920000",
        "duration_ms": "120000",
        "rows_written": "5",
        "status": "succeeded",
    }
