"""Checks of Spline's exports and of the files of its agents; `arango_doctor` checks the database."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from lineage_merge.infra.storage import Slice
from lineage_merge.model.elements import Problem
from lineage_merge.model.errors import SourceError
from lineage_merge.naming import redact
from lineage_merge.sources import line_files
from lineage_merge.sources.diagnosis import (
    Diagnosis,
    SourceCheck,
    examine_lines,
    failed,
    fix_for,
    ok,
    validity,
    warning,
)
from lineage_merge.sources.spline import arango_doctor, documents, export, source
from lineage_merge.sources.spline.agent import checks
from lineage_merge.sources.spline.agent.messages import messages
from lineage_merge.sources.spline.settings import Spline
from lineage_merge.sources.spline.versions import COLLECTION as VERSION
from lineage_merge.sources.spline.versions import LIMITS_OF_0_7, NO_LABELS, SUPPORTED, Versions

EXPORT = "Spline export"
AGENT = "Spline agent"
_DISPATCHER = "set spark.spline.lineageDispatcher=logging, or console, and its logger to INFO"


def _examine_export(spline: Spline) -> Iterator[Diagnosis]:
    """Check the folder, its collections, and the first document of each required collection."""
    if not spline.export:
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


def _export_finding(contents: str, versions: Iterable[Versions], has_labels: bool) -> Diagnosis:
    if not any(version.is_0_7 for version in versions):
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


def _examine_agent(spline: Spline) -> Iterator[Diagnosis]:
    """Check the files of each location, and the last one for a plan or an event."""
    return examine_lines(AGENT, "spline.agent", spline.agent, _inspect, _DISPATCHER, source.AGENT)


def _inspect(part: Slice) -> tuple[bool, Problem | None]:
    """Return whether there is a valid message, else the problem of the first one."""
    return validity(messages(line_files.numbered(part)), checks.problem)


CHECKS = (
    SourceCheck("ArangoDB", arango_doctor.examine),
    SourceCheck(EXPORT, _examine_export),
    SourceCheck(AGENT, _examine_agent),
)
