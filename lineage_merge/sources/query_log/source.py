"""The query log source: statements of warehouses, from their system views, APIs or files."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from lineage_merge.sources.query_log import settings as section
from lineage_merge.sources.query_log.settings import JOB_TYPES, STATEMENTS, VIEW, QueryLog
from lineage_merge.sources.settings import NamespaceSetting
from lineage_merge.sources.source import Source

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.diagnosis import SourceCheck
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

QueryLogs = tuple[QueryLog, ...]


class QueryLogSource(Source[QueryLogs]):
    """Reads the statements of warehouses."""

    name, key = "query log", "query_log"
    settings = QueryLogs
    description = (
        "histories of statements: Redshift's system views, Athena's executions, files of other warehouses"
    )
    example = (
        {"format": "redshift", "path": "s3://bucket/history", "namespace": "redshift://cluster.region:5439"},
    )
    kinds = (STATEMENTS, VIEW)
    job_types = tuple(JOB_TYPES.values())
    reports_runs = True

    def __init__(self, models: Source[Any]) -> None:
        """Create the source; `models` builds what statements of the logs fill."""
        self._models = models

    def parse(self, written: Any) -> QueryLogs:
        logs = super().parse(written)
        section.check_logs(logs)
        return logs

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.query_log.reader import read_query_log

        jobs = self._models.model_jobs(engine, config.sources.get(self._models.key, ()))
        return read_query_log(engine, config, resolver, jobs)

    def files(self, settings: QueryLogs) -> Iterable[str]:
        return [log.path for log in settings if log.path]

    def size(self, settings: QueryLogs) -> int | None:
        from lineage_merge.sources.query_log import doctor

        return doctor.size(settings)

    def preflight(self, settings: QueryLogs) -> None:
        from lineage_merge.sources.query_log import doctor

        doctor.preflight(settings)

    def checks(self) -> "Sequence[SourceCheck]":
        from lineage_merge.sources.query_log.doctor import CHECKS

        return CHECKS

    def needs_aws(self, settings: QueryLogs) -> bool:
        return any(not log.path for log in settings)

    def namespaces(self, settings: QueryLogs) -> Iterable[NamespaceSetting]:
        return section.namespaces(settings)

    def retire_after(self, settings: QueryLogs) -> int:
        return section.retire_after(settings)

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.query_log.discovery import QueryLogDiscovery

        return QueryLogDiscovery()
