"""Are the files there that lineage is read from: Spline's exports, dbt's manifests and catalogs?"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import UTC, datetime

from lineage_merge.config import Config
from lineage_merge.infra.storage import is_s3, read_text
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
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.settings import DbtProject
from lineage_merge.sources.spline import documents, export
from lineage_merge.sources.spline.versions import COLLECTION as VERSION
from lineage_merge.sources.spline.versions import LIMITS_OF_0_7, NO_LABELS, SUPPORTED, Versions

EXPORT = "Spline export"
MANIFEST = "dbt manifest"
CATALOG = "dbt catalog"
RUN_RESULTS = "dbt run results"


def examine_export(config: Config) -> Iterator[Finding]:
    """The folder, its collections, and the first document of each that is required."""
    if config.spline is None or not config.spline.export:
        return
    folder = config.spline.export
    try:
        parts = export.find(folder)
        versions = export.versions_of(parts)
        broken = list(_broken(parts))
    except SourceError as error:
        yield failed(EXPORT, error, how_to_mend(error, folder, "spline.export"))
        return
    refused = [each for _, each in sorted(versions.items()) if each.current and not each.is_supported]
    if refused:
        problem = f"{redact(folder)}: of version {refused[0].current}, {SUPPORTED} are supported"
        remedy = "upgrade Spline's database and export it again"
        yield failed(EXPORT, SourceError(refused[0].refusal or problem), remedy)
        return
    databases = {part.database for part in parts}
    collections = {part.collection for part in parts} - {VERSION}
    told = f"{redact(folder)}: {len(collections)} collections"
    told += f" of {len(databases)} databases" if len(databases) > 1 else ""
    if broken:
        first = f"{broken[0].document}: {broken[0].field}: {broken[0].message}".replace(": : ", ": ")
        yield warning(EXPORT, f"{told}, but {first}", "export the collection again; the run leaves it out")
    elif "progress" not in collections:
        mend = "export progress too; without it the newest plan of each target counts"
        yield warning(EXPORT, f"{told}, none of them progress", mend)
    else:
        yield _passed(told, versions.values(), bool(config.spline.labels))


def _passed(contents: str, versions: Iterable[Versions], has_labels: bool) -> Finding:
    if not any(each.is_0_7 for each in versions):
        return ok(EXPORT, contents)
    state = f"{contents}; of version 0.7: {LIMITS_OF_0_7}"
    return (
        warning(EXPORT, f"{state}, and spline.labels is set", NO_LABELS) if has_labels else ok(EXPORT, state)
    )


def _broken(parts: list[export.Part]) -> Iterator[Problem]:
    """What is wrong with the first document of each required collection. Large files are not read whole."""
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
    """Each project's manifest and catalog: readable, of a known version, by the schema."""
    for index, project in enumerate(config.dbt):
        yield _manifest(project, f"dbt[{index}].manifest")
        if project.catalog:
            yield _catalog(project, f"dbt[{index}].catalog")
        if project.run_results:
            yield _run_results(project, f"dbt[{index}].run_results")


def _manifest(project: DbtProject, key: str) -> Finding:
    location = project.manifest
    try:
        manifest, problems = read_manifest(location, read_text(location))
    except SourceError as error:
        return failed(MANIFEST, error, how_to_mend(error, location, key))
    told = f"{redact(location)}: {manifest.project or 'a project without name'}, {len(manifest.nodes)} nodes"
    if manifest.dbt_version:
        told += f", dbt {manifest.dbt_version}"
    if manifest.generated_at:
        made = datetime.fromtimestamp(manifest.generated_at / 1000, tz=UTC)
        told += f", made {made:%Y-%m-%d %H:%M UTC}"
    rejected = [problem for problem in problems if problem.kind == "rejected"]
    if rejected:
        told += f"; {len(rejected)} broken, first {rejected[0].field}: {rejected[0].message}"
        return warning(MANIFEST, told, "write it again: dbt parse; the run leaves broken entries out")
    return ok(MANIFEST, told)


def _catalog(project: DbtProject, key: str) -> Finding:
    location = project.catalog
    try:
        catalog, problems = read_catalog(location, read_text(location))
    except SourceError as error:
        return failed(CATALOG, error, how_to_mend(error, location, key))
    told = f"{redact(location)}: {len(catalog)} tables"
    if problems:
        return warning(CATALOG, f"{told}; {len(problems)} broken", "write it again: dbt docs generate")
    return ok(CATALOG, told)


def _run_results(project: DbtProject, key: str) -> Finding:
    location = project.run_results
    try:
        results, problems = read_run_results(location, read_text(location))
    except SourceMissing as error:
        return warning(
            RUN_RESULTS, f"{error}; last runs will not be known", how_to_mend(error, location, key)
        )
    except SourceError as error:
        return failed(RUN_RESULTS, error, how_to_mend(error, location, key))
    what = f"{redact(location)}: {len(results.runs)} runs"
    if problems:
        first = f"{problems[0].field}: {problems[0].message}"
        return warning(
            RUN_RESULTS, f"{what}; {first}", "save the file of dbt build before another command runs"
        )
    return ok(RUN_RESULTS, what)


def how_to_mend(error: SourceError, location: str, key: str) -> str:
    """What to do about a file or folder that cannot be read; `key` is where the configuration names it."""
    match error:
        case SourceDenied():
            if is_s3(location):
                return f"allow s3:GetObject on {redact(location)} and s3:ListBucket on its bucket"
            return "let the user who runs this read it"
        case SourceMissing():
            return f"correct {key}, or put it there first"
        case SourceUnreachable():
            return "check the network (S3 endpoint of the VPC), AWS_REGION and AWS_ENDPOINT_URL_S3"
        case DocumentError():
            return "write it again with dbt parse or dbt docs generate, by a dbt whose version is supported"
    return f"check {key}"
