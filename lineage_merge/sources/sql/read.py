"""Folders of SQL, read and translated by Spark's workers: a folder a task, for files explain each other."""

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.merge.names import Names
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sources.sql.root import elements
from lineage_merge.sources.sql.settings import SqlFiles


def read_sql(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """All folders of the configuration as records."""
    folders: tuple[SqlFiles, ...] = config.sources["sql"]
    tasks = spark.sparkContext.parallelize(folders, len(folders))
    rows = tasks.flatMap(lambda folder: records(elements(folder, names), names))
    return spark.createDataFrame(rows, RECORD_DDL, verifySchema=False)
