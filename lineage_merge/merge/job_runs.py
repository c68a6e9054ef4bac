"""How many successful runs of each job the sources read: what retiring asks for."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 (its name everywhere)


def job_runs(records: DataFrame) -> DataFrame:
    """Return `job_type`, `job_name` and `runs`."""
    return records.where("kind = 'runs'").select("job_type", "job_name", F.col("at").alias("runs"))
