"""Records the company again: runs Spark and dbt, writes `sources/`, `before/` and `pull_request/`.

``python sample_data/company/recipe/record.py --jars ICEBERG.jar --dbt DBT``, with duckdb, takes some minutes.
What is real and what stands in for something is in `sample_data/README.md`.
"""

import argparse
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dashboards
import duckdb

from lineage_merge.orchestration.demo import shift_times

RECIPE = Path(__file__).parent
COMPANY = RECIPE.parent
SOURCES = COMPANY / "sources"
_ARTIFACTS = ("manifest.json", "catalog.json")
# Of an event log: events, and Spark's properties.
_EVENTS = (
    "LogStart EnvironmentUpdate ApplicationStart SQLExecutionStart SQLExecutionEnd DriverAccumUpdates".split()
)
_PROPERTIES = ("spark.app.name", "spark.master", "spark.sql.catalog")
# Of a manifest, what no source reads, or what names this machine.
_EMPTIED = ("macros", "docs", "selectors", "disabled", "parent_map", "child_map", "group_map")
_COLUMNS = {
    "customers": "customer_id email country city loyalty_points",
    "orders": "order_id sku customer_id ordered_at status qty amount",
    "visits": "visit_id customer_id visited_at campaign",
    "products": "sku category margin_rate loaded_at",
}
# table: prefix that COPY reads, days since
_COPIES = {
    "customers": ("s3://brightmug-lake/customers/", 0),
    "orders": ("s3://brightmug-export/orders/", 0),
    "visits": ("s3://brightmug-lake/web-visits/", 0),
    "products": ("s3://brightmug-erp/products/", 3),
}
# Queries of the warehouse's users: the user, days between them, days since the first and the last one.
_QUERIES = (
    ("select country, sum(revenue) from marts.revenue_by_country group by country", "quicksight", 1, 100, 0),
    ("select country, count(*) from public.customers group by country", "superset", 7, 98, 0),
    ("select customer_id, loyalty_points from public.customers where loyalty_points > 100", "ana", 1, 95, 95),
    ("select campaign, count(*) from public.visits group by campaign", "ana", 14, 84, 14),
)


def main() -> None:
    """Record everything."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jars", required=True, help="Iceberg's runtime for Spark 3.5")
    parser.add_argument("--dbt", required=True, help="the command dbt, with dbt-duckdb")
    given = parser.parse_args()
    for folder in (SOURCES, COMPANY / "before", COMPANY / "pull_request"):
        shutil.rmtree(folder, ignore_errors=True)
    with TemporaryDirectory() as work:
        record_spark(Path(work), given.jars)
        record_redshift(datetime.now(UTC))
        record_dbt(Path(work), given.dbt)
    dashboards.main()
    moments = {"recorded_at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", "days_ago": [14, 10, 6, 2, 0]}
    (COMPANY / "moments.json").write_text(f"{json.dumps(moments)}\n")


def record_spark(work: Path, jars: str) -> None:
    """Run the jobs; the listener stands in for Spline's agent, whose format its documents have."""
    lake = work / "s3"
    for file in (RECIPE / "raw").iterdir():
        folder = lake / "brightmug-raw" / file.stem
        folder.mkdir(parents=True)
        shutil.copy(file, folder)
    earlier = _run_job("customers_and_segments_to_lake", lake, work, jars)
    for days in (2, 1):
        text = shift_times(earlier, -timedelta(days=days)).replace(
            '"appId":"local-', f'"appId":"local-{days}'
        )
        _write(SOURCES / "spline" / f"customers_to_lake_{days}.jsonl", text)
    _write(SOURCES / "spline" / "customers_to_lake.jsonl", _run_job("customers_to_lake", lake, work, jars))
    _write(SOURCES / "spline" / "shop_to_lake.jsonl", _run_job("shop_to_lake", lake, work, jars))
    _write(SOURCES / "listener" / "orders_merge.jsonl", _run_job("orders_merge", lake, work, jars))
    (work / "lineage" / "orders_export").mkdir()
    log = _run_job("orders_export", lake, work, jars, "*")
    kept = filter(None, (_shorten_event(json.loads(line)) for line in log.splitlines()))
    text = "".join(f"{json.dumps(event, separators=(',', ':'))}\n" for event in kept)
    _write(SOURCES / "event_logs" / "orders_export.jsonl", text)


def _run_job(job: str, lake: Path, work: Path, jars: str, files: str = "*.jsonl") -> str:
    recorded = work / "lineage" / job
    command = [sys.executable, str(RECIPE / "jobs.py"), job, str(lake), str(recorded), jars]
    subprocess.run(command, check=True, cwd=work)
    text = "".join(file.read_text() for file in sorted(recorded.glob(files)))
    # Paths of the folder that stands in for S3.
    return re.sub(rf"(file:/*)?{re.escape(str(lake))}/", "s3://", text)


def _shorten_event(event: dict[str, Any]) -> dict[str, Any] | None:
    """Return an event of a log without what names this machine; None for one that no source reads."""
    kind = str(event["Event"]).rpartition(".")[2].removeprefix("SparkListener")
    if kind not in _EVENTS:
        return None
    if kind == "EnvironmentUpdate":
        kept = {key: text for key, text in event["Spark Properties"].items() if key.startswith(_PROPERTIES)}
        event = {"Event": event["Event"], "Spark Properties": kept}
    for name in ("details", "modifiedConfigs", "User"):
        event.pop(name, None)
    return event


def record_redshift(now: datetime) -> None:
    """Write the log of Redshift's COPY statements and of queries, in the documented form."""
    for path, visits in (
        (SOURCES, _COPIES["visits"][0]),
        (COMPANY / "before" / "6_days", "s3://brightmug-lake/web_visits/"),
    ):
        lines: list[dict[str, Any]] = [
            {"table": f"shop.public.{table}", "columns": [{"name": name} for name in names.split()]}
            for table, names in _COLUMNS.items()
        ]
        for table, (prefix, days) in _COPIES.items():
            started = now - timedelta(days=days)
            source = visits if table == "visits" else prefix
            statement = f"copy public.{table} from '{source}' iam_role default format parquet"
            lines.append(
                {
                    "id": f"{table}-{days}",
                    "session": table,
                    "statement": statement,
                    "database": "shop",
                    "started": f"{started:%Y-%m-%dT%H:%M:%SZ}",
                    "ended": f"{started + timedelta(seconds=9):%Y-%m-%dT%H:%M:%SZ}",
                    "outcome": "committed",
                    "label": f"load_{table}",
                }
            )
        lines += _queries(now)
        _write(path / "redshift" / "statements.jsonl", "".join(f"{json.dumps(line)}\n" for line in lines))


def _queries(now: datetime) -> Iterator[dict[str, Any]]:
    for number, (statement, user, every, first, last) in enumerate(_QUERIES):
        for days in range(first, last - 1, -every):
            ended = now - timedelta(days=days)
            yield {
                "id": f"query-{number}-{days}",
                "session": f"{user}-{number}-{days}",
                "statement": statement,
                "database": "shop",
                "user": user,
                "started": f"{ended - timedelta(seconds=2):%Y-%m-%dT%H:%M:%SZ}",
                "ended": f"{ended:%Y-%m-%dT%H:%M:%SZ}",
                "outcome": "committed",
            }


def record_dbt(work: Path, dbt: str) -> None:
    """Run, test and check the project of today; compile earlier ones and that of a pull request."""
    folder = work / "today"
    project = _Project(folder, dbt)
    project.run("run")
    project.save(SOURCES / "dbt", "run_results.json", "run_results_run.json")
    project.run("test", is_red=True)
    project.save(SOURCES / "dbt", "run_results.json", "run_results_test.json")
    project.run("source", "freshness", is_red=True)
    project.save(SOURCES / "dbt", "sources.json")
    project.run("docs", "generate")
    for name in _ARTIFACTS:
        project.save(SOURCES / "dbt", name)
    for changes in sorted((RECIPE / "changes").iterdir()):
        changed = _Project(work / changes.name, dbt, changes)
        is_proposed = changes.name == "pull_request"
        # The models that read the renamed column would fail.
        changed.run("run", *(("--select", "stg_orders") if is_proposed else ()))
        changed.run("docs", "generate")
        folder = COMPANY / changes.name if is_proposed else COMPANY / "before" / changes.name / "dbt"
        for name in _ARTIFACTS:
            changed.save(folder, name)


class _Project:
    """A copy of the dbt project with a database of its own, in which `changes` replace models."""

    def __init__(self, folder: Path, dbt: str, changes: Path | None = None) -> None:
        self.folder, self.dbt = folder, dbt
        shutil.copytree(RECIPE / "dbt", folder)
        if changes:
            shutil.copytree(changes, folder, dirs_exist_ok=True)
        with duckdb.connect(folder / "shop.duckdb") as database:
            database.execute("create schema if not exists public")
            database.execute((RECIPE / "rows.sql").read_text())

    def run(self, *command: str, is_red: bool = False) -> None:
        """Run a command of dbt; `is_red`: a test or check of it fails."""
        ran = subprocess.run([self.dbt, *command, "--profiles-dir", "."], cwd=self.folder, check=False)
        if (ran.returncode != 0) != is_red:
            raise SystemExit(f"dbt {' '.join(command)} ended with {ran.returncode}")

    def save(self, to: Path, name: str, saved_as: str = "") -> None:
        """Save an artifact, with Redshift in place of DuckDB and without what names this machine."""
        document = json.loads((self.folder / "target" / name).read_text())
        document["metadata"].pop("env", None)
        document.pop("args", None)
        if name == "manifest.json":
            document["metadata"] |= {"adapter_type": "redshift", "user_id": None}
            document |= {key: {} for key in _EMPTIED}
            for node in document["nodes"].values():
                node.pop("raw_code", None)
        _write(to / (saved_as or name), json.dumps(document, separators=(",", ":")) + "\n")


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


if __name__ == "__main__":
    start = time.monotonic()
    main()
    print(f"recorded in {time.monotonic() - start:.0f} s")
