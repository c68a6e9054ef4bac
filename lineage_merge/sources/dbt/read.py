"""dbt's manifests, fetched and translated by Spark's workers, one manifest a task."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.errors import SourceMissing
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Element, Problem
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sources.dbt.catalog import Catalog, read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.dbt.translate import dataset_references, last_runs, translate
from lineage_merge.storage import read_text


def elements(project: DbtProject) -> Iterator[Element]:
    """The elements of one project. Raises `SourceError` where a file of it cannot be read."""
    manifest, problems = read_manifest(project.manifest, read_text(project.manifest), with_columns=True)
    yield Count("dbt manifests", 1)
    yield Count("dbt nodes", len(manifest.nodes))
    yield from problems
    yield from translate(manifest, project.namespace, project.manifest)
    yield from _runs(project, manifest)
    catalog: Catalog = {}
    if project.catalog:
        catalog, broken = read_catalog(project.catalog, read_text(project.catalog))
        yield Count("dbt catalogs", 1)
        yield from broken
    yield from _columns(project, manifest, catalog)


def _runs(project: DbtProject, manifest: Manifest) -> Iterator[Element]:
    if not project.run_results:
        return
    try:
        text = read_text(project.run_results)
    except SourceMissing:
        why = "is missing: when the models ran last is not known"
        yield Problem("notice", project.run_results, "", why)
        return
    results, broken = read_run_results(project.run_results, text)
    yield Count("dbt run results", 1)
    yield from broken
    yield from last_runs(manifest, results)


def _columns(project: DbtProject, manifest: Manifest, catalog: Catalog) -> Iterator[Element]:
    try:
        from lineage_merge.sources.dbt.column_elements import column_elements
        from lineage_merge.sources.dbt.columns import column_lineage
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        why = "columns are not read: sqlglot is not installed (pip install 'lineage-merge[columns]')"
        yield Problem("notice", project.manifest, "", why)
        return
    references = dataset_references(manifest, project.namespace)
    yield from column_elements(
        manifest, references, column_lineage(manifest, catalog), project.namespace, project.manifest
    )


def read_dbt(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """All projects of the configuration as records."""
    projects = spark.sparkContext.parallelize(config.dbt, len(config.dbt))
    rows = projects.flatMap(lambda project: records(elements(project), names))
    return spark.createDataFrame(rows, RECORD_DDL, verifySchema=False)
