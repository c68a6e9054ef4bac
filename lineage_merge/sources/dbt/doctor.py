"""Check of a dbt project's artifacts: manifest, catalog, run results, freshness."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from typing import NamedTuple

from lineage_merge.infra.storage import is_s3
from lineage_merge.model.errors import DocumentError, SourceError, SourceMissing
from lineage_merge.model.times import duration_text
from lineage_merge.naming import redact
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import check_project, read_manifest
from lineage_merge.sources.dbt.nodes import Manifest
from lineage_merge.sources.dbt.run_results import RunResults, read_run_results
from lineage_merge.sources.dbt.settings import DbtProject, What
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.diagnosis import Diagnosis, SourceCheck, fix_for, ok, report_failure, warning

MANIFEST = "dbt manifest"
CATALOG = "dbt catalog"
RUN_RESULTS = "dbt run results"
FRESHNESS = "dbt source freshness"

_UPLOAD = "upload target/manifest.json after each dbt run, in the task that runs dbt (docs/airflow.md)"
_DAY_MS = 24 * 60 * 60 * 1000
# A run takes less.
_MAX_RUN_MS = _DAY_MS
# Most projects run at least once in this time.
_MAX_AGE_MS = 7 * _DAY_MS


def _examine(projects: tuple[DbtProject, ...]) -> Iterator[Diagnosis]:
    """Check manifest and other artifacts of each project: readable, known version, valid."""
    for index, project in enumerate(projects):
        yield from _manifest(project, f"dbt[{index}].manifest")
        if project.catalog:
            yield _CATALOG.examine(project.catalog, f"dbt[{index}].catalog")
        for file in project.run_results:
            yield _RUN_RESULTS.examine(file, f"dbt[{index}].run_results")
        if project.sources:
            yield _FRESHNESS.examine(project.sources, f"dbt[{index}].sources")


def _manifest(project: DbtProject, key: str) -> Iterator[Diagnosis]:
    location = project.manifest
    try:
        manifest, problems = read_manifest(location, artefact.read(location, "manifest"))
        check_project(project, manifest)
    except SourceError as error:
        yield report_failure(MANIFEST, error, _fix_for(error, location, key))
        return
    message = f"{redact(location)}: {manifest.project or 'unnamed project'}, {len(manifest.nodes)} nodes"
    if manifest.dbt_version:
        message += f", dbt {manifest.dbt_version}"
    if manifest.generated_at:
        made = datetime.fromtimestamp(manifest.generated_at / 1000, tz=UTC)
        message += f", generated {made:%Y-%m-%d %H:%M UTC}"
    rejected = [problem for problem in problems if problem.kind == "rejected"]
    if rejected:
        message += f"; {len(rejected)} invalid, first {rejected[0].field}: {rejected[0].message}"
        yield warning(MANIFEST, message, "run dbt parse; a run skips invalid entries")
    else:
        yield ok(MANIFEST, message)
    reason = explain_outdated(location, manifest, list(_runs(project)), int(time.time() * 1000))
    if reason:
        yield warning(MANIFEST, f"{redact(location)}: {reason}", _UPLOAD)


def _runs(project: DbtProject) -> Iterator[RunResults]:
    for file in project.run_results:
        with suppress(SourceError):  # diagnosed by its own check
            yield read_run_results(file, artefact.read(file, "run results file"))[0]


def explain_outdated(location: str, manifest: Manifest, runs: Iterable[RunResults], now: int) -> str:
    """Return why no task seems to upload a manifest; "" if one may. `now`: in ms since 1970.

    A run of dbt writes its manifest before its results, so that a manifest that is uploaded after each run is
    at most one run older than these.
    """
    for results in runs:
        if results.invocation_id and results.invocation_id == manifest.invocation_id:
            continue
        unknown = sorted(
            unique_id
            for unique_id in results.runs
            if unique_id not in manifest.nodes and unique_id not in manifest.left_out and _is_built(unique_id)
        )
        if unknown:
            return f"does not have {unknown[0]}, which ran: it is older than the run results"
        if manifest.generated_at and results.generated_at - manifest.generated_at > _MAX_RUN_MS:
            return (
                f"is {duration_text(results.generated_at - manifest.generated_at)} older than the run results"
            )
    if is_s3(location) and manifest.generated_at and now - manifest.generated_at > _MAX_AGE_MS:
        return f"was generated {duration_text(now - manifest.generated_at)} ago: a task may not upload it"
    return ""


def _is_built(unique_id: str) -> bool:
    return unique_id.partition(".")[0] in ("model", "seed", "snapshot")


def _catalog_contents(location: str, text: str) -> tuple[str, str]:
    catalog, problems = read_catalog(location, text)
    return f"{len(catalog.tables)} tables", f"{len(problems)} invalid" if problems else ""


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
            return report_failure(self.check, error, _fix_for(error, location, key))
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
