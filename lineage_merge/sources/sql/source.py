"""The source of SQL files."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lineage_merge.sources.settings import NamespaceSetting
from lineage_merge.sources.source import Source
from lineage_merge.sources.sql import settings as section
from lineage_merge.sources.sql.settings import STATEMENTS, SqlFiles

if TYPE_CHECKING:
    from lineage_merge.config import Config
    from lineage_merge.infra.engine.rows import Engine, Rows
    from lineage_merge.model.records import Record
    from lineage_merge.sources.discovery import SourceDiscovery
    from lineage_merge.sources.resolver import Resolver

Folders = tuple[SqlFiles, ...]


class SqlSource(Source[Folders]):
    """Reads the statements of folders of SQL files."""

    name, key = "SQL files", "sql"
    settings = Folders
    description = "folders of Hive, Spark or Redshift SQL files, which are parsed but not run"
    kinds = (STATEMENTS,)
    job_types = ("sql",)
    by_project = True

    def parse(self, written: Any) -> Folders:
        folders = super().parse(written)
        section.check_projects(folders)
        return folders

    def read(self, engine: "Engine", config: "Config", resolver: "Resolver") -> "Rows[Record]":
        from lineage_merge.sources.sql.reader import read_sql

        return read_sql(engine, config, resolver)

    def files(self, settings: Folders) -> Iterable[str]:
        return [path for folder in settings for path in (folder.path, *folder.schema)]

    def size(self, settings: Folders) -> int | None:
        from lineage_merge.sources.sql import files

        return files.size(settings)

    def preflight(self, settings: Folders) -> None:
        from lineage_merge.sources.sql import files

        files.preflight(settings)

    def namespaces(self, settings: Folders) -> Iterable[NamespaceSetting]:
        return section.namespaces(settings)

    def discovery(self) -> "SourceDiscovery":
        from lineage_merge.sources.sql.discovery import SqlDiscovery

        return SqlDiscovery()


SQL = SqlSource()
