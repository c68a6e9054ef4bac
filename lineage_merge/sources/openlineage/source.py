"""Declaration of the OpenLineage source, and its settings. Its job types are those in the events."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.sources.kafka_landing.settings import Kafka, kafka
from lineage_merge.sources.settings import RunSelection, run_selection
from lineage_merge.sources.source import Kind, LineFiles, Source, files_option


@dataclass(frozen=True, slots=True)
class OpenLineage(RunSelection):
    """Where events are read from (`events`: files or folders; `kafka`), and which runs are selected.

    `jobs` and `namespaces` (of jobs): globs, default: all.
    """

    events: tuple[str, ...] = ()
    kafka: Kafka | None = None
    jobs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()


def parse(settings: Mapping[str, Any]) -> OpenLineage:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    if not settings.keys() & {"events", "kafka"}:
        raise ConfigError("openlineage", "give events or kafka")
    errors = ErrorCollector()
    openlineage = OpenLineage(
        events=locations(settings.get("events", ())),
        kafka=errors.get(lambda: kafka("openlineage", settings), None),
        jobs=tuple(settings.get("jobs", ())),
        namespaces=tuple(settings.get("namespaces", ())),
        **run_selection("openlineage", settings, errors),
    )
    errors.raise_errors()
    return openlineage


EVENTS = Kind(
    "OpenLineage events",
    "give them as openlineage.events",
    tuple(("eventTime", "producer", subject) for subject in ("run", "job", "dataset")),
    pattern=re.compile(r'"eventTime\\?"\s*:.{0,4000}?"(?:producer|schemaURL)\\?"\s*:', re.DOTALL),
)

OPENLINEAGE = Source(
    "OpenLineage",
    "openlineage",
    "lineage_merge.sources.openlineage",
    parse,
    "lineage_merge.sources.openlineage.reader:read_openlineage",
    size="lineage_merge.sources.openlineage.files:size",
    paths=("events", "kafka.landing"),
    preflight="lineage_merge.sources.openlineage.files:preflight",
    checks="lineage_merge.sources.openlineage.doctor:CHECKS",
    files=lambda openlineage: openlineage.events,
    retire_after=lambda openlineage: openlineage.retire_after,
    usual_job_types=("spark",),
    kinds=(EVENTS,),
    options=(files_option("--openlineage", "events", "OpenLineage events"),),
    line_files=LineFiles(
        "events",
        "lineage_merge.sources.openlineage.files:has_events",
        # A JSON line that is no event is skipped.
        rejects=("rejected", "skipped"),
    ),
)
