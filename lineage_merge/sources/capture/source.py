"""The files of the listener (`lineage_merge.capture.install`): they are read as those of Spline's agent."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.capture.settings import LINES, Capture
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver


class CaptureSource(Source[Capture]):
    """Reads the messages of the listener."""

    name, key = "Spark listener", "capture"
    settings = Capture
    description = "lineage of Spark applications, as recorded by lineage_merge.capture.install"
    kinds = (LINES,)
    job_types = ("spark",)
    has_raw_uris = True
    reports_runs = True

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.capture.reader import read_capture

        return read_capture(engine, config, resolver)

    def files(self, settings: Capture) -> Iterable[str]:
        return settings.files

    def size(self, settings: Capture) -> int:
        from lineage_merge.sources import line_files

        return line_files.list_bytes(settings.files)

    def preflight(self, settings: Capture) -> None:
        from lineage_merge.sources import line_files

        line_files.find(settings.files)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.capture.doctor import CHECKS

        return CHECKS

    def retire_after(self, settings: Capture) -> int:
        return settings.retire_after

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.capture.discovery import CaptureDiscovery

        return CaptureDiscovery()


CAPTURE = CaptureSource()
