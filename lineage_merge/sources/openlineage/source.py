"""The OpenLineage source. Its job types are those in the events."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from lineage_merge.sources.openlineage.settings import EVENTS, OpenLineage
from lineage_merge.sources.source import FileSource

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.infra.storage import Slice
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver


class OpenLineageSource(FileSource[OpenLineage]):
    """Reads events of OpenLineage's clients."""

    name, key = "OpenLineage", "openlineage"
    settings = OpenLineage
    description = "OpenLineage events of Spark, dbt, Airflow, Flink and others"
    kinds = (EVENTS,)
    usual_job_types = ("spark",)
    reports_runs = True
    precedence = 3

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.openlineage.reader import read_openlineage

        return read_openlineage(engine, config, resolver)

    def files(self, settings: OpenLineage) -> Iterable[str]:
        return settings.events

    def find(self, settings: OpenLineage) -> "list[Slice]":
        from lineage_merge.sources.openlineage import files

        return files.find(settings.events)

    def size(self, settings: OpenLineage) -> int | None:
        is_known = not (settings.datazone or settings.marquez)
        return super().size(settings) if is_known else None

    def preflight(self, settings: OpenLineage) -> None:
        super().preflight(settings)
        if settings.datazone:
            from lineage_merge.sources.openlineage import datazone

            datazone.find_newest(settings.datazone)
        if settings.marquez:
            from lineage_merge.sources.openlineage import marquez

            marquez.find_newest(settings.marquez)

    def needs_aws(self, settings: OpenLineage) -> bool:
        return settings.datazone is not None

    def with_secrets(self, settings: OpenLineage) -> OpenLineage:
        return replace(settings, marquez=settings.marquez.with_secret()) if settings.marquez else settings

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.openlineage.doctor import CHECKS

        return CHECKS

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.openlineage.doctor import OpenLineageDiscovery

        return OpenLineageDiscovery()


OPENLINEAGE = OpenLineageSource()
