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

_JOB = ["job_type", "job_name"]
EDGE = ["id", "label", "from", "to", *_JOB]
_OF_JOB_DDL = (
    "id string, label string, `from` string, `to` string, job_type string, job_name string,"
    " gone boolean, bare boolean"
)


@dataclass(slots=True)
class JobFacts:
    """What is known of one job. `later` by target; None: of the job as a whole."""

    job_type: str
    name: str
    project: str | None = None
    ran: bool = False
    written: set[str] = field(default_factory=set)
    later: dict[str | None, int] = field(default_factory=dict)

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
        return scope.retire_after > 0 and self._later_runs(target) >= scope.retire_after

    def _project(self) -> str:
        if self.project:
            return self.project
        # An exposure has no job; its unique id says whose it is.
        parts = self.name.split(".")
        return parts[1] if len(parts) > 1 else ""

    def _later_runs(self, target: str) -> int:
        if target in self.later:
            return self.later[target]
        # No run that was looked at wrote it: all of them are later. That a target has n later runs
        # tells of n + 1.
        return max((runs if of is None else runs + 1 for of, runs in self.later.items()), default=0)


def absent_of_jobs(
    nodes: DataFrame, edges: DataFrame, targets: DataFrame, existing: Existing, scope: Scope
) -> DataFrame:
    """The absent edges of jobs, with `gone`, and `bare`: a job that the merge knows loses all it had."""
    absent = edges.where("change = 'absent' and job_name is not null")
    affected = F.broadcast(absent.select(*_JOB).distinct())
    nothing = F.lit(None).cast("string")
    number = F.lit(None).cast("bigint")
    told = [
        edges.where("job_name is not null").select("change", *EDGE, number.alias("number")),
        targets.select(
            F.lit("target").alias("change"),
            nothing.alias("id"),
            nothing.alias("label"),
            nothing.alias("from"),
            F.col("target").alias("to"),
            *_JOB,
            F.col("later_runs").alias("number"),
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
        stays = False
        for row in group:
            match row.change:
                case "absent":
                    absent.append(row)
                case "target":
                    job.later[row["to"]] = min(row.number, job.later.get(row["to"], row.number))
                case "ran":
                    job.ran = True
                case "held":
                    job.project = row["from"]
                case change:
                    stays = stays or change != "new"
                    if row.label == "writes":
                        job.written.add(row["to"])
        gone = [job.loses(row.label, _target(row), scope) for row in absent]
        # A job that its manifest dropped is meant to lose everything.
        bare = job.ran and not stays and all(gone)
        for row, goes in zip(absent, gone, strict=True):
            yield (*(row[name] for name in EDGE), goes, bare)


def _target(edge: Row) -> str:
    """The dataset that an edge ends at; of `feeds_column`, the one whose column it ends at."""
    end: str = edge["to"]
    return end.rpartition("|")[0] if edge.label == "feeds_column" else end
