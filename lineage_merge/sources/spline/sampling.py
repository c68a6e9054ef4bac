"""What `init` reads of a Spline database or export without translating it: its version, or a sample."""

from collections.abc import Iterator, Mapping
from typing import Any

from lineage_merge.model.elements import Problem, Reference
from lineage_merge.sources.source import Sample
from lineage_merge.sources.spline import arango, export, observed_applications
from lineage_merge.sources.spline.documents import parse
from lineage_merge.sources.spline.naming import application
from lineage_merge.sources.spline.settings import Arango, Spline

# Spline's list of datasets: one small document per URI.
_DATASETS = "FOR d IN dataSource RETURN d.uri"
_MAX_DOCUMENTS = 100_000


def version(spline: Spline) -> str:
    """Return the version of the database, several of several exports; "" for files of agents."""
    if spline.agent:
        return ""
    if spline.arango:
        server = arango.log_in(spline.arango)
        with arango.database(server, retries=False) as db:
            names = arango.collections_of(db, spline.arango)
            return arango.versions_of(db, spline.arango, names).current
    versions = {each.current for each in export.versions_of(export.find(spline.export)).values()}
    return ", ".join(sorted(versions - {""}))


def sample(spline: Spline) -> Sample | None:
    """Return jobs and datasets of a database, or of the first documents of an export."""
    if spline.arango:
        return _of_database(spline.arango)
    return _of_export(spline.export) if spline.export else None


def _of_database(settings: Arango) -> Sample:
    seen = observed_applications.observed_jobs(settings, 0, ())
    with arango.database(arango.log_in(settings)) as db:
        uris = [*arango.run_query(db, settings, _DATASETS)]
    newest: dict[str, int] = {}
    for job in seen:
        newest[job.job] = max(job.newest, newest.get(job.job, 0))
    return Sample(newest, frozenset(Reference("", uri) for uri in uris if isinstance(uri, str)))


def _of_export(folder: str) -> Sample:
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
    return Sample(newest, frozenset(references))


def _documents(parts: list[export.Part], collection: str) -> Iterator[Mapping[str, Any]]:
    count = 0
    for part in parts:
        if part.collection != collection:
            continue
        for text in export.texts(part):
            count += 1
            if count > _MAX_DOCUMENTS:
                return
            document = text if isinstance(text, Problem) else parse(collection, text.text, part.database)
            if not isinstance(document, Problem):
                yield document
