"""Reader of dbt manifests: fetched and translated, one manifest per partition."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.engine.rows import Engine, Rows
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.records import Record, records
from lineage_merge.model.elements import Count, Element, Problem
from lineage_merge.model.errors import SourceMissing
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import Catalog, read_catalog
from lineage_merge.sources.dbt.jobs import Jobs
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.dbt.translator import dataset_references, last_runs, translate


def elements(project: DbtProject, by_relation: bool = False) -> Iterator[Element]:
    """Yield the elements of one project. Raises `SourceError` if one of its files cannot be read.

    `by_relation`: another manifest of its project builds other relations, and no target is configured.
    """
    manifest, problems = read_manifest(
        project.manifest, artefact.read(project.manifest, "manifest"), with_columns=True
    )
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
        catalog, broken = read_catalog(project.catalog, artefact.read(project.catalog, "catalog"))
        yield Count("dbt catalogs", 1)
        yield from broken
    yield from _columns(project, manifest, catalog, jobs)


def _relations(manifest: Manifest, namespace: str) -> dict[str, str]:
    """Return what each job builds, by unique id."""
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
        text = artefact.read(project.run_results, "run results file")
    except SourceMissing:
        why = "is missing: the time of the last runs is unknown"
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


class _Relation(NamedTuple):
    """A relation that a manifest builds; `position` is the manifest's position in the configuration."""

    project: str
    unique_id: str
    position: int
    relation: str


def read_dbt(engine: Engine, config: Config, names: DatasetResolver) -> Rows[Record]:
    """Read all configured projects as records."""
    ambiguous = _ambiguous(engine, config.dbt)
    entries = [(project, index in ambiguous) for index, project in enumerate(config.dbt)]
    return engine.rows(entries, len(entries)).flat_map(lambda entry: records(elements(*entry), names))


def _ambiguous(engine: Engine, projects: Sequence[DbtProject]) -> set[int]:
    """Return the positions of manifests without a target whose project another manifest builds elsewhere.

    Several manifests are read twice, because a job's name must not depend on their order.
    """
    entries = [(index, project) for index, project in enumerate(projects) if not project.target]
    if len(entries) < 2:
        return set()
    built = engine.rows(entries, len(entries)).flat_map(lambda entry: _built(*entry))
    return set(built.group(lambda each: (each.project, each.unique_id), _disagreeing).collect())


def _built(position: int, project: DbtProject) -> Iterator[_Relation]:
    """Yield what a manifest builds."""
    manifest, _ = read_manifest(project.manifest, artefact.read(project.manifest, "manifest"))
    for unique_id, relation in _relations(manifest, project.namespace).items():
        yield _Relation(manifest.project, unique_id, position, relation)


def _disagreeing(_key: tuple[str, str], built: Iterable[_Relation]) -> list[int]:
    by_relation = {(each.position, each.relation) for each in built}
    return (
        [position for position, _ in by_relation]
        if len({relation for _, relation in by_relation}) > 1
        else []
    )
