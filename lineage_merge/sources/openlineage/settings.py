"""The ``openlineage`` configuration section, and the kind of documents that are read."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.sources.kafka_landing.settings import Kafka, kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection, run_selection


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
