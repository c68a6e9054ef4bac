"""Inspection of sources through their own readers: jobs, datasets, dbt projects. Imports no Spark."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from lineage_merge.config import Config
from lineage_merge.infra.engine.local import LocalEngine
from lineage_merge.infra.input_budget import limited
from lineage_merge.infra.progress import ProgressCallback, no_progress
from lineage_merge.infra.storage import read_text, size_of
from lineage_merge.merge import dataset_resolver
from lineage_merge.merge.dataset_resolver import DatasetResolver
from lineage_merge.merge.record_builder import Identity
from lineage_merge.model.elements import Reference
from lineage_merge.model.errors import DocumentError, InputTooLarge, SourceError, SourceMissing
from lineage_merge.model.records import JobRecord, ProblemRecord, Record
from lineage_merge.orchestration.configuration import CONFIGURATION
from lineage_merge.orchestration.init import large_input
from lineage_merge.orchestration.init.findings import Findings, JobFindings, ManifestFindings, ObservedJob
from lineage_merge.orchestration.init.remedies import explained, flag_fix, no_lineage
from lineage_merge.orchestration.init.sources import Sources
from lineage_merge.orchestration.read_sources import configured_sources, input_bytes, read_all
from lineage_merge.sources import line_files, registry
from lineage_merge.sources.dbt.catalog import read_catalog
from lineage_merge.sources.dbt.manifest import read_manifest
from lineage_merge.sources.dbt.nodes import SEMANTIC, Manifest
from lineage_merge.sources.dbt.run_results import read_run_results
from lineage_merge.sources.dbt.source_freshness import read_sources
from lineage_merge.sources.dbt.translator import dataset_references
from lineage_merge.sources.document_kind import Kind
from lineage_merge.sources.source import function
from lineage_merge.sources.spline import arango, export
from lineage_merge.sources.spline.settings import Spline

# The names of a configuration that is only used for reading.
_SCOPE = {"dag_name": "init", "environment": "init"}
_MAX_SCHEMAS = 6
_WITHOUT_TABLE = frozenset({"exposure", *SEMANTIC})

Read = TypeVar("Read")


@dataclass(frozen=True, slots=True)
class _RecordingResolver(DatasetResolver):
    """A resolver that records the references it resolves."""

    seen: set[Reference] = field(default_factory=set)

    def resolve(self, ref: Reference) -> Identity:
        self.seen.add(ref)
        return DatasetResolver.resolve(self, ref)


def inspect(sources: Sources, on_progress: ProgressCallback = no_progress) -> Findings:
    """Read the sources and return what they contain. Raises `SourceError` and `ConfigError`."""
    jobs = _jobs(sources, on_progress)
    manifests = []
    for location in sources.dbt:
        on_progress(f"reading {location}")
        with explained("dbt", location):
            manifests.append(_manifest(location))
    for location in sources.sql:
        with explained("sql", location):
            input_bytes(CONFIGURATION.parse({**_SCOPE, "sql": [{"path": location, "dialect": "spark"}]}))
    return Findings(jobs, tuple(manifests))


def _jobs(sources: Sources, on_progress: ProgressCallback) -> JobFindings:
    settings = sources.job_settings()
    if not settings:
        return JobFindings()
    config = CONFIGURATION.parse({**_SCOPE, **settings})
    size = 0
    for source, parsed in registry.configured(config):
        on_progress(f"reading {source.name}")
        kind, location = _location(sources, source.key)
        with explained(kind, location):
            if source.preflight:
                function(source.preflight)(parsed)
            size += function(source.size)(parsed)
    limit = config.spark.distribute_above_mb << 20
    if size <= limit:
        try:
            with limited(limit):
                found = _read_all(config, on_progress)
        except InputTooLarge:
            pass
        else:
            _raise_if_missing(sources, config, found)
            return found
    on_progress("reading a part of the sources: they are large")
    return large_input.sample(config, limit, lambda part: _read_all(part, on_progress))


def _location(sources: Sources, key: str) -> tuple[str, str]:
    """Return the kind of a source in remedies, and its location ("": a database)."""
    if key == "openlineage":
        return key, " ".join(sources.openlineage)
    if key == "hive":
        return key, " ".join(sources.hive)
    return ("agent", " ".join(sources.spline_agent)) if sources.spline_agent else (key, sources.spline_export)


def _read_all(config: Config, on_progress: ProgressCallback) -> JobFindings:
    plain = dataset_resolver.from_config(config)
    resolver = _RecordingResolver(plain.environment, plain.rules, plain.catalogs)
    jobs: list[ObservedJob] = []
    for source in configured_sources(config):
        records = read_all(LocalEngine(), config, resolver, [source], on_progress).collect()
        found = _observed_jobs(source.key, records)
        if not found:
            _raise_if_rejected(source.key, records)
        jobs += found
    return JobFindings(
        jobs=tuple(jobs),
        references=frozenset(resolver.seen),
        catalogs=plain.catalogs,
        spline_version=_spline_version(config),
    )


def _raise_if_rejected(source: str, records: list[Record]) -> None:
    """Raise the first problem of a source without a single valid document: it is another kind of file."""
    # Spline's documents without lineage are valid; a JSON line that is no OpenLineage event is not.
    kinds = ("rejected", "skipped") if source == "openlineage" else ("rejected",)
    found = [record.problem for record in records if isinstance(record, ProblemRecord)]
    problems = [problem for problem in found if problem.kind in kinds]
    if problems:
        first = problems[0]
        raise DocumentError(first.document, first.field, f"{first.message}. Fix: {flag_fix(source)}")


def _raise_if_missing(sources: Sources, config: Config, found: JobFindings) -> None:
    """Raise `SourceMissing` for files without a job. A new database of Spline may be empty."""
    for source in configured_sources(config):
        kind, location = _location(sources, source.key)
        if kind != "spline" and not any(each.source == source.key for each in found.jobs):
            raise no_lineage(kind, location, _recognized(_locations(sources, kind)))


def _recognized(locations: Sequence[str]) -> Kind | None:
    try:
        return line_files.recognize(line_files.find(locations))
    except SourceError:
        return None


def _locations(sources: Sources, kind: str) -> Sequence[str]:
    found = {"openlineage": sources.openlineage, "hive": sources.hive, "agent": sources.spline_agent}
    return found.get(kind, ())


def _observed_jobs(source: str, records: list[Record]) -> list[ObservedJob]:
    newest: dict[str, int] = {}
    for record in records:
        if isinstance(record, JobRecord) and record.job.name:
            at = int(record.properties.get("last_run_at") or 0)
            newest[record.job.name] = max(at, newest.get(record.job.name, 0))
    return [ObservedJob(source, name, at) for name, at in sorted(newest.items())]


def _spline_version(config: Config) -> str:
    spline = config.of(Spline)
    if spline is None or spline.agent:
        return ""
    if spline.arango:
        server = arango.log_in(spline.arango)
        with arango.database(server, retries=False) as db:
            names = arango.collections_of(db, spline.arango)
            return arango.versions_of(db, spline.arango, names).current
    found = {each.current for each in export.versions_of(export.find(spline.export)).values()}
    return ", ".join(sorted(found - {""}))


def _manifest(location: str) -> ManifestFindings:
    manifest, problems = read_manifest(location, read_text(location))
    notes = [f"{each.document}: {each.field}: {each.message}" for each in problems if each.kind == "rejected"]
    found = {"sources": set[str](), "built": set[str]()}
    for unique_id, reference in dataset_references(manifest, "").items():
        kind = manifest.nodes[unique_id].kind
        if kind not in _WITHOUT_TABLE:
            found["sources" if kind == "source" else "built"].add(reference.name)
    catalog, run_results, freshness = _beside(location, notes)
    return ManifestFindings(
        location=location,
        project=manifest.project,
        adapter=manifest.adapter.lower(),
        dbt_version=manifest.dbt_version,
        generated_at=manifest.generated_at,
        nodes=len(manifest.nodes),
        sources=frozenset(found["sources"]),
        built=frozenset(found["built"]),
        schemas=_schemas(manifest),
        catalog=catalog,
        run_results=run_results,
        freshness=freshness,
        notes=tuple(notes),
    )


def _schemas(manifest: Manifest) -> tuple[str, ...]:
    """Return the schemas of the manifest, those of dbt's sources first, then by number of datasets."""
    found: Counter[tuple[bool, str]] = Counter()
    for node in manifest.nodes.values():
        schema = ".".join(part for part in (node.database, node.schema) if part)
        if schema and node.kind not in _WITHOUT_TABLE:
            found[node.kind != "source", schema] += 1
    ordered = sorted(found, key=lambda each: (each[0], -found[each], each[1]))
    return tuple(dict.fromkeys(schema for _, schema in ordered))[:_MAX_SCHEMAS]


def _beside(manifest: str, notes: list[str]) -> tuple[str, str, str]:
    """Return the locations of `catalog.json`, `run_results.json` and `sources.json` beside a manifest."""
    folder = manifest.rpartition("/")[0]

    def found(name: str, read: Callable[[str, str], object]) -> str:
        location = f"{folder}/{name}" if folder else name
        try:
            size_of(location)
            read(location, read_text(location))
        except SourceMissing:
            return ""
        except SourceError as error:
            notes.append(f"not used: {error.message}")
            return ""
        return location

    return (
        found("catalog.json", read_catalog),
        found("run_results.json", read_run_results),
        found("sources.json", read_sources),
    )
