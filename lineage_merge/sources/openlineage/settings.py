"""The ``openlineage`` configuration section, and the kind of documents that are read."""

import re
from dataclasses import dataclass

from lineage_merge.infra.setting import Texts, declare
from lineage_merge.model.errors import ConfigError
from lineage_merge.sources.kafka_landing.settings import Kafka
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection


@dataclass(frozen=True, slots=True)
class OpenLineage(RunSelection):
    """Where events are read from, and which runs are selected."""

    events: Texts = declare(
        "files or folders (local or s3://) of events: JSON lines, arrays, logs, files of lineage-merge "
        "receive",
        (),
        "s3://bucket/events",
        is_path=True,
    )
    kafka: Kafka | None = declare("Kafka topic that OpenLineage clients write to", None)
    jobs: tuple[str, ...] = declare("jobs to read, by name, globs allowed", (), ["tickit_*"], "all")
    namespaces: tuple[str, ...] = declare(
        "jobs to read, by the namespace in their events, globs allowed", (), ["prod"], "all"
    )

    def complete(self, key: str) -> "OpenLineage":
        """Check that events are given."""
        if not (self.events or self.kafka):
            raise ConfigError(key, "give events or kafka")
        return self


EVENTS = Kind(
    "OpenLineage events",
    "give them as openlineage.events",
    tuple(("eventTime", "producer", subject) for subject in ("run", "job", "dataset")),
    pattern=re.compile(r'"eventTime\\?"\s*:.{0,4000}?"(?:producer|schemaURL)\\?"\s*:', re.DOTALL),
)
