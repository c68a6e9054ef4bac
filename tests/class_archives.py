"""Makes the archive of Spark's classes, which the second start on a machine makes otherwise.

The tests start Spark some hundred times. This runs as a process beside the tests that need no Java:
``python -m tests.class_archives``.
"""

from lineage_merge.config import SparkOptions
from lineage_merge.infra.spark_session import session, spark_archive

if __name__ == "__main__":
    spark_archive().abandon()  # the first start
    with session(SparkOptions()) as spark:
        spark.sparkContext.parallelize(range(4), 2).map(str).collect()
        spark.range(3).coalesce(1).selectExpr("to_json(struct(*)) as value").collect()
