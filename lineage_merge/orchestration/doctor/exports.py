"""Check of input files: Spline's exports, dbt's manifests, catalogs and run results."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import NamedTuple

from lineage_merge.config import Config
from lineage_merge.infra.storage import is_s3
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import (
    DocumentError,
    SourceDenied,
    SourceError,
    SourceMissing,
    SourceUnreachable,
)
from lineage_merge.naming import redact
from lineage_merge.orchestration.doctor.finding import Finding, failed, ok, warning
from lineage_merge.sources.dbt import artefact
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.spline import documents, export
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.versions import COLLECTION as VERSION
from lineage_merge.sources.spline.versions import LIMITS_OF_0_7, NO_LABELS, SUPPORTED, Versions

EXPORT = "Spline export"
MANIFEST = "dbt manifest"
CATALOG = "dbt catalog"
RUN_RESULTS = "dbt run results"
FRESHNESS = "dbt source freshness"


def examine_export(config: Config) -> Iterator[Finding]:
    """Check the folder, its collections, and the first document of each required collection."""
    spline = config.of(Spline)
    if spline is None or not spline.export:
        return
    folder = spline.export
    try:
        parts = export.find(folder)
        versions = export.versions_of(parts)
        broken = list(_broken(parts))
    except SourceError as error:
        yield failed(EXPORT, error, fix_for(error, folder, "spline.export", "folder"))
        return
    refused = [each for _, each in sorted(versions.items()) if each.current and not each.is_supported]
    if refused:
        problem = f"{redact(folder)}: version {refused[0].current}; supported: {SUPPORTED}"
        fix = "upgrade Spline's database, and export it again"
        yield failed(EXPORT, SourceError(refused[0].refusal or problem), fix)
        return
    databases = {part.database for part in parts}
    collections = {part.collection for part in parts} - {VERSION}
    message = f"{redact(folder)}: {len(collections)} collections"
    message += f" of {len(databases)} databases" if len(databases) > 1 else ""
    if broken:
        first = f"{broken[0].document}: {broken[0].field}: {broken[0].message}".replace(": : ", ": ")
        yield warning(EXPORT, f"{message}, but {first}", "export it again; a run skips invalid documents")
    elif "progress" not in collections:
        fix = "export the collection progress; until then the newest plan of each target counts"
        yield warning(EXPORT, f"{message}, without progress", fix)
    else:
        yield _export_finding(message, versions.values(), bool(spline.labels))


def _export_finding(contents: str, versions: Iterable[Versions], has_labels: bool) -> Finding:
    if not any(each.is_0_7 for each in versions):
        return ok(EXPORT, contents)
    state = f"{contents}; version 0.7: {LIMITS_OF_0_7}"
    return (
        warning(EXPORT, f"{state}, and spline.labels is set", NO_LABELS) if has_labels else ok(EXPORT, state)
    )


def _broken(parts: list[export.Part]) -> Iterator[Problem]:
    """Yield the problem of the first document of each required collection, without reading large files."""
    seen = set()
    for part in parts:
        name = (part.database, part.collection)
        if part.collection not in documents.REQUIRED or name in seen:
            continue
        seen.add(name)
        beginning = replace(part, slice=replace(part.slice, end=min(part.slice.end, 1)))
        found = next(export.texts(beginning), None)
        if isinstance(found, export.Text):
            document = documents.parse(part.collection, found.text, part.database)
            if not isinstance(document, Problem):
                problem = documents.check(part.collection, document, part.database)
                found = None if problem is None else problem
            else:
                found = document
        if isinstance(found, Problem):
            yield found


def examine_dbt(config: Config) -> Iterator[Finding]:
    """Check manifest and other artifacts of each project: readable, known version, valid."""
    for index, project in enumerate(config.sources.get("dbt", ())):
        yield _manifest(project, f"dbt[{index}].manifest")
        if project.catalog:
            yield _CATALOG.examine(project.catalog, f"dbt[{index}].catalog")
        for file in project.run_results:
            yield _RUN_RESULTS.examine(file, f"dbt[{index}].run_results")
        if project.sources:
            yield _FRESHNESS.examine(project.sources, f"dbt[{index}].sources")


def _manifest(project: DbtProject, key: str) -> Finding:
    location = project.manifest
    try:
        manifest, problems = read_manifest(location, artefact.read(location, "manifest"))
    except SourceError as error:
        return failed(MANIFEST, error, fix_for(error, location, key))
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
        problems = [each for each in problems if each.kind == "rejected"]
    return contents, f"{problems[0].field}: {problems[0].message}" if problems else ""


class _SideFile(NamedTuple):
    """An artifact beside the manifest.

    `contents` returns what a file contains, and its problem; `unknown`: what a missing file leaves unknown;
    `fix`: the remedy for invalid entries.
    """

    check: str
    what: artefact.What
    contents: Callable[[str, str], tuple[str, str]]
    unknown: str
    fix: str

    def examine(self, location: str, key: str) -> Finding:
        try:
            contents, problem = self.contents(location, artefact.read(location, self.what))
        except SourceMissing as error:
            return warning(self.check, f"{error}; {self.unknown}", fix_for(error, location, key))
        except SourceError as error:
            return failed(self.check, error, fix_for(error, location, key))
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


def fix_for(error: SourceError, location: str, key: str, what: str = "file") -> str:
    """Return the fix for an unreadable file or folder (`what`); `key` is its configuration key."""
    if error.remedy:
        return error.remedy
    match error:
        case SourceDenied():
            if is_s3(location):
                return f"allow s3:GetObject on {redact(location)} and s3:ListBucket on its bucket"
            return "grant this user read access"
        case SourceMissing():
            return f"correct {key}, or create the {what}"
        case SourceUnreachable():
            return "check the network (S3 endpoint of the VPC), AWS_REGION and AWS_ENDPOINT_URL_S3"
        case DocumentError() if key.startswith("dbt"):
            return "run dbt parse or dbt docs generate with a supported version of dbt"
    return f"correct {key}"
