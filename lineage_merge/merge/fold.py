"""Temporary datasets folded away: what feeds them feeds what they feed, and `via` names them.

A dataset is folded when a glob matches its path, or when one job writes it and no run but the one that
wrote it reads it. One that nothing feeds, or that feeds nothing, is no hop between others: it stays.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from lineage_merge.config import Merge
from lineage_merge.kept import keep_planned
from lineage_merge.merge.hops import Moved, components, through
from lineage_merge.merge.names import path_of
from lineage_merge.merge.rules import is_generated
from lineage_merge.model import DatasetName, decode

# The mark, among the sets of a `feeds` record, of a source that the same run had written before.
RUN_LOCAL = "run_local"

_JUDGED = StructType([StructField("is_temporary", BooleanType()), StructField("path", StringType())])

_MOVED = ("feeds", "writes", "feeds_column", "influences")
# What a record and `Moved` call alike.
_SAME = ("kind", "source", "source_column", "target", "target_column")


@dataclass(frozen=True, slots=True)
class Folded:
    """The records without temporary datasets; `hops` has the `id` of each one that went."""

    records: DataFrame
    hops: DataFrame


def fold(resolved: DataFrame, settings: Merge) -> Folded | None:
    """Fold what the settings ask for; None where there is nothing to fold.

    `resolved` as `lineage_merge.merge.facts` makes them: each dataset has the id that counts.
    """
    if not settings.fold and not settings.fold_run_local:
        return None
    resolved = keep_planned(resolved)
    moved = resolved.where(F.col("kind").isin(*_MOVED))
    hops = keep_planned(_hops(moved, settings))
    if hops.isEmpty():
        return None
    parts = keep_planned(_parts(moved, hops))
    target, source = (
        parts.select(F.col("id").alias(end), F.struct("path", "part").alias(name))
        for end, name in (("target", "_into"), ("source", "_out_of"))
    )
    ends = resolved.join(target, "target", "left").join(source, "source", "left")
    lasting = ends.where("_into is null and _out_of is null").select(*resolved.columns)
    return Folded(lasting.unionByName(_whole(ends, resolved.schema)), hops.select("id"))


def _hops(moved: DataFrame, settings: Merge) -> DataFrame:
    """The datasets to fold: `id`, and `path` as `via` names it."""
    feeds = moved.where("kind = 'feeds' and source <> target")
    between = feeds.select(F.col("source").alias("id")).intersect(feeds.select(F.col("target").alias("id")))
    globs = settings.fold

    # Said, because Spark 4.3 otherwise guesses it from the annotations.
    @F.udf(returnType=_JUDGED, useArrow=False)
    def judged(identifier: str) -> tuple[bool, str]:
        path = path_of_id(identifier)
        # A folder is below itself: the last segment of s3://b/tmp/<generated> is no part of a name.
        is_temporary = any(fnmatchcase(each, glob) for each in (path, f"{path}/") for glob in globs)
        return is_temporary, "/".join(part for part in path.split("/") if not is_generated(part))

    found = between.withColumn("_judged", judged("id"))
    if not settings.fold_run_local:
        return found.where("_judged.is_temporary").select("id", "_judged.path")
    local = _run_local(moved).withColumn("_local", F.lit(True))
    found = found.join(local, "id", "left")
    return found.where("_judged.is_temporary or _local").select("id", "_judged.path")


def _run_local(moved: DataFrame) -> DataFrame:
    """What one job writes, and reads only after the same run has written it: `id`."""
    job = F.struct("job_type", "job_name")
    is_own = F.coalesce(F.array_contains(F.col("sets")[RUN_LOCAL], "true"), F.lit(False))
    uses = moved.where("kind = 'feeds'").select(
        F.col("source").alias("id"), job.alias("job"), is_own.alias("is_own"), F.lit(True).alias("reads")
    )
    made = moved.where("kind in ('writes', 'feeds')").select(
        F.col("target").alias("id"),
        job.alias("job"),
        F.lit(True).alias("is_own"),
        F.lit(False).alias("reads"),
    )
    return (
        uses.unionByName(made)
        .groupBy("id")
        .agg(
            F.countDistinct("job").alias("jobs"),
            F.min("is_own").alias("is_own"),
            F.max("reads").alias("is_read"),
            F.min("reads").alias("is_only_read"),
        )
        .where("jobs = 1 and is_own and is_read and not is_only_read")
        .select("id")
    )


def path_of_id(identifier: str) -> str:
    """``s3://lake/tmp/x`` of the dataset id ``dev|s3://lake|tmp/x``."""
    _, namespace, name = (decode(part) for part in identifier.split("|", 2))
    return path_of(DatasetName(namespace, name))


def _parts(moved: DataFrame, hops: DataFrame) -> DataFrame:
    """`hops` with the `part` that each belongs to: those that lead to each other are one part."""
    ids = hops.select("id")
    pairs = (
        moved.where("kind <> 'writes'")
        .join(ids.toDF("source"), "source", "leftsemi")
        .join(ids.toDF("target"), "target", "leftsemi")
        .select("source", "target")
        .distinct()
    )
    # Pairs of temporary datasets alone fit one task.
    parts = pairs.rdd.map(tuple).coalesce(1).mapPartitions(lambda found: components(found).items())
    known = hops.sparkSession.createDataFrame(parts, "id string, part string")
    return hops.join(known, "id", "left").select("id", "path", F.coalesce("part", "id").alias("part"))


def _whole(ends: DataFrame, schema: StructType) -> DataFrame:
    """What leads from lasting datasets to lasting ones through temporary ones, each part in one place."""
    names = schema.names
    touching = ends.where(F.col("kind").isin("feeds", "feeds_column", "influences")).where(
        "_into is not null or _out_of is not null"
    )

    def made(rows: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
        for each in through(map(_moved, rows)):
            job_type, job_name = each.job
            values = {name: getattr(each, name) for name in _SAME} | {
                "job_type": job_type,
                "job_name": job_name,
                "properties": dict(each.properties),
                "sets": {name: list(values) for name, values in each.sets.items()},
            }
            yield tuple(values.get(name) for name in names)

    by_part = touching.rdd.keyBy(lambda row: (row["_into"] or row["_out_of"]).part).groupByKey()
    rows = by_part.flatMap(lambda part: made(part[1]))
    return ends.sparkSession.createDataFrame(rows, schema, verifySchema=False)


def _moved(row: Any) -> Moved:
    return Moved(
        **{name: row[name] for name in _SAME},
        job=(row.job_type, row.job_name),
        properties=row.properties or {},
        sets=row.sets or {},
        out_of=row["_out_of"] and row["_out_of"].path,
        into=row["_into"] and row["_into"].path,
    )
