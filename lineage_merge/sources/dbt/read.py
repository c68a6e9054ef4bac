"""dbt's manifests, fetched and translated by Spark's workers, one manifest a task."""

from collections.abc import Iterable, Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession

from lineage_merge.config import Config
from lineage_merge.errors import SourceMissing
from lineage_merge.merge.names import Names
from lineage_merge.model import Count, Element, Problem
from lineage_merge.records import RECORD_DDL, records
from lineage_merge.sources.dbt.catalog import Catalog, read_catalog
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.dbt.translate import dataset_references, last_runs, translate
from lineage_merge.storage import read_text


def elements(project: DbtProject, by_relation: bool = False) -> Iterator[Element]:
    """The elements of one project. Raises `SourceError` where a file of it cannot be read.

    `by_relation`: another manifest of its project builds other relations, and no target is given.
    """
    manifest, problems = read_manifest(project.manifest, read_text(project.manifest), with_columns=True)
    yield Count("dbt manifests", 1)
    yield Count("dbt nodes", len(manifest.nodes))
    yield from problems
    jobs = Jobs(manifest.project, project.target)
    if by_relation:
        jobs = Jobs(manifest.project, relations=_relations(manifest, project.namespace))
        why = (
            f"is {manifest.project}, as in another manifest of this merge that builds other relations:"
            " its jobs are named by what they build. Give each manifest its target (dbt[].target)"
        )
        yield Problem("notice", project.manifest, "metadata.project_name", why)
    yield from translate(manifest, project.namespace, project.manifest, jobs)
    yield from _runs(project, manifest, jobs)
    catalog: Catalog = {}
    if project.catalog:
        catalog, broken = read_catalog(project.catalog, read_text(project.catalog))
        yield Count("dbt catalogs", 1)
        yield from broken
    yield from _columns(project, manifest, catalog, jobs)


def _relations(manifest: Manifest, namespace: str) -> dict[str, str]:
    """What each job builds, by unique id."""
    references = dataset_references(manifest, namespace)
    return {
        unique_id: f"{ref.namespace}/{ref.name}"
        for unique_id, ref in references.items()
        if manifest.nodes[unique_id].is_built
    }


def _runs(project: DbtProject, manifest: Manifest, jobs: Jobs) -> Iterator[Element]:
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
    yield from last_runs(manifest, results, jobs)


def _columns(project: DbtProject, manifest: Manifest, catalog: Catalog, jobs: Jobs) -> Iterator[Element]:
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
    lineage = column_lineage(manifest, catalog)
    yield from column_elements(manifest, references, lineage, project.namespace, project.manifest, jobs)


def read_dbt(spark: SparkSession, config: Config, names: Names) -> DataFrame:
    """All projects of the configuration as records."""
    ambiguous = _ambiguous(spark, config.dbt)
    entries = [(project, index in ambiguous) for index, project in enumerate(config.dbt)]
    rows = spark.sparkContext.parallelize(entries, len(entries)).flatMap(
        lambda entry: records(elements(*entry), names)
    )
    return spark.createDataFrame(rows, RECORD_DDL, verifySchema=False)


def _ambiguous(spark: SparkSession, projects: Sequence[DbtProject]) -> set[int]:
    """The places of manifests without a target that build a node of their project as another relation.

    Several manifests are read twice, since the name of a job must not depend on their order.
    """
    entries = [(index, project) for index, project in enumerate(projects) if not project.target]
    if len(entries) < 2:
        return set()
    built = spark.sparkContext.parallelize(entries, len(entries)).flatMap(lambda entry: _built(*entry))
    several = built.groupByKey(len(entries)).flatMap(lambda entry: _disagreeing(entry[1]))
    return set(several.distinct().collect())


def _built(index: int, project: DbtProject) -> Iterator[tuple[tuple[str, str], tuple[int, str]]]:
    """What is built: by project and unique id, the place of the manifest and the relation."""
    manifest, _ = read_manifest(project.manifest, read_text(project.manifest))
    for unique_id, relation in _relations(manifest, project.namespace).items():
        yield (manifest.project, unique_id), (index, relation)


def _disagreeing(built: Iterable[tuple[int, str]]) -> list[int]:
    by_relation = set(built)
    return [index for index, _ in by_relation] if len({relation for _, relation in by_relation}) > 1 else []
