"""Input of the rounds: Spline databases and dbt manifests before and after many changes of a pipeline.

The changes cause every kind of request to the graph: new elements, a replaced label (a view becomes a table),
a dataset that is merged into another (the location of a source becomes known), deleted targets and models. A
second DAG in the graph shares datasets.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lineage_merge.infra.embedded.process import USER
from tests.spline_documents import DAY, SplineDatabase

WAREHOUSE = "redshift://wh:5439"
ENVIRONMENT = "dev"
# DAG name of each pipeline, whose name is that of the database and of the manifest file.
PIPELINES: Mapping[str, str] = {"other": "other", "before": "daily", "after": "daily"}
# The same for each start of the graph server, so that clients can reconnect.
PASSWORD = "chaos"
_RUNS = 4


def write(folder: Path) -> None:
    """Write the databases and manifests of all pipelines: `arango/NAME/`, `NAME.json`."""
    for name, (spline, manifest) in {"other": _other(), "before": _before(), "after": _after()}.items():
        spline.write(folder / "arango" / name)
        (folder / f"{name}.json").write_text(json.dumps(manifest))


def settings(
    folder: Path, name: str, arango_port: int, graph_port: int, retry_seconds: int
) -> dict[str, Any]:
    """Return the configuration of a pipeline; the password is in `CHAOS_PASSWORD`."""
    return {
        "dag_name": PIPELINES[name],
        "environment": ENVIRONMENT,
        "spline": {
            "arango": {
                "hosts": f"http://127.0.0.1:{arango_port}",
                "database": name,
                "password_env": "CHAOS_PASSWORD",
                "timeout_seconds": 10,
                "batch_size": 20,
            }
        },
        "dbt": [{"manifest": str(folder / f"{name}.json"), "namespace": WAREHOUSE}],
        # A small input would be merged in the driver, without a Python worker that a fault could kill.
        "spark": {"distribute_above_mb": 0},
        "gremlin": {
            "endpoint": f"ws://{USER}:{PASSWORD}@127.0.0.1:{graph_port}/gremlin",
            "timeout_seconds": 20,
            "retry_seconds": retry_seconds,
        },
    }


def _other() -> tuple[SplineDatabase, dict[str, Any]]:
    spline = SplineDatabase("other")
    spline.plan("audit", reads=["s3://lake/sales", "s3://raw/users"], writes="s3://lake/audit", at=DAY)
    dbt = DbtProject("other", 1).source("raw.sales").source("mart.v").source("mart.dropped")
    dbt.model("q", "select id, amount from wh.raw.sales", "raw.sales")
    dbt.model("r", "select id, amount from wh.mart.v", "mart.v").model("s", "select 1 as one", "mart.dropped")
    return spline, dbt.manifest()


def _before() -> tuple[SplineDatabase, dict[str, Any]]:
    spline = SplineDatabase("daily")
    _ingest(spline, 1, "s3://raw/dates")
    spline.plan("ingest", reads=["s3://raw/sales"], writes="s3://lake/dropped", at=DAY, run="r1")
    _spread(spline, 1, 16)
    dbt = DbtProject("daily", 1).source("raw.sales").source("raw.users")
    dbt.model("v", "select id, amount from wh.raw.sales", "raw.sales", materialized="view")
    dbt.model("m", "select v.id, u.age from wh.mart.v join wh.raw.users u using (id)", "v", "raw.users")
    dbt.model("dropped", "select id, age from wh.mart.m", "m")
    for number in range(8):
        dbt.model(f"n{number}", "select id from wh.mart.m", "m")
    return spline, dbt.manifest()


def _after() -> tuple[SplineDatabase, dict[str, Any]]:
    spline = SplineDatabase("daily")
    _ingest(spline, 1, "s3://raw/dates")
    spline.plan("ingest", reads=["s3://raw/sales"], writes="s3://lake/dropped", at=DAY, run="r1")
    for run in range(2, 2 + _RUNS):
        _ingest(spline, run, "s3://raw/returns")
    _spread(spline, 1, 16)
    _spread(spline, 2, 40)
    location = {"external": {"location": "s3://lake/sales/"}}
    dbt = DbtProject("daily", 2).source("raw.sales", **location).source("raw.users")
    dbt.model("v", "select id, amount * 2 as amount from wh.raw.sales", "raw.sales")
    dbt.model("m", "select v.id, v.amount from wh.mart.v", "v")
    for number in range(2, 20):
        dbt.model(f"n{number}", "select id, sum(amount) as amount from wh.mart.m group by id", "m")
    return spline, dbt.manifest()


def _ingest(spline: SplineDatabase, run: int, second: str) -> None:
    reads = ["s3://raw/sales", second]
    spline.plan("ingest", reads=reads, writes="s3://lake/sales", at=run * DAY, run=f"r{run}", rows=run)


def _spread(spline: SplineDatabase, run: int, targets: int) -> None:
    for number in range(targets):
        reads = ["s3://lake/sales", *(["s3://raw/users"] if number % 3 == run else [])]
        target = f"s3://lake/region_{number:02}"
        spline.plan("spread", reads=reads, writes=target, at=run * DAY + number / 10, run=f"s{run}")


class DbtProject:
    """A dbt project of one day: sources by schema and name, models with their parents."""

    def __init__(self, name: str, day: int) -> None:
        self._name = name
        self._generated = f"2026-01-{day:02}T00:00:00Z"
        self._nodes: dict[str, Any] = {}
        self._sources: dict[str, Any] = {}

    def source(self, name: str, **more: Any) -> "DbtProject":
        schema, _, table = name.partition(".")
        unique_id = f"source.{self._name}.{name}"
        columns = {column: {"name": column} for column in ("id", "amount", "age")}
        self._sources[unique_id] = {
            "unique_id": unique_id,
            "resource_type": "source",
            "name": table,
            "database": "wh",
            "schema": schema,
            "identifier": table,
            "relation_name": f"wh.{name}",
            "columns": columns,
            **more,
        }
        return self

    def model(
        self, name: str, sql: str, *parents: str, materialized: str = "table", **more: Any
    ) -> "DbtProject":
        unique_id = f"model.{self._name}.{name}"
        kinds = {parent: "source" if "." in parent else "model" for parent in parents}
        self._nodes[unique_id] = {
            "unique_id": unique_id,
            "resource_type": "model",
            "name": name,
            "database": "wh",
            "schema": "mart",
            "alias": name,
            "relation_name": f"wh.mart.{name}",
            "language": "sql",
            "compiled_code": sql,
            "config": {"materialized": materialized},
            "depends_on": {"nodes": [f"{kind}.{self._name}.{parent}" for parent, kind in kinds.items()]},
            "columns": {},
            **more,
        }
        return self

    def manifest(self) -> dict[str, Any]:
        metadata = {
            "dbt_schema_version": "https://schemas.getdbt.com/dbt/manifest/v12.json",
            "generated_at": self._generated,
            "project_name": self._name,
            "adapter_type": "redshift",
        }
        return {"metadata": metadata, "nodes": self._nodes, "sources": self._sources}
