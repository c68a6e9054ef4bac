"""The Spline source: the server's database, exported or live, or the agents' files."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.source import FileSource, Source
from lineage_merge.sources.spline.settings import AGENT, EXPORT, LINES, Capture, Spline

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.airflow_support import AirflowSupport
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver


class SplineSource(Source[Spline]):
    """Reads Spark's plans as Spline has them."""

    name, key = "Spline", "spline"
    settings = Spline
    description = "lineage of Spark applications, as recorded by Spline"
    kinds = (EXPORT, AGENT)
    job_types = ("spark",)
    has_raw_uris = True
    reports_runs = True
    precedence = 2

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.spline.reader import read_spline

        return read_spline(engine, config, resolver)

    def files(self, settings: Spline) -> Iterable[str]:
        return (settings.export, *settings.agent)

    def size(self, settings: Spline) -> int | None:
        from lineage_merge.sources.spline import inspection

        return inspection.size(settings)

    def preflight(self, settings: Spline) -> None:
        from lineage_merge.sources.spline import inspection

        inspection.preflight(settings)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.spline.doctor import CHECKS

        return CHECKS

    def needs_aws(self, settings: Spline) -> bool:
        return bool(settings.arango and settings.arango.password_secret)

    def with_secrets(self, settings: Spline) -> Spline:
        return settings.with_secrets()

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.spline.discovery import SplineDiscovery

        return SplineDiscovery()

    def airflow(self) -> "AirflowSupport | None":
        from lineage_merge.sources.spline.airflow_support import SUPPORT

        return SUPPORT


class CaptureSource(FileSource[Capture]):
    """Reads the messages of the listener (`lineage_merge.capture.install`) as those of Spline's agent."""

    name, key = "Spark listener", "capture"
    settings = Capture
    description = "lineage of Spark applications, as recorded by lineage_merge.capture.install"
    kinds = (LINES,)
    job_types = ("spark",)
    has_raw_uris = True
    reports_runs = True
    precedence = 1

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.spline.reader import read_capture

        return read_capture(engine, config, resolver)

    def files(self, settings: Capture) -> Iterable[str]:
        return settings.files

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.spline.agent.doctor import CAPTURE_CHECKS

        return CAPTURE_CHECKS

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.spline.discovery import CaptureDiscovery

        return CaptureDiscovery()


SPLINE = SplineSource()
CAPTURE = CaptureSource()
