"""Inspection of sources through their own readers: jobs, datasets, projects. Imports no Spark.

Of sources that are too large to be read in this process it reads a sample.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.input_budget import limit_input
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.merge import dataset_resolver
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.record_builder import Identity
from lineage_merge.model.elements import Job, Problem, Reference
from lineage_merge.model.errors import DocumentError, InputTooLarge, SourceError
from lineage_merge.model.records import Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init.discovery import Inputs
from lineage_merge.orchestration.init.findings import Findings, JobFindings, ObservedJob
from lineage_merge.orchestration.init.remedies import explain_errors, no_lineage, option_fix
from lineage_merge.orchestration.read_sources import list_configured_sources, read_all
from lineage_merge.sources import line_files, registry
from lineage_merge.sources.discovery import ProjectFindings
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.registry import SOURCES
from lineage_merge.sources.source import Source

# The names of a configuration that is only used for reading.
_SCOPE = {"dag_name": "init", "environment": "init"}

ReadAll = Callable[[Config], JobFindings]


@dataclass(frozen=True, slots=True)
class _RecordingResolver(DatasetResolver):
    """A resolver that records the references it resolves."""

    seen: set[Reference] = field(default_factory=set)

    def resolve(self, ref: Reference) -> Identity:
        self.seen.add(ref)
        return DatasetResolver.resolve(self, ref)


def inspect(inputs: Inputs, on_progress: ProgressCallback = no_progress) -> Findings:
    """Read the sources and return what they contain. Raises `SourceError` and `ConfigError`.

    Sources that report neither jobs of clusters nor projects are only listed.
    """
    jobs = _jobs(inputs, on_progress)
    projects: list[ProjectFindings] = []
    for source in SOURCES:
        discovery = source.discovery()
        if discovery.line_key or source.key not in inputs:
            continue
        for location in inputs[source.key].locations:
            with explain_errors(source, inputs[source.key], location):
                if discovery.describes_projects:
                    on_progress(f"reading {location}")
                    projects.append(discovery.project(location))
                else:
                    find_files(location)
    return Findings(jobs, tuple(projects))


def _jobs(inputs: Inputs, on_progress: ProgressCallback) -> JobFindings:
    settings = {
        source.key: discovery.settings(inputs[source.key], None)
        for source in SOURCES
        if (discovery := source.discovery()).line_key and source.key in inputs
    }
    if not settings:
        return JobFindings()
    config = CONFIGURATION.parse({**_SCOPE, **settings})
    size = 0
    for source, parsed in registry.list_configured(config):
        on_progress(f"reading {source.name}")
        with explain_errors(source, inputs[source.key], " ".join(inputs[source.key].locations)):
            source.preflight(parsed)
            size += source.size(parsed) or 0
    limit = config.spark.distribute_above_mb << 20
    if size <= limit:
        try:
            with limit_input(limit):
                jobs = _read_all(config, on_progress)
        except InputTooLarge:
            pass
        else:
            _raise_if_missing(inputs, config, jobs)
            return jobs
    on_progress("reading a part of the sources: they are large")
    return sample(config, limit, lambda part: _read_all(part, on_progress))


def _read_all(config: Config, on_progress: ProgressCallback) -> JobFindings:
    plain = dataset_resolver.from_config(config)
    resolver = _RecordingResolver(plain.environment, plain.rules, plain.catalogs)
    jobs: list[ObservedJob] = []
    for source in list_configured_sources(config):
        records = read_all(LocalEngine(), config, resolver, [source], on_progress).collect()
        observed_jobs = _list_observed_jobs(source.key, records)
        if not observed_jobs:
            _raise_if_rejected(source, records)
        jobs += observed_jobs
    return JobFindings(
        jobs=tuple(jobs),
        references=frozenset(resolver.seen),
        catalogs=plain.catalogs,
        versions={
            source.key: discovery.version(settings)
            for source, settings in registry.list_configured(config)
            if (discovery := source.discovery()).has_version
        },
    )


def _raise_if_rejected(source: Source[Any], records: list[Record]) -> None:
    """Raise the first problem of a source without a single valid document: it is another kind of file."""
    rejects = source.discovery().rejects
    problems = [record for record in records if isinstance(record, Problem) and record.kind in rejects]
    if problems:
        first = problems[0]
        raise DocumentError(first.document, first.field, f"{first.message}. Fix: {option_fix(source)}")


def _raise_if_missing(inputs: Inputs, config: Config, findings: JobFindings) -> None:
    """Raise `SourceMissing` for files of lines without a job. A new database may be empty."""
    for source in list_configured_sources(config):
        key, locations, _ = inputs[source.key]
        if key == source.discovery().line_key and not any(job.source == source.key for job in findings.jobs):
            raise no_lineage(source, " ".join(locations), _recognize(locations))


def _recognize(locations: Sequence[str]) -> Kind | None:
    try:
        return line_files.recognize(line_files.find(locations))
    except SourceError:
        return None


def _list_observed_jobs(source: str, records: list[Record]) -> list[ObservedJob]:
    newest: dict[str, int] = {}
    for record in records:
        if isinstance(record, Job) and record.key.name:
            at = int(record.properties.get("last_run_at") or 0)
            newest[record.key.name] = max(at, newest.get(record.key.name, 0))
    return [ObservedJob(source, name, at) for name, at in sorted(newest.items())]


def sample(config: Config, max_bytes: int, read_all: ReadAll) -> JobFindings:
    """Return what a part of the sources contains, at most about `max_bytes` of each."""
    samples = [
        _inspect_source(config, source, settings, max_bytes, read_all)
        for source, settings in registry.list_configured(config)
    ]
    return JobFindings(
        jobs=tuple(job for sample in samples for job in sample.jobs),
        references=frozenset().union(*(sample.references for sample in samples)),
        catalogs={name: namespace for sample in samples for name, namespace in sample.catalogs.items()},
        is_sample=True,
    )


def _inspect_source(
    config: Config, source: Source[Any], settings: Any, max_bytes: int, read_all: ReadAll
) -> JobFindings:
    discovery = source.discovery()
    part = discovery.sample(settings)
    if part:
        jobs = (ObservedJob(source.key, name, newest) for name, newest in sorted(part.jobs.items()))
        return JobFindings(tuple(jobs), part.references)
    files = _newest_files(source.files(settings), max_bytes)
    reduced = replace(config, sources={source.key: replace(settings, **{discovery.line_key: files})})
    try:
        with limit_input(max_bytes):
            return read_all(reduced) if files else JobFindings()
    except InputTooLarge:
        return JobFindings()


def _newest_files(locations: Iterable[str], max_bytes: int) -> tuple[str, ...]:
    """Return the last files by name, which are usually the newest, up to a total size."""
    files: set[StoredFile] = {file for location in locations if location for file in find_files(location)}
    chosen: list[str] = []
    total = 0
    for file in sorted(files, reverse=True):
        total += file.size
        if total > max_bytes:
            break
        chosen.append(file.location)
    return tuple(sorted(chosen))
