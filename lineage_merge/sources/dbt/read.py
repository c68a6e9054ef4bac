"""dbt's manifests, fetched and translated by Spark's workers, one manifest a task."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config, DbtProject
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Element
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.translate import translate
from lineage_merge.storage import read_text


def elements(project: DbtProject) -> Iterator[Element]:
    """The elements of one project. Raises `SourceError` where its manifest cannot be read."""
    manifest, problems = read_manifest(project.manifest, read_text(project.manifest))
    yield Count("dbt manifests", 1)
    yield Count("dbt nodes", len(manifest.nodes))
    yield from problems
    yield from translate(manifest, project.namespace, project.manifest)


def read_dbt(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """All projects of the configuration as records."""
    projects = spark.sparkContext.parallelize(config.dbt, len(config.dbt))
    rows = projects.flatMap(lambda project: records(elements(project), names))
    return spark.createDataFrame(rows, RECORD_DDL, verifySchema=False)
