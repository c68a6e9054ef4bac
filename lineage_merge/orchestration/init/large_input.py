"""Samples of sources that are too large to be read in this process."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from lineage_merge.config import Config
from lineage_merge.infra.input_budget import limited
from lineage_merge.infra.storage import StoredFile, find_files
from lineage_merge.model.errors import InputTooLarge
from lineage_merge.orchestration.init.findings import JobFindings, ObservedJob
from lineage_merge.sources import registry
from lineage_merge.sources.source import Sample, Source, imported

ReadAll = Callable[[Config], JobFindings]


def sample(config: Config, max_bytes: int, read_all: ReadAll) -> JobFindings:
    """Return what a part of the sources contains, at most about `max_bytes` of each."""
    samples = [
        _of_source(config, source, settings, max_bytes, read_all)
        for source, settings in registry.configured(config)
    ]
    return JobFindings(
        jobs=tuple(job for each in samples for job in each.jobs),
        references=frozenset().union(*(each.references for each in samples)),
        catalogs={name: namespace for each in samples for name, namespace in each.catalogs.items()},
        is_sample=True,
    )


def _of_source(
    config: Config, source: Source, settings: Any, max_bytes: int, read_all: ReadAll
) -> JobFindings:
    part: Sample | None = imported(source.sample)(settings) if source.sample else None
    if part:
        jobs = (ObservedJob(source.key, name, newest) for name, newest in sorted(part.jobs.items()))
        return JobFindings(tuple(jobs), part.references)
    files = _newest_files(source.files(settings), max_bytes)
    reduced = replace(config, sources={source.key: replace(settings, **{source.line_files.key: files})})
    try:
        with limited(max_bytes):
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
