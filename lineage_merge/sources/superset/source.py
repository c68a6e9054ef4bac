"""The Apache Superset source."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.source import Source
from lineage_merge.sources.superset.settings import EXPORT, Superset

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.airflow_support import AirflowSupport
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Servers = tuple[Superset, ...]


class SupersetSource(Source[Servers]):
    """Reads dashboards, charts and data sets."""

    name, key = "Superset", "superset"
    settings = Servers
    description = "dashboards and data sets of Apache Superset, from exports or through its API"
    kinds = (EXPORT,)
    job_types = ("superset",)
    by_project = True
    has_raw_uris = True
    without_sqlglot = "columns of SQL expressions and the tables of virtual data sets"

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.superset.reader import read_superset

        return read_superset(engine, config, resolver)

    def files(self, settings: Servers) -> Iterable[str]:
        return [entry.export for entry in settings if entry.export]

    def size(self, settings: Servers) -> int | None:
        from lineage_merge.sources.superset.files import EXPORT_FILES

        if not all(entry.export for entry in settings):
            return None
        return sum(
            file.text_bytes for location in self.files(settings) for file in EXPORT_FILES.find(location)
        )

    def preflight(self, settings: Servers) -> None:
        from lineage_merge.sources.superset.files import EXPORT_FILES

        for location in self.files(settings):
            EXPORT_FILES.find(location)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.superset.doctor import CHECKS

        return CHECKS

    def with_secrets(self, settings: Servers) -> Servers:
        return tuple(entry.with_secret() for entry in settings)

    def airflow(self) -> "AirflowSupport":
        from lineage_merge.sources.superset.airflow_support import SUPPORT

        return SUPPORT

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.superset.discovery import SupersetDiscovery

        return SupersetDiscovery()


SUPERSET = SupersetSource()
