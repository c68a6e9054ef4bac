"""The Hive source: logs of Hive's own lineage."""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from lineage_merge.sources.hive.settings import LINEAGE, Hive
from lineage_merge.sources.settings import NamespaceSetting
from lineage_merge.sources.source import FileSource

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver


class HiveSource(FileSource[Hive]):
    """Reads the lineage of Hive queries."""

    name, key = "Hive", "hive"
    settings = Hive
    description = "lineage of Hive queries, from the log of its LineageLogger hook"
    kinds = (LINEAGE,)
    job_types = ("hive",)
    reports_runs = True

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.hive.reader import read_hive

        return read_hive(engine, config, resolver)

    def files(self, settings: Hive) -> Iterable[str]:
        return settings.log

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.hive.doctor import CHECKS

        return CHECKS

    def catalogs(self, settings: Hive) -> Mapping[str, str]:
        return dict.fromkeys(settings.spark_catalogs, settings.namespace)

    def namespaces(self, settings: Hive) -> Iterable[NamespaceSetting]:
        return [settings.namespace_setting]

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.hive.doctor import HiveDiscovery

        return HiveDiscovery()


HIVE = HiveSource()
