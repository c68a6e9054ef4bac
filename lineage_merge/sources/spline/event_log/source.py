"""Spark's event logs as a source."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.source import FileSource
from lineage_merge.sources.spline.event_log.settings import LINES, EventLog

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.infra.storage import Slice
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver


class EventLogSource(FileSource[EventLog]):
    """Reads the plans of Spark applications from their event logs."""

    name, key = "Spark event logs", "event_log"
    settings = EventLog
    description = "lineage of Spark applications, from their event logs: no agent is needed"
    kinds = (LINES,)
    job_types = ("spark",)
    has_raw_uris = True
    reports_runs = True
    precedence = 4

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.spline.event_log.reader import read_event_logs

        return read_event_logs(engine, config, resolver)

    def files(self, settings: EventLog) -> Iterable[str]:
        return settings.logs

    def find(self, settings: EventLog) -> "list[Slice]":
        from lineage_merge.sources.spline.event_log.log_files import find_logs

        return [part for log in find_logs(settings.logs) for part in log.parts]

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.spline.event_log.doctor import CHECKS

        return CHECKS

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.spline.event_log.doctor import EventLogDiscovery

        return EventLogDiscovery()


EVENT_LOG = EventLogSource()
