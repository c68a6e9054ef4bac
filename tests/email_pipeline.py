"""An e-mail address on its path from S3 through Spark and dbt into five marts, merged by the pipeline.

::

    s3://crm-raw/customers -> Spark -> s3://crm-lake/customers -> dbt: stg_customers -> five marts
    copied -> exposure mailing, hashed and counted -> exposure retention

The marts hash the address, count it, use it in a CASE, in a filter, and copy it. Spline's documents are
generated in the form of its database; the manifest is dbt's (`tests/data/dbt/email_v12`).
"""

from pathlib import Path
from typing import Any

from benchmarks.generated import pipeline as generated
from benchmarks.generated import spline
from lineage_merge.graph_format.elements import edge_of_row, vertex_of_row
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import merge
from lineage_merge.questions.backends.in_memory import InMemory
from tests.spline_documents import write_collections

MANIFEST = Path(__file__).parent / "data" / "dbt" / "email_v12" / "manifest.json"
WAREHOUSE = "duckdb://crm"
RAW, LAKE = "s3://crm-raw/customers", "s3://crm-lake/customers"
_COLUMNS = ("customer_id", "email", "country")


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    """The configuration, with Spline's export in a folder; `more` replaces sections."""
    return {
        "dag_name": "crm_daily",
        "environment": "dev",
        "spline": {"export": str(_export(folder / "spline"))},
        "dbt": [{"manifest": str(MANIFEST), "namespace": WAREHOUSE}],
        "metadata": {f"{RAW}#email": {"tags": "pii"}},
    } | more


def rows(folder: Path, **more: Any) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The nodes and edges of the merged pipeline."""
    elements = merge(CONFIGURATION.parse(settings(folder, **more))).elements.collect()
    return (
        [row for row in elements if not row.get("from")],
        [row for row in elements if row.get("from")],
    )


def graph(folder: Path, **more: Any) -> InMemory:
    """The merged pipeline in memory."""
    nodes, edges = rows(folder, **more)
    return InMemory(map(vertex_of_row, nodes), map(edge_of_row, edges))


def short(identifier: str) -> str:
    """``lake#email``, ``copied#contact``, ``mailing``: without environment, namespace and schema."""
    _, namespace, name, *column = identifier.split("|")
    where = {"s3://crm-raw": "raw", "s3://crm-lake": "lake"}.get(namespace, name.rpartition(".")[2])
    return "#".join((where, *column))


def _export(folder: Path) -> Path:
    columns = tuple(generated.Made(name, "identity", (generated.At(0, name),)) for name in _COLUMNS)
    plan = generated.Plan("crm_ingest", (generated.Dataset(RAW, _COLUMNS),), LAKE, columns)
    run = generated.Run(plan, "application_1", generated.START)
    return write_collections(spline.documents(generated.Pipeline(runs=(run,))), folder)
