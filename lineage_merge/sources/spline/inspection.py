"""What is known of Spline's input without translating it, and without Spark.

The preflight check, input size, recognition of files; for `init` the version and a sample. The client of the
database is imported where there is one.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from lineage_merge.infra.storage import StoredFile
from lineage_merge.model.elements import Reference
from lineage_merge.naming.jobs import application
from lineage_merge.sources import line_files
from lineage_merge.sources.discovery import Sample
from lineage_merge.sources.kinds import is_of_listener
from lineage_merge.sources.spline import export
from lineage_merge.sources.spline.agent.messages import Message, messages
from lineage_merge.sources.spline.documents import Document
from lineage_merge.sources.spline.settings import Arango, Spline

# Average size of a document in the server's responses, in captured databases of Spline 1.0; documents of 0.7
# are 40 bytes smaller.
BYTES_PER_DOCUMENT = {
    "executionPlan": 1000,
    "operation": 450,
    "attribute": 350,
    "expression": 480,
    "uses": 350,
    "progress": 800,
}
_BYTES_PER_OTHER_DOCUMENT = 330
# Documents of a collection that a sample contains.
_MAX_DOCUMENTS = 100_000


def preflight(spline: Spline) -> None:
    """Check that the database and the agents' files can be reached: one request, one listing.

    Raises `SourceError` or `ConfigError`.
    """
    if spline.arango:
        from lineage_merge.sources.spline import arango_queries

        arango_queries.overview(spline.arango)
    if spline.agent:
        line_files.find(spline.agent)


def size(spline: Spline) -> int | None:
    """Return the stored bytes of the files, or an estimate for the database; None with a Kafka topic.

    Raises `SourceError` or `ConfigError`.
    """
    if spline.arango:
        from lineage_merge.sources.spline import arango_queries

        settings = spline.arango.with_password()
        counts = arango_queries.document_counts(settings, arango_queries.overview(settings).collections)
        return sum(
            number * BYTES_PER_DOCUMENT.get(collection, _BYTES_PER_OTHER_DOCUMENT)
            for collection, number in counts.items()
        )
    if spline.kafka:
        return None
    if spline.agent:
        return line_files.list_bytes(spline.agent)
    return line_files.sum_stored_bytes(part.slice for part in export.find(spline.export))


def first_message_is(file: StoredFile, *, of_listener: bool) -> bool:
    """Return whether a file has messages, and the first one is of our own listener, or not."""
    read = messages(line_files.first_lines(file))
    first = next((message for message in read if isinstance(message, Message)), None)
    return first is not None and is_of_listener(first.body) == of_listener


def version(spline: Spline) -> str:
    """Return the version of the database, several of several exports; "" for files of agents."""
    if spline.agent:
        return ""
    if spline.arango:
        from lineage_merge.sources.spline import arango

        with arango.database(spline.arango, retries=False) as db:
            return db.versions().current
    versions = {version.current for version in export.versions_of(export.find(spline.export)).values()}
    return ", ".join(sorted(versions - {""}))


def sample(spline: Spline) -> Sample | None:
    """Return jobs and datasets of a database, or of the first documents of an export."""
    if spline.arango:
        return _sample_database(spline.arango)
    return _sample_export(export.find(spline.export)) if spline.export else None


def _sample_database(settings: Arango) -> Sample:
    from lineage_merge.sources.spline import arango, observed_applications

    jobs = ((job.job, job.newest) for job in observed_applications.list_observed_jobs(settings, 0, ()))
    with arango.database(settings) as db:
        # Spline's list of datasets: one small document per URI.
        return _sample(jobs, db.query("FOR d IN dataSource RETURN d.uri"))


def _sample_export(parts: list[export.Part]) -> Sample:
    jobs: list[tuple[str, int]] = []
    for document in _documents(parts, "progress"):
        details = document.get("execPlanDetails")
        name = details.get("applicationName") if isinstance(details, dict) else None
        at = document.get("timestamp")
        if isinstance(name, str) and isinstance(at, int | float):
            jobs.append((application(name).job, int(at)))
    uris: list[Any] = []
    for operation in _documents(parts, "operation"):
        uris += (operation.get("outputSource"), *(operation.get("inputSources") or ()))
    return _sample(jobs, uris)


def _sample(jobs: Iterable[tuple[str, int]], uris: Iterable[Any]) -> Sample:
    newest: dict[str, int] = {}
    for job, at in jobs:
        newest[job] = max(at, newest.get(job, 0))
    return Sample(newest, frozenset(Reference("", uri) for uri in uris if isinstance(uri, str)))


def _documents(parts: list[export.Part], collection: str) -> Iterator[Document]:
    own = (part for part in parts if part.collection == collection)
    return islice((document for part in own for document in export.valid_documents(part)), _MAX_DOCUMENTS)
