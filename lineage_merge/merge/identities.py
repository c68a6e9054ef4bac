"""Which dataset each name means in a merge: what a load compares with the names that the graph holds."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

# `how` a merge knows it: a location has its own name, as no rule knows it; a rule knows the location, which
# holds for every DAG; by another part of this DAG's configuration; a source or a catalog knows it.
OWN, EVERYWHERE, CONFIGURED, ALIAS = "own", "everywhere", "configured", "alias"
IDENTITY_DDL = "other string, means string, how string"


def identities(records: DataFrame, aliases: DataFrame) -> DataFrame:
    """Return each name (`other`) and what it means, both as ids, and `how` that is known.

    `aliases` are those of the merge (`merge.join.Merged`): what a name is resolved to may have another one.
    """
    known = aliases.where("size(candidates) = 1").select(
        F.col("source").alias("other"), F.col("candidates")[0].alias("means")
    )
    how = (
        F.when(F.col("source") == F.col("target"), OWN)
        .when(F.col("at") == 1, EVERYWHERE)
        .otherwise(CONFIGURED)
    )
    resolved = (
        records.where("kind = 'resolved'")
        .select(F.col("source").alias("name"), "target", how.alias("how"))
        .join(known.select(F.col("other").alias("target"), "means"), "target", "left")
        .select(F.col("name").alias("other"), F.coalesce("means", "target").alias("means"), "how")
    )
    return resolved.unionByName(known.withColumn("how", F.lit(ALIAS))).distinct()
