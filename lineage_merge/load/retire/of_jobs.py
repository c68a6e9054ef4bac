"""Decided job by job: which of its edges are gone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.load.existing import Existing
from lineage_merge.load.retire.scope import Scope
from lineage_merge.load.tally import OF_COLUMNS
from lineage_merge.load.texts import one
from lineage_merge.sources.dbt.jobs import project_of

_JOB = ["job_type", "job_name"]
EDGE = ["id", "label", "from", "to", *_JOB]
_OF_JOB_DDL = (
    "id string, label string, `from` string, `to` string, job_type string, job_name string,"
    " gone boolean, bare boolean, replaced boolean"
)


@dataclass(slots=True)
class JobFacts:
    """What is known of one job. `runs`: successful ones that were read."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    runs: int | None = None

    def loses(self, label: str, target: str, scope: Scope) -> bool:
        """Whether an edge of it that the merge does not tell is gone; `target` is where it ends."""
        if label in OF_COLUMNS and self.job_type not in scope.tells_columns:
            return False
        if self.job_type in scope.by_project:
            return f"{self.job_type} {self._project()}" in scope.projects
        if not scope.runs or not self.ran:
            return False
        # The steps of a job are those of its newest run; the newest write says what feeds a target.
        if label == "follows" or target in self.written:
            return True
        # No run that was read wrote the target: all of them are later.
        return scope.retire_after > 0 and (self.runs or 0) >= scope.retire_after

    def _project(self) -> str:
        if self.project:
            return self.project
        # An exposure has no job; its name says whose it is.
        return project_of(self.name)


def absent_of_jobs(
    nodes: DataFrame,
    edges: DataFrame,
    runs: DataFrame,
    replaced: DataFrame,
    existing: Existing,
    scope: Scope,
) -> DataFrame:
    """Return the absent edges of jobs, with `gone`.

    And `bare`: a job that the merge knows loses all it had; `replaced`: the merge has it at another dataset.
    """
    absent = edges.where("change = 'absent' and job_name is not null")
    affected = F.broadcast(absent.select(*_JOB).distinct())
    nothing = F.lit(None).cast("string")
    number = F.lit(None).cast("bigint")
    told = [
        edges.where("job_name is not null")
        .join(replaced.select("id", F.lit(True).alias("_replaced")), "id", "left")
        .select(
            F.when(F.col("_replaced"), "replaced").otherwise(F.col("change")).alias("change"),
            *EDGE,
            number.alias("number"),
        ),
        runs.select(
            F.lit("runs").alias("change"),
            nothing.alias("id"),
            nothing.alias("label"),
            nothing.alias("from"),
            nothing.alias("to"),
            *_JOB,
            F.col("runs").alias("number"),
        ),
        nodes.where("label = 'job'").select(
            F.lit("ran").alias("change"),
            "id",
            "label",
            nothing.alias("from"),
            nothing.alias("to"),
            "job_type",
            F.col("name").alias("job_name"),
            number.alias("number"),
        ),
        existing.vertices.where("label = 'job'").select(
            F.lit("held").alias("change"),
            "id",
            "label",
            one("project").alias("from"),
            nothing.alias("to"),
            one("job_type").alias("job_type"),
            one("name").alias("job_name"),
            number.alias("number"),
        ),
    ]
    rows = reduce(DataFrame.unionByName, told).join(affected, _JOB, "leftsemi")
    by_job = (
        rows.repartition(*_JOB).sortWithinPartitions(*_JOB).rdd.mapPartitions(partial(_decide_jobs, scope))
    )
    return edges.sparkSession.createDataFrame(by_job, _OF_JOB_DDL, verifySchema=False)


def _decide_jobs(scope: Scope, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for (job_type, name), group in groupby(rows, key=lambda row: (row.job_type, row.job_name)):
        job = JobFacts(job_type, name)
        absent = []
        replaced = []
        stays = False
        for row in group:
            match row.change:
                case "absent":
                    absent.append(row)
                case "replaced":
                    replaced.append(row)
                case "runs":
                    # Of two sources the one that read fewer counts.
                    job.runs = row.number if job.runs is None else min(row.number, job.runs)
                case "ran":
                    job.ran = True
                case "held":
                    job.project = row["from"]
                case change:
                    stays = stays or change != "new"
                    if row.label == "writes":
                        job.written.add(row["to"])
        # A target that the job writes under another name now is written.
        job.written.update(row["to"] for row in replaced if row.label == "writes")
        gone = [job.loses(row.label, _target(row), scope) for row in absent]
        # A job that its manifest dropped is meant to lose everything.
        bare = job.ran and not stays and not replaced and all(gone)
        for row, goes in zip(absent, gone, strict=True):
            yield (*(row[name] for name in EDGE), goes, bare, False)
        for row in replaced:
            yield (*(row[name] for name in EDGE), True, False, True)


def _target(edge: Row) -> str:
    """The dataset that an edge ends at; of `feeds_column`, the one whose column it ends at."""
    end: str = edge["to"]
    return end.rpartition("|")[0] if edge.label == "feeds_column" else end
