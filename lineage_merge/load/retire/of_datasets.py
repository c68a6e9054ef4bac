"""Decided dataset by dataset, with its columns: which `has_column` edges and which vertices are gone."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import groupby
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.load.existing import dataset_of, end_is_column
from lineage_merge.load.retire.scope import Scope

_OF_DATASET_DDL = (
    "id string, label string, `from` string, `to` string, job_type string, job_name string, replaced boolean"
)


@dataclass(slots=True)
class DatasetFacts:
    """What is known of one dataset (or another vertex) and its columns.

    `kept` and `touched` are ends of absent edges of jobs, those that stay and those that are gone.
    `stray` are vertices that the merge does not tell, with their label and, of a job, its project.
    `columns` are absent `has_column` edges, by id, `replaced` those of them that the merge has at another
    dataset. `described`: the merge has columns of it.
    """

    id: str
    kept: set[str] = field(default_factory=set)
    touched: set[str] = field(default_factory=set)
    stray: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    columns: dict[str, str] = field(default_factory=dict)
    replaced: set[str] = field(default_factory=set)
    described: bool = False

    def lost_columns(self, scope: Scope) -> list[str]:
        """The `has_column` edges that are gone: of datasets that the merge knows wholly, or that go."""
        goes = self.id in self.stray and (scope.everything or bool(self.touched))
        if not self.kept and (self.described or goes):
            return list(self.columns)
        return [
            edge for edge in self.columns if edge in self.replaced and self.columns[edge] not in self.kept
        ]

    def lost_vertices(self, scope: Scope) -> Iterator[str]:
        """The stray vertices that nothing of the DAG needs any more."""
        needed, touched = set(self.kept), set(self.touched)
        lost = set(self.lost_columns(scope))
        for edge, column in self.columns.items():
            (touched if edge in lost else needed).update((self.id, column))
        for vertex, (label, project) in self.stray.items():
            wanted = project in scope.projects if label == "job" else scope.everything
            if vertex not in needed and (wanted or vertex in touched):
                yield vertex


def lost_of_datasets(
    of_jobs: DataFrame, edges: DataFrame, stray: DataFrame, replaced: DataFrame, scope: Scope
) -> DataFrame:
    """The `has_column` edges that are gone, and (without ends) the vertices."""
    absent = edges.where("change = 'absent' and label = 'has_column'")
    nothing = F.lit(None).cast("string")
    described = (
        edges.where("change <> 'absent' and label = 'has_column'")
        .join(F.broadcast(absent.select("from").distinct()), "from", "leftsemi")
        .select("from")
        .distinct()
    )
    ends = [
        of_jobs.select(
            dataset_of(end, end_is_column(end)).alias("dataset"),
            F.when(F.col("gone"), "touched").otherwise("kept").alias("kind"),
            F.col(end).alias("id"),
            nothing.alias("label"),
            nothing.alias("value"),
        )
        for end in ("from", "to")
    ]
    rows = [
        *ends,
        stray.select(
            dataset_of("id").alias("dataset"),
            F.lit("stray").alias("kind"),
            "id",
            "label",
            F.col("project").alias("value"),
        ),
        absent.join(replaced.select("id", F.lit(True).alias("_replaced")), "id", "left").select(
            F.col("from").alias("dataset"),
            F.when(F.col("_replaced"), "replaced").otherwise("column").alias("kind"),
            "id",
            "label",
            F.col("to").alias("value"),
        ),
        described.select(
            F.col("from").alias("dataset"),
            F.lit("described").alias("kind"),
            nothing.alias("id"),
            nothing.alias("label"),
            nothing.alias("value"),
        ),
    ]
    united = reduce(DataFrame.unionByName, rows).repartition("dataset").sortWithinPartitions("dataset")
    by_dataset = united.rdd.mapPartitions(partial(_decide_datasets, scope))
    return edges.sparkSession.createDataFrame(by_dataset, _OF_DATASET_DDL, verifySchema=False)


def _decide_datasets(scope: Scope, rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    for identifier, group in groupby(rows, key=lambda row: row.dataset):
        dataset = DatasetFacts(identifier)
        for row in group:
            match row.kind:
                case "kept":
                    dataset.kept.add(row.id)
                case "touched":
                    dataset.touched.add(row.id)
                case "stray":
                    dataset.stray[row.id] = (row.label, row.value)
                case "column" | "replaced":
                    dataset.columns[row.id] = row.value
                    if row.kind == "replaced":
                        dataset.replaced.add(row.id)
                case _:
                    dataset.described = True
        for edge in dataset.lost_columns(scope):
            is_replaced = edge in dataset.replaced
            yield edge, "has_column", identifier, dataset.columns[edge], None, None, is_replaced
        for vertex in dataset.lost_vertices(scope):
            yield vertex, None, None, None, None, None, False
