"""Reader of dbt manifests: fetched and translated, one manifest per partition."""

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.model.elements import Count, Element, Problem, Reference
from lineage_merge.model.errors import SourceMissing
from lineage_merge.model.records import Record
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.assertion_elements import assertion_elements, find_checked
from lineage_merge.sources.dbt.catalog import CatalogFile, find_outdated_entries, read_catalog
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.manifest import check_project, read_manifest
from lineage_merge.sources.dbt.nested_columns import with_field_paths
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import RunResults, read_run_results
from lineage_merge.sources.dbt.semantic_elements import semantic_elements
from lineage_merge.sources.dbt.settings import DbtProject, What
from lineage_merge.sources.dbt.source_freshness import FreshnessResults, read_sources
from lineage_merge.sources.dbt.translator import dataset_references, last_runs, translate
from lineage_merge.sources.resolver import Resolver
from lineage_merge.sources.source import ModelJob

if TYPE_CHECKING:
    from lineage_merge.sources.dbt.columns import ColumnLineage


def elements(project: DbtProject, by_relation: bool = False) -> Iterator[Element]:
    """Yield the elements of one project. Raises `SourceError` if one of its files cannot be read.

    `by_relation`: another manifest of its project builds other relations, and no target is configured.
    """
    manifest, problems = read_manifest(
        project.manifest, artefact.read(project.manifest, "manifest"), with_columns=True
    )
    check_project(project, manifest)
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
    catalog = yield from _catalog(project)
    manifest, tables = with_field_paths(manifest, catalog.tables)
    catalog = catalog._replace(tables=tables)
    lineage = yield from _lineage(project, manifest, catalog)
    metadata_only = {unique_id: own_lineage.metadata_only for unique_id, own_lineage in lineage.items()}
    yield from translate(manifest, project.namespace, project.manifest, jobs, metadata_only)
    references = dataset_references(manifest, project.namespace)
    yield from semantic_elements(manifest, references, jobs)
    results = yield from _run_results(project)
    for result in results:
        yield from last_runs(manifest, result, jobs)
    freshness = yield from _freshness(project)
    if by_relation:
        jobs = replace(jobs, relations={**jobs.relations, **_find_checked(manifest, references)})
    yield from assertion_elements(manifest, references, results, freshness, jobs, project.manifest)
    if lineage:
        from lineage_merge.sources.dbt.column_elements import column_elements

        yield from column_elements(manifest, references, lineage, project.namespace, project.manifest, jobs)


def _relations(manifest: Manifest, namespace: str) -> dict[str, str]:
    """Return what each job builds, by unique id."""
    references = dataset_references(manifest, namespace)
    return {
        unique_id: f"{ref.namespace}/{ref.name}"
        for unique_id, ref in references.items()
        if manifest.nodes[unique_id].is_built
    }


def _find_checked(manifest: Manifest, references: Mapping[str, Reference]) -> dict[str, str]:
    """Return what each test, and the freshness check of each source, is about, by unique id."""
    checks = {test.unique_id: [*find_checked(manifest, references, test)] for test in manifest.tests}
    checks |= {node.unique_id: [node.unique_id] for node in manifest.nodes.values() if node.kind == "source"}
    checked_datasets = {
        unique_id: sorted(references[parent] for parent in checked if parent in references)
        for unique_id, checked in checks.items()
    }
    return {
        unique_id: f"{datasets[0].namespace}/{datasets[0].name}"
        for unique_id, datasets in checked_datasets.items()
        if datasets
    }


def _run_results(project: DbtProject) -> Generator[Element, None, list[RunResults]]:
    runs = []
    for file in project.run_results:
        text = yield from _text_if_any(file, "run results file", "the time of the last runs is unknown")
        if text is not None:
            results, broken = read_run_results(file, text)
            yield Count("dbt run results", 1)
            yield from broken
            runs.append(results)
    return runs


def _freshness(project: DbtProject) -> Generator[Element, None, FreshnessResults]:
    if project.sources:
        text = yield from _text_if_any(project.sources, "sources file", "the freshness of sources is unknown")
        if text is not None:
            results, broken = read_sources(project.sources, text)
            yield Count("dbt source freshness results", 1)
            yield from broken
            return results
    return FreshnessResults()


def _catalog(project: DbtProject) -> Generator[Element, None, CatalogFile]:
    if project.catalog:
        text = yield from _text_if_any(project.catalog, "catalog", "the columns in the warehouse are unknown")
        if text is not None:
            catalog, broken = read_catalog(project.catalog, text)
            yield Count("dbt catalogs", 1)
            yield from broken
            return catalog
    return CatalogFile({})


def _text_if_any(file: str, what: What, consequence: str) -> Generator[Element, None, str | None]:
    try:
        return artefact.read(file, what)
    except SourceMissing as error:
        suggestion = f"; {error.remedy}" if error.remedy else ""
        yield Problem("notice", file, "", f"is missing: {consequence}{suggestion}")
        return None


def _lineage(
    project: DbtProject, manifest: Manifest, catalog: CatalogFile
) -> Generator[Element, None, dict[str, "ColumnLineage"]]:
    """Return the column lineage of the project; none, and a notice, without sqlglot."""
    try:
        from lineage_merge.sources.dbt.columns import column_lineage
    except ModuleNotFoundError as error:
        if error.name != "sqlglot":
            raise
        why = "columns are not read: sqlglot is not installed (install lineage-merge[columns])"
        yield Problem("notice", project.manifest, "", why)
        return {}
    return column_lineage(manifest, catalog.tables, find_outdated_entries(manifest, catalog))


class _Relation(NamedTuple):
    """A relation that a manifest builds; `position` is the manifest's position in the configuration."""

    project: str
    unique_id: str
    position: int
    relation: str


def read_dbt(engine: Engine, config: Config, resolver: Resolver) -> Rows[Record]:
    """Read all configured projects as records."""
    projects = config.sources.get("dbt", ())
    ambiguous = _ambiguous(engine, projects)
    entries = [(project, index in ambiguous) for index, project in enumerate(projects)]
    return engine.rows(entries, len(entries)).flat_map(lambda entry: resolver.records(elements(*entry)))


def model_jobs(engine: Engine, projects: Sequence[DbtProject]) -> Rows[ModelJob]:
    """Return the jobs of what the projects build, named as by `read_dbt`. Raises `SourceError`."""
    ambiguous = _ambiguous(engine, projects)
    entries = [(project, index in ambiguous) for index, project in enumerate(projects)]
    return engine.rows(entries, len(entries)).flat_map(lambda entry: _jobs_of(*entry))


def _jobs_of(project: DbtProject, by_relation: bool) -> Iterator[ModelJob]:
    manifest, _ = read_manifest(project.manifest, artefact.read(project.manifest, "manifest"))
    jobs = Jobs(manifest.project, project.target)
    if by_relation:
        jobs = Jobs(manifest.project, relations=_relations(manifest, project.namespace))
    for unique_id, reference in dataset_references(manifest, project.namespace).items():
        if manifest.nodes[unique_id].is_built:
            yield ModelJob(unique_id, project.target, jobs.key(unique_id).name, reference)


def _ambiguous(engine: Engine, projects: Sequence[DbtProject]) -> set[int]:
    """Return the positions of manifests without a target whose project another manifest builds elsewhere.

    Several manifests are read twice, because a job's name must not depend on their order.
    """
    entries = [(index, project) for index, project in enumerate(projects) if not project.target]
    if len(entries) < 2:
        return set()
    built = engine.rows(entries, len(entries)).flat_map(lambda entry: _list_built(*entry))
    return set(built.group(lambda relation: (relation.project, relation.unique_id), _disagreeing).collect())


def _list_built(position: int, project: DbtProject) -> Iterator[_Relation]:
    """Yield what a manifest builds."""
    manifest, _ = read_manifest(project.manifest, artefact.read(project.manifest, "manifest"))
    for unique_id, relation in _relations(manifest, project.namespace).items():
        yield _Relation(manifest.project, unique_id, position, relation)


def _disagreeing(_key: tuple[str, str], built: Iterable[_Relation]) -> list[int]:
    by_relation = {(relation.position, relation.relation) for relation in built}
    return (
        [position for position, _ in by_relation]
        if len({relation for _, relation in by_relation}) > 1
        else []
    )


def size(projects: Sequence[DbtProject]) -> int:
    """Return the stored bytes of all manifests and other artifacts. Raises `SourceError`."""
    return sum(map(_measure_project, projects))


def _measure_project(project: DbtProject) -> int:
    size = artefact.size(project.manifest, "manifest")
    for file, what in project.side_files:
        with suppress(SourceMissing):  # reported later, and not an error
            size += artefact.size(file, what)
    return size
