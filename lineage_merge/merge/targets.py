"""Of the targets of jobs, how many good runs came after their newest write: what retiring asks for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)


def targets(records: DataFrame, aliases: DataFrame) -> DataFrame:
    """`job_type`, `job_name`, `target` (an id; null: the job as a whole) and `later_runs`.

    Targets are named as the merge names them: by `aliases` (`merge.join.Merged`).
    """
    means = aliases.where("size(candidates) = 1").select(
        F.col("source").alias("target"), F.col("candidates")[0].alias("_means")
    )
    return (
        records.where("kind in ('target', 'runs')")
        .join(means, "target", "left")
        .select(
            "job_type",
            "job_name",
            F.coalesce("_means", "target").alias("target"),
            F.col("at").alias("later_runs"),
        )
    )
