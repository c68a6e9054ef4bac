"""Check of a dbt project's artifacts: manifest, catalog, run results, freshness."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject, What
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, failed, fix_for, ok, warning

MANIFEST = "dbt manifest"
CATALOG = "dbt catalog"
RUN_RESULTS = "dbt run results"
FRESHNESS = "dbt source freshness"


def _examine(projects: tuple[DbtProject, ...]) -> Iterator[Diagnosis]:
    """Check manifest and other artifacts of each project: readable, known version, valid."""
    for index, project in enumerate(projects):
        yield _manifest(project, f"dbt[{index}].manifest")
        if project.catalog:
            yield _CATALOG.examine(project.catalog, f"dbt[{index}].catalog")
        for file in project.run_results:
            yield _RUN_RESULTS.examine(file, f"dbt[{index}].run_results")
        if project.sources:
            yield _FRESHNESS.examine(project.sources, f"dbt[{index}].sources")


def _manifest(project: DbtProject, key: str) -> Diagnosis:
    location = project.manifest
    try:
        manifest, problems = read_manifest(location, artefact.read(location, "manifest"))
    except SourceError as error:
        return failed(MANIFEST, error, _fix_for(error, location, key))
    message = f"{redact(location)}: {manifest.project or 'unnamed project'}, {len(manifest.nodes)} nodes"
    if manifest.dbt_version:
        message += f", dbt {manifest.dbt_version}"
    if manifest.generated_at:
        made = datetime.fromtimestamp(manifest.generated_at / 1000, tz=UTC)
        message += f", generated {made:%Y-%m-%d %H:%M UTC}"
    rejected = [problem for problem in problems if problem.kind == "rejected"]
    if rejected:
        message += f"; {len(rejected)} invalid, first {rejected[0].field}: {rejected[0].message}"
        return warning(MANIFEST, message, "run dbt parse; a run skips invalid entries")
    return ok(MANIFEST, message)


def _catalog_contents(location: str, text: str) -> tuple[str, str]:
    catalog, problems = read_catalog(location, text)
    return f"{len(catalog)} tables", f"{len(problems)} invalid" if problems else ""


def _freshness_contents(location: str, text: str) -> tuple[str, str]:
    results, problems = read_sources(location, text)
    return f"{len(results.runs)} sources", f"{len(problems)} invalid" if problems else ""


def _run_results_contents(location: str, text: str) -> tuple[str, str]:
    results, problems = read_run_results(location, text)
    contents = f"{len(results.runs)} runs"
    if results.tests:
        contents += f", {len(results.tests)} tests"
        problems = [problem for problem in problems if problem.kind == "rejected"]
    return contents, f"{problems[0].field}: {problems[0].message}" if problems else ""


class _SideFile(NamedTuple):
    """An artifact beside the manifest.

    `contents` returns what a file contains, and its problem; `unknown`: what a missing file leaves unknown;
    `fix`: the remedy for invalid entries.
    """

    check: str
    what: What
    contents: Callable[[str, str], tuple[str, str]]
    unknown: str
    fix: str

    def examine(self, location: str, key: str) -> Diagnosis:
        try:
            contents, problem = self.contents(location, artefact.read(location, self.what))
        except SourceMissing as error:
            return warning(self.check, f"{error}; {self.unknown}", _fix_for(error, location, key))
        except SourceError as error:
            return failed(self.check, error, _fix_for(error, location, key))
        message = f"{redact(location)}: {contents}"
        return warning(self.check, f"{message}; {problem}", self.fix) if problem else ok(self.check, message)


_CATALOG = _SideFile(
    CATALOG, "catalog", _catalog_contents, "columns are read from SQL only", "run dbt docs generate"
)
_RUN_RESULTS = _SideFile(
    RUN_RESULTS,
    "run results file",
    _run_results_contents,
    "the last runs are unknown",
    "save the file after dbt build, before another dbt command",
)
_FRESHNESS = _SideFile(
    FRESHNESS, "sources file", _freshness_contents, "the freshness is unknown", "run dbt source freshness"
)


def _fix_for(error: SourceError, location: str, key: str) -> str:
    if isinstance(error, DocumentError) and not error.remedy:
        return "run dbt parse or dbt docs generate with a supported version of dbt"
    return fix_for(error, location, key)


CHECKS = (SourceCheck("dbt", _examine),)
