"""Which sources a run had written itself before it read them: marks for the merge's folding."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)

from lineage_merge.merge.fold import RUN_LOCAL


def marked(translated: DataFrame, recent: DataFrame, counted: DataFrame) -> DataFrame:
    """The records of plans, `feeds` marked where every counted run of the plan made the source before.

    What a run reads before it writes it comes from an earlier run, and is no temporary dataset.
    """
    made = (
        recent.where("plan is not null and not failed")
        .groupBy("database", "run_id", "dataset")
        .agg(F.min("at").alias("made"))
    )
    reads = counted.select("database", "plan", "run_id", F.col("at").alias("read")).distinct()
    of_plan = reads.groupBy("database", "plan").agg(F.count("*").alias("times"))
    own = (
        reads.join(made, ["database", "run_id"])
        .where("made < read")
        .groupBy("database", "plan", "dataset")
        .agg(F.count("*").alias("before"))
        .join(of_plan, ["database", "plan"])
        .where("before = times")
        .groupBy("database", "plan")
        .agg(F.collect_set("dataset").alias("_own"))
    )
    is_own = (F.col("kind") == "feeds") & F.array_contains("_own", F.col("source"))
    mark = F.create_map(F.lit(RUN_LOCAL), F.array(F.lit("true")))
    sets = F.when(is_own, F.map_concat("sets", mark)).otherwise(F.col("sets"))
    return translated.join(own, ["database", "plan"], "left").withColumn("sets", sets).drop("_own")
