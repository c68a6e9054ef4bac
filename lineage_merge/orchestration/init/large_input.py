"""Samples of sources that are too large to be read in this process."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra.input_budget import limited
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.elements import Problem, Reference
from lineage_merge.model.errors import InputTooLarge
from lineage_merge.orchestration.init.findings import JobFindings, ObservedJob
from lineage_merge.sources.spline import arango, export, observed_applications
from lineage_merge.sources.spline.documents import parse
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.settings import Arango, Spline

# Spline's list of datasets: one small document per URI.
_DATASETS = "FOR d IN dataSource RETURN d.uri"
_MAX_DOCUMENTS = 100_000

ReadAll = Callable[[Config], JobFindings]


def sample(config: Config, max_bytes: int, read_all: ReadAll) -> JobFindings:
    """Return what a part of the sources contains, at most about `max_bytes` of each."""
    found = [
        _of_source(config, key, settings, max_bytes, read_all) for key, settings in config.sources.items()
    ]
    return JobFindings(
        jobs=tuple(job for each in found for job in each.jobs),
        references=frozenset().union(*(each.references for each in found)),
        catalogs={name: namespace for each in found for name, namespace in each.catalogs.items()},
        is_sample=True,
    )


def _of_source(config: Config, key: str, settings: Any, max_bytes: int, read_all: ReadAll) -> JobFindings:
    if isinstance(settings, Spline) and settings.arango:
        return _of_database(settings.arango)
    if isinstance(settings, Spline) and settings.export:
        return _of_export(settings.export)
    name, locations = next(
        (name, getattr(settings, name)) for name in ("events", "log", "agent") if hasattr(settings, name)
    )
    files = _newest_files(locations, max_bytes)
    part = replace(config, sources={key: replace(settings, **{name: files})})
    try:
        with limited(max_bytes):
            return read_all(part) if files else JobFindings()
    except InputTooLarge:
        return JobFindings()


def _of_database(settings: Arango) -> JobFindings:
    seen = observed_applications.observed_jobs(settings, 0, ())
    with arango.database(arango.log_in(settings)) as db:
        uris = [*arango.run_query(db, settings, _DATASETS)]
    return JobFindings(
        jobs=tuple(ObservedJob("spline", each.job, each.newest) for each in seen),
        references=frozenset(Reference("", uri) for uri in uris if isinstance(uri, str)),
    )


def _of_export(folder: str) -> JobFindings:
    parts = export.find(folder)
    references: set[Reference] = set()
    for document in _documents(parts, "operation"):
        uris = [document.get("outputSource"), *(document.get("inputSources") or ())]
        references.update(Reference("", uri) for uri in uris if isinstance(uri, str))
    newest: dict[str, int] = {}
    for document in _documents(parts, "progress"):
        details = document.get("execPlanDetails")
        name = details.get("applicationName") if isinstance(details, dict) else None
        at = document.get("timestamp")
        if isinstance(name, str) and isinstance(at, int | float):
            job = application(name).job
            newest[job] = max(int(at), newest.get(job, 0))
    jobs = tuple(ObservedJob("spline", job, at) for job, at in sorted(newest.items()))
    return JobFindings(jobs, frozenset(references))


def _documents(parts: list[export.Part], collection: str) -> Iterator[Mapping[str, Any]]:
    count = 0
    for part in parts:
        if part.collection != collection:
            continue
        for found in export.texts(part):
            count += 1
            if count > _MAX_DOCUMENTS:
                return
            document = found if isinstance(found, Problem) else parse(collection, found.text, part.database)
            if not isinstance(document, Problem):
                yield document


def _newest_files(locations: tuple[str, ...], max_bytes: int) -> tuple[str, ...]:
    """Return the last files by name, which are usually the newest, up to a total size."""
    files: set[StoredFile] = {file for location in locations for file in find_files(location)}
    chosen: list[str] = []
    total = 0
    for file in sorted(files, reverse=True):
        total += file.size
        if total > max_bytes:
            break
        chosen.append(file.location)
    return tuple(sorted(chosen))
