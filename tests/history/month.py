"""A scripted month of two DAGs, merged by the pipeline: 30 merges, and one that is killed; January 2026.

ingest (Spline, 04:00) writes files, marts (dbt, 05:00) reads them as external tables:

    day  1  both merge; ingest writes orders, ref and rejects from raw/orders
         5  marts: orders has the column note
         7  marts: the view stg becomes a table
         9  marts: the type of orders#amount changes from int to bigint
     10-11  no merges
        12  marts: mart reads ref, by its name in the warehouse
        13  ingest: rejects is retired, which was last written on day 4; the job score appears
        14  marts: note is renamed to comment, the expression of mart#total changes
        17  ingest: a rule resolves its file ref to the table that mart reads; the load moves the dataset
        18  marts: the model audit appears
        20  ingest: orders reads prices, too; the process is killed when it writes the history
        21  ingest: nothing new, but the history has what the killed merge loaded
        22  marts: mart has an owner
        23  ingest: score fails, and never runs again
        24  marts: the model audit is removed
     25-26  ingest: no new runs
        27  both merge at once: orders reads returns, too, and report appears
     28-30  ingest: only new runs
"""

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark.sql import SparkSession

from lineage_merge.config import Config
from lineage_merge.history import merge_index
from lineage_merge.history.layout import DagScope
from lineage_merge.history.merge_record import MergeRecord
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.load import merge_run
from lineage_merge.load.gremlin.connection import Endpoint
from lineage_merge.load.server import write_changes
from lineage_merge.merge import dataset_resolver, join
from lineage_merge.merge.alias_resolution import identities
from lineage_merge.merge.join import job_runs
from lineage_merge.merge.report_builder import complete_report
from lineage_merge.merge.source_completeness import assess
from lineage_merge.orchestration import pipeline
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.read_sources import list_configured_sources, read_all
from tests.chaos.pipelines import DbtProject
from tests.spline_documents import SplineDatabase

WAREHOUSE = "redshift://wh:5439"
MARTS_DAYS = (1, 2, 5, 7, 9, 12, 14, 16, 18, 22, 24, 27)
INGEST_DAYS = (1, 3, 4, 5, 6, 8, 13, 15, 17, 19, 21, 23, 25, 26, 27, 28, 29, 30)
KILLED_DAY, PAUSED_DAYS, AT_ONCE_DAY = 20, (25, 26), 27
RULE = {"name": "ref", "match": "^s3://lake/ref$", "dataset": f"{WAREHOUSE}|wh.raw.ref"}


class Killed(BaseException):
    """The process ends."""


def spline(day: int) -> SplineDatabase:
    """The database of ingest: all runs until a day."""
    database = SplineDatabase("ingest")
    for each in sorted({*INGEST_DAYS, KILLED_DAY} - set(PAUSED_DAYS)):
        if each > day:
            break
        at, run = (each - 1) * 24 + 3, f"load-{each}"
        sources = ["s3://raw/orders"]
        sources += ["s3://raw/prices"] if each >= KILLED_DAY else []
        sources += ["s3://raw/returns"] if each >= AT_ONCE_DAY else []
        database.plan("load", reads=sources, writes="s3://lake/orders", at=at, run=run)
        database.plan("load", reads=["s3://raw/orders"], writes="s3://lake/ref", at=at + 0.1, run=run)
        if each < 5:
            database.plan("load", reads=["s3://raw/orders"], writes="s3://lake/rejects", at=at + 0.2, run=run)
        if 13 <= each <= 23:
            error = "java.lang.OutOfMemoryError" if each == 23 else None
            reads, target = ["s3://lake/orders"], "s3://lake/scores"
            database.plan("score", reads=reads, writes=target, at=at + 0.3, run=f"score-{each}", error=error)
    return database


def dbt(day: int) -> dict[str, Any]:
    """The manifest of marts on a day."""
    types = {"id": "int", "amount": "bigint" if day >= 9 else "int"}
    if day >= 5:
        types["comment" if day >= 14 else "note"] = "varchar"
    columns = {name: {"name": name, "data_type": kind} for name, kind in types.items()}
    project = DbtProject("marts", day)
    project.source("raw.orders", external={"location": "s3://lake/orders/"}, columns=columns)
    project.source("raw.ref", columns={"id": {"name": "id", "data_type": "int"}})
    view = "table" if day >= 7 else "view"
    project.model("stg", "select id, amount from wh.raw.orders", "raw.orders", materialized=view)
    total = "sum(s.amount) / 100" if day >= 14 else "sum(s.amount)"
    joined, parents = (" join wh.raw.ref r using (id)", ["raw.ref"]) if day >= 12 else ("", [])
    owner: dict[str, Any] = (
        {"config": {"materialized": "table", "meta": {"owner": "ana"}}} if day >= 22 else {}
    )
    project.model("mart", f"select {total} as total from wh.mart.stg s{joined}", "stg", *parents, **owner)
    if 18 <= day < 24:
        project.model("audit", "select id from wh.mart.stg", "stg")
    if day >= AT_ONCE_DAY:
        project.model("report", "select total from wh.mart.mart", "mart")
    return project.manifest()


@dataclass
class Month:
    """Merges of the month into a server, each with its entry in a history."""

    url: str
    folder: Path
    after_merge: Callable[[DagScope, MergeRecord | None], None] = lambda scope, record: None

    @property
    def location(self) -> str:
        """The folder of the history."""
        return str(self.folder / "history")

    def play(self) -> None:
        """Run all merges."""
        for day in range(1, 31):
            if day == AT_ONCE_DAY:
                self._at_once(day)
                continue
            if day in INGEST_DAYS:
                self.merge("ingest", day)
            if day == KILLED_DAY:
                self._killed(day)
            if day in MARTS_DAYS:
                self.merge("marts", day)

    def merge(self, dag: str, day: int) -> None:
        """Merge a DAG at its time of day."""
        with clock(at(day, 4 if dag == "ingest" else 5)):
            self.load(dag, day)
        scope = DagScope("dev", dag)
        self.after_merge(scope, merge_index.newest_record(self.location, scope))

    def load(self, dag: str, day: int) -> None:
        """Build and load, and add to the history, as `pipeline.run` does in a process."""
        config = self.config(dag, day)
        pipeline.load_graph(build(config), config, Endpoint(self.url), history=self.location)

    def config(self, dag: str, day: int) -> Config:
        """The configuration of a DAG, with the sources of a day."""
        folder = self.folder / f"{dag}-{day:02}"
        folder.mkdir(exist_ok=True)
        settings: dict[str, Any] = {"dag_name": dag, "environment": "dev", "load": {"allow_retire": True}}
        if dag == "ingest":
            settings["spline"] = {"export": str(spline(day).write(folder)), "lookback": "8d"}
            if day >= 17:
                settings["merge"] = {"rules": [RULE]}
        else:
            manifest = folder / "manifest.json"
            manifest.write_text(json.dumps(dbt(day)))
            settings["dbt"] = [{"manifest": str(manifest), "namespace": WAREHOUSE}]
        return CONFIGURATION.parse(settings)

    def _killed(self, day: int) -> None:
        def kill(*_: object) -> None:
            raise Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merge_index, "write_record", kill)
            with clock(at(day, 4)), pytest.raises(Killed):
                self.load("ingest", day)

    def _at_once(self, day: int) -> None:
        with clock(at(day, 4)), ThreadPoolExecutor(2) as pool:
            for done in [pool.submit(self.load, dag, day) for dag in ("ingest", "marts")]:
                done.result()


def build(config: Config) -> pipeline.Built:
    """Build as `pipeline.build` does for a small input, in this process."""
    resolver = dataset_resolver.from_config(config)
    engine = LocalEngine()
    records = read_all(engine, config, resolver, list_configured_sources(config)).cache()
    merged = join.merge(records, config.environment, config.dag_name, config.merge, config.metadata)
    report = complete_report(records, merged, config)
    return pipeline.Built(
        merged.nodes,
        merged.edges,
        merged.aliases.candidates,
        job_runs(records),
        identities(records, merged.aliases).cache(),
        assess(config, report),
        report=report,
        spark=cast("SparkSession", None),
        owner=(config.environment, config.dag_name),
    )


def at(day: int, hour: int) -> datetime:
    """An hour of the month."""
    return datetime(2026, 1, day, hour, tzinfo=UTC)


@contextmanager
def clock(time: datetime) -> Iterator[None]:
    """Set the time of loads."""
    nanoseconds = (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    stopped = SimpleNamespace(time_ns=lambda: nanoseconds)
    with pytest.MonkeyPatch.context() as patch:
        for module in (merge_run, write_changes):
            patch.setattr(module, "time", stopped)
        yield
