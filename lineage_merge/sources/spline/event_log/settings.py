"""The ``event_log`` configuration section, and the kind of files that are read."""

import re
from dataclasses import dataclass

from lineage_merge.infra.setting import Texts, declare
from lineage_merge.sources.kinds import Kind
from lineage_merge.sources.settings import RunSelection
from lineage_merge.sources.spline.settings import Spline


@dataclass(frozen=True, slots=True, kw_only=True)
class EventLog(RunSelection):
    """Which logs, applications and runs are read."""

    logs: Texts = declare(
        "folders (local or s3://) of Spark's event logs, or single logs",
        example="s3://bucket/spark-events",
        is_path=True,
    )
    cache: str = declare(
        "folder (local or s3://) that keeps what was read: a log that has not changed is not read again",
        "",
        "s3://bucket/spark-events-read",
        "none",
        is_path=True,
    )
    applications: tuple[str, ...] = declare(
        "applications to read, by name, globs allowed", (), ["tickit_*"], "all"
    )

    def as_agent(self) -> Spline:
        """Return the settings with which the plans are read."""
        return Spline(
            runs=self.runs,
            lookback=self.lookback,
            retire_after=self.retire_after,
            agent=self.logs,
            applications=self.applications,
        )


LINES = Kind(
    "event logs of Spark",
    "give their folder as event_log.logs",
    is_document=lambda document: (
        isinstance(document, dict) and str(document.get("Event", "")).startswith("SparkListener")
    ),
    pattern=re.compile(r'\{"Event":"SparkListener'),
    first="{",
)
