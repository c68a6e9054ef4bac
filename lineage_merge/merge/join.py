"""Records of all sources into nodes and edges, in Spark: joins and groupings only."""

from dataclasses import dataclass

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.config import Merge
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
    of_source = Window.partitionBy("source")
    aliases = (
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
        .persist()
    )
    followed = aliases.where("size(candidates) = 1").select(
        F.col("source").alias("other"), F.col("candidates")[0].alias("means"), "aliases", "properties"
    )
    facts = resolved(records, followed).persist()
    folded = fold(facts, settings)
    if folded:
        facts = folded.records.persist()
        aliases = _without(aliases, folded.hops)
        followed = followed.join(folded.hops.select(F.col("id").alias("means")), "means", "leftanti")
    return Merged(
        nodes=nodes(facts, followed, environment, dag_name),
        edges=edges(facts, environment, dag_name),
        aliases=aliases.drop("properties"),
    )


def _without(aliases: DataFrame, hops: DataFrame) -> DataFrame:
    """The other identities without those of datasets that were folded away."""
    means = F.when(F.size("candidates") == 1, F.col("candidates")[0])
    return aliases.withColumn("id", means).join(hops, "id", "leftanti").drop("id")
