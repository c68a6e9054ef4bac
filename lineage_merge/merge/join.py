"""Records of all sources into nodes and edges, in Spark: joins and groupings only."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.config import Merge
from lineage_merge.kept import keep
from lineage_merge.merge import meaning
from lineage_merge.merge.edges import edges
from lineage_merge.merge.facts import resolved
from lineage_merge.merge.fold import fold
from lineage_merge.merge.grouping import all_of
from lineage_merge.merge.nodes import nodes

_NOTHING_FOLDED = Merge()


@dataclass(frozen=True, slots=True)
class Merged:
    """The graph as node and edge rows (`lineage_merge.graph.schema`).

    `aliases` has the other identities that were met: `source` (an id), `candidates` (the
    ids it could mean; only one that could mean a single dataset was followed) and `rule`.
    """

    nodes: DataFrame
    edges: DataFrame
    aliases: DataFrame


def merge(records: DataFrame, environment: str, dag_name: str, settings: Merge = _NOTHING_FOLDED) -> Merged:
    """Join the records of all sources. They are read several times: persist them.

    `settings` say which temporary datasets are folded away.
    """
    aliases = keep(_settled(_aliases(records)))
    followed = aliases.where("size(candidates) = 1").select(
        F.col("source").alias("other"), F.col("candidates")[0].alias("means"), "aliases", "properties"
    )
    facts = keep(resolved(records, followed))
    folded = fold(facts, settings)
    if folded:
        facts = keep(folded.records)
        aliases = _without(aliases, folded.hops)
        followed = followed.join(folded.hops.select(F.col("id").alias("means")), "means", "leftanti")
    return Merged(
        nodes=nodes(facts, followed, environment, dag_name),
        edges=edges(facts, environment, dag_name),
        aliases=aliases.drop("properties"),
    )


def _aliases(records: DataFrame) -> DataFrame:
    """What each other identity could mean: `source`, `candidates`, `rule`, `properties`, `aliases`."""
    of_source = Window.partitionBy("source")
    return (
        records.where("kind = 'alias'")
        # What is only assumed yields to what somebody knows.
        .withColumn("_best", F.max("authority").over(of_source))
        .where("_best is null or authority = _best")
        .groupBy("source")
        .agg(
            F.sort_array(F.collect_set("target")).alias("candidates"),
            F.max("rule").alias("rule"),
            # All that lead to one target tell the same.
            F.first("properties").alias("properties"),
            all_of("aliases"),
        )
    )


def _settled(aliases: DataFrame) -> DataFrame:
    """The same, each that means a single dataset with the one that it means in the end.

    Other identities are few beside what is told of datasets: they fit one task.
    """
    rows = aliases.rdd.coalesce(1).mapPartitions(_meaning)
    return aliases.sparkSession.createDataFrame(rows, aliases.schema, verifySchema=False)


def _meaning(rows: Iterable[Row]) -> Iterator[tuple[Any, ...]]:
    known = [row.asDict() for row in rows]
    steps = {row["source"]: row["candidates"][0] for row in known if len(row["candidates"]) == 1}
    found = meaning.ends(steps)
    for row in known:
        source = row["source"]
        if source in found:
            # What was told of a name on the way is not true of what it means.
            properties = row["properties"] if found[source] == steps[source] else {}
            row |= {"candidates": [found[source]], "properties": properties}
        if source in found or source not in steps:
            yield tuple(row.values())


def _without(aliases: DataFrame, hops: DataFrame) -> DataFrame:
    """The other identities without those of datasets that were folded away."""
    means = F.when(F.size("candidates") == 1, F.col("candidates")[0])
    return aliases.withColumn("id", means).join(hops, "id", "leftanti").drop("id")
