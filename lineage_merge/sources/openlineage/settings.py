"""The ``openlineage`` configuration section."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from lineage_merge.config.section import locations
from lineage_merge.model.errors import ConfigError, ErrorCollector
from lineage_merge.sources.kafka_landing.settings import Kafka, kafka
from lineage_merge.sources.settings import Runs, lookback, runs


@dataclass(frozen=True, slots=True)
class OpenLineage:
    """Where events are read from (`events`: files or folders; `kafka`), and which runs are selected.

    `jobs` and `namespaces` (of jobs): globs, default: all. The others are as in `Spline`.
    """

    events: tuple[str, ...] = ()
    kafka: Kafka | None = None
    jobs: tuple[str, ...] = ()
    namespaces: tuple[str, ...] = ()
    runs: Runs = field(default_factory=Runs)
    lookback: timedelta = timedelta(days=30)
    retire_after: int = 3


def parse(settings: Mapping[str, Any]) -> OpenLineage:
    """Parse settings that fit the schema. Raises `ConfigError`."""
    if not settings.keys() & {"events", "kafka"}:
        raise ConfigError("openlineage", "give events or kafka")
    errors = ErrorCollector()
    back = settings.get("lookback", 30)
    openlineage = OpenLineage(
        events=locations(settings.get("events", ())),
        kafka=errors.get(lambda: kafka("openlineage", settings), None),
        jobs=tuple(settings.get("jobs", ())),
        namespaces=tuple(settings.get("namespaces", ())),
        runs=errors.get(lambda: runs(settings.get("runs", "latest"), "openlineage.runs"), Runs()),
        lookback=errors.get(lambda: lookback(back, "openlineage.lookback"), timedelta()),
        retire_after=int(settings.get("retire_after", 3)),
    )
    errors.raise_errors()
    return openlineage
